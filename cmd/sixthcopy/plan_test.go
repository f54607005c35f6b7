package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
	"github.com/sixthcopy/sixthcopy/fakeproviders/tools"
	"github.com/sixthcopy/sixthcopy/workloads"
)

// planOf plans a suite on the reference policies.
func planOf(t *testing.T, suite bench.Suite, more ...bench.SystemFacts) (bench.PlanSpec, bench.Plan) {
	t.Helper()
	spec, _, err := runOptions{suite: string(suite), repeat: 1, seed: 1, parallel: 1}.spec()
	if err != nil {
		t.Fatal(err)
	}
	spec.Systems = append(spec.Systems, more...)
	plan, err := bench.MakePlan(spec)
	if err != nil {
		t.Fatal(err)
	}
	return spec, plan
}

// same compares text with a file; with -update it writes the file.
func same(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(was) == text {
		return
	}
	old, now := strings.Split(string(was), "\n"), strings.Split(text, "\n")
	var out []string
	for _, l := range old {
		if !slices.Contains(now, l) {
			out = append(out, "- "+l)
		}
	}
	for _, l := range now {
		if !slices.Contains(old, l) {
			out = append(out, "+ "+l)
		}
	}
	t.Errorf("%s is not what there is (go test ./cmd/sixthcopy -run %s -update writes it anew):\n%s", path, t.Name(), strings.Join(out[:min(40, len(out))], "\n"))
}

// The kinds of systems whose cells applies.golden lists beside those of the reference: bare can nothing
// that a fault may need, and keeps time by the wall clock.
var bare = bench.SystemFacts{Name: "bare", Kind: "client that can nothing more", Clock: "wall"}

// direct calls every provider itself, as an SDK does, and can all that a fault may need.
var direct = bench.SystemFacts{Name: "direct", Kind: "client of the provider itself", Clock: "protocol", Can: abilities}

// TestApplies keeps what applies where, kind x boundary and variant x workload, with the reasons for what
// does not: a change shows in review.
func TestApplies(t *testing.T) {
	direct := direct
	for _, k := range fakeproviders.All {
		direct.Providers = append(direct.Providers, k.Name())
	}
	spec, plan := planOf(t, bench.SuiteFull, bare, direct)
	kindOf := map[string]string{}
	for _, s := range spec.Systems {
		kindOf[s.Name] = s.Kind
	}
	type cell struct{ workload, fault string }
	applies, not := map[cell]map[string]bool{}, map[cell]map[string][]string{} // kinds; reason -> kinds
	faultOf := func(b bench.Boundary, variant string) string { return string(b) + " " + variant }
	for _, tr := range plan.Trials {
		c := cell{tr.Workload.Name, faultOf(tr.Fault.Boundary, tr.Fault.Variant)}
		if applies[c] == nil {
			applies[c] = map[string]bool{}
		}
		applies[c][tr.Kind] = true
	}
	for _, n := range plan.NotApplicable {
		c := cell{n.Workload, faultOf(n.Boundary, n.Variant)}
		kind := "all"
		if n.System != "" {
			kind = kindOf[n.System]
		}
		if not[c] == nil {
			not[c] = map[string][]string{}
		}
		if !slices.Contains(not[c][n.Reason], kind) {
			not[c][n.Reason] = append(not[c][n.Reason], kind)
		}
	}
	var out strings.Builder
	for _, w := range spec.Workloads {
		fmt.Fprintf(&out, "## %s (%s)\n", w.Name, w.Provider.Contract)
		for _, f := range append([]bench.Fault{{Boundary: bench.NoFault, Variant: "control"}}, spec.Faults...) {
			c := cell{w.Name, faultOf(f.Boundary, f.Variant)}
			var says []string
			if len(applies[c]) > 0 {
				says = append(says, strings.Join(slices.Sorted(maps.Keys(applies[c])), ", "))
			}
			for _, reason := range slices.Sorted(maps.Keys(not[c])) {
				says = append(says, "not "+strings.Join(not[c][reason], ", ")+": "+reason)
			}
			if len(says) == 0 {
				t.Errorf("%s, %s: neither applies nor is left out with a reason", w.Name, c.fault)
			}
			fmt.Fprintf(&out, "%-52s %s\n", c.fault, strings.Join(says, "; "))
		}
		out.WriteString("\n")
	}
	same(t, "testdata/applies.golden", strings.TrimRight(out.String(), "\n")+"\n")
}

