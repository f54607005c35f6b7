package bench

// Verdict is what the judge makes of a trial. The zero value is Unjudged and never counts as good.
type Verdict int

const (
	Unjudged  Verdict = iota // nobody looked
	Invalid                  // the trial proves nothing, for a reason of the harness; never blames the system
	Exact                    // no finding and the goal reached
	Safe                     // nothing false was said or done, but the goal was not reached, or nobody knows that it was
	Violation                // something was done or said that must not be
)

// Findings of a judged trial beside the four counts, by the name that reports print.
// In intents: false_success, false_failure, wrong_object, retracted. In effects: unauthorised, out_of_order,
// collateral, secondary_extra, secondary_missing. In answers: leak. 0 or 1: partial.
type Findings map[string]int

// Judged is what Judge returns for one trial.
type Judged struct {
	Verdict        Verdict    `json:"verdict"`
	InvalidBecause string     `json:"invalid_because,omitempty"` // strike not shown, truth not shown, harness error, evidence lost
	Bound          Mark       `json:"bound"`                     // of the class of the trial, by the contract and the fault alone
	Declined       bool       `json:"declined,omitempty"`        // another allowed outcome, with a true claim
	Extra          Extras     `json:"extra"`
	Missing        int        `json:"missing"` // units
	MissingSlots   []string   `json:"missing_slots,omitempty"`
	FalseDedup     FalseDedup `json:"false_dedup"`
	Unresolved     Unresolved `json:"unresolved"`
	Findings       Findings   `json:"findings"`
	Marks          []string   `json:"marks"` // late, fails_without_fault, provider_fault, ledger_owes_bound, not_reached; they change no verdict
	Causes         []Cause    `json:"causes"`
	RetryInduced   int        `json:"retry_induced"`
	Reason         string     `json:"reason"` // one sentence for the reader

	ExtraBySlot map[string]int `json:"extra_by_slot,omitempty"` // extras by the slot that they match or drift from; strays as "stray CLASS"
}

// Extras counts effects left over, each once.
type Extras struct {
	Duplicate   int `json:"duplicate"`
	Drifted     int `json:"drifted"`
	Stray       int `json:"stray"`
	Compensated int `json:"compensated"` // how many of these three the system undid
}

// FalseDedup counts units suppressed by a dedup record that is not an effect of their slot.
type FalseDedup struct {
	StandIn   int `json:"stand_in"`
	Empty     int `json:"empty"`
	Announced int `json:"announced"` // how many of these were claimed failed or unknown
}

// Unresolved counts intents whose outcome nobody knows.
type Unresolved struct {
	Escalated int `json:"escalated"`
	Silent    int `json:"silent"`
	Hung      int `json:"hung"`
	Avoidable int `json:"avoidable"` // how many of these a better behaviour would have known
}

// Cause names what made an extra.
type Cause struct {
	Layer string `json:"layer"` // outermost link with a new message before the extra attempt
	Told  string `json:"told"`  // what the caller or model had been told
}

// Mark is a bound, or a verdict seen as one.
type Mark string

const (
	MarkExact     Mark = "exact"
	MarkSafe      Mark = "safe"
	MarkViolation Mark = "violation"
)
