package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// World is what trials are run in: how each part is raised. cmd puts it together from the siblings.
type World struct {
	Providers   func(context.Context, ProviderSpec) (Provider, error)
	Oracles     map[string]Oracle // by provider kind
	Links       Links
	Balance     func() (Balancer, error)
	ToolServers ToolServers
	Tools       map[string]Tool
	Declare     func(name string, t ExternalTool) Tool // makes a tool that a workload declares
	ParseAgent  func(map[string]ToolUse) func(RawRequest) Call
	Told        func(t Transport, status int, body []byte) string
}

// Runner runs trials in a world.
type Runner struct {
	World    World
	Dir      string        // folder for trials' state; a trial's own folder is removed when it is over
	Deadline time.Duration // bounds each wait for a fact; it never orders anything
	Replicas int           // tool servers behind the balancer
	Word     string        // makes what trials at external providers write there differ from what other runs wrote

	mu   sync.Mutex
	runs int
	kept []keptTrial
}

// keptTrial is a trial whose state is read again when the run is over.
type keptTrial struct {
	trial   Trial
	dir     string
	effects int
}

// lateEvery is how many trials there are to one whose state is read again at the run's end.
const lateEvery = 50

// Late reads the state of every 50th trial again, after everything is over. It returns how many were read
// and how many effects had come since the trial was reported over.
func (r *Runner) Late(ctx context.Context) (read, late int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.kept {
		effects, e := r.World.Oracles[k.trial.Workload.Provider.Kind].Read(ctx, filepath.Join(k.dir, "store"))
		if e != nil {
			err = errors.Join(err, fmt.Errorf("trial %s read again: %w", k.trial.ID, e))
			continue
		}
		read++
		late += max(len(effects)-k.effects, k.effects-len(effects)) // one that has gone is no better
		err = errors.Join(err, os.RemoveAll(k.dir))
	}
	r.kept = nil
	return read, late, err
}

// Run carries out one trial:
//  1. raise provider, links, balancer, tool servers and system;  2. arm the gate with the fault;
//  3. hand over the turns one by one, striking the parked call;   4. wait until all is settled;
//  5. read the oracles;  6. condense to evidence.
//
// Judging is for later (Judge). An error is the harness's own and is in the evidence too, so that the
// trial is invalid and never blamed on the system.
func (r *Runner) Run(ctx context.Context, t Trial, s System) Record {
	st, err := r.raise(ctx, t, s)
	if err == nil {
		err = st.turns(ctx)
	}
	if err = st.systemEnds(err); err == nil {
		err = st.settle(ctx)
	}
	rec := st.record(ctx, err)
	st.close()
	return rec
}

// stage is one trial's world while it is on.
type stage struct {
	runner  *Runner
	trial   Trial
	system  System
	dir     string
	history *History
	clock   *virtualClock
	gate    *gate

	provider Provider
	oracle   Oracle
	agent    Link
	links    map[string]Link // provider links by instance
	known    map[string]Tool // tools by name
	word     string          // that no other trial has, nor any run
	balancer Balancer
	servers  map[string]ToolServer
	killed   map[string]bool
	session  Session

	notes chan ToolServerNote // of all tool servers
	ears  sync.WaitGroup      // their listeners

	armed bool // the struck intent's turn has been handed over; guarded by the gate's lock
	turn  int  // index of the turn at hand
	agentState
	strike      StrikeRecord
	readEffects int // by the oracle, world included; -1: not read
	began       time.Time
	first       time.Time // first turn handed over
	last        time.Time // last claim
	firstV      time.Time
	lastV       time.Time
}

// virtualClock is a trial's clock. It moves only when the trial moves it.
type virtualClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *virtualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *virtualClock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// raise brings up everything of a trial. The returned stage is to be closed even with an error.
func (r *Runner) raise(ctx context.Context, t Trial, s System) (*stage, error) {
	st := &stage{readEffects: -1, runner: r, trial: t, system: s, began: time.Now(), clock: &virtualClock{now: Epoch},
		notes: make(chan ToolServerNote), links: map[string]Link{}, servers: map[string]ToolServer{}, killed: map[string]bool{}}
	st.history = NewHistory(func() (string, int64) {
		return st.clock.Now().Format(time.RFC3339), time.Since(st.began).Microseconds()
	})
	st.agentState.reset()
	var err error
	st.word = t.ID + r.Word
	if t.Workload, err = t.Workload.inTrial(st.word); err != nil {
		return st, err
	}
	st.trial.Workload, st.known = t.Workload, toolsOf(t.Workload, r.World.Tools, r.World.Declare)
	st.gate = newGate(t.Fault, st.selector(), st.history, st.serving)
	st.gate.direct = t.Direct
	dir, err := os.MkdirTemp(r.Dir, "trial-")
	if err != nil {
		return st, fmt.Errorf("folder of the trial: %w", err)
	}
	st.dir = dir
	for _, sub := range []string{"store", "state"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			return st, fmt.Errorf("folder of the trial: %w", err)
		}
	}
	kind := t.Workload.Provider.Kind
	st.provider, err = r.World.Providers(ctx, ProviderSpec{Kind: kind, Contract: t.Contract, Dir: st.store(),
		World: t.Workload.World, External: t.Workload.Provider.External, Tools: t.Workload.Tools, Gate: st.gate, Clock: st.clock})
	if err != nil {
		return st, fmt.Errorf("provider %s: %w", kind, err)
	}
	st.oracle = r.World.Oracles[kind]
	if o, ok := st.provider.(Oracle); ok { // a door before an external provider knows which request came before what is new there
		st.oracle = o
	}
	if st.oracle == nil {
		return st, fmt.Errorf("oracle of %s: there is none", kind)
	}
	if t.Direct {
		err = st.raiseDirect()
	} else {
		err = st.raiseServers(ctx)
	}
	if err != nil {
		return st, err
	}
	st.session, err = s.Begin(ctx, st.state())
	if err != nil {
		return st, err
	}
	return st, st.send(ctx, Order{Type: "start", Start: st.startOrder(false)})
}

