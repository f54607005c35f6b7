package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter/tw"

	"github.com/sixthcopy/sixthcopy/bench"
)

// hang prints text after first, broken between words, with the later lines under the first word.
func (p *printer) hang(first, text string) {
	for _, line := range Hang(first, utf8.RuneCountInString(first), text) {
		p.line("%s", line)
	}
}

// Hang breaks text between words into lines of at most 80 columns: the first begins with first, the later
// ones with indent spaces. A word that is longer than a line is cut. What a terminal would obey shows as a
// space.
func Hang(first string, indent int, text string) []string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	const least = 20 // columns for text, however long first is
	line, used := first, min(utf8.RuneCountInString(first), columns-least)
	var lines []string
	empty := true // no word is on the line yet
	for _, word := range strings.Fields(text) {
		for {
			n := utf8.RuneCountInString(word)
			if empty && used+n > columns && indent+n > columns { // it fits nowhere
				k := columns - used
				lines = append(lines, line+string([]rune(word)[:k]))
				line, used, word = strings.Repeat(" ", indent), indent, string([]rune(word)[k:])
				continue
			}
			space := 1
			if empty {
				space = 0
			}
			if used+space+n <= columns {
				line, used, empty = line+strings.Repeat(" ", space)+word, used+space+n, false
				break
			}
			lines = append(lines, strings.TrimRight(line, " "))
			line, used, empty = strings.Repeat(" ", indent), indent, true
		}
	}
	return append(lines, strings.TrimRight(line, " "))
}

// unreached names the workloads that nobody brought to their goal though nothing was in the way.
func (p *printer) unreached(r *Report) {
	tried, reached := map[string]bool{}, map[string]bool{}
	for _, c := range r.Cells {
		if c.Boundary != bench.NoFault {
			continue
		}
		if c.Exact+c.Safe+c.Violation > 0 {
			tried[c.Workload] = true
		}
		if c.Exact > 0 {
			reached[c.Workload] = true
		}
	}
	for _, w := range slices.Sorted(maps.Keys(tried)) {
		if !reached[w] {
			p.hang("", fmt.Sprintf("no system reached the goal of %s without a fault: check its slots", w))
		}
	}
}

// wrongs are what was done or said that must not be, by kind.
type wrongs map[string]int

// add counts a cell, whose trials differ at most by repetition.
func (w wrongs) add(c Cell) {
	w["extra"] += c.Extra
	w["false dedup"] += c.FalseDedup
	for name, n := range c.Findings {
		w[strings.ReplaceAll(name, "_", " ")] += n
	}
}

// String is the effects first, then what was said, the most frequent first.
func (w wrongs) String() string {
	first := func(kind string) int { return slices.Index([]string{"false dedup", "extra"}, kind) }
	kinds := slices.SortedFunc(maps.Keys(w), func(a, b string) int {
		return cmp.Or(first(b)-first(a), w[b]-w[a], cmp.Compare(a, b))
	})
	var parts []string
	for _, k := range kinds {
		if w[k] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", k, w[k]))
		}
	}
	return strings.Join(parts, ", ")
}

