package bench

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// strikeAt makes the strike on a parked call:
//  1. read the truth while the call stands still;  2. pull the levers;  3. write the strike into the history;
//  4. let the call go on into the fault (or hold it);  5. wait until its exchanges are over;  6. bring back
//     what was killed, and let the rest of the intent go on.
func (st *stage) strikeAt(ctx context.Context, p *park) error {
	f, since, why := st.trial.Fault, st.clock.Now(), "struck"
	st.spoken = false
	truth, err := st.truth(ctx, p)
	if err != nil {
		return fmt.Errorf("truth at the strike: %w", err)
	}
	if f.Reused != (p.arrival.Exchange > 1) && p.arrival.Link != "agent" {
		return fmt.Errorf("strike %s: the struck request is exchange %d of its connection, expected reused=%v", f.Variant, p.arrival.Exchange, f.Reused)
	}
	for _, l := range f.Levers {
		if err := st.pull(ctx, l, p); err != nil {
			return fmt.Errorf("%s: %w", l, err)
		}
	}
	if !slices.Contains(f.Levers, RefuseProvider) {
		st.struck(truth)
	}
	if f.Holds != AtOnce {
		if why, err = st.reaction(ctx); err != nil {
			return err
		}
	}
	if f.Holds != AtOnce && why == "" {
		st.heldFrom = since
		st.gate.hold(p)
		if slices.Contains(f.Levers, RestartAgent) && st.broke == nil {
			return st.restartAgent(ctx)
		}
		return nil
	}
	st.gate.goOn(p, why)
	if slices.Contains(f.Levers, RefuseProvider) {
		if err := st.pump(ctx, "a refused dial of the tool server", func() bool { return st.refused }); err != nil {
			return err
		}
		st.struck(truth)
		for _, l := range st.links {
			if err := l.Open(); err != nil {
				return fmt.Errorf("link to the provider: %w", err)
			}
		}
	}
	if err := st.over(ctx, p); err != nil {
		return err
	}
	if slices.Contains(f.Levers, DrainServing) {
		if err := st.killServer(p.attempt.instance); err != nil {
			return err
		}
	}
	if slices.Contains(f.Levers, RestartAgent) && st.broke == nil {
		if err := st.restartAgent(ctx); err != nil {
			return err
		}
	}
	st.gate.lift()
	return nil
}

// reaction waits until the system shows what it makes of a call that is to be held: it is idle, waits, or
// sends again, which the gate keeps back. It returns why the call is not to be held any more, ""
// if it is: whether a system had spoken is not left to which of its claim and its next call is seen first.
func (st *stage) reaction(ctx context.Context) (why string, err error) {
	calls := false
	err = st.owed(ctx, "a call, a wait or idle after the strike", func() bool {
		_, waits := st.earliest()
		calls = st.gate.waiting > 0
		return st.dead || st.idle() || waits || calls
	})
	if err == nil && !st.dead && calls { // a call overtakes words said before it; an acknowledgement does not
		err = st.systemEnds(st.send(ctx, Order{Type: "clock"}))
	}
	for err == nil && !st.dead && len(st.words()) > 0 {
		w, ok := <-st.words()
		err = st.hear(ctx, w, ok)
	}
	switch {
	case err != nil || st.dead:
		return "", err
	case st.spoken:
		return "the system claimed", nil
	case st.idle():
		return "the system is idle", nil
	}
	return "", nil
}

// struck writes a proved strike down.
func (st *stage) struck(truth Truth) {
	if !st.strike.Struck {
		st.strike.Struck, st.strike.Truth = true, truth
	}
	st.strikeV = st.clock.Now()
	st.history.Log(Event{Actor: "harness", Kind: "strike", Truth: truth, Text: string(st.trial.Fault.Boundary) + " " + st.trial.Fault.Variant})
}

// over waits until the exchanges of a struck attempt are over. A swallowed answer is ended once its client
// has given up, for nobody else would end it.
func (st *stage) over(ctx context.Context, p *park) error {
	cut := false
	err := st.owed(ctx, "end of the struck call", func() bool {
		for key, x := range st.gate.open {
			if x.attempt == p.attempt && x.stopped && !key.provider && key.link != "agent" && !cut {
				cut = true
				instance, conn := p.attempt.instance, key.conn
				go st.links[instance].Cut(conn) // the lock of the gate is held here, and Cut reports to it
			}
		}
		return !st.gate.openOf(p.attempt)
	})
	// Its tool server may have more requests to make for it, whether or not its agent has left.
	name := p.attempt.instance
	for n := -1; err == nil && n != 0 && st.servers[name] != nil && !st.killed[name]; {
		n, err = st.servers[name].Busy(ctx)
	}
	return err
}

// openOf reports whether exchanges of an attempt are open. The lock is held.
func (g *gate) openOf(at *attempt) bool {
	for _, x := range g.open {
		if x.attempt == at {
			return true
		}
	}
	return false
}

