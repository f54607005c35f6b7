package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/tools"
	"github.com/sixthcopy/sixthcopy/results/report"
)

// suiteOf are the workloads of the suite by name, with their contracts.
func suiteOf(t *testing.T) (map[string]bench.Workload, map[string]bench.Contract) {
	t.Helper()
	spec, _ := planOf(t, bench.SuiteCore)
	all := map[string]bench.Workload{}
	for _, w := range spec.Workloads {
		all[w.Name] = w
	}
	return all, spec.Contracts
}

// struckCall is the call of the intent that faults strike.
func struckCall(w bench.Workload) bench.Intent {
	for _, turn := range w.Turns {
		for _, in := range turn.Intents {
			if len(w.Inject.Intents) == 0 || in.ID == w.Inject.Intents[0] {
				return in
			}
		}
	}
	return bench.Intent{}
}

// TestBlind: a retry without an identity makes an extra at every boundary at which something was, or came
// to be, committed, wherever neither the call nor the contract saves it; and nowhere else.
func TestBlind(t *testing.T) {
	run := core(t)
	suite, terms := suiteOf(t)
	harmful := []bench.Boundary{bench.CommittedBeforeResponse, bench.ResponseAtToolServer, bench.TimeoutBeforeCompletion,
		bench.CrashRestart, bench.OtherInstance, bench.TokenExpired, bench.ParameterDrift}
	for name, w := range suite {
		contract := terms[w.Provider.Contract].Actual
		call := struckCall(w)
		for _, b := range bench.Boundaries {
			cells := run.only(func(c report.Cell) bool { return c.System == "blind" && c.Workload == name && c.Boundary == b })
			if len(cells) == 0 {
				continue // left out, with its reason: see applies.golden
			}
			extra := 0
			for _, c := range cells {
				extra += c.TrialsWithExtra
			}
			var want bool
			switch {
			case len(call.Slots) == 0: // a read
			case b == bench.ParameterDrift: // what is repaired is another call, so nothing of the first saves it
				want = true
			case len(contract.Unique[call.Slots[0].Class]) > 0 || contract.NaturallyIdempotent: // the same again can do no harm
			case b == bench.DuringCancellation: // issued again by a new turn
				want = true
			case slices.Contains(harmful, b):
				want = true
			default: // nothing had been committed, but for the first requests of a call that makes several
				want = len(tools.Catalogue()[call.Call.Tool].Parse(call.Call.Args).Units) > 1 && w.Provider.Kind == "mail"
			}
			if (extra > 0) != want {
				t.Errorf("%s at %s: %d trials with an extra, expected some: %v", name, b, extra, want)
			}
		}
	}
}

// TestSixthCopy: five recipients each get one message; whatever comes on top is an extra. The third of
// five requests is struck, so the retry sends all five again: three of them for the second time.
func TestSixthCopy(t *testing.T) {
	run := core(t)
	for _, c := range run.only(func(c report.Cell) bool {
		return c.System == "blind" && c.Workload == "message-to-five" && c.Boundary == bench.CommittedBeforeResponse && c.Variant == "reset"
	}) {
		if c.Extra != 3 || c.Violation != 1 || c.Missing != 0 {
			t.Errorf("reset after the third commit: %d extras, %d missing, %d violations; expected 3, 0, 1", c.Extra, c.Missing, c.Violation)
		}
	}
	for _, b := range []bench.Boundary{bench.CommittedBeforeResponse, bench.ResponseAtToolServer, bench.TimeoutBeforeCompletion,
		bench.CrashRestart, bench.OtherInstance, bench.ParameterDrift} {
		cells := run.only(func(c report.Cell) bool {
			return c.System == "blind" && c.Workload == "message-to-five" && c.Boundary == b
		})
		if !slices.ContainsFunc(cells, func(c report.Cell) bool { return c.Extra > 0 && c.Violation > 0 }) {
			t.Errorf("%s: no sixth copy in %d cells", b, len(cells))
		}
	}
}

// TestDedupeEverything: what answers equal calls from memory suppresses a wanted twin in every workload
// that has one.
func TestDedupeEverything(t *testing.T) {
	run := core(t)
	suite, _ := suiteOf(t)
	twins := 0
	for name, w := range suite {
		if !slices.ContainsFunc(w.Turns, func(turn bench.Turn) bool {
			return slices.ContainsFunc(turn.Intents, func(in bench.Intent) bool { return in.TwinOf != "" })
		}) {
			continue
		}
		twins++
		for _, c := range run.only(func(c report.Cell) bool {
			return c.System == "dedupe-everything" && c.Workload == name && c.Boundary == bench.NoFault
		}) {
			if c.FalseDedup == 0 || c.Violation == 0 {
				t.Errorf("%s without a fault: %d units falsely deduplicated, %d violations; expected some", name, c.FalseDedup, c.Violation)
			}
		}
	}
	if twins < 2 {
		t.Errorf("%d workloads with twins, expected two at least", twins)
	}
}

