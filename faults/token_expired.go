package faults

import "github.com/sixthcopy/sixthcopy/bench"

// tokenExpired: the answer is lost, and virtual time passes against the retention of the provider's key
// before the system can try again. In two variants the lost call is still in work then and commits last: a
// contract that documents no limit for that lets no look-up prove that nothing will be there.
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
	late := func(f bench.Fault, variant, summary string) bench.Fault {
		f.Variant, f.Summary, f.Quick, f.Meets = variant, summary, false, nil
		f.Park, f.Truth, f.Holds = bench.BeforeCommit, bench.TruthInFlight, bench.RetryOver
		return f
	}
	latePast := late(past, "just-past/commits-late", "the provider holds the call and its connection is reset; it commits when the retention has passed and a retry was answered")
	latePast.Levers = []bench.Lever{bench.LetTimePass, bench.CutProvider}
	return append(withMirrors([]bench.Fault{
		after(bench.JustInside, "just-inside", "the answer is lost and the retention has almost passed"), past, down,
	}), latePast,
		late(down, "days-down/commits-late", "the agent is killed while the provider holds its call, and comes back three days after the retention has passed; the call commits when a retry was answered"))
}
