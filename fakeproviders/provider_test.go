package fakeproviders

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// gate is a scripted gate: orders by point and request, parks by handshake.
type gate struct {
	mu       sync.Mutex
	arrivals []bench.Arrival
	orders   map[spot]bench.Action
	parks    map[spot]*park
	ended    chan bench.Arrival
}

type spot struct {
	point   bench.Point
	request string
}

type park struct {
	arrived chan struct{}
	goOn    chan bench.Action
}

func newGate() *gate {
	return &gate{orders: map[spot]bench.Action{}, parks: map[spot]*park{}, ended: make(chan bench.Arrival, 10000)}
}

func (g *gate) Arrive(a bench.Arrival) bench.Action {
	g.mu.Lock()
	g.arrivals = append(g.arrivals, a)
	s := spot{a.Point, a.Request}
	act, p := g.orders[s], g.parks[s]
	g.mu.Unlock()
	if p != nil {
		close(p.arrived)
		return <-p.goOn
	}
	return act
}
func (g *gate) Left(bench.Arrival)    {}
func (g *gate) Ended(a bench.Arrival) { g.ended <- a }

func (g *gate) order(at bench.Point, request string, act bench.Action) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.orders[spot{at, request}] = act
}

func (g *gate) park(at bench.Point, request string) *park {
	p := &park{arrived: make(chan struct{}), goOn: make(chan bench.Action, 1)}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.parks[spot{at, request}] = p
	return p
}

// points lists the points that a request passed.
func (g *gate) points(request string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []string
	for _, a := range g.arrivals {
		if a.Request == request {
			all = append(all, strings.TrimPrefix(string(a.Point), "provider/"))
		}
	}
	return strings.Join(all, " ")
}

// clock is a virtual clock that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }
func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// rig is a raised provider with one front.
type rig struct {
	*testing.T
	bench.Provider
	dir    string
	gate   *gate
	clock  *clock
	base   string
	client *http.Client
}

func up(t *testing.T, contract string, change ...func(*bench.Contract)) *rig {
	t.Helper()
	c, ok := contracts.Find(contract)
	if !ok {
		t.Fatalf("contract %q is not there", contract)
	}
	for _, f := range change {
		f(&c)
	}
	return upWith(t, c, nil)
}

