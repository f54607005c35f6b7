package bench

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// gate is the one place that decides what an arrived message meets. It parks the struck call, holds the
// rest of its intent back while the strike is made, and keeps the account of exchanges that are open.
//
// An attempt is one tool call of the struck intent at the agent link (without an agent link: one request at
// the provider). Requests at the provider belong to the latest attempt that their tool server serves.
type gate struct {
	fault    Fault
	selector selector
	history  *History
	serving  func(conn int) string // instance that carries a connection of the agent link
	direct   bool                  // the agent link leads to the provider itself

	mu       sync.Mutex
	changed  chan struct{} // closed and made anew at each change
	open     map[exchange]*openExchange
	early    map[exchange]bool // exchanges whose client left before they were seen to arrive
	attempts []*attempt
	parks    chan *park // to the trial; one at a time
	strikes  int
	held     *park         // parked past its strike, until its release
	holding  bool          // other messages wait until the strike has been made
	waiting  int           // messages that do
	torn     bool          // the trial is over: everything passes
	since    []string      // requests at the provider since the struck intent's turn was handed over
	reached  bool          // a call that the selector matches left the system
	ended    chan struct{} // closed when the trial is over
}

// exchange names one exchange on a link, or at the provider behind it.
type exchange struct {
	link     string
	conn, n  int
	provider bool
}

type openExchange struct {
	arrival Arrival
	attempt *attempt
	stopped bool // parked, held or swallowed: it makes no progress by itself
	left    bool // its client went away
}

// attempt is one execution try of the struck intent.
type attempt struct {
	n        int      // from 1
	agent    exchange // zero without an agent link
	instance string
	mutating int      // requests of it that arrived at the provider link or the provider, the struck one included
	struck   exchange // provider exchange that is struck, by link
	parked   bool
	requests []string // names of its requests at the provider, in order of arrival
}

// park is a call that stands still at a point.
type park struct {
	arrival Arrival
	attempt *attempt
	resume  chan Action
}

func newGate(f Fault, s selector, h *History, serving func(int) string) *gate {
	return &gate{fault: f, selector: s, history: h, serving: serving, changed: make(chan struct{}),
		open: map[exchange]*openExchange{}, early: map[exchange]bool{}, parks: make(chan *park, 1), ended: make(chan struct{})}
}

var _ Gate = (*gate)(nil)

func keyOf(a Arrival) exchange {
	provider := strings.HasPrefix(string(a.Point), "provider/")
	return exchange{link: a.Link, conn: a.Conn, n: a.Exchange, provider: provider}
}

