package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// This file is what the desk notes as it comes, and what must hold always.

// sent is told of each order as it is written.
func (k *checker) sent(pid int, line []byte) []byte {
	d := k.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.extra {
		line = withUnknown(line)
		d.extra = false
	}
	var o bench.Order
	_ = json.Unmarshal(line, &o) // it was made of one
	text := string(line)
	d.pid, d.seq, d.last = pid, o.Seq, text
	d.orders[o.Seq] = text
	d.lines = append(d.lines, "> "+text)
	switch o.Type {
	case "turn":
		for _, c := range o.Turn.Calls {
			d.given[bench.CallRef{Turn: o.Turn.ID, Ordinal: c.Ordinal}].line = text
		}
	case "repair":
		d.given[bench.CallRef{Turn: o.Repair.Turn, Ordinal: o.Repair.Ordinal}].line = text
	}
	switch o.Type {
	case "turn", "repair", "cancel", "decide", "event":
		d.work = o.Seq
	}
	d.rest = pause{}
	d.change()
	return line
}

// withUnknown puts fields into an order that no system can know, at the top and inside its part.
func withUnknown(line []byte) []byte {
	var o map[string]any
	if json.Unmarshal(line, &o) != nil {
		return line
	}
	for _, part := range o {
		if m, ok := part.(map[string]any); ok {
			m["of_a_later_version"] = map[string]any{"deep": []any{1, "two", nil}}
		}
	}
	o["of_a_later_version"] = "unknown"
	text, err := json.Marshal(o)
	if err != nil {
		return line
	}
	return text
}

// came is told of each line of the system. What is no word is left to the driver, which ends the process.
func (k *checker) came(pid int, line []byte) {
	d := k.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pid = pid
	if d.dying {
		return
	}
	text := string(line)
	d.lines = append(d.lines, "< "+shorten(text, 2000))
	var w bench.Word
	if json.Unmarshal(line, &w) != nil {
		return
	}
	d.slept()
	if len(d.ats) > 0 && slices.Contains([]string{"claim", "idle", "at"}, w.Type) {
		d.wentOn(text)
	}
	switch w.Type {
	case "ack":
		d.acked[w.Seq] = true
	case "started":
		k.started = &w
	case "claim":
		d.claim(w, text)
	case "wait":
		d.noteWait(w)
	case "at":
		d.ats = append(d.ats, w)
		if !d.knobs.Events {
			d.breakLocked(Break{What: "`at` without the knob `events`: nobody answers it with `proceed`", Came: text,
				Expected: "no `at` unless start.knobs.events is true", Do: "look at the knob"})
		}
	case "idle":
		d.idle(w, text)
	}
	d.resting(text)
	d.change()
}

// wentOn says that the system did not stand still after an `at`.
func (d *desk) wentOn(text string) {
	at := d.ats[len(d.ats)-1]
	d.breakLocked(Break{What: fmt.Sprintf("it went on after `at` %s, before `proceed`", at.Event), Came: text,
		Expected: "a system that stands still from `at` to `proceed`", Do: "wait for the `proceed` of that event"})
}

// claim takes a claim; d.mu is held, as in all that follows.
func (d *desk) claim(w bench.Word, text string) {
	h := d.given[bench.CallRef{Turn: w.Turn, Ordinal: w.Ordinal}]
	if h == nil {
		d.breakLocked(Break{What: fmt.Sprintf("a claim on turn %q call %d, which it was not given", w.Turn, w.Ordinal), Came: text,
			Expected: "a claim on " + d.givenNames(), Do: "claim with the turn's `id` and the call's `ordinal`, as they were handed over in this trial"})
		return
	}
	if last := len(h.claims) - 1; last >= h.since && h.claims[last].Outcome != bench.Deferred {
		before, _ := json.Marshal(h.claims[last]) // it came as JSON
		d.breakLocked(Break{What: fmt.Sprintf("a second claim on turn %s call %d, with no order on it since the first, %s", w.Turn, w.Ordinal, before),
			Sent: h.line, Came: text, Expected: "one claim when the call is over; `deferred` alone is followed by another", Do: "claim once, at the end"})
	}
	h.claims = append(h.claims, w)
	if w.Outcome != bench.Deferred {
		h.owes = false
	}
}

