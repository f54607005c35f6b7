package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sixthcopy/sixthcopy/bench"
)

// A reused connection that dies before the first byte of the answer, with an Idempotency-Key on the
// request: where net/http alone would send the request again, exactly one must arrive.
func TestNeverResends(t *testing.T) {
	for _, tool := range []string{"create_ticket", "find_ticket"} {
		t.Run(tool, func(t *testing.T) {
			p := newProvider(t, func(n int, s seen, w http.ResponseWriter, r *http.Request) {
				if n == 1 {
					answerJSON(w, 200, `{"tickets":[]}`)
					return
				}
				cut(w)
			})
			config := ticketConfig(p, bench.ToolUse{Key: bench.KeyArgument, Errors: bench.ErrorsTyped})
			config.Fresh = false
			s := raise(t, newTestPool(t), config)
			if err := s.Warm(withDeadline(t)); err != nil {
				t.Fatal(err)
			}
			args := map[string]any{"title": "A", keyArgument: "k1"}
			if tool == "find_ticket" {
				args = map[string]any{"reference": "r"}
			}
			status, a := post(t, s, tool, args, "", "")
			if status != 502 || a.Status != Unknown {
				t.Errorf("got %d %+v, expected unknown", status, a)
			}
			if got := p.requests(); len(got) != 2 {
				t.Errorf("provider saw %d requests, expected the warm-up and one more: %v", len(got), got)
			}
		})
	}
}

// The counterpart: the same exchange with net/http's own body is sent twice. If this stops failing, the
// care in client.go is no longer needed.
func TestNetHTTPWouldResend(t *testing.T) {
	p := newProvider(t, func(n int, s seen, w http.ResponseWriter, r *http.Request) {
		if n == 2 {
			cut(w)
			return
		}
		answerJSON(w, 200, `{}`)
	})
	var client http.Client
	defer client.CloseIdleConnections()
	for range 2 {
		req, err := http.NewRequestWithContext(withDeadline(t), "POST", "http://"+p.address, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Idempotency-Key", "k1")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("%v; expected a silent resend", err)
		}
		var v any
		json.NewDecoder(resp.Body).Decode(&v)
		resp.Body.Close()
	}
	if got := len(p.requests()); got != 3 {
		t.Errorf("provider saw %d requests for 2 calls, expected 3", got)
	}
}

func TestWarmMakesTheNextRequestReuseItsConnection(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		var conns []string
		p := newProvider(t, func(n int, s seen, w http.ResponseWriter, r *http.Request) {
			conns = append(conns, r.RemoteAddr) // requests come one after another
			ticketsAnswer(n, s, w, r)
		})
		config := ticketConfig(p, bench.ToolUse{Errors: bench.ErrorsTyped})
		config.Fresh = fresh
		s := raise(t, newTestPool(t), config)
		if err := s.Warm(withDeadline(t)); err != nil {
			t.Fatal(err)
		}
		post(t, s, "create_ticket", map[string]any{"title": "A"}, "", "")
		if reused := conns[0] == conns[1]; reused == fresh {
			t.Errorf("fresh %t: connections %v", fresh, conns)
		}
	}
}

func TestKeyUses(t *testing.T) {
	cases := []struct {
		use  bench.KeyUse
		args map[string]any
		want string // "*" for any
	}{
		{bench.KeyNone, map[string]any{"title": "A"}, ""},
		{"", map[string]any{"title": "A"}, ""},
		{bench.KeyArgument, map[string]any{"title": "A", keyArgument: "mine"}, "mine"},
		{bench.KeyArgument, map[string]any{"title": "A"}, ""},
		{bench.KeyRequest, map[string]any{"title": "A"}, "request-5"},
		{bench.KeyMeta, map[string]any{"title": "A"}, "call-c1"},
		{bench.KeyMinted, map[string]any{"title": "A"}, "*"},
	}
	pool := newTestPool(t)
	for _, c := range cases {
		t.Run(string(c.use), func(t *testing.T) {
			p := newProvider(t, ticketsAnswer)
			s := raise(t, pool, ticketConfig(p, bench.ToolUse{Key: c.use, Errors: bench.ErrorsTyped}))
			defer s.Release()
			if status, a := post(t, s, "create_ticket", c.args, "c1", "5"); status != 200 {
				t.Fatalf("got %d %+v", status, a)
			}
			got := p.requests()[0].key
			if c.want == "*" && len(got) > 20 {
				if n := nextNote(t, s); n.Kind != "minted" || n.Key != got || n.Instance != "1" {
					t.Errorf("note %+v, expected the minted key %s of instance 1", n, got)
				}
				return
			}
			if got != c.want {
				t.Errorf("key on the wire %q, expected %q", got, c.want)
			}
		})
	}
}

