// Package cell puts cells of the benchmark into a team's own unit tests: one system, one workload, one
// boundary. A test fails with the story of the trial that came out worse than it may.
//
//	func TestMain(m *testing.M) {
//		cell.Adapter("mine", kit.Adapter{Call: ...}) // the code under test, in this very binary
//		os.Exit(m.Run())
//	}
//
//	func TestALostAnswerMakesNoSecondRefund(t *testing.T) {
//		cell.Run(t, cell.Cell{System: "mine", Workload: "refund", Boundary: "response-at-tool-server"})
//	}
//
// The fixture sixthcopy_cell of the Python kit does the same under the same names.
package cell

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sixthcopy/sixthcopy/systems/kit"
)

// Cell names what to run.
type Cell struct {
	System   string // folder of a system.yaml, or the name of an Adapter of this test binary
	Workload string // name of one of the suite, or a file
	Boundary string // by name; `sixthcopy list boundaries`
	Variant  string // of the system; empty: all that its manifest has
	Worst    string // verdict that may come out, "exact" or "safe"; empty: safe
}

// Row is how the system came out in one variant of the boundary.
type Row struct {
	System, Workload, Boundary, Variant string

	Exact, Safe, Violation, Invalid, Unjudged int    // trials
	Trial                                     string // the first one, for sixthcopy show
}

// verdicts from the best to the worst.
var verdicts = []string{"exact", "safe", "violation"}

func (r Row) count(verdict string) int {
	return map[string]int{"exact": r.Exact, "safe": r.Safe, "violation": r.Violation}[verdict]
}

// adapterArg is the first argument of a test binary that is to be an adapter.
const adapterArg = "sixthcopy-adapter"

// adapters are those of this test binary.
var adapters = map[string]kit.Adapter{}

// Adapter makes an adapter a system that Run knows by name. It is called in TestMain, before anything else: in
// a process that the harness started to be that system it does not return.
func Adapter(name string, a kit.Adapter) {
	if len(os.Args) == 3 && os.Args[1] == adapterArg && os.Args[2] == name {
		os.Exit(kit.Main(a, os.Stdin, os.Stdout, os.Stderr))
	}
	adapters[name] = a
}

// Run runs a cell and returns its rows. It fails the test unless every trial is proof, and none came out worse
// than it may.
func Run(t testing.TB, c Cell) []Row {
	t.Helper()
	worst := c.Worst
	if worst == "" {
		worst = "safe"
	}
	if at := slices.Index(verdicts, worst); at < 0 || at > 1 {
		t.Fatalf("Cell.Worst is %q, expected exact or safe", c.Worst)
	}
	program, err := program()
	if err != nil {
		t.Fatal(err)
	}
	home, err := c.home(t)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "sixthcopy-cell-")
	if err != nil {
		t.Fatalf("folder of the run: %v", err)
	}
	t.Cleanup(func() {
		if _, err := os.Stat(filepath.Join(dir, "run.db")); err != nil || !t.Failed() { // else it is there to be looked at
			_ = os.RemoveAll(dir)
		}
	})
	s := shell{t, program}
	names, err := s.systems(home, c.Variant)
	if err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run.db")
	args := []string{"run", "--systems", filepath.Dir(home), "--workload", c.Workload, "--boundary", c.Boundary, "--out", run}
	for _, name := range names {
		args = append(args, "--system", name)
	}
	_, said := s.do(args...)
	if _, err := os.Stat(run); err != nil {
		t.Fatalf("sixthcopy did not run:\n%s", said)
	}
	rows, reasons, err := s.rows(run, names, c.Boundary)
	switch {
	case err != nil:
		t.Fatalf("%v\n%s", err, said)
	case len(rows) == 0:
		t.Fatalf("%s has no cell with %s: %s", c.Boundary, c.Workload, reasons)
	}
	for _, r := range rows {
		if r.Invalid+r.Unjudged > 0 {
			t.Fatal(s.story("a trial that is no proof", r, run))
		}
	}
	for i := len(verdicts) - 1; verdicts[i] != worst; i-- {
		for _, r := range rows {
			if r.count(verdicts[i]) > 0 {
				t.Fatal(s.story(verdicts[i]+", expected "+worst+" at worst", r, run))
			}
		}
	}
	return rows
}

