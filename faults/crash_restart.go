package faults

import "github.com/sixthcopy/sixthcopy/bench"

// crashRestart: the agent is killed by SIGKILL while its call is parked at the provider or at its own
// link, or at an event of its own, and started again on the same state folder.
func crashRestart() []bench.Fault {
	kill := func(p bench.Point, variant, summary string, truth bench.Truth) bench.Fault {
		return bench.Fault{Boundary: bench.CrashRestart, Variant: variant, Summary: summary,
			Park: p, Truth: truth, Shows: bench.ShowsOwnDeath, Levers: []bench.Lever{bench.KillAgent, bench.RestartAgent}}
	}
	committed := kill(bench.Committed, "kill/committed", "the agent is killed when the provider has committed and not answered", bench.TruthCommitted)
	committed.Quick = true
	answered := kill(bench.AgentResponse, "kill/answered", "the agent is killed when the answer is at its link", bench.TruthCommitted)
	answered.Meets = meets(bench.AgentResponse, bench.Action{Act: bench.Reset})
	unsent := kill(bench.AgentRequest, "kill/answered/mirror", "the agent is killed when its request is at its link, and nothing was dispatched", bench.TruthNothing)
	unsent.Meets = meets(bench.AgentRequest, bench.Action{Act: bench.Reset})
	twice := committed
	twice.Variant, twice.Summary, twice.Times, twice.Quick = "kill-twice/committed", "the agent is killed, and killed again when its next attempt has been committed", 2, false

	event := func(name, variant, summary string, truth bench.Truth) bench.Fault {
		f := kill(bench.AgentEvent, variant, summary, truth)
		f.Event, f.Needs = name, []string{"at"}
		return f
	}
	written := event("state-written", "kill/state-written", "the agent is killed when it has written its state and sent nothing", bench.TruthNothing)
	delivered := event("result-delivered", "kill/result-delivered", "the agent is killed when it has the result and has not stored it", bench.TruthCommitted)
	next := event("next-model-call", "kill/next-model-call", "the agent is killed before its next model call, its result stored", bench.TruthCommitted)
	next.Shows, next.Tells = bench.ShowsStored, true
	return []bench.Fault{
		committed, mirror(committed),
		answered, unsent,
		twice, mirror(twice),
		delivered, written, next,
	}
}
