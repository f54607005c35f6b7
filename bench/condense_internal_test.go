package bench

import (
	"slices"
	"testing"
)

// An answer that was parked at the agent link and then lost told its caller nothing, whatever it said.
func TestAnswerLostWhereItWasParkedToldNothing(t *testing.T) {
	for _, c := range []struct {
		act  Act
		want string
	}{{Reset, "nothing"}, {Close, "nothing"}, {Truncate, "nothing"}, {Pass, "done"}} {
		t.Run(string(c.act), func(t *testing.T) {
			h := NewHistory(func() (string, int64) { return "", 0 })
			armed := true
			slot := Slot{Name: "a", Class: "line", Count: 1, Match: map[string]any{"text": "a"}}
			g := newGate(Fault{Park: AgentResponse, Meets: map[Point]Action{AgentResponse: {Act: c.act}}},
				selector{slots: []Slot{slot}, nth: 1, armed: &armed}, h, func(int) string { return "1" })
			call := Call{Op: "append", Class: "line", Mutating: true, Attrs: map[string]any{"text": "a"}}
			agent := Arrival{Link: "agent", Conn: 1, Exchange: 1, Call: call}
			provider := Arrival{Link: "provider/1", Conn: 1, Exchange: 1, Call: call, Request: "r1"}
			at := func(a Arrival, p Point) Action { a.Point = p; return g.Arrive(a) }
			for _, step := range []struct {
				a Arrival
				p Point
			}{{agent, AgentRequest}, {provider, ProviderRequest}, {provider, Received}, {provider, Committed}} {
				if got := at(step.a, step.p).Act; got != Pass {
					t.Fatalf("%s: met %s, expected pass", step.p, got)
				}
			}
			met := make(chan Action)
			go func() { a := agent; a.Told = "done"; met <- at(a, AgentResponse) }()
			g.goOn(<-g.parks, "struck")
			if got := (<-met).Act; got != c.act {
				t.Fatalf("the parked answer met %s, expected %s", got, c.act)
			}
			w := Workload{Turns: []Turn{{ID: "t1", Intents: []Intent{{ID: "i", Slots: []Slot{slot}}}}}}
			history := slices.Insert(h.Events(), 0, Event{Kind: "turn", Turn: "t1"})
			ev := Condense(Trial{Workload: w, Struck: "i"}, history, Reading{})
			if len(ev.Observed.Requests) != 1 || ev.Observed.Requests[0].Told != c.want {
				t.Errorf("requests %+v, expected one that told %q", ev.Observed.Requests, c.want)
			}
		})
	}
}

// What opens a session is no call: the first call of a turn is new from the model, in controls too.
func TestFirstCallIsNewFromTheModel(t *testing.T) {
	slot := Slot{Name: "a", Class: "line", Count: 1, Match: map[string]any{"text": "a"}}
	w := Workload{Turns: []Turn{{ID: "t1", Intents: []Intent{{ID: "i", Slots: []Slot{slot}}}}}}
	call := &Call{Op: "append", Class: "line", Mutating: true, Attrs: map[string]any{"text": "a"}}
	for _, struck := range []string{"", "i"} {
		history := []Event{
			{Tick: 1, Kind: "turn", Turn: "t1"},
			{Tick: 2, Kind: string(AgentRequest), Link: "agent", Conn: 1, Exchange: 1, Call: &Call{Op: "initialize"}},
			{Tick: 3, Kind: string(AgentRequest), Link: "agent", Conn: 1, Exchange: 2, Call: call},
			{Tick: 4, Kind: string(Received), Link: "provider/1", Conn: 1, Exchange: 1, Request: "r1", Call: call},
		}
		got := Condense(Trial{Workload: w, Struck: struck}, history, Reading{}).Observed.Requests
		want := []string{"model", "agent link", "provider link"}
		if len(got) != 1 || !slices.Equal(got[0].NewOn, want) {
			t.Errorf("struck %q: requests %+v, expected one that is new on %v", struck, got, want)
		}
	}
}
