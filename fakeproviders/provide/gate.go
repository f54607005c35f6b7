package provide

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// hold is the act of an order that lets a call stand where it is until it is released.
const hold = bench.Act("hold")

// points are where an order can strike, by the names that it uses.
var points = map[string]bench.Point{
	"received":        bench.Received,
	"before-commit":   bench.BeforeCommit,
	"committed":       bench.Committed,
	"before-response": bench.BeforeResponse,
}

// acts are what a call can meet. What each does at each point is in docs/providers.md.
var acts = []bench.Act{bench.Close, bench.CrashAct, bench.Fail, hold, bench.Pass, bench.Replace, bench.Reset, bench.Rollback, bench.Swallow, bench.Truncate}

// passed bounds how many requests the gate remembers the points of.
const passed = 10_000

// Order says which call meets what.
type Order struct {
	At    string `json:"at"`              // "received", "before-commit", "committed", "before-response"
	Nth   int    `json:"nth,omitempty"`   // the first that it strikes of the calls that fit and come there, from 1; 0: 1
	Times int    `json:"times,omitempty"` // how many it strikes from there on; 0: 1

	Op    string `json:"op,omitempty"`    // fits only this operation, as GET /requests shows it
	Class string `json:"class,omitempty"` // fits only calls that would make such an effect
	Key   string `json:"key,omitempty"`   // fits only calls under this idempotency key

	Act    bench.Act `json:"act"`
	Status int       `json:"status,omitempty"` // replace, fail: 400 to 599; 0: 503
	Body   string    `json:"body,omitempty"`   // replace
	Bytes  int       `json:"bytes,omitempty"`  // truncate: bytes of the body that go out
}

// Strike is a call that met an order.
type Strike struct {
	Request string    `json:"request"`
	Op      string    `json:"op"`
	Key     string    `json:"key,omitempty"`
	Point   string    `json:"point"`
	Status  int       `json:"status,omitempty"` // of the answer that was rendered, at points that have one
	Act     bench.Act `json:"act"`              // of a released call: what it met then
	At      time.Time `json:"at"`               // virtual time
	Over    bool      `json:"over"`             // the exchange has ended: what it met has been carried out
}

// Standing is an order and what has come of it.
type Standing struct {
	ID string `json:"id"`
	Order
	State  string   `json:"state"` // "armed": it may strike yet; "holding": a call stands there; "done"
	Fitted int      `json:"fitted"`
	Struck []Strike `json:"struck"`
}

// Passage is what a request passed.
type Passage struct {
	Point  string `json:"point"`
	Status int    `json:"status,omitempty"`
}

type order struct {
	Standing
	stand *stand
}

// stand is where an order's held calls wait together for their release.
type stand struct {
	struck []int // their places in the order's strikes
	goOn   chan struct{}
	into   bench.Action // what they meet; set before goOn is closed
}

// Gate is a gate that a test gives orders to. It is a bench.Gate.
type Gate struct {
	clock bench.Clock

	mu      sync.Mutex
	changed chan struct{} // closed and made anew at each change
	orders  []*order
	given   int // orders so far
	names   []string
	passes  map[string][]Passage
	ended   bool
}

var _ bench.Gate = (*Gate)(nil)

// NewGate is a gate without orders.
func NewGate(clock bench.Clock) *Gate {
	return &Gate{clock: clock, changed: make(chan struct{}), passes: map[string][]Passage{}}
}

func (g *Gate) change() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// Arrive implements bench.Gate. Every order that fits counts the call; of those that it is due for, the oldest strikes.
func (g *Gate) Arrive(a bench.Arrival) bench.Action {
	point := strings.TrimPrefix(string(a.Point), "provider/")
	g.mu.Lock()
	if g.ended {
		g.mu.Unlock()
		return bench.Action{Act: bench.Pass}
	}
	g.note(a.Request, Passage{point, a.Status})
	var due *order
	for _, o := range g.orders {
		if !o.fits(point, a.Call) {
			continue
		}
		o.Fitted++
		if due == nil && o.Fitted >= o.Nth && len(o.Struck) < o.Times {
			due = o
		}
	}
	if due == nil {
		g.mu.Unlock()
		return bench.Action{Act: bench.Pass}
	}
	n := len(due.Struck)
	due.Struck = append(due.Struck, Strike{Request: a.Request, Op: a.Call.Op, Key: a.Call.Key, Point: point, Status: a.Status, Act: due.Act, At: g.clock.Now()})
	act := bench.Action{Act: due.Act, Status: due.Status, Body: due.Body, Bytes: due.Bytes}
	if due.Act != hold {
		due.settle()
		g.change()
		g.mu.Unlock()
		return act
	}
	here := due.stand
	here.struck = append(here.struck, n)
	due.settle()
	g.change()
	g.mu.Unlock()
	<-here.goOn
	return here.into
}

// note needs the lock.
func (g *Gate) note(request string, p Passage) {
	if g.passes[request] == nil {
		if len(g.names) == passed {
			delete(g.passes, g.names[0])
			g.names = g.names[1:]
		}
		g.names = append(g.names, request)
	}
	g.passes[request] = append(g.passes[request], p)
}

func (o *order) fits(point string, c bench.Call) bool {
	return o.At == point && (o.Op == "" || o.Op == c.Op) && (o.Class == "" || o.Class == c.Class) && (o.Key == "" || o.Key == c.Key)
}

// settle sets the state; it needs the lock.
func (o *order) settle() {
	switch {
	case len(o.stand.struck) > 0:
		o.State = "holding"
	case len(o.Struck) < o.Times:
		o.State = "armed"
	default:
		o.State = "done"
	}
}

