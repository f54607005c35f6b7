package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
	"github.com/sixthcopy/sixthcopy/fakeproviders/tools"
	"github.com/sixthcopy/sixthcopy/faults"
	"github.com/sixthcopy/sixthcopy/results/report"
	"github.com/sixthcopy/sixthcopy/systems"
	"github.com/sixthcopy/sixthcopy/workloads"
)

// plainNote is a workload over plain JSON, which a system can speak without a library.
const plainNote = `name: plain-note
summary: One line at the end of a document, over plain JSON.
provider: {kind: lines, contract: lines-no-key}
tools: {append_line: {transport: json}}
turns:
  - say: Add that 2.4.1 mends the login.
    intents:
      - id: line
        call: {tool: append_line, args: {document: release-notes, text: "2.4.1: login mended"}}
        effects: [{class: line, match: {document: release-notes, text: "2.4.1: login mended"}}]
outcomes: [all]
`

// hall is a world with a runner, in which planned trials are run.
type hall struct {
	runner *bench.Runner
	stop   func() error
	plan   bench.Plan
	chosen map[string]bench.System
}

// raiseHall plans the quick suite of plainNote for the systems.
func raiseHall(t *testing.T, all []bench.System, boundaries ...bench.Boundary) *hall {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plain-note.yaml")
	if err := os.WriteFile(file, []byte(plainNote), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := workloads.LoadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	h := &hall{chosen: map[string]bench.System{}}
	spec := bench.PlanSpec{Suite: bench.SuiteQuick, Workloads: []bench.Workload{w}, Contracts: map[string]bench.Contract{}, Faults: faults.All(),
		Tools: tools.Catalogue(), Boundaries: boundaries, Repeat: 1, Seed: 1}
	for _, c := range contracts.All {
		spec.Contracts[c.Name] = c
	}
	for _, s := range all {
		h.chosen[s.Name()] = s
		facts := bench.SystemFacts{Name: s.Name(), Kind: s.Kind(), Clock: s.Clock()}
		facts.Providers, facts.Tools = s.Calls()
		for _, a := range abilities {
			if s.Can(a) {
				facts.Can = append(facts.Can, a)
			}
		}
		spec.Systems = append(spec.Systems, facts)
	}
	if h.plan, err = bench.MakePlan(spec); err != nil {
		t.Fatal(err)
	}
	world, stop, err := world()
	if err != nil {
		t.Fatal(err)
	}
	h.stop = stop
	h.runner = &bench.Runner{World: world, Dir: t.TempDir(), Deadline: trialDeadline, Replicas: 2}
	return h
}

// run runs all trials and takes the hall down; nothing may be left of it.
func (h *hall) run(t *testing.T) map[string]bench.Record {
	t.Helper()
	records := map[string]bench.Record{}
	err := h.runner.RunAll(t.Context(), h.plan.Trials, h.chosen, 16, func(rec bench.Record) error {
		rec.Judged = bench.Judge(rec.Evidence)
		records[rec.Trial.ID] = rec
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, late, err := h.runner.Late(t.Context()); late != 0 || err != nil {
		t.Errorf("%d late effects, %v", late, err)
	}
	if err := errors.Join(closeAll(h.chosen), h.stop()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(h.runner.Dir); len(left) > 0 || err != nil {
		t.Errorf("the folder of the trials holds %v, %v", left, err)
	}
	return records
}

// holdings are the children and open files of this process, sockets among them.
func holdings(t *testing.T) (children []string, files int) {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		if text, err := os.ReadFile(list); err == nil { // a thread may end meanwhile
			children = append(children, strings.Fields(string(text))...)
		}
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return children, len(open)
}

func wildSystems(t *testing.T, names []string) []bench.System {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range names {
		if err := writeSystem(dir, name, exe); err != nil {
			t.Fatal(err)
		}
	}
	manifests, err := systems.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []bench.System
	for _, m := range manifests {
		more, err := m.Systems()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, more...)
	}
	return all
}

func reference(t *testing.T, name string) bench.System {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range systems.Reference(exe) {
		if s.Name() == name {
			return s
		}
	}
	t.Fatalf("there is no policy %s", name)
	return nil
}

// Systems that misbehave end their own trials, each with its reason. They are judged by what exists and
// what they said, leave nothing behind, and change nothing for their neighbour.
func TestMisbehavingSystems(t *testing.T) {
	if err := systems.Subreap(); err != nil {
		t.Skip(err)
	}
	boundaries := []bench.Boundary{bench.CommittedBeforeResponse, bench.DuringCancellation, bench.TimeoutBeforeCompletion, bench.CrashRestart}
	alone := raiseHall(t, []bench.System{reference(t, "ledger")}, boundaries...).run(t)
	if len(alone) < 6 {
		t.Fatalf("%d trials of the ledger, expected more", len(alone))
	}
	before, files := holdings(t) // orphans of what other tests ran have become ours since Subreap

	names := slices.Sorted(maps.Keys(misbehaviours))
	h := raiseHall(t, append(wildSystems(t, names), reference(t, "ledger")), boundaries...)
	everywhere := []string{"ledger", "exits-late", "claims-twice", "never-claims"} // the others at fewer places
	h.plan.Trials = slices.DeleteFunc(h.plan.Trials, func(t bench.Trial) bool {
		calm := t.Fault.Boundary == bench.NoFault || t.Fault.Boundary == bench.CrashRestart && t.Fault.Truth == bench.TruthCommitted
		return !calm && !slices.Contains(everywhere, t.System)
	})
	records := h.run(t)
	left, now := holdings(t)
	for _, pid := range left {
		if slices.Contains(before, pid) {
			continue
		}
		command, _ := os.ReadFile("/proc/" + pid + "/cmdline") // it may end meanwhile
		t.Errorf("child %s is left: %q", pid, command)
	}
	for end := time.Now().Add(10 * time.Second); now > files && time.Now().Before(end); runtime.Gosched() {
		_, now = holdings(t) // what is closed on another goroutine
	}
	if now > files {
		t.Errorf("%d files and sockets are open, %d were before", now, files)
	}

	reasons := map[string]map[string]int{}
	for id, rec := range records {
		system := rec.Trial.System
		if system == "ledger" {
			if !bytes.Equal(report.Normalise(rec.History), report.Normalise(alone[id].History)) || rec.Judged.Reason != alone[id].Judged.Reason {
				t.Errorf("trial %s of the ledger, %s, is not as without its neighbours:\n%s\n%s", id, rec.Trial.Fault.Variant, rec.Judged.Reason, alone[id].Judged.Reason)
			}
			continue
		}
		name := fmt.Sprintf("%s, %s %s", system, rec.Trial.Fault.Boundary, rec.Trial.Fault.Variant)
		switch rec.Judged.Verdict {
		case bench.Invalid, bench.Unjudged:
			t.Errorf("%s: %s %s", name, rec.Judged.Reason, rec.Evidence.Strike.Harness)
		case bench.Exact, bench.Safe, bench.Violation:
		}
		reason := ""
		if rec.Broke != nil {
			reason = rec.Broke.Reason
			if rec.Broke.Detail == "" || rec.Broke.System != system {
				t.Errorf("%s: ended by %+v", name, rec.Broke)
			}
		}
		if rec.Trial.Fault.Boundary == bench.NoFault {
			if want := misbehaviours[system]; reason != want {
				t.Errorf("%s: ended with %q (%v), expected %q", name, reason, rec.Broke, want)
			}
		}
		if reasons[system] == nil {
			reasons[system] = map[string]int{}
		}
		reasons[system][reason]++

	}
	if len(reasons) != len(misbehaviours) {
		t.Errorf("%d systems had trials, expected %d", len(reasons), len(misbehaviours))
	}
}

// A system that breaks off, and a trial whose evidence was destroyed, through the command line: the first
// is a result with a reason, the second proves nothing and is told apart.
func TestBrokenOffAndInvalidTrialsAreTold(t *testing.T) {
	p := newPlace(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(writeSystem(filepath.Join(p.dir, "more systems"), "strange-call", exe),
		writeSystem(filepath.Join(p.dir, "more systems"), "spoils", exe)); err != nil {
		t.Fatal(err)
	}
	run := func(status int, args ...string) (stdout, stderr string) {
		t.Helper()
		b := p.begin(t, quoted(append([]string{"./sixthcopy"}, args...)))
		b.end(t, status)
		return b.out.String(), b.err.String()
	}
	few := []string{"run", "--systems", "more systems", "--workload", "plain note.yaml", "--boundary", "committed-before-response"}

	out, said := run(3, append(few, "--system", "strange-call", "--out", "strange.db")...)
	row := regexp.MustCompile(`(?m)^ +\d+  strange-call  broke the contract  (\w+)\n +claim on turn "t1" call 7: no such call was handed over$`).FindStringSubmatch(out)
	if row == nil {
		t.Fatalf("the report does not name the reason:\n%s", out)
	}
	for _, want := range []string{": strange-call broke off in ", " of them without a fault: it broke the contract: claim on turn \"t1\" call 7: no such call was handed over\n",
		"hint: sixthcopy show " + row[1] + " --run strange.db tells the first of them\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("the end lacks %q:\n%s", want, said)
		}
	}
	out, _ = run(0, "show", row[1], "--run", "strange.db")
	for _, want := range []string{"\nended   the system broke the contract: claim on turn \"t1\" call 7: no such call\n        was handed over\n",
		"\nwhat was there in the end\n  nothing\n", "unresolved: silent"} {
		if !strings.Contains(out, want) {
			t.Errorf("show lacks %q:\n%s", want, out)
		}
	}
	out, _ = run(0, "report", "strange.db", "--format", "json")
	if !strings.Contains(out, `"broke the contract": 1`) {
		t.Error("the JSON report does not name the reason")
	}

	out, said = run(3, append(few, "--system", "spoils", "--out", "spoils.db")...)
	if !strings.Contains(out, "\nInvalid trials, which prove nothing and blame no system:\n") || !strings.Contains(out, "harness error: oracle of lines: ") {
		t.Errorf("the report does not say why trials are invalid:\n%s", out)
	}
	row = regexp.MustCompile(`trials are invalid or unjudged: they prove nothing\n.*hint: sixthcopy show (\w+) --run spoils.db tells the first`).FindStringSubmatch(said)
	if row == nil {
		t.Fatalf("the end does not name a trial:\n%s", said)
	}
	if out, _ = run(0, "show", row[1], "--run", "spoils.db"); !strings.Contains(out, "\nverdict invalid (harness error): ") {
		t.Errorf("show:\n%s", out)
	}
}

// An effect that comes after a trial was reported over is found when its state is read again.
func TestLateEffectsAreFound(t *testing.T) {
	for _, late := range []int{0, 1} {
		h := raiseHall(t, []bench.System{reference(t, "never")}, bench.CommittedBeforeResponse)
		oracle := &lateOracle{Oracle: h.runner.World.Oracles["lines"]}
		h.runner.World.Oracles["lines"] = oracle
		trials := make([]bench.Trial, 101)
		for i := range trials {
			trials[i] = h.plan.Trials[0]
			trials[i].ID = fmt.Sprint(i)
		}
		err := h.runner.RunAll(t.Context(), trials, h.chosen, 4, func(bench.Record) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		oracle.late = late
		read, found, err := h.runner.Late(t.Context())
		if read != 2 || found != 2*late || err != nil {
			t.Errorf("%d trials read again, %d late effects, %v; expected 2, %d", read, found, err, 2*late)
		}
		if err := errors.Join(closeAll(h.chosen), h.stop()); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(h.runner.Dir); len(left) > 0 || err != nil {
			t.Errorf("the folder of the trials holds %v, %v", left, err)
		}
	}
}

// lateOracle reads effects that have come in the meantime.
type lateOracle struct {
	bench.Oracle
	late int
}

func (o *lateOracle) Read(ctx context.Context, dir string) ([]bench.Effect, error) {
	effects, err := o.Oracle.Read(ctx, dir)
	for range o.late {
		effects = append(effects, bench.Effect{Object: "late", Class: "line"})
	}
	return effects, err
}
