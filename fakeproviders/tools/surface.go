package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sixthcopy/sixthcopy/bench"
)

// MetaCallID is the field of a tools/call's _meta that carries the agent's tool-call id.
const MetaCallID = "sixthcopy/call_id"

// headerRequestID carries the JSON-RPC id from the HTTP request to the tool handler, which the SDK does
// not show it. It is set here and never read off the wire.
const headerRequestID = "Sixthcopy-Request-Id"

// maxBody is the longest request body of an agent, in bytes.
const maxBody = 4 << 20

// surface is what agents see of a trial: the offered tools over MCP with and without sessions, and over
// plain JSON.
type surface struct {
	trial   *trial
	offered []*Tool
	mcp     func() (stateless, stateful http.Handler) // made when they are first asked for
}

func newSurface(t *trial) *surface {
	s := &surface{trial: t}
	for _, tool := range All {
		if use, ok := t.config.Tools[tool.name]; ok && use.External == nil {
			s.offered = append(s.offered, tool)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.config.Tools)) {
		if use := t.config.Tools[name]; use.External != nil {
			s.offered = append(s.offered, find(name, use))
		}
	}
	s.mcp = sync.OnceValues(s.overSDK)
	return s
}

// overSDK makes the handlers of MCP.
func (s *surface) overSDK() (stateless, stateful http.Handler) {
	server := mcp.NewServer(&mcp.Implementation{Name: "sixthcopy-tools", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	for _, tool := range s.offered {
		use := s.trial.config.Tools[tool.name]
		server.AddTool(&mcp.Tool{
			Name: tool.name, Description: tool.about,
			InputSchema: tool.Schema(use), Annotations: annotations(use.Annotations),
		}, s.overMCP(tool))
	}
	quiet := slog.New(slog.DiscardHandler)
	one := func(*http.Request) *mcp.Server { return server }
	return mcp.NewStreamableHTTPHandler(one, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: s.trial.config.CancelStops, Logger: quiet,
	}), mcp.NewStreamableHTTPHandler(one, &mcp.StreamableHTTPOptions{Logger: quiet})
}

func annotations(a bench.Annotations) *mcp.ToolAnnotations {
	if a == (bench.Annotations{}) {
		return nil
	}
	is := func(hint *bool) bool { return hint != nil && *hint }
	return &mcp.ToolAnnotations{
		ReadOnlyHint: is(a.ReadOnly), IdempotentHint: is(a.Idempotent), DestructiveHint: a.Destructive,
	}
}

func (s *surface) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == PathMCP:
		stateless, _ := s.mcp()
		s.serveMCP(stateless, w, r)
	case r.URL.Path == PathMCPSessions:
		_, stateful := s.mcp()
		s.serveMCP(stateful, w, r)
	case strings.HasPrefix(r.URL.Path, PathTools):
		s.serveJSON(w, r)
	default:
		http.NotFound(w, r)
	}
}

// serveMCP hands a request to the SDK, with its JSON-RPC id in a header.
func (s *surface) serveMCP(next http.Handler, w http.ResponseWriter, r *http.Request) {
	r.Header.Del(headerRequestID)
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, "request body: "+err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.Header.Set(headerRequestID, rpcID(body))
	}
	next.ServeHTTP(w, r)
}

// rpcID is the id of a JSON-RPC request as text; empty for a notification.
func rpcID(body []byte) string {
	var message struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(body, &message) != nil {
		return ""
	}
	return strings.Trim(string(message.ID), `"`)
}

func (s *surface) overMCP(tool *Tool) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args, err := readArguments(r.Params.Arguments)
		if err != nil {
			return nil, err
		}
		ids := callIDs{}
		ids.call, _ = r.Params.Meta[MetaCallID].(string)
		if r.Extra != nil {
			ids.request = r.Extra.Header.Get(headerRequestID)
		}
		return toResult(s.trial.call(ctx, tool, args, ids))
	}
}

func toResult(a Answer) (*mcp.CallToolResult, error) {
	if a.Status == "" { // a vague error has its one text and nothing else
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: a.Message}}}, nil
	}
	structured, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	return &mcp.CallToolResult{
		IsError:           !a.settled(),
		StructuredContent: json.RawMessage(structured),
		Content:           []mcp.Content{&mcp.TextContent{Text: string(structured)}},
	}, nil
}

func readArguments(raw json.RawMessage) (arguments, error) {
	args := arguments{}
	if len(raw) == 0 || string(raw) == "null" {
		return args, nil
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, fmt.Errorf("arguments: %w, expected a JSON object", err)
	}
	return args, nil
}

// jsonCall is the body of POST /tools/NAME.
type jsonCall struct {
	Arguments json.RawMessage `json:"arguments"`
	CallID    string          `json:"call_id"`    // the agent's tool-call id
	RequestID json.RawMessage `json:"request_id"` // text or number
}

// serveJSON is the plain surface: GET /tools/ lists the tools, POST /tools/NAME calls one.
func (s *surface) serveJSON(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, PathTools)
	if name == "" && r.Method == http.MethodGet {
		writeJSON(w, http.StatusOK, map[string]any{"tools": s.list()})
		return
	}
	i := slices.IndexFunc(s.offered, func(t *Tool) bool { return t.name == name })
	if i < 0 {
		writeJSON(w, http.StatusNotFound, Answer{Status: Refused, Message: fmt.Sprintf("tool %q is not offered here", name)})
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		writeJSON(w, http.StatusMethodNotAllowed, Answer{Status: Refused, Message: "a tool is called by POST"})
		return
	}
	call, args, err := readJSONCall(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		writeJSON(w, http.StatusBadRequest, Answer{Status: Refused, Message: err.Error()})
		return
	}
	answer := s.trial.call(r.Context(), s.offered[i], args, callIDs{
		call: call.CallID, request: strings.Trim(string(call.RequestID), `"`),
	})
	writeJSON(w, answer.httpStatus(), answer)
}

func readJSONCall(body io.Reader) (jsonCall, arguments, error) {
	var call jsonCall
	raw, err := io.ReadAll(body)
	if err != nil {
		return call, nil, fmt.Errorf("request body: %w", err)
	}
	if err := json.Unmarshal(raw, &call); err != nil {
		return call, nil, errors.New(`request body: expected {"arguments": {...}, "call_id": "...", "request_id": "..."}: ` + err.Error())
	}
	args, err := readArguments(call.Arguments)
	return call, args, err
}

func (s *surface) list() []map[string]any {
	var all []map[string]any
	for _, t := range s.offered {
		use := s.trial.config.Tools[t.name]
		all = append(all, map[string]any{
			"name": t.name, "description": t.about, "schema": t.Schema(use), "annotations": use.Annotations,
		})
	}
	return all
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // an agent that is gone is the links' to see
}