// change wakes everybody who waits for a condition. The lock is held.
func (g *gate) change() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// until waits for cond, which is called under the lock.
func (g *gate) until(ctx context.Context, cond func() bool) error {
	for {
		g.mu.Lock()
		ok, changed := cond(), g.changed
		g.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Arrive implements Gate.
func (g *gate) Arrive(a Arrival) Action {
	if a.Point == AgentRequest && a.Note == "" {
		a.Note = g.serving(a.Conn) // it may wait for the balancer, so not under the lock
	}
	g.mu.Lock()
	for g.holding && opens(a.Point) && !g.ofParked(a) && !handshake(a) { // it arrives when the strike has been made
		g.waiting++
		g.change()
		for g.holding {
			changed := g.changed
			g.mu.Unlock()
			<-changed
			g.mu.Lock()
		}
		g.waiting--
	}
	x := g.enter(a)
	if g.torn {
		g.mu.Unlock()
		return Action{Act: Pass}
	}
	matches := x.attempt != nil && g.target(a, x)
	switch {
	case matches && a.Point == g.fault.Park && !x.attempt.parked && g.strikes < max(1, g.fault.Times):
		return g.park(a, x) // unlocks
	case matches && (x.attempt.parked || g.fault.Extent == ExtentIntent || g.before(a.Point)):
		act, ok := g.fault.Meets[a.Point]
		if !ok {
			break
		}
		g.history.Log(g.event(a, "meets "+string(act.Act)))
		if act.Act == Swallow {
			x.stopped = true
			g.change()
		}
		g.mu.Unlock()
		return act
	case g.held != nil && a.Point == WaitsForKey:
		g.letGo("a retry waits for it")
	case g.held != nil && g.fault.Holds == RetryInWork && x.attempt != nil && x.attempt.n > g.held.attempt.n &&
		(a.Point == Committed || a.Point == BeforeResponse):
		key := g.held.attempt.struck
		key.provider = true
		g.letGo("retry in work")
		g.mu.Unlock()
		g.wait(func() bool { return g.open[key] == nil })
		return Action{Act: Pass}
	}
	g.mu.Unlock()
	return Action{Act: Pass}
}

// ofParked reports whether a message belongs to the attempt that is parked: it goes on while the rest of
// what the system sends waits. The lock is held.
func (g *gate) ofParked(a Arrival) bool {
	switch a.Point {
	case ProviderRequest:
		at := g.latestOn(strings.TrimPrefix(a.Link, "provider/"))
		return at != nil && at.parked && g.selector.matchesAtProvider(a.Call)
	case Received:
		x := g.open[exchange{link: a.Link, conn: a.Conn, n: a.Exchange}]
		return x != nil && x.attempt != nil && x.attempt.parked
	}
	return false
}

// latestOn is the latest attempt that a tool server serves, nil if there is none. The lock is held.
func (g *gate) latestOn(instance string) *attempt {
	var at *attempt
	for _, c := range g.attempts {
		if c.agent.n != 0 && c.instance == instance {
			at = c
		}
	}
	return at
}

// handshake reports whether a message is what MCP says beside calls. A system that is started again in a strike
// may need it to get ready.
func handshake(a Arrival) bool {
	op := a.Call.Op
	return a.Point == AgentRequest && (strings.HasPrefix(op, "notifications/") || slices.Contains([]string{"initialize", "server/discover", "tools/list"}, op))
}

// opens reports whether a point begins an exchange on its side.
func opens(p Point) bool { return p == AgentRequest || p == ProviderRequest || p == Received }

// before reports whether a point lies before the park on the path of a call, so that what it meets there
// is part of how the struck call comes to be parked as it is.
func (g *gate) before(p Point) bool {
	order := map[Point]int{AgentRequest: 1, ProviderRequest: 2, Received: 3, BeforeCommit: 4, Committed: 5, BeforeResponse: 5, ProviderResponse: 6, AgentResponse: 7}
	return order[p] != 0 && order[p] < order[g.fault.Park]
}

// wait blocks until cond or the end of the trial.
func (g *gate) wait(cond func() bool) {
	ctx, cancel := context.WithCancel(context.Background())
	stop := make(chan struct{})
	go func() {
		select {
		case <-g.ended:
		case <-stop:
		}
		cancel()
	}()
	_ = g.until(ctx, cond) // its only error is the trial's end, after which everything passes
	close(stop)
}

// enter logs an arrival, opens its exchange and finds its attempt. The lock is held.
func (g *gate) enter(a Arrival) *openExchange {
	key := keyOf(a)
	x := g.open[key]
	if x == nil {
		x = &openExchange{arrival: a, left: g.early[key]}
		g.open[key] = x
		x.attempt = g.attemptOf(a, key)
	}
	if a.Point == Received && *g.selector.armed {
		g.since = append(g.since, a.Request)
	}
	if a.Point == Received && x.attempt != nil {
		x.attempt.requests = append(x.attempt.requests, a.Request)
	}
	x.arrival = a
	g.history.Log(g.event(a, string(a.Point)))
	g.change()
	return x
}

func (g *gate) event(a Arrival, kind string) Event {
	actor := a.Link
	if keyOf(a).provider {
		actor = "provider"
	} else if a.Point != AgentEvent {
		actor += " link"
	}
	e := Event{Actor: actor, Kind: kind, Link: a.Link, Conn: a.Conn, Exchange: a.Exchange, Request: a.Request,
		Told: a.Told, Status: a.Status, Text: a.Note}
	if opens(a.Point) || a.Point == AgentEvent {
		c := a.Call
		e.Call = &c
	}
	return e
}

// attemptOf finds, or begins, the attempt of the struck intent that an exchange belongs to; nil: none.
func (g *gate) attemptOf(a Arrival, key exchange) *attempt {
	switch {
	case a.Point == AgentRequest:
		matches := g.selector.matches
		if g.direct {
			matches = g.selector.matchesAtProvider
		}
		if !matches(a.Call) {
			return nil
		}
		g.reached = g.reached || g.fault.Park != AgentEvent // there the event is what must be reached
		at := &attempt{n: len(g.attempts) + 1, agent: key, instance: a.Note}
		if g.direct {
			at.mutating, at.struck = 1, key
		}
		g.attempts = append(g.attempts, at)
		return at
	case a.Point == ProviderRequest:
		if !g.selector.matchesAtProvider(a.Call) {
			return nil
		}
		instance := strings.TrimPrefix(a.Link, "provider/")
		at := g.latestOn(instance)
		if at == nil {
			g.reached = true
			at = &attempt{n: len(g.attempts) + 1, instance: instance}
			g.attempts = append(g.attempts, at)
		}
		at.mutating++
		if at.mutating == g.selector.nth {
			at.struck = key
		}
		return at
	case key.provider:
		link := g.open[exchange{link: a.Link, conn: a.Conn, n: a.Exchange}]
		if link != nil {
			return link.attempt
		}
	}
	return nil
}

// target reports whether a message of an attempt is one that the fault strikes. The lock is held.
func (g *gate) target(a Arrival, x *openExchange) bool {
	at := x.attempt
	if g.fault.Extent != ExtentIntent && at.n > max(1, g.fault.Times) {
		return false
	}
	if a.Point == AgentRequest || a.Point == AgentResponse {
		return at.agent == keyOf(a)
	}
	if g.fault.Park == AgentResponse {
		return true // the whole call is struck, whatever requests it makes
	}
	return at.struck == exchange{link: a.Link, conn: a.Conn, n: a.Exchange}
}

// park hands a call to the trial and waits for what it shall meet. It is called with the lock held and
// releases it.
func (g *gate) park(a Arrival, x *openExchange) Action {
	p := &park{arrival: a, attempt: x.attempt, resume: make(chan Action, 1)}
	g.strikes++
	x.attempt.parked, x.stopped, g.holding = true, true, true
	g.history.Log(g.event(a, "parked"))
	g.change()
	g.mu.Unlock()
	g.parks <- p
	var act Action
	select {
	case act = <-p.resume:
	case <-g.ended:
		act = Action{Act: Pass}
	}
	g.mu.Lock()
	x.stopped = act.Act == Swallow
	g.change()
	g.mu.Unlock()
	return act
}

// parkEvent parks an event of the agent, if the fault is placed there.
func (g *gate) parkEvent(turnFits bool, event string) *park {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fault.Park != AgentEvent || g.fault.Event != event || !turnFits || g.strikes >= max(1, g.fault.Times) {
		return nil
	}
	g.strikes++
	g.reached = true
	a := Arrival{Point: AgentEvent, Link: "agent", Note: event}
	g.history.Log(g.event(a, "parked"))
	return &park{arrival: a, attempt: &attempt{n: g.strikes, parked: true}, resume: make(chan Action, 1)}
}

// goOn lets a parked call meet what its fault says at the point where it stands.
func (g *gate) goOn(p *park, why string) {
	act, ok := g.fault.Meets[p.arrival.Point]
	if !ok {
		act = Action{Act: Pass}
	}
	g.history.Log(Event{Actor: "gate", Kind: "released", Text: why}) // its own actor: a retry releases while the trial is at something else
	if act.Act != Pass {
		g.history.Log(g.event(p.arrival, "meets "+string(act.Act))) // so that nobody takes the parked answer for one that came
	}
	p.resume <- act
}

// hold keeps p parked past its strike and lets the rest of the intent go on.
func (g *gate) hold(p *park) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held, g.holding = p, false
	g.change()
}

// letGo releases the held call, if there is one. The lock is held.
func (g *gate) letGo(why string) {
	if g.held == nil {
		return
	}
	p := g.held
	g.held = nil
	g.goOn(p, why)
	g.change()
}

// lift ends the holding back of the struck intent's other messages.
func (g *gate) lift() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holding = false
	g.change()
}

