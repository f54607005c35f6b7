package faults

import "github.com/sixthcopy/sixthcopy/bench"

// timeoutBeforeCompletion: the provider holds the request until the time-out of the layer that owns it (the
// agent, the tool server, or an edge before the provider) is observed on that layer's link. It then commits late (before the retry, while the retry is in work, or
// after the retry was answered), or never (the mirror).
func timeoutBeforeCompletion() []bench.Fault {
	releases := []struct {
		name, says string
		holds      bench.Release
	}{
		// Core takes the first of a class: the latest commit is the one that no other boundary has.
		{"after-retry", "commits after the retry was answered", bench.RetryOver},
		{"during-retry", "commits while the retry is in work", bench.RetryInWork},
		{"before-retry", "commits before a retry comes", bench.AtOnce},
	}
	owners := []struct {
		name, says string
		lever      bench.Lever
		shows      bench.Shows
	}{
		{"agent", "the agent's time-out runs out", bench.RunOutTime, bench.ShowsTimeOut},
		{"toolserver", "the tool server's time-out runs out", bench.RunOutTime, bench.ShowsToolTimeOut},
		{"edge-503", "the time-out of an edge before the provider runs out, and the edge answers 503", bench.EdgeAnswers, bench.ShowsToolStatus + "503"},
	}
	var list []bench.Fault
	for _, owner := range owners {
		for _, r := range releases {
			f := bench.Fault{Boundary: bench.TimeoutBeforeCompletion,
				Variant: r.name + "/" + owner.name, Summary: owner.says + "; the provider " + r.says,
				Park: bench.BeforeCommit, Truth: bench.TruthInFlight, Levers: []bench.Lever{owner.lever}, Holds: r.holds, Shows: owner.shows}
			if owner.lever == bench.RunOutTime {
				f.Owner = owner.name
			}
			if owner.name == "agent" {
				f.Needs, f.Quick = []string{"timeout"}, r.holds == bench.RetryOver
			}
			never := f
			never.Variant += "/mirror"
			never.Summary = f.Summary[:len(f.Summary)-len(r.says)] + "never commits, and says so " + map[bench.Release]string{
				bench.AtOnce: "before a retry comes", bench.RetryInWork: "while the retry is in work", bench.RetryOver: "after the retry was answered"}[r.holds]
			never.Meets = map[bench.Point]bench.Action{bench.BeforeCommit: {Act: bench.Rollback}}
			list = append(list, f, never)
		}
	}
	return list
}