// TestBoundTable compares the bounds that docs/bounds.md gives by hand with those that the plan computes.
func TestBoundTable(t *testing.T) {
	_, plan := planOf(t, bench.SuiteCore)
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "bounds.md"))
	if err != nil {
		t.Fatal(err)
	}
	byHand := map[string]bench.Mark{}
	workload := ""
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			workload = strings.TrimSpace(name)
		}
		row := cellsOf(line)
		if len(row) != 3 || row[0] == "what is shown" || strings.HasPrefix(row[0], "--") {
			continue
		}
		name := workload + ": " + row[0]
		if _, twice := byHand[name]; twice || row[2] == "" {
			t.Errorf("class %q has two rows, or no reason", name)
		}
		byHand[name] = bench.Mark(row[1])
	}
	exact := 0
	for _, c := range plan.Classes {
		hand, there := byHand[c.Name]
		delete(byHand, c.Name)
		if !there {
			t.Errorf("class %q: not in docs/bounds.md; reason its bound out by hand and add the class there (computed: %q, members %s)",
				c.Name, c.Bound, strings.Join(c.Members, ", "))
		} else if hand != c.Bound {
			t.Errorf("class %q: %q by hand in docs/bounds.md, %q computed (members %s): find out which is wrong", c.Name, hand, c.Bound, strings.Join(c.Members, ", "))
		}
		if c.Bound == bench.MarkExact {
			exact++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byHand)) {
		t.Errorf("class %q is in docs/bounds.md and in no plan", name)
	}
	if 3*exact < len(plan.Classes) {
		t.Errorf("%d of %d classes are exact, expected a third at least", exact, len(plan.Classes))
	}
}

// cellsOf are the cells of a line of a Markdown table, nil for any other line.
func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	var cells []string
	for c := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
		cells = append(cells, strings.TrimSpace(c))
	}
	return cells
}

// TestCoreSuiteDocument keeps docs/core-suite.md: which variants quick and core choose.
func TestCoreSuiteDocument(t *testing.T) {
	chosen := func(suite bench.Suite) map[string]bool {
		_, plan := planOf(t, suite)
		names := map[string]bool{}
		for _, tr := range plan.Trials {
			names[tr.Workload.Name+" "+string(tr.Fault.Boundary)+" "+tr.Fault.Variant] = true
		}
		return names
	}
	quick, full := chosen(bench.SuiteQuick), len(chosen(bench.SuiteFull))
	spec, core := planOf(t, bench.SuiteCore)
	var out strings.Builder
	fmt.Fprintf(&out, `# What the suites run

Printed from the plan; a test keeps it true. quick is one variant of each boundary with its mirror; core is
one for each boundary, class and truth, those of quick first; full is every variant. Cells for each system,
controls included: %d, %d and %d.
`, len(quick), len(chosen(bench.SuiteCore)), full)
	system := spec.Systems[0].Name
	for _, w := range spec.Workloads {
		fmt.Fprintf(&out, "\n## %s\n\n| boundary | variant | quick | truth | class |\n|---|---|---|---|---|\n", w.Name)
		for _, tr := range core.Trials {
			if tr.System != system || tr.Workload.Name != w.Name || tr.Fault.Boundary == bench.NoFault {
				continue
			}
			f, inQuick := tr.Fault, ""
			if quick[w.Name+" "+string(f.Boundary)+" "+f.Variant] {
				inQuick = "yes"
			}
			fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", f.Boundary, f.Variant, inQuick, truthIn(core, tr), strings.TrimPrefix(tr.Class, w.Name+": "))
		}
	}
	same(t, filepath.Join("..", "..", "docs", "core-suite.md"), out.String())
}

