package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// record reads the world and makes the trial's record. harness is an error of the harness, or nil.
func (st *stage) record(ctx context.Context, harness error) Record {
	rec := Record{Trial: st.trial}
	var broke *SystemError
	if errors.As(harness, &broke) {
		st.broke, harness = broke, nil
		st.history.Log(Event{Actor: "agent", Kind: "ended", Text: broke.Reason})
	}
	var read Reading
	if st.provider != nil && st.oracle != nil {
		var err error
		read.Effects, err = st.oracle.Read(ctx, st.store())
		if err != nil && harness == nil {
			harness = fmt.Errorf("oracle of %s: %w", st.trial.Workload.Provider.Kind, err)
		}
		if err == nil {
			st.readEffects = len(read.Effects)
		}
		read.Dedup = st.provider.Dedup()
	}
	st.gate.mu.Lock()
	st.strike.Reached = st.gate.reached || st.strike.Struck
	st.gate.mu.Unlock()
	if harness != nil {
		st.strike.Harness = harness.Error()
	}
	read.Strike, read.Claims, read.Decisions, read.End = st.strike, st.claims, st.decisions, st.end
	read.Dedup = append(read.Dedup, st.dedup...)
	rec.History = st.history.Events()
	rec.Evidence = Condense(st.trial, rec.History, read)
	rec.Measures = st.measures(rec.Evidence)
	rec.Broke = st.broke
	return rec
}

// Reading is what was read outside the system when all was settled.
type Reading struct {
	Effects   []Effect // of the oracle: Committed is a rank
	Dedup     []DedupRecord
	Strike    StrikeRecord
	Claims    []ClaimRecord
	Decisions []ObservedDecision
	End       string
}

// TickStep is how far the ticks in evidence stand apart where those of the history are 1 apart, so that the
// units of one commit have places of their own.
const TickStep = 1000

// Condense makes a trial's evidence from its history and the readings. It is pure.
func Condense(t Trial, history []Event, r Reading) Evidence {
	ev := Evidence{Workload: workloadEvidence(t.Workload, r.Decisions), Contract: t.Offered, Fault: evidenceFault(t), Strike: r.Strike}
	index := map[string]int{}
	for i, turn := range t.Workload.Turns {
		index[turn.ID] = i + 1
	}
	c := condenser{trial: t, index: index}
	c.walk(history)
	ev.Observed = Observed{Turns: c.turns, Requests: c.requests, End: r.End}
	for _, d := range r.Decisions {
		d.Received *= TickStep
		ev.Observed.Decisions = append(ev.Observed.Decisions, d)
	}
	for _, e := range r.Effects {
		if e.Request == "" {
			ev.Observed.World = append(ev.Observed.World, ObservedObject{Object: e.Object, Class: e.Class, Attrs: e.Attrs, Principal: e.Principal})
			continue
		}
		e.Committed = c.committed[e.Request] + e.Committed
		ev.Observed.Effects = append(ev.Observed.Effects, e)
	}
	slices.SortStableFunc(ev.Observed.Effects, func(a, b Effect) int { return a.Committed - b.Committed })
	for _, d := range r.Dedup {
		if d.Request == "" {
			d.Request = c.lastRequest(d)
		}
		ev.Observed.Dedup = append(ev.Observed.Dedup, d)
	}
	for _, cl := range r.Claims {
		cl.At *= TickStep
		ev.Claims = append(ev.Claims, cl)
	}
	return ev
}

// evidenceFault is a trial's fault as the judge sees it: what its class shows, not what it alone is.
func evidenceFault(t Trial) EvidenceFault {
	f := t.Fault
	extent := string(f.Extent)
	if f.Extent == ExtentExchange {
		extent = "exchange"
	}
	return EvidenceFault{Boundary: f.Boundary, Strike: f.Variant, Truth: f.Truth, Intent: t.Struck,
		HoursPass:          t.Contract.Passes(f.Pass).Hours(),
		ProofOfNonDelivery: t.Shown.Told && f.NonDelivery, TruthTold: t.Shown.Told, ProviderFailure: t.Shown.ProviderFailure, ProviderCrash: t.Shown.ProviderCrash, Extent: extent}
}

