package bench

// Evidence is all that the judge may look at: one trial, condensed by a pure function from its history
// and the oracles' readings. It is saved before judging and never changed. Times are ticks: positions in
// the trial's ordered history; only their order counts.
type Evidence struct {
	Workload EvidenceWorkload `json:"workload"`
	Contract EvidenceContract `json:"contract"`
	Fault    EvidenceFault    `json:"fault"`
	Strike   StrikeRecord     `json:"strike"`
	Control  ControlRecord    `json:"control"` // filled by Grade; the zero value is "no control was run"
	Observed Observed         `json:"observed"`
	Claims   []ClaimRecord    `json:"claims"`
}

// EvidenceWorkload is the part of a workload that judging needs.
type EvidenceWorkload struct {
	Turns    []EvidenceTurn   `json:"turns,omitempty"` // only turns that ask for an old intent again
	Intents  []EvidenceIntent `json:"intents"`         // in the order in which they were asked for
	Outcomes []Outcome        `json:"outcomes"`        // the goal first
	Ordered  []string         `json:"ordered,omitempty"`
	Net      bool             `json:"net,omitempty"`
}

// EvidenceTurn is a turn that asks for an old intent again.
type EvidenceTurn struct {
	ID        int    `json:"id"`
	AsksAgain string `json:"asks_again"`
	Continues int    `json:"continues,omitempty"`
}

// EvidenceIntent is an intent as the judge sees it.
type EvidenceIntent struct {
	ID        string   `json:"id"`
	Turn      int      `json:"turn"` // the turn that first asked for it, from 1
	TwinOf    string   `json:"twin_of,omitempty"`
	Principal string   `json:"principal,omitempty"`
	Decision  Decision `json:"decision,omitempty"`
	Slots     []Slot   `json:"effects"`
}

// EvidenceContract is the contract in the dimensions that bound what a system can know.
type EvidenceContract struct {
	Says       string      `json:"says"`
	Advertised BoundTerms  `json:"advertised"`
	Actual     *BoundTerms `json:"actual,omitempty"` // nil: as advertised
}

// BoundTerms are the dimensions of a contract on which a bound rests.
type BoundTerms struct {
	KeyHours            float64  `json:"key_hours"` // retention of a replayable key in hours; 0: no key
	SavesFailures       bool     `json:"saves_failures,omitempty"`
	Unique              bool     `json:"unique,omitempty"`
	LookUp              string   `json:"look_up,omitempty"`        // none, authoritative, bounded, lags
	LookUpBy            string   `json:"look_up_by,omitempty"`     // identity (default) or attributes
	CommitsWithin       *float64 `json:"commits_within,omitempty"` // hours; nil: without limit
	NaturallyIdempotent bool     `json:"naturally_idempotent,omitempty"`

	Breaks KeyBreaks `json:"breaks,omitzero"`
	Short  bool      `json:"short,omitempty"` // there is no room for all that the goal asks for
}

// KeyBreaks are weaknesses of a key that show in some cells only.
type KeyBreaks struct {
	ClaimsStay     bool `json:"claims_stay,omitempty"`      // a crash of the provider leaves the key in use
	ForgetsOnError bool `json:"forgets_on_error,omitempty"` // a failure drops the record of what was committed
	Shared         bool `json:"shared,omitempty"`           // another account's equal key is the same key
	LatestOnly     bool `json:"latest_only,omitempty"`      // the next key makes the provider forget this one
}

// EvidenceFault is the fault as planned.
type EvidenceFault struct {
	Boundary           Boundary `json:"boundary"` // "none": this is the control run
	Strike             string   `json:"strike"`   // the variant
	Truth              Truth    `json:"truth"`    // what the plan demands at the strike
	Intent             string   `json:"intent"`   // the one struck
	HoursPass          float64  `json:"hours_pass,omitempty"`
	ProofOfNonDelivery bool     `json:"proof_of_non_delivery,omitempty"`
	ProviderCrash      bool     `json:"provider_crash,omitempty"`   // in some member of the class the provider crashes
	ProviderFailure    bool     `json:"provider_failure,omitempty"` // a failure answered by the provider itself
	Extent             string   `json:"extent,omitempty"`           // exchange (default), intent, forever
	TruthTold          bool     `json:"truth_told,omitempty"`       // the class has one member only, and what is observed tells its truth
}

