// Package report turns the judged trials of a run into cells and prints them: as sixthcopy/report/v1,
// whose JSON Schema lies beside this file, and as tables for a terminal.
//
// A cell is the trials that differ only by seed or repetition. Violations blame the system, invalid and
// unjudged trials blame the harness or nobody; no number here adds the two together, and no interval is
// taken over cells, because cells are no sample of anything.
package report

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/sixthcopy/sixthcopy/bench"
)

// SchemaID names the format. A field that goes or changes its meaning makes another version; fields
// may be added.
const SchemaID = "sixthcopy/report/v1"

// JSONSchema is the JSON Schema of the format (draft 2020-12).
//
//go:embed schema.json
var JSONSchema []byte

// Report is the whole report of a run.
type Report struct {
	Schema        string          `json:"schema"` // SchemaID
	Run           Run             `json:"run"`
	ControlsOK    bool            `json:"controls_ok"` // every control came out as known; the run is worth nothing if not
	Controls      []Control       `json:"controls"`
	Cells         []Cell          `json:"cells"`
	Classes       []Class         `json:"classes"`
	NotApplicable []NotApplicable `json:"not_applicable"`
	BrokenOff     []BrokenOff     `json:"-"` // cells have the reasons; the details hold times and addresses
}

// BrokenOff is how often a system broke off for a reason. Trial and Detail are of the first such trial,
// controls before others.
type BrokenOff struct {
	System, Reason string
	Trials         int // of these InControl without a fault
	InControl      int
	Trial          string
	Detail         string // what came, what was expected, what to do

	first keyedTrial
}

// Run says which run it was. In a normalised report only what two runs of the same seed share is left.
type Run struct {
	ID          string            `json:"id,omitempty"`
	Started     string            `json:"started,omitempty"` // RFC 3339, UTC
	Ended       string            `json:"ended,omitempty"`   // "" if the run did not end by itself
	Seconds     float64           `json:"seconds,omitempty"`
	Command     []string          `json:"command,omitempty"`
	Commit      string            `json:"commit,omitempty"`
	Dirty       bool              `json:"dirty,omitempty"`
	Machine     map[string]string `json:"machine,omitempty"`
	Versions    map[string]string `json:"versions,omitempty"`
	Suite       string            `json:"suite"`
	Seed        int64             `json:"seed"`
	Substrate   string            `json:"substrate"` // process, container
	PlanHash    string            `json:"plan_hash"`
	Planned     int               `json:"planned"` // trials
	Trials      int               `json:"trials"`  // trials in this report
	Interrupted bool              `json:"interrupted"`
	Normalised  bool              `json:"normalised"`
}

// Cell is what came of the trials that differ only by seed or repetition.
type Cell struct {
	System          string         `json:"system"`
	Workload        string         `json:"workload"`
	Contract        string         `json:"contract"`
	ProviderFault   bool           `json:"provider_fault"` // the contract breaks its promise
	Boundary        bench.Boundary `json:"boundary"`       // "none": the control
	Variant         string         `json:"variant"`
	Struck          string         `json:"struck"` // intent; "" in controls
	Substrate       string         `json:"substrate"`
	Class           string         `json:"class"` // "" in controls
	Trials          int            `json:"trials"`
	Exact           int            `json:"exact"` // trials by verdict, down to unjudged
	Safe            int            `json:"safe"`
	Violation       int            `json:"violation"`
	Invalid         int            `json:"invalid"`
	Unjudged        int            `json:"unjudged"`
	Unsteady        bool           `json:"unsteady"`          // valid repetitions disagree
	Extra           int            `json:"extra"`             // effects
	TrialsWithExtra int            `json:"trials_with_extra"` // trials
	Missing         int            `json:"missing"`           // units
	FalseDedup      int            `json:"false_dedup"`       // units
	Unresolved      int            `json:"unresolved"`        // intents
	Findings        map[string]int `json:"findings"`          // by name, summed over trials
	Marks           map[string]int `json:"marks"`             // trials that carry a mark: declined, not_reached, late, ...
	LatencyMS       float64        `json:"latency_ms"`        // median of valid trials, real time
	AddedLatencyMS  float64        `json:"added_latency_ms"`  // over the median of the system's control of the workload
	Attempts        int            `json:"attempts"`          // mutating requests that arrived at the provider, summed
	TimeInUnknownMS float64        `json:"time_in_unknown_ms"`
	Escalations     int            `json:"escalations"`
	LedgerBytes     int64          `json:"ledger_bytes"` // the most that a trial left
	InvalidReasons  map[string]int `json:"invalid_reasons"`
	Ended           map[string]int `json:"ended,omitempty"`     // trials in which the system broke off, by reason; they are judged all the same
	Causes          []Cause        `json:"causes,omitempty"`    // who made the extras, the most first
	Trial           string         `json:"trial"`               // for show: the first with the worst verdict
	Histories       string         `json:"histories,omitempty"` // hash of the normalised histories; in normalised reports only
}