// home is the folder of the cell's system. An adapter of this binary gets one.
func (c Cell) home(t testing.TB) (string, error) {
	a, known := adapters[c.System]
	if !known {
		if _, err := os.Stat(filepath.Join(c.System, "system.yaml")); err != nil {
			return "", fmt.Errorf("Cell.System is %q: %w; expected the folder of a system.yaml, or the name of an adapter that TestMain gave to cell.Adapter", c.System, err)
		}
		return filepath.Abs(c.System)
	}
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("path of this test binary: %w", err)
	}
	dir := filepath.Join(t.TempDir(), c.System)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fmt.Errorf("folder of the system: %w", err)
	}
	return dir, os.WriteFile(filepath.Join(dir, "system.yaml"), manifest(a, exe, c.System), 0o644)
}

// manifest is the system.yaml of an adapter that is a test binary. JSON is YAML.
func manifest(a kit.Adapter, exe, name string) []byte {
	can := a.Abilities()
	knobs := []string{}
	for _, k := range [][2]string{{"timeout", "call_timeout_ms"}, {"at", "events"}} {
		if slices.Contains(can, k[0]) {
			knobs = append(knobs, k[1])
		}
	}
	m := map[string]any{
		"kind": "client", "summary": "An adapter in a test binary.", "clock": "protocol", "idle": "probe", "after_kill": "redeliver",
		"can": can, "roles": []any{map[string]any{"name": "front", "command": []string{exe, adapterArg, name}}},
	}
	if len(knobs) > 0 {
		m["knobs"] = knobs
	}
	text, _ := json.MarshalIndent(m, "", "  ") // of strings only
	return text
}

// program is where sixthcopy is: the variable SIXTHCOPY, else PATH, else built from the version in go.mod.
var program = sync.OnceValues(func() (string, error) {
	if named := os.Getenv("SIXTHCOPY"); named != "" {
		return named, nil
	}
	if found, err := exec.LookPath("sixthcopy"); err == nil {
		return found, nil
	}
	const module = "github.com/sixthcopy/sixthcopy"
	at, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil || len(bytes.TrimSpace(at)) == 0 {
		return "", fmt.Errorf("sixthcopy is not in PATH, and no module %s to build it from (%v): put it there, or name it in the variable SIXTHCOPY", module, err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("folder for the program: %w", err)
	}
	built := filepath.Join(cache, "sixthcopy", "cell", "sixthcopy")
	out, err := exec.Command("go", "build", "-C", string(bytes.TrimSpace(at)), "-o", built, "./cmd/sixthcopy").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build of sixthcopy: %w\n%s", err, out)
	}
	return built, nil
})

// shell runs the program.
type shell struct {
	t       testing.TB
	program string
}

func (s shell) do(args ...string) (out, errs string) {
	cmd := exec.CommandContext(s.t.Context(), s.program, args...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run() // a violation ends it with 1: the report says more
	if err != nil && e.Len() == 0 {
		fmt.Fprintln(&e, err)
	}
	return o.String(), e.String()
}

// systems are the systems of a folder, as `list` tells them.
func (s shell) systems(home, variant string) ([]string, error) {
	base := filepath.Base(home)
	if variant != "" {
		return []string{base + "/" + variant}, nil
	}
	out, said := s.do("list", "systems", "--systems", filepath.Dir(home), "--format", "json")
	var all []struct{ Name string }
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		return nil, fmt.Errorf("systems of %s: %s", home, said)
	}
	var names []string
	for _, one := range all {
		if first, _, _ := strings.Cut(one.Name, "/"); first == base {
			names = append(names, one.Name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no system: it holds no system.yaml", home)
	}
	return names, nil
}

// rows are those of the systems at a boundary, or why there is none.
func (s shell) rows(run string, names []string, boundary string) (rows []Row, reasons string, err error) {
	out, said := s.do("report", run, "--format", "json")
	var report struct {
		Cells         []Row
		NotApplicable []struct{ Boundary, Reason string } `json:"not_applicable"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		return nil, "", fmt.Errorf("report of %s: %w: %s", run, err, said)
	}
	var why []string
	for _, n := range report.NotApplicable {
		if n.Boundary == boundary && !slices.Contains(why, n.Reason) {
			why = append(why, n.Reason)
		}
	}
	for _, r := range report.Cells {
		if r.Boundary == boundary && slices.Contains(names, r.System) {
			rows = append(rows, r)
		}
	}
	return rows, strings.Join(why, "; "), nil
}

// story is what a failed test prints: the cell, the history of a trial of it, and the command that tells it again.
func (s shell) story(what string, r Row, run string) string {
	told, _ := s.do("show", r.Trial, "--run", run)
	return fmt.Sprintf("%s: %s, %s, %s %s\n\n%s\nagain: sixthcopy show %s --run %s", what, r.System, r.Workload, r.Boundary, r.Variant, told, r.Trial, run)
}
