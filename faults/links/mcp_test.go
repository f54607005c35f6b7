package links

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sixthcopy/sixthcopy/bench"
)

// TestMCP puts a link between the Go SDK's client and server, with JSON answers and with event streams,
// stateless and with sessions: the gate is shown the tool's result, whole, after the tool ran, and what it
// says happens to that result and to nothing else.
func TestMCP(t *testing.T) {
	for name, options := range map[string]mcp.StreamableHTTPOptions{
		"stateless, event stream": {Stateless: true},
		"stateless, JSON":         {Stateless: true, JSONResponse: true},
		"sessions, event stream":  {},
	} {
		t.Run(name, func(t *testing.T) {
			var ran atomic.Int64
			server := mcp.NewServer(&mcp.Implementation{Name: "refunds", Version: "1"}, nil)
			mcp.AddTool(server, &mcp.Tool{Name: "refund_order"}, func(context.Context, *mcp.CallToolRequest, struct {
				Order string `json:"order"`
			}) (*mcp.CallToolResult, any, error) {
				ran.Add(1)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "refunded"}}}, nil, nil
			})
			upstream := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &options))
			defer upstream.Close()

			var strike atomic.Pointer[bench.Action]
			g := newGate(nil)
			g.decide = func(a bench.Arrival) bench.Action {
				if act := strike.Load(); act != nil && a.Point == bench.AgentResponse && a.Call.Op == "refund_order" {
					if !strings.Contains(a.Told, "refunded") {
						t.Errorf("gate was told %q, expected the tool's result", a.Told)
					}
					return *act
				}
				return bench.Action{Act: bench.Pass}
			}
			l, err := New().Raise(bench.LinkSpec{
				Name: "agent", Upstream: upstream.Listener.Addr().String(), Gate: g,
				Request: bench.AgentRequest, Response: bench.AgentResponse,
				Parse: func(r bench.RawRequest) bench.Call {
					var m struct {
						ID     json.RawMessage
						Params struct{ Name string }
					}
					_ = json.Unmarshal(r.Body, &m) // a GET has no body
					return bench.Call{Op: m.Params.Name, ID: string(m.ID)}
				},
				Told: func(_ int, body []byte) string { return string(body) },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer stop(t, l)

			want := int64(0)
			for _, act := range []*bench.Action{nil, {Act: bench.Reset}, {Act: bench.Close}, {Act: bench.Truncate}, {Act: bench.Truncate, Bytes: 9}, {Act: bench.Replace, Status: 502}} {
				// A session of its own for each: the SDK's client does not outlive a JSON body that is cut.
				transport := &http.Transport{}
				client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
				session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
					Endpoint: "http://" + l.Address(), HTTPClient: &http.Client{Transport: transport}, MaxRetries: -1,
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
				strike.Store(act)
				res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "refund_order", Arguments: map[string]any{"order": "order_4821"}})
				strike.Store(nil)
				want++
				if ran.Load() != want {
					t.Errorf("%v: the tool ran %d times, expected %d", act, ran.Load(), want)
				}
				if act == nil && (err != nil || res.IsError) {
					t.Errorf("no fault: %v", err)
				}
				if act != nil && err == nil {
					t.Errorf("%v: the client got a result", *act)
				}
				_ = session.Close() // what it says of a struck session is the SDK's
				transport.CloseIdleConnections()
			}
		})
	}
}
