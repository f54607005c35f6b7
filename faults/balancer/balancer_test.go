package balancer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// replica is a line server: it answers each line with its own name, and does what some words say.
type replica struct {
	name string
	ln   net.Listener
	saw  chan error // how a connection that was told "wait" ended
}

func newReplica(t *testing.T, name string) *replica {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{name: name, ln: ln, saw: make(chan error, 100)}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { r.serve(c.(*net.TCPConn)) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		serving.Wait()
	})
	return r
}

func (r *replica) serve(c *net.TCPConn) {
	defer c.Close()
	lines := bufio.NewReader(c)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			r.saw <- err
			return
		}
		switch line {
		case "end\n":
			return
		case "reset\n":
			_ = c.SetLinger(0)
			return
		}
		_, _ = io.WriteString(c, r.name+"\n")
	}
}

func (r *replica) address() string { return r.ln.Addr().String() }

func newBalancer(t *testing.T, replicas ...*replica) bench.Balancer {
	t.Helper()
	b, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	for _, r := range replicas {
		b.Point(r.name, r.address())
	}
	return b
}

type client struct {
	*net.TCPConn
	r *bufio.Reader
}

func dial(t *testing.T, b bench.Balancer) client {
	t.Helper()
	c, err := net.Dial("tcp4", b.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return client{c.(*net.TCPConn), bufio.NewReader(c)}
}

// ask returns the name of the replica that answers.
func (c client) ask(t *testing.T) string {
	t.Helper()
	_, _ = io.WriteString(c, "who\n")
	line, err := c.r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

// refused says how a connection through b ends that is not served.
func refused(b bench.Balancer) error {
	c, err := net.Dial("tcp4", b.Address())
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = io.ReadAll(c)
	return err
}

func TestRound(t *testing.T) {
	one, two, three := newReplica(t, "1"), newReplica(t, "2"), newReplica(t, "3")
	b := newBalancer(t, one, two, three)
	conn := 0
	next := func(want string) client {
		t.Helper()
		c := dial(t, b)
		conn++
		if got := b.Serving(conn); got != want {
			t.Errorf("connection %d: Serving %q, expected %q", conn, got, want)
		}
		if got := c.ask(t); got != want {
			t.Errorf("connection %d: answered by %q, expected %q", conn, got, want)
		}
		return c
	}
	first := next("1")
	next("2")
	next("3")
	next("1")
	b.Avoid("2", true)
	b.Avoid("none", true)
	next("3")
	next("1")
	b.Avoid("2", false)
	next("2")
	if got := first.ask(t); got != "1" { // a connection stays where it is
		t.Errorf("first connection answered by %q, expected 1", got)
	}
	restarted := newReplica(t, "3 again")
	b.Point("3", restarted.address())
	c := dial(t, b)
	if conn++; b.Serving(conn) != "3" || c.ask(t) != "3 again" {
		t.Errorf("Serving %q, expected 3 at its new address", b.Serving(conn))
	}
	if got := b.Serving(0); got != "" {
		t.Errorf("Serving(0) is %q", got)
	}
}

func TestRefused(t *testing.T) {
	one := newReplica(t, "1")
	b := newBalancer(t)
	if err := refused(b); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("no instance: %v", err)
	}
	b.Point("1", one.address())
	b.Avoid("1", true)
	if err := refused(b); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("all avoided: %v", err)
	}
	b.Avoid("1", false)
	_ = one.ln.Close()
	if err := refused(b); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("dial refused: %v", err)
	}
	for conn := range 3 {
		if got := b.Serving(conn + 1); got != "" {
			t.Errorf("connection %d: Serving %q, expected none", conn+1, got)
		}
	}
	b.Point("1", newReplica(t, "1").address())
	if got := dial(t, b).ask(t); got != "1" {
		t.Errorf("answered by %q, expected 1", got)
	}
}

// TestEnds: each end arrives at the other side as what it was.
func TestEnds(t *testing.T) {
	one := newReplica(t, "1")
	b := newBalancer(t, one)
	for range 50 {
		c := dial(t, b)
		_, _ = io.WriteString(c, "end\n")
		if _, err := c.r.ReadByte(); err != io.EOF {
			t.Fatalf("end of the replica: client saw %v, expected EOF", err)
		}
		c = dial(t, b)
		_, _ = io.WriteString(c, "reset\n")
		if _, err := c.r.ReadByte(); !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("reset of the replica: client saw %v", err)
		}
		c = dial(t, b)
		c.ask(t)
		_ = c.Close()
		if err := <-one.saw; err != io.EOF {
			t.Fatalf("end of the client: replica saw %v, expected EOF", err)
		}
		c = dial(t, b)
		c.ask(t)
		_ = c.SetLinger(0)
		_ = c.Close()
		if err := <-one.saw; !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("reset of the client: replica saw %v", err)
		}
		c = dial(t, b)
		_, _ = io.WriteString(c, "who\n")
		_ = c.CloseWrite() // half a connection still gets its answer
		got, err := io.ReadAll(c.r)
		if err != nil || string(got) != "1\n" {
			t.Fatalf("half-closed client got %q, %v", got, err)
		}
		if err := <-one.saw; err != io.EOF {
			t.Fatalf("half-closed client: replica saw %v, expected EOF", err)
		}
	}
}

func TestDrop(t *testing.T) {
	one, two := newReplica(t, "1"), newReplica(t, "2")
	b := newBalancer(t, one, two)
	c1, c2 := dial(t, b), dial(t, b)
	c1.ask(t)
	c2.ask(t)
	b.Drop("1")
	if _, err := c1.r.ReadByte(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("dropped client saw %v", err)
	}
	if err := <-one.saw; !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("dropped replica saw %v", err)
	}
	if got := c2.ask(t); got != "2" {
		t.Errorf("the other connection is answered by %q", got)
	}
}

// TestConcurrent: under 64 clients Serving tells of each connection who answers on it. The connection's
// ordinal is found out by dialling one after the other; the asking is concurrent.
func TestConcurrent(t *testing.T) {
	replicas := []*replica{newReplica(t, "1"), newReplica(t, "2"), newReplica(t, "3")}
	b := newBalancer(t, replicas...)
	var all sync.WaitGroup
	for n := range 64 {
		c := dial(t, b)
		all.Go(func() {
			for range 20 {
				_, _ = io.WriteString(c, "who\n")
				line, err := c.r.ReadString('\n')
				if want := b.Serving(n+1) + "\n"; err != nil || line != want {
					t.Errorf("connection %d: answered by %q, %v, Serving %q", n+1, line, err, want)
				}
			}
		})
	}
	all.Wait()
}

// TestStop: the front is closed, connections are reset, nothing is left running.
func TestStop(t *testing.T) {
	one := newReplica(t, "1")
	before := runtime.NumGoroutine()
	b := newBalancer(t, one)
	c := dial(t, b)
	c.ask(t)
	for range 2 {
		if err := b.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.r.ReadByte(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("client saw %v", err)
	}
	if err := refused(b); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial of a stopped balancer: %v", err)
	}
	if got := b.Serving(2); got != "" {
		t.Errorf("Serving(2) is %q", got)
	}
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatal(fmt.Sprintf("%d goroutines, %d before:\n", runtime.NumGoroutine(), before), string(stacks[:runtime.Stack(stacks, true)]))
		}
	}
}
