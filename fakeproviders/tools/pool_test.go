package tools

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sixthcopy/sixthcopy/bench"
)

func pidOf(s bench.ToolServer) int {
	p, _ := s.(*replica).current()
	return p.pid()
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestPoolReuses(t *testing.T) {
	p := newProvider(t, ticketsAnswer)
	typed := bench.ToolUse{Errors: bench.ErrorsTyped}
	sessions := typed
	sessions.Transport = bench.TransportMCPSessions
	withMemory := ticketConfig(p, typed)
	withMemory.Memory = true
	cases := []struct {
		name   string
		config bench.ToolServerConfig
		kill   bool
		reused bool
	}{
		{"at rest", ticketConfig(p, typed), false, true},
		{"memory", withMemory, false, true},
		{"sessions", ticketConfig(p, sessions), false, false},
		{"killed", ticketConfig(p, typed), true, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			pool := newTestPool(t)
			first := raise(t, pool, c.config)
			post(t, first, "create_ticket", map[string]any{"title": "A"}, "c1", "")
			pid, notes := pidOf(first), first.Notes()
			if c.kill {
				first.Kill()
			}
			first.Release()
			first.Release() // a second one does nothing
			if _, open := <-notes; open {
				t.Error("a note after Release")
			}
			if alive(pid) != c.reused {
				t.Errorf("process alive %t after Release", alive(pid))
			}
			again := ticketConfig(p, typed)
			again.Memory = c.config.Memory
			second, before := raise(t, pool, again), len(p.requests())
			if same := pidOf(second) == pid; same != c.reused {
				t.Errorf("reused %t, expected %t", same, c.reused)
			}
			if _, a := post(t, second, "create_ticket", map[string]any{"title": "A"}, "c1", ""); a.Status != Done {
				t.Errorf("after reuse: %+v", a)
			}
			if n := len(p.requests()) - before; n != 1 {
				t.Errorf("%d requests at the provider for a call of the next trial: one means that nothing is remembered", n)
			}
		})
	}
}

// A trial sees nothing of the one before on the same process.
func TestConfigureForgets(t *testing.T) {
	before, after := newProvider(t, ticketsAnswer), newProvider(t, ticketsAnswer)
	config := ticketConfig(before, bench.ToolUse{Errors: bench.ErrorsTyped})
	config.Memory = true
	s := raise(t, newTestPool(t), config)
	args := map[string]any{"title": "A"}
	post(t, s, "create_ticket", args, "c1", "")
	old := s.Notes()
	config.Provider = after.address
	config.Tools = map[string]bench.ToolUse{"create_ticket": {Errors: bench.ErrorsTyped}}
	if err := s.Configure(withDeadline(t), config); err != nil {
		t.Fatal(err)
	}
	if _, open := <-old; open {
		t.Error("a note of the trial before, or its channel stays open")
	}
	post(t, s, "create_ticket", args, "c1", "")
	if status, _ := post(t, s, "find_ticket", nil, "", ""); status != 404 {
		t.Errorf("a tool of the trial before is still offered: %d", status)
	}
	if len(before.requests()) != 1 || len(after.requests()) != 1 {
		t.Errorf("requests %v and %v, expected one each", before.requests(), after.requests())
	}
}

func TestKilledInCall(t *testing.T) {
	arrived := make(chan struct{}, 2)
	p := newProvider(t, func(n int, s seen, w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		if n == 1 {
			<-r.Context().Done()
			return
		}
		ticketsAnswer(n, s, w, r)
	})
	s := raise(t, newTestPool(t), ticketConfig(p, bench.ToolUse{Errors: bench.ErrorsTyped}))
	ctx := withDeadline(t)
	lost := make(chan error, 1)
	go func() {
		_, _, err := tryPost(ctx, s, "create_ticket", map[string]any{"title": "A"}, "", "")
		lost <- err
	}()
	<-arrived
	if err := s.Restart(ctx); err == nil || !strings.Contains(err.Error(), "kill it first") {
		t.Errorf("restart of a living server: %v", err)
	}
	pid := pidOf(s)
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if alive(pid) {
		t.Error("the process lives after Kill")
	}
	if err := <-lost; err == nil {
		t.Error("the call was answered by a killed server")
	}
	if _, err := s.Busy(ctx); err == nil || !strings.Contains(err.Error(), "its process ended") {
		t.Errorf("an order to a killed server: %v", err)
	}
	if err := s.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if _, a := post(t, s, "create_ticket", map[string]any{"title": "A"}, "", ""); a.Status != Done {
		t.Errorf("after the restart: %+v", a)
	}
}

