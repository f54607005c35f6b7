package links

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// parkAt returns a gate that parks whatever arrives at a point until the channel is closed, and passes the rest.
func parkAt(point bench.Point) (*gate, chan struct{}) {
	release := make(chan struct{})
	return newGate(func(a bench.Arrival) bench.Action {
		if a.Point == point {
			<-release
		}
		return bench.Action{Act: bench.Pass}
	}), release
}

// TestClientLeaves: the leaving is told while the message is parked, and a parked request is not forwarded afterwards.
func TestClientLeaves(t *testing.T) {
	leave := map[string]func(*net.TCPConn){
		"orderly": func(c *net.TCPConn) { _ = c.Close() },
		"reset":   func(c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() },
	}
	for how, leave := range leave {
		t.Run("request parked/"+how, func(t *testing.T) {
			g, release := parkAt(bench.AgentRequest)
			u := newUpstream(t, echo)
			l := raise(t, u.ln.Addr().String(), g)
			c := dial(t, l.Address())
			send(t, c, post(`{"id":1}`))
			g.wait("arrive", 1)
			leave(c)
			g.wait("left", 1)
			if g.times("ended") != 0 || l.Exchanges() != 1 {
				t.Error("the exchange ended while its request was parked")
			}
			close(release)
			g.wait("ended", 1)
			stop(t, l) // waits for the connection
			if got := u.requests(); len(got) != 0 {
				t.Errorf("upstream got %q, expected nothing", got)
			}
			want := "arrive agent-link/request 1/1 1\nleft agent-link/request 1/1 1\nended agent-link/request 1/1 1\n"
			if g.told() != want {
				t.Errorf("gate was told\n%sexpected\n%s", g.told(), want)
			}
		})
		t.Run("answer parked/"+how, func(t *testing.T) {
			g, release := parkAt(bench.AgentResponse)
			u := newUpstream(t, echo)
			l := raise(t, u.ln.Addr().String(), g)
			c := dial(t, l.Address())
			send(t, c, post(`{"id":1}`))
			g.wait("arrive", 2)
			leave(c)
			g.wait("left", 1)
			close(release)
			g.wait("ended", 1)
			stop(t, l)
			want := "arrive agent-link/request 1/1 1\narrive agent-link/response 1/1 1\nleft agent-link/response 1/1 1\nended agent-link/response 1/1 1\n"
			if g.told() != want {
				t.Errorf("gate was told\n%sexpected\n%s", g.told(), want)
			}
		})
		t.Run("upstream at work/"+how, func(t *testing.T) {
			g := newGate(nil)
			gone := make(chan error, 1)
			u := newUpstream(t, func(c *upstreamConn, _ *http.Request, _ string) bool {
				_, err := c.Read(make([]byte, 1)) // held until the link tells of the client's leaving
				gone <- err
				return false
			})
			l := raise(t, u.ln.Addr().String(), g)
			c := dial(t, l.Address())
			send(t, c, post(`{"id":1}`))
			u.wait(1)
			leave(c)
			g.wait("ended", 1)
			want := io.EOF
			if how == "reset" {
				want = syscall.ECONNRESET
			}
			if err := <-gone; !errors.Is(err, want) {
				t.Errorf("upstream saw %v, expected %v", err, want)
			}
			told := "arrive agent-link/request 1/1 1\nleft agent-link/request 1/1 1\nended agent-link/request 1/1 1\n"
			if g.told() != told {
				t.Errorf("gate was told\n%sexpected\n%s", g.told(), told)
			}
		})
		t.Run("black hole/"+how, func(t *testing.T) {
			for _, point := range []bench.Point{bench.AgentRequest, bench.AgentResponse} {
				g := newGate(func(a bench.Arrival) bench.Action {
					if a.Point == point {
						return bench.Action{Act: bench.Swallow}
					}
					return bench.Action{Act: bench.Pass}
				})
				u := newUpstream(t, func(c *upstreamConn, r *http.Request, body string) bool {
					echo(c, r, body)
					return false // its own end does not show through a black hole
				})
				l := raise(t, u.ln.Addr().String(), g)
				c := dial(t, l.Address())
				send(t, c, post(`{"id":1}`))
				g.wait("arrive", map[bench.Point]int{bench.AgentRequest: 1, bench.AgentResponse: 2}[point])
				leave(c)
				g.wait("ended", 1)
				if g.times("left") != 1 || l.Exchanges() != 0 {
					t.Errorf("left %d times, %d open exchanges, expected 1 and 0", g.times("left"), l.Exchanges())
				}
			}
		})
	}
}

