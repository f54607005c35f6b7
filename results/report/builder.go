package report

import (
	"cmp"
	"slices"

	"github.com/sixthcopy/sixthcopy/bench"
)

// Builder gathers trials into cells. Trials may come in any order; the report is the same.
type Builder struct {
	run        Run
	normalised bool
	cells      map[cellKey]*gathered
	controls   *controls
	broken     map[[2]string]*BrokenOff // by system and reason
}

type cellKey struct {
	system, workload string
	boundary         bench.Boundary
	variant, struck  string
}

type gathered struct {
	cell      Cell
	latency   []float64
	unknown   []float64
	verdicts  map[bench.Verdict]bool // of valid trials
	histories []keyed
	worst     keyedTrial
}

// keyedTrial is a trial with what makes it come before others as the one to look at.
type keyedTrial struct {
	id    string
	grave int
	seed  int64
	rep   int
}

// gravity is how much a verdict asks to be looked at.
func gravity(v bench.Verdict) int {
	return slices.Index([]bench.Verdict{bench.Exact, bench.Safe, bench.Unjudged, bench.Invalid, bench.Violation}, v)
}

// look keeps the trial that is to be looked at first.
func (g *gathered) look(rec bench.Record) {
	t := keyedTrial{rec.Trial.ID, gravity(rec.Judged.Verdict), rec.Trial.Seed, rec.Trial.Rep}
	w := g.worst
	if w.id == "" || cmp.Or(w.grave-t.grave, cmp.Compare(t.seed, w.seed), t.rep-w.rep) < 0 {
		g.worst, g.cell.Trial = t, t.id
	}
}

type keyed struct {
	seed       int64
	rep        int
	normalised []byte
}

// NewBuilder begins the report of a run. With run.Normalised what differs between two runs of the
// same seed is left out or zero, and cells carry the hash of their histories: records must come with
// theirs then.
func NewBuilder(run Run) *Builder {
	if run.Normalised {
		run = Run{Versions: run.Versions, Suite: run.Suite, Seed: run.Seed, Substrate: run.Substrate, PlanHash: run.PlanHash,
			Planned: run.Planned, Interrupted: run.Interrupted, Normalised: true}
	}
	run.Trials = 0
	return &Builder{run: run, normalised: run.Normalised, cells: map[cellKey]*gathered{}, controls: newControls(),
		broken: map[[2]string]*BrokenOff{}}
}

// Add counts one trial.
func (b *Builder) Add(rec bench.Record) {
	t := rec.Trial
	b.run.Trials++
	b.controls.add(rec)
	if rec.Broke != nil {
		b.brokeOff(rec)
	}
	key := cellKey{t.System, t.Workload.Name, t.Fault.Boundary, t.Fault.Variant, t.Struck}
	g := b.cells[key]
	if g == nil {
		g = &gathered{verdicts: map[bench.Verdict]bool{}, cell: Cell{
			System: t.System, Workload: t.Workload.Name, Contract: t.Contract.Name, ProviderFault: rec.Evidence.Contract.Actual != nil, Boundary: t.Fault.Boundary, Variant: t.Fault.Variant, Struck: t.Struck,
			Substrate: b.run.Substrate, Class: t.Class, Findings: map[string]int{}, Marks: map[string]int{}, InvalidReasons: map[string]int{}}}
		b.cells[key] = g
	}
	g.add(rec)
	if b.normalised {
		g.histories = append(g.histories, keyed{t.Seed, t.Rep, Normalise(rec.History)})
	}
}

// brokeOff counts a trial in which the system broke off.
func (b *Builder) brokeOff(rec bench.Record) {
	t, k := rec.Trial, [2]string{rec.Trial.System, rec.Broke.Reason}
	o := b.broken[k]
	if o == nil {
		o = &BrokenOff{System: t.System, Reason: rec.Broke.Reason}
		b.broken[k] = o
	}
	o.Trials++
	this := keyedTrial{id: t.ID, seed: t.Seed, rep: t.Rep}
	if t.Fault.Boundary == bench.NoFault {
		o.InControl++
		this.grave = 1
	}
	f := o.first
	if f.id == "" || cmp.Or(f.grave-this.grave, cmp.Compare(this.seed, f.seed), this.rep-f.rep, cmp.Compare(this.id, f.id)) < 0 {
		o.first, o.Trial, o.Detail = this, this.id, rec.Broke.Detail
	}
}

