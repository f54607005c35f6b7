package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
)

// checks lists what is checked, in the order in which it is told. To add one: a function and a line.
var checks = []one{
	{name: "start", applies: always, do: start},
	{name: "turn", applies: always, do: turn},
	{name: "abilities", applies: always, do: abilities},
	{name: "next trial", applies: ability("reset"), do: nextTrial},
	{name: "acknowledged at once", applies: always, do: busy},
	{name: "unknown fields", applies: always, extra: true, do: unknownFields},
	{name: "over mcp", applies: callsTools, over: bench.TransportMCP, do: turn},
	{name: "two calls", applies: always, do: twoCalls},
	{name: "answer lost once", applies: always, do: lostOnce},
	{name: "answer lost always", applies: always, do: lostAlways},
	{name: "dial refused", applies: always, do: refusedDial},
	{name: "refusal", applies: callsTools, do: refusal},
	{name: "fresh connections", applies: knob("fresh_connections"), knobs: bench.Knobs{FreshConns: true}, do: freshConnections},
	{name: "cancel", applies: ability("cancel"), do: cancel},
	{name: "time-out", applies: knob("call_timeout_ms"), knobs: bench.Knobs{CallTimeoutMS: timeoutMS}, do: timeout},
	{name: "repair", applies: ability("repair"), do: repair},
	{name: "recovery by the model", applies: knob("recovery"), knobs: bench.Knobs{Recovery: "model"}, do: recovery},
	{name: "decide", applies: ability("decide"), do: decide},
	{name: "at and proceed", applies: knob("events"), knobs: bench.Knobs{Events: true}, do: events},
	{name: "event", applies: ability("event"), do: webhook},
	{name: "kill and restart", applies: always, do: killed},
}

func always(*checker) string { return "" }

func callsTools(k *checker) string {
	if len(k.Manifest.Providers) > 0 {
		return "it calls the provider itself"
	}
	return ""
}

func ability(name string) func(*checker) string {
	return func(k *checker) string {
		if k.System.Can(name) {
			return ""
		}
		return fmt.Sprintf("`can` of its manifest does not list %q", name)
	}
}

func knob(name string) func(*checker) string {
	return func(k *checker) string {
		if slices.Contains(k.Manifest.Knobs, name) {
			return ""
		}
		return fmt.Sprintf("`knobs` of its manifest does not list %q", name)
	}
}

func start(_ context.Context, d *desk) (string, error) {
	return fmt.Sprintf("acknowledged, wire %d", d.k.started.Wire), nil
}

// abilities holds what it said when it started against its manifest. What it really has, later checks show.
func abilities(_ context.Context, d *desk) (string, error) {
	said, listed := d.k.started.Can, d.k.Manifest.Can
	file := d.k.Manifest.File
	var more []string
	for _, a := range said {
		if !slices.Contains(listed, a) && a != "wait" && !(a == "clock" && d.k.Manifest.Clock == "wall") {
			more = append(more, a)
		}
	}
	for _, a := range listed {
		switch {
		case len(said) == 0 || slices.Contains(said, a):
		case a == "wait": // nothing rests on it
			return "", &noted{"the manifest lists the ability \"wait\", and `started` does not", "say it in both, or in neither"}
		default:
			return "", d.breaks(Break{What: fmt.Sprintf("the manifest lists the ability %q, and `started` does not", a), Came: d.lastStarted(),
				Expected: "the same abilities in both", Do: fmt.Sprintf("take %q out of `can` in %s, or let the adapter have it", a, file)})
		}
	}
	switch {
	case len(said) == 0:
		return "", &noted{"`started` names no abilities: the manifest is believed", "`can` in `started` says what the adapter has"}
	case len(more) > 0:
		return "", &noted{"it has " + strings.Join(more, ", ") + ", which its manifest does not list: boundaries that need it are left out",
			"add to `can` in " + file + " what it really has"}
	}
	return "can " + strings.Join(listed, ", "), nil
}

func (d *desk) lastStarted() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range slices.Backward(d.lines) {
		if came, ok := strings.CutPrefix(l, "< "); ok && strings.Contains(came, `"started"`) {
			return came
		}
	}
	return ""
}

// turn hands one call over and has it answered.
func turn(ctx context.Context, d *desk) (string, error) {
	if err := d.turn(ctx, "t1", false, d.place.Calls[0]); err != nil {
		return "", err
	}
	if err := d.settle(ctx); err != nil {
		return "", err
	}
	d.k.sends = d.k.sends || d.calls() > 0
	return d.answered(ctx, "t1", 1)
}

// answered holds the claim on a call that was answered `done` against what exists.
func (d *desk) answered(ctx context.Context, turn string, ordinal int) (string, error) {
	w, came := d.claimed(turn, ordinal)
	if d.calls() == 0 {
		if d.k.sends {
			return "", d.breaks(Break{What: fmt.Sprintf("`%s`, and nothing was sent to the address that `start` gave; in the first turn it was", w.Outcome), Came: came,
				Expected: fmt.Sprintf("a call over `%s` at %s", d.place.Tools[0].Transport, d.front.address()), Do: "read `address` and `transport` of the tool in the `start` of this trial; docs/wire-contract.md has the POST for each transport"})
		}
		if w.Outcome == bench.Done {
			return "", d.breaks(Break{What: "it claims `done` of a call that it never sent", Came: came, Expected: "`done` when all effects exist", Do: "send the call"})
		}
		return "it sends nothing, and claims `" + w.Outcome + "`", nil
	}
	if w.Outcome != bench.Done {
		return "", d.breaks(Break{What: fmt.Sprintf("`%s` of a call that was answered: it is done", w.Outcome), Came: came,
			Expected: "`done`, with the ids that the answer gave as receipts", Do: "read the answer; `detail` of a claim tells the reader what went wrong"})
	}
	if len(w.Receipts) == 0 && len(d.place.Providers) > 0 {
		return "", &noted{"`done` without receipts", "nothing, if the provider's answer names no object; else put its ids into `receipts`"}
	}
	if len(w.Receipts) == 0 {
		return "", d.breaks(Break{What: "`done` without receipts", Came: came, Expected: "the ids of the objects that the call made, as the answer gave them", Do: "put them into `receipts`"})
	}
	return d.honest(ctx, turn, ordinal)
}

