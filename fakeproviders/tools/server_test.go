package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sixthcopy/sixthcopy/bench"
)

// TestMain makes the test binary its own tool server, as the sixthcopy binary is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "tool-server" {
		os.Exit(Main(context.Background(), os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func newTestPool(t *testing.T) *Pool {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := NewPool(exe, "tool-server")
	t.Cleanup(func() { p.Close() })
	return p
}

// deadline bounds failure; it orders nothing.
func withDeadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// seen is a request as the test's provider got it.
type seen struct {
	method, path, body, key, target string
}

// provider is a small provider for tests: it notes each request as it arrives and answers with answer.
type provider struct {
	address string
	mu      sync.Mutex
	seen    []seen
}

func newProvider(t *testing.T, answer func(n int, s seen, w http.ResponseWriter, r *http.Request)) *provider {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{address: listener.Addr().String()}
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s := seen{r.Method, r.URL.RequestURI(), string(body), r.Header.Get("Idempotency-Key"), r.Header.Get("X-Amz-Target")}
		p.mu.Lock()
		p.seen = append(p.seen, s)
		n := len(p.seen)
		p.mu.Unlock()
		answer(n, s, w, r)
	})}
	go web.Serve(listener)
	t.Cleanup(func() { web.Close() })
	return p
}

func (p *provider) requests() []seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]seen(nil), p.seen...)
}

// cut ends the connection of an exchange before the first byte of its answer.
func cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
}

func answerJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, body)
}

// tickets answers tickets with ids tk_1, tk_2 ... by order of arrival.
func ticketsAnswer(n int, _ seen, w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, 201, fmt.Sprintf(`{"id":"tk_%d"}`, n))
}

func raise(t *testing.T, pool *Pool, c bench.ToolServerConfig) bench.ToolServer {
	t.Helper()
	s, err := pool.Get(withDeadline(t), "1")
	if err != nil {
		t.Fatal(err)
	}
	if c.Now.IsZero() {
		c.Now = bench.Epoch
	}
	if err := s.Configure(withDeadline(t), c); err != nil {
		t.Fatal(err)
	}
	return s
}

func ticketConfig(p *provider, use bench.ToolUse) bench.ToolServerConfig {
	return bench.ToolServerConfig{
		ProviderKind: "tickets", Provider: p.address, Fresh: true,
		Tools: map[string]bench.ToolUse{"create_ticket": use, "find_ticket": {Errors: use.Errors}},
	}
}

// post calls a tool over plain JSON.
func post(t *testing.T, s bench.ToolServer, tool string, args map[string]any, callID, requestID string) (int, Answer) {
	t.Helper()
	status, answer, err := tryPost(withDeadline(t), s, tool, args, callID, requestID)
	if err != nil {
		t.Fatal(err)
	}
	return status, answer
}

func tryPost(ctx context.Context, s bench.ToolServer, tool string, args map[string]any, callID, requestID string) (int, Answer, error) {
	body, err := json.Marshal(map[string]any{"arguments": args, "call_id": callID, "request_id": requestID})
	if err != nil {
		return 0, Answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, "POST", "http://"+s.Address()+PathTools+tool, bytes.NewReader(body))
	if err != nil {
		return 0, Answer{}, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, Answer{}, err
	}
	defer resp.Body.Close()
	var a Answer
	err = json.NewDecoder(resp.Body).Decode(&a)
	return resp.StatusCode, a, err
}

func nextNote(t *testing.T, s bench.ToolServer) bench.ToolServerNote {
	t.Helper()
	select {
	case n, ok := <-s.Notes():
		if !ok {
			t.Fatal("the notes ended")
		}
		return n
	case <-withDeadline(t).Done():
		t.Fatal("no note came")
	}
	panic("unreachable")
}

