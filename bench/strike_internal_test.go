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