// Over MCP the request key is the JSON-RPC id: it starts again with every connection of a client, so two
// clients' calls collide.
func TestRequestKeyIsTheJSONRPCID(t *testing.T) {
	p := newProvider(t, ticketsAnswer)
	s := raise(t, newTestPool(t), ticketConfig(p, bench.ToolUse{Key: bench.KeyRequest}))
	for range 2 {
		session := connect(t, "http://"+s.Address()+PathMCP)
		if _, err := session.CallTool(withDeadline(t), &mcp.CallToolParams{Name: "create_ticket", Arguments: map[string]any{"title": "A"}}); err != nil {
			t.Fatal(err)
		}
	}
	got := p.requests()
	if got[0].key == "" || got[0].key != got[1].key || !strings.HasPrefix(got[0].key, "request-") {
		t.Errorf("keys %q and %q, expected the same id twice", got[0].key, got[1].key)
	}
}

// refusingAddress is an address that refuses connections: bound, so that nobody else gets it, and not
// listened on.
func refusingAddress(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port)
}

func TestErrorStyles(t *testing.T) {
	refusing := refusingAddress(t)
	answers := []struct {
		name     string
		answer   func(w http.ResponseWriter)
		want     Status
		told     string
		receipts []string
	}{
		{"refused dial", nil, NotExecuted, ToldNotExecuted, nil},
		{"validation", func(w http.ResponseWriter) {
			answerJSON(w, 400, `{"error":{"code":"invalid_request","message":"title is missing"}}`)
		}, Refused, ToldNotExecuted, nil},
		{"key in use", func(w http.ResponseWriter) { answerJSON(w, 409, `{"error":{"code":"idempotency_key_in_use"}}`) }, Conflict, ToldVague, nil},
		{"key bound to another", func(w http.ResponseWriter) {
			answerJSON(w, 409, `{"error":{"code":"idempotency_conflict"},"existing":"tk_9"}`)
		}, Conflict, ToldVague, []string{"tk_9"}},
		{"key reused", func(w http.ResponseWriter) { answerJSON(w, 400, `{"error":{"code":"idempotency_key_reused"}}`) }, Conflict, ToldVague, nil},
		{"refusal by an edge", func(w http.ResponseWriter) { answerJSON(w, 403, `<html>forbidden</html>`) }, Unknown, ToldVague, nil},
		{"too many requests", func(w http.ResponseWriter) { answerJSON(w, 429, `{"error":{"message":"slow down"}}`) }, Unknown, ToldVague, nil},
		{"provider failure", func(w http.ResponseWriter) { answerJSON(w, 500, `{"error":{"code":"provider_failure"}}`) }, Unknown, ToldVague, nil},
		{"gateway", func(w http.ResponseWriter) { answerJSON(w, 502, `bad gateway`) }, Unknown, ToldVague, nil},
		{"empty 2xx", func(w http.ResponseWriter) { w.WriteHeader(200) }, Unknown, ToldVague, nil},
		{"unreadable 2xx", func(w http.ResponseWriter) { answerJSON(w, 201, `{"id":`) }, Unknown, ToldVague, nil},
		{"truncated", func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			w.Write([]byte(`{"id":"tk_1"`))
			http.NewResponseController(w).Flush()
			cut(w)
		}, Unknown, ToldVague, nil},
		{"reset", cut, Unknown, ToldVague, nil},
	}
	pool := newTestPool(t)
	for _, c := range answers {
		t.Run(c.name, func(t *testing.T) {
			p := newProvider(t, func(_ int, _ seen, w http.ResponseWriter, _ *http.Request) { c.answer(w) })
			if c.answer == nil {
				p.address = refusing
			}
			for _, style := range []bench.ErrorStyle{bench.ErrorsTyped, bench.ErrorsVague, bench.ErrorsLying, ""} {
				s := raise(t, pool, ticketConfig(p, bench.ToolUse{Errors: style}))
				status, a := post(t, s, "create_ticket", map[string]any{"title": "A"}, "", "")
				want, told, wantHTTP := Answer{Message: VagueText}, ToldVague, 502
				switch style {
				case bench.ErrorsTyped:
					want, told = Answer{Status: c.want, Receipts: c.receipts, Message: a.Message}, c.told
					wantHTTP = map[Status]int{Unknown: 502, Conflict: 409, Refused: 422, NotExecuted: 422}[c.want]
					if a.Message == "" || a.Message == VagueText {
						t.Errorf("typed: message %q says nothing", a.Message)
					}
				case bench.ErrorsLying:
					want, told, wantHTTP = Answer{Status: NotExecuted, Message: lyingText}, ToldNotExecuted, 422
				}
				if status != wantHTTP || a.Status != want.Status || a.Message != want.Message || !slices.Equal(a.Receipts, want.Receipts) {
					t.Errorf("%s: got %d %+v, expected %d %+v", style, status, a, wantHTTP, want)
				}
				body, _ := json.Marshal(a)
				if got := Told(bench.TransportJSON, status, body); got != told {
					t.Errorf("%s: told %q, expected %q", style, got, told)
				}
				if c.answer == nil {
					if n := nextNote(t, s); n.Kind != "refused dial" {
						t.Errorf("note %+v, expected a refused dial", n)
					}
				}
				result, err := connect(t, "http://"+s.Address()+PathMCP).CallTool(withDeadline(t), &mcp.CallToolParams{
					Name: "create_ticket", Arguments: map[string]any{"title": "A"}})
				if err != nil || !result.IsError {
					t.Fatalf("%s over MCP: %+v, %v", style, result, err)
				}
				text := result.Content[0].(*mcp.TextContent).Text
				if vague := want.Status == ""; vague != (result.StructuredContent == nil) || vague != (text == VagueText) {
					t.Errorf("%s over MCP: structured %v, text %q", style, result.StructuredContent, text)
				}
				s.Release()
			}
		})
	}
}

