package typescript_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
)

// offer offers the tools of the adapter at an address.
func (c *child) offer(address string, transport bench.Transport, typed bool) {
	c.tools = nil
	for _, name := range []string{"by_http", "by_fetch", "unread"} {
		c.tools = append(c.tools, bench.OfferedTool{Name: name, Address: address, Transport: transport, TakesKey: true,
			Contract: bench.OfferedContract{ErrorsTyped: typed}})
	}
}

// hole is a server that takes requests and never answers; gone is told of each one that its client leaves.
func hole(t *testing.T) (address string, came, gone chan string) {
	came, gone = make(chan string, 8), make(chan string, 8)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		came <- r.URL.Path
		<-r.Context().Done()
		gone <- r.URL.Path
	}))
	t.Cleanup(s.Close)
	return s.URL, came, gone
}

func TestCancelAndTimeOutDisconnect(t *testing.T) {
	for _, args := range [][]string{nil, {"library"}} {
		c := raise(t, args...)
		address, came, gone := hole(t)
		c.offer(address, bench.TransportJSON, true)
		c.start(bench.Knobs{CallTimeoutMS: 30_000})
		c.turn("by_http", "by_http")
		c.expect("wait:09:00:30.000Z:time-out")
		<-came
		c.clock(29)
		c.clock(30)
		<-gone
		c.expect("claim:unknown", "wait:09:01:00.000Z:time-out")
		<-came
		c.send(30, bench.Order{Type: "cancel", Cancel: &bench.CallRef{Turn: "t1", Ordinal: 2}})
		c.expect("ack")
		<-gone
		c.expect("wait::time-out", "claim:unknown", "finished", "idle")
	}
	c := raise(t)
	address, came, gone := hole(t)
	c.offer(address, bench.TransportJSON, true)
	c.start(bench.Knobs{})
	c.turn("by_fetch")
	<-came
	c.send(0, bench.Order{Type: "cancel", Cancel: &bench.CallRef{Turn: "t1", Ordinal: 1}})
	c.expect("ack")
	<-gone
	c.expect("claim:unknown", "finished", "idle")
}

// Back-offs are announced while no answer is awaited; the key is in every try.
func TestBackOffsBetweenTries(t *testing.T) {
	for _, tool := range []string{"by_http", "by_fetch"} {
		var tries []string
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			tries = append(tries, r.Header.Get("Idempotency-Key")+" "+r.URL.Path+" "+string(body))
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, `{"status":"unknown","message":"lost"}`)
		}))
		defer s.Close()
		c := raise(t)
		c.offer(s.URL, bench.TransportJSON, true)
		c.start(bench.Knobs{})
		c.turn(tool)
		c.expect("wait:09:00:01.000Z:back-off")
		c.clock(1)
		c.expect("wait:09:00:03.000Z:back-off")
		c.clock(3)
		c.expect("claim:unknown", "finished", "idle")
		want := `key-1 /tools/` + tool + ` {"arguments":{"amount":2500,"idempotency_key":"key-1"},"call_id":"call-1","request_id":"1"}`
		if fmt.Sprint(tries) != fmt.Sprint([]string{want, want, want}) {
			t.Errorf("sent %q, expected thrice %q", tries, want)
		}
	}
}

// A library that does not read an answer to its end still waits for the time only.
func TestBackOffAfterAnAnswerThatIsNotRead(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 1<<20)) }))
	c := raise(t)
	t.Cleanup(s.Close)
	c.offer(s.URL, bench.TransportJSON, true)
	c.start(bench.Knobs{})
	c.turn("unread")
	c.expect("wait:09:00:01.000Z:back-off")
	c.clock(1)
	c.expect("claim:done", "finished", "idle")
	c.send(1, bench.Order{Type: "reset"})
	if c.words.Scan() { // the answer is under way for ever: what is left of it must not meet another trial
		t.Errorf("got %s, expected the end of the process", c.words.Bytes())
	}
}

// A refused dial is proof that nothing was sent, unless it was not this call's first try.
func TestLostCalls(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	c := raise(t)
	c.offer("http://"+l.Addr().String(), bench.TransportJSON, true)
	c.start(bench.Knobs{})
	for _, tool := range []string{"by_http", "by_fetch"} {
		c.turn(tool)
		c.expect("claim:failed", "finished", "idle")
		c.send(0, bench.Order{Type: "repair", Repair: &bench.RepairOrder{Turn: "t1", Ordinal: 1, Call: bench.GivenCall{Ordinal: 1, ID: "call-r", Tool: tool}}})
		c.expect("ack", "claim:unknown", "finished", "idle")
		c.send(0, bench.Order{Type: "turn", Turn: &bench.TurnOrder{ID: "t2", Redelivered: true, Calls: []bench.GivenCall{{Ordinal: 1, ID: "call-1", Tool: tool}}}})
		c.expect("ack", "claim:unknown", "finished", "idle")
	}
}

