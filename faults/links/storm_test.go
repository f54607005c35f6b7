package links

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
)

// TestConnectionNumbers: the k-th connection of the link is the k-th that the upstream accepts, whatever
// the order in which 64 clients dial and send.
func TestConnectionNumbers(t *testing.T) {
	const clients, rounds = 64, 10
	g := newGate(nil)
	u := newUpstream(t, echo)
	l := raise(t, u.ln.Addr().String(), g)
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			for k := range rounds {
				c, err := net.Dial("tcp4", l.Address())
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.WriteString(c, post(fmt.Sprintf(`{"id":%d}`, i*rounds+k)))
				if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
					t.Error(err)
				}
				_ = c.Close()
			}
		})
	}
	all.Wait()
	at := map[string]int{} // connection that the upstream counted, by call id
	for _, r := range u.requests() {
		conn, body, _ := strings.Cut(r, " /call ")
		n, err := strconv.Atoi(conn)
		if err != nil {
			t.Fatal(err)
		}
		at[strings.TrimSuffix(strings.TrimPrefix(body, `{"id":`), "}")] = n
	}
	if len(at) != clients*rounds {
		t.Fatalf("upstream got %d requests, expected %d", len(at), clients*rounds)
	}
	for _, w := range g.words {
		if w.kind == "arrive" && w.Conn != at[w.Call.ID] {
			t.Errorf("call %s: connection %d at the link, %d at the upstream", w.Call.ID, w.Conn, at[w.Call.ID])
		}
	}
}

// TestStorm injects 10,000 faults under 16 concurrent clients on kept connections. Each call names the
// fault that is to meet it, so that one at a wrong message shows.
func TestStorm(t *testing.T) {
	const clients, injections = 16, 10_000
	s := storm{reached: map[string]chan struct{}{}}
	g := &quietGate{decide: s.decide}
	u := newUpstream(t, echo)
	l := raise(t, u.ln.Addr().String(), g)
	s.address = l.Address()

	var injected, wrong atomic.Int64
	var all sync.WaitGroup
	for n := range clients {
		all.Go(func() {
			c := stormClient{storm: &s}
			defer c.drop()
			for i := n; injected.Load() < injections; i++ {
				plan := plans[i%len(plans)]
				if plan.act != bench.Pass {
					injected.Add(1)
				}
				if err := c.call(fmt.Sprintf("%d-%d", n, i), plan, i%5 == 0); err != nil {
					wrong.Add(1)
					t.Errorf("client %d call %d, %v: %v", n, i, plan, err)
				}
			}
		})
	}
	all.Wait()
	stop(t, l) // all exchanges have ended
	seen := map[string]bool{}
	for _, r := range u.requests() {
		seen[r[strings.Index(r, " /call ")+len(" /call "):]] = true
	}
	for id, want := range s.wanted() {
		if seen[id] != want {
			wrong.Add(1)
			t.Errorf("call %s: at the upstream %v, expected %v", id, seen[id], want)
		}
	}
	if g.arrived.Load() != g.atRequest.Load()+g.atResponse.Load() || g.atRequest.Load() != g.ended.Load() {
		t.Errorf("%d requests arrived, %d exchanges ended", g.atRequest.Load(), g.ended.Load())
	}
	t.Logf("%d injections, %d wrong", injected.Load(), wrong.Load())
}

// plan is a fault for one call.
type plan struct {
	point bench.Point
	act   bench.Act
}

var plans = []plan{
	{bench.AgentResponse, bench.Reset}, {bench.AgentRequest, bench.Reset}, {bench.AgentRequest, bench.Pass},
	{bench.AgentResponse, bench.Close}, {bench.AgentRequest, bench.Close}, {bench.AgentResponse, bench.Truncate},
	{bench.AgentRequest, bench.Replace}, {bench.AgentResponse, bench.Replace}, {bench.AgentResponse, bench.Pass},
	{bench.AgentRequest, bench.Swallow}, {bench.AgentResponse, bench.Swallow},
}

type storm struct {
	address string
	mu      sync.Mutex
	reached map[string]chan struct{} // by call id: the gate has decided to swallow it
	want    map[string]bool          // by body: it must have reached the upstream
}