var five = []any{"a@x", "b@x", "c@x", "d@x", "e@x"}

func TestFiveRecipients(t *testing.T) {
	pool := newTestPool(t)
	for failing := range 6 { // 0: none
		t.Run(fmt.Sprint(failing), func(t *testing.T) {
			p := newProvider(t, func(n int, s seen, w http.ResponseWriter, _ *http.Request) {
				if n == failing {
					answerJSON(w, 503, "")
					return
				}
				answerJSON(w, 202, fmt.Sprintf(`{"id":"msg_%d"}`, n))
			})
			s := raise(t, pool, bench.ToolServerConfig{ProviderKind: "mail", Provider: p.address, Fresh: true,
				Tools: map[string]bench.ToolUse{"send_message": {Key: bench.KeyArgument, Errors: bench.ErrorsTyped}}})
			defer s.Release()
			_, a := post(t, s, "send_message", map[string]any{"to": five, "subject": "S", keyArgument: "k"}, "", "")
			done, sent, status := 5, 5, Done
			if failing > 0 {
				done, sent, status = failing-1, failing, Unknown
			}
			if a.Status != status || len(a.Receipts) != done {
				t.Errorf("got %+v, expected %s with %d receipts", a, status, done)
			}
			if failing > 1 && !strings.Contains(a.Message, fmt.Sprintf("%d of 5 done", done)) {
				t.Errorf("message %q does not say what was done", a.Message)
			}
			got := p.requests()
			if len(got) != sent {
				t.Fatalf("provider saw %d requests, expected %d", len(got), sent)
			}
			for i, r := range got {
				if r.key != fmt.Sprintf("k/%d", i+1) || !strings.Contains(r.body, five[i].(string)) {
					t.Errorf("request %d: %+v", i+1, r)
				}
			}
		})
	}
}

