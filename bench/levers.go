package bench

import (
	"context"
	"net/http"
	"time"
)

// This file says what a trial needs of the world, as small interfaces. The siblings implement them and
// cmd puts them together. Whoever starts a thing implements its kill.

// RawRequest is a request as a link reads it off the wire.
type RawRequest struct {
	Method string
	Path   string // with the query
	Header http.Header
	Body   []byte
}

// Provider is a raised provider of one trial, with its own store.
type Provider interface {
	// Listen opens one more front of the provider for the link of this name and returns its address
	// (host:port). Connections of a front are numbered from 1 in the order of their acceptance.
	Listen(link string) (string, error)
	// Parse reads a request in business terms, for the gate. It never touches the store.
	Parse(r RawRequest) Call
	// Busy names what is not yet quiet ("2 open transactions", "a timer until ..."), "" when all is.
	Busy() string
	// Dedup lists the dedup records bound to requests when they were answered, in order.
	Dedup() []DedupRecord
	// Close ends the fronts and the store handle. The store file stays for the oracle.
	Close() error
}

// ProviderSpec says which provider to raise.
type ProviderSpec struct {
	Kind     string
	Contract Contract
	Dir      string // folder of the trial's store; empty and its own
	World    []WorldEffect
	External *External // set with KindExternal
	Tools    map[string]ToolUse
	Gate     Gate
	Clock    Clock
}

// Oracle reads external state over its own connection, independently of provider code and of the system.
type Oracle interface {
	Kind() string // of the provider whose state it reads
	// Read returns all effects in the store under dir in order of commit: Committed is a rank from 1.
	// World objects come with an empty Request.
	Read(ctx context.Context, dir string) ([]Effect, error)
}

// Link is a proxied connection path whose messages arrive at the gate.
type Link interface {
	Address() string // host:port of its stable front
	// Shut closes the front: dials are refused until Open, which listens on the same port. Connections
	// that are open stay open.
	Shut() error
	Open() error
	// Exchanges is the number of exchanges that are open on it.
	Exchanges() int
	// Cut ends the connection of an exchange at once, by a reset.
	Cut(conn int)
	// CutIdle does that to every connection without an open exchange.
	CutIdle()
	// Answer has an edge answer an exchange that is open, with the status and body of a, and end the
	// connection: what the upstream answers later reaches nobody.
	Answer(conn int, a Action)
	Stop() error
}

// LinkSpec says which link to raise.
type LinkSpec struct {
	Name     string // "agent", "provider/1"
	Upstream string // host:port
	Request  Point  // point of whole requests
	Response Point  // point of whole answers
	Parse    func(RawRequest) Call
	Told     func(status int, body []byte) string // agent link: what an answer tells its caller; nil elsewhere
	Gate     Gate
}

// Links raises links.
type Links interface {
	Raise(spec LinkSpec) (Link, error)
}

// Balancer spreads connections over instances, round robin from the first, connection by connection.
type Balancer interface {
	Address() string
	// Serving names the instance that carries its conn-th connection (from 1), "" if it has none.
	Serving(conn int) string
	// Point sets where an instance is reached from now on (after a restart).
	Point(instance, address string)
	// Avoid sends new connections elsewhere: the instance is drained, or down.
	Avoid(instance string, avoid bool)
	// Drop ends the open connections of an instance.
	Drop(instance string)
	Stop() error
}

// ToolServer is one replica, a child process.
type ToolServer interface {
	Name() string    // "1", "2", ...
	Address() string // host:port; another one after a restart
	// Configure opens a trial on it and forgets the one before.
	Configure(ctx context.Context, c ToolServerConfig) error
	// Warm makes one read through its client to the provider, so that the next request is the second
	// exchange on its connection.
	Warm(ctx context.Context) error
	// Clock tells it virtual time; its time-outs and lags run on that.
	Clock(ctx context.Context, now time.Time) error
	// Busy is the number of calls in its hands, by its own counter.
	Busy(ctx context.Context) (int, error)
	// Notes returns what it reported since Configure: refused dials, local dedup answers, minted keys.
	Notes() <-chan ToolServerNote
	// Kill is SIGKILL to its group; it returns when the process is reaped. Restart raises a new one
	// under the same name, with the last configuration and no memory of the old.
	Kill() error
	Restart(ctx context.Context) error
	// Release gives it back to the pool, or ends it if it was killed, is stateful or does not come to rest.
	Release()
}

