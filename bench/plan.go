package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// PlanSpec says what to run. Lists are in the order in which reports show them.
type PlanSpec struct {
	Suite      Suite
	Workloads  []Workload
	Contracts  map[string]Contract // by name
	Faults     []Fault
	Systems    []SystemFacts
	Tools      map[string]Tool
	Declare    func(name string, t ExternalTool) Tool // makes a tool that a workload declares
	Boundaries []Boundary                             // empty: all
	Repeat     int                                    // trials of each cell, at least 1
	Seed       int64
}

// SystemFacts is what the plan needs to know of a system: all of it from its manifest.
type SystemFacts struct {
	Name, Kind, Clock string
	Can               []string
	Providers         []string // kinds that it calls itself; empty: it calls tools
	Tools             []string // calls that it can make; empty: all
}

// Plan is what will be run: trials, the classes that their cells belong to, and what does not apply.
type Plan struct {
	Trials        []Trial
	Classes       []Class
	NotApplicable []NotApplicable
}

// Class is the cells of one workload and contract that give the system the same observations and differ
// only in the truth. Members are all that any suite has, so that a run can tell what it lacks.
type Class struct {
	Name     string   `json:"name"`
	Workload string   `json:"workload"`
	Contract string   `json:"contract"`
	Shows    string   `json:"shows"`
	Members  []string `json:"members"` // BOUNDARY VARIANT
	Truths   []string `json:"truths"`  // of each member: what is so, and whether it will be
	Bound    Mark     `json:"bound"`
	Shown    Shown    `json:"shown"`
	Direct   bool     `json:"direct,omitempty"`         // of systems that call the provider themselves
	Provider bool     `json:"provider_fault,omitempty"` // the contract breaks its promise
	Owes     bool     `json:"ledger_owes_bound"`        // the reference ledger owes the bound
}

// NotApplicable is a cell that is left out, and why.
type NotApplicable struct {
	System   string   `json:"system"` // empty: for every system
	Workload string   `json:"workload"`
	Boundary Boundary `json:"boundary"`
	Variant  string   `json:"variant"`
	Reason   string   `json:"reason"`
}

// MakePlan decides, before anything is run and from manifests and workloads alone, which trials there are.
func MakePlan(s PlanSpec) (Plan, error) {
	var plan Plan
	for _, w := range s.Workloads {
		contract, ok := s.Contracts[w.Provider.Contract]
		if !ok {
			return plan, fmt.Errorf("workload %s: contract %q is unknown", w.Name, w.Provider.Contract)
		}
		s := s // with the tools that this workload declares
		s.Tools = toolsOf(w, s.Tools, s.Declare)
		byTools, itself := plan.fitting(s, w)
		if len(byTools) > 0 {
			plan.cells(s, w, contract, byTools)
		}
		if len(itself) > 0 {
			plan.cells(s, directly(w, contract), contract, itself)
		}
	}
	return plan, nil
}

// fitting are the systems that can run a workload: through tools, and those that call its provider themselves.
func (p *Plan) fitting(s PlanSpec, w Workload) (byTools, itself []SystemFacts) {
	for _, sys := range s.Systems {
		switch reason := sys.shuns(w, s.Tools); {
		case reason != "":
			p.NotApplicable = append(p.NotApplicable, NotApplicable{System: sys.Name, Workload: w.Name, Boundary: NoFault, Variant: "control", Reason: reason})
		case len(sys.Providers) > 0:
			itself = append(itself, sys)
		default:
			byTools = append(byTools, sys)
		}
	}
	return byTools, itself
}

