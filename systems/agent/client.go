package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/systems/kit"
)

// callIDMeta is the key in MCP's _meta that carries the agent's tool-call id.
const callIDMeta = "sixthcopy/call_id"

// maxAnswer is the largest answer of a tool that is read, in bytes.
const maxAnswer = 4 << 20

// sight is what the agent sees of one attempt.
type sight string

const (
	sawDone        sight = "done"         // the tool says that it happened
	sawNotSent     sight = "not sent"     // the dial was refused, or the session never came up: the call did not leave
	sawNotExecuted sight = "not executed" // the tool says that nothing happened
	sawRefused     sight = "refused"      // the tool says that these arguments will never do
	sawConflict    sight = "conflict"     // the tool says that another call is in the way
	sawError       sight = "error"        // the tool says that something went wrong
	sawLost        sight = "lost"         // no answer, half an answer, or the answer of something in between
	sawTimeOut     sight = "timed out"
	sawCancelled   sight = "cancelled"
)

// observation is what came of one attempt.
type observation struct {
	saw      sight
	sent     bool   // the call may have left
	text     string // as a model would be shown it
	receipts []string
	part     bool             // done, in part only: the rest did not happen and will not
	found    []map[string]any // look-ups
}

// answered reports whether the tool itself answered.
func (o observation) answered() bool {
	switch o.saw {
	case sawDone, sawNotExecuted, sawRefused, sawConflict, sawError:
		return true
	}
	return false
}

// client calls tools over MCP and plain JSON. It never sends a request twice by itself: it sets no
// Idempotency-Key header, which would make net/http resend on a reused connection, and it switches off the
// SDK's own resumption and repetition.
type client struct {
	transport *http.Transport
	sessions  map[string]*mcp.ClientSession // by address
	through   *Through                      // nil: the tools are called where they are offered

	mu     sync.Mutex
	closed bool
}

func newClient(fresh bool) *client {
	return &client{
		// One connection at a time: which call goes over which connection is then the same in every run.
		transport: &http.Transport{DisableKeepAlives: fresh, DisableCompression: true, MaxConnsPerHost: 1},
		sessions:  map[string]*mcp.ClientSession{},
	}
}

// close drops sessions and connections. No farewell is sent: the trial is over.
func (c *client) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.through.stop()
	for _, s := range c.sessions {
		_ = s.Close()
	}
	c.transport.CloseIdleConnections()
}

// attempt is what the HTTP layer saw of one call.
type attempt struct {
	mu      sync.Mutex
	tried   bool          // a request was handed to the transport
	refused bool          // and its dial was refused
	ended   chan struct{} // closed when the body of its answer was read to its end; nil: there is no answer
	why     string        // it gave no answer, in words
}

type attemptKey struct{}

// RoundTrip hands a request on and notes what became of it for the call that it belongs to.
func (c *client) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return nil, errors.New("the trial is closed")
	}
	if r.Header.Get("Mcp-Method") == "notifications/cancelled" {
		// MCP 2026-07-28: over HTTP the disconnect is the cancellation. The SDK sends a notification too.
		return &http.Response{StatusCode: http.StatusAccepted, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	}
	resp, err := c.transport.RoundTrip(r)
	var ended chan struct{}
	if err == nil {
		ended = make(chan struct{})
		resp.Body = &drained{ReadCloser: resp.Body, ended: ended}
	}
	if a, ok := r.Context().Value(attemptKey{}).(*attempt); ok {
		a.mu.Lock()
		a.ended = ended
		a.tried = true
		a.refused = refusedDial(err)
		a.why = broken(resp, err)
		a.mu.Unlock()
	}
	return resp, err
}

// drained is a body that is read to its end when it is closed, so that its connection carries the next call:
// the SDK closes a stream as soon as it has its result.
type drained struct {
	io.ReadCloser
	ended chan struct{}
	once  sync.Once
}

