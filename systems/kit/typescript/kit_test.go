package typescript_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// node is a Node that runs the kit: the one in PATH, or that of the conformance clients.
func node(t testing.TB) string {
	t.Helper()
	if path, err := exec.LookPath("node"); err == nil {
		return path
	}
	path, err := filepath.Abs("../../../.cache/clients/node/node")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("no node in PATH: apt-get install -y nodejs, or make clients")
	}
	return path
}

// child is the test's adapter, and the harness's side of it.
type child struct {
	t      testing.TB
	cmd    *exec.Cmd
	orders io.WriteCloser
	words  *bufio.Scanner
	stderr *bytes.Buffer
	seq    int
	tools  []bench.OfferedTool
}

func raise(t testing.TB, args ...string) *child {
	t.Helper()
	c := &child{t: t, stderr: &bytes.Buffer{}}
	c.cmd = exec.Command(node(t), append([]string{"testdata/adapter.js"}, args...)...)
	c.cmd.Stderr = c.stderr
	var err error
	if c.orders, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.words = bufio.NewScanner(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.orders.Close()
		for c.words.Scan() {
		}
		c.cmd.Wait()
	})
	return c
}

// start opens a trial.
func (c *child) start(knobs bench.Knobs) {
	c.t.Helper()
	c.seq = 0
	c.send(0, bench.Order{Type: "start", Start: &bench.StartOrder{Wire: bench.WireVersion, Knobs: knobs, Tools: c.tools}})
	c.expect("started", "ack")
}

// send writes an order at a virtual time, in seconds after the epoch.
func (c *child) send(at int, o bench.Order) {
	c.t.Helper()
	c.seq++
	o.Seq, o.Now = c.seq, bench.Epoch.Add(time.Duration(at)*time.Second).Format(time.RFC3339Nano)
	text, err := json.Marshal(o)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.orders.Write(append(text, '\n')); err != nil {
		c.t.Fatal(err)
	}
}

func (c *child) turn(tools ...string) {
	c.t.Helper()
	o := &bench.TurnOrder{ID: "t1"}
	for i, tool := range tools {
		o.Calls = append(o.Calls, bench.GivenCall{Ordinal: i + 1, ID: fmt.Sprint("call-", i+1), Tool: tool, Args: map[string]any{"amount": 2500}})
	}
	c.send(0, bench.Order{Type: "turn", Turn: o})
	c.expect("ack")
}

// expect reads as many words as are named and compares: TYPE, claim:OUTCOME, at:EVENT, wait:UNTIL:WHY. It
// returns the last.
func (c *child) expect(want ...string) bench.Word {
	c.t.Helper()
	var w bench.Word
	for _, word := range want {
		if !c.words.Scan() {
			c.t.Fatalf("the words ended, expected %s; stderr: %s", word, c.stderr)
		}
		w = bench.Word{}
		if err := json.Unmarshal(c.words.Bytes(), &w); err != nil {
			c.t.Fatalf("%v: %s", err, c.words.Bytes())
		}
		got := w.Type
		if more := w.Outcome + w.Event; more != "" {
			got += ":" + more
		}
		if w.Type == "wait" {
			got += ":" + strings.TrimPrefix(w.Until, "2026-01-05T") + ":" + w.Why
		}
		if got != word {
			c.t.Fatalf("got %s, expected %s (%s)", got, word, c.words.Bytes())
		}
	}
	return w
}

// clock moves virtual time.
func (c *child) clock(at int) {
	c.t.Helper()
	c.send(at, bench.Order{Type: "clock"})
	c.expect("ack")
}

func (c *child) claims(outcome string, receipts ...string) bench.Word {
	c.t.Helper()
	w := c.expect("claim:" + outcome)
	if fmt.Sprint(w.Receipts) != fmt.Sprint(receipts) {
		c.t.Fatalf("receipts %q, expected %q", w.Receipts, receipts)
	}
	return w
}

