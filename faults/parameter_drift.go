package faults

import "github.com/sixthcopy/sixthcopy/bench"

// parameterDrift: the answer is lost, the system may not resend by itself, and the repair that follows its
// claim changes one thing of the call.
func parameterDrift() []bench.Fault {
	drift := func(name, summary string) bench.Fault {
		return bench.Fault{Boundary: bench.ParameterDrift, Variant: name, Summary: "the answer is lost and the repair " + summary,
			Park: bench.Committed, Truth: bench.TruthCommitted, Drift: name, Shows: bench.ShowsToolLost,
			Meets: meets(bench.ProviderResponse, bench.Action{Act: bench.Reset}), Needs: []string{"repair"}}
	}
	format := drift("number-format", "writes a number in another form")
	free := drift("free-text", "words a free text anew")
	free.Quick = true
	return withMirrors([]bench.Fault{
		drift("optional-field", "adds or changes an optional field"), format, free,
		drift("target-alias", "names the target by another name"),
		drift("other-tool", "uses another tool"),
	})
}