// condenser walks a history once, from its first event to its last.
type condenser struct {
	trial     Trial
	index     map[string]int // ordinal of a turn by id
	turns     []ObservedTurn
	requests  []ObservedRequest
	committed map[string]int // tick of a request's commit

	turn      int             // the turn handed over last
	claimed   map[string]bool // intents with a claim
	fresh     map[string]bool // redelivery, restart, model: messages since the last agent call
	calls     []*agentCall    // in order
	byRequest map[string]*agentCall
	pending   map[exchange]int      // tick of a request at its provider link
	seen      map[string]*agentCall // last call that an intent's request came from
}

// agentCall is one exchange on the agent link.
type agentCall struct {
	key      exchange
	tick     int
	fresh    []string
	told     string
	over     bool
	instance string
}

func (c *condenser) walk(history []Event) {
	c.committed, c.claimed, c.fresh = map[string]int{}, map[string]bool{}, map[string]bool{}
	c.byRequest, c.pending, c.seen = map[string]*agentCall{}, map[exchange]int{}, map[string]*agentCall{}
	for _, e := range history {
		tick := e.Tick * TickStep
		switch {
		case e.Kind == "turn" || e.Kind == "redelivery":
			c.turn = c.index[e.Turn]
			if e.Kind == "turn" {
				c.turns = append(c.turns, ObservedTurn{Turn: c.turn, HandedOver: tick})
				c.fresh["model"] = true
			} else {
				c.fresh["redelivery"] = true
			}
		case e.Kind == "repair":
			c.fresh["model"] = true
		case e.Kind == "agent restarted":
			c.fresh["restart"] = true
		case e.Kind == "word claim":
			c.claim(e)
		case e.Kind == string(AgentRequest):
			c.agentRequest(e, tick)
		case e.Kind == string(AgentResponse), strings.HasPrefix(e.Kind, "meets ") && e.Actor == "agent link":
			c.agentResponse(e)
		case e.Kind == string(ProviderRequest):
			c.pending[exchange{link: e.Link, conn: e.Conn, n: e.Exchange}] = tick
		case e.Kind == string(Received):
			c.received(e, tick)
			c.committed[e.Request] = tick // at the earliest: an external provider's commit may be seen late
		case e.Kind == string(Committed):
			c.committed[e.Request] = tick
		}
	}
	for i, r := range c.requests {
		if call := c.byRequest[r.Request]; call != nil {
			c.requests[i].Told = call.told
		}
		if c.requests[i].Told == "" {
			c.requests[i].Told = "nothing"
		}
	}
}

func (c *condenser) claim(e Event) {
	turn := c.index[e.Word.Turn]
	if turn == 0 {
		return
	}
	t := c.trial.Workload.Turns[turn-1]
	if t.AsksAgain == "" && e.Word.Ordinal >= 1 && e.Word.Ordinal <= len(t.Intents) {
		c.claimed[t.Intents[e.Word.Ordinal-1].ID] = true
	}
}

func (c *condenser) agentRequest(e Event, tick int) {
	if e.Call == nil || !e.Call.Mutating && e.Call.Class == "" {
		return // a look-up or the opening of a session uses up no message of the model's
	}
	call := &agentCall{key: exchange{link: e.Link, conn: e.Conn, n: e.Exchange}, tick: tick, instance: e.Text}
	for _, l := range []string{"redelivery", "restart", "model"} {
		if c.fresh[l] {
			call.fresh = append(call.fresh, l)
		}
	}
	call.fresh = append(call.fresh, "agent link")
	c.fresh = map[string]bool{}
	c.calls = append(c.calls, call)
}

func (c *condenser) agentResponse(e Event) {
	key := exchange{link: e.Link, conn: e.Conn, n: e.Exchange}
	for _, call := range c.calls {
		if call.key != key {
			continue
		}
		if strings.HasPrefix(e.Kind, "meets ") {
			call.told = "nothing"
		} else {
			call.told = e.Told
		}
		call.over = true
	}
}

