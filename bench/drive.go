package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// agentState is what the trial knows of the system from its words.
type agentState struct {
	sent     int // orders that this process was sent in this trial
	work     int // ordinal of the last of them that gave it work
	idleAt   int // orders that it had acknowledged when it last said idle
	waits    map[waitKey]time.Time
	claims   []ClaimRecord
	repaired bool
	window   bool // the agent link's front is shut
	refused  bool // a tool server reported a refused dial
	timedOut bool // a tool server reported a time-out
	dead     bool // killed by us, or ended by itself
	end      string
	spoken   bool      // it has claimed for the struck call since the strike began
	moves    int       // of the clock, for the system's waits
	heldFrom time.Time // virtual time since which a call is held
	finished Word
	timers   map[string]time.Time // virtual time-outs of tool servers, by instance
	broke    *SystemError         // why the system could not go on

	dedup     []DedupRecord // answers from the memory of a tool server
	decisions []ObservedDecision
	strikeV   time.Time // virtual time of the last strike
}

type waitKey struct {
	turn    string
	ordinal int
	why     string
}

func (a *agentState) reset() {
	a.waits, a.timers = map[waitKey]time.Time{}, map[string]time.Time{}
}

// whyTimeOut is the reason of a wait that only a fault lets run out; all others end when everybody waits.
const whyTimeOut = "time-out"

// send hands an order over; it returns when the system has acknowledged it.
func (st *stage) send(ctx context.Context, o Order) error {
	within := st.runner.Deadline
	if o.Start != nil { // a start may raise things that take long to import
		within *= 4
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	o.Now = st.clock.Now().Format(time.RFC3339Nano)
	err := st.session.Send(ctx, o)
	if errors.Is(err, context.DeadlineExceeded) {
		err = &SystemError{System: st.trial.System, Reason: "hung",
			Detail: fmt.Sprintf("no acknowledgement of order %s within %v; every order is acknowledged on receipt", o.Type, within)}
	}
	if err != nil {
		return err
	}
	st.sent++
	if givesWork(o.Type) {
		st.work = st.sent
	}
	if o.Start != nil { // its addresses and folders are this run's own
		o.Start = &StartOrder{Wire: o.Start.Wire, Restarted: o.Start.Restarted, Knobs: o.Start.Knobs}
	}
	st.history.Log(Event{Actor: "harness", Kind: "order " + o.Type, Order: &o})
	return nil
}

// startOrder opens the trial in a process of the system.
func (st *stage) startOrder(restarted bool) *StartOrder {
	t := st.trial
	o := &StartOrder{Wire: WireVersion, StateDir: st.state(), Restarted: restarted,
		Token: callID(t.Seed, t.ID, "token", 0), Tools: st.offers(), Knobs: Knobs{Events: t.Fault.Park == AgentEvent}}
	if t.Direct {
		o.Providers = map[string]string{t.Workload.Provider.Kind: "http://" + st.agent.Address()}
	}
	if t.Fault.Owner == "agent" {
		o.Knobs.CallTimeoutMS = callTimeoutMS
	}
	if t.Fault.Drift != "" {
		o.Knobs.Recovery = "model"
	}
	return o
}

// callID mints an id as a model would: opaque, and the same again for the same place in a trial.
func callID(seed int64, parts ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(append([]any{seed}, parts...)...)))
	return "call_" + hex.EncodeToString(sum[:9])
}

// calls are the calls of a turn as a system without a model is given them.
func (st *stage) calls(turn Turn) []GivenCall {
	var out []GivenCall
	for i, in := range st.intentsOf(turn) {
		out = append(out, GivenCall{Ordinal: i + 1, ID: callID(st.trial.Seed, st.own(turn.ID, i+1)...), Tool: in.Call.Tool, Args: in.Call.Args})
	}
	return out
}

// intentsOf are the intents that a turn asks for, those that it asks for again among them.
func (st *stage) intentsOf(turn Turn) []Intent {
	if turn.AsksAgain == "" {
		return turn.Intents
	}
	for _, t := range st.trial.Workload.Turns {
		for _, in := range t.Intents {
			if in.ID == turn.AsksAgain {
				return append([]Intent{in}, turn.Intents...)
			}
		}
	}
	return turn.Intents
}