// Left implements bench.Gate.
func (g *Gate) Left(bench.Arrival) {}

// Ended implements bench.Gate.
func (g *Gate) Ended(a bench.Arrival) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, o := range g.orders {
		for i := range o.Struck {
			if o.Struck[i].Request == a.Request {
				o.Struck[i].Over = true
				g.change()
			}
		}
	}
}

// arm gives an order. An error says what is wrong with it.
func (g *Gate) arm(o Order) (Standing, error) {
	if err := o.check(); err != nil {
		return Standing{}, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.given++
	one := &order{Standing: Standing{ID: fmt.Sprintf("o%d", g.given), Order: o, State: "armed", Struck: []Strike{}}, stand: newStand()}
	g.orders = append(g.orders, one)
	return one.shown(), nil
}

// check fills in what has a default.
func (o *Order) check() error {
	if points[o.At] == "" {
		return fmt.Errorf(`"at" is %q, expected received, before-commit, committed or before-response`, o.At)
	}
	if o.Nth < 0 || o.Times < 0 {
		return fmt.Errorf(`"nth" is %d and "times" %d, expected whole numbers from 1`, o.Nth, o.Times)
	}
	o.Nth, o.Times = max(1, o.Nth), max(1, o.Times)
	return checkAct(o.At, o.Act, &o.Status, o.Body, o.Bytes)
}

func checkAct(at string, act bench.Act, status *int, body string, bytes int) error {
	answers := act == bench.Replace || act == bench.Fail
	switch {
	case !slices.Contains(acts, act):
		var names []string
		for _, a := range acts {
			names = append(names, string(a))
		}
		return fmt.Errorf(`"act" is %q, expected %s`, act, strings.Join(names, ", "))
	case act == bench.Rollback && at != "received" && at != "before-commit":
		return fmt.Errorf(`"act" is rollback at %s, where nothing is open any more; expected it at received or before-commit`, at)
	case !answers && *status != 0:
		return fmt.Errorf(`"status" is %d with act %s, expected it with replace or fail only`, *status, act)
	case answers && *status != 0 && (*status < 400 || *status > 599) && !(act == bench.Replace && *status >= 200 && *status < 300):
		return fmt.Errorf(`"status" is %d, expected 400 to 599 (with replace also 200 to 299)`, *status)
	case act != bench.Replace && body != "":
		return fmt.Errorf(`"body" with act %s, expected it with replace only`, act)
	case act != bench.Truncate && bytes != 0:
		return fmt.Errorf(`"bytes" with act %s, expected it with truncate only`, act)
	case bytes < 0:
		return fmt.Errorf(`"bytes" is %d, expected a whole number from 0`, bytes)
	}
	if answers && *status == 0 {
		*status = http.StatusServiceUnavailable
	}
	return nil
}

// shown is a copy; it needs the lock.
func (o *order) shown() Standing {
	s := o.Standing
	s.Struck = slices.Clone(s.Struck)
	return s
}

func (g *Gate) standings() []Standing {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := []Standing{}
	for _, o := range g.orders {
		all = append(all, o.shown())
	}
	return all
}

// find needs the lock.
func (g *Gate) find(id string) *order {
	for _, o := range g.orders {
		if o.ID == id {
			return o
		}
	}
	return nil
}

// await returns an order when it is no longer armed, or when ctx or the gate ends; and whether there is one at all.
func (g *Gate) await(ctx context.Context, id string) (Standing, bool) {
	for {
		g.mu.Lock()
		o, changed := g.find(id), g.changed
		if o == nil {
			g.mu.Unlock()
			return Standing{}, false
		}
		s, ended := o.shown(), g.ended
		g.mu.Unlock()
		if s.State != "armed" || ended {
			return s, true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return s, true
		}
	}
}

// let releases the calls that an order holds, into act.
func (g *Gate) let(id string, act bench.Action) (Standing, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.find(id)
	if o == nil {
		return Standing{}, errNoOrder
	}
	if err := checkAct(o.At, act.Act, &act.Status, act.Body, act.Bytes); err != nil {
		return Standing{}, err
	}
	if act.Act == hold {
		return Standing{}, fmt.Errorf(`"act" is hold, expected what the call meets when it goes on`)
	}
	if len(o.stand.struck) == 0 {
		return Standing{}, fmt.Errorf("order %s holds no call: it is %s; GET /gate/%s?wait=10s waits until it does", id, o.State, id)
	}
	o.free(act)
	g.change()
	return o.shown(), nil
}

func newStand() *stand { return &stand{goOn: make(chan struct{})} }

// free lets the held calls go; it needs the lock.
func (o *order) free(into bench.Action) {
	was := o.stand
	o.stand = newStand()
	for _, n := range was.struck {
		o.Struck[n].Act = into.Act
	}
	was.into = into
	close(was.goOn)
	o.settle()
}

// disarm takes an order back. What it holds goes on.
func (g *Gate) disarm(id string) (Standing, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.find(id)
	if o == nil {
		return Standing{}, false
	}
	g.orders = slices.DeleteFunc(g.orders, func(x *order) bool { return x == o })
	o.free(bench.Action{Act: bench.Pass})
	g.change()
	return o.shown(), true
}

// passages are the points that a request passed, in order.
func (g *Gate) passages(request string) []Passage {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.passes[request])
}

// end resets what is held and lets everything pass from now on.
func (g *Gate) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	for _, o := range g.orders {
		o.free(bench.Action{Act: bench.Reset})
	}
	g.change()
}
