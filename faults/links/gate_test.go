package links

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
)

// word is something that a gate was told.
type word struct {
	kind string // arrive, left, ended
	bench.Arrival
}

func (w word) String() string {
	return fmt.Sprintf("%s %s %d/%d %s", w.kind, w.Point, w.Conn, w.Exchange, w.Call.ID)
}

// gate is a bench.Gate that does what decide says and remembers what it was told.
type gate struct {
	decide func(bench.Arrival) bench.Action // nil: pass

	mu      sync.Mutex
	changed *sync.Cond
	words   []word
}

func newGate(decide func(bench.Arrival) bench.Action) *gate {
	g := &gate{decide: decide}
	g.changed = sync.NewCond(&g.mu)
	return g
}

func (g *gate) note(kind string, a bench.Arrival) {
	g.mu.Lock()
	g.words = append(g.words, word{kind, a})
	g.changed.Broadcast()
	g.mu.Unlock()
}

func (g *gate) Arrive(a bench.Arrival) bench.Action {
	g.note("arrive", a)
	if g.decide == nil {
		return bench.Action{Act: bench.Pass}
	}
	return g.decide(a)
}
func (g *gate) Left(a bench.Arrival)  { g.note("left", a) }
func (g *gate) Ended(a bench.Arrival) { g.note("ended", a) }

// wait returns when n words of this kind have been told. The test's own deadline bounds it.
func (g *gate) wait(kind string, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.count(kind) < n {
		g.changed.Wait()
	}
}

func (g *gate) count(kind string) int {
	n := 0
	for _, w := range g.words {
		if w.kind == kind {
			n++
		}
	}
	return n
}

// told returns all words so far, one a line.
func (g *gate) told() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var b strings.Builder
	for _, w := range g.words {
		fmt.Fprintln(&b, w)
	}
	return b.String()
}

// last returns the last word of a kind.
func (g *gate) last(kind string) bench.Arrival {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := len(g.words) - 1; i >= 0; i-- {
		if g.words[i].kind == kind {
			return g.words[i].Arrival
		}
	}
	return bench.Arrival{}
}

// upstream is a server whose answers are raw bytes, so that every framing can be had.
type upstream struct {
	ln     net.Listener
	answer func(u *upstreamConn, r *http.Request, body string) (goOn bool)

	mu      sync.Mutex
	conns   int
	seen    []string // "conn path body" of requests, in order
	changed *sync.Cond
}

type upstreamConn struct {
	*net.TCPConn
	n int // in order of acceptance, from 1
}

func (u *upstreamConn) write(s string) { _, _ = io.WriteString(u, s) }

// newUpstream serves until the test ends. answer writes the answer to one request.
func newUpstream(t testing.TB, answer func(*upstreamConn, *http.Request, string) bool) *upstream {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u := &upstream{ln: ln, answer: answer}
	u.changed = sync.NewCond(&u.mu)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			u.mu.Lock()
			u.conns++
			uc := &upstreamConn{c.(*net.TCPConn), u.conns}
			u.mu.Unlock()
			serving.Go(func() { u.serve(uc) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		serving.Wait()
	})
	return u
}

func (u *upstream) serve(c *upstreamConn) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		u.mu.Lock()
		u.seen = append(u.seen, fmt.Sprintf("%d %s %s", c.n, request.URL.Path, body))
		u.changed.Broadcast()
		u.mu.Unlock()
		if !u.answer(c, request, string(body)) {
			return
		}
	}
}

func (u *upstream) requests() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]string(nil), u.seen...)
}

// wait returns when n requests have come whole.
func (u *upstream) wait(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for len(u.seen) < n {
		u.changed.Wait()
	}
}

// echo answers each request with its body.
func echo(c *upstreamConn, r *http.Request, body string) bool {
	c.write(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	return !r.Close
}

// raise puts a link before the upstream at address. It is stopped at the test's end.
func raise(t testing.TB, address string, g bench.Gate) bench.Link {
	t.Helper()
	l, err := New().Raise(bench.LinkSpec{
		Name: "agent", Upstream: address, Request: bench.AgentRequest, Response: bench.AgentResponse,
		Gate: g,
		Parse: func(r bench.RawRequest) bench.Call {
			var m struct{ ID json.RawMessage }
			_ = json.Unmarshal(r.Body, &m) // other bodies have no id
			return bench.Call{Op: r.Method + " " + r.Path, ID: strings.Trim(string(m.ID), `"`)}
		},
		Told: func(status int, body []byte) string { return fmt.Sprintf("%d %s", status, body) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// dial opens a raw client connection that is closed at the test's end.
func dial(t testing.TB, address string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(*net.TCPConn)
}

func send(t testing.TB, c net.Conn, s string) {
	t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		t.Fatal(err)
	}
}

func post(body string) string {
	return fmt.Sprintf("POST /call HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}