// StrikeRecord is what the history shows of the strike.
type StrikeRecord struct {
	Reached bool   `json:"reached"`           // a call that the selector matches left the system
	Struck  bool   `json:"struck"`            // the history shows the strike at its boundary, and its condition in force
	Truth   Truth  `json:"truth,omitempty"`   // read at the strike
	Harness string `json:"harness,omitempty"` // an error of the harness: what came, what was expected; empty: none
}

// ControlRecord is the system's control run of the same workload.
type ControlRecord struct {
	Verdict string         `json:"verdict,omitempty"` // exact, safe, violation, itself; empty: none was run
	Extra   map[string]int `json:"extra,omitempty"`   // extras seen there, by slot
}

// Observed is what happened outside the system.
type Observed struct {
	Turns     []ObservedTurn     `json:"turns"`
	Decisions []ObservedDecision `json:"decisions,omitempty"`
	World     []ObservedObject   `json:"world,omitempty"`
	Requests  []ObservedRequest  `json:"requests"`
	Effects   []Effect           `json:"effects"`
	Dedup     []DedupRecord      `json:"dedup,omitempty"`
	End       string             `json:"end,omitempty"`  // idle (default) or hung
	Lost      bool               `json:"lost,omitempty"` // evidence is incomplete
}

// ObservedTurn is the handing over of a turn.
type ObservedTurn struct {
	Turn       int `json:"turn"`
	HandedOver int `json:"handed_over"`
}

// ObservedDecision is a decision and when the system received it.
type ObservedDecision struct {
	Intent   string   `json:"intent"`
	Decision Decision `json:"decision"`
	Received int      `json:"received"`
}

// ObservedObject is an object that was there, or made by a stranger, before the first turn.
type ObservedObject struct {
	Object    string         `json:"object"`
	Class     string         `json:"class"`
	Attrs     map[string]any `json:"attributes"`
	Principal string         `json:"principal,omitempty"`
}

// ObservedRequest is one request that arrived at the provider, in order of arrival.
type ObservedRequest struct {
	Request    string   `json:"request"`
	Intents    []string `json:"intents"` // by business attributes and turn; twins of one turn by count
	Dispatched int      `json:"dispatched"`
	Arrived    int      `json:"arrived"`
	NewOn      []string `json:"new_on"` // links with a new message for this attempt: redelivery, restart, model, agent link, provider link (outermost first)
	Told       string   `json:"told"`   // what the caller or model was told of this attempt: done, not executed, vague error, nothing
}

// Effect is one change of external state, read by an oracle, in order of commit.
type Effect struct {
	Object    string         `json:"object"`
	Request   string         `json:"request,omitempty"` // request that made it: by the provider's order of arrival, or by the earliest fitting arrival
	Committed int            `json:"committed"`         // tick
	Class     string         `json:"class"`
	Attrs     map[string]any `json:"attributes"`
	Sign      int            `json:"sign,omitempty"` // default 1
	Principal string         `json:"principal,omitempty"`
	Late      bool           `json:"late,omitempty"`
	Undoes    string         `json:"undoes,omitempty"`     // object that a compensation names
	CarriedBy string         `json:"carried_by,omitempty"` // object that an attached effect hangs on
	Harms     string         `json:"harms,omitempty"`      // object, of the world or wanted, that this effect spoilt
}

// DedupRecord is a stored dedup record bound to a request when it was answered.
type DedupRecord struct {
	By      string `json:"by"` // provider, toolserver, system
	Request string `json:"request"`
	Record  string `json:"record"` // an object, or "": nothing behind it
}

// Outcome words of a claim.
const (
	Done     = "done"     // it happened
	Failed   = "failed"   // it certainly did not and will not
	Unknown  = "unknown"  // it may have happened; the honest answer after a lost acknowledgement
	Partial  = "partial"  // some of it happened: the receipts say what
	Deferred = "deferred" // another worker has it
)

// ClaimRecord is what a system said of a call.
type ClaimRecord struct {
	Turn     int      `json:"turn"`
	Call     int      `json:"call"` // ordinal in the turn, from 1
	Intents  []string `json:"intents"`
	At       int      `json:"at"`
	Worker   string   `json:"worker,omitempty"`
	Claim    string   `json:"claim"`
	Receipts []string `json:"receipts,omitempty"`
	Detail   string   `json:"detail,omitempty"`
}
