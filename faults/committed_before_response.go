package faults

import (
	"strconv"

	"github.com/sixthcopy/sixthcopy/bench"
)

// committedBeforeResponse: the provider has committed durably and no byte of its answer has left.
func committedBeforeResponse() []bench.Fault {
	base := bench.Fault{
		Boundary: bench.CommittedBeforeResponse,
		Park:     bench.Committed, Truth: bench.TruthCommitted,
	}
	answer := func(variant, summary string, shows bench.Shows, a bench.Action) bench.Fault {
		f := base
		f.Variant, f.Summary, f.Shows = variant, summary, shows
		f.Meets = meets(bench.ProviderResponse, a)
		return f
	}
	reset := answer("reset", "the connection to the provider is reset", bench.ShowsToolLost, bench.Action{Act: bench.Reset})
	reset.Quick = true
	closed := answer("close", "the connection to the provider is closed without an answer", bench.ShowsToolLost, bench.Action{Act: bench.Close})
	reused := func(f bench.Fault) bench.Fault {
		f.Variant += "/reused"
		f.Summary += ", on a connection that had carried an exchange before"
		f.Reused, f.Quick = true, false
		return f
	}
	hole := answer("black-hole", "the answer never comes, until the agent's time-out", bench.ShowsTimeOut, bench.Action{Act: bench.Swallow})
	hole.Owner, hole.Levers, hole.Needs = "agent", []bench.Lever{bench.RunOutTime}, []string{"timeout"}
	holeServer := answer("black-hole/tool-server", "the answer never comes, until the tool server's time-out", bench.ShowsToolTimeOut, bench.Action{Act: bench.Swallow})
	holeServer.Owner, holeServer.Levers = "toolserver", []bench.Lever{bench.RunOutTime}
	every := reset
	every.Variant, every.Summary = "reset/every-attempt", "every attempt's connection to the provider is reset"
	every.Extent, every.Quick = bench.ExtentIntent, false

	everyClosed := closed
	everyClosed.Variant, everyClosed.Summary = "close/every-attempt", "every attempt's connection to the provider is closed without an answer"
	everyClosed.Extent = bench.ExtentIntent

	list := []bench.Fault{reset, reused(reset), every, closed, reused(closed), everyClosed, hole, holeServer,
		answer("truncated", "the answer ends in the middle of its body", bench.ShowsToolEmpty, bench.Action{Act: bench.Truncate, Bytes: 12}),
		answer("empty-2xx", "an edge answers 200 with an empty body", bench.ShowsToolEmpty, bench.Action{Act: bench.Replace, Status: 200}),
	}
	for _, status := range []int{429, 502, 503, 504} {
		s := strconv.Itoa(status)
		f := answer("edge-"+s, "an edge answers "+s+" instead of the provider", bench.ShowsToolStatus+bench.Shows(s),
			bench.Action{Act: bench.Replace, Status: status, Body: `{"message":"` + s + `"}`})
		list = append(list, f)
	}
	own := base
	own.Variant, own.Summary = "provider-500", "the provider itself answers 500, and saves that where its contract says so"
	own.Shows, own.ProviderFailure = bench.ShowsToolStatus+"500", true
	own.Meets = meets(bench.Committed, bench.Action{Act: bench.Fail, Status: 500})
	crash := base
	crash.Variant, crash.Summary = "provider-crash", "the provider's process dies and comes back with what was committed"
	crash.Shows = bench.ShowsToolLost
	crash.Meets = meets(bench.Committed, bench.Action{Act: bench.CrashAct})
	return append(list, own, crash)
}

// receivedBeforeCommit: the provider has the whole request and has not mutated. Its variants are the
// mirrors of those of committedBeforeResponse: the same bytes to the client, and nothing there.
func receivedBeforeCommit() []bench.Fault {
	var list []bench.Fault
	for _, f := range committedBeforeResponse() {
		f.Boundary = bench.ReceivedBeforeCommit
		f = uncommitted(f)
		if a := f.Meets[bench.BeforeCommit]; a.Act == bench.Fail || a.Act == bench.CrashAct {
			f.Summary += " (nothing was committed)"
		}
		list = append(list, f)
	}
	return list
}