// A session does not outlive the process that held it.
func TestSessionGoneAfterRestart(t *testing.T) {
	p := newProvider(t, ticketsAnswer)
	s := raise(t, newTestPool(t), ticketConfig(p, bench.ToolUse{Transport: bench.TransportMCPSessions}))
	session := connect(t, "http://"+s.Address()+PathMCPSessions)
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(withDeadline(t)); err != nil {
		t.Fatal(err)
	}
	body := `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"create_ticket","arguments":{"title":"A"}}}`
	req, _ := http.NewRequestWithContext(withDeadline(t), "POST", "http://"+s.Address()+PathMCPSessions, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Session-Id", session.ID())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound || len(p.requests()) != 0 {
		t.Errorf("status %d, %d requests at the provider; expected 404 and none", resp.StatusCode, len(p.requests()))
	}
}

func TestPoolCloseEndsAll(t *testing.T) {
	p := newProvider(t, ticketsAnswer)
	pool := newTestPool(t)
	used, rested := raise(t, pool, ticketConfig(p, bench.ToolUse{})), raise(t, pool, ticketConfig(p, bench.ToolUse{}))
	rested.Release()
	pids := []int{pidOf(used), pidOf(rested)}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d lives after Close", pid)
		}
	}
	if _, err := pool.Get(withDeadline(t), "1"); err == nil {
		t.Error("a closed pool gave a tool server")
	}
	used.Release()
}

// A tool server ends with its stdin, so that none outlives a harness that was killed.
func TestEndsWithStdin(t *testing.T) {
	s, err := newTestPool(t).Get(withDeadline(t), "1")
	if err != nil {
		t.Fatal(err)
	}
	p, _ := s.(*replica).current()
	p.stdin.Close()
	select {
	case <-p.reaped:
	case <-withDeadline(t).Done():
		t.Fatal("it lives on without stdin")
	}
}

func TestBadStarts(t *testing.T) {
	for name, c := range map[string]struct {
		argv []string
		want string
	}{
		"ends at once":     {[]string{"-c", "echo no such flag >&2; exit 2"}, `it ended before it listened; stderr: "no such flag`},
		"prints something": {[]string{"-c", "echo hello; exec cat"}, "no control word"},
	} {
		t.Run(name, func(t *testing.T) {
			pool := NewPool("/bin/sh", c.argv...)
			defer pool.Close()
			if _, err := pool.Get(withDeadline(t), "1"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, expected ... %s", err, c.want)
			}
		})
	}
}

func TestBadConfigurations(t *testing.T) {
	pool := newTestPool(t)
	s, err := pool.Get(withDeadline(t), "1")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Clock(withDeadline(t), bench.Epoch); err == nil {
		t.Error("a clock before configure was taken")
	}
	for want, tools := range map[string]map[string]bench.ToolUse{
		`tool "fly" is not in the catalogue`:                          {"fly": {}},
		`tool send_message talks to mail, the provider is "payments"`: {"send_message": {}},
	} {
		err := s.Configure(withDeadline(t), bench.ToolServerConfig{ProviderKind: "payments", Tools: tools})
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, expected %s", err, want)
		}
	}
}

// BenchmarkTrial is what a trial costs in tool servers: a pooled one configured, and one MCP call.
func BenchmarkTrial(b *testing.B) {
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	web, address := benchProvider(b)
	defer web.Close()
	pool := NewPool(exe, "tool-server")
	defer pool.Close()
	for b.Loop() {
		s, err := pool.Get(b.Context(), "1")
		if err != nil {
			b.Fatal(err)
		}
		err = s.Configure(b.Context(), bench.ToolServerConfig{ProviderKind: "tickets", Provider: address, Fresh: true,
			Tools: map[string]bench.ToolUse{"create_ticket": {}, "find_ticket": {}}, Now: bench.Epoch})
		if err != nil {
			b.Fatal(err)
		}
		client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
		session, err := client.Connect(b.Context(), &mcp.StreamableClientTransport{Endpoint: "http://" + s.Address() + PathMCP}, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: "create_ticket", Arguments: map[string]any{"title": "A"}}); err != nil {
			b.Fatal(err)
		}
		session.Close()
		s.Release()
	}
}