// raiseServers brings up the path from the agent link to the provider.
func (st *stage) raiseServers(ctx context.Context) error {
	r, t := st.runner, st.trial
	tools := st.tools()
	var err error
	if st.balancer, err = r.World.Balance(); err != nil {
		return fmt.Errorf("balancer: %w", err)
	}
	for i := 1; i <= r.Replicas; i++ {
		name := fmt.Sprint(i)
		front, err := st.provider.Listen("provider/" + name)
		if err != nil {
			return fmt.Errorf("front of provider %s: %w", t.Workload.Provider.Kind, err)
		}
		link, err := r.World.Links.Raise(LinkSpec{Name: "provider/" + name, Upstream: front, Request: ProviderRequest,
			Response: ProviderResponse, Parse: st.provider.Parse, Gate: st.gate})
		if err != nil {
			return fmt.Errorf("link to provider %s: %w", t.Workload.Provider.Kind, err)
		}
		st.links[name] = link
		server, err := r.World.ToolServers.Get(ctx, name)
		if err != nil {
			return fmt.Errorf("tool server %s: %w", name, err)
		}
		st.servers[name] = server
		timeout := 0
		if t.Fault.Owner == "toolserver" {
			timeout = callTimeoutMS
		}
		err = server.Configure(ctx, ToolServerConfig{ProviderKind: t.Workload.Provider.Kind, Provider: link.Address(), Tools: tools, Key: t.Contract.Advertised.Key,
			Fresh: !t.Fault.Reused, Memory: t.Fault.Memory || st.remembers(), TimeoutMS: timeout, CancelStops: t.Fault.Stops, WarmUp: st.warmUp(), Now: st.clock.Now()})
		if err != nil {
			return fmt.Errorf("tool server %s: %w", name, err)
		}
		if t.Fault.Reused {
			if err := server.Warm(ctx); err != nil {
				return fmt.Errorf("tool server %s, first exchange of its connection: %w", name, err)
			}
		}
		st.balancer.Point(name, server.Address())
		st.ears.Add(1)
		go st.listen(server)
	}
	if st.sticky() {
		st.onlyTo("1")
	}
	transport := tools[t.Workload.Turns[0].Intents[0].Call.Tool].Transport
	told := func(status int, body []byte) string { return r.World.Told(transport, status, body) }
	st.agent, err = r.World.Links.Raise(LinkSpec{Name: "agent", Upstream: st.balancer.Address(), Request: AgentRequest,
		Response: AgentResponse, Parse: r.World.ParseAgent(tools), Told: told, Gate: st.gate})
	if err != nil {
		return fmt.Errorf("agent link: %w", err)
	}
	return nil
}

// serving is the instance that carries a connection of the agent link, "" where the provider itself does.
func (st *stage) serving(conn int) string {
	if st.trial.Direct {
		return ""
	}
	return st.balancer.Serving(conn)
}

// remembers reports whether the workload's tools are served with instance-local memory.
func (st *stage) remembers() bool {
	for _, use := range st.trial.Workload.Tools {
		if use.Memory {
			return true
		}
	}
	return false
}

// sticky reports whether the balancer keeps to one instance: a session, or a memory, lives on one.
func (st *stage) sticky() bool { return st.trial.Fault.Sessions || st.remembers() }

// onlyTo sends new connections to one instance.
func (st *stage) onlyTo(name string) {
	for n := range st.servers {
		st.balancer.Avoid(n, n != name)
	}
}

// elsewhere sends new connections to any instance that is alive, but not to this one.
func (st *stage) elsewhere(name string) {
	for n := range st.servers {
		st.balancer.Avoid(n, n == name || st.killed[n])
	}
}

// listen passes a tool server's notes on until the trial is over.
func (st *stage) listen(s ToolServer) {
	defer st.ears.Done()
	for {
		select {
		case n := <-s.Notes():
			select {
			case st.notes <- n:
			case <-st.gate.ended:
				return
			}
		case <-st.gate.ended:
			return
		}
	}
}

func (st *stage) store() string { return filepath.Join(st.dir, "store") }
func (st *stage) state() string { return filepath.Join(st.dir, "state") }

