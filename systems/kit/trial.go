package kit

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// virtual is a virtual time.
type virtual = time.Time

func parseTime(s string) (virtual, error) { return time.Parse(time.RFC3339Nano, s) }

func formatTime(t virtual) string { return t.UTC().Format(time.RFC3339Nano) }

// Trial is an open trial. Value is the adapter's own.
type Trial struct {
	Start bench.StartOrder
	Value any

	kit  *kit
	ctx  context.Context
	end  context.CancelCauseFunc
	done chan struct{} // closed when work has returned

	mu       sync.Mutex
	wake     sync.Cond // something below has changed
	now      virtual
	seq      int // of the last order
	queue    []job
	closed   bool
	open     *Call                              // in work
	stopped  map[bench.CallRef]error            // why calls that have not begun are not to go on
	turns    map[string]bench.TurnOrder         // as handed over last
	ends     map[string]context.CancelCauseFunc // of turns that an Adapter.Turn has in work
	calls    map[bench.CallRef]givenCall        // as handed over last
	proceeds map[string]int                     // answers to `at` that nobody has taken yet, by event
	asks     map[bench.CallRef][]bench.Decision
	asking   map[bench.CallRef]bool
	alarms   map[*alarm]struct{}

	rpcIDs     int               // as counted by Call.Request
	sessions   map[string]string // with MCP servers, by address
	transports []*http.Transport // of Transport
	watched    bool              // Transport was asked for: Call.left can be believed
}

// job is one piece of the worker's work.
type job struct{ run func(ctx context.Context) }

type givenCall struct {
	given       bench.GivenCall
	redelivered bool
}

// alarm runs ring once, when virtual time reaches until.
type alarm struct {
	until virtual
	ring  func()
}

func newTrial(k *kit, start bench.StartOrder, now virtual) *Trial {
	t := &Trial{
		Start: start, kit: k, now: now, done: make(chan struct{}),
		stopped: map[bench.CallRef]error{}, turns: map[string]bench.TurnOrder{}, ends: map[string]context.CancelCauseFunc{}, calls: map[bench.CallRef]givenCall{},
		proceeds: map[string]int{}, asks: map[bench.CallRef][]bench.Decision{}, asking: map[bench.CallRef]bool{},
		alarms: map[*alarm]struct{}{}, sessions: map[string]string{},
	}
	t.wake.L = &t.mu
	t.ctx, t.end = context.WithCancelCause(context.Background())
	return t
}

// Now is virtual time, as the last order told it.
func (t *Trial) Now() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

// Claim says what the system claims of a call. Adapter.Call and Adapter.Decide return their claim instead.
func (t *Trial) Claim(turn string, ordinal int, c Claim) {
	if c.Outcome == "" || t.ctx.Err() != nil {
		return
	}
	t.kit.say(bench.Word{Type: "claim", Turn: turn, Ordinal: ordinal, Outcome: c.Outcome, Receipts: c.Receipts, Detail: c.Detail})
}

// work carries the jobs out, one after another. After the last one that it has, it says `idle`: all that
// was handed over has its final claim.
func (t *Trial) work() {
	defer close(t.done)
	for {
		t.mu.Lock()
		for len(t.queue) == 0 && !t.closed {
			t.wake.Wait()
		}
		if t.closed {
			t.mu.Unlock()
			return
		}
		next := t.queue[0]
		t.mu.Unlock()

		next.run(t.ctx)

		t.mu.Lock()
		t.queue = t.queue[1:]
		if len(t.queue) == 0 && !t.closed {
			t.rest()
		}
		t.mu.Unlock()
	}
}

// rest says the figures so far, and `idle` with the last order that it knows of.
func (t *Trial) rest() {
	var sum Totals
	if t.kit.adapter.Totals != nil {
		sum = t.kit.adapter.Totals(t)
	}
	t.kit.say(bench.Word{Type: "finished", Escalations: sum.Escalations, LedgerBytes: sum.LedgerBytes, Tokens: sum.Tokens})
	t.kit.say(bench.Word{Type: "idle", Seq: t.seq})
}

// close ends the trial and returns when nothing of it runs any more.
func (t *Trial) close() {
	t.mu.Lock()
	t.closed = true
	t.end(ErrClosed)
	t.wake.Broadcast()
	t.mu.Unlock()
	<-t.done
	if t.kit.adapter.Close != nil {
		t.kit.adapter.Close(t)
	}
	for _, base := range t.transports {
		base.CloseIdleConnections()
	}
}