// handOver gives the system the turn at hand.
func (st *stage) handOver(ctx context.Context, again bool) error {
	turn := st.trial.Workload.Turns[st.turn]
	struck := false
	for _, in := range st.intentsOf(turn) {
		struck = struck || in.ID == st.trial.Struck
	}
	st.gate.mu.Lock()
	st.armed = struck && st.trial.Fault.Boundary != NoFault
	st.gate.mu.Unlock()
	if st.armed && st.trial.Fault.Window && !again {
		if err := st.strikeWindow(); err != nil {
			return err
		}
	}
	kind := "turn"
	if again {
		kind = "redelivery"
	}
	st.history.Log(Event{Actor: "harness", Kind: kind, Turn: turn.ID})
	if st.first.IsZero() {
		st.first, st.firstV = time.Now(), st.clock.Now()
	}
	return st.send(ctx, Order{Type: "turn", Turn: &TurnOrder{ID: turn.ID, Conversation: st.conversation(), Say: turn.Say,
		Continues: turn.Continues, Redelivered: again, Calls: st.calls(turn)}})
}

// drive lets the system work on the turn at hand until it is over: idle, nothing parked, held or open.
func (st *stage) drive(ctx context.Context) error {
	for {
		over, err := st.step(ctx)
		if over || err != nil {
			return err
		}
	}
}