// connect opens an MCP session with the real client.
func connect(t *testing.T, endpoint string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(withDeadline(t), &mcp.StreamableClientTransport{Endpoint: endpoint, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatalf("connect to %s: %v", endpoint, err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func TestOverMCP(t *testing.T) {
	yes := true
	for path, version := range map[string]string{PathMCP: "2026-07-28", PathMCPSessions: "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			p := newProvider(t, ticketsAnswer)
			use := bench.ToolUse{Key: bench.KeyMeta, Errors: bench.ErrorsTyped, Annotations: bench.Annotations{ReadOnly: &yes, Idempotent: &yes}}
			s := raise(t, newTestPool(t), ticketConfig(p, use))
			session := connect(t, "http://"+s.Address()+path)
			if got := session.InitializeResult().ProtocolVersion; got != version {
				t.Errorf("protocol %s, expected %s", got, version)
			}
			if stateful := session.ID() != ""; stateful != (path == PathMCPSessions) {
				t.Errorf("session id %q at %s", session.ID(), path)
			}
			list, err := session.ListTools(withDeadline(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(list.Tools) != 2 || list.Tools[0].Name != "create_ticket" {
				t.Fatalf("tools %v, expected create_ticket and find_ticket only", list.Tools)
			}
			if a := list.Tools[0].Annotations; a == nil || !a.ReadOnlyHint || !a.IdempotentHint {
				t.Errorf("annotations %+v, expected the workload's, lying as they are", a)
			}
			result, err := session.CallTool(withDeadline(t), &mcp.CallToolParams{
				Name: "create_ticket", Arguments: map[string]any{"title": "A", "reference": "ref-1"},
				Meta: mcp.Meta{MetaCallID: "call_7"},
			})
			if err != nil {
				t.Fatal(err)
			}
			got, _ := json.Marshal(result.StructuredContent)
			if want := `{"receipts":["tk_1"],"status":"done"}`; result.IsError || string(got) != want {
				t.Errorf("result %s (error %t), expected %s", got, result.IsError, want)
			}
			want := seen{"POST", "/tickets", `{"reference":"ref-1","title":"A"}`, "call-call_7", ""}
			if got := p.requests(); len(got) != 1 || got[0] != want {
				t.Errorf("provider saw %v, expected %v", got, want)
			}
			if _, err := session.CallTool(withDeadline(t), &mcp.CallToolParams{Name: "send_message"}); err == nil {
				t.Error("a tool of the catalogue that is not offered was callable")
			}
		})
	}
}

func TestOverJSON(t *testing.T) {
	p := newProvider(t, ticketsAnswer)
	s := raise(t, newTestPool(t), ticketConfig(p, bench.ToolUse{Errors: bench.ErrorsTyped}))
	status, a := post(t, s, "create_ticket", map[string]any{"title": "A"}, "c1", "1")
	if status != 200 || a.Status != Done || len(a.Receipts) != 1 || a.Receipts[0] != "tk_1" {
		t.Errorf("got %d %+v", status, a)
	}
	if status, a = post(t, s, "send_message", nil, "", ""); status != 404 {
		t.Errorf("a tool that is not offered: got %d %+v", status, a)
	}
	status, a = post(t, s, "create_ticket", map[string]any{"queue": 3, "colour": "red", "idempotency_key": "k"}, "c2", "2")
	if status != 422 || a.Status != Refused {
		t.Errorf("wrong arguments: got %d %+v", status, a)
	}
	want := `call of create_ticket: argument "colour" is not one of title, queue, priority, body, reference; ` +
		`argument "idempotency_key" is not one of title, queue, priority, body, reference; ` +
		`argument "queue" is 3, expected a text; argument "title" is missing`
	if a.Message != want {
		t.Errorf("message\n%s, expected\n%s", a.Message, want)
	}
	if got := len(p.requests()); got != 1 {
		t.Errorf("provider saw %d requests, expected 1", got)
	}
	resp, err := http.Get("http://" + s.Address() + PathTools)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	list, _ := io.ReadAll(resp.Body)
	if !strings.Contains(string(list), `"create_ticket"`) || strings.Contains(string(list), `"send_message"`) {
		t.Errorf("list of tools: %s", list)
	}
}
