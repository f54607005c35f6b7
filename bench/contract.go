package bench

import "time"

// Contract is what a provider promises (Advertised) and what it does (Actual). Contracts are data.
type Contract struct {
	Name       string `json:"name"`     // "stripe-v1"
	Provider   string `json:"provider"` // kind of the provider that can keep it
	Summary    string `json:"summary"`
	Source     string `json:"source,omitempty"` // where the rules come from
	Advertised Terms  `json:"advertised"`
	Actual     Terms  `json:"actual"` // equal to Advertised unless the provider breaks its promise
}

// Terms are the dimensions of an idempotency contract.
type Terms struct {
	Key                 KeyTerms       `json:"key"`
	LookUp              LookUpTerms    `json:"look_up"`
	Unique              []string       `json:"unique,omitempty"`               // attributes under a unique constraint; a second insert is refused
	CommitsWithin       *time.Duration `json:"commits_within,omitempty"`       // how long after a lost call it may still commit; nil: no limit is documented
	NaturallyIdempotent bool           `json:"naturally_idempotent,omitempty"` // the same call again leaves the same state
}

// KeyTerms describe deduplication by a key of the caller's. The zero value is "no key".
type KeyTerms struct {
	Location    string        `json:"location,omitempty"`    // "header:Idempotency-Key", "body:clientToken"; empty: no key
	MaxLength   int           `json:"max_length,omitempty"`  // characters
	Scope       string        `json:"scope,omitempty"`       // "account", "cluster"
	Retention   time.Duration `json:"retention,omitempty"`   // a key older than this executes anew
	ClockStart  string        `json:"clock_start,omitempty"` // "first-seen", "completed", "resource-end"
	Fingerprint string        `json:"fingerprint,omitempty"` // what binds a key: "none", "params", "params+path"
	Mismatch    string        `json:"mismatch,omitempty"`    // answer to another fingerprint: "400", "conflict", "silent"
	Concurrent  string        `json:"concurrent,omitempty"`  // answer while the first is in work: "conflict", "wait", "execute"
	Saves       string        `json:"saves,omitempty"`       // what is stored: "success", "executed" (failures of the execution too)
	Replay      string        `json:"replay,omitempty"`      // "stored", "current"
	Marker      string        `json:"marker,omitempty"`      // header that marks a replay
	InFlight    string        `json:"in_flight,omitempty"`   // where a key in work is noted: "memory" (default: a crash forgets it) or "durable" (a crash leaves it in use)
}

// LookUpTerms describe how the caller can ask whether an effect exists.
type LookUpTerms struct {
	Kind string        `json:"kind,omitempty"` // "none" (default), "authoritative", "bounded", "lags" (without a documented limit)
	By   string        `json:"by,omitempty"`   // "identity" (of the intent: a reference) or "attributes"
	Lag  time.Duration `json:"lag,omitempty"`  // with "bounded": documented limit, virtual time

	LagReads int           `json:"lag_reads,omitempty"` // look-ups after the commit that do not see it yet
	Forgets  time.Duration `json:"forgets,omitempty"`   // an older object is not found any more (closed, stopped); 0: never
}