// honest holds a claim against what exists: receipts are there, and what is `failed` is not. A `done` that
// rests on a memory is left to the benchmark.
func (d *desk) honest(ctx context.Context, turn string, ordinal int) (string, error) {
	w, came := d.claimed(turn, ordinal)
	there, err := d.place.Objects(ctx)
	if err != nil {
		return "", fmt.Errorf("what exists: %w", err)
	}
	if w.Outcome == bench.Failed && len(there) > 0 {
		return "", d.breaks(Break{What: "`failed`, though it happened: " + quoted(there) + " exists", Came: came,
			Expected: "`unknown`: an answer that was lost after the request was sent proves nothing", Do: "claim `failed` only where nothing was sent, or the answer says that nothing was done"})
	}
	for _, r := range w.Receipts {
		if !slices.Contains(there, r) {
			return "", d.breaks(Break{What: fmt.Sprintf("a receipt %q that does not exist", r), Came: came, Expected: "of " + quoted(there), Do: "take receipts from the answer, those of this trial only"})
		}
	}
	return fmt.Sprintf("%d sent, claimed `%s`", d.calls(), w.Outcome), nil
}

func quoted(names []string) string {
	if len(names) == 0 {
		return "nothing exists"
	}
	return strings.Join(names, ", ")
}

// sends waits until a call of the system has arrived, or it is over without one.
func (d *desk) sends(ctx context.Context) (bool, error) {
	err := d.wait(ctx, func() bool { return d.open > 0 || d.settled() }, true, d.owed)
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open > 0, err
}

// busy sends orders while a call is held.
func busy(ctx context.Context, d *desk) (string, error) {
	d.front.meets(hold)
	if err := d.turn(ctx, "t1", false, d.place.Calls[0]); err != nil {
		return "", err
	}
	sent, err := d.sends(ctx)
	if err != nil || !sent {
		return "it sends nothing", err
	}
	for range 2 {
		if err := d.clock(ctx, d.time().Add(100e6)); err != nil {
			return "", err
		}
	}
	d.front.release(pass)
	if err := d.settle(ctx); err != nil {
		return "", err
	}
	if _, err := d.answered(ctx, "t1", 1); err != nil {
		return "", err
	}
	return "a turn, and two clocks while its call was open", nil
}

func unknownFields(ctx context.Context, d *desk) (string, error) {
	d.mu.Lock()
	d.extra = true
	d.mu.Unlock()
	if _, err := turn(ctx, d); err != nil {
		return "", err
	}
	return "passed over in start and turn", nil
}

func twoCalls(ctx context.Context, d *desk) (string, error) {
	calls := d.place.Calls
	if err := d.turn(ctx, "t1", false, calls[0], calls[1%len(calls)]); err != nil {
		return "", err
	}
	if err := d.settle(ctx); err != nil {
		return "", err
	}
	for n := range 2 {
		if _, err := d.honest(ctx, "t1", n+1); err != nil {
			return "", err
		}
	}
	return "each claimed once, one idle after both", nil
}

func lostOnce(ctx context.Context, d *desk) (string, error) { return d.lost(ctx, lose, pass) }

func lostAlways(ctx context.Context, d *desk) (string, error) { return d.lost(ctx, lose) }

// lost has the answers lost of a call that was carried out.
func (d *desk) lost(ctx context.Context, acts ...act) (string, error) {
	d.front.meets(acts...)
	if err := d.turn(ctx, "t1", false, d.place.Calls[0]); err != nil {
		return "", err
	}
	if err := d.settle(ctx); err != nil {
		return "", err
	}
	return d.honest(ctx, "t1", 1)
}

func refusedDial(ctx context.Context, d *desk) (string, error) {
	if err := d.front.shut(); err != nil {
		return "", err
	}
	if err := d.turn(ctx, "t1", false, d.place.Calls[0]); err != nil {
		return "", err
	}
	if err := d.settle(ctx); err != nil {
		return "", err
	}
	w, came := d.claimed("t1", 1)
	if w.Outcome != bench.Failed && w.Outcome != bench.Unknown {
		return "", d.breaks(Break{What: fmt.Sprintf("`%s` of a call whose connection was refused", w.Outcome), Came: came, Expected: "`failed`: nothing was sent", Do: "read the error"})
	}
	if w.Outcome == bench.Unknown {
		return "", &noted{"it claims `unknown` where the connection was refused: nothing was sent, and `failed` would be true", "map a refused dial to `failed`, if no attempt before it was sent"}
	}
	return "claimed `failed`", nil
}

func refusal(ctx context.Context, d *desk) (string, error) {
	if d.place.Refused == nil {
		return "no call of it is refused", nil
	}
	if err := d.turn(ctx, "t1", false, *d.place.Refused); err != nil {
		return "", err
	}
	if err := d.settle(ctx); err != nil {
		return "", err
	}
	w, came := d.claimed("t1", 1)
	if w.Outcome == bench.Done || w.Outcome == bench.Partial {
		return "", d.breaks(Break{What: fmt.Sprintf("`%s` of a call that was refused", w.Outcome), Came: came, Expected: "`failed`: the answer has the status `refused`", Do: "read `status` of the answer, and its HTTP status"})
	}
	return d.honest(ctx, "t1", 1)
}