// received books a mutating request that arrived at the provider.
func (c *condenser) received(e Event, tick int) {
	if e.Call == nil || !e.Call.Mutating {
		return
	}
	r := ObservedRequest{Request: e.Request, Arrived: tick, Dispatched: tick, Intents: c.intentsOf(*e.Call), NewOn: []string{"provider link"}}
	if at, ok := c.pending[exchange{link: e.Link, conn: e.Conn, n: e.Exchange}]; ok {
		r.Dispatched = at
	}
	instance := strings.TrimPrefix(e.Link, "provider/")
	var from *agentCall
	for _, call := range c.calls {
		if !call.over && (call.instance == instance || call.instance == "") {
			from = call
		}
	}
	if from == nil && len(c.calls) > 0 {
		from = c.calls[len(c.calls)-1]
	}
	if from != nil {
		c.byRequest[e.Request] = from
		r.Dispatched = from.tick
		again := false
		for _, in := range r.Intents {
			again = again || c.seen[in] == from
			c.seen[in] = from
		}
		if !again {
			r.NewOn = append(append([]string{}, from.fresh...), r.NewOn...)
		}
	}
	c.requests = append(c.requests, r)
}

// intentsOf attributes a request by business attributes and turn: intents asked for so far whose slots it
// fits best, those of the latest turn first; twins of one turn by count.
func (c *condenser) intentsOf(call Call) []string {
	best, found := 2, []string(nil)
	for i := c.turn - 1; i >= 0; i-- {
		t := c.trial.Workload.Turns[i]
		intents := t.Intents
		if t.AsksAgain != "" {
			for _, old := range c.trial.Workload.Turns {
				for _, in := range old.Intents {
					if in.ID == t.AsksAgain {
						intents = append([]Intent{in}, intents...)
					}
				}
			}
		}
		for _, in := range intents {
			d := leastDisagreement(in.Slots, call)
			switch {
			case d < best:
				best, found = d, []string{in.ID}
			case d == best && d < 2 && c.claimed[found[0]] && !c.claimed[in.ID] && t.AsksAgain == "":
				found = []string{in.ID} // the twin before has had its answer
			}
		}
		if best == 0 {
			break
		}
	}
	return found
}

// leastDisagreement is the number of matched attributes in which a call differs from the slot that it fits
// best; 2 and more do not fit.
func leastDisagreement(slots []Slot, call Call) int {
	units := call.Units
	if len(units) == 0 {
		units = []map[string]any{call.Attrs}
	}
	least := 2
	for _, s := range slots {
		for _, u := range units {
			if s.Class == call.Class {
				least = min(least, disagreements(s.Match, u))
			}
		}
	}
	return least
}

// lastRequest is the request that a record of a tool server's memory stands for: none arrived, so it gets
// a name of its own.
func (c *condenser) lastRequest(d DedupRecord) string {
	return "memory/" + strconv.Itoa(len(c.requests))
}

// measures are the secondary figures of the trial.
func (st *stage) measures(ev Evidence) Measures {
	m := Measures{Attempts: len(ev.Observed.Requests), Escalations: 0,
		LedgerBytes: st.finished.LedgerBytes, Tokens: st.finished.Tokens}
	last := map[[2]int]string{}
	for _, c := range ev.Claims {
		last[[2]int{c.Turn, c.Call}] = c.Claim
	}
	for _, c := range last {
		if c == Unknown {
			m.Escalations++
		}
	}
	for _, e := range st.history.Events() {
		if e.Kind == string(AgentRequest) && e.Call != nil && (e.Call.Mutating || e.Call.Class != "") {
			m.AgentCalls++
		}
	}
	if !st.first.IsZero() && !st.last.IsZero() {
		m.LatencyMS = float64(st.last.Sub(st.first)) / float64(time.Millisecond)
		m.VirtualMS = float64(st.lastV.Sub(st.firstV)) / float64(time.Millisecond)
	}
	if !st.strikeV.IsZero() {
		until := st.clock.Now()
		if !st.lastV.IsZero() && st.lastV.After(st.strikeV) {
			until = st.lastV
		}
		m.TimeInUnknownMS = float64(until.Sub(st.strikeV)) / float64(time.Millisecond)
	}
	return m
}