// callTimeoutMS is the time-out, in virtual milliseconds, of the layer that owns it in a trial.
const callTimeoutMS = 30_000

// tools are the workload's tools as this trial serves them.
func (st *stage) tools() map[string]ToolUse {
	out := map[string]ToolUse{}
	for name, use := range st.trial.Workload.Tools {
		if st.trial.Fault.Sessions && use.Transport == TransportMCP {
			use.Transport = TransportMCPSessions
		}
		out[name] = use
	}
	return out
}

// selector is what tells the struck intent's requests from others.
func (st *stage) selector() selector {
	s := selector{nth: 1, armed: &st.armed}
	for _, turn := range st.trial.Workload.Turns {
		for _, in := range turn.Intents {
			if in.ID != st.trial.Struck {
				continue
			}
			s.slots, s.tool = in.Slots, in.Call.Tool
			if tool := st.known[in.Call.Tool]; tool != nil {
				s.nth = (tool.Requests(in.Call.Args) + 1) / 2 // the middle one of a call that makes several
			}
		}
	}
	return s
}

// turns hands over the turns, each when the one before is finished.
func (st *stage) turns(ctx context.Context) error {
	for i := range st.trial.Workload.Turns {
		st.turn = i
		if err := st.systemEnds(st.handOver(ctx, false)); err != nil {
			return err
		}
		if err := st.drive(ctx); err != nil {
			return err
		}
		if st.broke != nil || i == len(st.trial.Workload.Turns)-1 {
			return nil
		}
		// What the system left behind may still be on its way; it belongs to the turn that it came of.
		if err := st.settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// strikeWindow shuts the agent link's front before the turn whose intent is struck; a probe proves it. A
// connection that the agent kept from a turn before would lead past the shut front: it is cut.
func (st *stage) strikeWindow() error {
	if err := st.agent.Shut(); err != nil {
		return fmt.Errorf("agent link: %w", err)
	}
	st.agent.CutIdle()
	st.window = true
	c, err := net.Dial("tcp", st.agent.Address())
	if err == nil {
		_ = c.Close()
		return errors.New("agent link: its front is shut, and yet a probe was accepted")
	}
	truth := st.trial.Fault.Truth // nothing was sent, so what holds of the call by itself
	st.strike.Struck, st.strike.Truth = true, truth
	st.history.Log(Event{Actor: "harness", Kind: "strike", Truth: truth, Text: "the agent link refuses connections: " + err.Error()})
	return nil
}

// emptyHanded waits until tool servers and provider have nothing in hand, by their own counters: a call whose
// agent has left ends a moment after its exchange.
func (st *stage) emptyHanded(ctx context.Context) error {
	for name, s := range st.servers {
		for n := -1; n != 0 && !st.killed[name]; {
			var err error
			if n, err = s.Busy(ctx); err != nil {
				return fmt.Errorf("tool server %s, %d calls in its hands with no open exchange: %w", name, n, err)
			}
		}
	}
	look := time.NewTicker(time.Millisecond) // it has no word for this, so it is asked again
	defer look.Stop()
	for busy := st.provider.Busy(); busy != ""; busy = st.provider.Busy() {
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("provider %s: still %s with no open exchange", st.trial.Workload.Provider.Kind, busy)
		}
	}
	return nil
}

// settle waits until everything is quiet: open exchanges, tool servers by their own counters, the provider.
func (st *stage) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, st.runner.Deadline)
	defer cancel()
	if err := st.gate.until(ctx, func() bool { return len(st.gate.open) == 0 }); err != nil {
		return fmt.Errorf("open exchanges: still %s after %v", st.gate.describe(), st.runner.Deadline)
	}
	if err := st.emptyHanded(ctx); err != nil {
		return err
	}
	if err := st.gate.until(ctx, func() bool { return len(st.gate.open) == 0 }); err != nil {
		return fmt.Errorf("open exchanges: again %s", st.gate.describe())
	}
	st.history.Log(Event{Actor: "harness", Kind: "settled"})
	return nil
}

// close takes a trial's world down.
func (st *stage) close() {
	st.gate.tear()
	st.ears.Wait()
	if st.session != nil {
		st.session.Release()
	}
	if st.agent != nil {
		_ = st.agent.Stop()
	}
	if st.balancer != nil {
		_ = st.balancer.Stop()
	}
	for _, l := range st.links {
		_ = l.Stop()
	}
	for _, s := range st.servers {
		s.Release()
	}
	if st.provider != nil {
		_ = st.provider.Close()
	}
	if st.dir == "" {
		return
	}
	r := st.runner
	r.mu.Lock()
	defer r.mu.Unlock()
	if st.trial.Workload.Provider.External != nil { // the next trial changes its state
		_ = os.RemoveAll(st.dir)
		return
	}
	if r.runs++; r.runs%lateEvery == 0 && st.readEffects >= 0 {
		r.kept = append(r.kept, keptTrial{st.trial, st.dir, st.readEffects})
		return
	}
	_ = os.RemoveAll(st.dir)
}
