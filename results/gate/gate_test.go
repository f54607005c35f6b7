package gate_test

import (
	"strings"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/results/gate"
	"github.com/sixthcopy/sixthcopy/results/report"
)

func cell(system, workload string, b bench.Boundary, violation, extra, unresolved int) report.Cell {
	c := report.Cell{System: system, Workload: workload, Boundary: b, Variant: "reset", Trials: 1, Violation: violation, Exact: 1 - violation,
		Extra: extra, Unresolved: unresolved, Trial: "abc"}
	if extra > 0 {
		c.Causes = []report.Cause{{Layer: "agent link", Told: "nothing", Extras: extra}}
	}
	return c
}

// The closest limit counts: of the workload, of the boundary, of all; violations alone are limited where nothing
// is said.
func TestTheClosestLimitCounts(t *testing.T) {
	lost, late := bench.CommittedBeforeResponse, bench.TokenExpired
	for _, c := range []struct {
		name, policy string
		cells        []report.Cell
		over         []string // of each breach: workload metric got limit
	}{
		{"nothing said", "systems: [s/d]", []report.Cell{cell("s/d", "w", lost, 1, 1, 0), cell("s/d", "v", lost, 0, 0, 3)}, []string{"w violations 1 0"}},
		{"of all", "systems: [s/d]\nlimits: {extra: 0, unresolved: 2, violations: 9}", []report.Cell{cell("s/d", "w", lost, 1, 1, 0), cell("s/d", "v", lost, 0, 0, 3)},
			[]string{"w extra 1 0", "v unresolved 3 2"}},
		{"of the boundary", "systems: [s/d]\nlimits: {extra: 0}\nboundaries: {token-expired: {extra: 1, violations: 1}}",
			[]report.Cell{cell("s/d", "w", late, 1, 1, 0), cell("s/d", "w", lost, 1, 1, 0)}, []string{"w violations 1 0", "w extra 1 0"}},
		{"of the workload", "systems: [s/d]\nlimits: {extra: 0}\nboundaries: {token-expired: {extra: 5}}\nat: {w: {extra: 2, violations: 1}}",
			[]report.Cell{cell("s/d", "w", late, 1, 3, 0), cell("s/d", "v", late, 0, 3, 0)}, []string{"w extra 3 2"}},
		{"a limit of 0 is one", "systems: [s/d]\nboundaries: {token-expired: {unresolved: 4}}\nat: {w: {unresolved: 0}}", []report.Cell{cell("s/d", "w", late, 0, 0, 1)}, []string{"w unresolved 1 0"}},
		{"others are not looked at", "systems: [s/d]\nlimits: {extra: 0}", []report.Cell{cell("s/t", "w", lost, 1, 1, 0), cell("s/d", "w", lost, 0, 0, 0)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := gate.Parse("gate.yaml", []byte(c.policy))
			if err != nil {
				t.Fatal(err)
			}
			_, over := gate.Check(&report.Report{Cells: c.cells}, p)
			var got []string
			for _, b := range over {
				for _, o := range b.Over {
					got = append(got, strings.Join([]string{b.Cell.Workload, o.Metric, itoa(o.Got), itoa(o.Limit)}, " "))
				}
			}
			if strings.Join(got, "; ") != strings.Join(c.over, "; ") {
				t.Errorf("got %q, expected %q", got, c.over)
			}
		})
	}
}

func itoa(n int) string { return string(rune('0' + n)) }

func TestTextNamesLayerToldAndPair(t *testing.T) {
	r := &report.Report{Cells: []report.Cell{cell("s/default", "w", bench.CommittedBeforeResponse, 1, 1, 0), cell("s/tuned", "w", bench.CommittedBeforeResponse, 0, 0, 0),
		cell("sx/tuned", "w", bench.CommittedBeforeResponse, 1, 0, 0)}}
	p, err := gate.Parse("gate.yaml", []byte("systems: [s/default]"))
	if err != nil {
		t.Fatal(err)
	}
	_, over := gate.Check(r, p)
	var b strings.Builder
	if err := gate.Text(&b, over, map[string]string{"s/default": "retries = 3", "s/tuned": "retries = 0"}, "sixthcopy show %s --run r.db"); err != nil {
		t.Fatal(err)
	}
	want := `s/default, w, committed-before-response reset: violations 1 (limit 0)
  made by  the system, which sent the same call again by itself; its caller had
           been told nothing
  config   retries = 3
  pair     s/tuned: exact, by retries = 0
  story    sixthcopy show abc --run r.db
`
	if b.String() != want {
		t.Errorf("got\n%s\nexpected\n%s", b.String(), want)
	}
}

// What a policy names and no cell is of must not pass for held.
func TestUnseen(t *testing.T) {
	r := &report.Report{Cells: []report.Cell{cell("s/d", "w", bench.NoFault, 0, 0, 0), cell("s/t", "v", bench.NoFault, 0, 0, 0)}}
	for policy, want := range map[string]string{
		"systems: [s/d]":                           "",
		"systems: [s/d, s/x]":                      "system s/x",
		"systems: [s/d]\nworkloads: [w, ./v.yaml]": "",
		"systems: [s/d]\nworkloads: [w, v]":        "workload v",
		"systems: [s/d]\nat: {u: {extra: 0}}":      "workload u",
	} {
		p, err := gate.Parse("gate.yaml", []byte(policy))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(gate.Unseen(r, p), ", "); got != want {
			t.Errorf("%q: got %q, expected %q", policy, got, want)
		}
	}
}

func TestBrokenPolicies(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "gate.yaml is empty, expected at least `systems`",
		"suite: core":                           "`systems` names none",
		"systems: [a]\nlimit: {extra: 0}":       "line 2: field limit not found",
		"systems: [a]\nlimits: {extras: 0}":     "line 2: field extras not found",
		"systems: [a]\nlimits: {extra: many}":   "line 2: cannot unmarshal",
		"systems: [a]\nlimits: {extra: -1}":     "limits: extra is -1, expected 0 or more",
		"systems: [a]\nboundaries: {lost: {}}":  `unknown boundary "lost"`,
		"systems: [a]\nat: {w: {missing: -2}}":  "at: w: missing is -2",
		"systems: [a]\n---\nsystems: [b]":       "more than one document",
		"systems: {a: b}":                       "line 1: cannot unmarshal",
		"systems: [a]\nlimits: {extra: [\"\x01": "gate.yaml: yaml:",
	} {
		if _, err := gate.Parse("gate.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, expected %q", text, err, want)
		}
	}
}
