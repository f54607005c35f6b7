package systems

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sixthcopy/sixthcopy/bench"
)

// This file is a small outside world for the agent's tests: one tool that makes things, one that finds
// them, over MCP (with and without sessions) and plain JSON, with a script of what befalls each request.

// step is what befalls the nth mutating request.
type step struct {
	commits bool   // it takes effect first
	answer  string // ok, lost, half, empty, 503, vague, "not executed", hold
}

// world is a provider and its tool server.
type world struct {
	t      *testing.T
	server *httptest.Server
	unique bool

	mu       sync.Mutex
	script   []step // the rest is well answered
	things   []map[string]any
	keys     map[string]string // id by key
	requests []map[string]any  // arguments of the mutating requests, in order
	lookUps  int
	stale    int           // look-ups that do not see anything yet
	arrived  func()        // called for each mutating request, before anything else
	held     chan struct{} // gets a value when a request is held
	release  chan struct{} // ends all holds
}

type answerBody struct {
	Status   string           `json:"status,omitempty"`
	Receipts []string         `json:"receipts,omitempty"`
	Message  string           `json:"message,omitempty"`
	Found    []map[string]any `json:"found,omitempty"`
}

func newWorld(t *testing.T, script ...step) *world {
	w := &world{t: t, script: script, keys: map[string]string{}, held: make(chan struct{}, 16), release: make(chan struct{})}
	server := mcp.NewServer(&mcp.Implementation{Name: "world", Version: "1"}, nil)
	for _, name := range []string{"make", "find"} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args map[string]any
			if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
				return nil, err
			}
			body, failed := w.carryOut(name, args)
			return &mcp.CallToolResult{StructuredContent: body, IsError: failed, Content: []mcp.Content{&mcp.TextContent{Text: body.Message}}}, nil
		})
	}
	get := func(*http.Request) *mcp.Server { return server }
	mux := http.NewServeMux()
	mux.Handle("/mcp", w.befall(mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true})))
	mux.Handle("/mcp-sessions", w.befall(mcp.NewStreamableHTTPHandler(get, nil)))
	mux.Handle("/tools/{name}", w.befall(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var call struct {
			Arguments map[string]any
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		body, failed := w.carryOut(r.PathValue("name"), call.Arguments)
		rw.Header().Set("Content-Type", "application/json")
		if failed {
			rw.WriteHeader(http.StatusBadGateway)
		}
		json.NewEncoder(rw).Encode(body)
	})))
	w.server = httptest.NewServer(mux)
	t.Cleanup(func() { close(w.release); w.server.CloseClientConnections(); w.server.Close() })
	return w
}

// carryOut executes a call and words its answer.
func (w *world) carryOut(name string, args map[string]any) (answerBody, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if name == "find" {
		w.lookUps++
		found := []map[string]any{}
		if w.lookUps <= w.stale {
			return answerBody{Status: "done", Found: found}, false
		}
		for _, thing := range w.things {
			if ref, ok := args["reference"]; ok && thing["reference"] != ref || args["name"] != nil && thing["name"] != args["name"] {
				continue
			}
			found = append(found, thing)
		}
		return answerBody{Status: "done", Found: found}, false
	}
	now := w.step()
	if now.answer != "ok" {
		body := answerBody{Message: "The operation failed. Please try again."}
		if now.answer == "not executed" {
			body = answerBody{Status: "not_executed", Message: "The operation was not executed."}
		}
		if now.commits {
			w.commit(args)
		}
		return body, true
	}
	id, conflict := w.commit(args)
	if conflict {
		return answerBody{Status: "conflict", Receipts: []string{id}, Message: "It exists already."}, true
	}
	return answerBody{Status: "done", Receipts: []string{id}}, false
}

// step is what befalls the request that came last.
func (w *world) step() step {
	if n := len(w.requests); n <= len(w.script) {
		return w.script[n-1]
	}
	return step{commits: true, answer: "ok"}
}