// pull does one thing while the struck call is parked.
func (st *stage) pull(ctx context.Context, l Lever, p *park) error {
	st.history.Log(Event{Actor: "harness", Kind: "lever", Text: string(l)})
	switch l {
	case KillAgent:
		if err := st.session.Kill(); err != nil {
			return err
		}
		if err := st.lastWords(); err != nil {
			return err
		}
		st.dead = true
		if p.attempt.agent.n == 0 {
			return nil
		}
		return st.pump(ctx, "the agent's connection to end", func() bool { return st.gone(p.attempt.agent) })
	case KillToolServer:
		if err := st.killServer(p.attempt.instance); err != nil || p.arrival.Link == "agent" {
			return err
		}
		at := exchange{link: p.arrival.Link, conn: p.arrival.Conn, n: p.arrival.Exchange}
		return st.pump(ctx, "the tool server's connection to end", func() bool { return st.gone(at) })
	case RestartTool:
		name := p.attempt.instance
		if err := st.servers[name].Restart(ctx); err != nil {
			return err
		}
		st.killed[name] = false
		st.balancer.Point(name, st.servers[name].Address())
		st.balancer.Avoid(name, false)
		if st.sticky() {
			st.onlyTo(name)
		}
		return nil
	case AvoidServing, DrainServing:
		st.elsewhere(p.attempt.instance)
		return nil
	case RefuseProvider:
		for _, link := range st.links {
			if err := link.Shut(); err != nil {
				return err
			}
		}
		return nil
	case CutProvider, EdgeAnswers:
		at := exchange{link: p.arrival.Link, conn: p.arrival.Conn, n: p.arrival.Exchange}
		link := st.links[p.attempt.instance]
		if st.trial.Direct {
			link = st.agent
		}
		if l == CutProvider {
			link.Cut(at.conn)
		} else {
			link.Answer(at.conn, Action{Act: Replace, Status: 503, Body: `{"message":"503"}`})
		}
		return st.pump(ctx, "the tool server's connection to end", func() bool { return st.gone(at) })
	case CancelCall:
		if err := st.systemEnds(st.send(ctx, Order{Type: "cancel", Cancel: st.ref()})); err != nil {
			return err
		}
		// It has left the call, and has said what it says of it, or asks about it.
		err := st.owed(ctx, "the agent to leave the cancelled call", func() bool {
			return st.gone(p.attempt.agent) && (st.idle() || st.dead || st.gate.waiting > 0)
		})
		if err != nil || !st.trial.Fault.Stops {
			return err
		}
		at := exchange{link: p.arrival.Link, conn: p.arrival.Conn, n: p.arrival.Exchange}
		return st.pump(ctx, "the tool server to pass the disconnect on", func() bool { return st.gone(at) })
	case Withdraw:
		err := st.systemEnds(st.send(ctx, Order{Type: "decide", Decide: &DecideOrder{Turn: st.ref().Turn, Ordinal: st.ref().Ordinal, Decision: Withdrawn}}))
		if err != nil || st.dead {
			return err
		}
		st.decisions = append(st.decisions, ObservedDecision{Intent: st.trial.Struck, Decision: Withdrawn, Received: st.history.Len()})
		return nil
	case RunOutTime:
		return st.runOut(ctx, p)
	case LetTimePass:
		return st.advance(ctx, st.clock.Now().Add(st.trial.Contract.Passes(st.trial.Fault.Pass)))
	case RestartAgent:
		return nil // done when the struck call is over
	}
	return fmt.Errorf("unknown lever")
}

// lastWords hears what a killed process had said: whether it was read before the kill is chance.
func (st *stage) lastWords() error {
	words := st.session.Words()
	for {
		select {
		case w, ok := <-words:
			if !ok {
				return nil
			}
			st.history.Log(Event{Actor: "agent", Kind: "word " + w.Type, Turn: w.Turn, Word: &w})
			if w.Type == "claim" {
				if err := st.claim(w); err != nil {
					return err
				}
			}
		default:
			return nil
		}
	}
}

// gone reports whether the client of an exchange has gone away. The gate's lock is held.
func (st *stage) gone(key exchange) bool {
	x := st.gate.open[key]
	return x == nil || x.left
}

// killServer kills the tool server that serves the struck call; the balancer sends nothing to it any more.
func (st *stage) killServer(name string) error {
	st.elsewhere(name)
	if st.killed[name] {
		return nil
	}
	if err := st.servers[name].Kill(); err != nil {
		return err
	}
	st.killed[name] = true
	st.history.Log(Event{Actor: "toolserver/" + name, Kind: "killed"})
	return nil
}

