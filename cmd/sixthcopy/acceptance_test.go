package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/results/report"
	"github.com/sixthcopy/sixthcopy/results/store"
)

// The acceptance tests run the program as a user does, on the whole suite, and read its report. The plan
// alone is tested in plan_test.go, what single policies must show in reference_test.go.

var update = flag.Bool("update", false, "write golden files and generated documents anew")

// finished is a run that has ended, with its report.
type finished struct {
	file string // of the run
	text []byte // normalised report, as printed
	report.Report
}

// runOnce runs `sixthcopy run` with more arguments in a folder, and reports it. It must end with a status.
func runOnce(dir string, wantStatus int, args ...string) (*finished, error) {
	file, err := runIn(dir, wantStatus, args...)
	if err != nil {
		return nil, err
	}
	text, err := reported(file, "--normalised")
	if err != nil {
		return nil, err
	}
	return parsed(file, text)
}

// runIn is runOnce without the report.
func runIn(dir string, wantStatus int, args ...string) (file string, err error) {
	file = filepath.Join(dir, "run.db")
	cmd := exec.Command("sixthcopy", append([]string{"run", "--out", file}, args...)...)
	cmd.Dir = dir // no systems folder
	said, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		return "", err
	}
	if got := cmd.ProcessState.ExitCode(); got != wantStatus {
		return "", fmt.Errorf("sixthcopy run %s: exit status %d, expected %d:\n%s", strings.Join(args, " "), got, wantStatus, tail(said))
	}
	return file, nil
}

// parsed reads a printed report.
func parsed(file string, text []byte) (*finished, error) {
	f := &finished{file: file, text: text}
	return f, json.Unmarshal(text, &f.Report)
}

// reported is the report of a run's file.
func reported(file string, more ...string) ([]byte, error) {
	var out, errw bytes.Buffer
	args := append([]string{"report", file, "--format", "json"}, more...)
	if got := sixthcopy(context.Background(), args, nil, &out, &errw); got != 0 {
		return nil, fmt.Errorf("sixthcopy report: exit status %d: %s", got, errw.String())
	}
	return out.Bytes(), nil
}

// tail is the end of what a program said.
func tail(said []byte) []byte {
	const most = 6000
	return said[max(0, len(said)-most):]
}

// coreRun is the core suite on all policies, which the tests share.
var (
	coreRun = sync.OnceValues(func() (*finished, error) {
		dir, err := sharedFolder()
		if err != nil {
			return nil, err
		}
		return runOnce(dir, 0, "--suite", "core", "--seed", "1")
	})
	sharedFolders []string
)

// sharedFolder makes a folder for a run that tests share; TestMain removes it.
func sharedFolder() (string, error) {
	dir, err := os.MkdirTemp("", "sixthcopy-shared-")
	if err == nil {
		sharedFolders = append(sharedFolders, dir)
	}
	return dir, err
}

// core returns the shared core run.
func core(t *testing.T) *finished {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the core suite: left out with -short")
	}
	f, err := coreRun()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// checkRun wants of a run what every run must be: all trials valid, controls as known, every class whole,
// the reference at its bound, and no bound beaten.
func checkRun(t *testing.T, r *finished) {
	t.Helper()
	if r.Run.Trials != r.Run.Planned || r.Run.Trials == 0 {
		t.Errorf("%d trials of %d planned", r.Run.Trials, r.Run.Planned)
	}
	if !r.ControlsOK {
		t.Errorf("controls are not as known: %+v", r.Controls)
	}
	for _, c := range r.Cells {
		if c.Invalid+c.Unjudged > 0 {
			t.Errorf("%s, %s, %s %s: %d invalid and %d unjudged trials %v (sixthcopy show %s)", c.System, c.Workload, c.Boundary, c.Variant,
				c.Invalid, c.Unjudged, c.InvalidReasons, c.Trial)
		}
	}
	ledger := 0
	for _, c := range r.Classes {
		switch {
		case c.Regret == nil:
			t.Errorf("%s, class %s: not whole, so there is no regret", c.System, c.Class)
		case *c.Regret < 0:
			t.Errorf("%s, class %s: mark %s beats the bound %s: the bound is wrong, or a member is missing", c.System, c.Class, c.Mark, c.Bound)
		case c.System == "ledger":
			ledger++
			if *c.Regret != 0 && c.LedgerOwes {
				t.Errorf("ledger, class %s: mark %s misses the bound %s", c.Class, c.Mark, c.Bound)
			}
		}
	}
	if ledger == 0 {
		t.Error("the ledger has no class")
	}
}

// strayHistories is how many of the more than 12,000 cells of two core runs may differ in their history. On a
// machine under load 1 was seen to, by a word of a client's about a connection that ended; it is named when
// it happens. Verdicts, counts and everything else must be the same, byte for byte.
const strayHistories = 2