func (g *gathered) add(rec bench.Record) {
	c, j := &g.cell, rec.Judged
	c.Trials++
	g.look(rec)
	if rec.Broke != nil {
		if c.Ended == nil {
			c.Ended = map[string]int{}
		}
		c.Ended[rec.Broke.Reason]++
	}
	switch j.Verdict {
	case bench.Unjudged:
		c.Unjudged++
		return // nobody looked: nothing else is known
	case bench.Invalid:
		c.Invalid++
		c.InvalidReasons[invalidReason(rec)]++
		return // it proves nothing, its counts neither
	case bench.Exact:
		c.Exact++
	case bench.Safe:
		c.Safe++
	case bench.Violation:
		c.Violation++
	}
	g.verdicts[j.Verdict] = true
	c.Unsteady = len(g.verdicts) > 1
	extra := j.Extra.Duplicate + j.Extra.Drifted + j.Extra.Stray
	c.Extra += extra
	if extra > 0 {
		c.TrialsWithExtra++
	}
	for _, cause := range j.Causes {
		i := slices.IndexFunc(c.Causes, func(o Cause) bool { return o.Layer == cause.Layer && o.Told == cause.Told })
		if i < 0 {
			c.Causes, i = append(c.Causes, Cause{Layer: cause.Layer, Told: cause.Told}), len(c.Causes)
		}
		c.Causes[i].Extras++
	}
	c.Missing += j.Missing
	c.FalseDedup += j.FalseDedup.StandIn + j.FalseDedup.Empty
	c.Unresolved += j.Unresolved.Escalated + j.Unresolved.Silent + j.Unresolved.Hung
	for name, n := range j.Findings {
		if n != 0 {
			c.Findings[name] += n
		}
	}
	for _, m := range j.Marks {
		c.Marks[m]++
	}
	if j.Declined {
		c.Marks["declined"]++
	}
	m := rec.Measures
	g.latency = append(g.latency, m.LatencyMS)
	g.unknown = append(g.unknown, m.TimeInUnknownMS)
	c.Attempts += m.Attempts
	c.Escalations += m.Escalations
	c.LedgerBytes = max(c.LedgerBytes, m.LedgerBytes)
}

// invalidReason is the judge's reason, with the harness's own words where it has some.
func invalidReason(rec bench.Record) string {
	reason := rec.Judged.InvalidBecause
	if reason == "" {
		reason = "no reason given"
	}
	if h := rec.Evidence.Strike.Harness; h != "" {
		reason += ": " + h
	}
	return reason
}

// Report closes the cells. Classes and what does not apply come from the plan and the grading.
func (b *Builder) Report(classes []Class, notApplicable []NotApplicable) *Report {
	r := &Report{Schema: SchemaID, Run: b.run, Cells: make([]Cell, 0, len(b.cells)),
		Classes: append([]Class{}, classes...), NotApplicable: append([]NotApplicable{}, notApplicable...)}
	calm := map[[2]string][]float64{} // latencies of controls, by system and workload
	for k, g := range b.cells {
		if k.boundary == bench.NoFault {
			calm[[2]string{k.system, k.workload}] = append(calm[[2]string{k.system, k.workload}], g.latency...)
		}
	}
	for k, g := range b.cells {
		c := g.cell
		if b.normalised {
			c.LedgerBytes = 0 // its length hangs on addresses and times
			c.Causes = nil    // where a call that was left and its repetition are in work at once, they hang on who is first
			c.Histories = g.hash()
		} else {
			c.LatencyMS, c.TimeInUnknownMS = median(g.latency), median(g.unknown)
			if base := calm[[2]string{k.system, k.workload}]; k.boundary != bench.NoFault && len(base) > 0 && len(g.latency) > 0 {
				c.AddedLatencyMS = c.LatencyMS - median(base)
			}
		}
		slices.SortFunc(c.Causes, func(a, b Cause) int {
			return cmp.Or(b.Extras-a.Extras, cmp.Compare(a.Layer, b.Layer), cmp.Compare(a.Told, b.Told))
		})
		r.Cells = append(r.Cells, c)
	}
	for _, o := range b.broken {
		r.BrokenOff = append(r.BrokenOff, *o)
	}
	r.Controls, r.ControlsOK = b.controls.result()
	r.sortAll()
	return r
}

func (g *gathered) hash() string {
	slices.SortFunc(g.histories, func(a, b keyed) int {
		if a.seed != b.seed {
			return int(min(max(a.seed-b.seed, -1), 1))
		}
		return a.rep - b.rep
	})
	all := make([][]byte, len(g.histories))
	for i, h := range g.histories {
		all[i] = h.normalised
	}
	return HashHistories(all)
}

// median is the middle value, or the mean of the two middle ones; 0 of none.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	if m := len(s) / 2; len(s)%2 == 1 {
		return s[m]
	} else {
		return (s[m-1] + s[m]) / 2
	}
}