// commit makes a thing, or finds the one made under the key.
func (w *world) commit(args map[string]any) (id string, conflict bool) {
	key, _ := args["idempotency_key"].(string)
	if id, seen := w.keys[key]; seen && key != "" {
		return id, false
	}
	if w.unique {
		for _, thing := range w.things {
			if thing["name"] == args["name"] {
				return thing["id"].(string), true
			}
		}
	}
	thing := map[string]any{"id": fmt.Sprintf("th_%d", len(w.things)+1)}
	for name, value := range args {
		if name != "idempotency_key" {
			thing[name] = value
		}
	}
	w.things = append(w.things, thing)
	w.keys[key] = thing["id"].(string)
	return thing["id"].(string), false
}

// befall reads calls off the wire, counts the mutating ones and lets happen to them what the script says.
func (w *world) befall(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		var call struct {
			Method    string
			Arguments map[string]any
			Params    struct {
				Name      string
				Arguments map[string]any
			}
		}
		_ = json.Unmarshal(text, &call) // what is no JSON is no call
		args := call.Params.Arguments
		mutating := call.Method == "tools/call" && call.Params.Name == "make"
		if strings.HasPrefix(r.URL.Path, "/tools/") {
			args, mutating = call.Arguments, r.URL.Path == "/tools/make"
		}
		if !mutating {
			next.ServeHTTP(rw, r)
			return
		}
		if w.arrived != nil {
			w.arrived()
		}
		w.mu.Lock()
		w.requests = append(w.requests, args)
		now := w.step()
		wire := now.answer == "lost" || now.answer == "half" || now.answer == "empty" || now.answer == "503" || now.answer == "hold"
		if wire && now.commits {
			w.commit(args)
		}
		w.mu.Unlock()
		if !wire {
			next.ServeHTTP(rw, r)
			return
		}
		switch now.answer {
		case "empty":
			rw.WriteHeader(http.StatusOK)
		case "503":
			http.Error(rw, "<html>unavailable</html>", http.StatusServiceUnavailable)
		case "hold":
			w.held <- struct{}{}
			select {
			case <-r.Context().Done():
			case <-w.release:
			}
		default:
			conn, buffered, err := rw.(http.Hijacker).Hijack()
			if err != nil {
				w.t.Error(err)
				return
			}
			if now.answer == "half" {
				buffered.WriteString("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{\"status\":\"do")
				buffered.Flush()
			} else {
				conn.(*net.TCPConn).SetLinger(0)
			}
			conn.Close()
		}
	})
}

// offer describes the tools as a trial offers them.
func (w *world) offer(transport bench.Transport, takesKey bool, contract bench.OfferedContract) []bench.OfferedTool {
	address := w.server.URL
	switch transport {
	case bench.TransportMCP:
		address += "/mcp"
	case bench.TransportMCPSessions:
		address += "/mcp-sessions"
	}
	takesRef := contract.LookUpBy == "identity"
	return []bench.OfferedTool{
		{Name: "make", Address: address, Transport: transport, TakesKey: takesKey, TakesRef: takesRef, Contract: contract, Arguments: []string{"name", "amount"}},
		{Name: "find", Address: address, Transport: transport, ReadOnly: true, Arguments: []string{"name", "reference"}},
	}
}

// count says how often things were asked for and how many there are.
func (w *world) count() (requests, things, lookUps int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.requests), len(w.things), w.lookUps
}

// sentKeys are the keys of the mutating requests, by first appearance: "k1 k1 k2", "-" for none.
func (w *world) sentKeys() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var said []string
	seen := map[string]string{}
	for _, args := range w.requests {
		key, _ := args["idempotency_key"].(string)
		if key == "" {
			said = append(said, "-")
			continue
		}
		if seen[key] == "" {
			seen[key] = fmt.Sprintf("k%d", len(seen)+1)
		}
		said = append(said, seen[key])
	}
	return strings.Join(said, " ")
}