// TestCore runs the core suite on all policies twice: whole, at its bounds, and twice the same.
func TestCore(t *testing.T) {
	first := core(t)
	checkRun(t, first)
	second, err := runOnce(t.TempDir(), 0, "--suite", "core", "--seed", "1")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(first.text, second.text) {
		return
	}
	if n := onlyHistories(first, second); n > 0 && n <= strayHistories {
		t.Logf("two runs of one seed differ in %d histories:\n%s", n, differences(t, first, second))
		return
	}
	t.Errorf("two runs of one seed differ:\n%s", differences(t, first, second))
}

// onlyHistories is the number of cells that differ between two runs in their histories, where nothing else
// differs; -1: something else does.
func onlyHistories(a, b *finished) int {
	if len(a.Cells) != len(b.Cells) {
		return -1
	}
	n := 0
	one, other := a.Report, b.Report
	one.Cells, other.Cells = slices.Clone(a.Cells), slices.Clone(b.Cells)
	for i := range one.Cells {
		if one.Cells[i].Histories != other.Cells[i].Histories {
			n++
		}
		one.Cells[i].Histories, other.Cells[i].Histories = "", ""
	}
	left, errLeft := json.Marshal(one)
	right, errRight := json.Marshal(other)
	if errLeft != nil || errRight != nil || !bytes.Equal(left, right) {
		return -1
	}
	return n
}

// differences counts the cells in which two runs differ, by boundary and variant, and shows the first, with
// the lines of its normalised history that only one of them has.
func differences(t *testing.T, a, b *finished) string {
	t.Helper()
	if len(a.Cells) != len(b.Cells) {
		return fmt.Sprintf("%d and %d cells", len(a.Cells), len(b.Cells))
	}
	first, places := "not in their cells", map[string]int{}
	for i, c := range a.Cells {
		one, _ := json.Marshal(c) // what was read from JSON can be written as JSON
		other, _ := json.Marshal(b.Cells[i])
		if bytes.Equal(one, other) {
			continue
		}
		if len(places) == 0 {
			first = strings.Join([]string{string(one), string(other), "in the one:", without(t, a, b, c.Trial), "in the other:", without(t, b, a, c.Trial)}, "\n")
		}
		places[string(c.Boundary)+" "+c.Variant]++
	}
	var out []string
	for _, place := range slices.Sorted(maps.Keys(places)) {
		out = append(out, fmt.Sprintf("%s: %d cells", place, places[place]))
	}
	return strings.Join(append(out, first), "\n")
}

// without are the lines of a trial's normalised history in one run that it has not in another.
func without(t *testing.T, in, out *finished, trial string) string {
	t.Helper()
	lines := func(f *finished) []string {
		s, err := store.Open(f.file)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		rec, err := s.Trial(trial)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(string(report.Normalise(rec.History)), "\n")
	}
	others := lines(out)
	return strings.Join(slices.DeleteFunc(lines(in), func(l string) bool { return slices.Contains(others, l) }), "\n")
}

// TestFull runs every variant on three policies, and on the controls that run beside them.
func TestFull(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the full suite: left out with -short")
	}
	// Status 1: blind is named and has violations.
	full, err := runOnce(t.TempDir(), 1, "--suite", "full", "--seed", "1", "--system", "blind", "--system", "never", "--system", "ledger")
	if err != nil {
		t.Fatal(err)
	}
	checkRun(t, full)
	for _, system := range []string{"blind", "never", "ledger"} {
		if !slices.ContainsFunc(full.Cells, func(c report.Cell) bool { return c.System == system }) {
			t.Errorf("%s has no cell", system)
		}
	}
}

// worstOf is the worst verdict of cells: exact, safe or violation; "" of none.
func worstOf(cells []report.Cell) bench.Mark {
	var worst bench.Mark
	for _, c := range cells {
		switch {
		case c.Violation > 0:
			worst = bench.Worst(worst, bench.MarkViolation)
		case c.Safe > 0:
			worst = bench.Worst(worst, bench.MarkSafe)
		case c.Exact > 0:
			worst = bench.Worst(worst, bench.MarkExact)
		}
	}
	return worst
}

// only returns the cells that fit.
func (f *finished) only(fits func(report.Cell) bool) []report.Cell {
	var out []report.Cell
	for _, c := range f.Cells {
		if fits(c) {
			out = append(out, c)
		}
	}
	return out
}

func TestOnlyHistories(t *testing.T) {
	run := func(histories string, extra int) *finished {
		return &finished{Report: report.Report{Cells: []report.Cell{{System: "blind", Histories: histories, Extra: extra}}}}
	}
	for _, c := range []struct {
		name string
		b    *finished
		want int
	}{
		{"the same", run("h1", 1), 0},
		{"another history", run("h2", 1), 1},
		{"another count", run("h1", 2), -1},
		{"another history and count", run("h2", 2), -1},
	} {
		if got := onlyHistories(run("h1", 1), c.b); got != c.want {
			t.Errorf("%s: got %d, expected %d", c.name, got, c.want)
		}
	}
}