func upWith(t *testing.T, c bench.Contract, world []bench.WorldEffect) *rig {
	t.Helper()
	r := &rig{T: t, dir: t.TempDir(), gate: newGate(), clock: &clock{now: bench.Epoch}}
	p, err := Raise(context.Background(), bench.ProviderSpec{Kind: c.Provider, Contract: c, Dir: r.dir, World: world, Gate: r.gate, Clock: r.clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	r.Provider = p
	addr, err := p.Listen("provider/1")
	if err != nil {
		t.Fatal(err)
	}
	r.base = "http://" + addr
	r.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return r
}

// reply is what a client got; err is not nil if there was no whole answer.
type reply struct {
	status int
	header http.Header
	body   string
	err    error
}

func (r reply) field(name string) any {
	return fields([]byte(r.body))[name]
}

func (r *rig) send(method, path, body string, header ...string) reply {
	req, err := http.NewRequest(method, r.base+path, strings.NewReader(body))
	if err != nil {
		return reply{err: err}
	}
	req.GetBody = nil // never sent again by itself
	if strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/v2/") {
		req.Header.Set("Authorization", "Bearer sk_test_1")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := r.client.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, string(b), err}
}

func (r *rig) async(f func() reply) chan reply {
	c := make(chan reply, 1)
	go func() { c <- f() }()
	return c
}

// refund sends a refund of 25.00 for the order under a key.
func (r *rig) refund(order, key string, more ...string) reply {
	f := url.Values{"payment_intent": {order}, "amount": {"2500"}}
	for i := 0; i < len(more); i += 2 {
		f.Set(more[i], more[i+1])
	}
	if key == "" {
		return r.send("POST", "/v1/refunds", f.Encode())
	}
	return r.send("POST", "/v1/refunds", f.Encode(), "Idempotency-Key", key)
}

func (r *rig) runTask(body string) reply {
	return r.send("POST", "/", body, "X-Amz-Target", ecsTarget+"RunTask", "Content-Type", "application/x-amz-json-1.1")
}

func (r *rig) ecs(op, body string) reply {
	return r.send("POST", "/", body, "X-Amz-Target", ecsTarget+op)
}

// effects counts what a second connection sees in the store.
func (r *rig) effects() []store.Object {
	r.Helper()
	s, err := store.Open(context.Background(), r.dir)
	if err != nil {
		r.Fatal(err)
	}
	defer s.Close()
	all, err := s.Objects()
	if err != nil {
		r.Fatal(err)
	}
	return all
}

func (r *rig) wantEffects(n int) {
	r.Helper()
	if got := r.effects(); len(got) != n {
		r.Fatalf("%d effects in the store, want %d: %v", len(got), n, got)
	}
}

func (r *rig) want(got reply, status int) reply {
	r.Helper()
	if got.err != nil || got.status != status {
		r.Fatalf("got status %d %s (%v), want %d", got.status, got.body, got.err, status)
	}
	return got
}

func (r *rig) wantDedup(want ...bench.DedupRecord) {
	r.Helper()
	got, _ := json.Marshal(r.Dedup())
	if want == nil {
		want = []bench.DedupRecord{}
	}
	exp, _ := json.Marshal(want)
	if !bytes.Equal(got, exp) && !(string(got) == "null" && string(exp) == "[]") {
		r.Fatalf("dedup records %s, want %s", got, exp)
	}
}

func pass() bench.Action { return bench.Action{Act: bench.Pass} }

func TestEveryMutationIsReadBack(t *testing.T) {
	ecs := []string{"X-Amz-Target", ecsTarget + "RunTask"}
	token, slackToken := []string{"Authorization", "Bearer ghp_x"}, []string{"Authorization", "Bearer xoxb-x"}
	for name, c := range map[string]struct {
		contract, method, path, body string
		header                       []string
		status                       int
		class, attrs, read           string
	}{
		"refund":   {"stripe-v1", "POST", "/v1/refunds", "payment_intent=o1&amount=2500&metadata[reason]=late+parcel", nil, 200, "refund", `{"amount":2500,"order":"o1","reason":"late parcel"}`, "/v1/refunds?payment_intent=o1"},
		"charge":   {"stripe-v1", "POST", "/v1/charges", "metadata[order]=o1&amount=2500&currency=eur&description=shoes", nil, 200, "charge", `{"amount":2500,"currency":"eur","description":"shoes","order":"o1"}`, "/v1/charges?payment_intent=o1"},
		"intent":   {"stripe-v1", "POST", "/v1/payment_intents", "metadata[order]=o1&amount=2500", nil, 200, "intent", `{"amount":2500,"order":"o1"}`, "/v1/payment_intents"},
		"payment":  {"stripe-v1", "POST", "/v1/payment_intents", "metadata[order]=o1&amount=2500&currency=eur&confirm=true&payment_method=pm_card_visa", nil, 200, "charge", `{"amount":2500,"currency":"eur","order":"o1"}`, "/v1/payment_intents"},
		"payout":   {"stripe-v1", "POST", "/v1/payouts", "amount=2500&currency=eur&description=week+31", []string{"Stripe-Account", "acct_1"}, 200, "payout", `{"account":"acct_1","amount":2500,"currency":"eur","description":"week 31"}`, ""},
		"transfer": {"stripe-v1", "POST", "/v1/transfers", "amount=2500&currency=eur&destination=acct_2", nil, 200, "transfer", `{"amount":2500,"currency":"eur","destination":"acct_2"}`, "/v1/transfers?destination=acct_2"},
		"sent":     {"stripe-v2", "POST", "/v2/money_management/outbound_payments", `{"from":{"financial_account":"fa_1","currency":"usd"},"to":{"recipient":"acct_2"},"amount":{"value":2500,"currency":"usd"},"description":"D"}`, nil, 200, "outbound_payment", `{"amount":2500,"currency":"usd","description":"D","from":"fa_1","recipient":"acct_2"}`, ""},
		"task":     {"ecs-no-token", "POST", "/", `{"taskDefinition":"web","cluster":"c","overrides":{"cpu":"256"},"group":"g"}`, ecs, 200, "task", `{"cluster":"c","family":"web","group":"g","size":"256"}`, ""},
		"ticket":   {"tickets-authoritative", "POST", "/tickets", `{"title":"T","queue":"q","priority":2,"body":"b","reference":"r-1"}`, nil, 201, "ticket", `{"body":"b","priority":2,"queue":"q","reference":"r-1","title":"T"}`, "/tickets?reference=r-1"},
		"message":  {"mail-no-key", "POST", "/messages", `{"to":"a@example.org","subject":"S","body":"B"}`, nil, 202, "message", `{"body":"B","subject":"S","to":"a@example.org"}`, "/messages?to=a@example.org"},
		"line":     {"lines-no-key", "POST", "/documents/a%2Fb/lines", `{"text":"hello"}`, nil, 201, "line", `{"document":"a/b","text":"hello"}`, "/documents/a%2Fb"},
		"file":     {"files-put", "PUT", "/files/reports/a.txt", `{"content":"x"}`, nil, 200, "file", `{"content":"x","path":"reports/a.txt"}`, "/files?prefix=reports/"},
		"row":      {"rows-unique", "POST", "/tables/users/rows", `{"key":"k","value":7}`, nil, 201, "row", `{"key":"k","table":"users","value":7}`, "/tables/users/rows?key=k"},
		"issue":    {"github", "POST", "/repos/Octo/Widgets/issues", `{"title":"T","body":"B","labels":["bug"]}`, token, 201, "issue", `{"body":"B","labels":"bug","repository":"octo/widgets","title":"T"}`, ""},
		"pull":     {"github", "POST", "/repos/octo/widgets/pulls", `{"title":"T","head":"octo:fix","base":"main"}`, token, 201, "pull_request", `{"base":"main","head":"fix","repository":"octo/widgets","title":"T"}`, ""},
		"release":  {"github", "POST", "/repos/octo/widgets/releases", `{"tag_name":"v1","name":"N"}`, token, 201, "release", `{"name":"N","repository":"octo/widgets","tag":"v1"}`, ""},
		"deploy":   {"github", "POST", "/repos/octo/widgets/deployments", `{"ref":"v1","environment":"e","description":"d"}`, token, 201, "deployment", `{"description":"d","environment":"e","ref":"v1","repository":"octo/widgets"}`, ""},
		"post":     {"slack-post-message", "POST", "/api/chat.postMessage", `{"channel":"#deploys","text":"T"}`, slackToken, 200, "post", `{"channel":"C0DEPLOYS","text":"T"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := up(t, c.contract)
			got := r.want(r.send(c.method, c.path, c.body, c.header...), c.status)
			id, _ := got.field("id").(string)
			if n, ok := got.field("id").(int); ok {
				id = strconv.Itoa(n)
			}
			if ts, ok := got.field("ts").(string); ok {
				id = ts
			}
			if name == "task" {
				id = got.field("tasks").([]any)[0].(map[string]any)["taskArn"].(string)
			}
			all := r.effects()
			if len(all) != 1 || all[0].ID != id || all[0].Class != c.class || all[0].Request != "r1" {
				t.Fatalf("effects %+v; want one %s of r1 with the id in %s", all, c.class, got.body)
			}
			attrs, _ := json.Marshal(all[0].Attrs)
			if string(attrs) != c.attrs {
				t.Errorf("attributes %s, want %s", attrs, c.attrs)
			}
			h := http.Header{}
			for i := 0; i < len(c.header); i += 2 {
				h.Set(c.header[i], c.header[i+1])
			}
			call := r.Parse(bench.RawRequest{Method: c.method, Path: c.path, Header: h, Body: []byte(c.body)})
			parsed, _ := json.Marshal(call.Attrs)
			if call.Class != c.class || string(parsed) != c.attrs || !call.Mutating {
				t.Errorf("parsed as %s %s, want %s %s", call.Class, parsed, c.class, c.attrs)
			}
			if p := r.gate.points("r1"); p != "received before-commit committed" {
				t.Errorf("points %q", p)
			}
			if c.read == "" {
				return
			}
			if found := r.want(r.send("GET", c.read, ""), 200); strings.Count(found.body, `"`+id+`"`) != 1 {
				t.Errorf("%s answers %s; want %s in it once", c.read, found.body, id)
			}
			if p := r.gate.points("r2"); p != "received before-response" {
				t.Errorf("points of the read %q", p)
			}
			if b := r.Busy(); b != "" && !strings.Contains(b, "in hand") {
				t.Errorf("busy: %s", b)
			}
		})
	}
}
