package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/results/report"
	"github.com/sixthcopy/sixthcopy/results/store"
)

func showCommand(c *console) *cobra.Command {
	var file, format string
	cmd := &cobra.Command{
		Use:   "show TRIAL",
		Short: "Show what happened in one trial, in order",
		Long: `show prints the history of a trial, given by the beginning of its id: who did
what when, where the strike fell, what was there in the end, what the system
said, and the verdict.`,
		Args: exactly(1, "the id of a trial, or its beginning"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := oneOf("format", format, "text", "json"); err != nil {
				return err
			}
			if file == "" {
				if file, err = store.Newest(store.Folder); err != nil {
					return badFile(err)
				}
			}
			s, err := store.Open(file)
			if err != nil {
				return badFile(err)
			}
			defer func() { err = errors.Join(err, s.Close()) }()
			id, err := whole(s, args[0])
			if err != nil {
				return err
			}
			rec, err := s.Trial(id)
			if err != nil {
				return err
			}
			if format == "json" {
				e := json.NewEncoder(c.out)
				e.SetEscapeHTML(false)
				e.SetIndent("", "  ")
				return e.Encode(struct {
					bench.Record
					Workload bench.Workload `json:"workload"`
					Contract bench.Contract `json:"contract"`
				}{rec, rec.Trial.Workload, rec.Trial.Contract})
			}
			text, err := showPair(s, rec)
			if err != nil {
				return err
			}
			return showTrial(c.out, rec, text)
		},
	}
	cmd.Flags().StringVar(&file, "run", "", "file of the run (default the newest in "+store.Folder+")")
	cmd.Flags().StringVar(&format, "format", "text", "text or json: evidence, history and verdict as they are stored")
	return cmd
}

// whole turns the beginning of an id into the id.
func whole(s *store.Store, prefix string) (string, error) {
	ids, err := s.Find(prefix, 6)
	if err != nil {
		return "", err
	}
	switch {
	case len(ids) == 0:
		return "", usagef(quoted([]string{"sixthcopy", "report", s.Path()})+" names trials, its JSON form one of each cell", "no trial in %s begins with %q", s.Path(), prefix)
	case len(ids) == 1 || ids[0] == prefix:
		return ids[0], nil
	case len(ids) == 6:
		ids[5] = "..."
	}
	return "", usagef("give more of the id", "more than one trial begins with %q: %s", prefix, strings.Join(ids, ", "))
}

// hang writes text after first, broken into lines for a terminal, the later ones under the text.
func hang(b *strings.Builder, first, text string) { hangAt(b, first, len(first), text) }

// hangAt is hang with the later lines at a column of their own, counted from 0.
func hangAt(b *strings.Builder, first string, column int, text string) {
	for _, line := range report.Hang(first, column, text) {
		b.WriteString(line + "\n")
	}
}

// legend tells how the history is to be read.
const legend = `(tick, ms since the start, who, what; >> the strike; on LINK C/E: connection C
of the link, exchange E on it; {as at N}: what stands at tick N; told: what an
answer says of the effect to its caller, "nothing" if it is about none)
`

// showTrial writes one trial for a reader.
func showTrial(w io.Writer, rec bench.Record, pair string) error {
	var b strings.Builder
	t, j, ev := rec.Trial, rec.Judged, rec.Evidence
	hang(&b, "trial   ", fmt.Sprintf("%s: %s, workload %s at %s, seed %d, repetition %d", t.ID, t.System, t.Workload.Name, t.Contract.Name, t.Seed, t.Rep))
	if ev.Contract.Actual != nil {
		hang(&b, "promise ", "broken by the provider. "+t.Contract.Summary)
	}
	if t.Fault.Boundary == bench.NoFault {
		b.WriteString("control no fault\n")
		if ev.Strike.Harness != "" {
			hang(&b, "harness ", ev.Strike.Harness)
		}
	} else {
		fault := fmt.Sprintf("%s, %s, strikes intent %s", t.Fault.Boundary, t.Fault.Variant, t.Struck)
		if t.Fault.Summary != "" {
			fault += ": " + t.Fault.Summary
		}
		hang(&b, "fault   ", fault)
		hang(&b, "strike  ", strikeText(ev.Strike))
	}
	verdict := j.Verdict.String()
	if j.InvalidBecause != "" {
		verdict += " (" + j.InvalidBecause + ")"
	}
	if j.Reason != "" {
		verdict += ": " + j.Reason
	}
	hang(&b, "verdict ", verdict)
	if rec.Broke != nil {
		hang(&b, "ended   ", fmt.Sprintf("the system %s: %s", rec.Broke.Reason, rec.Broke.Detail))
	}
	b.WriteString(pair)
	if t.Class != "" {
		hang(&b, "class   ", fmt.Sprintf("%s, bound %s", t.Class, t.Bound))
	}
	b.WriteString("\nwhat happened\n" + legend)
	showHistory(&b, rec.History)
	b.WriteString("\nwhat was there in the end\n")
	for _, e := range ev.Observed.Effects {
		hangAt(&b, "  ", 6, effectText(e))
	}
	none(&b, len(ev.Observed.Effects))
	b.WriteString("\nwhat the system said\n")
	for _, c := range ev.Claims {
		said := fmt.Sprintf("turn %d call %d: %s", c.Turn, c.Call, c.Claim)
		if len(c.Receipts) > 0 {
			said += ", receipts " + strings.Join(c.Receipts, " ")
		}
		if c.Detail != "" {
			said += " (" + c.Detail + ")"
		}
		hangAt(&b, "  ", 6, said)
	}
	none(&b, len(ev.Claims))
	showFindings(&b, j)
	m := rec.Measures
	b.WriteString("\nmeasures\n")
	hang(&b, "  ", fmt.Sprintf("attempts %d, calls of the agent %d, latency %.1f ms, virtual %.0f ms, in unknown %.0f ms (virtual), escalations %d, ledger %d bytes",
		m.Attempts, m.AgentCalls, m.LatencyMS, m.VirtualMS, m.TimeInUnknownMS, m.Escalations, m.LedgerBytes))
	_, err := io.WriteString(w, b.String())
	return err
}

