package kit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/systems/kit"
)

// poster is an adapter without a library: one POST a call, with a key if there is one.
func poster(key string) kit.Adapter {
	return kit.Adapter{
		Open: func(t *kit.Trial) error {
			t.Value = &http.Client{Transport: t.Timeout(t.Transport(&http.Transport{}), 0)}
			return nil
		},
		Call: func(ctx context.Context, c *kit.Call) kit.Claim {
			claim, _, _ := c.Try(ctx, c.Trial.Value.(*http.Client), key)
			return claim
		},
	}
}

func tool(transport bench.Transport, address string) bench.OfferedTool {
	return bench.OfferedTool{Name: "refund", Address: address, Transport: transport, TakesKey: true}
}

func TestRequestsSayWhatTheContractSays(t *testing.T) {
	var mu sync.Mutex
	var heads []http.Header
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		heads, bodies = append(heads, r.Header), append(bodies, r.URL.Path+" "+string(body))
		w.Header().Set("Mcp-Session-Id", "s-1")
		fmt.Fprint(w, `{"status":"done","receipts":["re_1"]}`)
	}))
	defer server.Close()
	for _, c := range []struct {
		transport bench.Transport
		address   string
		want      []string // the requests
	}{
		{bench.TransportJSON, server.URL, []string{
			`/tools/refund {"arguments":{"amount":2500,"idempotency_key":"k-1"},"call_id":"call-1","request_id":"1"}`}},
		{bench.TransportMCP, server.URL + "/mcp", []string{
			`/mcp {"id":1,"jsonrpc":"2.0","method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/protocolVersion":"2026-07-28","sixthcopy/call_id":"call-1"},"arguments":{"amount":2500,"idempotency_key":"k-1"},"name":"refund"}}`}},
		{bench.TransportMCPSessions, server.URL + "/s", []string{
			`/s {"id":0,"jsonrpc":"2.0","method":"initialize","params":{"capabilities":{},"clientInfo":{"name":"sixthcopy-kit","version":"1"},"protocolVersion":"2025-11-25"}}`,
			`/s {"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`/s {"id":1,"jsonrpc":"2.0","method":"tools/call","params":{"_meta":{"sixthcopy/call_id":"call-1"},"arguments":{"amount":2500,"idempotency_key":"k-1"},"name":"refund"}}`}},
	} {
		heads, bodies = nil, nil
		p := driveTools(t, poster("k-1"), bench.Knobs{}, tool(c.transport, c.address))
		p.send(0, turnWith(map[string]any{"amount": 2500}))
		p.expect("ack")
		p.claim()
		if strings.Join(bodies, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: got\n%s\nexpected\n%s", c.transport, strings.Join(bodies, "\n"), strings.Join(c.want, "\n"))
		}
		last := heads[len(heads)-1]
		if last.Get("Idempotency-Key") != "k-1" || c.transport == bench.TransportMCPSessions && last.Get("Mcp-Session-Id") != "s-1" {
			t.Errorf("%s: headers %v", c.transport, last)
		}
		if c.transport == bench.TransportMCP && last.Get("Mcp-Name") != "refund" {
			t.Errorf("headers %v name no tool", last)
		}
	}
}

func TestClaimsOfAnswers(t *testing.T) {
	event := func(data string) string { return "event: message\ndata: " + data + "\n\n" }
	result := func(structured string) string {
		return event(`{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":` + structured + `}}`)
	}
	for _, c := range []struct {
		name      string
		transport bench.Transport
		typed     bool
		readOnly  bool
		status    int
		body      string
		want      string
	}{
		{"done", bench.TransportJSON, false, false, 200, `{"status":"done","receipts":["re_1"]}`, "done re_1"},
		{"in part", bench.TransportJSON, false, false, 200, `{"status":"partial","receipts":["re_1"]}`, "partial re_1"},
		{"refused", bench.TransportJSON, true, false, 422, `{"status":"refused","message":"no"}`, "failed"},
		{"not executed, to be believed", bench.TransportJSON, true, false, 422, `{"status":"not_executed"}`, "failed"},
		{"not executed, wording", bench.TransportJSON, false, false, 422, `{"status":"not_executed"}`, "unknown"},
		{"conflict", bench.TransportJSON, true, false, 409, `{"status":"conflict","receipts":["re_0"]}`, "unknown"},
		{"said to be unknown", bench.TransportJSON, true, false, 502, `{"status":"unknown"}`, "unknown"},
		{"vague", bench.TransportJSON, false, false, 502, `{"message":"failed"}`, "unknown"},
		{"an edge's 404", bench.TransportJSON, false, false, 404, `not here`, "failed"},
		{"an edge's 408", bench.TransportJSON, false, false, 408, ``, "unknown"},
		{"an edge's 429", bench.TransportJSON, false, false, 429, ``, "unknown"},
		{"an edge's 503", bench.TransportJSON, false, false, 503, ``, "unknown"},
		{"an empty 200", bench.TransportJSON, false, false, 200, ``, "unknown"},
		{"a read that is lost", bench.TransportJSON, false, true, 503, ``, "failed"},
		{"done over mcp", bench.TransportMCP, false, false, 200, result(`{"status":"done","receipts":["re_1"]}`), "done re_1"},
		{"not executed over mcp", bench.TransportMCP, true, false, 200, result(`{"status":"not_executed"}`), "failed"},
		{"vague over mcp", bench.TransportMCP, false, false, 200, event(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"failed"}],"isError":true}}`), "unknown"},
		{"an error over mcp", bench.TransportMCP, false, false, 200, event(`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}`), "unknown"},
		{"no event", bench.TransportMCP, false, false, 200, ``, "unknown"},
		{"half an event", bench.TransportMCP, false, false, 200, strings.TrimSuffix(result(`{"status":"done"}`), "\n"), "unknown"},
		{"the session is gone", bench.TransportMCPSessions, true, false, 404, `session not found`, "unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if body, _ := io.ReadAll(r.Body); !strings.Contains(string(body), "call-1") { // it opens a session
					w.Header().Set("Mcp-Session-Id", "s-1")
					return
				}
				if c.transport != bench.TransportJSON {
					w.Header().Set("Content-Type", "text/event-stream")
				}
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			}))
			defer server.Close()
			offered := tool(c.transport, server.URL)
			offered.ReadOnly, offered.Contract.ErrorsTyped = c.readOnly, c.typed
			p := driveTools(t, poster(""), bench.Knobs{}, offered)
			p.send(0, turnWith(nil))
			p.expect("ack")
			if w := p.claim(); strings.TrimSpace(w.Outcome+" "+strings.Join(w.Receipts, " ")) != c.want {
				t.Errorf("got %s %v (%s), expected %s", w.Outcome, w.Receipts, w.Detail, c.want)
			}
		})
	}
}

func TestOnlyARefusedDialProvesThatNothingLeft(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	retried := poster("")
	retried.Call = func(ctx context.Context, c *kit.Call) kit.Claim { // the first try is lost, the second refused
		client := c.Trial.Value.(*http.Client)
		go func() {
			conn, err := listener.Accept()
			if err == nil {
				listener.Close()
				conn.Close()
			}
		}()
		if _, _, err := c.Try(ctx, client, ""); err == nil {
			return kit.Failed("there was to be no answer")
		}
		claim, _, _ := c.Try(ctx, client, "")
		return claim
	}
	offered := tool(bench.TransportJSON, address)
	p := driveTools(t, retried, bench.Knobs{}, offered)
	p.send(0, turnWith(nil))
	p.expect("ack")
	if w := p.claim(); w.Outcome != bench.Unknown || !strings.Contains(w.Detail, "refused") {
		t.Errorf("lost, then refused: got %s (%s), expected unknown", w.Outcome, w.Detail)
	}

	p = driveTools(t, poster(""), bench.Knobs{}, offered)
	p.send(0, turnWith(nil))
	p.expect("ack")
	if w := p.claim(); w.Outcome != bench.Failed {
		t.Errorf("refused: got %s (%s), expected failed", w.Outcome, w.Detail)
	}
	again := turnWith(nil)
	again.Turn.Redelivered = true
	p = driveTools(t, poster(""), bench.Knobs{}, offered)
	p.send(0, again)
	p.expect("ack")
	if w := p.claim(); w.Outcome != bench.Unknown {
		t.Errorf("refused after an earlier process had it: got %s (%s), expected unknown", w.Outcome, w.Detail)
	}
}

func TestTimeOutsOfTheClientAreVirtual(t *testing.T) {
	arrived, held := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		close(arrived)
		<-held
	}))
	defer server.Close()
	defer close(held)
	ended := make(chan error, 1)
	a := poster("")
	a.Call = func(ctx context.Context, c *kit.Call) kit.Claim {
		claim, _, err := c.Try(ctx, c.Trial.Value.(*http.Client), "")
		if ctx.Err() != nil {
			err = errors.New("the context of the call ended too")
		}
		ended <- err
		if c.Trial.Pause(time.Second) != nil {
			return kit.Failed("the pause did not pass")
		}
		return claim
	}
	p := driveTools(t, a, bench.Knobs{CallTimeoutMS: 30_000}, tool(bench.TransportJSON, server.URL))
	p.send(0, turnWith(nil))
	p.expect("ack", "wait:09:00:30Z")
	<-arrived // before that nothing would have left
	p.send(30, bench.Order{Type: "clock"})
	p.expect("ack")
	var timeout interface{ Timeout() bool }
	if err := <-ended; !errors.As(err, &timeout) || !timeout.Timeout() || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, expected the time-out of net/http's client", err)
	}
	p.expect("wait:09:00:31Z")
	p.send(31, bench.Order{Type: "clock"})
	p.expect("ack", "claim:unknown")
}

func turnWith(args map[string]any) bench.Order {
	o := turn(1)
	o.Turn.Calls[0].Args = args
	return o
}

// driveTools is drive with tools on offer.
func driveTools(t *testing.T, a kit.Adapter, knobs bench.Knobs, tools ...bench.OfferedTool) *peer {
	t.Helper()
	open := a.Open
	a.Open = func(trial *kit.Trial) error {
		trial.Start.Tools = tools
		return open(trial)
	}
	return drive(t, a, knobs)
}

// claim reads the next word, which is to be a claim.
func (p *peer) claim() bench.Word {
	p.t.Helper()
	if !p.words.Scan() {
		p.t.Fatal("the words ended, expected a claim")
	}
	var w bench.Word
	if err := json.Unmarshal(p.words.Bytes(), &w); err != nil || w.Type != "claim" {
		p.t.Fatalf("got %s, expected a claim", p.words.Bytes())
	}
	return w
}
