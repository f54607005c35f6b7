package systems

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

var update = flag.Bool("update", false, "write the golden files anew")

// talk drives a session as the harness does: it moves the clock when the agent waits.
type talk struct {
	t       *testing.T
	session bench.Session
	dir     string // state folder
	start   bench.StartOrder
	now     time.Time
	claims  map[string]bench.Word // last claim by turn and ordinal
	order   []string              // of the claims
	onAt    func(w bench.Word) bool
	timeOut <-chan struct{} // a time-out runs out for each value; nil: none does
	last    bench.Word
	figures bench.Word // finished
}

func begin(t *testing.T, s bench.System, start bench.StartOrder) *talk {
	t.Helper()
	dir := t.TempDir()
	session, err := s.Begin(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	talk := &talk{t: t, session: session, dir: dir, start: start, now: bench.Epoch, claims: map[string]bench.Word{}}
	talk.send(bench.Order{Type: "start", Start: &start})
	return talk
}

func (k *talk) send(o bench.Order) {
	k.t.Helper()
	o.Now = k.now.Format(time.RFC3339Nano)
	ctx, cancel := context.WithTimeout(k.t.Context(), 30*time.Second)
	defer cancel()
	if err := k.session.Send(ctx, o); err != nil {
		k.t.Fatal(err)
	}
}

// idle reads words until the agent is idle, or until `at` says stop.
func (k *talk) idle() {
	k.t.Helper()
	limit := time.After(30 * time.Second)
	for {
		var w bench.Word
		var open bool
		select {
		case w, open = <-k.session.Words():
		case <-limit:
			k.t.Fatalf("not idle within 30 s; last word %+v", k.last)
		}
		if !open {
			k.t.Fatalf("the agent has ended: %v", k.session.Err())
		}
		k.last = w
		switch w.Type {
		case "claim":
			k.claims[fmt.Sprintf("%s/%d", w.Turn, w.Ordinal)] = w
			k.order = append(k.order, w.Outcome)
		case "wait":
			if w.Until == "" || w.Why == "time-out" && k.timeOut == nil {
				continue
			}
			if w.Why == "time-out" && !k.runsOut() {
				continue
			}
			until, err := time.Parse(time.RFC3339Nano, w.Until)
			if err != nil {
				k.t.Fatal(err)
			}
			if until.After(k.now) {
				k.now = until
			}
			k.send(bench.Order{Type: "clock"})
		case "at":
			if k.onAt != nil && k.onAt(w) {
				return
			}
			k.send(bench.Order{Type: "proceed", Proceed: &bench.ProceedOrder{Event: w.Event}})
		case "finished":
			k.figures = w
		case "idle":
			return
		}
	}
}

// runsOut reports whether the time-out that was announced is to run out: the call is held. Without, it is
// answered, and its wait is withdrawn by the word that comes next.
func (k *talk) runsOut() bool {
	select {
	case <-k.timeOut:
		return true
	case w := <-k.session.Words():
		if w.Type != "wait" || w.Until != "" {
			k.t.Errorf("after the wait for a time-out came %+v, expected its withdrawal", w)
		}
		return false
	}
}

func (k *talk) turn(o bench.TurnOrder) {
	k.t.Helper()
	if o.Conversation == "" {
		o.Conversation = "c1"
	}
	k.send(bench.Order{Type: "turn", Turn: &o})
}

// restart kills the agent and raises it again on the same state folder.
func (k *talk) restart() {
	k.t.Helper()
	if err := k.session.Kill(); err != nil {
		k.t.Fatal(err)
	}
	if err := k.session.Restart(k.t.Context()); err != nil {
		k.t.Fatal(err)
	}
	start := k.start
	start.Restarted = true
	k.send(bench.Order{Type: "start", Start: &start})
}

// given is a turn with one call: make a thing called a.
func given(turn string) bench.TurnOrder {
	return bench.TurnOrder{ID: turn, Calls: []bench.GivenCall{{Ordinal: 1, ID: "call-" + turn, Tool: "make", Args: map[string]any{"name": "a", "amount": 5}}}}
}

// scene is one thing that happens to an agent, whatever its policy.
type scene struct {
	name     string
	about    string
	script   []step
	takesKey bool
	contract bench.OfferedContract
	knobs    bench.Knobs
	hints    bool // idempotentHint: true, a lie
	unique   bool
	play     func(t *testing.T, k *talk, w *world)
	down     bool // the tool server is not there
	stale    int  // look-ups that see nothing yet
}

var (
	key24        = bench.OfferedContract{KeyRetentionS: 24 * 3600}
	byIdentity   = bench.OfferedContract{LookUpTool: "find", LookUpArgument: "reference", LookUpBy: "identity", LookUpKind: "bounded", LookUpLagS: 5, CommitsWithinKnown: true, CommitsWithinS: 30}
	noLimit      = bench.OfferedContract{LookUpTool: "find", LookUpArgument: "reference", LookUpBy: "identity", LookUpKind: "authoritative"}
	keyAndLookUp = bench.OfferedContract{KeyRetentionS: 24 * 3600, SavesFailures: true, LookUpTool: "find", LookUpArgument: "reference", LookUpBy: "identity", LookUpKind: "authoritative", CommitsWithinKnown: true}
	byName       = bench.OfferedContract{LookUpTool: "find", LookUpBy: "attributes", LookUpKind: "authoritative"}
	typed        = bench.OfferedContract{ErrorsTyped: true}
	uniqueName   = bench.OfferedContract{Unique: true, LookUpTool: "find", LookUpBy: "attributes", LookUpKind: "authoritative"}
	lost         = []step{{commits: true, answer: "lost"}}
	lostBefore   = []step{{commits: false, answer: "lost"}}
)

func once(_ *testing.T, k *talk, _ *world) {
	k.turn(given("t1"))
	k.idle()
}

// scenes are run under every policy, over JSON and MCP, the first also over MCP with sessions, with the
// same result.
var scenes = []scene{
	{name: "answered", about: "nothing goes wrong", play: once},
	{name: "lost, committed", about: "connection reset after the commit; no contract", script: lost, play: once},
	{name: "lost, nothing there", about: "the same bytes, nothing committed", script: lostBefore, play: once},
	{name: "cut in half", about: "half an answer after the commit", script: []step{{true, "half"}}, play: once},
	{name: "503, committed", about: "an edge answers 503 after the commit", script: []step{{true, "503"}}, play: once},
	{name: "empty 200, committed", about: "an empty answer after the commit", script: []step{{true, "empty"}}, play: once},
	{name: "vague, committed", about: "the tool says \"failed, try again\" after the commit", script: []step{{true, "vague"}}, play: once},
	{name: "lies, committed", about: "the tool says \"not executed\" after the commit", script: []step{{true, "not executed"}}, play: once},
	{name: "not executed", about: "the tool says \"not executed\", and its errors can be believed", script: []step{{false, "not executed"}}, contract: typed, play: once},
	{name: "refused dial", about: "nobody listens at the tool's address", down: true, play: once},
	{name: "lost, key", about: "reset after the commit; a key is remembered for 24 h", script: lost, takesKey: true, contract: key24, play: once},
	{name: "never answered, key", about: "every answer is lost after the commit; key", takesKey: true, contract: key24, play: once,
		script: []step{{true, "lost"}, {true, "lost"}, {true, "lost"}, {true, "lost"}, {true, "lost"}}},
	{name: "lost, identity look-up", about: "reset after the commit; look-up by reference, lag 5 s, commits within 30 s", script: lost, contract: byIdentity, play: once},
	{name: "nothing there, identity look-up", about: "reset before the commit; the same look-up", script: lostBefore, contract: byIdentity, play: once},
	{name: "look-up that lags", about: "reset after the commit; look-up by reference, which sees it the second time only", script: lost, contract: byIdentity, stale: 1, play: once},
	{name: "nothing there, look-up without a limit", about: "reset before the commit; look-up by reference, how late a call may commit is not documented", script: lostBefore, contract: noLimit, play: once},
	{name: "saved failure, key and look-up", about: "the tool answers every attempt with an error after the commit; key and look-up by reference", takesKey: true, contract: keyAndLookUp, play: once,
		script: []step{{true, "vague"}, {true, "vague"}, {true, "vague"}, {true, "vague"}, {true, "vague"}}},
	{name: "lost, look-up by attributes", about: "reset after the commit; a look-up by business attributes only", script: lost, contract: byName, play: once},
	{name: "nothing there, look-up by attributes", about: "reset before the commit; the same look-up", script: lostBefore, contract: byName, play: once},
	{name: "lost, unique name", about: "reset after the commit; the name is unique", script: lost, contract: uniqueName, unique: true, play: once},
	{name: "lost, unique name, vague refusal", about: "the same; the refusal of the second says nothing", script: []step{{true, "lost"}, {false, "vague"}, {false, "vague"}, {false, "vague"}}, contract: uniqueName, unique: true, play: once},
	{name: "lost, natural", about: "reset before the commit; naturally idempotent", script: lostBefore, contract: bench.OfferedContract{NaturallyIdempotent: true}, play: once},
	{name: "lost, lying hint", about: "reset after the commit; idempotentHint: true, falsely", script: lost, hints: true, play: once},
	{name: "time-out, committed", about: "the agent's own time-out after the commit", script: []step{{true, "hold"}}, knobs: bench.Knobs{CallTimeoutMS: 2000}, play: func(t *testing.T, k *talk, w *world) {
		k.timeOut = w.held
		once(t, k, w)
	}},
	{name: "two wanted, one turn", about: "two equal calls in one turn, both answered; key", takesKey: true, contract: key24, play: func(_ *testing.T, k *talk, _ *world) {
		o := given("t1")
		o.Calls = append(o.Calls, bench.GivenCall{Ordinal: 2, ID: "call-t1b", Tool: "make", Args: o.Calls[0].Args})
		k.turn(o)
		k.idle()
	}},
	{name: "two wanted, two turns", about: "an equal call in a second turn, both answered; key", takesKey: true, contract: key24, play: func(t *testing.T, k *talk, w *world) {
		once(t, k, w)
		k.turn(given("t2"))
		k.idle()
	}},
	{name: "killed, redelivered", about: "killed while its call is held after the commit; the turn is redelivered", script: []step{{true, "hold"}}, play: redelivered},
	{name: "killed, redelivered, key", about: "the same; a key is remembered for 24 h", script: []step{{true, "hold"}}, takesKey: true, contract: key24, play: redelivered},
	{name: "killed before dispatch", about: "killed when it is about to dispatch; the turn is redelivered", knobs: bench.Knobs{Events: true}, play: func(_ *testing.T, k *talk, _ *world) {
		k.onAt = func(w bench.Word) bool { return w.Event == "dispatching" }
		k.turn(given("t1"))
		k.idle()
		if k.last.Event != "dispatching" { // it sends nothing
			return
		}
		k.onAt = nil
		k.restart()
		o := given("t1")
		o.Redelivered = true
		k.turn(o)
		k.idle()
	}},
	{name: "killed, days later, key", about: "killed as before; started again two days later; the key is forgotten", script: []step{{true, "hold"}}, takesKey: true, contract: key24, play: func(t *testing.T, k *talk, w *world) {
		k.turn(given("t1"))
		if !k.isHeld(w) {
			return
		}
		k.now = k.now.Add(48 * time.Hour)
		w.mu.Lock()
		w.keys = map[string]string{}
		w.mu.Unlock()
		k.restart()
		o := given("t1")
		o.Redelivered = true
		k.turn(o)
		k.idle()
	}},
	{name: "killed, a minute early, key", about: "killed as before; started again a minute before the key is forgotten", script: []step{{true, "hold"}}, takesKey: true, contract: key24, play: func(t *testing.T, k *talk, w *world) {
		k.turn(given("t1"))
		if !k.isHeld(w) {
			return
		}
		k.now = k.now.Add(24*time.Hour - time.Minute)
		k.restart()
		o := given("t1")
		o.Redelivered = true
		k.turn(o)
		k.idle()
	}},
	{name: "drift, key", about: "lost after the commit; the model repairs with another amount; key", script: lost, takesKey: true, contract: key24, knobs: bench.Knobs{Recovery: "model"}, play: func(t *testing.T, k *talk, w *world) {
		once(t, k, w)
		repair(k, map[string]any{"name": "a", "amount": 7})
	}},
	{name: "same spelt otherwise, key", about: "lost after the commit; the model repairs with 5.00 for 5; key", script: lost, takesKey: true, contract: key24, knobs: bench.Knobs{Recovery: "model"}, play: func(t *testing.T, k *talk, w *world) {
		once(t, k, w)
		repair(k, map[string]any{"name": "a", "amount": number("5.00")})
	}},
	{name: "cancelled, withdrawn", about: "cancelled after the commit, then withdrawn; no contract", script: []step{{true, "hold"}}, play: withdrawn},
	{name: "cancelled, withdrawn, look-up", about: "the same; look-up by reference", script: []step{{true, "hold"}}, contract: byIdentity, play: withdrawn},
	{name: "withdrawn, nothing there, look-up", about: "cancelled before the commit, then withdrawn; look-up by reference", script: []step{{false, "hold"}}, contract: byIdentity, play: withdrawn},
	{name: "asked again, continues, key", about: "cancelled after the commit; a turn that continues it asks again; key", script: []step{{true, "hold"}}, takesKey: true, contract: key24, play: func(t *testing.T, k *talk, w *world) {
		cancelled(k, w)
		o := given("t2")
		o.Continues = "t1"
		k.turn(o)
		k.idle()
	}},
	{name: "asked again, silent, unique name", about: "cancelled after the commit; a turn asks again and does not say so; the name is unique", script: []step{{true, "hold"}}, contract: uniqueName, unique: true, play: func(t *testing.T, k *talk, w *world) {
		cancelled(k, w)
		k.turn(given("t2"))
		k.idle()
	}},
	{name: "asked again, silent, key", about: "cancelled after the commit; a turn asks again and does not say so; key", script: []step{{true, "hold"}}, takesKey: true, contract: key24, play: func(t *testing.T, k *talk, w *world) {
		cancelled(k, w)
		k.turn(given("t2"))
		k.idle()
	}},
}

// isHeld waits until the world holds a request, or the agent is idle without having sent one.
func (k *talk) isHeld(w *world) bool {
	limit := time.After(30 * time.Second)
	for {
		select {
		case <-w.held:
			return true
		case word := <-k.session.Words():
			k.last = word
			if word.Type == "claim" {
				k.claims[fmt.Sprintf("%s/%d", word.Turn, word.Ordinal)] = word
				k.order = append(k.order, word.Outcome)
			}
			if word.Type == "idle" {
				return false
			}
		case <-limit:
			k.t.Fatal("neither held nor idle within 30 s")
		}
	}
}

func redelivered(_ *testing.T, k *talk, w *world) {
	k.turn(given("t1"))
	if !k.isHeld(w) {
		return
	}
	k.restart()
	o := given("t1")
	o.Redelivered = true
	k.turn(o)
	k.idle()
}

func cancelled(k *talk, w *world) bool {
	k.turn(given("t1"))
	if !k.isHeld(w) {
		return false
	}
	k.send(bench.Order{Type: "cancel", Cancel: &bench.CallRef{Turn: "t1", Ordinal: 1}})
	k.idle()
	return true
}

func withdrawn(_ *testing.T, k *talk, w *world) {
	cancelled(k, w)
	k.send(bench.Order{Type: "decide", Decide: &bench.DecideOrder{Turn: "t1", Ordinal: 1, Decision: bench.Withdrawn}})
	k.idle()
}

func repair(k *talk, args map[string]any) {
	if k.claims["t1/1"].Outcome == bench.Done {
		return
	}
	k.send(bench.Order{Type: "repair", Repair: &bench.RepairOrder{Turn: "t1", Ordinal: 1, Call: bench.GivenCall{Ordinal: 1, ID: "call-t1-2", Tool: "make", Args: args}}})
	k.idle()
}

// play runs one scene under one policy and says what came of it.
func (s scene) run(t *testing.T, system bench.System, transport bench.Transport) string {
	t.Helper()
	w := newWorld(t, s.script...)
	w.unique, w.stale = s.unique, s.stale
	tools := w.offer(transport, s.takesKey, s.contract)
	if s.hints {
		yes := true
		tools[0].Annotations.Idempotent = &yes
	}
	if s.down {
		w.server.Listener.Close()
	}
	k := begin(t, system, bench.StartOrder{Tools: tools, Knobs: s.knobs})
	defer k.session.Release()
	s.play(t, k, w)
	requests, things, lookUps := w.count()
	said := fmt.Sprintf("sent %d", requests)
	if lookUps > 0 {
		said += fmt.Sprintf(", looked %d", lookUps)
	}
	if keys := w.sentKeys(); strings.Contains(keys, "k") {
		said += ", keys " + keys
	}

	return said + fmt.Sprintf(", there %d, says %s", things, strings.Join(k.order, " then "))
}

// TestPolicies plays every scene under every policy over every transport. What came of it is the table in
// docs/policies.md and this golden file; the transport must make no difference.
func TestPolicies(t *testing.T) {
	systems := Reference(os.Args[0])
	rows := make([][]string, len(scenes))
	for i := range rows {
		rows[i] = make([]string, len(systems))
	}
	t.Run("scenes", func(t *testing.T) {
		for column, system := range systems {
			t.Run(system.Name(), func(t *testing.T) {
				t.Parallel()
				for row, s := range scenes {
					transports := []bench.Transport{bench.TransportJSON, bench.TransportMCP}
					if row < 5 {
						transports = append(transports, bench.TransportMCPSessions)
					}
					for _, transport := range transports {
						var got string
						if !t.Run(s.name+"/"+string(transport), func(t *testing.T) { got = s.run(t, system, transport) }) {
							return
						}
						if rows[row][column] == "" {
							rows[row][column] = got
						}
						if rows[row][column] != got {
							t.Errorf("%s over %s: %s\nover json: %s", s.name, transport, got, rows[row][column])
						}
					}
				}
				if err := system.(*System).Close(); err != nil {
					t.Error(err)
				}
			})
		}
	})
	var b strings.Builder
	for row, s := range scenes {
		fmt.Fprintf(&b, "## %s: %s\n", s.name, s.about)
		for column, system := range systems {
			fmt.Fprintf(&b, "%-20s %s\n", system.Name(), rows[row][column])
		}
		b.WriteByte('\n')
	}
	golden(t, "testdata/policies.txt", b.String())
}

// golden compares with a file, or writes it.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		var g, e string
		if i < len(gotLines) {
			g = gotLines[i]
		}
		if i < len(wantLines) {
			e = wantLines[i]
		}
		if g != e {
			t.Errorf("%s:%d:\n got %s\nwant %s\n(-update writes it anew)", path, i+1, g, e)
			return
		}
	}
}

func number(text string) any { return json.Number(text) }

// The page about policies knows them all, and how many situations there are.
func TestPoliciesPage(t *testing.T) {
	page, err := os.ReadFile("../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Reference("agent") {
		if !strings.Contains(string(page), "\n| "+s.Name()+" |") {
			t.Errorf("docs/policies.md has no row for %s", s.Name())
		}
	}
	if count := fmt.Sprintf("in %d scripted situations", len(scenes)); !strings.Contains(string(page), count) {
		t.Errorf("docs/policies.md does not say %q", count)
	}
}
