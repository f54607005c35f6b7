package faults

import "github.com/sixthcopy/sixthcopy/bench"

// duringCancellation: the call is cancelled before its receipt by the provider, between receipt and
// commit (which then happens anyway, or stops), or after the commit; and the goal is withdrawn, or issued
// again in a new turn that says what it continues, or does not; or such a turn, in the same words, wants a
// second one. Twelve variants in all: of what is issued again without a word, a call that stops is left out,
// since nobody can tell it from one that was cancelled before its receipt.
func duringCancellation() []bench.Fault {
	type place struct {
		name, says string
		park       bench.Point
		truth      bench.Truth
		stops      bool
	}
	places := []place{
		{"before-receipt", "before the provider received it", bench.AgentRequest, bench.TruthNothing, false},
		{"commits-anyway", "between receipt and commit, and it commits anyway", bench.Received, bench.TruthInFlight, false},
		{"stops", "between receipt and commit, and it stops", bench.Received, bench.TruthInFlight, true},
		{"after-commit", "after the commit", bench.Committed, bench.TruthCommitted, false},
	}
	var list []bench.Fault
	for _, p := range places {
		f := bench.Fault{Boundary: bench.DuringCancellation, Park: p.park, Truth: p.truth, Stops: p.stops,
			Levers: []bench.Lever{bench.CancelCall}, Shows: bench.ShowsCancelled, Needs: []string{"cancel"}}
		if p.stops {
			f.Meets = map[bench.Point]bench.Action{bench.BeforeCommit: {Act: bench.Rollback}}
		}
		withdrawn := f
		withdrawn.Variant, withdrawn.Withdrawn = "withdrawn/"+p.name, true
		withdrawn.Summary = "the call is cancelled " + p.says + "; the goal is withdrawn"
		withdrawn.Levers = []bench.Lever{bench.CancelCall, bench.Withdraw}
		withdrawn.Needs = []string{"cancel", "decide"}
		if p.name == "before-receipt" || p.name == "after-commit" {
			withdrawn.Quick = true
		}
		again := f
		again.Variant, again.Reissued = "continues/"+p.name, "continues"
		again.Summary = "the call is cancelled " + p.says + "; the goal is issued again by a turn that says what it continues"
		silent := f
		silent.Variant, silent.Reissued = "silent/"+p.name, "silent"
		silent.Summary = "the call is cancelled " + p.says + "; the goal is issued again by a turn that says nothing of the first"
		list = append(list, withdrawn, again)
		if !p.stops {
			list = append(list, silent)
		}
		if p.name == "after-commit" {
			twin := f
			twin.Variant, twin.Reissued = "twin/"+p.name, "twin"
			twin.Summary = "the call is cancelled " + p.says + "; a turn in the same words wants a second one"
			list = append(list, twin)
		}
	}
	return list
}