// decide reads the plan out of the call's id: ID|POINT|ACT.
func (s *storm) decide(a bench.Arrival) bench.Action {
	part := strings.Split(a.Call.ID, "|")
	if len(part) != 3 || part[1] != string(a.Point) {
		return bench.Action{Act: bench.Pass}
	}
	if act := bench.Act(part[2]); act == bench.Swallow {
		close(s.swallowed(a.Call.ID))
	}
	return bench.Action{Act: bench.Act(part[2]), Status: 503, Bytes: 4}
}

func (s *storm) swallowed(id string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reached[id] == nil {
		s.reached[id] = make(chan struct{})
	}
	return s.reached[id]
}

func (s *storm) expect(body string, reaches bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.want == nil {
		s.want = map[string]bool{}
	}
	s.want[body] = reaches
}

func (s *storm) wanted() map[string]bool { return s.want }

type stormClient struct {
	*storm
	c net.Conn
	r *bufio.Reader
}

func (c *stormClient) drop() {
	if c.c != nil {
		_ = c.c.Close()
		c.c = nil
	}
}

// call makes one planned call, with an unstruck one pipelined behind it if so wished, and says what was
// not as planned.
func (c *stormClient) call(id string, p plan, pipelined bool) error {
	if c.c == nil {
		conn, err := net.Dial("tcp4", c.address)
		if err != nil {
			return err
		}
		c.c, c.r = conn, bufio.NewReader(conn)
	}
	name := fmt.Sprintf("%s|%s|%s", id, p.point, p.act)
	body, next := fmt.Sprintf(`{"id":%q}`, name), fmt.Sprintf(`{"id":"%s next"}`, id)
	out := post(body)
	if pipelined {
		out += post(next)
	}
	if _, err := io.WriteString(c.c, out); err != nil {
		return err
	}
	c.expect(body, p.point == bench.AgentResponse || p.act == bench.Pass)
	goesOn := p.act == bench.Pass || p.act == bench.Replace
	if pipelined {
		c.expect(next, goesOn)
	}
	if p.act == bench.Swallow {
		<-c.swallowed(name)
		c.drop()
		return nil
	}
	status, got, err := c.answer()
	switch p.act {
	case bench.Pass:
		if err != nil || status != 200 || got != body {
			return fmt.Errorf("answer %d %q, %w", status, got, err)
		}
	case bench.Replace:
		if err != nil || status != 503 || got != "" {
			return fmt.Errorf("answer %d %q, %w", status, got, err)
		}
	case bench.Reset:
		if !errors.Is(err, syscall.ECONNRESET) || got != "" {
			return fmt.Errorf("answer %d %q, %w", status, got, err)
		}
	case bench.Close:
		if !errors.Is(err, io.ErrUnexpectedEOF) || status != 0 {
			return fmt.Errorf("answer %d %q, %w", status, got, err)
		}
	case bench.Truncate:
		if !errors.Is(err, io.ErrUnexpectedEOF) || got != body[:4] {
			return fmt.Errorf("answer %d %q, %w", status, got, err)
		}
	}
	if !goesOn {
		c.drop()
		return nil
	}
	if pipelined {
		if status, got, err := c.answer(); err != nil || status != 200 || got != next {
			return fmt.Errorf("answer behind it %d %q, %w", status, got, err)
		}
	}
	return nil
}

func (c *stormClient) answer() (status int, body string, err error) {
	r, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return 0, "", err
	}
	b, err := io.ReadAll(r.Body)
	return r.StatusCode, string(b), err
}

// quietGate decides and counts only.
type quietGate struct {
	decide                                func(bench.Arrival) bench.Action
	arrived, atRequest, atResponse, ended atomic.Int64
}

func (g *quietGate) Arrive(a bench.Arrival) bench.Action {
	g.arrived.Add(1)
	if a.Point == bench.AgentRequest {
		g.atRequest.Add(1)
	} else {
		g.atResponse.Add(1)
	}
	return g.decide(a)
}
func (g *quietGate) Left(bench.Arrival)  {}
func (g *quietGate) Ended(bench.Arrival) { g.ended.Add(1) }
