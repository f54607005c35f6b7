package tools

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sixthcopy/sixthcopy/bench"
)

func benchProvider(b *testing.B) (*http.Server, string) {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		answerJSON(w, 201, `{"id":"tk_1"}`)
	})}
	go web.Serve(listener)
	return web, listener.Addr().String()
}

// exchangeLog records whole exchanges between an agent and a tool server, as a link sees them.
type exchangeLog struct {
	mu       sync.Mutex
	requests []bench.RawRequest
	statuses []int
	bodies   [][]byte
}

func (l *exchangeLog) proxy(t *testing.T, upstream string) string {
	t.Helper()
	to, _ := url.Parse("http://" + upstream)
	forward := httputil.NewSingleHostReverseProxy(to)
	forward.ModifyResponse = func(r *http.Response) error {
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		l.mu.Lock()
		defer l.mu.Unlock()
		l.statuses, l.bodies = append(l.statuses, r.StatusCode), append(l.bodies, body)
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		l.mu.Lock()
		l.requests = append(l.requests, bench.RawRequest{Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header, Body: body})
		l.mu.Unlock()
		forward.ServeHTTP(w, r)
	})}
	go web.Serve(listener)
	t.Cleanup(func() { web.Close() })
	return listener.Addr().String()
}

// What the real client and the real server write is what the harness reads.
func TestAgentLinkOnRealTraffic(t *testing.T) {
	p := newProvider(t, func(n int, s seen, w http.ResponseWriter, r *http.Request) {
		if n == 2 {
			cut(w)
			return
		}
		ticketsAnswer(n, s, w, r)
	})
	config := ticketConfig(p, bench.ToolUse{Key: bench.KeyArgument, Errors: bench.ErrorsVague})
	s := raise(t, newTestPool(t), config)
	var log exchangeLog
	session := connect(t, "http://"+log.proxy(t, s.Address())+PathMCP)
	if _, err := session.ListTools(withDeadline(t), nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := session.CallTool(withDeadline(t), &mcp.CallToolParams{Name: "create_ticket",
			Arguments: map[string]any{"title": "A", "priority": 2, keyArgument: "k"}}); err != nil {
			t.Fatal(err)
		}
	}
	parse := ParseAgentRequest(config.Tools)
	var ops, told []string
	for i, r := range log.requests {
		call := parse(r)
		ops = append(ops, call.Op)
		told = append(told, Told(bench.TransportMCP, log.statuses[i], log.bodies[i]))
		if again := Told("", log.statuses[i], log.bodies[i]); again != told[i] {
			t.Errorf("told %q by transport, %q by looks", told[i], again)
		}
		if call.Op != "create_ticket" {
			if call.Mutating || call.Class != "" {
				t.Errorf("%s is no call: %+v", call.Op, call)
			}
			continue
		}
		want := map[string]any{"title": "A", "priority": 2.0}
		if !call.Mutating || call.Class != "ticket" || call.Key != "k" || call.ID == "" || !reflect.DeepEqual(call.Attrs, want) {
			t.Errorf("call %+v, expected attributes %v", call, want)
		}
	}
	if want := []string{"server/discover", "tools/list", "create_ticket", "create_ticket"}; !slices.Equal(ops, want) {
		t.Errorf("operations %v, expected %v", ops, want)
	}
	if want := []string{ToldNothing, ToldNothing, ToldDone, ToldVague}; !slices.Equal(told, want) {
		t.Errorf("told %v, expected %v", told, want)
	}
}

