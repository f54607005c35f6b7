package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/sixthcopy/sixthcopy/bench"
)

// listed is how many rows a list in the text report shows; the rest is in the JSON report, and counted.
const listed = 25

// reference is the system that must reach the bound of every class.
const reference = "ledger"

// columns is the width that the text report keeps to.
const columns = 80

// Text writes the report for a terminal of 80 columns. file is the run's file as a shell reads it, for the
// commands that tell more; "" prints none.
func (r *Report) Text(w io.Writer, file string) error {
	p := &printer{w: w, file: file}
	p.head(r)
	p.matrix(r)
	p.metrics(r)
	p.regret(r)
	p.controls(r)
	p.unreached(r)
	p.violations(r)
	p.notable(r)
	p.ended(r)
	p.invalid(r)
	p.notRun(r)
	if file != "" {
		p.line("\nFull report: sixthcopy report %s --format json", file)
	}
	return p.err
}

// printer keeps the first error of its writer.
type printer struct {
	w    io.Writer
	file string // of the run, as a shell reads it; "" if there is none to name
	err  error
}

func (p *printer) Write(b []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	n, err := p.w.Write(b)
	p.err = err
	return n, err
}

func (p *printer) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *printer) table(header []string, align []tw.Align, rows [][]string) {
	p.tableWithGap("  ", header, align, rows)
}

func (p *printer) tableWithGap(gap string, header []string, align []tw.Align, rows [][]string) {
	var out strings.Builder
	t := tablewriter.NewTable(&out,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{Borders: tw.BorderNone,
			Settings: tw.Settings{Separators: tw.SeparatorsNone, Lines: tw.LinesNone}})),
		tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithHeaderAutoWrap(tw.WrapNone), tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithAlignment(align), tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: align}),
		tablewriter.WithPadding(tw.Padding{Left: "", Right: gap, Overwrite: true}), tablewriter.WithTrimSpace(tw.On))
	t.Header(header)
	if err := t.Bulk(rows); err != nil {
		p.err = cmp.Or(p.err, err)
		return
	}
	if err := t.Render(); err != nil {
		p.err = cmp.Or(p.err, err)
		return
	}
	for line := range strings.Lines(out.String()) {
		p.line("%s", strings.TrimRight(line, " \n"))
	}
}

func (p *printer) head(r *Report) {
	run := r.Run
	defer p.broken(r)
	p.line("suite %s, seed %d, %d of %d trials on substrate %s", run.Suite, run.Seed, run.Trials, run.Planned, run.Substrate)
	var facts []string
	if run.Seconds > 0 {
		facts = append(facts, fmt.Sprintf("%.1f s", run.Seconds))
	}
	if run.Commit != "" {
		c := run.Commit[:min(12, len(run.Commit))]
		if run.Dirty {
			c += " (dirty)"
		}
		facts = append(facts, "commit "+c)
	}
	if m := run.Machine; len(m) > 0 {
		facts = append(facts, fmt.Sprintf("%s/%s, %s CPUs", m["os"], m["arch"], m["cpus"]))
	}
	if len(facts) > 0 {
		p.line("%s", strings.Join(facts, "; "))
	}
	if run.Interrupted {
		p.line("INTERRUPTED: go on with --resume; until then this is a part of the run")
	}
}

// square is a system at a boundary.
type square struct{ trials, exact, safe, violation, invalid, unjudged int }

func (s *square) add(c Cell) {
	s.trials += c.Trials
	s.exact += c.Exact
	s.safe += c.Safe
	s.violation += c.Violation
	s.invalid += c.Invalid
	s.unjudged += c.Unjudged
}

// String is the worst verdict with the number of trials that got it. Trials that prove nothing show as
// ? where there is nothing else.
func (s square) String() string {
	switch {
	case s.violation > 0:
		return "V" + strconv.Itoa(s.violation)
	case s.safe > 0:
		return "s" + strconv.Itoa(s.safe)
	case s.exact > 0:
		return "e" + strconv.Itoa(s.exact)
	case s.trials > 0:
		return "?" + strconv.Itoa(s.trials)
	}
	return "."
}