func (d *drained) Close() error {
	_, _ = io.CopyN(io.Discard, d.ReadCloser, maxAnswer) // a broken end is a broken connection, and is closed
	err := d.ReadCloser.Close()
	d.once.Do(func() { close(d.ended) })
	return err
}

// settled waits until the answer's body was read to its end, so that the end of ctx does not end the
// connection with it.
func (a *attempt) settled(ctx context.Context) {
	a.mu.Lock()
	ended := a.ended
	a.mu.Unlock()
	if ended == nil {
		return
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// broken words how an exchange went wrong that gave no answer of the tool. The words are the same over
// every transport and in every run: no ports, no wording of a library. If a head came with success, it was
// the body that failed.
func broken(resp *http.Response, err error) string {
	switch {
	case refusedDial(err):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection reset or closed by peer" // which of the two is seen is the network's matter
	case err != nil:
		return "no answer"
	case resp.StatusCode != http.StatusOK:
		return "HTTP " + strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode)
	case resp.ContentLength == 0:
		return "HTTP 200 with an empty answer"
	}
	return "the answer was cut short"
}

// refusedDial reports whether a dial was refused: the only transport error that proves non-delivery.
func refusedDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" && errors.Is(err, syscall.ECONNREFUSED)
}

// call makes one attempt. ctx ends it by a disconnect.
func (c *client) call(ctx context.Context, tool bench.OfferedTool, args map[string]any, callID, requestID string) observation {
	a := &attempt{}
	ctx = context.WithValue(ctx, attemptKey{}, a)
	var o observation
	var err error
	if tool.Transport == bench.TransportJSON {
		o, err = c.callJSON(ctx, tool, args, callID, requestID)
	} else {
		o, err = c.callMCP(ctx, a, tool, args, callID)
	}
	if err == nil {
		o.sent = true
		return o
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	o.sent = a.tried && !a.refused
	switch cause := context.Cause(ctx); {
	case cause != nil && !errors.Is(cause, kit.ErrTimedOut):
		o.saw, o.text = sawCancelled, cause.Error()
	case !o.sent:
		o.saw, o.text = sawNotSent, a.why
		if !a.tried {
			o.text = "no session with the tool server"
		}
	case cause != nil:
		o.saw, o.text = sawTimeOut, "the call timed out"
	default:
		o.saw, o.text = sawLost, a.why
	}
	return o
}

// answer is what a tool answers: structured content over MCP, the body over plain JSON.
type answer struct {
	Status   string           `json:"status"`
	Receipts []string         `json:"receipts"`
	Message  string           `json:"message"`
	Found    []map[string]any `json:"found"`
}

// observe reads an answer. failed is what the envelope says: isError, or an HTTP status that is no success.
func (a answer) observe(failed bool) observation {
	o := observation{text: a.Message, receipts: a.Receipts, found: a.Found}
	switch a.Status {
	case "done":
		o.saw = sawDone
	case "partial":
		o.saw, o.part = sawDone, true
	case "not_executed":
		o.saw = sawNotExecuted
	case "refused":
		o.saw = sawRefused
	case "conflict":
		o.saw = sawConflict
	case "":
		o.saw = sawDone
		if failed {
			o.saw = sawError
		}
	default:
		o.saw = sawError
	}
	return o
}

// callJSON posts a call to a plain JSON tool.
func (c *client) callJSON(ctx context.Context, tool bench.OfferedTool, args map[string]any, callID, requestID string) (observation, error) {
	body, err := json.Marshal(map[string]any{"arguments": args, "call_id": callID, "request_id": requestID})
	if err != nil {
		return observation{}, fmt.Errorf("arguments of %s: %w", tool.Name, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(tool.Address, "/")+"/tools/"+tool.Name, bytes.NewReader(body))
	if err != nil {
		return observation{}, fmt.Errorf("address of %s: %w", tool.Name, err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.RoundTrip(r)
	if err != nil {
		return observation{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return observation{}, fmt.Errorf("answer of %s: %w", tool.Name, err)
	}
	var a answer
	if json.Unmarshal(text, &a) != nil || a.Status == "" && a.Message == "" {
		return observation{}, fmt.Errorf("HTTP %s: %.200s", resp.Status, text)
	}
	return a.observe(resp.StatusCode != http.StatusOK), nil
}

// callMCP calls a tool over streamable HTTP. The SDK calls every error of the transport "rejected", lost
// answers too; only what RoundTrip saw counts. A session that is dead by an earlier error, or unknown to
// the server, is opened anew: as long as the call was not handed to the transport, nothing is repeated.
func (c *client) callMCP(ctx context.Context, a *attempt, tool bench.OfferedTool, args map[string]any, callID string) (observation, error) {
	name, args, receipt := c.through.spell(tool.Name, args)
	params := &mcp.CallToolParams{Meta: mcp.Meta{callIDMeta: callID}, Name: name, Arguments: args}
	session, known := c.sessions[tool.Address]
	if known {
		result, err := session.CallTool(ctx, params)
		a.settled(ctx)
		a.mu.Lock()
		tried := a.tried
		a.mu.Unlock()
		if err == nil || tried {
			return c.read(tool.Address, receipt, result, err)
		}
	}
	session, err := c.connect(ctx, tool)
	if err != nil {
		return observation{}, fmt.Errorf("session with %s: %w", tool.Name, err)
	}
	c.sessions[tool.Address] = session
	result, err := session.CallTool(ctx, params)
	a.settled(ctx)
	return c.read(tool.Address, receipt, result, err)
}

// connect opens a session. What it sends is not the call: it is kept out of the attempt.
func (c *client) connect(ctx context.Context, tool bench.OfferedTool) (*mcp.ClientSession, error) {
	version := "2026-07-28"
	if tool.Transport != bench.TransportMCP {
		version = "2025-11-25"
	}
	ctx = context.WithValue(ctx, attemptKey{}, nil)
	m := mcp.NewClient(&mcp.Implementation{Name: "sixthcopy-agent", Version: "1"}, &mcp.ClientOptions{
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	var wire mcp.Transport = &mcp.StreamableClientTransport{
		Endpoint: tool.Address, HTTPClient: &http.Client{Transport: c}, MaxRetries: -1, DisableStandaloneSSE: true,
	}
	if tool.Transport == overStdio {
		wire = c.through.child()
	}
	return m.Connect(ctx, wire, &mcp.ClientSessionOptions{ProtocolVersion: version})
}

// local are the codes of errors that the SDK makes itself, of the same type as those that a server sends:
// client is closing, server is closing, rejected by transport (go-sdk v1.8.0, internal/jsonrpc2/wire.go).
var local = map[int64]bool{-32003: true, -32004: true, -32005: true}

// read reads what a call over MCP returned. A session that the server has forgotten is dropped.
func (c *client) read(address, receipt string, result *mcp.CallToolResult, err error) (observation, error) {
	if err != nil {
		if errors.Is(err, mcp.ErrSessionMissing) {
			delete(c.sessions, address)
		}
		var said *jsonrpc.Error
		if errors.As(err, &said) && !local[said.Code] {
			return observation{saw: sawError, text: said.Message}, nil
		}
		return observation{}, err
	}
	var a answer
	if result.StructuredContent != nil {
		text, err := json.Marshal(result.StructuredContent)
		if err != nil {
			return observation{}, fmt.Errorf("structured content: %w", err)
		}
		if err := json.Unmarshal(text, &a); err != nil {
			return observation{}, fmt.Errorf("structured content %.200s: %w", text, err)
		}
	}
	if a.Message == "" {
		for _, part := range result.Content {
			if text, ok := part.(*mcp.TextContent); ok {
				a.Message += text.Text
			}
		}
	}
	if receipt != "" && !result.IsError {
		if found := pick(result, receipt); found != "" {
			a.Receipts = []string{found}
		}
	}
	return a.observe(result.IsError), nil
}