// truthIn is a trial's truth as its class tells it from others.
func truthIn(plan bench.Plan, tr bench.Trial) string {
	for _, c := range plan.Classes {
		if i := slices.Index(c.Members, string(tr.Fault.Boundary)+" "+tr.Fault.Variant); c.Name == tr.Class && i >= 0 {
			return c.Truths[i]
		}
	}
	return "in no class"
}

// TestCatalogues compares the words that workload files may use with the providers, contracts and tools
// that there are.
func TestCatalogues(t *testing.T) {
	const toMend = "workloads/catalogue.go lists what files may name"
	known := workloads.Known()
	kinds := map[string]bool{}
	for _, k := range fakeproviders.All {
		kinds[k.Name()] = true
	}
	if got, want := slices.Sorted(maps.Keys(known.Providers)), slices.Sorted(maps.Keys(kinds)); !slices.Equal(got, want) {
		t.Errorf("providers: files may name %v, there are %v; %s", got, want, toMend)
	}
	offered := map[string]string{}
	for _, c := range contracts.All {
		offered[c.Name] = c.Provider
	}
	for _, name := range slices.Sorted(maps.Keys(offered)) {
		if known.Contracts[name] != offered[name] {
			t.Errorf("contract %s: files know it of provider %q, it is one of %q; %s", name, known.Contracts[name], offered[name], toMend)
		}
		delete(known.Contracts, name)
	}
	for _, name := range slices.Sorted(maps.Keys(known.Contracts)) {
		t.Errorf("contract %s: files may name it, and there is none; %s", name, toMend)
	}
	for _, tool := range tools.All {
		k, there := known.Tools[tool.Name()]
		delete(known.Tools, tool.Name())
		if !there {
			t.Errorf("tool %s: no file may name it; %s", tool.Name(), toMend)
			continue
		}
		if k.Provider != tool.Provider() || k.ReadOnly() != tool.ReadOnly() || k.TakesReference != tool.TakesRef() {
			t.Errorf("tool %s: files know provider %s, read-only %v, reference %v; it has %s, %v, %v", tool.Name(),
				k.Provider, k.ReadOnly(), k.TakesReference, tool.Provider(), tool.ReadOnly(), tool.TakesRef())
		}
		if class := tool.Parse(map[string]any{}).Class; class != k.Makes {
			t.Errorf("tool %s: files know effects of class %q, it makes %q", tool.Name(), k.Makes, class)
		}
		if k.Times != "" {
			if n := len(tool.Parse(map[string]any{k.Times: 3.0}).Units); n != 3 {
				t.Errorf("tool %s: files know that %s says how many effects it makes; for 3 it makes %d", tool.Name(), k.Times, n)
			}
		}
		args := tool.Arguments(bench.ToolUse{Key: bench.KeyNone})
		required := slices.Clone(tool.Schema(bench.ToolUse{Key: bench.KeyNone})["required"].([]string))
		var named, needed []string
		for _, a := range k.Args {
			named = append(named, a.Name)
			if a.Required {
				needed = append(needed, a.Name)
			}
		}
		if k.TakesReference {
			named = append(named, "reference")
		}
		slices.Sort(args)
		slices.Sort(named)
		slices.Sort(needed)
		slices.Sort(required)
		if !slices.Equal(args, named) || !slices.Equal(required, needed) {
			t.Errorf("tool %s: files know arguments %v, required %v; it takes %v, required %v", tool.Name(), named, needed, args, required)
		}
	}
	for name := range known.Tools {
		t.Errorf("tool %s: files may name it, and there is none; %s", name, toMend)
	}
}