func (p *printer) matrix(r *Report) {
	places := append([]bench.Boundary{bench.NoFault}, bench.Boundaries...)
	for _, c := range r.Cells { // extensions
		if !slices.Contains(places, c.Boundary) {
			places = append(places, c.Boundary)
		}
	}
	squares := map[string]map[bench.Boundary]*square{}
	for _, c := range r.Cells {
		if squares[c.System] == nil {
			squares[c.System] = map[bench.Boundary]*square{}
		}
		if squares[c.System][c.Boundary] == nil {
			squares[c.System][c.Boundary] = &square{}
		}
		squares[c.System][c.Boundary].add(c)
	}
	p.line("\nWorst verdict at each boundary, and how many trials got it:")
	p.line("V violation, s safe, e exact, . none, ? no proof")
	header, align := []string{"system"}, []tw.Align{tw.AlignLeft}
	for i := range places {
		name := strconv.Itoa(i)
		if i == 0 {
			name = "ctl"
		}
		header, align = append(header, name), append(align, tw.AlignLeft)
	}
	var rows [][]string
	for _, system := range slices.Sorted(maps.Keys(squares)) {
		row := []string{system}
		for _, b := range places {
			s := squares[system][b]
			if s == nil {
				s = &square{}
			}
			row = append(row, s.String())
		}
		rows = append(rows, row)
	}
	p.tableWithGap(" ", header, align, rows)
	var legend []string
	for i, b := range places[1:] {
		legend = append(legend, fmt.Sprintf("%d %s", i+1, b))
	}
	p.line("ctl no fault")
	for c := range slices.Chunk(legend, 3) {
		p.line("%s", strings.Join(c, ", "))
	}
}

func (p *printer) metrics(r *Report) {
	type sums struct {
		square
		extra, with, missing, dedup, unresolved int
	}
	all := map[string]*sums{}
	for _, c := range r.Cells {
		s := all[c.System]
		if s == nil {
			s = &sums{}
			all[c.System] = s
		}
		s.add(c)
		s.extra += c.Extra
		s.with += c.TrialsWithExtra
		s.missing += c.Missing
		s.dedup += c.FalseDedup
		s.unresolved += c.Unresolved
	}
	p.line("\nExtra effects (trials with one), missing and falsely deduplicated units, open")
	p.line("intents (unresolved), trials without proof (?)")
	right := tw.AlignRight
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		row := []string{name}
		for _, n := range []int{s.trials, s.exact, s.safe, s.violation} {
			row = append(row, strconv.Itoa(n))
		}
		row = append(row, fmt.Sprintf("%d (%d)", s.extra, s.with))
		for _, n := range []int{s.missing, s.dedup, s.unresolved, s.invalid + s.unjudged} {
			row = append(row, strconv.Itoa(n))
		}
		rows = append(rows, row)
	}
	p.tableWithGap(" ", []string{"system", "trials", "exact", "safe", "viol.", "extra", "miss.", "dedup", "open", "?"},
		[]tw.Align{tw.AlignLeft, right, right, right, right, right, right, right, right, right}, rows)
}

// broken names the contracts that break their promise, by workload.
func (p *printer) broken(r *Report) {
	var all []string
	for _, c := range r.Cells {
		if one := c.Workload + " at " + c.Contract; c.ProviderFault && !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	if len(all) > 0 {
		p.hang("", "The provider breaks its promise: "+strings.Join(all, ", ")+". `sixthcopy list contracts` says what it promises and does.")
	}
}

func (p *printer) regret(r *Report) {
	if len(r.Classes) == 0 {
		return
	}
	type sums struct{ exact, by0, by1, by2, beaten, open, lucky, faults int }
	all := map[string]*sums{}
	faults := false
	var wrong []string // what tells that a bound, the reference or the judge is wrong
	for _, c := range r.Classes {
		s := all[c.System]
		if s == nil {
			s = &sums{}
			all[c.System] = s
		}
		if c.Lucky {
			s.lucky++
		}
		if c.ProviderFault {
			s.faults++
			faults = true
		}
		if c.Bound == bench.MarkExact {
			s.exact++
		}
		switch {
		case c.Regret == nil:
			s.open++
		case *c.Regret < 0:
			s.beaten++
			wrong = append(wrong, fmt.Sprintf("BOUND BEATEN by %s: %s, class %s: bound %s, mark %s", c.System, c.Workload, c.Class, c.Bound, c.Mark))
		case *c.Regret == 0:
			s.by0++
		case *c.Regret == 1:
			s.by1++
		default:
			s.by2++
		}
		if c.System == reference && c.LedgerOwes && c.Regret != nil && *c.Regret > 0 {
			wrong = append(wrong, fmt.Sprintf("BOUND MISSED by the reference: %s, class %s: bound %s, mark %s", c.Workload, c.Class, c.Bound, c.Mark))
		}
	}
	p.line("\nClasses of cells that look alike, by regret: 0 at the bound, 2 a violation where")
	p.line("exact was possible, <0 impossible, ? not whole")
	right := tw.AlignRight
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		row := []string{name}
		for _, n := range []int{s.exact, s.by0, s.by1, s.by2, s.beaten, s.open, s.lucky} {
			row = append(row, strconv.Itoa(n))
		}
		if faults {
			row = append(row, strconv.Itoa(s.faults))
		}
		rows = append(rows, row)
	}
	head, align := []string{"system", "bound exact", "0", "1", "2", "<0", "?", "lucky"}, []tw.Align{tw.AlignLeft, right, right, right, right, right, right, right}
	if faults {
		p.line("fault: the provider breaks its promise; the ledger owes the bound there only if")
		p.line("it can look up the truth")
		head, align = append(head, "fault"), append(align, right)
	}
	p.table(head, align, rows)
	for _, w := range wrong[:min(listed, len(wrong))] {
		p.hang("", w)
	}
	p.more(len(wrong)-listed, "such classes")
}

