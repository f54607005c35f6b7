package bench

import "time"

// Wire contract v1: JSON objects, one a line. The harness writes Order values, the system writes Word
// values. Every order is acknowledged by an `ack` word with its Seq; the acknowledgement is its receipt.
// Field names are the contract; docs/wire-contract.md is the page for adapter authors.
const WireVersion = 1

// Order is a message from the harness to a system.
type Order struct {
	Type string `json:"type"` // start, turn, repair, cancel, decide, event, clock, proceed, reset
	Seq  int    `json:"seq"`  // from 1, rising; acknowledged by {"type":"ack","seq":N}
	Now  string `json:"now"`  // virtual time, RFC 3339

	Start   *StartOrder   `json:"start,omitempty"`
	Turn    *TurnOrder    `json:"turn,omitempty"`
	Repair  *RepairOrder  `json:"repair,omitempty"`
	Cancel  *CallRef      `json:"cancel,omitempty"`
	Decide  *DecideOrder  `json:"decide,omitempty"`
	Event   *EventOrder   `json:"event,omitempty"`
	Proceed *ProceedOrder `json:"proceed,omitempty"` // answers an `at`: go on
}

// StartOrder opens a trial in a process; reset closes it.
type StartOrder struct {
	Wire      int               `json:"wire"`
	Policy    string            `json:"policy,omitempty"`    // the manifest's own argument for it (variant of the system)
	StateDir  string            `json:"state_dir"`           // survives kills
	Restarted bool              `json:"restarted,omitempty"` // the same trial was begun by an earlier process
	Token     string            `json:"token,omitempty"`     // of the trial, for systems that dial in
	Tools     []OfferedTool     `json:"tools"`
	Providers map[string]string `json:"providers,omitempty"` // address by kind, for `client` systems
	Model     string            `json:"model,omitempty"`     // base URL, for runtimes
	Knobs     Knobs             `json:"knobs"`
}

// Knobs are what a trial may ask of a system; a manifest says which it has.
type Knobs struct {
	CallTimeoutMS int    `json:"call_timeout_ms,omitempty"`   // time-out of a tool call in virtual time; 0: off
	Recovery      string `json:"recovery,omitempty"`          // "own" (default) or "model": no resends of its own, a repair follows
	Events        bool   `json:"events,omitempty"`            // announce `at` events
	FreshConns    bool   `json:"fresh_connections,omitempty"` // a new connection for every call
}

// OfferedTool is a tool as a system is given it.
type OfferedTool struct {
	Name        string          `json:"name"`
	Address     string          `json:"address"` // base URL: the MCP endpoint, or the JSON base
	Transport   Transport       `json:"transport"`
	TakesKey    bool            `json:"takes_key"`       // has an idempotency_key argument that reaches the provider
	TakesRef    bool            `json:"takes_reference"` // has a reference argument that a look-up finds again
	ReadOnly    bool            `json:"read_only"`       // by the catalogue, not by annotation
	Annotations Annotations     `json:"annotations"`
	Contract    OfferedContract `json:"contract"`
	Arguments   []string        `json:"arguments,omitempty"` // names of the arguments that its schema has; empty: not told
}

// OfferedContract is the advertised contract in the one schema of the wire.
type OfferedContract struct {
	KeyRetentionS       float64 `json:"key_retention_s,omitempty"` // 0: no key
	SavesFailures       bool    `json:"saves_failures,omitempty"`
	LookUpTool          string  `json:"look_up_tool,omitempty"`
	LookUpArgument      string  `json:"look_up_argument,omitempty"` // argument that takes the reference
	LookUpBy            string  `json:"look_up_by,omitempty"`       // identity or attributes
	LookUpKind          string  `json:"look_up_kind,omitempty"`     // authoritative, bounded, lags
	LookUpLagS          float64 `json:"look_up_lag_s,omitempty"`    // with bounded
	CommitsWithinS      float64 `json:"commits_within_s,omitempty"` // 0 with CommitsWithinKnown false: no documented limit
	CommitsWithinKnown  bool    `json:"commits_within_known,omitempty"`
	Unique              bool    `json:"unique,omitempty"`
	NaturallyIdempotent bool    `json:"naturally_idempotent,omitempty"`
	ErrorsTyped         bool    `json:"errors_typed,omitempty"` // an answer that says "not executed" can be believed; false: wording proves nothing
}

// TurnOrder hands over a turn. The same turn and call ids come again when it is redelivered.
type TurnOrder struct {
	ID           string      `json:"id"`
	Conversation string      `json:"conversation"`
	Say          string      `json:"say"`
	Continues    string      `json:"continues,omitempty"` // turn id that this one continues
	Redelivered  bool        `json:"redelivered,omitempty"`
	Calls        []GivenCall `json:"calls,omitempty"` // without a model: the calls to make
}

// GivenCall is a call that a system without a model is given to make.
type GivenCall struct {
	Ordinal int            `json:"ordinal"` // in the turn, from 1
	ID      string         `json:"id"`      // tool-call id as a model would mint it
	Tool    string         `json:"tool"`
	Args    map[string]any `json:"args"`
}

// RepairOrder is the next tool call of the model in place of one whose answer was lost, whatever was claimed of it.
type RepairOrder struct {
	Turn    string    `json:"turn"`
	Ordinal int       `json:"ordinal"` // the call that it repairs
	Call    GivenCall `json:"call"`    // with a new call id
}

// CallRef names a call of a turn.
type CallRef struct {
	Turn    string `json:"turn"`
	Ordinal int    `json:"ordinal"`
}

// DecideOrder tells a human's decision on a call.
type DecideOrder struct {
	Turn     string   `json:"turn"`
	Ordinal  int      `json:"ordinal"`
	Decision Decision `json:"decision"`
}

// EventOrder is a provider's event (a webhook) handed to the system.
type EventOrder struct {
	Kind string         `json:"kind"`
	Body map[string]any `json:"body"`
}

// ProceedOrder answers an `at`.
type ProceedOrder struct {
	Event string `json:"event"`
}

// Word is a message from a system to the harness.
type Word struct {
	Type string `json:"type"` // ack, started, claim, ask, wait, at, idle, finished, error

	Seq int `json:"seq,omitempty"` // ack: the order that it acknowledges

	Wire     int               `json:"wire,omitempty"`     // started
	Versions map[string]string `json:"versions,omitempty"` // started
	Can      []string          `json:"can,omitempty"`      // started: abilities: turn, repair, cancel, decide, event, clock, at, wait, reset, timeout
	Kill     string            `json:"kill,omitempty"`     // started: what a kill hits

	Turn     string   `json:"turn,omitempty"`     // claim, ask, wait, at
	Ordinal  int      `json:"call,omitempty"`     // claim, ask, wait, at: ordinal in the turn
	Outcome  string   `json:"outcome,omitempty"`  // claim: done, failed, unknown, partial, deferred
	Receipts []string `json:"receipts,omitempty"` // claim: object ids
	Detail   string   `json:"detail,omitempty"`   // claim, ask, error: text for the reader

	Until string `json:"until,omitempty"` // wait: virtual time, RFC 3339; the system sleeps until a clock order reaches it
	Why   string `json:"why,omitempty"`   // wait: back-off, time-out, look-up lag, retention

	Event string `json:"event,omitempty"` // at: dispatching, result-delivered, next-model-call, state-written

	Escalations int   `json:"escalations,omitempty"`  // finished
	LedgerBytes int64 `json:"ledger_bytes,omitempty"` // finished: bytes of durable effect records
	Tokens      int64 `json:"tokens,omitempty"`       // finished
}

// Epoch is the virtual time at which every trial starts.
var Epoch = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
