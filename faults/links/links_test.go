package links

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
)

// framing of an answer, and what must be seen of it.
type answerCase struct {
	name    string
	request string // default: a POST
	answer  string // of the upstream
	before  string // the part that goes on before the gate decides
	cut     string // what else is seen of it when it is cut after 3 bytes of content
	ends    bool   // the answer ends its connection
	told    string // as given to the gate
}

var answerCases = []answerCase{
	{
		name:   "content length",
		answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		cut:    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
		told:   "200 hello",
	},
	{
		name:   "content length, connection close",
		answer: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
		cut:    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhel",
		ends:   true,
		told:   "200 hello",
	},
	{
		name:   "shorter than the cut",
		answer: "HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}",
		cut:    "HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{",
		told:   "201 {}",
	},
	{
		name:   "empty",
		answer: "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
		cut:    "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r",
		told:   "202 ",
	},
	{
		name:   "no content",
		answer: "HTTP/1.1 204 No Content\r\n\r\n",
		cut:    "HTTP/1.1 204 No Content\r\n\r",
		told:   "204 ",
	},
	{
		name:    "head",
		request: "HEAD /call HTTP/1.1\r\nHost: x\r\n\r\n",
		answer:  "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n",
		cut:     "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r",
		told:    "200 ",
	},
	{
		name:   "not modified, with the length that it would have",
		answer: "HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n",
		cut:    "HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r",
		told:   "304 ",
	},
	{
		name:   "chunked",
		answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n003;x=y\r\nllo\r\n0\r\n\r\n",
		cut:    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n003;x=y\r\nl",
		told:   "200 hello",
	},
	{
		name:   "chunked with trailers",
		answer: "HTTP/1.1 500 No\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\nC: d\r\n\r\n",
		cut:    "HTTP/1.1 500 No\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhel",
		told:   "500 hello",
	},
	{
		name:   "until the connection closes",
		answer: "HTTP/1.0 200 OK\r\n\r\nhello",
		cut:    "HTTP/1.0 200 OK\r\n\r\nhel",
		ends:   true,
		told:   "200 hello",
	},
	{
		name:   "after interim answers",
		answer: "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		before: "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n",
		cut:    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
		told:   "200 hello",
	},
	{
		name:   "bare line feeds",
		answer: "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
		cut:    "HTTP/1.1 200 OK\nContent-Length: 5\n\nhel",
		told:   "200 hello",
	},
	{
		name:   "event stream, result first",
		answer: sse + event(`data: {"jsonrpc":"2.0","id":1,"result":{}}`+"\n\n") + "0\r\n\r\n",
		cut:    sse + "2c\r\ndat",
		told:   `200 {"jsonrpc":"2.0","id":1,"result":{}}`,
	},
	{
		name: "event stream, priming event and notification, error with a string id",
		answer: sse + event("id: 1\ndata: \n\n") + event("event: message\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"method\":\"notifications/progress\"}\r\n\r\n") +
			event(`data: {"jsonrpc":"2.0","id":"a","error":{"code":-32603}}`+"\n\n") + "0\r\n\r\n",
		before: sse + event("id: 1\ndata: \n\n") + event("event: message\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"method\":\"notifications/progress\"}\r\n\r\n")[:len(event("event: message\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"method\":\"notifications/progress\"}\r\n\r\n"))-2],
		cut:    "\r\n3a\r\ndat",
		told:   `200 {"jsonrpc":"2.0","id":"a","error":{"code":-32603}}`,
	},
	{
		name:   "event stream in one piece, until the connection closes",
		answer: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"id\":1,\"method\":\"roots/list\"}\r\rdata:{\"id\":1,\"result\":null}\r\rdata: x\r\r",
		before: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"id\":1,\"method\":\"roots/list\"}\r\r",
		cut:    "dat",
		ends:   true,
		told:   `200 {"id":1,"result":null}`,
	},
	{
		name:   "event stream without a result",
		answer: sse + event("id: 1\nretry: 10\ndata: \n\n") + "0\r\n\r\n",
		before: sse + strings.TrimSuffix(event("id: 1\nretry: 10\ndata: \n\n"), "\r\n"),
		cut:    "",
		told:   "200 ",
	},
	{
		name:    "standing stream",
		request: "GET /mcp HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n",
		answer:  sse + event("data: {\"id\":1,\"result\":{}}\n\n") + "0\r\n\r\n",
		cut:     sse,
		told:    "200 ",
	},
}