// step waits for the next thing to happen and deals with it.
func (st *stage) step(ctx context.Context) (over bool, err error) {
	if st.idle() || st.dead {
		st.release("the system is idle")
		if err := st.endWindow("the system is idle"); err != nil {
			return false, err
		}
	}
	if err := st.circles(); err != nil {
		return false, err
	}
	st.gate.mu.Lock()
	changed, quiet, busy := st.gate.changed, len(st.gate.open) == 0 && !st.gate.holding && st.gate.held == nil, st.gate.active() > 0 || st.gate.holding
	st.gate.mu.Unlock()
	switch {
	case len(st.gate.parks) > 0:
	case quiet && !st.dead && st.idle() && st.repairs():
		st.repaired = true
		st.history.Log(Event{Actor: "harness", Kind: "repair", Turn: st.ref().Turn}) // before anything that comes of it
		return false, st.systemEnds(st.send(ctx, Order{Type: "repair", Repair: st.repair()}))
	case quiet && (st.dead || st.idle() && len(st.waits) == 0):
		return true, nil
	case !busy:
		if until, ok := st.earliest(); ok {
			if st.moves++; st.moves > maxMoves || until.Sub(Epoch) > lifetime+st.trial.Contract.Passes(st.trial.Fault.Pass) {
				return false, st.cutOff("endless", fmt.Sprintf("it waits until %s after %d moves of the clock; a trial ends after %d moves or %d days of virtual time",
					until.Format(time.RFC3339), st.moves-1, maxMoves, lifetime/(24*time.Hour)))
			}
			return false, st.advance(ctx, until)
		}
	}
	timer := time.NewTimer(st.runner.Deadline)
	defer timer.Stop()
	select {
	case p := <-st.gate.parks:
		return false, st.strikeAt(ctx, p)
	case w, ok := <-st.words():
		return false, st.hear(ctx, w, ok)
	case n := <-st.notes:
		return false, st.note(n)
	case <-changed:
		return false, nil
	case <-timer.C:
		return false, st.hang("a word or a call")
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// words is the channel of the system's words, or nil when it is dead.
func (st *stage) words() <-chan Word {
	if st.dead {
		return nil
	}
	return st.session.Words()
}

// pump deals with words and notes until cond, which is called under the gate's lock.
func (st *stage) pump(ctx context.Context, what string, cond func() bool) error {
	timer := time.NewTimer(st.runner.Deadline)
	defer timer.Stop()
	for {
		st.gate.mu.Lock()
		ok, changed := cond(), st.gate.changed
		st.gate.mu.Unlock()
		if ok {
			return nil
		}
		err := st.circles()
		if err != nil {
			return err
		}
		select {
		case w, ok := <-st.words():
			err = st.hear(ctx, w, ok)
		case n := <-st.notes:
			err = st.note(n)
		case <-changed:
		case <-timer.C:
			err = fmt.Errorf("%s: %w, nothing came within %v (open: %s)", what, errOverdue, st.runner.Deadline, st.gate.describe())
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// idle reports whether the system has said that everything it was given has its final claim.
func (st *stage) idle() bool { return st.idleAt >= st.work && st.work > 0 }

// earliest is the earliest virtual time that the system waits for, time-outs of calls apart.
func (st *stage) earliest() (time.Time, bool) {
	var at time.Time
	for k, t := range st.waits {
		if k.why != whyTimeOut && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	return at, !at.IsZero() && !st.dead
}

// advance moves virtual time, and tells the system. A held call is let go before time passes the limit
// within which the contract commits a lost call.
func (st *stage) advance(ctx context.Context, to time.Time) error {
	if limit := st.trial.Contract.Actual.CommitsWithin; limit != nil && !st.heldFrom.IsZero() && to.After(st.heldFrom.Add(*limit)) {
		if err := st.releaseAndWait(ctx, "the contract's limit for late commits"); err != nil {
			return err
		}
	}
	st.move(to)
	if err := st.tellServers(ctx, to); err != nil { // before the system: what it does then must not meet a time-out of before
		return err
	}
	return st.tellSystem(ctx)
}

// move moves virtual time and ends the waits that are over.
func (st *stage) move(to time.Time) {
	if to.After(st.clock.Now()) {
		st.clock.set(to)
	}
	st.history.Log(Event{Actor: "clock", Kind: "moved", Text: to.Format(time.RFC3339)})
	for k, t := range st.waits {
		if !t.After(to) {
			delete(st.waits, k)
		}
	}
}

// tellSystem tells the system the time.
func (st *stage) tellSystem(ctx context.Context) error {
	if st.dead {
		return nil
	}
	return st.systemEnds(st.send(ctx, Order{Type: "clock"}))
}

// tellServers tells tool servers the time, where they have a time-out. What was due there has been given up
// when it returns.
func (st *stage) tellServers(ctx context.Context, to time.Time) error {
	if st.trial.Fault.Owner != "toolserver" {
		return nil
	}
	for name, s := range st.servers {
		if st.killed[name] {
			continue
		}
		if err := s.Clock(ctx, to); err != nil {
			return fmt.Errorf("tool server %s: %w", name, err)
		}
	}
	return nil
}

// hear deals with a word of the system.
func (st *stage) hear(ctx context.Context, w Word, ok bool) error {
	if !ok {
		err := st.session.Err()
		if err == nil {
			err = &SystemError{System: st.trial.System, Reason: "exited", Detail: "its words ended"}
		}
		return st.systemEnds(err)
	}
	logged := w
	st.history.Log(Event{Actor: "agent", Kind: "word " + w.Type, Turn: w.Turn, Word: &logged})
	switch w.Type {
	case "claim":
		return st.claim(w)
	case "wait":
		return st.wait(w)
	case "at":
		if !st.startOrder(false).Knobs.Events {
			return st.systemEnds(&SystemError{System: st.trial.System, Reason: "broke the contract",
				Detail: fmt.Sprintf("at %s, though the knob events was not set: nobody answers with proceed", w.Event)})
		}
		fits, err := st.truthFits(ctx, w.Event)
		if err != nil {
			return err
		}
		if fits {
			if p := st.gate.parkEvent(st.armed, w.Event); p != nil {
				return st.strikeAt(ctx, p)
			}
		}
		return st.systemEnds(st.send(ctx, Order{Type: "proceed", Proceed: &ProceedOrder{Event: w.Event}}))
	case "idle":
		st.idleAt = w.Seq
	case "finished":
		st.finished = w
	}
	return nil
}

// wait notes what the system waits for; an empty time withdraws the waits of a call.
func (st *stage) wait(w Word) error {
	if w.Until == "" {
		for k := range st.waits {
			if k.turn == w.Turn && k.ordinal == w.Ordinal && (w.Why == "" || w.Why == k.why) {
				delete(st.waits, k)
			}
		}
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, w.Until)
	if err != nil {
		return st.systemEnds(&SystemError{System: st.trial.System, Reason: "broke the contract",
			Detail: fmt.Sprintf("wait until %q: expected a time in RFC 3339", w.Until)})
	}
	key := waitKey{w.Turn, w.Ordinal, w.Why}
	if key.why == whyTimeOut && !at.After(st.clock.Now()) { // it crossed the order that moves the clock: it is over when that is read
		delete(st.waits, key)
		return nil
	}
	st.waits[key] = at
	return nil
}

// claim notes a claim and opens what a claim ends.
func (st *stage) claim(w Word) error {
	turn := 0
	for i, t := range st.trial.Workload.Turns {
		if t.ID == w.Turn {
			turn = i + 1
		}
	}
	intents := st.claimed(turn, w.Ordinal)
	if intents == nil {
		return st.systemEnds(&SystemError{System: st.trial.System, Reason: "broke the contract",
			Detail: fmt.Sprintf("claim on turn %q call %d: no such call was handed over", w.Turn, w.Ordinal)})
	}
	st.last, st.lastV = time.Now(), st.clock.Now()
	st.claims = append(st.claims, ClaimRecord{Turn: turn, Call: w.Ordinal, Intents: intents, At: st.history.Len(),
		Claim: w.Outcome, Receipts: w.Receipts, Detail: w.Detail})
	struck := false
	for _, in := range intents {
		struck = struck || in == st.trial.Struck
	}
	if !struck {
		return nil
	}
	st.spoken = true
	st.release("the system claimed")
	return nil
}

// claimed are the intents of a call of a turn; nil: there is no such call.
func (st *stage) claimed(turn, ordinal int) []string {
	if turn == 0 || turn > st.turn+1 {
		return nil
	}
	intents := st.intentsOf(st.trial.Workload.Turns[turn-1])
	if ordinal < 1 || ordinal > len(intents) {
		return nil
	}
	return []string{intents[ordinal-1].ID}
}

// repairs reports whether the model makes the struck call once more: after the strike, when the system has
// said of it what it says.
func (st *stage) repairs() bool {
	return st.trial.Fault.Drift != "" && !st.repaired && st.strike.Struck
}

// repair is the drifted call that the model makes.
func (st *stage) repair() *RepairOrder {
	w := st.ref()
	var call ToolCall
	for _, t := range st.trial.Workload.Turns {
		for _, in := range t.Intents {
			if in.ID == st.trial.Struck {
				call = in.Call
			}
		}
	}
	call = Drifted(call, st.trial.Workload, st.trial.Fault.Drift)
	return &RepairOrder{Turn: w.Turn, Ordinal: w.Ordinal,
		Call: GivenCall{Ordinal: w.Ordinal, ID: callID(st.trial.Seed, st.own(w.Turn, w.Ordinal, "repair")...), Tool: call.Tool, Args: call.Args}}
}

// Drifted is a call after the workload's drift of that name.
func Drifted(call ToolCall, w Workload, drift string) ToolCall {
	for _, d := range w.Drifts {
		if d.Name != drift {
			continue
		}
		if d.Tool != "" {
			return ToolCall{Tool: d.Tool, Args: d.Args}
		}
		args := map[string]any{}
		for k, v := range call.Args {
			args[k] = v
		}
		for k, v := range d.Args {
			args[k] = v
		}
		call.Args = args
	}
	return call
}

// note deals with a fact that a tool server reports of itself.
func (st *stage) note(n ToolServerNote) error {
	st.history.Log(Event{Actor: "toolserver/" + n.Instance, Kind: "note " + n.Kind, Text: n.Detail})
	switch n.Kind {
	case "refused dial":
		st.refused = true
	case "dedup":
		st.dedup = append(st.dedup, DedupRecord{By: "toolserver", Record: n.Object})
	case "time-out":
		st.timedOut = true
	case "waiting":
		at, err := time.Parse(time.RFC3339Nano, n.Until)
		if err != nil {
			return fmt.Errorf("tool server %s: waits until %q, expected a time in RFC 3339", n.Instance, n.Until)
		}
		st.timers[n.Instance] = at
	}
	return nil
}

// release lets a held call go, for what the system has said or done.
func (st *stage) release(why string) {
	st.gate.mu.Lock()
	st.gate.letGo(why)
	st.gate.mu.Unlock()
	st.heldFrom = time.Time{}
}

// endWindow lets the agent's connections in again, when the system is idle: at its claim it would be chance
// whether the next call of the turn met the window.
func (st *stage) endWindow(why string) error {
	if !st.window {
		return nil
	}
	st.window = false
	st.history.Log(Event{Actor: "harness", Kind: "released", Text: why})
	if err := st.agent.Open(); err != nil {
		return fmt.Errorf("agent link: %w", err)
	}
	return nil
}

// releaseAndWait lets a held call go and waits until its exchange is over.
func (st *stage) releaseAndWait(ctx context.Context, why string) error {
	st.gate.mu.Lock()
	held := st.gate.held
	st.gate.mu.Unlock()
	st.release(why)
	if held == nil {
		return nil
	}
	return st.pump(ctx, "end of the held call", func() bool { return !st.gate.openOf(held.attempt) })
}
