package kit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/sixthcopy/sixthcopy/bench"
)

// maxAnswer is the largest answer of a tool that is read, in bytes.
const maxAnswer = 4 << 20

// Tool is the tool of the call as it is offered.
func (c *Call) Tool() (bench.OfferedTool, error) {
	var names []string
	for _, tool := range c.Trial.Start.Tools {
		if tool.Name == c.Given.Tool {
			return tool, nil
		}
		names = append(names, tool.Name)
	}
	return bench.OfferedTool{}, fmt.Errorf("tool %q is not offered, expected one of %s", c.Given.Tool, strings.Join(names, ", "))
}

// Request makes the HTTP request that calls the tool, for a retry layer to send: plain JSON or one MCP POST, as
// the tool is offered. Its body can be sent again. A key, if there is one, goes where providers look for it:
// into the header Idempotency-Key, and into the argument idempotency_key of a tool that takes it. Every
// request of one Call has the same bytes.
func (c *Call) Request(ctx context.Context, key string) (*http.Request, error) {
	tool, err := c.Tool()
	if err != nil {
		return nil, err
	}
	args := map[string]any{}
	for name, value := range c.Given.Args {
		args[name] = value
	}
	if key != "" && tool.TakesKey {
		args["idempotency_key"] = key
	}
	url, head := tool.Address, http.Header{}
	var message any
	switch tool.Transport {
	case bench.TransportJSON:
		url = strings.TrimSuffix(tool.Address, "/") + "/tools/" + tool.Name
		message = map[string]any{"arguments": args, "call_id": c.Given.ID, "request_id": fmt.Sprint(c.number())}
	case bench.TransportMCP, bench.TransportMCPSessions:
		meta := map[string]any{"sixthcopy/call_id": c.Given.ID}
		message = rpc(c.number(), "tools/call", map[string]any{"name": tool.Name, "arguments": args, "_meta": meta})
		if tool.Transport == bench.TransportMCPSessions {
			session, err := c.Trial.session(ctx, tool.Address)
			if err != nil {
				return nil, fmt.Errorf("session with %s: %w", tool.Name, err)
			}
			head.Set("Mcp-Session-Id", session)
			head.Set("Mcp-Protocol-Version", sessionProtocol)
			break
		}
		// A server that takes the request for one of an older protocol takes no disconnect for a cancellation.
		meta["io.modelcontextprotocol/protocolVersion"], meta["io.modelcontextprotocol/clientCapabilities"] = statelessProtocol, map[string]any{}
		head.Set("Mcp-Protocol-Version", statelessProtocol)
		head.Set("Mcp-Method", "tools/call")
		head.Set("Mcp-Name", tool.Name)
	default:
		return nil, fmt.Errorf("tool %s has transport %q, expected json, mcp or mcp-sessions: what a provider offers itself is called by its SDK", tool.Name, tool.Transport)
	}
	if key != "" {
		head.Set("Idempotency-Key", key)
	}
	return post(ctx, url, head, message)
}

// Versions of MCP, of servers without sessions and with them.
const (
	statelessProtocol = "2026-07-28"
	sessionProtocol   = "2025-11-25"
)

// number is the call's JSON-RPC id: calls are counted from 1 in every process, as new connections do.
func (c *Call) number() int {
	t := c.Trial
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.rpcID == 0 {
		t.rpcIDs++
		c.rpcID = t.rpcIDs
	}
	return c.rpcID
}

func rpc(id int, method string, params any) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}
}

func post(ctx context.Context, url string, head http.Header, message any) (*http.Request, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("request to %s: %w", url, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("request to %s: %w", url, err)
	}
	r.Header = head
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	return r, nil
}

// session is the id of the session with an MCP server that keeps them, opened at the first call. What opens
// it is not the call, and no retry layer sends it.
func (t *Trial) session(ctx context.Context, address string) (string, error) {
	if id := t.sessions[address]; id != "" {
		return id, nil
	}
	hello, err := post(ctx, address, http.Header{}, rpc(0, "initialize", map[string]any{
		"protocolVersion": sessionProtocol, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "sixthcopy-kit", "version": "1"},
	}))
	if err != nil {
		return "", err
	}
	client := &http.Client{Transport: t.Timeout(t.Transport(&http.Transport{}), 0)}
	res, err := client.Do(hello)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer))
	res.Body.Close()
	id := res.Header.Get("Mcp-Session-Id")
	if err != nil || id == "" {
		return "", fmt.Errorf("HTTP %s names no session", res.Status)
	}
	head := http.Header{"Mcp-Session-Id": {id}, "Mcp-Protocol-Version": {sessionProtocol}}
	ready, err := post(ctx, address, head, map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	if err != nil {
		return "", err
	}
	if res, err = client.Do(ready); err != nil {
		return "", err
	}
	res.Body.Close()
	t.sessions[address] = id
	return id, nil
}

// answer is what a tool answers: structured content over MCP, the body over plain JSON.
type answer struct {
	Status   string   `json:"status"`
	Receipts []string `json:"receipts"`
	Message  string   `json:"message"`
}