const sse = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"

func event(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// TestAnswers meets every framing with every act, the answer coming in one piece and byte by byte.
func TestAnswers(t *testing.T) {
	acts := []bench.Action{
		{Act: bench.Pass}, {Act: bench.Reset}, {Act: bench.Close}, {Act: bench.Swallow},
		{Act: bench.Truncate, Bytes: 3}, {Act: bench.Truncate, Bytes: 1 << 20}, {Act: bench.Replace, Status: 503, Body: "<html>"}, {Act: bench.Rollback},
	}
	for _, c := range answerCases {
		if c.request == "" {
			c.request = post(`{"id":1}`)
		}
		for _, act := range acts {
			for _, piece := range []int{1 << 20, 1} {
				t.Run(fmt.Sprintf("%s/%s-%d/%d", c.name, act.Act, act.Bytes, piece), func(t *testing.T) {
					checkAnswer(t, c, act, piece)
				})
			}
		}
	}
}

func checkAnswer(t *testing.T, c answerCase, act bench.Action, piece int) {
	g := newGate(func(a bench.Arrival) bench.Action {
		if a.Point == bench.AgentResponse && a.Exchange == 1 {
			return act
		}
		return bench.Action{Act: bench.Pass}
	})
	u := newUpstream(t, func(conn *upstreamConn, r *http.Request, body string) bool {
		if body == "next" {
			return echo(conn, r, body)
		}
		for s := c.answer; s != ""; s = s[min(piece, len(s)):] {
			conn.write(s[:min(piece, len(s))])
		}
		return !c.ends
	})
	l := raise(t, u.ln.Addr().String(), g)
	client := dial(t, l.Address())
	send(t, client, c.request)

	edge := "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 6\r\n\r\n<html>"
	edgeClose := strings.Replace(edge, "\r\n", "\r\nConnection: close\r\n", 1)
	if strings.HasPrefix(c.request, "HEAD") {
		edge = strings.TrimSuffix(edge, "<html>")
	}
	rest := strings.TrimPrefix(c.answer, c.before)
	stream := strings.Contains(c.answer, "event-stream")
	switch act.Act {
	case bench.Pass:
		expect(t, client, c.before+rest)
		if c.ends {
			expectEnd(t, client, "", nil)
		} else {
			expectNext(t, client, u, 2)
		}
	case bench.Reset, bench.Rollback:
		expectEnd(t, client, c.before, syscall.ECONNRESET)
	case bench.Close:
		expectEnd(t, client, c.before, nil)
	case bench.Swallow:
		g.wait("arrive", 2)
		if n := l.Exchanges(); n != 1 {
			t.Errorf("open exchanges %d, expected 1", n)
		}
		l.Cut(1)
		expectEnd(t, client, c.before, syscall.ECONNRESET)
	case bench.Truncate:
		if act.Bytes == 3 {
			expectEnd(t, client, c.before+c.cut, nil)
			break
		}
		got, err := io.ReadAll(client)
		if err != nil || !strings.HasPrefix(c.answer, string(got)) || len(got) >= len(c.answer) || len(got) < len(c.before) {
			t.Errorf("got %q, %v, expected a part of the answer", got, err)
		}
	case bench.Replace:
		switch {
		case stream && c.before != "":
			expectEnd(t, client, c.before, nil)
		case stream || c.ends:
			expectEnd(t, client, c.before+edgeClose, nil)
		default:
			expect(t, client, c.before+edge)
			expectNext(t, client, u, 2)
		}
	}
	first := 2
	if got := g.nth("arrive", first); got.Point != bench.AgentResponse || got.Told != c.told {
		t.Errorf("gate was told %q at %s, expected %q at the answer", got.Told, got.Point, c.told)
	}
	g.wait("ended", 1)
	if got := g.nth("ended", 1); got.Exchange != 1 || got.Conn != 1 {
		t.Errorf("ended: connection %d exchange %d, expected 1 and 1", got.Conn, got.Exchange)
	}
	if l.Exchanges() != 0 || g.times("left") != 0 {
		t.Errorf("open exchanges %d, expected none; left %d times, expected 0", l.Exchanges(), g.times("left"))
	}
}

// TestRequests meets every framing of a request with every act on it.
func TestRequests(t *testing.T) {
	requests := []struct{ name, raw, body string }{
		{"content length", post(`{"id":7}`), `{"id":7}`},
		{"no body", "GET /v1/refunds?order=1 HTTP/1.1\r\nHost: x\r\n\r\n", ""},
		{"empty lines before", "\r\n\r\nDELETE /mcp HTTP/1.1\r\nHost: x\r\n\r\n", ""},
		{"chunked", "POST /call HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{\"id\r\n4\r\n\":7}\r\n0\r\n\r\n", `{"id":7}`},
		{"version 1.0", "POST /call HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 8\r\n\r\n{\"id\":7}", `{"id":7}`},
	}
	acts := []bench.Action{
		{Act: bench.Pass}, {Act: bench.Reset}, {Act: bench.Close}, {Act: bench.Swallow}, {Act: bench.Truncate},
		{Act: bench.Replace, Status: 429, Body: `{"e":1}`}, {Act: bench.Fail, Status: 500},
	}
	for _, r := range requests {
		for _, act := range acts {
			for _, piece := range []int{1 << 20, 1} {
				t.Run(fmt.Sprintf("%s/%s/%d", r.name, act.Act, piece), func(t *testing.T) {
					g := newGate(func(a bench.Arrival) bench.Action {
						if a.Exchange == 1 && a.Point == bench.AgentRequest {
							return act
						}
						return bench.Action{Act: bench.Pass}
					})
					u := newUpstream(t, echo)
					l := raise(t, u.ln.Addr().String(), g)
					client := dial(t, l.Address())
					for s := r.raw; s != ""; s = s[min(piece, len(s)):] {
						send(t, client, s[:min(piece, len(s))])
					}
					want := 0
					switch act.Act {
					case bench.Pass:
						expect(t, client, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(r.body), r.body))
						expectNext(t, client, u, 2)
						want = 2
					case bench.Reset, bench.Fail:
						expectEnd(t, client, "", syscall.ECONNRESET)
					case bench.Close, bench.Truncate:
						expectEnd(t, client, "", nil)
					case bench.Swallow:
						g.wait("arrive", 1)
						l.Cut(1)
						expectEnd(t, client, "", syscall.ECONNRESET)
					case bench.Replace:
						expect(t, client, "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"e\":1}")
						expectNext(t, client, u, 1)
						want = 1
					}
					if got := u.requests(); len(got) != want {
						t.Errorf("upstream got %q, expected %d requests", got, want)
					}
					g.wait("ended", 1)
					if id := g.nth("arrive", 1).Call.ID; r.body != "" && id != "7" {
						t.Errorf("call id %q, expected 7", id)
					}
				})
			}
		}
	}
}