// Left implements Gate.
func (g *gate) Left(a Arrival) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if x := g.open[keyOf(a)]; x != nil {
		x.left = true
	} else {
		g.early[keyOf(a)] = true
	}
	g.history.Log(g.event(a, "client left"))
	g.change()
}

// Ended implements Gate.
func (g *gate) Ended(a Arrival) {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := keyOf(a)
	x := g.open[key]
	delete(g.open, key)
	if x != nil && g.held != nil && g.fault.Holds == RetryOver && !key.provider && x.attempt != nil &&
		x.attempt.n > g.held.attempt.n && (g.direct || key.link != "agent") {
		g.letGo("retry answered")
	}
	g.change()
}

// tear ends the trial: everything that is parked or waits goes on.
func (g *gate) tear() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.torn {
		return
	}
	g.torn, g.holding = true, false
	close(g.ended)
	g.change()
}

// active is the number of open exchanges that make progress by themselves: a call makes none while one of
// its messages stands still.
func (g *gate) active() int {
	stands := map[*attempt]bool{}
	for _, x := range g.open {
		if x.stopped && x.attempt != nil {
			stands[x.attempt] = true
		}
	}
	n := 0
	for _, x := range g.open {
		if !x.stopped && !stands[x.attempt] {
			n++
		}
	}
	return n
}