func TestAnswersBecomeClaims(t *testing.T) {
	c := raise(t)
	event := func(structured string) string {
		return "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"text\":\"words\"}],\"structuredContent\":" + structured + "}}\n\n"
	}
	for _, test := range []struct {
		transport bench.Transport
		typed     bool
		status    int
		body      string
		want      string
	}{
		{"json", true, 200, `{"status":"done","receipts":["re_1"]}`, "done [re_1]"},
		{"json", true, 200, `{"status":"partial","receipts":["re_1"]}`, "partial [re_1]"},
		{"json", true, 422, `{"status":"refused","message":"no"}`, "failed []"},
		{"json", true, 422, `{"status":"not_executed","message":"no"}`, "failed []"},
		{"json", false, 422, `{"status":"not_executed","message":"no"}`, "unknown []"},
		{"json", true, 409, `{"status":"conflict","message":"taken"}`, "unknown []"},
		{"json", true, 400, `what?`, "failed []"},
		{"json", true, 429, `later`, "unknown []"},
		{"json", true, 200, ``, "unknown []"},
		{"mcp", true, 200, event(`{"status":"done","receipts":["re_1"]}`), "done [re_1]"},
		{"mcp", true, 200, event(`{"status":"refused"}`), "failed []"},
		{"mcp", false, 200, `{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"text":"The operation failed."}]}}`, "unknown []"},
		{"mcp", true, 200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such tool"}}`, "unknown []"},
		{"mcp", true, 200, "event: message\ndata: {\"jsonrpc\"", "unknown []"},
		{"mcp", true, 200, "", "unknown []"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.status)
			fmt.Fprint(w, test.body)
		}))
		c.offer(s.URL, test.transport, test.typed)
		c.start(bench.Knobs{})
		c.turn("by_http")
		if !c.words.Scan() {
			t.Fatalf("the words ended; stderr: %s", c.stderr)
		}
		var w bench.Word
		if err := json.Unmarshal(c.words.Bytes(), &w); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(w.Outcome, " ", w.Receipts); got != test.want {
			t.Errorf("%s, %d %q: claimed %s (%s), expected %s", test.transport, test.status, test.body, got, w.Detail, test.want)
		}
		c.expect("finished", "idle")
		c.send(0, bench.Order{Type: "reset"})
		c.expect("ack")
		s.Close()
	}
}

// Only a request of the stateless protocol is one whose disconnect a server takes for a cancellation.
func TestMCPRequestNamesItsProtocol(t *testing.T) {
	var got string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = fmt.Sprintln(r.Header.Get("Mcp-Protocol-Version"), r.Header.Get("Mcp-Method"), r.Header.Get("Mcp-Name"), string(body))
	}))
	defer s.Close()
	c := raise(t)
	c.offer(s.URL, bench.TransportMCP, true)
	c.start(bench.Knobs{})
	c.turn("by_fetch")
	c.expect("claim:unknown", "finished", "idle")
	want := `2026-07-28 tools/call by_fetch {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"by_fetch","arguments":{"amount":2500,"idempotency_key":"key-1"},` +
		`"_meta":{"sixthcopy/call_id":"call-1","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n"
	if got != want {
		t.Errorf("sent %s, expected %s", got, want)
	}
}

// A session is opened before the call, by the kit itself, and used again.
func TestSessions(t *testing.T) {
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct{ Method string }
		_ = json.NewDecoder(r.Body).Decode(&m)
		got = append(got, m.Method+" "+r.Header.Get("Mcp-Session-Id"))
		if m.Method == "initialize" {
			w.Header().Set("Mcp-Session-Id", "s1")
		}
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"status":"done","receipts":["re_1"]}}}`)
	}))
	defer s.Close()
	c := raise(t)
	c.offer(s.URL, bench.TransportMCPSessions, true)
	c.start(bench.Knobs{})
	c.turn("by_http", "by_fetch")
	c.expect("claim:done", "claim:done", "finished", "idle")
	if want := "[initialize  notifications/initialized s1 tools/call s1 tools/call s1]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, expected %s", got, want)
	}
}
