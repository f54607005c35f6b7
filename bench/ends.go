package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// This file says how a system comes to an end that is not the trial's: it breaks the contract, dies, hangs,
// or goes on for ever. Each is a result with a named reason, judged by what exists and what was said.

// systemEnds takes a system's error for what it is: the end of the system in this trial, and no error of
// the harness. What is left of the system is killed, so that it changes nothing any more.
func (st *stage) systemEnds(err error) error {
	var s *SystemError
	if !errors.As(err, &s) {
		return err
	}
	if st.broke == nil {
		st.broke = s
		st.history.Log(Event{Actor: "agent", Kind: "ended", Text: s.Reason})
	}
	if s.Reason == "hung" || s.Reason == "endless" {
		st.end = "hung"
	}
	st.dead = true
	if st.session == nil {
		return nil
	}
	return st.session.Kill()
}

// A trial's virtual time has an end, so that a system that waits for ever, or again and again, comes to one.
// The back-offs of a patient policy are some dozens.
const (
	lifetime  = 400 * 24 * time.Hour // beside what the fault lets pass, which may be a retention of ten years
	maxMoves  = 1000                 // of the clock, for the system's waits
	maxEvents = 10_000               // of the history; a long trial has a few hundred
)

// circles cuts a system off that goes on and on without waiting.
func (st *stage) circles() error {
	if st.dead || st.history.Len() <= maxEvents {
		return nil
	}
	return st.cutOff("endless", fmt.Sprintf("more than %d events came in one trial", maxEvents))
}

// hang ends a system that has said and sent nothing within the deadline.
func (st *stage) hang(what string) error {
	if st.dead { // nothing of it is left that could make this take so long
		return fmt.Errorf("end of the trial: the system has ended, and yet these are open after %v: %s", st.runner.Deadline, st.gate.describe())
	}
	if own := st.gate.inHarness(); own != "" {
		return fmt.Errorf("%s: the harness itself has not ended within %v: %s", what, st.runner.Deadline, own)
	}
	return st.cutOff("hung", fmt.Sprintf("%s was due%s, and nothing was said or sent within %v; open: %s", what, st.lacking(), st.runner.Deadline, orNone(st.gate.describe())))
}

// lacking says in brackets what the last order that gave the system work has not had; "" if it has had all.
func (st *stage) lacking() string {
	if st.work == 0 || st.idle() {
		return ""
	}
	kind, lacks := "", ""
	for _, e := range st.history.Events() {
		switch order, isOrder := strings.CutPrefix(e.Kind, "order "); {
		case isOrder && givesWork(order):
			kind, lacks = order, "no claim and no idle"
		case e.Kind == "word claim":
			lacks = "no idle"
		}
	}
	return fmt.Sprintf(" (order %d, %s, has had %s)", st.work, kind, lacks)
}

// givesWork reports whether a system has to say idle after an order of that type.
func givesWork(order string) bool {
	switch order {
	case "turn", "repair", "cancel", "decide", "event":
		return true
	}
	return false
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// cutOff ends the system for a reason of its own.
func (st *stage) cutOff(reason, detail string) error {
	err := st.systemEnds(&SystemError{System: st.trial.System, Reason: reason, Detail: detail})
	st.release("the system was cut off")
	return err
}

// owed is pump for what the system owes: one that does not bring it about within the deadline is hung.
func (st *stage) owed(ctx context.Context, what string, cond func() bool) error {
	err := st.pump(ctx, what, cond)
	if !errors.Is(err, errOverdue) || st.dead {
		return err
	}
	if err := st.hang(what); err != nil {
		return err
	}
	return st.pump(ctx, what, cond)
}

// errOverdue is what pump wraps when the deadline comes first.
var errOverdue = errors.New("overdue")