// TestUpstreamEnds: the client sees the end that the upstream had, and the exchange is over without an answer.
func TestUpstreamEnds(t *testing.T) {
	for _, c := range []struct {
		name, before string
		reset        bool
		want         error
		note         string
	}{
		{"orderly", "", false, nil, "upstream closed the connection"},
		{"reset", "", true, syscall.ECONNRESET, "upstream reset the connection"},
		{"orderly inside the answer", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhe", false, nil, "upstream closed the connection inside its answer"},
		{"orderly inside the head", "HTTP/1.1 200", false, nil, "upstream closed the connection inside its answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGate(nil)
			u := newUpstream(t, func(conn *upstreamConn, _ *http.Request, _ string) bool {
				conn.write(c.before)
				if c.reset {
					_ = conn.SetLinger(0)
				}
				return false
			})
			l := raise(t, u.ln.Addr().String(), g)
			client := dial(t, l.Address())
			send(t, client, post(`{"id":1}`))
			expectEnd(t, client, c.before, c.want)
			g.wait("ended", 1)
			if got := g.last("ended").Note; got != c.note {
				t.Errorf("note %q, expected %q", got, c.note)
			}
			if g.times("arrive") != 1 || g.times("left") != 0 {
				t.Errorf("gate was told\n%s", g.told())
			}
		})
	}
}

// TestUpstreamEndsWhileParked: the front shows it at once, the report waits for the gate.
func TestUpstreamEndsWhileParked(t *testing.T) {
	g, release := parkAt(bench.AgentRequest)
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	l := raise(t, ln.Addr().String(), g)
	client := dial(t, l.Address())
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	send(t, client, post(`{"id":1}`))
	g.wait("arrive", 1)
	_ = server.(*net.TCPConn).SetLinger(0)
	_ = server.Close()
	expectEnd(t, client, "", syscall.ECONNRESET)
	if g.times("ended") != 0 {
		t.Error("ended before the gate let go")
	}
	close(release)
	g.wait("ended", 1)
	if g.times("left") != 0 {
		t.Error("the client did not leave")
	}
}

// TestGoClient: what a Go HTTP client makes of a reset, an end and a refusal.
func TestGoClient(t *testing.T) {
	var act atomic.Pointer[bench.Action]
	act.Store(&bench.Action{Act: bench.Reset})
	g := newGate(func(a bench.Arrival) bench.Action {
		if a.Point == bench.AgentResponse {
			return *act.Load()
		}
		return bench.Action{Act: bench.Pass}
	})
	u := newUpstream(t, echo)
	l := raise(t, u.ln.Addr().String(), g)
	call := func() error {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		r, err := client.Post("http://"+l.Address()+"/call", "application/json", strings.NewReader("{}"))
		if err == nil {
			_, err = io.ReadAll(r.Body)
			_ = r.Body.Close()
		}
		return err
	}
	if err := call(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reset: %v", err)
	}
	act.Store(&bench.Action{Act: bench.Close})
	if err := call(); !errors.Is(err, io.EOF) {
		t.Errorf("close: %v", err)
	}
	act.Store(&bench.Action{Act: bench.Truncate, Bytes: 1})
	if err := call(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("truncate: %v", err)
	}
	if err := l.Shut(); err != nil {
		t.Fatal(err)
	}
	if err := call(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("shut: %v", err)
	}
	act.Store(&bench.Action{Act: bench.Pass})
	if err := l.Open(); err != nil {
		t.Fatal(err)
	}
	if err := call(); err != nil {
		t.Errorf("open: %v", err)
	}
}

// TestShut: the address stays the link's, live connections go on, and a second Shut or Open is an error.
func TestShut(t *testing.T) {
	u := newUpstream(t, echo)
	l := raise(t, u.ln.Addr().String(), newGate(nil))
	client := dial(t, l.Address())
	expectNext(t, client, u, 1)
	for i := range 50 {
		if err := l.Shut(); err != nil {
			t.Fatal(err)
		}
		if err := l.Shut(); err == nil {
			t.Fatal("shut twice")
		}
		if _, err := net.Dial("tcp4", l.Address()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("dial of a shut link: %v", err)
		}
		if ln, err := net.Listen("tcp4", l.Address()); err == nil {
			_ = ln.Close()
			t.Fatal("somebody else got the port of a shut link")
		}
		expectNext(t, client, u, 2+2*i)
		if err := l.Open(); err != nil {
			t.Fatal(err)
		}
		if err := l.Open(); err == nil {
			t.Fatal("opened twice")
		}
		fresh := dial(t, l.Address())
		expectNext(t, fresh, u, 3+2*i)
		_ = fresh.Close()
	}
}

