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
	WaitsForKey      Point = "provider/waits-for-key"   // its key is another's who is in work, and the contract has it wait for the end of that
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
// what is done while it is parked, what its exchange then meets, and when the fault is over.
type Fault struct {
	Boundary Boundary `json:"boundary"`
	Variant  string   `json:"variant"` // unique in its boundary: "reset", "reset/mirror"
	Summary  string   `json:"summary"`
	Quick    bool     `json:"quick,omitempty"` // the quick suite has it

	Park   Point   `json:"park,omitempty"`   // empty: nothing is parked, a window of refused dials (Window)
	Event  string  `json:"event,omitempty"`  // with AgentEvent: the event that is parked
	Window bool    `json:"window,omitempty"` // the agent link's front is shut before the turn, until the system is idle, or the deadline
	Truth  Truth   `json:"truth"`            // demanded at the strike
	Levers []Lever `json:"levers,omitempty"` // pulled in order while the call is parked

	Meets  map[Point]Action `json:"meets,omitempty"` // what the struck exchange meets when it goes on
	Extent Extent           `json:"extent,omitempty"`
	Times  int              `json:"times,omitempty"` // how often it strikes; 0: once
	Holds  Release          `json:"holds,omitempty"` // when a held call is let go; empty: as soon as the levers are pulled

	Pass      Passage  `json:"pass,omitempty"`      // virtual time that passes while the call is parked
	Reused    bool     `json:"reused,omitempty"`    // the struck request is not the first on its provider connection
	Memory    bool     `json:"memory,omitempty"`    // tool servers hold instance-local memory
	Sessions  bool     `json:"sessions,omitempty"`  // MCP tools are served with sessions
	Stops     bool     `json:"stops,omitempty"`     // tool servers pass a disconnect of the agent on, and the provider stops
	Owner     string   `json:"owner,omitempty"`     // whose time-out is on: "agent" or "toolserver"
	Withdrawn bool     `json:"withdrawn,omitempty"` // the goal is withdrawn after the cancellation
	Reissued  string   `json:"reissued,omitempty"`  // a new turn asks in the same words: "continues", "silent" (both for the goal again) or "twin" (for a second one)
	Drift     string   `json:"drift,omitempty"`     // name of the workload's drift that the repair makes
	Needs     []string `json:"needs,omitempty"`     // abilities without which it does not apply to a system
	OnlyMCP   bool     `json:"only_mcp,omitempty"`  // placed by events or sessions that plain JSON does not have

	Shows           Shows `json:"shows"`                      // what the system's outermost link shows
	ProviderFailure bool  `json:"provider_failure,omitempty"` // the failure is the provider's own, and may be saved under the key
	NonDelivery     bool  `json:"non_delivery,omitempty"`     // what is shown proves that nothing was delivered
	Tells           bool  `json:"tells,omitempty"`            // what is shown tells the truth
}

// Suite says how much of everything is run.
type Suite string

const (
	SuiteQuick     Suite = "quick"     // one variant of each boundary with its mirror
	SuiteCore      Suite = "core"      // one variant of each boundary, class and truth
	SuiteProviders Suite = "providers" // the same, of the workloads at real providers' wires
	SuiteFull      Suite = "full"      // every variant of every workload
)

// Lever is one thing that is done while the struck call is parked.
type Lever string

const (
	KillAgent      Lever = "kill the agent"
	KillToolServer Lever = "kill the serving tool server"
	RestartTool    Lever = "restart the tool server"
	AvoidServing   Lever = "send new connections to another instance"
	DrainServing   Lever = "drain the serving instance"
	RefuseProvider Lever = "refuse connections to the provider"
	CutProvider    Lever = "reset the tool server's connection to the provider"
	EdgeAnswers    Lever = "let an edge before the provider give up and answer 503"
	CancelCall     Lever = "cancel the call"
	Withdraw       Lever = "withdraw the goal"
	RunOutTime     Lever = "let the owner's time-out run out"
	LetTimePass    Lever = "let virtual time pass"
	RestartAgent   Lever = "start the agent again"
)

// Extent says which attempts of the struck intent meet the fault.
type Extent string

const (
	ExtentExchange Extent = ""        // this exchange only
	ExtentIntent   Extent = "intent"  // every attempt of the intent
	ExtentForever  Extent = "forever" // nothing gets through until the system has claimed
)

// Release says when a held call is let go. A claim of the system, its being idle, the contract's
// commits-within and the deadline always let it go too; the first that happens wins and is recorded.
type Release string

const (
	AtOnce      Release = ""              // as soon as the levers are pulled
	RetryInWork Release = "retry in work" // a retry has committed, or its other answer is rendered
	RetryOver   Release = "retry answered"
)

// Passage is how far the clock moves, against the contract's retention.
type Passage string

const (
	JustInside Passage = "just inside" // one minute short of the retention
	JustPast   Passage = "just past"   // one minute past it
	DaysLater  Passage = "days later"  // three days past it
)

// Shows is what the system's outermost link shows of a strike. Equal declarations, with equal extent,
// hours and knobs, are one class (see ClassOf).
type Shows string

const (
	ShowsReset     Shows = "connection reset"
	ShowsClosed    Shows = "connection closed"
	ShowsRefused   Shows = "connection refused"
	ShowsTruncated Shows = "answer cut inside its event"
	ShowsNoEvent   Shows = "answer cut before its event"
	ShowsNoSession Shows = "connection closed, then session gone"
	ShowsTimeOut   Shows = "time-out"
	ShowsOwnDeath  Shows = "own death"
	ShowsStored    Shows = "own death, the result stored"
	ShowsCancelled Shows = "own cancellation"

	// What a tool server makes of a strike on its provider link: with vague errors these are one text.
	ShowsToolLost    Shows = "tool error: lost"
	ShowsToolRefused Shows = "tool error: not executed"
	ShowsToolTimeOut Shows = "tool error: time-out"
	ShowsToolStatus  Shows = "tool error: status " // + the status
	ShowsToolEmpty   Shows = "tool error: unreadable answer"
)
