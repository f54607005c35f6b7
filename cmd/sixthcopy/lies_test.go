package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
	"github.com/sixthcopy/sixthcopy/oracles"
)

// sample is a mutation at a kind of provider, and what must be found of it.
type sample struct {
	contract string
	before   []wire // what has to be there
	request  wire
	effects  int
	class    string
	attrs    map[string]any
	names    func(object string) string // how an answer names an object; nil: by its whole id
	nameless bool                       // an answer names nothing
}

// wire is a request; header comes in pairs.
type wire struct {
	method, path, body string
	header             []string
}

func ofJSON(method, path, body string, header ...string) wire {
	return wire{method, path, body, append([]string{"Content-Type", "application/json"}, header...)}
}

func ofForm(path, body string, header ...string) wire {
	return wire{http.MethodPost, path, body, append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...)}
}

// ofAWS is an operation of AWS JSON 1.0 or 1.1.
func ofAWS(version, target, body string) wire {
	return wire{http.MethodPost, "/", body, []string{"Content-Type", "application/x-amz-json-" + version, "X-Amz-Target", target}}
}

// samples has one for each kind of provider.
func samples() map[string]sample {
	upTo := func(end string) func(string) string {
		return func(object string) string { name, _, _ := strings.Cut(object, end); return name }
	}
	behind := func(mark string) func(string) string {
		return func(object string) string { return object[strings.LastIndex(object, mark)+len(mark):] }
	}
	stripe := []string{"Authorization", "Bearer sk_test_lies"}
	return map[string]sample{
		"calendar": {contract: "google-calendar-own-id", names: behind("/"), effects: 1, class: "event",
			request: ofJSON("POST", "/calendar/v3/calendars/primary/events", `{"id":"plan2026","start":{"date":"2026-01-12"},"end":{"date":"2026-01-13"}}`),
			attrs:   map[string]any{"calendar": "primary", "event_id": "plan2026", "start": "2026-01-12", "end": "2026-01-13"}},
		"chat": {contract: "slack-post-message", effects: 1, class: "post",
			request: ofJSON("POST", "/api/chat.postMessage", `{"channel":"C0DEPLOYS","text":"hello"}`, "Authorization", "Bearer xoxb-lies"),
			attrs:   map[string]any{"channel": "C0DEPLOYS", "text": "hello"}},
		"cluster": {contract: "kubernetes-by-name", names: upTo("@"), effects: 1, class: "config",
			request: ofJSON("POST", "/api/v1/namespaces/ops/configmaps", `{"metadata":{"name":"web"},"data":{"a":"1"}}`),
			attrs:   map[string]any{"namespace": "ops", "name": "web", "data": "a=1"}},
		"files": {contract: "files-put", effects: 1, class: "file", request: ofJSON("PUT", "/files/d/a.txt", `{"content":"x"}`),
			attrs: map[string]any{"path": "d/a.txt", "content": "x"}},
		"instances": {contract: "ec2-run-instances", effects: 2, class: "instance",
			request: ofForm("/", "Action=RunInstances&Version=2016-11-15&ImageId=ami-1&InstanceType=t3.small&MinCount=2&MaxCount=2"),
			attrs:   map[string]any{"image": "ami-1", "type": "t3.small"}},
		"items": {contract: "dynamodb-transact-write", nameless: true, effects: 1, class: "item",
			before: []wire{ofAWS("1.0", "DynamoDB_20120810.CreateTable", `{"TableName":"members","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],`+
				`"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}`)},
			request: ofAWS("1.0", "DynamoDB_20120810.TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"members","Item":{"id":{"S":"m-1"}}}}]}`),
			attrs:   map[string]any{"table": "members", "id": "m-1"}},
		"lines": {contract: "lines-keyed", effects: 1, class: "line", request: ofJSON("POST", "/documents/log/lines", `{"text":"x"}`),
			attrs: map[string]any{"document": "log", "text": "x"}},
		"mail": {contract: "mail-no-key", effects: 1, class: "message", request: ofJSON("POST", "/messages", `{"to":"a@example.com","subject":"S"}`),
			attrs: map[string]any{"to": "a@example.com", "subject": "S"}},
		"orders": {contract: "ietf-idempotency-key", effects: 1, class: "payment",
			request: ofJSON("POST", "/payments", `{"order":"o-1","amount":2500}`, "Idempotency-Key", `"k1"`),
			attrs:   map[string]any{"order": "o-1", "amount": 2500}},
		"outbound": {contract: "stripe-v2", effects: 1, class: "event_destination",
			request: ofJSON("POST", "/v2/core/event_destinations", `{"name":"hooks","type":"webhook_endpoint","event_payload":"thin","enabled_events":["v1.billing.meter.error_report_triggered"],`+
				`"webhook_endpoint":{"url":"https://example.com/hooks"}}`, append(stripe, "Stripe-Version", "2026-10-28.endive")...),
			attrs: map[string]any{"name": "hooks", "type": "webhook_endpoint", "url": "https://example.com/hooks"}},
		"payments": {contract: "stripe-v1", effects: 1, class: "charge", request: ofForm("/v1/charges", "amount=2500&currency=usd&source=tok_visa&metadata[order]=o-1", stripe...),
			attrs: map[string]any{"order": "o-1", "amount": 2500, "currency": "usd"}},
		"queue": {contract: "sqs-fifo", effects: 1, class: "queued-message",
			before:  []wire{ofAWS("1.0", "AmazonSQS.CreateQueue", `{"QueueName":"jobs.fifo","Attributes":{"FifoQueue":"true"}}`)},
			request: ofAWS("1.0", "AmazonSQS.SendMessage", `{"QueueUrl":"http://localhost/123456789012/jobs.fifo","MessageBody":"x","MessageGroupId":"g","MessageDeduplicationId":"d"}`),
			attrs:   map[string]any{"queue": "jobs.fifo", "group": "g", "body": "x"}},
		"repository": {contract: "github", effects: 1, class: "issue", names: behind("/"),
			request: ofJSON("POST", "/repos/octo/widgets/issues", `{"title":"T","body":"B"}`, "Authorization", "Bearer lies"),
			attrs:   map[string]any{"repository": "octo/widgets", "title": "T", "body": "B"}},
		"rows": {contract: "rows-unique", effects: 1, class: "row", request: ofJSON("POST", "/tables/members/rows", `{"key":"m-1","value":7}`),
			attrs: map[string]any{"table": "members", "key": "m-1", "value": 7}},
		"snapshots": {contract: "ebs-start-snapshot", effects: 1, class: "snapshot", request: ofJSON("POST", "/snapshots", `{"VolumeSize":8,"ClientToken":"t","Description":"D"}`),
			attrs: map[string]any{"size": 8, "description": "D"}},
		"tasks": {contract: "ecs-run-task", effects: 2, class: "task",
			request: ofAWS("1.1", "AmazonEC2ContainerServiceV20141113.RunTask", `{"taskDefinition":"report","cluster":"main","count":2}`),
			attrs:   map[string]any{"family": "report", "cluster": "main"}},
		"tickets": {contract: "tickets-authoritative", effects: 1, class: "ticket", request: ofJSON("POST", "/tickets", `{"title":"T","priority":2}`),
			attrs: map[string]any{"title": "T", "priority": 2}},
	}
}

// lyingGate has the n-th request meet one action at one point.
type lyingGate struct {
	request string
	at      bench.Point
	act     bench.Action
}

func (g *lyingGate) Arrive(a bench.Arrival) bench.Action {
	if a.Request == g.request && a.Point == g.at {
		return g.act
	}
	return bench.Action{Act: bench.Pass}
}
func (*lyingGate) Left(bench.Arrival)  {}
func (*lyingGate) Ended(bench.Arrival) {}

// standing is a clock that stands.
type standing struct{}

func (standing) Now() time.Time { return bench.Epoch }

// told is what a provider answered, and found what its oracle reads then. held is what the store has.
type told struct {
	status int
	body   string
	found  []bench.Effect
	held   []bench.Effect
}

// mutate raises the provider of a sample, sends what has to be there and the sample's request, which meets an
// action at a point, and reads the store by the oracle. What had to be there is left out of what is found.
func (s sample) mutate(t *testing.T, kind string, at bench.Point, act bench.Action) told {
	t.Helper()
	c, ok := contracts.Find(s.contract)
	if !ok || c.Provider != kind {
		t.Fatalf("contract %q is none of %s", s.contract, kind)
	}
	dir := t.TempDir()
	gate := &lyingGate{fmt.Sprintf("r%d", len(s.before)+1), at, act}
	p, err := fakeproviders.Raise(t.Context(), bench.ProviderSpec{Kind: kind, Contract: c, Dir: dir, Gate: gate, Clock: standing{}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	address, err := p.Listen("provider/1")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range s.before {
		if status, body := w.send(t, address); status/100 != 2 {
			t.Fatalf("%s: %d %s", w.path, status, body)
		}
	}
	before := len(held(t, dir))
	var got told
	got.status, got.body = s.request.send(t, address)
	got.body = strings.ReplaceAll(got.body, address, "ADDRESS") // links lead back to where the request came
	oracle, ok := oracles.Find(kind)
	if !ok {
		t.Fatalf("no oracle reads %s", kind)
	}
	if got.found, err = oracle.Read(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	got.found, got.held = got.found[before:], held(t, dir)[before:]
	return got
}

// held reads the store as its provider does.
func held(t *testing.T, dir string) []bench.Effect {
	t.Helper()
	s, err := store.Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all, err := s.Objects()
	if err != nil {
		t.Fatal(err)
	}
	var effects []bench.Effect
	for _, o := range all {
		effects = append(effects, bench.Effect{Object: o.ID, Class: o.Class, Attrs: o.Attrs, Sign: o.Sign, Principal: o.Principal, Request: o.Request,
			Undoes: o.Undoes, CarriedBy: o.CarriedBy, Harms: o.Harms, Committed: o.Rank})
	}
	return effects
}

func (w wire) send(t *testing.T, address string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), w.method, "http://"+address+w.path, strings.NewReader(w.body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(w.header); i += 2 {
		r.Header.Set(w.header[i], w.header[i+1])
	}
	transport := &http.Transport{DisableKeepAlives: true}
	res, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// TestOraclesKnowBetter has each kind of provider lie in its answers: success where nothing was made, failure
// where something was, and another object's id. Its oracle reports what the store holds, each time.
func TestOraclesKnowBetter(t *testing.T) {
	all := samples()
	for _, o := range oracles.All {
		kind := o.Kind()
		s, ok := all[kind]
		if !ok {
			t.Errorf("no sample of a mutation at %s: add one to samples", kind)
			continue
		}
		delete(all, kind)
		t.Run(kind, func(t *testing.T) {
			honest := s.mutate(t, kind, bench.Committed, bench.Action{Act: bench.Pass})
			s.truth(t, honest, s.effects)
			if honest.status/100 != 2 {
				t.Fatalf("honest: %d %s", honest.status, honest.body)
			}
			for _, e := range honest.found {
				if named := strings.Contains(honest.body, s.named(e.Object)); named == s.nameless {
					t.Fatalf("the answer names %q: %v, expected %v: %s", s.named(e.Object), named, !s.nameless, honest.body)
				}
				if e.Class != s.class || !reflect.DeepEqual(e.Attrs, s.attrs) {
					t.Errorf("found %s %v, asked for %s %v", e.Class, e.Attrs, s.class, s.attrs)
				}
			}
			t.Run("says done, and nothing is there", func(t *testing.T) {
				got := s.mutate(t, kind, bench.BeforeCommit, bench.Action{Act: bench.Rollback})
				if got.status != honest.status || got.body != honest.body {
					t.Errorf("it tells %d %s, expected the lie %d %s", got.status, got.body, honest.status, honest.body)
				}
				s.truth(t, got, 0)
			})
			t.Run("says failed, and it is there", func(t *testing.T) {
				got := s.mutate(t, kind, bench.Committed, bench.Action{Act: bench.Fail, Status: 500})
				if got.status/100 == 2 && !strings.Contains(got.body, `"ok":false`) {
					t.Errorf("it tells %d %s, expected a failure", got.status, got.body)
				}
				s.truth(t, got, s.effects)
				s.same(t, got, honest)
			})
			t.Run("names another", func(t *testing.T) {
				lie := `{"of":"another"}`
				if !s.nameless {
					lie = honest.body
					for _, e := range honest.found {
						lie = strings.ReplaceAll(lie, s.named(e.Object), "another")
					}
				}
				got := s.mutate(t, kind, bench.Committed, bench.Action{Act: bench.Replace, Status: honest.status, Body: lie})
				if got.status != honest.status || got.body != lie || lie == honest.body {
					t.Errorf("it tells %d %s, expected %s", got.status, got.body, lie)
				}
				s.truth(t, got, s.effects)
				s.same(t, got, honest)
			})
		})
	}
	for kind := range all {
		t.Errorf("a sample of a mutation at %s, which no oracle reads", kind)
	}
}

func (s sample) named(object string) string {
	if s.names == nil {
		return object
	}
	return s.names(object)
}

// truth holds what the oracle found against the number of effects that there must be, and against the store.
func (s sample) truth(t *testing.T, got told, effects int) {
	t.Helper()
	if len(got.found) != effects {
		t.Fatalf("the oracle finds %d effects, expected %d: %+v", len(got.found), effects, got.found)
	}
	if len(got.found)+len(got.held) > 0 && !reflect.DeepEqual(got.found, got.held) {
		t.Errorf("the oracle finds\n%+v, the store holds\n%+v", got.found, got.held)
	}
}

func (s sample) same(t *testing.T, got, honest told) {
	t.Helper()
	if !reflect.DeepEqual(got.found, honest.found) {
		t.Errorf("the oracle finds\n%+v after the lie, and\n%+v after the truth", got.found, honest.found)
	}
}
