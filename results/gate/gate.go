// Package gate holds a report against a policy: the most that a cell of a system may have of each metric. It says
// which cells are over, who made it, what the caller had been told, and what the other variants of the system
// came to in the same cell.
package gate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/results/report"
)

// Policy is a checked gate file.
type Policy struct {
	Systems    []string          `yaml:"systems"`              // held against the limits
	Beside     []string          `yaml:"beside,omitempty"`     // run too, so that the two can be compared
	Suite      string            `yaml:"suite,omitempty"`      // default quick
	Workloads  []string          `yaml:"workloads,omitempty"`  // default: those of the suite
	Contract   string            `yaml:"contract,omitempty"`   // default: each workload's own
	Limits     Limits            `yaml:"limits,omitempty"`     // of every cell
	Boundaries map[string]Limits `yaml:"boundaries,omitempty"` // of the cells of a boundary ("none": the control), in the place of limits
	At         map[string]Limits `yaml:"at,omitempty"`         // of the cells of a workload, in the place of both
}

// Limits are the most that one cell may have. What is not given has no limit, but for violations: 0.
type Limits struct {
	Violations *int `yaml:"violations,omitempty"`  // trials
	Extra      *int `yaml:"extra,omitempty"`       // effects
	Missing    *int `yaml:"missing,omitempty"`     // units
	FalseDedup *int `yaml:"false_dedup,omitempty"` // units
	Unresolved *int `yaml:"unresolved,omitempty"`  // intents
}

// Parse reads a gate file strictly. The error tells every unknown field with its line.
func Parse(file string, text []byte) (Policy, error) {
	p := Policy{Suite: "quick"}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&p); err != nil {
		if errors.Is(err, io.EOF) {
			return p, fmt.Errorf("%s is empty, expected at least `systems`", file)
		}
		var wrong *yaml.TypeError
		if errors.As(err, &wrong) {
			return p, fmt.Errorf("%s: %s", file, strings.Join(wrong.Errors, "; "))
		}
		return p, fmt.Errorf("%s: %w", file, err)
	}
	if d.Decode(&yaml.Node{}) != io.EOF {
		return p, fmt.Errorf("%s has more than one document, expected one", file)
	}
	if len(p.Systems) == 0 {
		return p, fmt.Errorf("%s: `systems` names none, expected the systems that are held against the limits", file)
	}
	for name := range p.Boundaries {
		if b := bench.Boundary(name); b != bench.NoFault && !slices.Contains(bench.Boundaries, b) {
			return p, fmt.Errorf("%s: boundaries: unknown boundary %q; `sixthcopy list boundaries` has them", file, name)
		}
	}
	for where, l := range p.all() {
		for _, m := range metrics {
			if limit := m.limit(l); limit != nil && *limit < 0 {
				return p, fmt.Errorf("%s: %s: %s is %d, expected 0 or more", file, where, m.name, *limit)
			}
		}
	}
	return p, nil
}

// all are the limits by where they stand.
func (p Policy) all() map[string]Limits {
	out := map[string]Limits{"limits": p.Limits}
	for name, l := range p.Boundaries {
		out["boundaries: "+name] = l
	}
	for name, l := range p.At {
		out["at: "+name] = l
	}
	return out
}

// metrics are what can be limited.
var metrics = []struct {
	name  string
	limit func(Limits) *int
	got   func(report.Cell) int
}{
	{"violations", func(l Limits) *int { return l.Violations }, func(c report.Cell) int { return c.Violation }},
	{"extra", func(l Limits) *int { return l.Extra }, func(c report.Cell) int { return c.Extra }},
	{"missing", func(l Limits) *int { return l.Missing }, func(c report.Cell) int { return c.Missing }},
	{"false_dedup", func(l Limits) *int { return l.FalseDedup }, func(c report.Cell) int { return c.FalseDedup }},
	{"unresolved", func(l Limits) *int { return l.Unresolved }, func(c report.Cell) int { return c.Unresolved }},
}

