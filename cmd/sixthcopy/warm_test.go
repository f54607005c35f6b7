package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/results/report"
	"github.com/sixthcopy/sixthcopy/systems"
)

// TestWarmAndColdStartsAgree: a system whose processes are forked comes out in every cell as one whose processes are
// started one by one. All of core is TestDeepWarmAndColdStartsAgree.
func TestWarmAndColdStartsAgree(t *testing.T) {
	warmAndColdAgree(t, []string{"tenacity/tuned", "requests/retrying"}, "refund-twice")
}

// lines of a manifest that a copy of it has no use for: it is set up already.
var setUpLines = regexp.MustCompile(`(?m)^(needs|setup|made_from):.*\n`)

func warmAndColdAgree(t *testing.T, names []string, workloads ...string) {
	dir := t.TempDir()
	var args []string
	for _, name := range names {
		folder, variant, _ := strings.Cut(name, "/")
		home, err := filepath.Abs(filepath.Join("..", "..", "systems", folder))
		if err != nil {
			t.Fatal(err)
		}
		all, err := systems.Load(filepath.Dir(home))
		if err != nil {
			t.Fatal(err)
		}
		m := all[slices.IndexFunc(all, func(m systems.Manifest) bool { return m.Name == folder })]
		if state, err := m.Readiness(); err != nil || !state.Ready() {
			t.Skipf("%s is not set up (%v): sixthcopy setup %s", folder, state, folder)
		}
		text, err := os.ReadFile(m.File)
		if err != nil {
			t.Fatal(err)
		}
		if !m.Roles[0].Warm {
			t.Fatalf("%s does not start warm", folder)
		}
		warm := setUpLines.ReplaceAllString(string(text), "")
		for start, text := range map[string]string{"warm": warm, "cold": strings.Replace(warm, "    warm: true\n", "", 1)} {
			copied := filepath.Join(dir, folder+"-"+start)
			if err := os.Mkdir(copied, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{"adapter.py", ".venv"} {
				if err := os.Symlink(filepath.Join(home, file), filepath.Join(copied, file)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(copied, "system.yaml"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			args = append(args, "--system", folder+"-"+start+"/"+variant)
		}
	}
	for _, w := range workloads {
		args = append(args, "--workload", w)
	}
	out := filepath.Join(dir, "run.db")
	args = append([]string{"run", "--suite", "core", "--parallel", "2", "--systems", dir, "--out", out}, args...)
	if status, _, errs := cli(t, args...); status > int(violated) {
		t.Fatalf("status %d: %s", status, errs)
	}
	r := reportOf(t, out)
	type cell struct {
		name, workload, variant string
		boundary                bench.Boundary
	}
	cells := map[cell][2]string{}
	for _, c := range r.Cells {
		for i, start := range []string{"-cold/", "-warm/"} {
			if name, variant, found := strings.Cut(c.System, start); found {
				at := cell{name + "/" + variant, c.Workload, c.Variant, c.Boundary}
				both := cells[at]
				both[i] = fmt.Sprintf("exact %d, safe %d, violation %d, invalid %d, extra %d, missing %d, unresolved %d, attempts %v", c.Exact, c.Safe, c.Violation, c.Invalid, c.Extra, c.Missing, c.Unresolved, c.Attempts)
				cells[at] = both
			}
		}
	}
	if len(cells) < 50*len(names) {
		t.Errorf("%d cells were compared, expected more", len(cells))
	}
	for at, both := range cells {
		if both[0] != both[1] {
			t.Errorf("%v:\ncold %s\nwarm %s", at, both[0], both[1])
		}
	}
	t.Logf("%d cells of %s came out alike", len(cells), strings.Join(names, ", "))
}

// reportOf reads the report of a stored run.
func reportOf(t *testing.T, file string) (r report.Report) {
	t.Helper()
	status, text, errs := cli(t, "report", file, "--format", "json")
	if status != 0 {
		t.Fatalf("report: status %d: %s", status, errs)
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return r
}
