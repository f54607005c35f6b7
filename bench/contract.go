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

// Terms are the dimensions of an idempotency contract. docs/contracts.md shows them side by side.
type Terms struct {
	Key                 KeyTerms            `json:"key"`
	LookUp              LookUpTerms         `json:"look_up"`
	Unique              map[string][]string `json:"unique,omitempty"`               // effect class -> attributes under a unique constraint; a second one is refused
	UniqueLag           time.Duration       `json:"unique_lag,omitempty"`           // how young an object may be and yet be overlooked by the constraint; 0: none is
	CommitsWithin       *time.Duration      `json:"commits_within,omitempty"`       // how long after a lost call it may still commit; nil: no limit is documented
	NaturallyIdempotent bool                `json:"naturally_idempotent,omitempty"` // the same call again leaves the same state
	Closes              time.Duration       `json:"closes,omitempty"`               // an object ends by itself that long after it was made; 0: never
	Capacity            int                 `json:"capacity,omitempty"`             // of the objects that one call asks for so many are made, the rest fail; 0: all
}

// KeyTerms describe deduplication by a key of the caller's. The zero value is "no key".
type KeyTerms struct {
	Location  string `json:"location,omitempty"`   // "header:Idempotency-Key", "body:clientToken" (JSON), "form:ClientToken", "query:requestId", "entry:NAME" (one for each entry of a batch, kept by the kind); empty: no key
	Syntax    string `json:"syntax,omitempty"`     // "" any text, "sf-string" (a quoted string, RFC 9651), "uuid"
	MaxLength int    `json:"max_length,omitempty"` // characters; 0: no limit
	Required  bool   `json:"required,omitempty"`   // a mutation without a key is refused

	FromContent bool `json:"from_content,omitempty"` // without a key the provider takes a digest of the content for one: an equal call is a repetition

	Scope       string   `json:"scope,omitempty"`       // in which a key is unique: "account", with attributes of the call or "path" behind a + ("account+cluster"), or "everybody"
	Fingerprint string   `json:"fingerprint,omitempty"` // what binds a key: "none", "params", "params+path"
	Ignores     []string `json:"ignores,omitempty"`     // parameters that the fingerprint leaves out
	Mismatch    string   `json:"mismatch,omitempty"`    // answer to another fingerprint: a status ("400", "409", "422"), "conflict" (409, names what is there), "silent" (as if it were equal)

	Retention  time.Duration `json:"retention,omitempty"`   // how long an answer is kept; a key older than this executes anew
	ClockStart string        `json:"clock_start,omitempty"` // of the retention: "first-seen", "completed", "resource-end"
	AfterEnd   time.Duration `json:"after_end,omitempty"`   // with "resource-end": kept so long past the end of the last object, and no longer than Retention from first sight
	FailedFor  time.Duration `json:"failed_for,omitempty"`  // how long a failure is kept, where failures are saved, from completion; 0: as an answer
	ClaimFor   time.Duration `json:"claim_for,omitempty"`   // how long a durable note of a key in work bars it, from first sight; 0: for the retention

	Concurrent string `json:"concurrent,omitempty"` // answer while the first is in work: "conflict", "wait", "execute"
	InFlight   string `json:"in_flight,omitempty"`  // where a key in work is noted: "memory" (default: a crash forgets it) or "durable" (a crash leaves it in use)
	Saves      string `json:"saves,omitempty"`      // what is kept: "success", "final" (2xx and 4xx), "executed" (5xx too), "resumes" (failures are executed again to their end)
	Replay     string `json:"replay,omitempty"`     // "stored", "current" (the object as it is now), "conflict" (a 409 that names the object)
	Marker     string `json:"marker,omitempty"`     // what marks a replay: a header's name, or "status 200"; empty: nothing

	ForgetsOnError bool `json:"forgets_on_error,omitempty"` // any failure drops the key's record, though something was committed
	LatestOnly     bool `json:"latest_only,omitempty"`      // a new key makes the provider forget the ones before it
}

// LookUpTerms describe how the caller can ask whether an effect exists.
type LookUpTerms struct {
	Kind string        `json:"kind,omitempty"` // "none" (default), "authoritative", "bounded", "lags" (without a documented limit)
	By   string        `json:"by,omitempty"`   // "identity" (of the intent: a reference) or "attributes"
	Lag  time.Duration `json:"lag,omitempty"`  // with "bounded": documented limit, virtual time

	LagReads int           `json:"lag_reads,omitempty"` // look-ups after the commit that do not see it yet
	Forgets  time.Duration `json:"forgets,omitempty"`   // an older object is not found any more (closed, stopped); 0: never
}

// Promises is how long after the first attempt a caller may count on its key. Under a clock that starts when
// the resource ends, nobody knows beforehand how soon that is.
func (t Terms) Promises() time.Duration {
	if t.Key.ClockStart != "resource-end" {
		return t.Key.Retention
	}
	return min(t.Key.Retention, t.Closes+t.Key.AfterEnd)
}

// Keeps is how long after the first attempt the key of an object that nobody ends is kept.
func (t Terms) Keeps() time.Duration {
	if t.Key.ClockStart != "resource-end" || t.Closes == 0 {
		return t.Key.Retention
	}
	return t.Promises()
}

// Passes is the virtual time that passes: just inside is inside what is promised and what is kept, past is
// past what is kept. A key that is kept for no time at all is measured by its promise.
func (c Contract) Passes(p Passage) time.Duration {
	said, kept := c.Advertised.Promises(), c.Actual.Keeps()
	if kept == 0 {
		kept = said
	}
	switch p {
	case JustInside:
		return min(said, kept) - time.Minute
	case JustPast:
		return kept + time.Minute
	case DaysLater:
		return kept + 72*time.Hour
	}
	return 0
}