func (d *desk) givenNames() string {
	var names []string
	for ref := range d.given {
		names = append(names, fmt.Sprintf("turn %q call %d", ref.Turn, ref.Ordinal))
	}
	if len(names) == 0 {
		return "nothing: no call was given yet"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func (d *desk) noteWait(w bench.Word) {
	ref := bench.CallRef{Turn: w.Turn, Ordinal: w.Ordinal}
	if w.Until == "" {
		for k := range d.waits {
			if k.ref == ref && (w.Why == "" || w.Why == k.why) {
				delete(d.waits, k)
			}
		}
		return
	}
	if at, err := time.Parse(time.RFC3339Nano, w.Until); err == nil && at.After(d.now) {
		d.waits[waitOf{ref, w.Why}] = at
	}
}

func (d *desk) idle(w bench.Word, text string) {
	covers := w.Seq
	if covers == 0 {
		for seq := range d.acked {
			covers = max(covers, seq)
		}
	}
	d.idleAt = max(d.idleAt, covers)
	if d.idleAt < d.work {
		return
	}
	for ref, h := range d.given {
		if h.owes {
			d.breakLocked(Break{What: fmt.Sprintf("`idle` before the claim on turn %s call %d", ref.Turn, ref.Ordinal), Sent: h.line, Came: text,
				Expected: "`idle` when everything that was handed over has its final claim", Do: "claim first"})
		}
	}
}

// happened is told of the calls at the front.
func (d *desk) happened(e event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dying {
		if e.kind != "arrived" {
			d.open = max(0, d.open-1)
		}
		return
	}
	d.arrived = append(d.arrived, e)
	d.lines = append(d.lines, fmt.Sprintf("- call %d %s: %s", e.n, e.kind, e.what))
	if e.kind == "arrived" {
		d.slept()
		if len(d.ats) > 0 {
			d.wentOn("")
		}
		d.open++
		if d.idleAt >= d.work && d.work > 0 {
			d.breakLocked(Break{What: fmt.Sprintf("call %d was sent after `idle`, with no order since: %s", e.n, e.what), Came: d.lastCame(),
				Expected: "nothing under way after `idle`", Do: "say `idle` when the last call is over, those in the background too"})
		}
	} else {
		d.open--
	}
	d.resting("call " + e.kind)
	d.change()
}

// resting begins to measure, if the system has something to do, has sent something already, and waits for nothing.
func (d *desk) resting(after string) {
	owes := d.idleAt < d.work
	d.rest = pause{on: owes && d.open == 0 && len(d.waits) == 0 && len(d.ats) == 0 && len(d.arrived) > 0, began: time.Now(), busy: processTime(d.pid), after: after}
}

// slept looks whether the system has slept in real time until now. What it ran, or stood in line for a
// processor, is no sleep. A system with a clock of its own may.
func (d *desk) slept() {
	if !d.rest.on {
		return
	}
	lasted := time.Since(d.rest.began)
	if lasted < d.k.Rest {
		return
	}
	if asleep := lasted - (processTime(d.pid) - d.rest.busy); asleep >= d.k.Rest && d.k.Manifest.Clock == "protocol" {
		d.breakLocked(Break{What: fmt.Sprintf("it slept for %s in real time, after: %s", asleep.Round(10*time.Millisecond), shorten(d.rest.after, 120)),
			Expected: `{"type":"wait","turn":"...","call":1,"until":"a virtual time","why":"back-off"}, and to go on when a clock reaches it`,
			Do:       "never sleep in real time: a back-off, a lag, a retention or a time-out is a `wait`; the kits do it for a library's own sleep"})
	}
}

// listen follows the words until they end.
func (d *desk) listen() {
	session := d.session
	words := session.Words()
	go func() {
		for range words { // the tap has seen them
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if words == session.Words() { // else another process has taken over
			d.over = true
			d.change()
		}
	}()
}
