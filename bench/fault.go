package bench

import "time"

// Boundary is a named point in the life of an attempt where a fault can strike.
type Boundary string

const (
	NoFault                 Boundary = "none" // the control
	BeforeDispatch          Boundary = "before-dispatch"
	ReceivedBeforeCommit    Boundary = "received-before-commit"
	CommittedBeforeResponse Boundary = "committed-before-response"
	ResponseAtToolServer    Boundary = "response-at-tool-server"
	DuringCancellation      Boundary = "during-cancellation"
	TimeoutBeforeCompletion Boundary = "timeout-before-completion"
	CrashRestart            Boundary = "crash-restart"
	OtherInstance           Boundary = "other-instance"
	TokenExpired            Boundary = "token-expired"
	ParameterDrift          Boundary = "parameter-drift"
)

// Boundaries lists the ten in the order in which reports show them.
var Boundaries = []Boundary{
	BeforeDispatch, ReceivedBeforeCommit, CommittedBeforeResponse, ResponseAtToolServer, DuringCancellation,
	TimeoutBeforeCompletion, CrashRestart, OtherInstance, TokenExpired, ParameterDrift,
}

// Point is a place on the path of a call where the gate sees it arrive and can park it.
//
//	agent -> [agent link] -> balancer -> tool server -> [provider link] -> provider
type Point string

const (
	AgentRequest     Point = "agent-link/request"       // whole request at the agent link, nothing forwarded
	AgentResponse    Point = "agent-link/response"      // whole answer (the JSON-RPC result) at the agent link, nothing of the result forwarded
	ProviderRequest  Point = "provider-link/request"    // whole request at the provider link, nothing forwarded
	ProviderResponse Point = "provider-link/response"   // whole answer at the provider link, nothing forwarded
	Received         Point = "provider/received"        // provider has the whole request, no transaction yet
	BeforeCommit     Point = "provider/before-commit"   // everything executed and the answer rendered, transaction open
	Committed        Point = "provider/committed"       // committed durably, no byte of the answer written
	BeforeResponse   Point = "provider/before-response" // the same for answers that commit nothing: replay, conflict, refusal, read
	AgentEvent       Point = "agent/event"              // the agent announced an event (at) and waits
)

// Truth is what is so in the outside world at a strike.
type Truth string

const (
	TruthNothing   Truth = "nothing"
	TruthCommitted Truth = "committed"
	TruthInFlight  Truth = "in-flight"
	TruthPartly    Truth = "partly"
	TruthNone      Truth = "none" // the call commits nothing whatever happens: a read
)

// Act is what the gate makes a point do with an arrived message.
type Act string

const (
	Pass     Act = "pass"     // let it go on
	Reset    Act = "reset"    // RST to the side that waits for the answer
	Close    Act = "close"    // clean end (FIN) without a byte of the answer
	Swallow  Act = "swallow"  // nothing comes, the connection stays: a black hole, until the client leaves or the gate ends it
	Truncate Act = "truncate" // head and part of the body, then the end
	Replace  Act = "replace"  // another answer instead (Status, Body): an edge in between
	Rollback Act = "rollback" // provider only: render, roll everything back, the key's record included, answer the same bytes
	Fail     Act = "fail"     // provider only: the provider itself answers Status; what was committed stays (a saved failure where the contract saves failures)
	CrashAct Act = "crash"    // provider only: connections reset, store handle dropped with what was uncommitted, store opened again
)

// Action is an Act with its parameters.
type Action struct {
	Act    Act    `json:"act"`
	Status int    `json:"status,omitempty"` // HTTP status, with Replace and Fail
	Body   string `json:"body,omitempty"`   // with Replace
	Bytes  int    `json:"bytes,omitempty"`  // with Truncate: bytes of the body to let through (an SSE event counts as body)
}

// Arrival is one message seen at a point. Links, providers and agents hand arrivals to the gate.
type Arrival struct {
	Point    Point
	Link     string // name of the link ("agent", "provider/1"); empty at the provider: it takes the listener's name
	Conn     int    // ordinal of the connection on its link, from 1
	Exchange int    // ordinal of the exchange on its connection, from 1 (1 is fresh, more is reused)
	Call     Call   // what the message asks for; at responses, of the request that it answers
	Request  string // provider only: name of the request, r1, r2 ... in order of arrival
	Status   int    // responses: HTTP status
	Told     string // agent-link responses: done, not executed, vague error
	Note     string // what else a reader of the history wants to know
}

// Call is a parsed request in business terms: what the selector and the attribution look at.
type Call struct {
	Op        string           `json:"op"`                   // "create", "list", ... of the tool or provider
	Class     string           `json:"class,omitempty"`      // effect class that it would make; empty: none (a read)
	Attrs     map[string]any   `json:"attributes,omitempty"` // business attributes, as the oracle reports them
	Units     []map[string]any `json:"units,omitempty"`      // several effects in one call: attributes of each (Attrs is the first)
	Principal string           `json:"principal,omitempty"`
	Mutating  bool             `json:"mutating"`
	ID        string           `json:"id,omitempty"`  // JSON-RPC id or the like; for the history only
	Key       string           `json:"key,omitempty"` // key on the wire; for the history only
}

// Gate decides what happens to each arrival of a trial. Arrive blocks while the call is parked.
// It is safe for concurrent use and never holds a lock while a call is parked.
type Gate interface {
	Arrive(a Arrival) Action
	// Left reports that the client of an exchange went away before its answer (a closed connection seen
	// on the link while the exchange was open). Links call it once per exchange at most.
	Left(a Arrival)
	// Ended reports that an exchange is over (answered, cut, or its client gone), at links and providers.
	Ended(a Arrival)
}

// Clock is virtual time. It starts at Epoch in every trial.
type Clock interface{ Now() time.Time }

// Fault is one variant of a boundary, as data: where the struck call is parked, what must be true there,
// what is done while it is parked, what the exchange then meets, and when the fault is over.
type Fault struct {
	Boundary Boundary `json:"boundary"`
	Variant  string   `json:"variant"` // unique in its boundary: "reset", "reset/mirror"
	Summary  string   `json:"summary"`
}
