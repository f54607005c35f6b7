package main

import (
	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/results/report"
	"github.com/sixthcopy/sixthcopy/results/store"
)

// storedPlan is what a report needs of the plan beyond single trials.
type storedPlan struct {
	Classes       []bench.Class
	NotApplicable []bench.NotApplicable
	Says          map[string]string `json:",omitempty"` // line of configuration by system, where its manifest says it
}

// grade adds what needs other trials than the one judged. Where a contract breaks its promise a class is a
// provider fault; the ledger owes its bound there only if it could know better.
func grade(s *store.Store, trials []bench.Graded) ([]report.Class, []report.NotApplicable, error) {
	var plan storedPlan
	if err := s.Plan(&plan); err != nil {
		return nil, nil, err
	}
	tried := map[bench.Member]bool{}
	for _, t := range trials {
		tried[bench.Member{Workload: t.Workload, Boundary: t.Boundary, Variant: t.Variant, Direct: t.Direct}] = true
	}
	var lists []bench.ClassList
	planned := map[[2]string]bench.Class{}
	for _, c := range plan.Classes {
		lists = append(lists, c.List(tried))
		planned[[2]string{c.Workload, c.Name}] = c
	}
	var classes []report.Class
	for _, c := range bench.Grade(trials, lists).Classes {
		classes = append(classes, report.Class{System: c.System, Workload: c.Workload, Class: c.Class, Bound: c.Bound, Mark: c.Mark,
			Regret: c.Regret, Lucky: c.Lucky, ProviderFault: planned[[2]string{c.Workload, c.Class}].Provider, LedgerOwes: planned[[2]string{c.Workload, c.Class}].Owes})
	}
	var out []report.NotApplicable
	for _, n := range plan.NotApplicable {
		out = append(out, report.NotApplicable{System: n.System, Workload: n.Workload, Boundary: n.Boundary, Variant: n.Variant, Reason: n.Reason})
	}
	return classes, out, nil
}

// graded is a trial as grading sees it.
func graded(rec bench.Record) bench.Graded {
	t := rec.Trial
	return bench.Graded{Trial: t.ID, System: t.System, Workload: t.Workload.Name, Direct: t.Direct, Boundary: t.Fault.Boundary,
		Variant: t.Fault.Variant, Struck: t.Struck, Seed: t.Seed, Rep: t.Rep, Judged: rec.Judged}
}