// A part that is certainly not executed does not make the whole not executed.
func TestPartDoneIsNeverNotExecuted(t *testing.T) {
	p := newProvider(t, func(n int, s seen, w http.ResponseWriter, _ *http.Request) {
		if n == 3 {
			answerJSON(w, 400, `{"error":{"code":"invalid_request"}}`)
			return
		}
		answerJSON(w, 202, fmt.Sprintf(`{"id":"msg_%d"}`, n))
	})
	s := raise(t, newTestPool(t), bench.ToolServerConfig{ProviderKind: "mail", Provider: p.address,
		Tools: map[string]bench.ToolUse{"send_message": {Errors: bench.ErrorsTyped}}})
	_, a := post(t, s, "send_message", map[string]any{"to": five, "subject": "S"}, "", "")
	if a.Status != Unknown || !slices.Equal(a.Receipts, []string{"msg_1", "msg_2"}) {
		t.Errorf("got %+v, expected unknown with the receipts of two", a)
	}
}

func TestVirtualTimeOut(t *testing.T) {
	gone := make(chan struct{})
	arrived := make(chan struct{}, 1)
	p := newProvider(t, func(_ int, _ seen, _ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done() // a black hole: until the client leaves
		close(gone)
	})
	config := ticketConfig(p, bench.ToolUse{Errors: bench.ErrorsTyped})
	config.TimeoutMS = 30_000
	s := raise(t, newTestPool(t), config)
	type result struct {
		status int
		answer Answer
		err    error
	}
	results := make(chan result, 1)
	ctx := withDeadline(t)
	go func() {
		status, a, err := tryPost(ctx, s, "create_ticket", map[string]any{"title": "A"}, "", "")
		results <- result{status, a, err}
	}()
	until := bench.Epoch.Add(30 * time.Second)
	if n := nextNote(t, s); n.Kind != "waiting" || n.Until != until.Format(time.RFC3339Nano) {
		t.Fatalf("note %+v, expected waiting until %v", n, until)
	}
	<-arrived
	if err := s.Clock(ctx, until.Add(-time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if busy, err := s.Busy(ctx); err != nil || busy == 0 {
		t.Fatalf("busy %d, %v: it gave up before its time", busy, err)
	}
	if err := s.Clock(ctx, until); err != nil {
		t.Fatal(err)
	}
	if n := nextNote(t, s); n.Kind != "time-out" {
		t.Errorf("note %+v, expected a time-out", n)
	}
	<-gone
	r := <-results
	if r.err != nil || r.status != 502 || r.answer.Status != Unknown || !strings.Contains(r.answer.Message, "time-out") {
		t.Errorf("got %+v", r)
	}
}

func TestDisconnect(t *testing.T) {
	for _, stops := range []bool{false, true} {
		for _, path := range []string{PathTools, PathMCP} {
			t.Run(fmt.Sprint(path, stops), func(t *testing.T) {
				arrived, left, goOn := make(chan struct{}), make(chan struct{}), make(chan struct{})
				p := newProvider(t, func(_ int, _ seen, w http.ResponseWriter, r *http.Request) {
					close(arrived)
					select {
					case <-r.Context().Done():
						close(left)
					case <-goOn:
						answerJSON(w, 201, `{"id":"tk_1"}`)
					}
				})
				config := ticketConfig(p, bench.ToolUse{Errors: bench.ErrorsTyped})
				config.CancelStops = stops
				s := raise(t, newTestPool(t), config)
				ctx, leave := context.WithCancel(withDeadline(t))
				over := make(chan error, 1)
				go func() {
					if path == PathTools {
						_, _, err := tryPost(ctx, s, "create_ticket", map[string]any{"title": "A"}, "", "")
						over <- err
						return
					}
					body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_ticket","arguments":{"title":"A"},` +
						`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
					req, _ := http.NewRequestWithContext(ctx, "POST", "http://"+s.Address()+PathMCP, strings.NewReader(body))
					req.Header.Set("Content-Type", "application/json")
					req.Header.Set("Accept", "application/json, text/event-stream")
					req.Header.Set("MCP-Protocol-Version", "2026-07-28")
					req.Header.Set("Mcp-Method", "tools/call")
					req.Header.Set("Mcp-Name", "create_ticket")
					resp, err := http.DefaultClient.Do(req)
					if err == nil {
						_, err = resp.Body.Read(make([]byte, 1))
						resp.Body.Close()
					}
					over <- err
				}()
				select {
				case <-arrived:
				case err := <-over:
					t.Fatalf("the call never reached the provider: %v", err)
				}
				leave()
				if err := <-over; err == nil {
					t.Fatal("the agent left, and yet got an answer")
				}
				if stops {
					<-left
				} else {
					// The provider request goes on; the server's own counter shows it until it is answered.
					if busy, err := s.Busy(withDeadline(t)); err != nil || busy == 0 {
						t.Errorf("busy %d, %v after the agent left", busy, err)
					}
					close(goOn)
				}
				w, err := s.(*replica).process.ask(withDeadline(t), controlOrder{Type: orderRest, WithinMS: 10_000})
				if err != nil || w.Busy != 0 {
					t.Errorf("at rest: %+v, %v", w, err)
				}
				select {
				case <-left:
					if !stops {
						t.Error("the provider request was aborted although a disconnect does not stop the call")
					}
				default:
				}
			})
		}
	}
}

// The same on the call itself, where it is certain that the disconnect was seen before the answer came.
func TestDisconnectSeen(t *testing.T) {
	for stops, want := range map[bool]Status{false: Done, true: Unknown} {
		arrived, goOn := make(chan struct{}), make(chan struct{})
		p := newProvider(t, func(n int, s seen, w http.ResponseWriter, r *http.Request) {
			close(arrived)
			<-goOn
			ticketsAnswer(n, s, w, r)
		})
		config := ticketConfig(p, bench.ToolUse{Errors: bench.ErrorsTyped})
		config.CancelStops = stops
		call, err := newTrial(config, func(bench.ToolServerNote) {})
		if err != nil {
			t.Fatal(err)
		}
		call.began, call.ended = func() {}, func() {}
		ctx, leave := context.WithCancel(withDeadline(t))
		answers := make(chan Answer, 1)
		go func() { answers <- call.call(ctx, createTicket, arguments{"title": "A"}, callIDs{}) }()
		<-arrived
		leave()
		if stops { // it ends although the provider does not answer
			if a := <-answers; a.Status != want || !strings.Contains(a.Message, "the caller left") {
				t.Errorf("stops: %+v", a)
			}
			close(goOn)
			continue
		}
		close(goOn)
		if a := <-answers; a.Status != want {
			t.Errorf("does not stop: %+v, expected %s", a, want)
		}
	}
}

// Faults on a connection that was used before need a read to use it first.
func TestEveryProviderHasAWarmUp(t *testing.T) {
	reads := warmUps()
	for _, tool := range All {
		if reads[tool.provider].method == "" {
			t.Errorf("provider %s: no warm-up in run.go", tool.provider)
		}
	}
}

// An edge can answer 200 with nothing in it, or with half an answer: no tool takes that for done.
func TestUnreadableSuccessIsUnknown(t *testing.T) {
	for _, tool := range All {
		for _, body := range []string{"", `{"object":"re`} {
			if o := tool.read(response{status: 200, header: http.Header{}, body: []byte(body)}); !tool.readOnly && o.status != Unknown {
				t.Errorf("%s: status %s for a body of %q, expected unknown", tool.name, o.status, body)
			}
		}
	}
}