// restartAgent starts the system again on the same state folder; a system that does not resume by itself is
// handed its turn again.
func (st *stage) restartAgent(ctx context.Context) error {
	st.waits = map[waitKey]time.Time{}
	st.sent, st.work, st.idleAt = 0, 0, 0
	if err := st.session.Restart(ctx); err != nil {
		return st.systemEnds(err)
	}
	st.dead = false
	st.history.Log(Event{Actor: "harness", Kind: "agent restarted"})
	if err := st.send(ctx, Order{Type: "start", Start: st.startOrder(true)}); err != nil {
		return st.systemEnds(err)
	}
	if st.system.AfterKill() == "resume" {
		st.work = 1 // it resumes by itself, and is idle when it says so
		return nil
	}
	return st.systemEnds(st.handOver(ctx, true))
}

// runOut lets the owner's time-out run out and waits until that is observed on the owner's link.
func (st *stage) runOut(ctx context.Context, p *park) error {
	var until time.Time
	watched := p.attempt.agent
	if st.trial.Fault.Owner == "toolserver" {
		watched = exchange{link: "provider/" + p.attempt.instance, conn: p.arrival.Conn, n: p.arrival.Exchange}
		if err := st.pump(ctx, "a time-out of the tool server", func() bool { return !st.timers[p.attempt.instance].IsZero() }); err != nil {
			return err
		}
		until = st.timers[p.attempt.instance]
	} else {
		timeOut := func() bool {
			for k, t := range st.waits {
				if k.why == whyTimeOut {
					until = t
				}
			}
			return !until.IsZero() || st.dead
		}
		if err := st.owed(ctx, "a time-out of the agent", timeOut); err != nil || st.dead {
			return err
		}
	}
	st.move(until)
	if err := st.tellSystem(ctx); err != nil { // it knows the time before anything that comes of it
		return err
	}
	if err := st.tellServers(ctx, until); err != nil {
		return err
	}
	if st.trial.Fault.Owner == "agent" {
		return st.owed(ctx, "the agent to leave its call", func() bool { return st.gone(watched) })
	}
	return st.pump(ctx, "the tool server to leave its call", func() bool { return st.gone(watched) && st.timedOut })
}

// ref names the struck call.
func (st *stage) ref() *CallRef {
	for _, t := range st.trial.Workload.Turns {
		for i, in := range t.Intents {
			if in.ID == st.trial.Struck {
				return &CallRef{Turn: t.ID, Ordinal: i + 1}
			}
		}
	}
	return &CallRef{}
}

// truthFits reports whether an event that the system has announced is where the fault is placed: what the
// fault demands is so. Else it is not that place, and nobody's error: a system that comes to its next model
// call without having sent anything has no stored result to be killed with.
func (st *stage) truthFits(ctx context.Context, event string) (bool, error) {
	f := st.trial.Fault
	if f.Park != AgentEvent || f.Event != event {
		return false, nil
	}
	truth, err := st.truth(ctx, &park{arrival: Arrival{Point: AgentEvent}})
	if err != nil {
		return false, fmt.Errorf("truth at event %s: %w", event, err)
	}
	return truth == f.Truth, nil
}

// truth reads what is so in the outside world while a call is parked.
func (st *stage) truth(ctx context.Context, p *park) (Truth, error) {
	f := st.trial.Fault
	if f.Truth == TruthNone {
		return TruthNone, nil
	}
	effects, err := st.oracle.Read(ctx, st.store())
	if err != nil {
		return "", err
	}
	var requests []string
	switch p.arrival.Point {
	case AgentRequest, ProviderRequest: // it has no request at the provider yet, so its slot is read
		if st.filled(effects, p.arrival.Call) {
			return TruthCommitted, nil
		}
		return TruthNothing, nil
	case AgentResponse:
		requests = p.attempt.requests
	case AgentEvent:
		st.gate.mu.Lock()
		for _, at := range st.gate.attempts {
			requests = append(requests, at.requests...)
		}
		st.gate.mu.Unlock()
	default:
		requests = []string{p.arrival.Request}
	}
	made := map[string]bool{}
	for _, e := range effects {
		if slices.Contains(requests, e.Request) {
			made[e.Request] = true
		}
	}
	switch {
	case len(made) == 0 && f.Truth == TruthInFlight && (p.arrival.Point == Received || p.arrival.Point == BeforeCommit):
		return TruthInFlight, nil
	case len(made) == 0:
		return TruthNothing, nil
	case len(made) < len(requests):
		return TruthPartly, nil
	}
	return TruthCommitted, nil
}

// filled reports whether an effect that came of a request since the struck intent's turn was handed over is
// in a slot that the call asks for.
func (st *stage) filled(effects []Effect, c Call) bool {
	st.gate.mu.Lock()
	since := slices.Clone(st.gate.since)
	st.gate.mu.Unlock()
	slots := st.trial.Workload.intent(st.trial.Struck).Slots
	least := leastDisagreement(slots, c)
	for _, s := range slots {
		if leastDisagreement([]Slot{s}, c) > least {
			continue // of the intent, and not what this call asks for
		}
		for _, e := range effects {
			if e.Class == s.Class && slices.Contains(since, e.Request) && disagreements(s.Match, e.Attrs) == 0 {
				return true
			}
		}
	}
	return false
}
