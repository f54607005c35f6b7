package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sixthcopy/sixthcopy/results/report"
)

// finding is a command of docs/findings.md, and what its run's cells must say.
type finding struct {
	args  []string
	cells []string
}

var cellLine = regexp.MustCompile(`^(\S+), (\S+), (\S+) (\S+): (exact|safe|violation)((?:, [a-z ]+ \d+)*)$`)

// findings reads the page's blocks: a command line, then cells.
func findings(t *testing.T) []finding {
	t.Helper()
	text, err := os.ReadFile("../../docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []finding
	in := false
	for n, line := range strings.Split(string(text), "\n") {
		command, isCommand := strings.CutPrefix(line, "$ sixthcopy ")
		switch {
		case strings.HasPrefix(line, "```"):
			in = !in
		case in && isCommand:
			all = append(all, finding{args: strings.Fields(command)})
		case in && len(all) > 0 && cellLine.MatchString(line):
			all[len(all)-1].cells = append(all[len(all)-1].cells, line)
		case in:
			t.Fatalf("docs/findings.md:%d: %q is neither a command nor a cell (SYSTEM, WORKLOAD, BOUNDARY VARIANT: VERDICT, figure n)", n+1, line)
		}
	}
	return all
}

// TestFindings runs every command of docs/findings.md and compares what the page says of its cells.
func TestFindings(t *testing.T) {
	all := findings(t)
	if len(all) == 0 {
		t.Fatal("docs/findings.md has no commands")
	}
	for _, f := range all {
		t.Run(strings.Join(f.args[1:min(3, len(f.args))], " "), func(t *testing.T) {
			if f.args[0] != "run" || len(f.cells) == 0 {
				t.Fatalf("%q is no run with cells behind it", f.args)
			}
			out := filepath.Join(t.TempDir(), "run.db")
			status, _, errs := cli(t, append(f.args, "--systems", "../../systems", "--out", out)...)
			if status == int(misused) && strings.Contains(errs, "sixthcopy setup") {
				t.Skip(strings.Join(strings.Fields(errs), " "))
			}
			if status > int(violated) {
				t.Fatalf("status %d: %s", status, errs)
			}
			r := reportOf(t, out)
			for _, line := range f.cells {
				holdsCell(t, r, line)
			}
		})
	}
}

// holdsCell compares a line of the page with its cell.
func holdsCell(t *testing.T, r report.Report, line string) {
	t.Helper()
	m := cellLine.FindStringSubmatch(line)
	for _, c := range r.Cells {
		if c.System != m[1] || c.Workload != m[2] || string(c.Boundary) != m[3] || c.Variant != m[4] {
			continue
		}
		if c.Worst() != m[5] {
			t.Errorf("%s\n\tcame out as %s (sixthcopy show %s)", line, c.Worst(), c.Trial)
		}
		figures := map[string]int{"extra": c.Extra, "missing": c.Missing, "false dedup": c.FalseDedup, "unresolved": c.Unresolved, "attempts": c.Attempts}
		for name, n := range c.Findings {
			figures[strings.ReplaceAll(name, "_", " ")] = n
		}
		for _, figure := range strings.Split(m[6], ", ")[1:] {
			name, number, _ := cutLast(figure)
			if want, err := strconv.Atoi(number); err != nil || figures[name] != want {
				t.Errorf("%s\n\t%s came out as %d", line, name, figures[name])
			}
		}
		return
	}
	t.Errorf("%s\n\tis no cell of the run", line)
}

// cutLast cuts s at its last space.
func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, ' ')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
