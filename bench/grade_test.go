package bench_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
)

// The cases about a class name the rows of one behaviour, here a system; each is a cell of its own.
func TestGradeGolden(t *testing.T) {
	cases := map[string]goldenCase{}
	for _, c := range goldenCases(t) {
		cases[c.Name] = c
	}
	seen := 0
	for _, c := range cases {
		if c.Class == nil {
			continue
		}
		seen++
		list := bench.ClassList{Workload: "w", Name: c.Class.Name, Bound: c.Expected.Bound}
		var in []bench.Graded
		for _, name := range c.Class.Members {
			m := cases[name]
			if m.Expected.Bound != c.Expected.Bound {
				t.Errorf("%s and %s: two bounds in one class", c.Name, name)
			}
			workload := strings.Repeat("w", len(m.Evidence.Workload.Intents))
			in = append(in, bench.Graded{System: "s", Workload: workload, Boundary: m.Evidence.Fault.Boundary, Variant: name, Judged: bench.Judge(m.Evidence)})
			list.Members = append(list.Members, bench.Member{Workload: workload, Boundary: m.Evidence.Fault.Boundary, Variant: name})
		}
		g := bench.Grade(in, []bench.ClassList{list})
		if len(g.Classes) != 1 || g.Classes[0].Regret == nil {
			t.Fatalf("%s: got classes %+v, expected one with a regret", c.Name, g.Classes)
		}
		want := c.Expected.Class
		if got := g.Classes[0]; got.Mark != want.Mark || *got.Regret != want.Regret || got.Missing != nil {
			t.Errorf("%s: got mark %s, regret %d, missing %v; expected %s, %d, none", c.Name, got.Mark, *got.Regret, got.Missing, want.Mark, want.Regret)
		}
		for _, cell := range g.Cells {
			if cell.Variant == c.Name && (cell.Lucky != nil) != want.Lucky {
				t.Errorf("%s: got lucky %v, expected %v", c.Name, cell.Lucky, want.Lucky)
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d cases about a class, expected at least 10", seen)
	}
}

func judged(v bench.Verdict, extra map[string]int) bench.Judged {
	j := bench.Judged{Verdict: v, Bound: bench.MarkSafe, ExtraBySlot: extra}
	for _, n := range extra {
		j.Extra.Duplicate += n
	}
	return j
}

func TestGradeControls(t *testing.T) {
	in := []bench.Graded{
		{Trial: "c1", System: "s", Workload: "w", Boundary: bench.NoFault, Seed: 1, Judged: judged(bench.Violation, map[string]int{"a": 1})},
		{Trial: "c2", System: "s", Workload: "w", Boundary: bench.NoFault, Seed: 2, Judged: judged(bench.Exact, nil)},
		{Trial: "t1", System: "s", Workload: "w", Boundary: bench.TokenExpired, Seed: 1, Judged: judged(bench.Violation, map[string]int{"a": 2, "b": 1})},
		{Trial: "t2", System: "s", Workload: "w", Boundary: bench.TokenExpired, Seed: 2, Judged: judged(bench.Violation, map[string]int{"a": 2})},
		{Trial: "t3", System: "s", Workload: "w", Boundary: bench.TokenExpired, Seed: 3, Judged: judged(bench.Violation, map[string]int{"a": 1})},
		{Trial: "t4", System: "s", Workload: "other", Boundary: bench.TokenExpired, Seed: 1, Judged: judged(bench.Violation, map[string]int{"a": 1})},
		{Trial: "t5", System: "s", Workload: "w", Boundary: bench.TokenExpired, Seed: 1, Judged: judged(bench.Safe, nil)},
	}
	before := slices.Clone(in)
	want := map[string]struct {
		induced int
		fails   bool
	}{"c1": {}, "c2": {}, "t1": {2, true}, "t2": {2, false}, "t3": {0, true}, "t4": {0, false}, "t5": {0, true}}
	for _, g := range bench.Grade(in, nil).Trials {
		w := want[g.Trial]
		if fails := slices.Contains(g.Judged.Marks, bench.FailsWithoutFaultMark); g.Judged.RetryInduced != w.induced || fails != w.fails {
			t.Errorf("%s: got retry-induced %d, fails without fault %v; expected %d, %v", g.Trial, g.Judged.RetryInduced, fails, w.induced, w.fails)
		}
	}
	if !reflect.DeepEqual(in, before) {
		t.Error("Grade changed its input")
	}
}

func TestGradeClasses(t *testing.T) {
	plan := bench.Class{Name: "lost answer", Workload: "w", Bound: bench.MarkExact,
		Members: []string{"received-before-commit reset/mirror", "committed-before-response reset", "committed-before-response clean close"},
		Truths:  []string{"nothing", "committed", "committed"}}
	clean := bench.Member{Workload: "w", Boundary: bench.CommittedBeforeResponse, Variant: "clean close"}
	reset := bench.Member{Workload: "w", Boundary: bench.CommittedBeforeResponse, Variant: "reset"}
	mirror := bench.Member{Workload: "w", Boundary: bench.ReceivedBeforeCommit, Variant: "reset/mirror"}
	if got, want := plan.List(map[bench.Member]bool{clean: true}).Members, []bench.Member{clean, mirror}; !reflect.DeepEqual(got, want) {
		t.Errorf("where only clean close was tried: got members %v, expected %v: it, and one for the other truth", got, want)
	}
	trial := func(system string, b bench.Boundary, variant string, v bench.Verdict) bench.Graded {
		return bench.Graded{System: system, Workload: "w", Boundary: b, Variant: variant, Judged: bench.Judged{Verdict: v}}
	}
	g := bench.Grade([]bench.Graded{
		trial("whole", bench.ReceivedBeforeCommit, "reset/mirror", bench.Exact),
		trial("whole", bench.CommittedBeforeResponse, "reset", bench.Safe),
		trial("whole", bench.CommittedBeforeResponse, "reset", bench.Exact),
		trial("whole", bench.CommittedBeforeResponse, "clean close", bench.Exact),
		trial("lacking", bench.ReceivedBeforeCommit, "reset/mirror", bench.Exact),
		trial("lacking", bench.CommittedBeforeResponse, "reset", bench.Violation),
		trial("lacking", bench.CommittedBeforeResponse, "clean close", bench.Invalid),
		trial("nothing", bench.CommittedBeforeResponse, "reset", bench.Unjudged),
		trial("elsewhere", bench.TokenExpired, "just past", bench.Exact),
	}, []bench.ClassList{plan.List(map[bench.Member]bool{clean: true, reset: true, mirror: true})})
	one := 1
	want := []bench.ClassGrade{
		{System: "lacking", Workload: "w", Class: "lost answer", Bound: bench.MarkExact, Mark: bench.MarkViolation, Lucky: true, Missing: []bench.Member{clean}},
		{System: "nothing", Workload: "w", Class: "lost answer", Bound: bench.MarkExact, Missing: []bench.Member{mirror, reset, clean}},
		{System: "whole", Workload: "w", Class: "lost answer", Bound: bench.MarkExact, Mark: bench.MarkSafe, Regret: &one},
	}
	if !reflect.DeepEqual(g.Classes, want) {
		t.Errorf("classes\n got %+v\nwant %+v", g.Classes, want)
	}
	for _, c := range g.Cells {
		if unsteady := c.System == "whole" && c.Variant == "reset"; c.Unsteady != unsteady {
			t.Errorf("%s %s %s: got unsteady %v, expected %v", c.System, c.Boundary, c.Variant, c.Unsteady, unsteady)
		}
	}
}

// A bound is what can be known after the strike: who sent nothing beats none.
func TestGradeNotReached(t *testing.T) {
	member := bench.Member{Workload: "w", Boundary: bench.DuringCancellation, Variant: "withdrawn"}
	class := bench.ClassList{Workload: "w", Name: "withdrawn", Bound: bench.MarkSafe, Members: []bench.Member{member}}
	trial := func(system string, marks ...string) bench.Graded {
		return bench.Graded{System: system, Workload: "w", Boundary: member.Boundary, Variant: member.Variant,
			Judged: bench.Judged{Verdict: bench.Exact, Marks: marks}}
	}
	got := bench.Grade([]bench.Graded{trial("struck"), trial("silent", bench.NotReachedMark)}, []bench.ClassList{class}).Classes
	for i, want := range []int{0, -1} { // sorted by system
		if got[i].Regret == nil || *got[i].Regret != want || got[i].Mark != bench.MarkExact {
			t.Errorf("%s: got mark %s, regret %v; expected exact, %d", got[i].System, got[i].Mark, got[i].Regret, want)
		}
	}
}
