package faults

import "github.com/sixthcopy/sixthcopy/bench"

// tokenExpired: the answer is lost, and virtual time passes against the retention of the provider's key
// before the system can try again.
func tokenExpired() []bench.Fault {
	after := func(p bench.Passage, variant, summary string) bench.Fault {
		return bench.Fault{Boundary: bench.TokenExpired, Variant: variant, Summary: summary,
			Park: bench.Committed, Truth: bench.TruthCommitted, Pass: p, Levers: []bench.Lever{bench.LetTimePass},
			Shows: bench.ShowsToolLost, Meets: meets(bench.ProviderResponse, bench.Action{Act: bench.Reset}), Needs: []string{"clock"}}
	}
	past := after(bench.JustPast, "just-past", "the answer is lost and the retention has just passed")
	past.Quick = true
	down := after(bench.DaysLater, "days-down", "the agent is killed and comes back three days after the retention has passed")
	down.Levers = []bench.Lever{bench.KillAgent, bench.LetTimePass, bench.RestartAgent}
	down.Shows, down.Meets = bench.ShowsOwnDeath, nil
	return withMirrors([]bench.Fault{
		after(bench.JustInside, "just-inside", "the answer is lost and the retention has almost passed"), past, down,
	})
}
