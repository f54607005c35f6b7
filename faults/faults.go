// Package faults lists every fault that sixthcopy can inject, one file a boundary, as data of package
// bench. The links and the balancer that carry them out live below it.
package faults

import "github.com/sixthcopy/sixthcopy/bench"

// All returns every fault in the order in which reports show them: the ten boundaries, and inside a
// boundary each variant before its mirror. To add one: a line in its boundary's file.
func All() []bench.Fault {
	lists := [][]bench.Fault{
		beforeDispatch(),
		receivedBeforeCommit(),
		committedBeforeResponse(),
		responseAtToolServer(),
		duringCancellation(),
		timeoutBeforeCompletion(),
		crashRestart(),
		otherInstance(),
		tokenExpired(),
		parameterDrift(),
	}
	var all []bench.Fault
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// meets is what the struck exchange meets at one point.
func meets(p bench.Point, a bench.Action) map[bench.Point]bench.Action {
	return map[bench.Point]bench.Action{p: a}
}

// uncommitted turns a fault whose call has been committed by the provider into one in which the provider
// rendered the same answer inside its open transaction and rolled everything back: same bytes, nothing there.
func uncommitted(f bench.Fault) bench.Fault {
	f.Truth = bench.TruthNothing
	if f.Park == bench.Committed {
		f.Park = bench.BeforeCommit
	}
	m := map[bench.Point]bench.Action{bench.BeforeCommit: {Act: bench.Rollback}}
	for p, a := range f.Meets {
		if p == bench.Committed {
			p = bench.BeforeCommit
		} else if p == bench.BeforeCommit {
			continue
		}
		m[p] = a
	}
	f.Meets = m
	return f
}

// mirror is uncommitted under the name VARIANT/mirror, for boundaries that keep their mirrors themselves.
func mirror(f bench.Fault) bench.Fault {
	f = uncommitted(f)
	f.Variant += "/mirror"
	f.Summary += ", yet nothing was committed"
	return f
}

// withMirrors puts each fault's mirror behind it.
func withMirrors(list []bench.Fault) []bench.Fault {
	var out []bench.Fault
	for _, f := range list {
		out = append(out, f, mirror(f))
	}
	return out
}
