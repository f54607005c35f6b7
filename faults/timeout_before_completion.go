package faults

import "github.com/sixthcopy/sixthcopy/bench"

// timeoutBeforeCompletion: the provider holds the request until the time-out of the layer that owns it is
// observed on that layer's link. It then commits late (before the retry, while the retry is in work, or
// after the retry was answered), or never (the mirror).
func timeoutBeforeCompletion() []bench.Fault {
	releases := []struct {
		name, says string
		holds      bench.Release
	}{
		{"before-retry", "commits before a retry comes", bench.AtOnce},
		{"during-retry", "commits while the retry is in work", bench.RetryInWork},
		{"after-retry", "commits after the retry was answered", bench.RetryOver},
	}
	var list []bench.Fault
	for _, owner := range []string{"agent", "toolserver"} {
		for _, r := range releases {
			f := bench.Fault{Boundary: bench.TimeoutBeforeCompletion,
				Variant: r.name + "/" + owner, Summary: "the " + map[string]string{"agent": "agent", "toolserver": "tool server"}[owner] + "'s time-out runs out; the provider " + r.says,
				Park: bench.BeforeCommit, Truth: bench.TruthInFlight, Levers: []bench.Lever{bench.RunOutTime}, Holds: r.holds, Owner: owner}
			if owner == "agent" {
				f.Shows, f.Needs, f.Quick = bench.ShowsTimeOut, []string{"timeout"}, r.holds == bench.AtOnce
			} else {
				f.Shows = bench.ShowsToolTimeOut
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