// inHarness names an exchange that goes on at the provider, which is the harness's own: nobody else is to
// blame if it does not end.
func (g *gate) inHarness() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	for k, x := range g.open {
		if k.provider && !x.stopped {
			return "request " + x.arrival.Request + " at " + string(x.arrival.Point)
		}
	}
	return ""
}

// describe names the open exchanges, for errors.
func (g *gate) describe() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var s []string
	for k, x := range g.open {
		side := "link " + k.link
		if k.provider {
			side = "provider behind " + k.link
		}
		s = append(s, side+" connection "+strconv.Itoa(k.conn)+" exchange "+strconv.Itoa(k.n)+" at "+string(x.arrival.Point))
	}
	return strings.Join(s, "; ")
}

// selector says which requests are the struck intent's.
type selector struct {
	slots []Slot
	tool  string // for read-only intents: their tool
	nth   int    // which mutating request of an attempt is struck, from 1
	armed *bool  // the struck intent's turn has been handed over; guarded by the gate's lock
}

// matches reports whether a call at the agent link is the struck intent's: class and all matched
// attributes but at most one agree.
func (s selector) matches(c Call) bool {
	if !*s.armed {
		return false
	}
	if len(s.slots) == 0 {
		return c.Op == s.tool
	}
	return c.Mutating && fitsAny(s.slots, c)
}

// matchesAtProvider is matches for requests at the provider, whose operations have the provider's names.
func (s selector) matchesAtProvider(c Call) bool {
	if !*s.armed {
		return false
	}
	if len(s.slots) == 0 {
		return !c.Mutating
	}
	return c.Mutating && fitsAny(s.slots, c)
}

// fitsAny reports whether a call would make an effect for one of the slots, but for one attribute at most.
func fitsAny(slots []Slot, c Call) bool {
	units := c.Units
	if len(units) == 0 {
		units = []map[string]any{c.Attrs}
	}
	for _, s := range slots {
		for _, u := range units {
			if c.Class == s.Class && disagreements(s.Match, u) <= 1 {
				return true
			}
		}
	}
	return false
}