// ToolServerConfig is what a replica needs for a trial.
type ToolServerConfig struct {
	ProviderKind string             `json:"provider_kind"`
	Provider     string             `json:"provider"` // address of its own provider link
	Tools        map[string]ToolUse `json:"tools"`
	Key          KeyTerms           `json:"key"`               // as the provider advertises them: where its key goes, and how it is spelt
	Fresh        bool               `json:"fresh"`             // a new connection to the provider for every request; false: kept alive
	Memory       bool               `json:"memory"`            // instance-local memory: answers remembered by idempotency_key, else by the agent's call id in _meta
	TimeoutMS    int                `json:"timeout_ms"`        // of a provider request, in virtual time; 0: off
	CancelStops  bool               `json:"cancel_stops"`      // pass a disconnect of the agent on to the provider request
	WarmUp       string             `json:"warm_up,omitempty"` // path of a read at an external provider
	Now          time.Time          `json:"now"`
}

// ToolServerNote is a fact that a tool server reports of itself; the history shows it, no count rests on it.
type ToolServerNote struct {
	Instance string `json:"instance"`
	Kind     string `json:"kind"` // "refused dial", "dedup", "minted", "time-out", "waiting" (a virtual timer is set: Until)
	Key      string `json:"key,omitempty"`
	Object   string `json:"object,omitempty"` // dedup: first receipt of the remembered answer
	Until    string `json:"until,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// ToolServers is a pool of replicas.
type ToolServers interface {
	Get(ctx context.Context, name string) (ToolServer, error)
}

// Tool is what the harness knows of a tool of the catalogue.
type Tool interface {
	Name() string
	ReadOnly() bool
	Class() string // of the effects that a call makes; "" for reads
	TakesRef() bool
	Requests(args map[string]any) int // that a call makes of the provider, one after another, if none fails
	// LookUp names the tool that finds an effect of this one again, and the argument that takes the
	// reference ("" where it finds by business attributes only, or there is no look-up).
	LookUp() (tool, argument string)
	// Arguments names the arguments that it takes as a workload offers it.
	Arguments(use ToolUse) []string
	// Parse reads a call in business terms, as the oracle will report its effects.
	Parse(args map[string]any) Call
}

// System is something under test that can be raised for trials.
type System interface {
	Name() string // "ledger", "blind", "langgraph"
	Kind() string // policy, client, runtime, gateway, toolserver, engine, ledger
	Summary() string
	Says() string      // line of configuration that makes this variant of it, in its library's words; "": not told
	Clock() string     // protocol, faketime, wall
	AfterKill() string // redeliver or resume
	Can(ability string) bool
	// Calls are the kinds of providers that it calls itself (none: it calls tools) and the calls that it can
	// make (none: all).
	Calls() (providers, tools []string)
	// Begin takes a process (a new one, or one that was reset) for a trial. dir is the state folder.
	Begin(ctx context.Context, dir string) (Session, error)
}

// Session is a system's process during a trial.
type Session interface {
	// Send writes an order (its Seq is set here) and returns when the system has acknowledged it.
	Send(ctx context.Context, o Order) error
	// Words are the system's words but for acks, in order; an idle's Seq is the number of orders of this
	// process and trial that had been acknowledged before it. The channel is closed when the process has ended.
	Words() <-chan Word
	// Kill is SIGKILL to the process group; it returns when the group is gone.
	Kill() error
	// Restart raises a new process on the same state folder after Kill. Words continues on a new channel.
	Restart(ctx context.Context) error
	// Err is why the session cannot go on: a typed *SystemError, or nil while it can.
	Err() error
	// Release closes the trial: reset and back to the pool, or an end to the process and all its children.
	Release()
}

// SystemError ends a trial's session for a reason of the system's.
type SystemError struct {
	System string
	Reason string // one of the list under "Ends" in docs/wire-contract.md, or "killed", by the harness
	Detail string // what came, what was expected, what to do
}

func (e *SystemError) Error() string { return "system " + e.System + " " + e.Reason + ": " + e.Detail }