func TestTold(t *testing.T) {
	result := `{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"x"}],"structuredContent":{"status":"STATUS"},"isError":ERR}}`
	with := func(status, isError string) string {
		r := bytes.ReplaceAll([]byte(result), []byte("STATUS"), []byte(status))
		return string(bytes.ReplaceAll(r, []byte("ERR"), []byte(isError)))
	}
	for _, c := range []struct {
		name      string
		transport bench.Transport
		status    int
		body      string
		want      string
	}{
		{"result as JSON", bench.TransportMCP, 200, with("done", "false"), ToldDone},
		{"result as an event", bench.TransportMCP, 200, "event: message\ndata: " + with("done", "false") + "\n\n", ToldDone},
		{"a priming event and a notification before", bench.TransportMCPSessions, 200,
			"id: 1\ndata: \n\nevent: message\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\r\n\r\ndata: " + with("refused", "true") + "\n\n", ToldNotExecuted},
		{"not executed", bench.TransportMCP, 200, with("not_executed", "true"), ToldNotExecuted},
		{"unknown", bench.TransportMCP, 200, with("unknown", "true"), ToldVague},
		{"conflict", bench.TransportMCP, 200, with("conflict", "true"), ToldVague},
		{"protocol error", bench.TransportMCP, 200, `{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"unknown tool"}}`, ToldVague},
		{"half an event", bench.TransportMCP, 200, "data: " + with("done", "false")[:40], ToldNothing},
		{"an event without its end", bench.TransportMCP, 200, "data: " + with("done", "false"), ToldNothing},
		{"empty", bench.TransportMCP, 200, "", ToldNothing},
		{"accepted notification", bench.TransportMCP, 202, "", ToldNothing},
		{"session gone", bench.TransportMCPSessions, 404, "session not found\n", ToldVague},
		{"edge", bench.TransportMCP, 502, "bad gateway", ToldVague},
		{"plain done", bench.TransportJSON, 200, `{"status":"done","receipts":["a"]}`, ToldDone},
		{"plain done by looks", "", 200, `{"status":"done"}`, ToldDone},
		{"plain not executed", "", 422, `{"status":"not_executed"}`, ToldNotExecuted},
		{"plain vague", "", 502, `{"message":"The operation failed. Please try again."}`, ToldVague},
		{"plain edge", bench.TransportJSON, 503, "", ToldVague},
		{"plain empty", bench.TransportJSON, 200, "", ToldNothing},
		{"plain half", bench.TransportJSON, 200, `{"status":"do`, ToldNothing},
	} {
		if got := Told(c.transport, c.status, []byte(c.body)); got != c.want {
			t.Errorf("%s: told %q, expected %q", c.name, got, c.want)
		}
	}
}

func TestParseAgentRequest(t *testing.T) {
	parse := ParseAgentRequest(map[string]bench.ToolUse{"send_message": {}, "list_refunds": {}})
	for _, c := range []struct {
		method, path, body string
		want               bench.Call
	}{
		{"POST", "/tools/send_message", `{"arguments":{"to":["a","b"],"subject":"S","body":""},"call_id":"c1","request_id":7}`,
			bench.Call{Op: "send_message", Class: "message", Mutating: true, ID: "7", Attrs: map[string]any{"to": "a", "subject": "S"},
				Units: []map[string]any{{"to": "a", "subject": "S"}, {"to": "b", "subject": "S"}}}},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"list_refunds","arguments":{"order":"o"}}}`,
			bench.Call{Op: "list_refunds", ID: "x"}},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, bench.Call{Op: "initialize", ID: "1"}},
		{"POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, bench.Call{Op: "notifications/cancelled"}},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"put_file","arguments":{"path":"p"}}}`,
			bench.Call{Op: "put_file", ID: "2"}}, // not offered
		{"POST", "/mcp", `rubbish`, bench.Call{Op: "POST"}},
		{"POST", "/tools/send_message", `rubbish`, bench.Call{Op: "send_message"}},
		{"GET", "/mcp-sessions", ``, bench.Call{Op: "GET"}},
		{"DELETE", "/mcp-sessions?x=1", ``, bench.Call{Op: "DELETE"}},
	} {
		got := parse(bench.RawRequest{Method: c.method, Path: c.path, Body: []byte(c.body)})
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s %s:\ngot  %+v\nwant %+v", c.method, c.path, c.body, got, c.want)
		}
	}
}