// violations lists, for each system and boundary, in how many trials of which workloads what was done or
// said that must not be, with a trial to look at. The controls, which are there to do so, come last.
func (p *printer) violations(r *Report) {
	type key struct {
		system   string
		boundary bench.Boundary
	}
	type sum struct {
		trials    int
		faulty    int // of them at a provider that breaks its promise
		wrongs    wrongs
		workloads []string
		show      string
	}
	sums := map[key]*sum{}
	for _, c := range r.Cells {
		if c.Violation == 0 {
			continue
		}
		k := key{c.System, c.Boundary}
		if sums[k] == nil {
			sums[k] = &sum{wrongs: wrongs{}, show: c.Trial}
		}
		s := sums[k]
		s.trials += c.Violation
		if c.ProviderFault {
			s.faulty += c.Violation
		}
		s.wrongs.add(c)
		if !slices.Contains(s.workloads, c.Workload) {
			s.workloads = append(s.workloads, c.Workload)
		}
	}
	if len(sums) == 0 {
		return
	}
	isControl := func(system string) int {
		return max(0, 1+slices.Index([]string{blind, dedupeEverything, doNothing, keyedControl}, system))
	}
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b key) int {
		return cmp.Or(isControl(a.system)-isControl(b.system), cmp.Compare(a.system, b.system),
			rank(a.boundary)-rank(b.boundary), cmp.Compare(a.boundary, b.boundary))
	})
	p.line("\nViolations: trials, and what was there or said in them that must not be")
	var rows [][]string
	system, faulty := "", false
	for _, k := range keys[:min(listed, len(keys))] {
		if k.system != system {
			rows = append(rows, []string{"", "", k.system, "", ""})
			system = k.system
		}
		s := sums[k]
		at := strconv.Itoa(rank(k.boundary))
		if k.boundary == bench.NoFault {
			at = "ctl"
		}
		n := strconv.Itoa(s.trials)
		if s.faulty > 0 {
			n, faulty = n+"*", true
		}
		rows = append(rows, []string{at, n, clip(s.wrongs.String(), 31), names(s.workloads, 22), s.show})
	}
	left, right := tw.AlignLeft, tw.AlignRight
	p.table([]string{"at", "n", "what", "workloads", "show"}, []tw.Align{right, right, left, left, left}, rows)
	p.more(len(keys)-listed, "such rows")
	if faulty {
		p.line("* some or all at a provider that breaks its promise")
	}
	p.tells("ID", "what happened in a trial")
}

// names is as many names as fit into n characters, the first in any case, and how many more there are.
func names(all []string, n int) string {
	for k := len(all); k > 1; k-- {
		s := strings.Join(all[:k], ", ")
		if k < len(all) {
			s += fmt.Sprintf(" +%d", len(all)-k)
		}
		if utf8.RuneCountInString(s) <= n {
			return s
		}
	}
	if len(all) == 1 {
		return clip(all[0], n)
	}
	more := fmt.Sprintf(" +%d", len(all)-1)
	return clip(all[0], n-len(more)) + more
}

// tells prints the command that shows a trial.
func (p *printer) tells(id, what string) {
	if p.file != "" {
		p.line("sixthcopy show %s --run %s tells %s", id, p.file, what)
	}
}

// ended lists the systems that broke off, with the reason, a trial to look at, and what was heard last.
func (p *printer) ended(r *Report) {
	if len(r.BrokenOff) == 0 {
		return
	}
	p.line("\nSystems that broke off; judged by what exists and what they had said:")
	rows := r.BrokenOff[:min(listed, len(r.BrokenOff))]
	system, reason := len("system"), len("reason")
	for _, b := range rows {
		system, reason = max(system, len(b.System)), max(reason, len(b.Reason))
	}
	p.line("trials  %-*s  %-*s  show", system, "system", reason, "reason")
	for _, b := range rows {
		p.line("%6d  %-*s  %-*s  %s", b.Trials, system, b.System, reason, b.Reason, b.Trial)
		p.hang("        ", clip(b.Detail, 400))
	}
	p.more(len(r.BrokenOff)-listed, "reasons")
	p.tells("ID", "what happened in a trial")
}

// notRun says which systems had no trials somewhere because of what they cannot do. What no system could
// run, because a fault has no place in a workload, is no news about any of them, and only counted.
func (p *printer) notRun(r *Report) {
	bySystem := map[string]map[string]int{}
	for _, n := range r.NotApplicable {
		if bySystem[n.System] == nil {
			bySystem[n.System] = map[string]int{}
		}
		bySystem[n.System][n.Reason]++
	}
	if len(bySystem) == 0 {
		return
	}
	p.line("\nNot run, and why; cells:")
	for _, system := range slices.Sorted(maps.Keys(bySystem)) {
		reasons, total := bySystem[system], 0
		for _, n := range reasons {
			total += n
		}
		if system == "" {
			p.line("  for every system: %d, where a fault has no place in a workload", total)
			continue
		}
		kinds := slices.SortedFunc(maps.Keys(reasons), func(a, b string) int {
			return cmp.Or(reasons[b]-reasons[a], cmp.Compare(a, b))
		})
		var parts []string
		for _, k := range kinds {
			parts = append(parts, fmt.Sprintf("%d (%s)", reasons[k], k))
		}
		p.hang("  "+system+": ", strings.Join(parts, ", "))
	}
}