// TestExpectContinue: the link tells the client to go on, since the upstream is given the request whole.
func TestExpectContinue(t *testing.T) {
	g := newGate(nil)
	u := newUpstream(t, func(c *upstreamConn, r *http.Request, body string) bool {
		if r.Header.Get("Expect") != "" { // a server that says so itself
			c.write("HTTP/1.1 100 Continue\r\n\r\n")
		}
		return echo(c, r, body)
	})
	l := raise(t, u.ln.Addr().String(), g)
	client := dial(t, l.Address())
	send(t, client, "POST /call HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
	expect(t, client, "HTTP/1.1 100 Continue\r\n\r\n")
	if len(u.requests()) != 0 {
		t.Error("the upstream has the request before it was whole")
	}
	send(t, client, "hello")
	expect(t, client, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
	expectNext(t, client, u, 2)
}

// TestPipelined: what ends the first exchange never touches the second one, and never lets it through.
func TestPipelined(t *testing.T) {
	for _, act := range []bench.Act{bench.Pass, bench.Reset, bench.Close, bench.Truncate, bench.Replace} {
		for _, point := range []bench.Point{bench.AgentRequest, bench.AgentResponse} {
			t.Run(string(act)+" "+string(point), func(t *testing.T) {
				g := newGate(func(a bench.Arrival) bench.Action {
					if a.Exchange == 2 && a.Point == point {
						return bench.Action{Act: act, Status: 502}
					}
					return bench.Action{Act: bench.Pass}
				})
				u := newUpstream(t, echo)
				l := raise(t, u.ln.Addr().String(), g)
				client := dial(t, l.Address())
				send(t, client, post("one")+post("two")+post("three"))
				expect(t, client, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none")
				reached := 2
				switch act {
				case bench.Pass:
					expect(t, client, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo")
				case bench.Replace:
					expect(t, client, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
				case bench.Reset:
					expectEnd(t, client, "", syscall.ECONNRESET)
				case bench.Truncate:
					if point == bench.AgentResponse {
						expect(t, client, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n")
					}
					expectEnd(t, client, "", nil)
				case bench.Close:
					expectEnd(t, client, "", nil)
				}
				if act == bench.Pass || act == bench.Replace {
					expect(t, client, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthree")
					reached = 3
				}
				if point == bench.AgentRequest && act != bench.Pass {
					reached--
				}
				if got := u.requests(); len(got) != reached {
					t.Errorf("upstream got %q, expected %d requests", got, reached)
				}
			})
		}
	}
}

// An edge gives up on a request that the upstream still has: the client gets the edge's answer and an orderly
// end, the upstream sees its client leave, and what it answers later reaches nobody.
func TestEdgeAnswersWhileUpstreamHolds(t *testing.T) {
	g := newGate(func(bench.Arrival) bench.Action { return bench.Action{Act: bench.Pass} })
	held, goOn := make(chan bool), make(chan bool)
	wrote := make(chan error, 1)
	u := newUpstream(t, func(c *upstreamConn, _ *http.Request, _ string) bool {
		held <- true
		<-goOn
		_, err := c.Read(make([]byte, 1))
		wrote <- err
		return false
	})
	l := raise(t, u.ln.Addr().String(), g)
	client := dial(t, l.Address())
	l.Answer(1, bench.Action{Status: 503}) // nothing is asked yet: nothing is answered
	send(t, client, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}")
	<-held
	l.Answer(1, bench.Action{Status: 503, Body: "<html>"})
	g.wait("ended", 1)
	expectEnd(t, client, "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 6\r\n\r\n<html>", nil)
	close(goOn)
	if err := <-wrote; err == nil {
		t.Error("the upstream's client is still there")
	}
	if got := g.nth("ended", 1); got.Note != "an edge answered 503" || g.times("left") != 0 || g.count("ended") != 1 {
		t.Errorf("ended with note %q, %d ends, %d left", got.Note, g.count("ended"), g.times("left"))
	}
}

func (g *gate) nth(kind string, n int) bench.Arrival {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range g.words {
		if w.kind == kind {
			if n--; n == 0 {
				return w.Arrival
			}
		}
	}
	return bench.Arrival{}
}

func (g *gate) times(kind string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.count(kind)
}

// expect reads exactly what is wanted.
func expect(t *testing.T, r io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(r, got); err != nil || string(got) != want {
		t.Fatalf("got %q, %v, expected %q", got[:n], err, want)
	}
}

// expectEnd reads to the end of the connection: an orderly one, or by the error wanted.
func expectEnd(t *testing.T, r io.Reader, want string, end error) {
	t.Helper()
	got, err := io.ReadAll(r)
	if !errors.Is(err, end) || string(got) != want {
		t.Fatalf("got %q, end %v, expected %q, end %v", got, err, want, end)
	}
}

// expectNext sends another request, the n-th that reaches the upstream, and reads its answer.
func expectNext(t *testing.T, c io.ReadWriter, u *upstream, n int) {
	t.Helper()
	if _, err := io.WriteString(c, post("next")); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r.Body)
	if err != nil || string(b) != "next" {
		t.Fatalf("body %q, %v, expected next", b, err)
	}
	if got := u.requests(); len(got) != n {
		t.Fatalf("upstream got %q, expected %d requests", got, n)
	}
}

// TestCutIdle: a connection that waits for its next exchange is reset, one with an exchange in work is not.
func TestCutIdle(t *testing.T) {
	goOn := make(chan struct{})
	g := newGate(func(a bench.Arrival) bench.Action {
		if a.Point == bench.AgentResponse && a.Conn == 2 {
			<-goOn
		}
		return bench.Action{Act: bench.Pass}
	})
	l := raise(t, newUpstream(t, echo).ln.Addr().String(), g)
	idle := dial(t, l.Address())
	send(t, idle, post("one"))
	expect(t, idle, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none")
	busy := dial(t, l.Address())
	send(t, busy, post("two"))
	g.wait("arrive", 4)
	l.CutIdle()
	expectEnd(t, idle, "", syscall.ECONNRESET)
	close(goOn)
	expect(t, busy, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo")
}