// cells plans the trials of a workload for systems that reach its provider in one way.
func (p *Plan) cells(s PlanSpec, w Workload, contract Contract, systems []SystemFacts) {
	classes := classesOf(w, contract, s.Faults, s.Tools)
	terms := offered(w, contract, s.Tools)
	chosen := s.choose(w, contract, classes)
	for _, sys := range systems {
		p.add(s, Trial{Workload: w, Contract: contract, Fault: Fault{Boundary: NoFault, Variant: "control", Truth: TruthNone},
			System: sys.Name, Kind: sys.Kind, Bound: controlBound(terms), Offered: terms})
	}
	for _, f := range s.Faults {
		placed, shaped, reason := place(f, w, contract, s.Tools)
		if !s.wants(f.Boundary) || reason == "" && !chosen[f.name()] {
			continue
		}
		if reason != "" {
			p.NotApplicable = append(p.NotApplicable, NotApplicable{Workload: w.Name, Boundary: f.Boundary, Variant: f.Variant, Reason: reason})
			continue
		}
		class := classes[f.name()]
		for _, sys := range systems {
			if reason := lacks(sys, f, w); reason != "" {
				p.NotApplicable = append(p.NotApplicable, NotApplicable{System: sys.Name, Workload: w.Name, Boundary: f.Boundary, Variant: f.Variant, Reason: reason})
				continue
			}
			for _, struck := range struckIntents(w) {
				t := Trial{Workload: reshape(shaped, struck, f), Contract: contract, Fault: placed, System: sys.Name, Kind: sys.Kind,
					Struck: struck, Class: class.Name, Bound: class.Bound, Shown: class.Shown, Offered: terms}
				p.add(s, t)
			}
		}
	}
	p.Classes = append(p.Classes, sortedClasses(classes)...)
}

// controlBound is the best that can be had where no fault strikes.
func controlBound(terms EvidenceContract) Mark {
	if terms.Advertised.Short {
		return MarkSafe
	}
	return MarkExact
}

// choose names the faults that the suite runs on a workload: quick, one variant for each boundary with its
// mirror; core, one for each boundary, class and truth, those of quick first; full, all.
func (s PlanSpec) choose(w Workload, c Contract, classes map[string]Class) map[string]bool {
	chosen := map[string]bool{}
	type kind struct {
		boundary     Boundary
		class, truth string
	}
	have, quick := map[kind]bool{}, map[Boundary]bool{}
	for _, first := range []bool{true, false} {
		for _, f := range s.Faults {
			placed, _, reason := place(f, w, c, s.Tools)
			if reason != "" || f.Quick != first {
				continue
			}
			k := kind{f.Boundary, classes[f.name()].Name, placed.truthKind(c)}
			switch s.Suite {
			case SuiteQuick:
				if f.Drift != "" {
					chosen[f.name()] = f.Drift == w.Drifts[0].Name
				} else if first || w.Direct && !quick[f.Boundary] { // quick variants that need a tool server have a stand-in
					chosen[f.name()] = true
				}
				quick[f.Boundary] = quick[f.Boundary] || first
			case SuiteCore, SuiteProviders:
				if !have[k] {
					have[k], chosen[f.name()] = true, true
				}
			case SuiteFull:
				chosen[f.name()] = true
			}
		}
	}
	return chosen
}

func (s PlanSpec) wants(b Boundary) bool {
	return len(s.Boundaries) == 0 || slices.Contains(s.Boundaries, b)
}

// name is a fault's name in a class: boundary and variant.
func (f Fault) name() string { return string(f.Boundary) + " " + f.Variant }

// crashes tells whether the provider crashes under the struck call.
func (f Fault) crashes() bool {
	for _, a := range f.Meets {
		if a.Act == CrashAct {
			return true
		}
	}
	return false
}

// truthKind is what is so at the strike, and whether what is in work will come to be.
func (f Fault) truthKind(c Contract) string {
	kind := string(f.Truth)
	if a, ok := f.Meets[BeforeCommit]; ok && a.Act == Rollback && f.Truth == TruthInFlight {
		kind += ", never commits"
	}
	if f.Reissued == "twin" {
		kind += ", and a second one is wanted"
	}
	if f.ProviderFailure {
		kind += ", and the provider's own failure, which it may have saved"
	}
	if f.crashes() && (c.Advertised.Key.InFlight == "durable" || c.Actual.Key.InFlight == "durable") {
		kind += ", and a crash, which may have left the key in use"
	}
	return kind
}

