package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// timeoutMS is the time-out of a call in the check of it, in virtual time.
const timeoutMS = 2000

func freshConnections(ctx context.Context, d *desk) (string, error) {
	if _, err := twoCalls(ctx, d); err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	seen := map[string]int{}
	for _, e := range d.arrived {
		if e.kind != "arrived" {
			continue
		}
		if before := seen[e.conn]; before > 0 {
			d.breakLocked(Break{What: fmt.Sprintf("calls %d and %d came over one connection", before, e.n), Came: e.what,
				Expected: "one connection a call, with the knob `fresh_connections`", Do: "close the connection after each call, or take the knob out of the manifest"})
			return "", errBroken
		}
		seen[e.conn] = e.n
	}
	return fmt.Sprintf("%d calls, each over its own", len(seen)), nil
}

// givenUp waits until the held call has been disconnected.
func (d *desk) givenUp(ctx context.Context, after string) error {
	return d.wait(ctx, func() bool { return d.open == 0 }, false, func() Break {
		return Break{What: "the call's connection stays open for " + d.k.Quiet.String() + " after " + after, Expected: "a disconnect, at once",
			Do: "close the connection of the call; a library that cannot is without this ability: take it out of the manifest"}
	})
}

// notFailed refuses `failed` for a call that was sent, and whose answer nobody has seen.
func (d *desk) notFailed(ctx context.Context, sent int) (string, error) {
	w, came := d.claimed("t1", 1)
	if w.Outcome == bench.Failed && d.calls() <= sent {
		return "", d.breaks(Break{What: "`failed` of a call that had been sent when it was given up", Came: came,
			Expected: "`unknown`: nobody knows whether the other side carries it out", Do: "claim `failed` only where nothing was sent, or the answer says that nothing was done"})
	}
	return d.honest(ctx, "t1", 1)
}

// held hands a call over and returns when it stands at the front. no says why it does not.
func (d *desk) held(ctx context.Context) (no string, err error) {
	d.front.meets(hold)
	if err := d.turn(ctx, "t1", false, d.place.Calls[0]); err != nil {
		return "", err
	}
	sent, err := d.sends(ctx)
	if err == nil && !sent {
		no = "it sends nothing"
	}
	return no, err
}

func cancel(ctx context.Context, d *desk) (string, error) {
	if no, err := d.held(ctx); no != "" || err != nil {
		return no, err
	}
	if err := d.send(ctx, bench.Order{Type: "cancel", Cancel: &bench.CallRef{Turn: "t1", Ordinal: 1}}); err != nil {
		return "", err
	}
	if err := d.givenUp(ctx, "`cancel`"); err != nil {
		return "", err
	}
	if err := d.settle(ctx); err != nil {
		return "", err
	}
	return d.notFailed(ctx, 1)
}

func timeout(ctx context.Context, d *desk) (string, error) {
	if no, err := d.held(ctx); no != "" || err != nil {
		return no, err
	}
	var until time.Time
	err := d.wait(ctx, func() bool {
		for k, t := range d.waits {
			if k.why == "time-out" {
				until = t
				return true
			}
		}
		return false
	}, false, func() Break {
		return Break{What: fmt.Sprintf("no `wait` with why `time-out`, though start.knobs.call_timeout_ms is %d", timeoutMS), Came: d.lastCame(),
			Expected: fmt.Sprintf(`{"type":"wait","turn":"t1","call":1,"until":%q,"why":"time-out"}`, d.now.Add(timeoutMS*time.Millisecond).Format(time.RFC3339Nano)),
			Do:       "give the time-out to the library in virtual time, or take knob and ability out of the manifest"}
	})
	if err != nil {
		return "", err
	}
	if want := bench.Epoch.Add(timeoutMS * time.Millisecond); until.Before(want.Add(-time.Second)) || until.After(want.Add(time.Second)) {
		return "", d.breaks(Break{What: "a time-out at " + until.Format(time.RFC3339Nano), Came: d.lastCame(), Expected: want.Format(time.RFC3339Nano) + ": the call's start and call_timeout_ms", Do: "read the knob"})
	}
	d.front.meets(pass)
	if err := d.clock(ctx, until); err != nil {
		return "", err
	}
	if err := d.givenUp(ctx, "its time-out"); err != nil {
		return "", err
	}
	if err := d.settle(ctx); err != nil {
		return "", err
	}
	return d.notFailed(ctx, 1)
}

