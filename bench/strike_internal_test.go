package bench

import (
	"context"
	"testing"
)

// effectsOf is an oracle that finds one effect of each request.
type effectsOf []string

func (effectsOf) Kind() string { return "effects" }

func (e effectsOf) Read(context.Context, string) ([]Effect, error) {
	var all []Effect
	for _, r := range e {
		all = append(all, Effect{Object: "of " + r, Request: r})
	}
	return all, nil
}

// An event of the agent is where a fault is placed only while what the fault demands is so: a system that
// has sent nothing is not killed with its result stored, and nobody's trial is invalid for it.
func TestEventIsPlaceOfFaultOnlyWithItsTruth(t *testing.T) {
	for _, c := range []struct {
		name     string
		event    string
		truth    Truth
		requests []string // of the struck intent
		made     effectsOf
		want     bool
	}{
		{"result stored", "next-model-call", TruthCommitted, []string{"r1"}, effectsOf{"r1"}, true},
		{"nothing was sent", "next-model-call", TruthCommitted, nil, nil, false},
		{"it was refused", "next-model-call", TruthCommitted, []string{"r1"}, nil, false},
		{"another intent's effect", "next-model-call", TruthCommitted, nil, effectsOf{"r1"}, false},
		{"state written first", "state-written", TruthNothing, nil, nil, true},
		{"state written last", "state-written", TruthNothing, []string{"r1"}, effectsOf{"r1"}, false},
		{"another event", "dispatching", TruthNothing, nil, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			place := map[Truth]string{TruthCommitted: "next-model-call", TruthNothing: "state-written"}[c.truth]
			f := Fault{Park: AgentEvent, Event: place, Truth: c.truth}
			g := newGate(f, selector{}, NewHistory(func() (string, int64) { return "", 0 }), func(int) string { return "1" })
			if len(c.requests) > 0 {
				g.attempts = []*attempt{{n: 1, requests: c.requests}}
			}
			st := &stage{trial: Trial{Fault: f}, gate: g, oracle: c.made}
			fits, err := st.truthFits(context.Background(), c.event)
			if err != nil || fits != c.want {
				t.Errorf("event %s with requests %v and effects of %v: fits %v, error %v; expected %v", c.event, c.requests, c.made, fits, err, c.want)
			}
		})
	}
}

// A call that stands still before the provider has it is told from one whose effect is there already.
func TestTruthBeforeTheProviderIsRead(t *testing.T) {
	slot := func(name, to string) Slot {
		return Slot{Name: name, Class: "message", Match: map[string]any{"to": to, "subject": "s"}, Count: 1}
	}
	call := Call{Class: "message", Attrs: map[string]any{"to": "ann", "subject": "s"}}
	effect := func(request, to string) Effect {
		return Effect{Class: "message", Request: request, Attrs: map[string]any{"to": to, "subject": "s"}}
	}
	for _, c := range []struct {
		name    string
		effects []Effect
		call    Call
		want    bool
	}{
		{"nothing is there", nil, call, false},
		{"another recipient's message is there", []Effect{effect("r2", "ben")}, call, false},
		{"an equal one of an earlier turn is there", []Effect{effect("r1", "ann")}, call, false},
		{"an equal one of before the trial is there", []Effect{effect("", "ann")}, call, false},
		{"it is there", []Effect{effect("r2", "ann")}, call, true},
		{"it is there, and the call drifts", []Effect{effect("r2", "ann")}, Call{Class: "message", Attrs: map[string]any{"to": "ann", "subject": "t"}}, true},
		{"one of several is there", []Effect{effect("r2", "ben")}, Call{Class: "message", Units: []map[string]any{effect("", "ann").Attrs, effect("", "ben").Attrs}}, true},
	} {
		st := stage{gate: &gate{since: []string{"r2", "r3"}}, trial: Trial{Struck: "i", Workload: Workload{Turns: []Turn{{Intents: []Intent{
			{ID: "i", Slots: []Slot{slot("ann", "ann"), slot("ben", "ben")}}}}}}}}
		if got := st.filled(c.effects, c.call); got != c.want {
			t.Errorf("%s: got %v, expected %v", c.name, got, c.want)
		}
	}
}