// Cause is a layer that made extras, and what its caller had been told before.
type Cause struct {
	Layer  string `json:"layer"` // redelivery, restart, model, agent link, provider link, unknown
	Told   string `json:"told"`  // done, not executed, vague error, nothing
	Extras int    `json:"extras"`
}

// Class is what a system made of the cells that it cannot tell apart.
type Class struct {
	System   string     `json:"system"`
	Workload string     `json:"workload"`
	Class    string     `json:"class"`
	Bound    bench.Mark `json:"bound"`
	Mark     bench.Mark `json:"mark"`   // of the worst member
	Regret   *int       `json:"regret"` // rank(mark) - rank(bound); null: the run lacks members of the class
	Lucky    bool       `json:"lucky"`  // an exact member beside a violating one

	ProviderFault bool `json:"provider_fault"`    // the contract breaks its promise here
	LedgerOwes    bool `json:"ledger_owes_bound"` // the reference must reach the bound: no provider fault, or a look-up that is true
}

// NotApplicable is a cell that the plan left out, and why.
type NotApplicable struct {
	System   string         `json:"system"`
	Workload string         `json:"workload"`
	Boundary bench.Boundary `json:"boundary"`
	Variant  string         `json:"variant"` // "": every variant
	Reason   string         `json:"reason"`
}

// JSON writes the report, indented, in an order that hangs on its content only.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// sortAll puts everything into the order that readers see.
func (r *Report) sortAll() {
	slices.SortFunc(r.Cells, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.System, b.System), cmp.Compare(a.Workload, b.Workload),
			cmp.Compare(rank(a.Boundary), rank(b.Boundary)), cmp.Compare(a.Boundary, b.Boundary),
			cmp.Compare(a.Variant, b.Variant), cmp.Compare(a.Struck, b.Struck))
	})
	slices.SortFunc(r.BrokenOff, func(a, b BrokenOff) int {
		return cmp.Or(cmp.Compare(a.System, b.System), cmp.Compare(a.Reason, b.Reason))
	})
	slices.SortFunc(r.Classes, func(a, b Class) int {
		return cmp.Or(cmp.Compare(a.System, b.System), cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Class, b.Class))
	})
	slices.SortFunc(r.NotApplicable, func(a, b NotApplicable) int {
		return cmp.Or(cmp.Compare(a.System, b.System), cmp.Compare(a.Workload, b.Workload),
			cmp.Compare(rank(a.Boundary), rank(b.Boundary)), cmp.Compare(a.Boundary, b.Boundary),
			cmp.Compare(a.Variant, b.Variant), cmp.Compare(a.Reason, b.Reason))
	})
}

// rank orders boundaries: the control, the ten, then extensions.
func rank(b bench.Boundary) int {
	if b == bench.NoFault {
		return 0
	}
	if i := slices.Index(bench.Boundaries, b); i >= 0 {
		return i + 1
	}
	return len(bench.Boundaries) + 1
}
