package kit

import (
	"context"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// Call is one call handed to the system: given in a turn, or the repair of one.
type Call struct {
	Trial       *Trial
	Turn        bench.TurnOrder // as handed over; a repair after a restart knows its id only
	Given       bench.GivenCall
	Repair      bool // Given repairs the call of this ordinal
	Redelivered bool // the turn was handed over before, to an earlier process

	ref   bench.CallRef
	ctx   context.Context
	end   context.CancelCauseFunc
	rpcID int  // of its requests, 0 before the first
	left  bool // a request of it had a connection: it may have left (Trial.mu)
}

// Ref names the call.
func (c *Call) Ref() bench.CallRef { return c.ref }

// Now is virtual time.
func (c *Call) Now() time.Time { return c.Trial.Now() }

// Wait sleeps until virtual time reaches until; why is told to the reader: "back-off", "look-up lag". It
// returns the cause of the context's end if that comes first.
func (c *Call) Wait(ctx context.Context, until time.Time, why string) error {
	rung := make(chan struct{})
	drop := c.alarm(until, why, func() { close(rung) })
	select {
	case <-rung:
		return nil
	case <-ctx.Done():
		drop()
		return context.Cause(ctx)
	}
}

// Deadline returns a context that ends with ErrTimedOut when d of virtual time has passed. The caller
// calls stop when the work is over; that withdraws the wait. A d of zero or less sets no deadline.
func (c *Call) Deadline(ctx context.Context, d time.Duration) (_ context.Context, stop func()) {
	if d <= 0 {
		return ctx, func() {}
	}
	ctx, end := context.WithCancelCause(ctx)
	drop := c.alarm(c.Now().Add(d), "time-out", func() { end(ErrTimedOut) })
	return ctx, func() { drop(); end(nil) }
}

// alarm says `wait` and rings when virtual time reaches until, at once if it has. drop withdraws it by a
// `wait` with an empty until.
func (c *Call) alarm(until time.Time, why string, ring func()) (drop func()) {
	t := c.Trial
	t.mu.Lock()
	defer t.mu.Unlock()
	if !until.After(t.now) {
		ring()
		return func() {}
	}
	a := &alarm{until: until, ring: ring}
	t.alarms[a] = struct{}{}
	wait := bench.Word{Type: "wait", Turn: c.ref.Turn, Ordinal: c.ref.Ordinal, Until: formatTime(until), Why: why}
	t.kit.say(wait)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if _, set := t.alarms[a]; !set {
			return
		}
		delete(t.alarms, a)
		wait.Until = ""
		if !t.closed {
			t.kit.say(wait)
		}
	}
}

// At announces an event and returns when the harness says `proceed`, or when the trial is closed. It does
// nothing unless the trial asks for events. A kill strikes here.
func (c *Call) At(event, detail string) {
	t := c.Trial
	if !t.Start.Knobs.Events {
		return
	}
	t.kit.say(bench.Word{Type: "at", Turn: c.ref.Turn, Ordinal: c.ref.Ordinal, Event: event, Detail: detail})
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.proceeds[event] == 0 && !t.closed {
		t.wake.Wait()
	}
	if t.proceeds[event] > 0 {
		t.proceeds[event]--
	}
}

// Ask puts a question to the human behind the harness and returns the decision.
func (c *Call) Ask(ctx context.Context, question string) (bench.Decision, error) {
	t := c.Trial
	t.mu.Lock()
	t.asking[c.ref] = true
	t.mu.Unlock()
	t.kit.say(bench.Word{Type: "ask", Turn: c.ref.Turn, Ordinal: c.ref.Ordinal, Detail: question})
	unhook := context.AfterFunc(ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.wake.Broadcast()
	})
	defer unhook()
	t.mu.Lock()
	defer t.mu.Unlock()
	defer delete(t.asking, c.ref)
	for len(t.asks[c.ref]) == 0 && ctx.Err() == nil {
		t.wake.Wait()
	}
	if len(t.asks[c.ref]) == 0 {
		return "", context.Cause(ctx)
	}
	decision := t.asks[c.ref][0]
	t.asks[c.ref] = t.asks[c.ref][1:]
	return decision, nil
}