// TestRefusedUpstream: nobody listens behind the link, and the client is reset at once.
func TestRefusedUpstream(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
	g := newGate(nil)
	l := raise(t, ln.Addr().String(), g)
	c, err := net.Dial("tcp4", l.Address())
	if err == nil {
		_, err = io.ReadAll(c)
		_ = c.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("end %v, expected a reset", err)
	}
	if g.told() != "" {
		t.Errorf("gate was told %s", g.told())
	}
}

// TestOrdinaryEnds: on a link that also resets, large answers that end their connection arrive whole.
func TestOrdinaryEnds(t *testing.T) {
	const clients = 4
	times := 1000
	if testing.Short() {
		times = 100
	}
	want := append([]byte("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1048576\r\n\r\n"),
		bytes.Repeat([]byte("0123456789abcdef"), 1<<16)...)
	g := newGate(func(a bench.Arrival) bench.Action {
		if a.Point == bench.AgentResponse && a.Call.ID == "0" {
			return bench.Action{Act: bench.Reset}
		}
		return bench.Action{Act: bench.Pass}
	})
	u := newUpstream(t, func(c *upstreamConn, _ *http.Request, _ string) bool {
		_, _ = c.Write(want)
		return false
	})
	l := raise(t, u.ln.Addr().String(), g)
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for i := range times / clients {
				c, err := net.Dial("tcp4", l.Address())
				if err != nil {
					t.Error(err)
					return
				}
				id := i % 10 // every tenth is reset
				_, _ = io.WriteString(c, post(fmt.Sprintf(`{"id":%d}`, id)))
				n, err := same(c, want)
				_ = c.Close()
				switch {
				case id == 0 && (!errors.Is(err, syscall.ECONNRESET) || n != 0):
					t.Errorf("%d bytes, end %v, expected a reset before any", n, err)
				case id != 0 && (err != io.EOF || n != len(want)):
					t.Errorf("%d bytes as expected, end %v, expected %d bytes and an orderly end", n, err, len(want))
				}
			}
		})
	}
	all.Wait()
}

// same reads r to its end, and says how many bytes were as wanted and how it ended.
func same(r io.Reader, want []byte) (n int, end error) {
	buffer := make([]byte, 64<<10)
	for {
		k, err := r.Read(buffer)
		if !bytes.HasPrefix(want[n:], buffer[:k]) {
			return n, fmt.Errorf("other bytes at %d", n)
		}
		if n += k; err != nil {
			return n, err
		}
	}
}

// TestStop: no goroutine of a stopped link stays, whatever its connections were doing.
func TestStop(t *testing.T) {
	before := runtime.NumGoroutine()
	g, release := parkAt(bench.AgentResponse)
	g2, release2 := parkAt(bench.AgentRequest)
	u := newUpstream(t, echo)
	address := u.ln.Addr().String()
	idle, parked, parked2 := raise(t, address, newGate(nil)), raise(t, address, g), raise(t, address, g2)
	c := dial(t, idle.Address())
	expectNext(t, c, u, 1)
	dial(t, idle.Address()) // sends nothing
	half := dial(t, idle.Address())
	send(t, half, "POST / HTTP/1.1\r\nContent-Le")
	p, p2 := dial(t, parked.Address()), dial(t, parked2.Address())
	send(t, p, post(`{"id":1}`)+post(`{"id":2}`))
	send(t, p2, post(`{"id":1}`))
	g.wait("arrive", 2)
	g2.wait("arrive", 1)
	for _, l := range []bench.Link{idle, parked, parked2} {
		stop(t, l)
		if _, err := net.Dial("tcp4", l.Address()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial of a stopped link: %v", err)
		}
	}
	for _, c := range []net.Conn{c, half, p, p2} {
		expectEnd(t, c, "", syscall.ECONNRESET)
	}
	close(release)
	close(release2)
	g.wait("ended", 1)
	g2.wait("ended", 1)
	if g.times("left")+g2.times("left") != 0 || len(u.requests()) != 2 {
		t.Errorf("upstream got %q, gates were told %s%s", u.requests(), g.told(), g2.told())
	}
	_ = u.ln.Close()
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

func stop(t *testing.T, l bench.Link) {
	t.Helper()
	if err := l.Stop(); err != nil {
		t.Error(err)
	}
}