// add puts a trial into the plan, once for each repetition.
func (p *Plan) add(s PlanSpec, t Trial) {
	for rep := 0; rep < max(1, s.Repeat); rep++ {
		t.Rep, t.Seed, t.Direct = rep, s.Seed+int64(rep), t.Workload.Direct
		sum := sha256.Sum256([]byte(strings.Join([]string{t.System, t.Workload.Name, t.Contract.Name, t.Fault.name(), t.Struck, fmt.Sprint(t.Seed), fmt.Sprint(rep)}, "\x00")))
		t.ID = hex.EncodeToString(sum[:6])
		p.Trials = append(p.Trials, t)
	}
}

// struckIntents are the intents of a workload that faults strike: those that it names, else the first.
func struckIntents(w Workload) []string {
	if len(w.Inject.Intents) > 0 {
		return w.Inject.Intents
	}
	return []string{w.Turns[0].Intents[0].ID}
}

// intent finds an intent of a workload.
func (w Workload) intent(id string) Intent {
	for _, t := range w.Turns {
		for _, in := range t.Intents {
			if in.ID == id {
				return in
			}
		}
	}
	return Intent{}
}

// place fits a fault to a workload's topology, or says why it does not apply. The workload comes back with
// what the fault makes of its tools.
func place(f Fault, w Workload, c Contract, tools map[string]Tool) (Fault, Workload, string) {
	if len(w.Inject.Boundaries) > 0 && !slices.Contains(w.Inject.Boundaries, f.Boundary) {
		return f, w, "the workload leaves this boundary out"
	}
	in := w.intent(struckIntents(w)[0])
	use := w.Tools[in.Call.Tool]
	if w.Provider.External != nil {
		var reason string
		if f, reason = outside(f); reason != "" {
			return f, w, reason
		}
	}
	if w.Direct {
		var reason string
		if f, reason = unmediated(f); reason != "" {
			return f, w, reason
		}
	}
	if f.OnlyMCP && use.Transport == TransportJSON {
		return f, w, "plain JSON over HTTP has neither events nor sessions"
	}
	if f.Pass != "" && c.Advertised.Key.Location == "" {
		return f, w, "the contract has no token that could expire"
	}
	if f.Pass != "" && use.Key == KeyNone && in.Slots != nil {
		return f, w, "the tool sends no token that could expire"
	}
	if f.Drift != "" && !slices.ContainsFunc(w.Drifts, func(d Drift) bool { return d.Name == f.Drift }) {
		return f, w, "the workload has no such drift"
	}
	if f.Reissued == "twin" {
		switch tool := tools[in.Call.Tool]; {
		case len(in.Slots) == 0:
			return f, w, "a read has no effect that could be wanted twice"
		case c.Advertised.NaturallyIdempotent || c.Advertised.guards(tool, use):
			return f, w, "there can be only one effect of the same words, so nobody can want a second"
		case tool != nil && leastDisagreement(in.Slots, tool.Parse(in.Call.Args)) > 0:
			return f, w, "the same words do not ask for an equal effect the second time"
		}
	}
	if limit := c.Actual.CommitsWithin; f.Pass != "" && f.Truth == TruthInFlight && limit != nil && *limit < c.Passes(f.Pass) {
		return f, w, "the contract lets no call commit as late as that"
	}
	if len(in.Slots) == 0 { // a read: there is nothing to commit, so both truths are one
		if _, rolled := f.Meets[BeforeCommit]; rolled {
			return f, w, "a read commits nothing: the mirror would be the same"
		}
		if f.Withdrawn {
			return f, w, "a read has no effect that could be withdrawn"
		}
		f.Truth = TruthNone
		if f.Park == Committed || f.Park == BeforeCommit {
			f.Park = BeforeResponse
			m := map[Point]Action{}
			for p, a := range f.Meets {
				if p == Committed {
					p = BeforeResponse
				}
				m[p] = a
			}
			f.Meets = m
		}
	}
	return f, w, ""
}