// What follows is called with t.mu held, by the reader of orders.

// advance moves virtual time and rings what is due.
func (t *Trial) advance(now virtual) {
	t.now = now
	for a := range t.alarms {
		if !a.until.After(now) {
			delete(t.alarms, a)
			a.ring()
		}
	}
}

func (t *Trial) handOver(o bench.TurnOrder) {
	t.turns[o.ID] = o
	if t.kit.adapter.Turn != nil {
		t.queue = append(t.queue, job{run: func(ctx context.Context) { t.runTurn(ctx, o) }})
		return
	}
	for _, g := range o.Calls {
		ref := bench.CallRef{Turn: o.ID, Ordinal: g.Ordinal}
		delete(t.stopped, ref)
		t.calls[ref] = givenCall{given: g, redelivered: o.Redelivered}
		t.push(&Call{Trial: t, Turn: o, Given: g, Redelivered: o.Redelivered, ref: ref})
	}
}

// runTurn carries a whole turn out. Its context ends when one of its calls is cancelled, or the goal of one is
// withdrawn or denied: whoever carries out turns cannot be told to leave out a call.
func (t *Trial) runTurn(ctx context.Context, o bench.TurnOrder) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	t.mu.Lock()
	t.ends[o.ID] = end
	t.mu.Unlock()
	t.kit.adapter.Turn(ctx, t, o)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.ends, o.ID)
}

func (t *Trial) repair(o bench.RepairOrder) {
	ref := bench.CallRef{Turn: o.Turn, Ordinal: o.Ordinal}
	delete(t.stopped, ref)
	t.push(&Call{Trial: t, Turn: t.turn(o.Turn), Given: o.Call, Repair: true, ref: ref})
}

// turn returns a turn as it was handed over, with the id only if an earlier process got it.
func (t *Trial) turn(id string) bench.TurnOrder {
	if o, known := t.turns[id]; known {
		return o
	}
	return bench.TurnOrder{ID: id}
}

// push queues a call.
func (t *Trial) push(c *Call) {
	t.queue = append(t.queue, job{run: func(ctx context.Context) {
		t.run(ctx, c, func(ctx context.Context) Claim { return t.kit.adapter.Call(ctx, c) })
	}})
}

// run carries out what concerns a call and says its claim.
func (t *Trial) run(ctx context.Context, c *Call, do func(context.Context) Claim) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	t.mu.Lock()
	c.ctx, c.end = ctx, end
	if why := t.stopped[c.ref]; why != nil {
		end(why)
	}
	t.open = c
	t.mu.Unlock()

	claim := do(ctx)

	t.mu.Lock()
	t.open = nil
	t.mu.Unlock()
	t.Claim(c.ref.Turn, c.ref.Ordinal, claim)
}

// stop ends the context of a call, in work or still queued.
func (t *Trial) stop(ref bench.CallRef, why error) {
	if t.open != nil && t.open.ref == ref {
		t.open.end(why)
	}
	if end := t.ends[ref.Turn]; end != nil {
		end(why)
	}
	t.stopped[ref] = why
}

func (t *Trial) decide(o bench.DecideOrder) {
	ref := bench.CallRef{Turn: o.Turn, Ordinal: o.Ordinal}
	if t.asking[ref] {
		t.asks[ref] = append(t.asks[ref], o.Decision)
		return
	}
	if o.Decision != bench.Approved {
		t.stop(ref, ErrWithdrawn)
	}
	if t.kit.adapter.Decide == nil {
		return
	}
	g := t.calls[ref]
	g.given.Ordinal = o.Ordinal
	c := &Call{Trial: t, Turn: t.turn(o.Turn), Given: g.given, Redelivered: g.redelivered, ref: ref}
	t.queue = append(t.queue, job{run: func(ctx context.Context) {
		t.mu.Lock()
		delete(t.stopped, ref) // it stopped the call; what is decided now may take its time
		t.mu.Unlock()
		t.run(ctx, c, func(ctx context.Context) Claim { return t.kit.adapter.Decide(ctx, c, o.Decision) })
	}})
}

func (t *Trial) proceed(event string) { t.proceeds[event]++ }
