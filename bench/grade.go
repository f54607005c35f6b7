package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Graded is one judged trial as grading needs it.
type Graded struct {
	Trial    string // id
	System   string
	Workload string
	Direct   bool     // the system calls the provider itself
	Boundary Boundary // NoFault: a control
	Variant  string
	Struck   string
	Seed     int64
	Rep      int
	Judged   Judged
}

// Member is a cell of a class, for any system.
type Member struct {
	Workload string   `json:"workload"`
	Boundary Boundary `json:"boundary"`
	Variant  string   `json:"variant"`
	Direct   bool     `json:"direct,omitempty"` // of systems that call the provider themselves
}

// ClassList is a class with its members, as the plan lists them; they may lie in several workloads.
type ClassList struct {
	Workload string // under which it is reported
	Name     string
	Bound    Mark
	Members  []Member
}

// List returns a planned class as a run is graded by it: with the members that were tried, and, for each
// truth of the class of which none was, the first that should have been.
func (c Class) List(tried map[Member]bool) ClassList {
	list := ClassList{Workload: c.Workload, Name: c.Name, Bound: c.Bound}
	first := map[string]Member{}
	has := map[string]bool{}
	for i, name := range c.Members {
		boundary, variant, _ := strings.Cut(name, " ")
		m := Member{c.Workload, Boundary(boundary), variant, c.Direct}
		truth := c.Truths[i]
		if _, ok := first[truth]; !ok {
			first[truth] = m
		}
		if tried[m] {
			has[truth] = true
			list.Members = append(list.Members, m)
		}
	}
	for i := range c.Members {
		if truth := c.Truths[i]; !has[truth] {
			has[truth] = true
			list.Members = append(list.Members, first[truth])
		}
	}
	return list
}

// Grades is what judged trials say together.
type Grades struct {
	Trials  []Graded // as they came in, with what their controls add
	Cells   []CellGrade
	Classes []ClassGrade
}

// CellGrade is what the repetitions of one cell say together.
type CellGrade struct {
	System, Workload string
	Boundary         Boundary
	Variant, Struck  string
	Mark             Mark     // the worst valid trial; "" if there is none
	Lucky            []string // classes in which the cell is exact beside a violating member
	Unsteady         bool     // valid trials disagree: never averaged away
}

// ClassGrade is a system's mark in a class.
type ClassGrade struct {
	System   string   `json:"system"`
	Workload string   `json:"workload"`
	Class    string   `json:"class"`
	Bound    Mark     `json:"bound"`
	Mark     Mark     `json:"mark"`   // the worst member; "" if no member has a valid trial
	Regret   *int     `json:"regret"` // rank(mark) - rank(bound), -1..2; nil: the run lacks members. Never below 0 where some member was not reached
	Lucky    bool     `json:"lucky"`  // an exact member beside a violating one
	Missing  []Member `json:"missing,omitempty"`
}

type cellName struct {
	system string
	Member
}

type trialCell struct {
	cellName
	struck string
}