// Over is a metric of a cell that is over its limit.
type Over struct {
	Metric     string
	Got, Limit int
}

// Breach is a cell that is over a limit.
type Breach struct {
	Cell  report.Cell
	Over  []Over
	Pairs []report.Cell // the same cell of the system's other variants
}

// Unseen names what the policy speaks of and the report has no cell of: a gate that passes over it would pass for
// nothing. A workload that is named by its file is known by its own name only, and not looked for.
func Unseen(r *report.Report, p Policy) []string {
	has := func(f func(report.Cell) bool) bool { return slices.ContainsFunc(r.Cells, f) }
	var out []string
	for _, name := range p.Systems {
		if !has(func(c report.Cell) bool { return c.System == name }) {
			out = append(out, "system "+name)
		}
	}
	held := func(c report.Cell) bool { return slices.Contains(p.Systems, c.System) }
	for _, name := range slices.Concat(p.Workloads, slices.Sorted(maps.Keys(p.At))) {
		if !strings.ContainsAny(name, "/.") && !has(func(c report.Cell) bool { return c.Workload == name && held(c) }) {
			out = append(out, "workload "+name)
		}
	}
	return slices.Compact(out)
}

// Check holds the cells of the policy's systems against its limits. It returns how many it looked at, and those
// that are over, in the order of the report.
func Check(r *report.Report, p Policy) (looked int, over []Breach) {
	for _, c := range r.Cells {
		if !slices.Contains(p.Systems, c.System) {
			continue
		}
		looked++
		b := Breach{Cell: c}
		for _, m := range metrics {
			limit := m.limit(p.Limits)
			for _, closer := range []map[string]Limits{{string(c.Boundary): p.Boundaries[string(c.Boundary)]}, {c.Workload: p.At[c.Workload]}} {
				for _, l := range closer {
					limit = cmp.Or(m.limit(l), limit)
				}
			}
			if limit == nil && m.name == "violations" {
				limit = new(int)
			}
			if got := m.got(c); limit != nil && got > *limit {
				b.Over = append(b.Over, Over{m.name, got, *limit})
			}
		}
		if len(b.Over) > 0 {
			b.Pairs = r.Pairs(c)
			over = append(over, b)
		}
	}
	return looked, over
}

// Text writes the breaches for a terminal. says tells the line of configuration by system; show is the command
// that tells a trial, with %s for its id.
func Text(w io.Writer, over []Breach, says map[string]string, show string) error {
	var b strings.Builder
	line := func(first, text string) {
		for _, l := range report.Hang(first, 11, text) {
			b.WriteString(l + "\n")
		}
	}
	for _, breach := range over {
		c := breach.Cell
		var parts []string
		for _, o := range breach.Over {
			parts = append(parts, fmt.Sprintf("%s %d (limit %d)", o.Metric, o.Got, o.Limit))
		}
		fault := string(c.Boundary) + " " + c.Variant
		if c.Boundary == bench.NoFault {
			fault = "no fault"
		}
		line("", fmt.Sprintf("%s, %s, %s: %s", c.System, c.Workload, fault, strings.Join(parts, ", ")))
		for _, cause := range c.Causes {
			line("  made by  ", fmt.Sprintf("%s; %s", report.Layer(cause.Layer), report.Told(cause.Told)))
		}
		var findings []string
		for name, n := range c.Findings {
			findings = append(findings, fmt.Sprintf("%s %d", strings.ReplaceAll(name, "_", " "), n))
		}
		if slices.Sort(findings); len(findings) > 0 {
			line("  found    ", strings.Join(findings, ", "))
		}
		if text := says[c.System]; text != "" {
			line("  config   ", text)
		}
		for _, pair := range breach.Pairs {
			text := pair.System + ": " + pair.Worst()
			if says[pair.System] != "" {
				text += ", by " + says[pair.System]
			}
			line("  pair     ", text)
		}
		line("  story    ", fmt.Sprintf(show, c.Trial))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