// Read reads what came of a Request into a claim, by the last try alone, as the caller of a retry layer does
// that is told nothing of the others:
//
//   - the tool's own word counts: done, partial, refused; not_executed where the contract says that its
//     errors can be believed;
//   - HTTP 4xx without such a word is failed, but for 408, 409, 429 and the 404 of a session that is gone;
//   - no answer is Lost;
//   - anything else is unknown. A call that only reads has failed then: it can do no harm.
func (c *Call) Read(res *http.Response, err error) Claim {
	if err != nil {
		return c.Lost(err)
	}
	claim, _ := c.read(res)
	return claim
}

// Try makes the call once, for a library that retries functions: the claim by this try alone, the status of
// its answer, and an error if there is no answer or only a part of one.
func (c *Call) Try(ctx context.Context, client *http.Client, key string) (Claim, int, error) {
	r, err := c.Request(ctx, key)
	if err != nil {
		return Failed(err.Error()), 0, err
	}
	res, err := client.Do(r)
	if err != nil {
		return c.Lost(err), 0, err
	}
	claim, err := c.read(res)
	return claim, res.StatusCode, err
}

// read reads an answer; the error says that it broke off.
func (c *Call) read(res *http.Response) (Claim, error) {
	defer res.Body.Close()
	tool, err := c.Tool()
	if err != nil {
		return Failed(err.Error()), err
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		err = fmt.Errorf("HTTP %s, and the answer broke off: %w", res.Status, err)
		return c.Lost(err), err
	}
	said, answered := read(tool.Transport, res.Header.Get("Content-Type"), text)
	claim := Unknown(fmt.Sprintf("HTTP %s: %s", res.Status, said.Message))
	switch {
	case answered && said.Status == "done":
		return Done(said.Receipts...), nil
	case answered && said.Status == "partial":
		return Claim{Outcome: bench.Partial, Receipts: said.Receipts, Detail: said.Message}, nil
	case answered && said.Status == "refused":
		claim.Outcome = bench.Failed
	case answered && said.Status == "not_executed" && tool.Contract.ErrorsTyped:
		claim.Outcome = bench.Failed
	case answered && said.Status != "": // not_executed that proves nothing, unknown, conflict
	case tool.Transport == bench.TransportMCPSessions && res.StatusCode == http.StatusNotFound:
		delete(c.Trial.sessions, tool.Address)
		claim.Detail = "the session is gone"
	case res.StatusCode/100 == 4 && !spares(res.StatusCode):
		claim.Outcome = bench.Failed
	case !answered:
		claim.Detail = fmt.Sprintf("HTTP %s with an answer that cannot be read: %.200q", res.Status, text)
	}
	if claim.Outcome == bench.Unknown && tool.ReadOnly {
		claim.Outcome = bench.Failed
	}
	return claim, nil
}

// spares reports whether a 4xx status leaves open what became of the request.
func spares(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusConflict || status == http.StatusTooManyRequests
}

// Lost is the claim of a call that ended in an error without an answer. It failed if nothing of it can have
// left: every dial of it was refused, or it was stopped before it was sent. For an earlier process, or the
// call that this one repairs, nobody can say that.
func (c *Call) Lost(err error) Claim {
	tool, unoffered := c.Tool()
	t := c.Trial
	t.mu.Lock()
	stayed := !c.left && (t.watched || refusedDial(err))
	t.mu.Unlock()
	switch {
	case unoffered != nil, tool.ReadOnly, stayed && !c.Redelivered && !c.Repair:
		return Failed(err.Error())
	}
	return Unknown(err.Error())
}

// refusedDial reports whether a dial was refused, the one error of a connection that proves non-delivery.
func refusedDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" && errors.Is(err, syscall.ECONNREFUSED)
}

// read finds the tool's answer in a body. answered is false where there is none: the body is that of
// something in between, or it is cut short.
func read(transport bench.Transport, contentType string, text []byte) (said answer, answered bool) {
	if transport == bench.TransportJSON {
		answered = json.Unmarshal(text, &said) == nil && (said.Status != "" || said.Message != "")
		return said, answered
	}
	if strings.HasPrefix(contentType, "text/event-stream") {
		text = lastEvent(text)
	}
	var message struct {
		Result *struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
			Structured answer `json:"structuredContent"`
			IsError    bool   `json:"isError"`
		} `json:"result"`
		Error *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	switch {
	case json.Unmarshal(text, &message) != nil, message.Result == nil && message.Error == nil:
		return answer{}, false
	case message.Error != nil:
		return answer{Message: message.Error.Message}, true
	}
	said = message.Result.Structured
	for _, part := range message.Result.Content {
		if said.Status == "" {
			said.Message += part.Text
		}
	}
	return said, true
}

// lastEvent is the data of the last whole event of a stream: one that an empty line ends.
func lastEvent(stream []byte) []byte {
	var last, data []byte
	for line := range bytes.Lines(stream) {
		whole := bytes.HasSuffix(line, []byte("\n"))
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case !whole:
		case len(line) == 0 && len(data) > 0:
			last, data = data, nil
		case bytes.HasPrefix(line, []byte("data:")):
			data = append(data, bytes.TrimPrefix(bytes.TrimPrefix(line, []byte("data:")), []byte(" "))...)
		}
	}
	return last
}
