package bench

// Trial is workload x fault x system x seed, planned.
type Trial struct {
	ID       string           `json:"id"` // short hash of all below; unique in a run
	Workload Workload         `json:"-"`
	Contract Contract         `json:"-"`
	Fault    Fault            `json:"fault"`
	System   string           `json:"system"`
	Kind     string           `json:"kind"`
	Direct   bool             `json:"direct,omitempty"` // the system calls the provider itself, by no tool server
	Struck   string           `json:"struck"`           // intent that the fault strikes; "" in controls
	Class    string           `json:"class"`            // class of the cell (design section 5): "" for controls
	Bound    Mark             `json:"bound"`            // of the class
	Offered  EvidenceContract `json:"offered"`          // the contract as far as the workload's tools let it through
	Shown    Shown            `json:"shown"`
	Seed     int64            `json:"seed"`
	Rep      int              `json:"rep"` // from 0
}

// Shown is what holds for the whole class of a trial's cell.
type Shown struct {
	Told            bool `json:"told,omitempty"`             // one member only, and what is shown tells its truth
	ProviderFailure bool `json:"provider_failure,omitempty"` // some member is a failure of the provider's own
	ProviderCrash   bool `json:"provider_crash,omitempty"`   // in some member the provider crashes
}

// Record is what a trial leaves behind: first the evidence, then the verdict.
type Record struct {
	Trial    Trial    `json:"trial"`
	History  []Event  `json:"history"`
	Evidence Evidence `json:"evidence"`
	Measures Measures `json:"measures"`
	Judged   Judged   `json:"judged"`

	Broke *SystemError `json:"broke,omitempty"` // why the system could not go on: a result, blamed on it by its silence
}

// Measures are the secondary figures of a trial.
type Measures struct {
	LatencyMS       float64 `json:"latency_ms"`         // real, from the first turn to the last claim
	VirtualMS       float64 `json:"virtual_ms"`         // virtual time passed from the first turn to the last claim
	Attempts        int     `json:"attempts"`           // mutating requests that arrived at the provider
	AgentCalls      int     `json:"agent_calls"`        // tool calls that arrived at the agent link
	TimeInUnknownMS float64 `json:"time_in_unknown_ms"` // virtual, from the strike to the next terminal claim on the struck intent
	Escalations     int     `json:"escalations"`
	LedgerBytes     int64   `json:"ledger_bytes"`
	Tokens          int64   `json:"tokens"`
}