// showPair says which line of configuration makes the system of a trial, and what its other variants came to
// in the same cell.
func showPair(s *store.Store, rec bench.Record) (string, error) {
	var b strings.Builder
	var plan storedPlan
	if err := s.Plan(&plan); err != nil {
		return "", err
	}
	if text := plan.Says[rec.Trial.System]; text != "" {
		hang(&b, "config  ", text)
	}
	ids, err := s.Beside(rec.Trial, report.Folder(rec.Trial.System))
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		other, err := s.Trial(id)
		if err != nil {
			return "", err
		}
		text := fmt.Sprintf("%s: %s (%s)", other.Trial.System, other.Judged.Verdict, id)
		if says := plan.Says[other.Trial.System]; says != "" {
			text += ", by " + says
		}
		hang(&b, "pair    ", text)
	}
	return b.String(), nil
}

func none(b *strings.Builder, n int) {
	if n == 0 {
		b.WriteString("  nothing\n")
	}
}

func strikeText(s bench.StrikeRecord) string {
	switch {
	case s.Harness != "":
		return "harness error: " + s.Harness
	case s.Struck:
		return "struck; true at that moment: " + string(s.Truth)
	case s.Reached:
		return "reached, but no strike was shown"
	}
	return "not reached: no call that it selects left the system"
}

func showFindings(b *strings.Builder, j bench.Judged) {
	var found []string
	count := func(n int, what string) {
		if n != 0 {
			found = append(found, fmt.Sprintf("%d %s", n, what))
		}
	}
	count(j.Extra.Duplicate, "extra: duplicate")
	count(j.Extra.Drifted, "extra: drifted")
	count(j.Extra.Stray, "extra: stray")
	count(j.Extra.Compensated, "of these extras compensated")
	count(j.Missing, "missing: "+strings.Join(j.MissingSlots, ", "))
	count(j.FalseDedup.StandIn, "false dedup by another effect's record")
	count(j.FalseDedup.Empty, "false dedup by a record with nothing behind it")
	count(j.Unresolved.Escalated, "unresolved: escalated")
	count(j.Unresolved.Silent, "unresolved: silent")
	count(j.Unresolved.Hung, "unresolved: hung")
	for _, name := range slices.Sorted(maps.Keys(j.Findings)) {
		count(j.Findings[name], strings.ReplaceAll(name, "_", " "))
	}
	if len(found)+len(j.Marks)+len(j.Causes) == 0 {
		return
	}
	b.WriteString("\nwhat the judge found\n")
	for _, f := range found {
		hangAt(b, "  ", 6, f)
	}
	for _, c := range j.Causes {
		hangAt(b, "  ", 6, fmt.Sprintf("an extra was made by %s (%s); %s", report.Layer(c.Layer), c.Layer, report.Told(c.Told)))
	}
	if len(j.Marks) > 0 {
		hangAt(b, "  ", 6, "marks: "+strings.Join(j.Marks, ", "))
	}
}

// showHistory writes the events in order: tick, milliseconds, virtual time if it moved, actor, what.
func showHistory(b *strings.Builder, events []bench.Event) {
	actors := 0
	for _, e := range events {
		actors = max(actors, len(e.Actor))
	}
	seen := seenArgs{}
	virtual := ""
	for _, e := range events {
		mark := "   "
		if e.Kind == "strike" {
			mark = ">> "
		}
		what := e.Kind
		if details := seen.eventText(e); details != "" {
			what += ": " + details
		}
		if e.Virtual != virtual {
			if virtual != "" {
				fmt.Fprintf(b, "   %s virtual time is now %s\n", strings.Repeat(" ", 11), e.Virtual)
			}
			virtual = e.Virtual
		}
		hangAt(b, fmt.Sprintf("%s%4d %7.1f  %-*s  ", mark, e.Tick, float64(e.Micros)/1000, actors, e.Actor), 21, what)
	}
	none(b, len(events))
}

