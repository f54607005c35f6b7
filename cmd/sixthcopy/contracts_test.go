package main

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
	"github.com/sixthcopy/sixthcopy/results/store"
)

// stand is a runner in this process, with the reference policies.
type stand struct {
	runner  *bench.Runner
	systems map[string]bench.System
}

func newStand(t *testing.T) stand {
	t.Helper()
	w, stop, err := world()
	if err != nil {
		t.Fatal(err)
	}
	all, err := runOptions{suite: "core"}.chooseSystems()
	if err != nil {
		t.Fatal(err)
	}
	s := stand{&bench.Runner{World: w, Dir: t.TempDir(), Deadline: trialDeadline, Replicas: 2}, map[string]bench.System{}}
	for _, one := range all {
		s.systems[one.Name()] = one
	}
	t.Cleanup(func() {
		if err := closeAll(s.systems); err != nil {
			t.Error(err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// run plans the suite's first workload of a contract's provider under that contract, and runs one cell of it.
func (s stand) run(t *testing.T, contract, system string, b bench.Boundary, variant string) bench.Record {
	t.Helper()
	spec, _, err := runOptions{suite: string(bench.SuiteFull), repeat: 1, seed: 1, parallel: 1}.spec()
	if err != nil {
		t.Fatal(err)
	}
	spec.Workloads = underContract(t, spec.Workloads, contract)
	return s.cell(t, spec, system, b, variant)
}

// cell runs one cell of what spec plans.
func (s stand) cell(t *testing.T, spec bench.PlanSpec, system string, b bench.Boundary, variant string) bench.Record {
	t.Helper()
	contract := spec.Workloads[0].Provider.Contract
	plan, err := bench.MakePlan(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range plan.Trials {
		if tr.System == system && tr.Fault.Boundary == b && tr.Fault.Variant == variant {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			rec := s.runner.Run(ctx, tr, s.systems[system])
			rec.Judged = bench.Judge(rec.Evidence)
			if rec.Judged.Verdict == bench.Invalid {
				t.Fatalf("%s under %s at %s %s: invalid: %s %s", system, contract, b, variant, rec.Judged.InvalidBecause, rec.Evidence.Strike.Harness)
			}
			return rec
		}
	}
	t.Fatalf("%s under %s at %s %s: no such trial", system, contract, b, variant)
	return bench.Record{}
}

// underContract is the first workload that makes an effect under the contract, or else under another of its
// provider's, put under this one.
func underContract(t *testing.T, suite []bench.Workload, contract string) []bench.Workload {
	t.Helper()
	c, ok := contracts.Find(contract)
	if !ok {
		t.Fatalf("no contract %s", contract)
	}
	keyless := func(w bench.Workload) int { // a tool that sends no key tells nothing of a contract's keys: it comes last
		if key := w.Tools[struckCall(w).Call.Tool].Key; c.Advertised.Key.Location != "" && (key == "" || key == bench.KeyNone) {
			return 1
		}
		return 0
	}
	suite = slices.Clone(suite)
	slices.SortStableFunc(suite, func(a, b bench.Workload) int { return keyless(a) - keyless(b) })
	for _, w := range suite {
		if w.Provider.Contract == contract && len(struckCall(w).Slots) > 0 {
			return []bench.Workload{w}
		}
	}
	for _, w := range suite {
		if w.Provider.Kind == c.Provider && len(struckCall(w).Slots) > 0 && (c.Name == "files-delete-newest") == (struckCall(w).Call.Tool == "delete_newest") {
			w.Provider.Contract = contract
			return []bench.Workload{w}
		}
	}
	t.Fatalf("no workload of provider %s", c.Provider)
	return nil
}

// TestProvidersAgreeWithOracles carries a call out under every contract, those that lie too. What the
// provider answered, the oracle finds: the same object, with the attributes that the call asked for.
func TestProvidersAgreeWithOracles(t *testing.T) {
	s := newStand(t)
	for _, c := range contracts.All {
		t.Run(c.Name, func(t *testing.T) {
			rec := s.run(t, c.Name, "native-token", bench.NoFault, "control")
			effects := rec.Evidence.Observed.Effects
			if rec.Judged.Verdict != bench.Exact || len(effects) == 0 {
				t.Errorf("verdict %v with %d effects, expected exact: %s", rec.Judged.Verdict, len(effects), rec.Judged.Reason)
			}
			receipts := map[string]bool{}
			for _, claim := range rec.Evidence.Claims {
				for _, r := range claim.Receipts {
					receipts[r] = true
				}
			}
			for _, e := range effects {
				if c.Provider == "items" { // a transaction's answer names nothing
					break
				}
				if !receipts[e.Object] {
					t.Errorf("the oracle finds %s, the provider answered %v", e.Object, receipts)
				}
			}
		})
	}
}

// TestLies runs lying contracts beside honest ones that say the same. A system that believes it comes to harm by the
// lie and by nothing else. What comes of every lie in every variant is in docs/surprises.md, and why some show nowhere.
func TestLies(t *testing.T) {
	s := newStand(t)
	extra := func(j bench.Judged) int { return j.Extra.Duplicate }
	open := func(j bench.Judged) int { return j.Unresolved.Escalated }
	for _, l := range []struct {
		lying, honest, system string
		at                    bench.Boundary
		variant               string
		harm                  func(bench.Judged) int
	}{
		{"stripe-v1-unenforced", "stripe-v1", "native-token", bench.CommittedBeforeResponse, "reset", extra},
		{"stripe-v1-forgets-early", "stripe-v1", "native-token", bench.TokenExpired, "just-past", extra},
		{"stripe-v1-forgets-on-error", "stripe-v1", "native-token", bench.CommittedBeforeResponse, "provider-500", extra},
		{"stripe-v1-claim-left", "stripe-v1", "native-token", bench.ReceivedBeforeCommit, "provider-crash", open},
		{"tickets-stale-unbounded", "tickets-stale", "ledger", bench.CommittedBeforeResponse, "reset", extra},
		{"rows-unenforced", "rows-unique", "ledger", bench.CommittedBeforeResponse, "reset", extra},
		{"google-calendar-own-id-slips", "google-calendar-own-id", "ledger", bench.CommittedBeforeResponse, "reset", extra},
	} {
		t.Run(l.lying, func(t *testing.T) {
			if got := s.run(t, l.honest, l.system, l.at, l.variant).Judged; l.harm(got) != 0 {
				t.Errorf("honest: harm %d, expected none: %s", l.harm(got), got.Reason)
			}
			if got := s.run(t, l.lying, l.system, l.at, l.variant).Judged; l.harm(got) != 1 {
				t.Errorf("lying: harm %d, expected 1: %s", l.harm(got), got.Reason)
			}
		})
	}
}

// TestOneChangedEventShows changes one event of one stored history: the hash of its cell changes, and
// nothing else of the report does.
func TestOneChangedEventShows(t *testing.T) {
	dir := t.TempDir()
	run, err := runOnce(dir, 1, "--suite", "quick", "--workload", "append-line", "--boundary", "crash-restart", "--system", "blind")
	if err != nil {
		t.Fatal(err)
	}
	was, err := store.Open(run.file)
	if err != nil {
		t.Fatal(err)
	}
	defer was.Close()
	manifest, err := was.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	planned := storedPlan{}
	if err := was.Plan(&planned); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "changed.db")
	changed, err := store.Create(path, manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := changed.SetPlan(planned); err != nil {
		t.Fatal(err)
	}
	var at bench.Trial
	err = was.Each(context.Background(), true, func(rec bench.Record) error {
		if rec.Trial.System == "blind" && rec.Trial.Fault.Variant == "kill/committed" {
			at = rec.Trial
			last := &rec.History[len(rec.History)-1]
			last.Kind += ", or so it seems"
		}
		if err := changed.SaveEvidence(rec); err != nil {
			return err
		}
		return changed.SaveVerdict(rec.Trial.ID, rec.Judged)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := changed.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := reported(path, "--normalised")
	if err != nil {
		t.Fatal(err)
	}
	other, err := parsed(path, text)
	if err != nil {
		t.Fatal(err)
	}
	if at.ID == "" || len(other.Cells) != len(run.Cells) {
		t.Fatalf("changed trial %q, %d cells of %d", at.ID, len(other.Cells), len(run.Cells))
	}
	for i, c := range other.Cells {
		planted := c.System == at.System && c.Boundary == at.Fault.Boundary && c.Variant == at.Fault.Variant
		if differs := c.Histories != run.Cells[i].Histories; differs != planted {
			t.Errorf("%s at %s %s: its hash differs: %v, its history was changed: %v", c.System, c.Boundary, c.Variant, differs, planted)
		}
	}
}

// Under a contract that has an equal key wait, a retry of a call that is held would wait for ever: it lets the
// call go.
func TestRetryThatWaitsForItsKeyLetsTheFirstGo(t *testing.T) {
	spec, _, err := runOptions{suite: "full", workloads: []string{"run-task"}, contract: "ecs-run-task-waits", repeat: 1, seed: 1, parallel: 1}.spec()
	if err != nil {
		t.Fatal(err)
	}
	rec := newStand(t).cell(t, spec, "key-by-arguments", bench.TokenExpired, "just-past/commits-late")
	if !slices.ContainsFunc(rec.History, func(e bench.Event) bool { return e.Kind == "released" && e.Text == "a retry waits for it" }) {
		t.Error("the held call was let go for another reason")
	}
}

// A retention of ten years, let pass by the fault, is not the system's to wait: its back-off afterwards is heard out.
func TestWaitAfterALongRetention(t *testing.T) {
	spec, _, err := runOptions{suite: "full", workloads: []string{"order"}, contract: "increase-transfers", repeat: 1, seed: 1, parallel: 1}.spec()
	if err != nil {
		t.Fatal(err)
	}
	rec := newStand(t).cell(t, spec, "ledger", bench.TokenExpired, "just-inside")
	if rec.Judged.Verdict != bench.Exact || rec.Broke != nil {
		t.Errorf("verdict %v, the system broke off with %+v, expected exact", rec.Judged.Verdict, rec.Broke)
	}
}

// A crash that leaves the key in use bounds its class, so that core, which runs one cell of each truth, has it too.
func TestCoreHasTheCrashThatBoundsItsClass(t *testing.T) {
	for contract, want := range map[string]bool{"stripe-v1-claim-left": true, "stripe-v1": false} {
		spec, _, err := runOptions{suite: "core", workloads: []string{"refund"}, contract: contract, repeat: 1, seed: 1, parallel: 1}.spec()
		if err != nil {
			t.Fatal(err)
		}
		plan, err := bench.MakePlan(spec)
		if err != nil {
			t.Fatal(err)
		}
		has := slices.ContainsFunc(plan.Trials, func(tr bench.Trial) bool {
			return tr.Fault.Boundary == bench.ReceivedBeforeCommit && tr.Fault.Variant == "provider-crash"
		})
		if has != want {
			t.Errorf("core under %s has the provider's crash: %v, expected %v", contract, has, want)
		}
	}
}

// workloadOf is the workload that meets a contract that lies. Contracts that a workload of the suite keeps are met there.
var workloadOf = map[string]string{
	"rows-unenforced":            "unique-row",
	"stripe-v1-claim-left":       "refund-twice",
	"stripe-v1-failure-cached":   "refund-twice",
	"stripe-v1-forgets-early":    "refund-twice",
	"stripe-v1-forgets-on-error": "refund-twice",
	"stripe-v1-latest-only":      "refund-twice",
	"stripe-v1-shared-keys":      "payout-request-keys",
	"stripe-v1-unenforced":       "refund-twice",
	"tickets-stale-unbounded":    "ticket",
}

func lies(c bench.Contract) bool { return !reflect.DeepEqual(c.Advertised, c.Actual) }

// TestEveryLieIsMet: a contract that lies is one that a workload of the suite keeps, or one that a workload is put under.
func TestEveryLieIsMet(t *testing.T) {
	spec, _ := planOf(t, bench.SuiteFull)
	for _, c := range contracts.All {
		if !lies(c) {
			if workloadOf[c.Name] != "" {
				t.Errorf("%s does not lie, and a workload is put under it", c.Name)
			}
			continue
		}
		kept := slices.ContainsFunc(spec.Workloads, func(w bench.Workload) bool { return w.Provider.Contract == c.Name })
		if !kept && workloadOf[c.Name] == "" {
			t.Errorf("no workload meets %s: name one in workloadOf", c.Name)
		}
	}
	for name := range workloadOf {
		if _, ok := contracts.Find(name); !ok {
			t.Errorf("workloadOf names %s, which is no contract", name)
		}
	}
}