// TestDoNothing: who sends nothing misses what is wanted and is never exact, but where the goal is nothing.
func TestDoNothing(t *testing.T) {
	run := core(t)
	_, plan := planOf(t, bench.SuiteCore)
	nothingWanted := map[string]bool{}
	key := func(workload string, b bench.Boundary, variant string) string {
		return fmt.Sprint(workload, " ", b, " ", variant)
	}
	for _, tr := range plan.Trials {
		nothingWanted[key(tr.Workload.Name, tr.Fault.Boundary, tr.Fault.Variant)] = tr.Workload.Outcomes[0].Word == "none"
	}
	wanted := 0
	for _, c := range run.only(func(c report.Cell) bool { return c.System == "do-nothing" }) {
		if nothingWanted[key(c.Workload, c.Boundary, c.Variant)] {
			continue
		}
		wanted++
		if c.Exact > 0 || c.Violation > 0 || c.Missing == 0 && c.Marks["declined"] == 0 {
			t.Errorf("%s at %s %s: %d exact, %d violations, %d missing, marks %v; expected missing or declined, and safe", c.Workload, c.Boundary,
				c.Variant, c.Exact, c.Violation, c.Missing, c.Marks)
		}
		// Nobody sees a dial that is refused at the agent's own link, nor that there was none.
		seen := c.Boundary != bench.NoFault && c.Variant != "refused/agent-link"
		if c.Attempts > 0 || seen && c.Marks[bench.NotReachedMark] != c.Trials {
			t.Errorf("%s at %s %s: %d attempts, marks %v; expected none, and not reached", c.Workload, c.Boundary, c.Variant, c.Attempts, c.Marks)
		}
	}
	if wanted == 0 {
		t.Error("no cell in which anything is wanted")
	}
}

// TestNever: a policy that never retries is struck, and judged, at every boundary that applies.
func TestNever(t *testing.T) {
	run := core(t)
	seen := map[bench.Boundary]int{}
	for _, c := range run.only(func(c report.Cell) bool { return c.System == "never" }) {
		seen[c.Boundary]++
		if c.Marks[bench.NotReachedMark] > 0 || c.Exact+c.Safe+c.Violation != c.Trials {
			t.Errorf("%s at %s %s: marks %v, %d of %d trials judged", c.Workload, c.Boundary, c.Variant, c.Marks, c.Exact+c.Safe+c.Violation, c.Trials)
		}
	}
	for _, b := range bench.Boundaries {
		if seen[b] == 0 {
			t.Errorf("%s: no cell", b)
		}
	}
}

// planted runs the core suite on the planted tool server.
func planted(t *testing.T) *finished {
	t.Helper()
	file, err := os.ReadFile("testdata/planted/remembering-server.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "remembering-server.yaml")
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := runOnce(dir, 1, "--suite", "core", "--seed", "1", "--workload", path, "--system", "blind")
	if err != nil {
		t.Fatal(err)
	}
	checkRun(t, f)
	return f
}

// differing says which system gets different worst verdicts at two boundaries: over the whole suite by
// the first policy in the order of names, else in the first workload that has both, else "".
func differing(f *finished, a, b bench.Boundary) (system, where string, atA, atB bench.Mark) {
	var systems, workloads []string
	for _, c := range f.Cells {
		if !slices.Contains(systems, c.System) {
			systems = append(systems, c.System)
		}
		if !slices.Contains(workloads, c.Workload) {
			workloads = append(workloads, c.Workload)
		}
	}
	slices.Sort(workloads)
	for _, w := range append([]string{""}, workloads...) {
		for _, s := range systems {
			at := func(b bench.Boundary) bench.Mark {
				return worstOf(f.only(func(c report.Cell) bool { return c.System == s && c.Boundary == b && (w == "" || c.Workload == w) }))
			}
			if x, y := at(a), at(b); x != y && x != "" && y != "" {
				return s, w, x, y
			}
		}
	}
	return "", "", "", ""
}

// TestBoundariesDiffer keeps docs/boundaries.md: for every two of the ten boundaries some system whose
// worst verdicts there differ, so that none of the ten is another under a second name.
func TestBoundariesDiffer(t *testing.T) {
	run := core(t)
	server := planted(t)
	var out strings.Builder
	out.WriteString(`# What tells the boundaries apart

For every two of the ten boundaries some system comes off differently: its worst verdict over the core suite
at the one is another than at the other. So no boundary is another one under a second name. Where a policy
does so over the whole suite, that is given, else the first workload in which one does; where no reference
policy does, a planted tool server: ` + "`remembering-server`" + `, which answers a repeated call from its own memory
behind a sticky balancer, so that a blind retry is saved by the instance that knows it and by no other.
Printed from a run; a test keeps it true.

| boundary | and | system | workload | worst at the first | worst at the second |
|---|---|---|---|---|---|
`)
	for i, a := range bench.Boundaries {
		for _, b := range bench.Boundaries[i+1:] {
			system, where, atA, atB := differing(run, a, b)
			if system == "" {
				system, where, atA, atB = differing(server, a, b)
				where += " (planted)"
			}
			if atA == "" {
				t.Errorf("%s and %s: no system tells them apart", a, b)
				continue
			}
			if where == "" {
				where = "all"
			}
			fmt.Fprintf(&out, "| %s | %s | %s | %s | %s | %s |\n", a, b, system, strings.TrimSpace(where), atA, atB)
		}
	}
	same(t, filepath.Join("..", "..", "docs", "boundaries.md"), out.String())
}
