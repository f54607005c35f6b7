package faults

import "github.com/sixthcopy/sixthcopy/bench"

// otherInstance: the answer is lost, and the retry reaches another instance of a tool server that holds
// instance-local memory: the serving one was killed, is drained, or is alive while the retry goes elsewhere.
func otherInstance() []bench.Fault {
	at := func(p bench.Point, variant, summary string, l bench.Lever, shows bench.Shows, a bench.Act) bench.Fault {
		return bench.Fault{Boundary: bench.OtherInstance, Variant: variant, Summary: summary, Memory: true,
			Park: p, Truth: bench.TruthCommitted, Levers: []bench.Lever{l}, Shows: shows, Meets: meets(bench.AgentResponse, bench.Action{Act: a})}
	}
	killed := at(bench.Committed, "killed/committed", "the serving instance is killed when the provider has committed", bench.KillToolServer, bench.ShowsClosed, bench.Close)
	killed.Quick = true
	answered := at(bench.AgentResponse, "killed/answered", "the serving instance is killed with the answer in its hands", bench.KillToolServer, bench.ShowsClosed, bench.Close)
	drained := at(bench.AgentResponse, "drained", "the answer is lost and the serving instance is drained", bench.DrainServing, bench.ShowsReset, bench.Reset)
	alive := at(bench.AgentResponse, "alive", "the answer is lost and the retry is sent to another instance, the first being alive", bench.AvoidServing, bench.ShowsReset, bench.Reset)
	return withMirrors([]bench.Fault{killed, answered, drained, alive})
}