// Grade adds to judged trials what needs other trials: what the control of the same system, workload,
// seed and repetition says (without one, that of any), the marks, luck and regret of classes, and
// unsteady cells. Invalid and unjudged trials count nowhere: a member with no other is missing. It is
// pure; cells and classes come sorted by system, workload and name. A class without any trial of a
// system is left out for that system.
func Grade(in []Graded, classes []ClassList) Grades {
	g := Grades{Trials: againstControls(in)}
	cells := map[trialCell]*CellGrade{}
	shape := map[trialCell]string{}
	marks := map[cellName]Mark{}
	tried, unmet := map[cellName]bool{}, map[cellName]bool{}
	systems := map[string]bool{}
	for _, t := range g.Trials {
		name := cellName{t.System, Member{t.Workload, t.Boundary, t.Variant, t.Direct}}
		key := trialCell{name, t.Struck}
		systems[t.System], tried[name] = true, true
		cell := cells[key]
		if cell == nil {
			cell = &CellGrade{System: t.System, Workload: t.Workload, Boundary: t.Boundary, Variant: t.Variant, Struck: t.Struck}
			cells[key] = cell
		}
		mark := t.Judged.Verdict.Mark()
		if mark == "" {
			continue
		}
		s := t.Judged.shape()
		cell.Unsteady = cell.Unsteady || shape[key] != "" && shape[key] != s
		shape[key] = s
		cell.Mark, marks[name] = Worst(cell.Mark, mark), Worst(marks[name], mark)
		unmet[name] = unmet[name] || slices.Contains(t.Judged.Marks, NotReachedMark)
	}
	for _, class := range classes {
		for system := range systems {
			if !slices.ContainsFunc(class.Members, func(m Member) bool { return tried[cellName{system, m}] }) {
				continue
			}
			cg := class.grade(system, marks, unmet)
			for key, cell := range cells {
				if cg.Mark == MarkViolation && key.system == system && cell.Mark == MarkExact && slices.Contains(class.Members, key.Member) {
					cell.Lucky, cg.Lucky = append(cell.Lucky, class.Name), true
				}
			}
			g.Classes = append(g.Classes, cg)
		}
	}
	for _, cell := range cells {
		slices.Sort(cell.Lucky)
		g.Cells = append(g.Cells, *cell)
	}
	slices.SortFunc(g.Cells, func(a, b CellGrade) int {
		return cmp.Or(cmp.Compare(a.System, b.System), cmp.Compare(a.Workload, b.Workload),
			cmp.Compare(slices.Index(Boundaries, a.Boundary), slices.Index(Boundaries, b.Boundary)),
			cmp.Compare(a.Boundary, b.Boundary), cmp.Compare(a.Variant, b.Variant), cmp.Compare(a.Struck, b.Struck))
	})
	slices.SortFunc(g.Classes, func(a, b ClassGrade) int {
		return cmp.Or(cmp.Compare(a.System, b.System), cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Class, b.Class))
	})
	return g
}

// grade is a system's mark in a class, by the marks of its cells. The bound is what can be known after the
// strike: a system that sent nothing in a member was never in doubt there, and has beaten nothing.
func (c ClassList) grade(system string, marks map[cellName]Mark, unmet map[cellName]bool) ClassGrade {
	cg := ClassGrade{System: system, Workload: c.Workload, Class: c.Name, Bound: c.Bound}
	doubtless := false
	for _, m := range c.Members {
		mark, there := marks[cellName{system, m}]
		doubtless = doubtless || unmet[cellName{system, m}]
		if !there {
			cg.Missing = append(cg.Missing, m)
		}
		cg.Mark = Worst(cg.Mark, mark)
	}
	if len(cg.Missing) == 0 && c.Bound.Rank() >= 0 {
		regret := cg.Mark.Rank() - c.Bound.Rank()
		if doubtless {
			regret = max(0, regret)
		}
		cg.Regret = &regret
	}
	return cg
}

// againstControls fills in what controls add. A control is no cell beside itself.
func againstControls(in []Graded) []Graded {
	type suite struct{ system, workload string }
	type run struct {
		suite
		seed int64
		rep  int
	}
	same, any := map[run]ControlRecord{}, map[suite]run{}
	for _, t := range in {
		c := ControlOf(t.Judged)
		if t.Boundary != NoFault || c.Verdict == "" {
			continue
		}
		r := run{suite{t.System, t.Workload}, t.Seed, t.Rep}
		same[r] = c
		if first, there := any[r.suite]; !there || cmp.Or(cmp.Compare(r.seed, first.seed), cmp.Compare(r.rep, first.rep)) < 0 {
			any[r.suite] = r
		}
	}
	out := slices.Clone(in)
	for i, t := range out {
		r := run{suite{t.System, t.Workload}, t.Seed, t.Rep}
		c, there := same[r]
		if !there {
			c = same[any[r.suite]]
		}
		if t.Boundary == NoFault {
			c = ControlRecord{Verdict: "itself"}
		}
		out[i].Judged = Against(t.Judged, c)
	}
	return out
}

// shape is what repetitions of a cell must agree on: verdict and counts, without names, causes or text.
func (j Judged) shape() string {
	return fmt.Sprint(j.Verdict, j.Declined, j.Extra, j.Missing, j.FalseDedup, j.Unresolved, j.Findings)
}