func TestTimersOfALibraryRunOnVirtualTime(t *testing.T) {
	c := raise(t)
	c.start(bench.Knobs{})
	c.turn("wait", "timers", "cleared")
	c.expect("wait:09:00:05.000Z:look-up lag")
	c.clock(4)
	c.clock(5)
	c.claims("done", "2026-01-05T09:00:05.000Z")
	c.expect("wait:09:00:08.000Z:back-off")
	c.clock(8)
	c.expect("wait:09:00:10.000Z:back-off")
	c.clock(10)
	c.expect("wait:09:00:11.000Z:back-off")
	c.clock(11)
	c.expect("wait:09:00:15.000Z:back-off")
	c.clock(15)
	w := c.expect("claim:done")
	if got := strings.Join(w.Receipts, "; "); got != "2026-01-05T09:00:08.000Z; 2026-01-05T09:00:10.000Z; 2026; TimeoutError" {
		t.Errorf("dates %s", got)
	}
	c.expect("wait:09:00:24.000Z:back-off")
	c.clock(24)
	c.claims("done", "AbortError")
	c.expect("finished", "idle")
}

func TestAskAtAndDecide(t *testing.T) {
	c := raise(t)
	c.start(bench.Knobs{Events: true})
	c.turn("ask", "at", "stands", "stands")
	c.expect("ask")
	c.send(0, bench.Order{Type: "decide", Decide: &bench.DecideOrder{Turn: "t1", Ordinal: 1, Decision: bench.Denied}})
	c.expect("ack", "claim:failed", "at:dispatching")
	c.send(0, bench.Order{Type: "proceed", Proceed: &bench.ProceedOrder{Event: "dispatching"}})
	c.expect("ack", "claim:done")
	c.send(0, bench.Order{Type: "decide", Decide: &bench.DecideOrder{Turn: "t1", Ordinal: 4, Decision: bench.Withdrawn}})
	c.expect("ack") // the fourth is stopped before it begins
	c.send(0, bench.Order{Type: "cancel", Cancel: &bench.CallRef{Turn: "t1", Ordinal: 3}})
	c.expect("ack", "claim:unknown", "claim:failed", "finished", "idle")
	c.send(0, bench.Order{Type: "cancel", Cancel: &bench.CallRef{Turn: "t1", Ordinal: 3}})
	c.expect("ack", "finished", "idle") // nothing to do, and an idle all the same
}

func TestWhatALibraryPrintsIsNoWord(t *testing.T) {
	c := raise(t)
	c.start(bench.Knobs{})
	c.turn("prints", "throws")
	c.expect("claim:done", "error", "claim:unknown", "finished", "idle")
	c.send(0, bench.Order{Type: "reset"})
	c.expect("ack")
	c.orders.Close()
	if err := c.cmd.Wait(); err != nil || !strings.Contains(c.stderr.String(), "a line of a library") {
		t.Errorf("%v, stderr %q", err, c.stderr)
	}
}

// A process whose library has come to rest takes the next trial. One with a call that never returns does not.
func TestReset(t *testing.T) {
	c := raise(t)
	for range 2 {
		c.start(bench.Knobs{})
		c.turn("wait")
		c.expect("wait:09:00:05.000Z:look-up lag")
		c.clock(5)
		c.expect("claim:done", "finished", "idle")
		c.send(0, bench.Order{Type: "reset"})
		c.expect("ack")
	}
	c.start(bench.Knobs{})
	c.turn("never")
	c.send(0, bench.Order{Type: "reset"})
	if c.words.Scan() {
		t.Errorf("got %s, expected the end of the process", c.words.Bytes())
	}
}

func TestOrdersThatAreNotKnownEndTheProcess(t *testing.T) {
	for _, test := range []struct{ order, says string }{
		{`{"type":"turn","seq":1,"now":"2026-01-05T09:00:00Z"}`, "order 1 (turn) before start"},
		{`{"type":"start","seq":1,"now":"nine","start":{"wire":1}}`, `now is "nine", expected a time by RFC 3339`},
		{`{"type":"start","seq":1,"now":"2026-01-05T09:00:00Z","start":{"wire":9}}`, "wire version is 9, expected 1"},
		{`start`, "order start: SyntaxError"},
	} {
		c := raise(t)
		fmt.Fprintln(c.orders, test.order)
		if w := c.expect("error"); !strings.Contains(w.Detail, test.says) {
			t.Errorf("%s: %q, expected ...%q", test.order, w.Detail, test.says)
		}
		if err := c.cmd.Wait(); err == nil {
			t.Errorf("%s: ended with status 0, expected 1", test.order)
		}
	}
}

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
