package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/results/report"
)

// clientWorkloads are those of docs/clients.md: systems with tools run all of them, an SDK those of its provider.
var clientWorkloads = []string{"look-then-refund", "refund", "run-task", "issue", "appointment"}

// TestClients runs every retry layer and SDK in systems/ through the quick suite and compares what came of it with
// docs/clients.md.
func TestClients(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of trials: run it without -short")
	}
	known, err := knownSystems("../../systems")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "run.db")
	args := []string{"run", "--suite", "quick", "--systems", "../../systems", "--out", out, "--parallel", "4"}
	var names []string
	for _, s := range known {
		if s.Kind() == "client" {
			names = append(names, s.Name())
			args = append(args, "--system", s.Name())
		}
	}
	for _, w := range clientWorkloads {
		args = append(args, "--workload", w)
	}
	status, _, errs := cli(t, args...)
	if status == int(misused) && strings.Contains(errs, "sixthcopy setup") {
		t.Skip(strings.Join(strings.Fields(errs), " "))
	}
	if status > int(violated) {
		t.Fatalf("status %d: %s", status, errs)
	}
	r := reportOf(t, out)
	same(t, "../../docs/clients.md", clientsPage(r, names))
}

// clientsPage is docs/clients.md.
func clientsPage(r report.Report, names []string) string {
	var b strings.Builder
	b.WriteString(`# Retry layers and SDKs

Printed by a test from one run of the quick suite (` + "`go test ./cmd/sixthcopy -run TestClients -update`" + `) on the workloads
` + strings.Join(clientWorkloads, ", ") + `. A cell is the worst that came at
a boundary and in how many cells it came: V violation, s safe, e exact, a dot where nothing applies. Versions, settings and
what ` + "`default` and `tuned`" + ` are stand in each system's folder. Systems with tools run all five workloads, an SDK those of its
provider: compare the two variants of a system, not systems with each other. What the rows mean: [findings.md](findings.md).

| system | control`)
	for i := range bench.Boundaries {
		fmt.Fprintf(&b, " | %d", i+1)
	}
	b.WriteString(" |\n|---|" + strings.Repeat("---|", len(bench.Boundaries)+1) + "\n")
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "| %s", name)
		for _, boundary := range append([]bench.Boundary{bench.NoFault}, bench.Boundaries...) {
			count := map[string]int{}
			for _, c := range r.Cells {
				if c.System == name && c.Boundary == boundary {
					count[c.Worst()]++
				}
			}
			cell := "."
			for _, worst := range []string{"no proof", "violation", "safe", "exact"} {
				if n := count[worst]; n > 0 {
					cell = fmt.Sprintf("%s%d", map[string]string{"no proof": "?", "violation": "V", "safe": "s", "exact": "e"}[worst], n)
					break
				}
			}
			b.WriteString(" | " + cell)
		}
		b.WriteString(" |\n")
	}
	fmt.Fprintf(&b, "\n%s.\n", boundaryLegend())
	return b.String()
}

// boundaryLegend numbers the boundaries.
func boundaryLegend() string {
	var parts []string
	for i, b := range bench.Boundaries {
		parts = append(parts, fmt.Sprintf("%d %s", i+1, b))
	}
	return strings.Join(parts, ", ")
}