func (p *printer) controls(r *Report) {
	title := "as known"
	if !r.ControlsOK {
		title = "NOT AS KNOWN: this run proves nothing"
	} else if !slices.ContainsFunc(r.Controls, func(c Control) bool { return c.Looked > 0 }) {
		title = "none in this run"
	}
	p.line("\nControls: %s", title)
	var rows [][]string
	for _, c := range r.Controls {
		rows = append(rows, []string{c.System, c.Expected, c.short()})
	}
	p.table([]string{"control", "must show", "came out"}, []tw.Align{tw.AlignLeft, tw.AlignLeft, tw.AlignLeft}, rows)
	for _, c := range r.Controls {
		for _, where := range c.Amiss[:min(len(c.Amiss), 5)] {
			p.hang("  ", fmt.Sprintf("%s did not show it in %s", c.System, where))
		}
		p.more(len(c.Amiss)-5, "places")
	}
}

func (p *printer) more(n int, what string) {
	if n > 0 {
		p.line("  and %d more %s: see the JSON report", n, what)
	}
}

// notable lists repeated cells with a violation, or with repetitions that disagree, with their interval.
func (p *printer) notable(r *Report) {
	var cells []Cell
	for _, c := range r.Cells {
		if valid := c.Exact + c.Safe + c.Violation; valid > 1 {
			cells = append(cells, c)
		}
	}
	if len(cells) == 0 {
		return
	}
	slices.SortStableFunc(cells, func(a, b Cell) int {
		return cmp.Or(-cmp.Compare(weight(a), weight(b)), -cmp.Compare(a.Violation, b.Violation))
	})
	p.line("\nRepeated cells: violations, exact 95 %% interval of each by itself; ~ they differ")
	var rows [][]string
	for _, c := range cells[:min(listed, len(cells))] {
		share := Share(c.Violation, c.Exact+c.Safe+c.Violation)
		if c.Unsteady {
			share += " ~"
		}
		where := strconv.Itoa(rank(c.Boundary)) + " " + c.Variant
		if c.Boundary == bench.NoFault {
			where = "control"
		}
		rows = append(rows, []string{c.System, clip(c.Workload, 15), clip(where, 18), share})
	}
	left := tw.AlignLeft
	p.table([]string{"system", "workload", "boundary, variant", "violations"}, []tw.Align{left, left, left, left}, rows)
	p.more(len(cells)-listed, "repeated cells")
}

// weight puts unsteady cells first, then those with violations.
func weight(c Cell) int {
	switch {
	case c.Unsteady:
		return 2
	case c.Violation > 0:
		return 1
	}
	return 0
}

func (p *printer) invalid(r *Report) {
	reasons := map[string]int{}
	unjudged := 0
	for _, c := range r.Cells {
		unjudged += c.Unjudged
		for reason, n := range c.InvalidReasons {
			reasons[reason] += n
		}
	}
	if unjudged > 0 {
		p.line("\nUnjudged trials: %d; run `sixthcopy judge` on the run's file", unjudged)
	}
	if len(reasons) == 0 {
		return
	}
	p.line("\nInvalid trials, which prove nothing and blame no system:")
	names := slices.SortedFunc(maps.Keys(reasons), func(a, b string) int {
		return cmp.Or(-cmp.Compare(reasons[a], reasons[b]), cmp.Compare(a, b))
	})
	for _, name := range names[:min(listed, len(names))] {
		p.hang(fmt.Sprintf("  %d  ", reasons[name]), clip(name, 300))
	}
	p.more(len(names)-listed, "reasons")
}

// clip shortens s to n characters.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
