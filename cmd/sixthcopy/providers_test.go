//go:build deep

package main

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
	"github.com/sixthcopy/sixthcopy/results/report"
)

// ran is a run with the plan that it followed.
type ran struct {
	*finished
	truths map[[3]string]bench.Truth // at the strike, by workload, boundary and variant; what never commits is nothing
	kept   map[string]bench.Contract // by workload
	keyed  map[string]bench.KeyUse   // of the struck call, by workload
	spec   bench.PlanSpec            //
}

// runAs runs the program on what the options say and plans the same.
func runAs(dir string, wantStatus int, o runOptions) (*ran, error) {
	o.repeat, o.seed, o.parallel = 1, 1, 1
	spec, _, err := o.spec()
	if err != nil {
		return nil, err
	}
	plan, err := bench.MakePlan(spec)
	if err != nil {
		return nil, err
	}
	args := []string{"--suite", o.suite, "--seed", "1"}
	if o.contract != "" {
		args = append(args, "--contract", o.contract)
	}
	for _, w := range o.workloads {
		args = append(args, "--workload", w)
	}
	for _, s := range o.systems {
		args = append(args, "--system", s)
	}
	r := &ran{truths: map[[3]string]bench.Truth{}, kept: map[string]bench.Contract{}, keyed: map[string]bench.KeyUse{}, spec: spec}
	for _, t := range plan.Trials {
		truth := t.Fault.Truth
		if t.Fault.Meets[bench.BeforeCommit].Act == bench.Rollback { // in flight, and never to be
			truth = bench.TruthNothing
		}
		r.truths[[3]string{t.Workload.Name, string(t.Fault.Boundary), t.Fault.Variant}] = truth
	}
	for _, w := range spec.Workloads {
		r.kept[w.Name], r.keyed[w.Name] = spec.Contracts[w.Provider.Contract], w.Tools[struckCall(w).Call.Tool].Key
	}
	file, err := runIn(dir, wantStatus, args...)
	if err != nil {
		return nil, err
	}
	text, err := reported(file)
	if err != nil {
		return nil, err
	}
	r.finished, err = parsed(file, text)
	return r, err
}

// providersRun is the suite at real providers' wires, on all policies. brokenRuns are a workload for each contract
// that lies, in every variant, on the careful policies and the controls.
var (
	providersRun = sync.OnceValues(func() (*ran, error) {
		dir, err := sharedFolder()
		if err != nil {
			return nil, err
		}
		return runAs(dir, 0, runOptions{suite: string(bench.SuiteProviders)})
	})
	brokenRuns = sync.OnceValues(func() ([]*ran, error) {
		var all []*ran
		for _, c := range contracts.All {
			workload := workloadOf[c.Name]
			if !lies(c) || workload == "" {
				continue
			}
			dir, err := sharedFolder()
			if err != nil {
				return nil, err
			}
			// never sends a second time what is asked for again after its cancellation: a violation of a named system
			r, err := runAs(dir, int(violated), runOptions{suite: string(bench.SuiteFull), contract: c.Name, workloads: []string{workload}, systems: []string{"never"}})
			if err != nil {
				return nil, err
			}
			all = append(all, r)
		}
		return all, nil
	})
)

// TestDeepProviders runs every reference policy on the workloads at real providers' wires. The reference reaches its
// bound wherever a contract keeps its promise, nobody beats one, and a broken promise is marked.
func TestDeepProviders(t *testing.T) {
	run, err := providersRun()
	if err != nil {
		t.Fatal(err)
	}
	checkRun(t, run.finished)
	checkMarks(t, run)
	systems := map[string]bool{}
	for _, c := range run.Cells {
		systems[c.System] = true
	}
	for _, s := range run.spec.Systems {
		if !systems[s.Name] {
			t.Errorf("%s has no cell", s.Name)
		}
	}
}

// TestDeepBrokenPromises runs a workload under every contract that lies.
func TestDeepBrokenPromises(t *testing.T) {
	runs, err := brokenRuns()
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		for name, c := range run.kept {
			t.Run(c.Name, func(t *testing.T) {
				checkRun(t, run.finished)
				checkMarks(t, run)
				if name != workloadOf[c.Name] {
					t.Errorf("workload %s, expected %s", name, workloadOf[c.Name])
				}
			})
		}
	}
}

// checkMarks wants the mark of a provider fault on every trial under a contract that lies, and on no other.
func checkMarks(t *testing.T, run *ran) {
	t.Helper()
	for _, c := range run.Cells {
		want := 0
		if lies(run.kept[c.Workload]) {
			want = c.Trials
		}
		if got := c.Marks[bench.ProviderFaultMark]; got != want {
			t.Errorf("%s, %s under %s, %s %s: %d trials marked as provider fault, expected %d", c.System, c.Workload,
				run.kept[c.Workload].Name, c.Boundary, c.Variant, got, want)
		}
	}
	for _, c := range run.Classes {
		if c.ProviderFault != lies(run.kept[c.Workload]) {
			t.Errorf("%s, class %s: provider fault %v", c.Workload, c.Class, c.ProviderFault)
		}
	}
}

// sighting is a cell with what was promised and what was so.
type sighting struct {
	report.Cell
	contract bench.Contract
	truth    bench.Truth
	keyed    bench.KeyUse // who fills the key of the struck call
}

func (r *ran) sightings() []sighting {
	var all []sighting
	for _, c := range r.Cells {
		all = append(all, sighting{c, r.kept[c.Workload], r.truths[[3]string{c.Workload, string(c.Boundary), c.Variant}], r.keyed[c.Workload]})
	}
	return all
}

// is reports whether the cell is of one of the systems.
func (p sighting) is(systems ...string) bool { return slices.Contains(systems, p.System) }

// nothing reports whether nothing had happened at the strike, and nothing came of the struck call later.
func (p sighting) nothing() bool { return p.truth == bench.TruthNothing }

// at reports whether the cell is at a boundary, in a variant that begins so.
func (p sighting) at(b bench.Boundary, variants ...string) bool {
	return p.Boundary == b && (len(variants) == 0 || slices.ContainsFunc(variants, func(v string) bool { return strings.HasPrefix(p.Variant, v) }))
}