// repairs makes call 1 of turn t1 once more, under another id.
func (d *desk) repairs(ctx context.Context) error {
	call := d.place.Calls[0]
	g := bench.GivenCall{Ordinal: 1, ID: "call_t1_repair", Tool: call.Tool, Args: call.Args}
	d.mu.Lock()
	d.owe(bench.CallRef{Turn: "t1", Ordinal: 1}, g)
	d.mu.Unlock()
	if err := d.send(ctx, bench.Order{Type: "repair", Repair: &bench.RepairOrder{Turn: "t1", Ordinal: 1, Call: g}}); err != nil {
		return err
	}
	return d.settle(ctx)
}

func repair(ctx context.Context, d *desk) (string, error) {
	if _, err := turn(ctx, d); err != nil {
		return "", err
	}
	if err := d.repairs(ctx); err != nil {
		return "", err
	}
	return d.honest(ctx, "t1", 1)
}

func recovery(ctx context.Context, d *desk) (string, error) {
	if _, err := d.lost(ctx, lose); err != nil {
		return "", err
	}
	if n := d.calls(); n > 1 {
		return "", d.breaks(Break{What: fmt.Sprintf("%d calls were sent with the knob `recovery` at `model`", n), Came: d.lastCame(),
			Expected: "one, and a claim: the `repair` of the model is the next", Do: "turn the retries off with that knob, or take it out of the manifest"})
	}
	d.front.meets(pass)
	if err := d.repairs(ctx); err != nil {
		return "", err
	}
	return d.honest(ctx, "t1", 1)
}

func decide(ctx context.Context, d *desk) (string, error) {
	if no, err := d.held(ctx); no != "" || err != nil {
		return no, err
	}
	o := bench.Order{Type: "decide", Decide: &bench.DecideOrder{Turn: "t1", Ordinal: 1, Decision: bench.Withdrawn}}
	d.mu.Lock()
	d.given[bench.CallRef{Turn: "t1", Ordinal: 1}].since++ // whatever it said of it before, it may say something else now
	d.mu.Unlock()
	if err := d.send(ctx, o); err != nil {
		return "", err
	}
	d.front.release(lose)
	if err := d.settle(ctx); err != nil {
		return "", err
	}
	if n := d.calls(); n > 1 {
		return "", d.breaks(Break{What: fmt.Sprintf("%d calls were sent, %d of them after the goal was withdrawn", n, n-1), Came: d.lastCame(),
			Expected: "nothing more for that goal", Do: "stop the retries with `decide`, or take the ability out of the manifest"})
	}
	return d.honest(ctx, "t1", 1)
}

// events answers each `at` after a clock, so that a system which goes on by itself is seen to.
func events(ctx context.Context, d *desk) (string, error) {
	if err := d.turn(ctx, "t1", false, d.place.Calls[0]); err != nil {
		return "", err
	}
	var seen []string
	for {
		err := d.wait(ctx, func() bool { return len(d.ats) > 0 || d.settled() }, true, d.owed)
		if err != nil {
			return "", err
		}
		d.mu.Lock()
		ats := slices.Clone(d.ats)
		d.mu.Unlock()
		if len(ats) == 0 {
			break
		}
		if err := d.clock(ctx, d.time()); err != nil {
			return "", err
		}
		if err := d.verdict(); err != nil {
			return "", err
		}
		d.mu.Lock()
		d.ats = nil
		d.mu.Unlock()
		seen = append(seen, ats[0].Event)
		if err := d.send(ctx, bench.Order{Type: "proceed", Proceed: &bench.ProceedOrder{Event: ats[0].Event}}); err != nil {
			return "", err
		}
	}
	if len(seen) == 0 && d.calls() > 0 {
		return "", d.breaks(Break{What: "no `at` in a whole turn with the knob `events`", Came: d.lastCame(),
			Expected: "`at` for what has just happened: state-written, dispatching, result-delivered, next-model-call", Do: "announce it, or take knob and ability out of the manifest"})
	}
	return fmt.Sprintf("stood still at %v", seen), nil
}