// lacks says which ability a fault needs that a system does not have; "": none.
func lacks(sys SystemFacts, f Fault, w Workload) string {
	if f.Pass != "" && sys.Clock == "wall" {
		return "the system keeps time by the wall clock, which does not pass a retention here"
	}
	for _, d := range w.Drifts {
		if d.Name == f.Drift && d.Tool != "" && len(sys.Tools) > 0 && !slices.Contains(sys.Tools, d.Tool) {
			return "system.yaml does not list " + d.Tool + " in `tools`"
		}
	}
	for _, need := range f.Needs {
		if !slices.Contains(sys.Can, need) {
			return "system.yaml does not list `" + need + "` in `can`"
		}
	}
	return ""
}

// reshape is the workload as the fault makes it: the goal withdrawn, or issued again by a turn behind the
// one that was cancelled.
func reshape(w Workload, struck string, f Fault) Workload {
	if f.Withdrawn {
		w.Outcomes = withdrawn(w, struck)
	}
	if f.Reissued == "" {
		return w
	}
	twin := twinOf(w.intent(struck))
	if f.Reissued == "twin" {
		w.Outcomes = wantedTwice(w.Outcomes, w.intent(struck), twin)
	}
	var turns []Turn
	for _, t := range w.Turns {
		turns = append(turns, t)
		if !slices.ContainsFunc(t.Intents, func(in Intent) bool { return in.ID == struck }) {
			continue
		}
		again := Turn{ID: t.ID + "-again", Say: t.Say, AsksAgain: struck}
		switch f.Reissued {
		case "continues":
			again.Continues = t.ID
		case "twin":
			again.AsksAgain, again.Intents = "", []Intent{twin}
		}
		turns = append(turns, again)
	}
	w.Turns = turns
	return w
}

// twinOf is a second, equal intent.
func twinOf(in Intent) Intent {
	in.TwinOf, in.ID = in.ID, in.ID+"-twin"
	var slots []Slot
	for _, s := range in.Slots {
		s.Name += "-twin"
		if s.AttachedTo != "" {
			s.AttachedTo += "-twin"
		}
		slots = append(slots, s)
	}
	in.Slots = slots
	return in
}

// wantedTwice is O(I) when an intent has got a twin: what an outcome gives the one it gives the other too.
func wantedTwice(outcomes []Outcome, in, twin Intent) []Outcome {
	both := func(counts map[string]int) map[string]int {
		out := maps.Clone(counts)
		for i, s := range in.Slots {
			if n, ok := counts[s.Name]; ok {
				out[twin.Slots[i].Name] = n
			}
		}
		return out
	}
	var out []Outcome
	for _, o := range outcomes {
		o.Counts, o.AtMost = both(o.Counts), both(o.AtMost)
		out = append(out, o)
	}
	return out
}

// withdrawn is O(I) when an intent is withdrawn: the goal is all of the others, and what the withdrawn one
// had set off already is allowed beside it.
func withdrawn(w Workload, struck string) []Outcome {
	counts := map[string]int{}
	for _, t := range w.Turns {
		for _, in := range t.Intents {
			for _, s := range in.Slots {
				if in.ID != struck && s.AttachedTo == "" {
					counts[s.Name] = s.Count
				}
			}
		}
	}
	if len(counts) == 0 {
		return []Outcome{{Word: "none"}, {Word: "all"}}
	}
	return []Outcome{{Counts: counts}, {Word: "all"}}
}

// workloadEvidence is a workload as the judge sees it, with the decisions that came of it.
func workloadEvidence(w Workload, decisions []ObservedDecision) EvidenceWorkload {
	ev := EvidenceWorkload{Outcomes: w.Outcomes, Ordered: w.Ordered, Net: w.Net}
	index := map[string]int{}
	for i, turn := range w.Turns {
		index[turn.ID] = i + 1
		for _, in := range turn.Intents {
			e := EvidenceIntent{ID: in.ID, Turn: i + 1, TwinOf: in.TwinOf, Principal: in.Principal, Decision: in.Decision, Slots: in.Slots}
			for _, d := range decisions {
				if d.Intent == in.ID {
					e.Decision = d.Decision
				}
			}
			ev.Intents = append(ev.Intents, e)
		}
		if turn.AsksAgain != "" {
			ev.Turns = append(ev.Turns, EvidenceTurn{ID: i + 1, AsksAgain: turn.AsksAgain, Continues: index[turn.Continues]})
		}
	}
	return ev
}