// seenArgs is the tick at which arguments were shown first.
type seenArgs map[string]int

// text is m as attrsText has it, and where that was shown before if it was and is long.
func (seen seenArgs) text(tick int, m map[string]any) string {
	s := attrsText(m)
	at, again := seen[s]
	if again && len(s) > len("{as at 100}") {
		return fmt.Sprintf("{as at %d}", at)
	}
	if !again {
		seen[s] = tick
	}
	return s
}

// eventText is what an event says beyond its kind.
func (seen seenArgs) eventText(e bench.Event) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if e.Request != "" {
		add("%s", e.Request)
	}
	if e.Link != "" && e.Conn > 0 {
		add("on %s %d/%d", e.Link, e.Conn, e.Exchange)
	}
	if e.Turn != "" {
		add("turn %s", e.Turn)
	}
	if c := e.Call; c != nil {
		add("%s", seen.callText(e.Tick, *c))
	}
	if e.Status != 0 {
		add("status %d", e.Status)
	}
	if e.Told != "" {
		add("told %q", e.Told)
	}
	if e.Truth != "" {
		add("truth: %s", e.Truth)
	}
	if w := e.Word; w != nil {
		add("%s", wordText(*w))
	}
	if o := e.Order; o != nil {
		add("%s", seen.orderText(e.Tick, *o))
	}
	if e.Text != "" {
		add("%s", e.Text)
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

func (seen seenArgs) callText(tick int, c bench.Call) string {
	s := c.Op
	if c.Class != "" {
		s += " " + c.Class
	}
	if len(c.Attrs) > 0 {
		s += " " + seen.text(tick, c.Attrs)
	}
	if n := len(c.Units); n > 1 {
		s += fmt.Sprintf(" and %d more", n-1)
	}
	if c.Key != "" {
		s += " key " + c.Key
	}
	if c.ID != "" {
		s += " id " + c.ID
	}
	return s
}

func wordText(w bench.Word) string {
	var parts []string
	for _, p := range []struct{ name, value string }{{"", w.Outcome}, {"receipts ", strings.Join(w.Receipts, " ")},
		{"event ", w.Event}, {"until ", w.Until}, {"why ", w.Why}, {"", w.Detail}} {
		if p.value != "" {
			parts = append(parts, p.name+p.value)
		}
	}
	if w.Ordinal > 0 {
		parts = append([]string{"call " + strconv.Itoa(w.Ordinal)}, parts...)
	}
	return strings.Join(parts, ", ")
}

func (seen seenArgs) orderText(tick int, o bench.Order) string {
	switch {
	case o.Start != nil:
		var tools []string
		for _, t := range o.Start.Tools {
			tools = append(tools, t.Name)
		}
		if len(tools) == 0 {
			return ""
		}
		return "tools " + strings.Join(tools, " ")
	case o.Turn != nil:
		s := strconv.Quote(o.Turn.Say)
		if o.Turn.Redelivered {
			s += " redelivered"
		}
		if o.Turn.Continues != "" {
			s += " continues " + o.Turn.Continues
		}
		for _, c := range o.Turn.Calls {
			s += fmt.Sprintf(", call %d %s %s", c.Ordinal, c.Tool, seen.text(tick, c.Args))
		}
		return s
	case o.Repair != nil:
		return fmt.Sprintf("of call %d: %s %s", o.Repair.Ordinal, o.Repair.Call.Tool, seen.text(tick, o.Repair.Call.Args))
	case o.Cancel != nil:
		return "call " + strconv.Itoa(o.Cancel.Ordinal)
	case o.Decide != nil:
		return fmt.Sprintf("call %d %s", o.Decide.Ordinal, o.Decide.Decision)
	case o.Event != nil:
		return o.Event.Kind
	case o.Proceed != nil:
		return o.Proceed.Event
	case o.Type == "clock":
		return "now " + o.Now
	}
	return ""
}

func effectText(e bench.Effect) string {
	s := fmt.Sprintf("%s: %s %s", e.Object, e.Class, attrsText(e.Attrs))
	if e.Sign < 0 {
		s = fmt.Sprintf("%s: undo of %s %s", e.Object, e.Class, attrsText(e.Attrs))
	}
	if e.Request == "" {
		s += ", from before the trial, or a stranger's"
	} else {
		s += fmt.Sprintf(", by %s, committed at tick %d", e.Request, e.Committed/bench.TickStep)
	}
	for _, p := range []struct{ name, value string }{{"undoes ", e.Undoes}, {"carried by ", e.CarriedBy}, {"harms ", e.Harms}} {
		if p.value != "" {
			s += ", " + p.name + p.value
		}
	}
	if e.Late {
		s += ", LATE"
	}
	return s
}

// attrsText is a map as key=value, sorted by key.
func attrsText(m map[string]any) string {
	parts := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		v, err := json.Marshal(m[k])
		if err != nil {
			v = fmt.Append(nil, m[k])
		}
		parts = append(parts, k+"="+strings.Trim(string(v), `"`))
	}
	return "{" + strings.Join(parts, " ") + "}"
}