func webhook(ctx context.Context, d *desk) (string, error) {
	if err := d.send(ctx, bench.Order{Type: "event", Event: &bench.EventOrder{Kind: "check", Body: map[string]any{"id": "evt_1"}}}); err != nil {
		return "", err
	}
	return "idle after it", d.settle(ctx)
}

// killed kills the system around a call and lets it go on.
func killed(ctx context.Context, d *desk) (string, error) {
	no, err := d.held(ctx)
	if err != nil {
		return "", err
	}
	if err := d.kill(); err != nil {
		return "", err
	}
	d.front.meets(pass)
	if err := d.restart(ctx); err != nil {
		return "", err
	}
	if d.k.Manifest.AfterKill == "redeliver" {
		err = d.turn(ctx, "t1", true, d.place.Calls[0])
	} else if no == "" {
		d.mu.Lock()
		d.given[bench.CallRef{Turn: "t1", Ordinal: 1}].owes = true
		d.mu.Unlock()
	}
	if err == nil {
		err = d.settle(ctx)
	}
	if err != nil {
		return "", err
	}
	says, err := d.honest(ctx, "t1", 1)
	return says + ", after_kill: " + d.k.Manifest.AfterKill, err
}

// nextTrial has two trials in one process, alike to the letter but for where they happen.
func nextTrial(ctx context.Context, d *desk) (string, error) {
	if _, err := turn(ctx, d); err != nil {
		return "", err
	}
	d.mu.Lock()
	pid := d.pid
	d.mu.Unlock()
	d.session.Release()
	d.mu.Lock()
	acked, sent := d.acked[d.seq], d.last
	d.session, d.k.reuse = nil, true // it is in the pool
	d.work = 0                       // what comes here now, `second` tells
	d.mu.Unlock()
	if !acked {
		d.k.reuse = false
		return "", d.breaks(Break{What: "`reset` was not acknowledged within " + d.k.Ack.String(), Sent: sent,
			Expected: `{"type":"ack","seq":N}, when nothing of the trial is left in the process`, Do: "acknowledge it, or take `reset` out of `can`: each trial then gets a process of its own"})
	}
	dir := filepath.Join(d.dir, "next")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fmt.Errorf("folder of the trial: %w", err)
	}
	second, err := d.k.open(ctx, dir, one{})
	if second == nil {
		return "", err
	}
	says, err := second.second(ctx, err, pid, d)
	lines := second.close()
	d.mu.Lock()
	d.lines = append(d.lines, lines...)
	d.mu.Unlock()
	d.k.reuse = err == nil
	if b := second.broken(); b != nil {
		return "", d.breaks(*b)
	}
	return says, err
}

// second is the trial after the first one of a process, which opened with err.
func (d *desk) second(ctx context.Context, err error, pid int, first *desk) (string, error) {
	if err != nil && !errors.Is(err, errBroken) {
		return "", err
	}
	d.mu.Lock()
	if d.brk != nil && strings.HasPrefix(d.brk.What, "it exited") {
		d.brk, err = nil, nil
		pid = 0
	}
	alive := d.pid == pid
	d.mu.Unlock()
	if err != nil {
		return "", err
	}
	if !alive {
		return "", d.breaks(Break{What: "the process ended after its `reset`", Expected: "a process that serves the next trial", Do: "stay alive after `reset`, and print nothing until the next `start`"})
	}
	before := first.calls()
	if err := d.turn(ctx, "t1", false, d.place.Calls[0]); err != nil {
		return "", err
	}
	if err := d.settle(ctx); err != nil {
		return "", err
	}
	_, came := d.claimed("t1", 1)
	switch {
	case first.calls() > before:
		return "", d.breaks(Break{What: "the call of the second trial was sent to the address of the first", Came: came, Expected: "calls to the addresses that `start` gave last", Do: "forget addresses, clients and connections at `reset`"})
	case d.calls() == 0 && before > 0:
		return "", d.breaks(Break{What: "the second trial's call was never sent: it was answered from what was left of the first", Came: came, Expected: "a call, as in the first trial", Do: "forget everything at `reset` but what lies in the state folder; that is another one now"})
	}
	return d.answered(ctx, "t1", 1)
}
