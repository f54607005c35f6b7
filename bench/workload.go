package bench

// Workload is one checked workload file: what the user asks for, in turns, and what may come of it.
type Workload struct {
	Name     string             `json:"name"`
	Summary  string             `json:"summary"`
	Provider ProviderUse        `json:"provider"`
	World    []WorldEffect      `json:"world,omitempty"`
	Tools    map[string]ToolUse `json:"tools"`
	Turns    []Turn             `json:"turns"`
	Outcomes []Outcome          `json:"outcomes"`          // O(I); the first is the goal
	Ordered  []string           `json:"ordered,omitempty"` // slots whose effects must commit in this order
	Net      bool               `json:"net,omitempty"`     // count in the present state, not in history
	Inject   Inject             `json:"inject"`
	Repair   Repair             `json:"repair"`
	Direct   bool               `json:"direct,omitempty"` // set by the plan: the system calls the provider itself
	Drifts   []Drift            `json:"drifts,omitempty"` // what boundary parameter-drift may change, in the order of DriftNames
}

// ProviderUse names the provider of a workload and the contract that it keeps.
type ProviderUse struct {
	Kind     string `json:"kind"`     // "payments", "tasks", ...
	Contract string `json:"contract"` // "stripe-v1", "ecs-run-task", ...

	External *External `json:"external,omitempty"` // one that the harness did not make: kind KindExternal
}

// WorldEffect is an object that exists, or that a stranger makes, before the first turn.
type WorldEffect struct {
	Class     string         `json:"class"`
	Attrs     map[string]any `json:"attributes"`
	Principal string         `json:"principal,omitempty"`
}

// ToolUse says how a workload offers a tool of the catalogue to the system.
type ToolUse struct {
	Key         KeyUse      `json:"key,omitempty"`        // how the provider's idempotency key is filled; default KeyNone
	Transport   Transport   `json:"transport,omitempty"`  // default TransportMCP
	Annotations Annotations `json:"annotations"`          // may lie
	Errors      ErrorStyle  `json:"errors,omitempty"`     // default ErrorsVague
	Connection  string      `json:"connection,omitempty"` // reserved for the plan: "fresh" or "reused"; empty in files
	Memory      bool        `json:"memory,omitempty"`     // its servers hold instance-local memory of answers, behind a sticky balancer

	External *ExternalTool `json:"external,omitempty"` // declared by the workload itself: no tool of the catalogue
}

// KeyUse says who fills the provider's idempotency key behind a tool.
type KeyUse string

const (
	KeyNone     KeyUse = "none"     // the tool sends no key
	KeyArgument KeyUse = "argument" // the tool takes an idempotency_key argument and passes it on
	KeyMinted   KeyUse = "minted"   // the tool server mints one per call that it receives
	KeyRequest  KeyUse = "request"  // the tool server derives one from the JSON-RPC id
	KeyMeta     KeyUse = "meta"     // the tool server derives one from _meta (the agent's call id)
)

// Transport is the wire between the agent and a tool server.
type Transport string

const (
	TransportMCP         Transport = "mcp"          // streamable HTTP, stateless, 2026-07-28
	TransportMCPSessions Transport = "mcp-sessions" // streamable HTTP with sessions, 2025-11-25
	TransportJSON        Transport = "json"         // plain JSON over HTTP: POST /tools/NAME
)

// Annotations are the MCP hints that a tool carries; they need not be true.
type Annotations struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
}

// ErrorStyle is the wording of a tool's errors.
type ErrorStyle string

const (
	ErrorsTyped ErrorStyle = "typed" // says what is known: not executed, unknown, refused
	ErrorsVague ErrorStyle = "vague" // one text for everything
	ErrorsLying ErrorStyle = "lying" // says "not executed" whatever happened
)

// Turn is one message of the user with the intents that it carries.
type Turn struct {
	ID        string   `json:"id"` // t1, t2, ... unless the file names it
	Say       string   `json:"say"`
	Intents   []Intent `json:"intents"`
	AsksAgain string   `json:"asks_again,omitempty"` // id of an intent that this turn asks for again
	Continues string   `json:"continues,omitempty"`  // id of the turn that this one continues; the system is told
	Overlap   bool     `json:"overlap,omitempty"`
}

// Intent is one thing that the user asked for. Its id is known to the harness only.
type Intent struct {
	ID        string   `json:"id"`
	TwinOf    string   `json:"twin_of,omitempty"`
	Principal string   `json:"principal,omitempty"`
	Decision  Decision `json:"decision,omitempty"` // default Approved
	Call      ToolCall `json:"call"`
	Slots     []Slot   `json:"effects"` // none for a read-only call
}

// Decision is what a human said of an intent.
type Decision string

const (
	Approved  Decision = "approved"
	Denied    Decision = "denied"
	Withdrawn Decision = "withdrawn"
)

// ToolCall is the call that a system without a model is given to make.
type ToolCall struct {
	Tool string         `json:"tool"`
	Args map[string]any `json:"args"`
}

// Slot is a place for an effect: a class, business attributes to match, and a multiplicity.
type Slot struct {
	Name       string         `json:"slot"` // unique in the workload; INTENT or INTENT/n unless the file names it
	Class      string         `json:"class"`
	Match      map[string]any `json:"match"`
	Count      int            `json:"count"`                 // default 1
	Sign       int            `json:"sign"`                  // 1 (default) or -1
	AttachedTo string         `json:"attached_to,omitempty"` // slot whose effects carry this one
}

// Outcome is one member of O(I): units per slot. Slots that are not named have none.
// All and None are spelled by the words `all` and `none` in a file.
type Outcome struct {
	Word   string         `json:"word,omitempty"`    // "all", "none" or ""
	Counts map[string]int `json:"counts,omitempty"`  // with Word == ""
	AtMost map[string]int `json:"at_most,omitempty"` // any number of units up to these is this outcome
}

// Inject says where faults may strike this workload.
type Inject struct {
	Boundaries []Boundary `json:"boundaries"` // empty: all
	Intents    []string   `json:"intents"`    // intents to strike; empty: the first
}

// Repair is what the scripted model does after an error.
type Repair struct {
	Kind  string         `json:"kind"`            // give-up, same, drift, rephrase, other-tool, ask, fresh-key, keep-key
	Drift map[string]any `json:"drift,omitempty"` // arguments that a drift changes
	Tool  string         `json:"tool,omitempty"`  // with other-tool
}

// Drift is one way in which a model may change the struck call when it makes it again. Args are the
// arguments that it changes or adds; with Tool they are all arguments of the call of that other tool.
type Drift struct {
	Name string         `json:"name"` // one of DriftNames
	Args map[string]any `json:"args"`
	Tool string         `json:"tool,omitempty"` // with other-tool
}

// DriftNames lists the kinds of drift: an optional field more, 2500 written "2500.00", free text in other
// words, another name of the target, another tool.
var DriftNames = []string{"optional-field", "number-format", "free-text", "target-alias", "other-tool"}
