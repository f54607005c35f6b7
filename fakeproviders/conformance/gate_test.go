package conformance

import (
	"sync"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// gate is a scripted gate. Requests are counted from 1 in the order of their arrival, reads included.
type gate struct {
	mu       sync.Mutex
	arrivals []bench.Arrival // received ones, in order
	ordinal  map[string]int  // request -> its ordinal
	orders   map[spot]bench.Action
	holds    map[spot]*hold
}

// spot is a point in the life of the n-th request; n 0: of every request.
type spot struct {
	at bench.Point
	n  int
}

// hold is a request that stands still until it is released.
type hold struct {
	arrived chan struct{}
	goOn    chan bench.Action
	once    sync.Once
}

func (h *hold) release(act bench.Action) { h.once.Do(func() { h.goOn <- act }) }

func newGate() *gate {
	return &gate{ordinal: map[string]int{}, orders: map[spot]bench.Action{}, holds: map[spot]*hold{}}
}

var _ bench.Gate = (*gate)(nil)

func (g *gate) Arrive(a bench.Arrival) bench.Action {
	g.mu.Lock()
	if g.ordinal[a.Request] == 0 {
		g.ordinal[a.Request] = len(g.ordinal) + 1
		g.arrivals = append(g.arrivals, a)
	}
	n := g.ordinal[a.Request]
	act, ok := g.orders[spot{a.Point, n}]
	if !ok {
		act = g.orders[spot{a.Point, 0}]
	}
	h := g.holds[spot{a.Point, n}]
	g.mu.Unlock()
	if h != nil {
		close(h.arrived)
		return <-h.goOn
	}
	return act
}

func (g *gate) Left(bench.Arrival)  {}
func (g *gate) Ended(bench.Arrival) {}

// meet lets requests meet an action at a point: those of the given ordinals, or every one.
func (g *gate) meet(at bench.Point, act bench.Action, ordinals ...int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(ordinals) == 0 {
		ordinals = []int{0}
	}
	for _, n := range ordinals {
		g.orders[spot{at, n}] = act
	}
}

// hold keeps the n-th request at a point until it is released.
func (g *gate) hold(at bench.Point, n int) *hold {
	h := &hold{arrived: make(chan struct{}), goOn: make(chan bench.Action, 1)}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holds[spot{at, n}] = h
	return h
}

// seen lists the requests that arrived, in order.
func (g *gate) seen() []bench.Arrival {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]bench.Arrival(nil), g.arrivals...)
}

// tear releases what is still held.
func (g *gate) tear() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, h := range g.holds {
		h.release(bench.Action{Act: bench.Pass})
	}
}

// clock is virtual time that a scenario moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
