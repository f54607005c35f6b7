package faults

import "github.com/sixthcopy/sixthcopy/bench"

// responseAtToolServer: the tool server has the whole answer of the provider, the agent has nothing.
// Strikes on the agent link are placed by the JSON-RPC result, not by the first byte. The mirror of a cut
// or a kill dispatches nothing; the mirror of a cut inside or before the event has the provider roll back,
// since its bytes come from a real answer.
func responseAtToolServer() []bench.Fault {
	lost := func(variant, summary string, shows bench.Shows, a bench.Action) bench.Fault {
		return bench.Fault{Boundary: bench.ResponseAtToolServer, Variant: variant, Summary: summary,
			Park: bench.AgentResponse, Truth: bench.TruthCommitted, Shows: shows, Meets: meets(bench.AgentResponse, a)}
	}
	undispatched := func(f bench.Fault, p bench.Point, a bench.Action) bench.Fault {
		f.Variant += "/mirror"
		f.Summary += ", yet nothing was dispatched"
		f.Park, f.Truth, f.Meets = p, bench.TruthNothing, meets(p, a)
		return f
	}
	reset := lost("reset", "the agent's connection is reset instead of the answer", bench.ShowsReset, bench.Action{Act: bench.Reset})
	reset.Quick = true
	closed := lost("close", "the agent's connection is closed instead of the answer", bench.ShowsClosed, bench.Action{Act: bench.Close})
	kill := lost("kill-tool-server", "the tool server is killed with the answer in its hands", bench.ShowsClosed, bench.Action{Act: bench.Close})
	kill.Levers = []bench.Lever{bench.KillToolServer, bench.RestartTool}
	before := lost("sse/before-event", "the stream ends before the event that carries the result", bench.ShowsNoEvent, bench.Action{Act: bench.Truncate, Bytes: 0})
	inside := lost("sse/inside-event", "the stream ends inside the event that carries the result", bench.ShowsTruncated, bench.Action{Act: bench.Truncate, Bytes: 24})
	before.OnlyMCP, inside.OnlyMCP = true, true
	session := lost("session-gone", "the tool server is killed with the answer in its hands, and its successor answers 404 to the old session",
		bench.ShowsNoSession, bench.Action{Act: bench.Close})
	session.Levers, session.Sessions, session.OnlyMCP = []bench.Lever{bench.KillToolServer, bench.RestartTool}, true, true

	rolledBack := func(f bench.Fault) bench.Fault {
		f.Variant += "/mirror"
		f.Summary += ", yet the provider had rolled everything back"
		f.Truth = bench.TruthNothing
		f.Meets = map[bench.Point]bench.Action{bench.BeforeCommit: {Act: bench.Rollback}, bench.AgentResponse: f.Meets[bench.AgentResponse]}
		return f
	}
	return []bench.Fault{
		reset, undispatched(reset, bench.AgentRequest, bench.Action{Act: bench.Reset}),
		closed, undispatched(closed, bench.AgentRequest, bench.Action{Act: bench.Close}),
		kill, undispatched(kill, bench.ProviderRequest, bench.Action{Act: bench.Reset}),
		before, rolledBack(before),
		inside, rolledBack(inside),
		session, undispatched(session, bench.ProviderRequest, bench.Action{Act: bench.Reset}),
	}
}
