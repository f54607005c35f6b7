package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
)

// open lets every arrival pass.
type open struct{}

func (open) Arrive(bench.Arrival) bench.Action { return bench.Action{Act: bench.Pass} }
func (open) Left(bench.Arrival)                {}
func (open) Ended(bench.Arrival)               {}

// stoppedClock stands until the test moves it.
type stoppedClock struct{ hours atomic.Int64 }

func (c *stoppedClock) Now() time.Time {
	return bench.Epoch.Add(time.Duration(c.hours.Load()) * time.Hour)
}

// The tools and the fake providers agree on the wire: what a tool does is done, found again by its
// look-up, the same in business terms on both sides, and not done twice under one key.
func TestOnFakeProviders(t *testing.T) {
	cases := []struct {
		tool, contract, args, lookUpArgs string
		objects                          int
		keyed                            bool
	}{
		{"refund_order", "stripe-v1", `{"order":"o","amount":2500,"reason":"late"}`, `{"order":"o"}`, 1, true},
		{"charge_order", "stripe-v1", `{"order":"o","amount":2500,"currency":"usd","description":"D"}`, `{"order":"o"}`, 1, true},
		{"run_task", "ecs-run-task", `{"family":"f","cluster":"main","size":256,"count":3,"reference":"r"}`, `{"cluster":"main","reference":"r"}`, 3, true},
		{"create_service", "ecs-create-service", `{"name":"n","family":"f","cluster":"main","desired":2}`, `{"name":"n","cluster":"main"}`, 1, true},
		{"run_instances", "ec2-run-instances", `{"image":"ami-1","type":"t3.small","name":"n","count":3,"reference":"r*?"}`, `{"reference":"r*?"}`, 3, true},
		{"start_snapshot", "ebs-start-snapshot-described", `{"size":8,"description":"d","reference":"r"}`, `{"reference":"r"}`, 1, true},
		{"create_ticket", "tickets-authoritative", `{"title":"T","queue":"q","reference":"r"}`, `{"reference":"r"}`, 1, false},
		{"send_message", "mail-no-key", `{"to":["a@x","b@x"],"subject":"S"}`, ``, 2, false},
		{"append_line", "lines-keyed", `{"document":"a/b","text":"x"}`, `{"document":"a/b"}`, 1, true},
		{"put_file", "files-put", `{"path":"d/a b","content":"x"}`, `{"prefix":"d/"}`, 1, false},
		{"create_issue", "github", `{"repository":"octo/widgets","title":"T","body":"B","labels":"bug,loud","reference":"r"}`, `{"repository":"octo/widgets","reference":"r"}`, 1, false},
		{"draft_release", "github", `{"repository":"octo/widgets","tag":"v1","name":"N","body":"B","reference":"r"}`, `{"repository":"octo/widgets","reference":"r"}`, 1, false},
		{"create_deployment", "github", `{"repository":"octo/widgets","ref":"v1","environment":"e","description":"d","reference":"r"}`, `{"repository":"octo/widgets","reference":"r"}`, 1, false},
		{"create_release", "github", `{"repository":"octo/widgets","tag":"v1","name":"N","body":"B"}`, `{"repository":"octo/widgets","tag":"v1"}`, 1, false},
		{"open_pull_request", "github", `{"repository":"octo/widgets","head":"fix","base":"main","title":"T","body":"B"}`, `{"repository":"octo/widgets","head":"fix","base":"main"}`, 1, false},
		{"post_message", "slack-client-msg-id", `{"channel":"C0A","text":"T","reference":"r"}`, `{"channel":"C0A","reference":"r"}`, 1, true},
		{"insert_row", "rows-unique", `{"table":"t","key":"k","value":5}`, `{"table":"t","key":"k"}`, 1, false},
		{"create_event", "google-calendar-own-id", `{"event_id":"plan2026","calendar":"team@example.com","summary":"S","start":"2026-01-12T09:00:00Z","end":"2026-01-12T10:00:00Z"}`, `{"calendar":"team@example.com","event_id":"plan2026"}`, 1, false},
		{"book_appointment", "google-calendar", `{"calendar":"primary","summary":"S","start":"2026-01-12T09:00:00Z","end":"2026-01-12T10:00:00Z","description":"D","reference":"r"}`, `{"calendar":"primary","reference":"r"}`, 1, false},
		{"create_job", "kubernetes-by-name", `{"name":"report","namespace":"ops","image":"busybox","command":"echo hi"}`, `{"namespace":"ops","name":"report"}`, 1, false},
		{"start_job", "kubernetes-generate-name", `{"generate_name":"report-","namespace":"ops","image":"busybox","reference":"r"}`, `{"namespace":"ops","reference":"r"}`, 1, false},
		{"apply_config", "kubernetes-apply", `{"namespace":"ops","name":"web","data":"a=1\nb=2"}`, `{"namespace":"ops","name":"web"}`, 1, false},
		{"place_order", "ietf-idempotency-key", `{"customer":"c","item":"i","quantity":3,"note":"n"}`, `{"customer":"c"}`, 1, true},
		{"place_order", "paypal-orders", `{"customer":"c","item":"i","quantity":3}`, `{"customer":"c"}`, 1, true},
		{"pay_order", "square-payments", `{"order":"o","amount":2500,"currency":"USD"}`, `{"order":"o"}`, 1, true},
		{"pay_order", "adyen-payments", `{"order":"o","amount":2500,"region":"eu"}`, `{"order":"o"}`, 1, true},
		{"place_order", "azure-repeatable", `{"customer":"c","item":"i","quantity":3}`, `{"customer":"c"}`, 1, true},
		{"pay_under_reference", "increase-transfers", `{"order":"o","amount":2500}`, `{"reference":"key-1"}`, 1, true},
	}
	pool := newTestPool(t)
	for _, c := range cases {
		t.Run(c.tool+" "+c.contract, func(t *testing.T) {
			tool := ByName(c.tool)
			lookUp, _ := tool.LookUp()
			contract, ok := contracts.Find(c.contract)
			if !ok {
				t.Fatalf("contract %s is not known", c.contract)
			}
			clock := &stoppedClock{}
			fake, err := fakeproviders.Raise(withDeadline(t), bench.ProviderSpec{Kind: tool.Provider(), Contract: contract,
				Dir: t.TempDir(), Gate: open{}, Clock: clock})
			if err != nil {
				t.Fatal(err)
			}
			defer fake.Close()
			address, err := fake.Listen("provider/1")
			if err != nil {
				t.Fatal(err)
			}
			offered := map[string]bench.ToolUse{c.tool: {Errors: bench.ErrorsTyped}}
			if c.keyed {
				offered[c.tool] = bench.ToolUse{Key: bench.KeyArgument, Errors: bench.ErrorsTyped}
			}
			if lookUp != "" {
				offered[lookUp] = bench.ToolUse{Errors: bench.ErrorsTyped}
			}
			s := raise(t, pool, bench.ToolServerConfig{ProviderKind: tool.Provider(), Provider: address, Tools: offered, Key: contract.Advertised.Key, Now: clock.Now()})
			defer s.Release()
			if err := s.Warm(withDeadline(t)); err != nil {
				t.Fatal(err)
			}

			args := decode(t, c.args)
			if c.keyed {
				args[keyArgument] = "key-1"
			}
			_, first := post(t, s, c.tool, args, "", "")
			if first.Status != Done || len(first.Receipts) != c.objects {
				t.Fatalf("answer %+v, expected %d receipts", first, c.objects)
			}
			_, second := post(t, s, c.tool, args, "", "")
			switch {
			case c.keyed || contract.Advertised.NaturallyIdempotent: // a replay, or equal over equal
				if second.Status != Done || !slices.Equal(second.Receipts, first.Receipts) {
					t.Errorf("again: %+v, expected the receipts %v", second, first.Receipts)
				}
			case c.tool == "insert_row":
				if second.Status != Conflict || !slices.Equal(second.Receipts, first.Receipts) {
					t.Errorf("again: %+v, expected a conflict with %v", second, first.Receipts)
				}
			case len(contract.Advertised.Unique[tool.class]) > 0: // refused by a provider that does not name the first
				if second.Status != Conflict || len(second.Receipts) > 0 {
					t.Errorf("again: %+v, expected a conflict that names nothing", second)
				}
			default:
				if second.Status != Done || slices.Equal(second.Receipts, first.Receipts) {
					t.Errorf("again: %+v, expected another effect", second)
				}
			}
			if c.keyed {
				other := decode(t, c.args)
				other[keyArgument] = "key-1"
				for _, name := range []string{"amount", "count", "quantity", "desired", "size"} {
					if _, ok := other[name]; ok {
						other[name] = 7
					}
				}
				if _, ok := other["text"]; ok {
					other["text"] = "y"
				}
				_, a := post(t, s, c.tool, other, "", "")
				if contract.Advertised.Key.Mismatch == "silent" {
					if a.Status != Done || !slices.Equal(a.Receipts, first.Receipts) {
						t.Errorf("the key with other arguments: %+v, expected the receipts %v", a, first.Receipts)
					}
				} else if a.Status != Conflict {
					t.Errorf("the key with other arguments: %+v, expected a conflict", a)
				}
			}

			// Business terms: the fake reads off the wire what the harness reads off the agent link.
			call := tool.Parse(args)
			for i, r := range tool.plan(arguments(args)) {
				onWire := fake.Parse(bench.RawRequest{Method: r.method, Path: r.path, Header: r.header, Body: r.body})
				attrs := call.Attrs
				if c.tool == "send_message" {
					attrs = call.Units[i]
				}
				if onWire.Class != call.Class || !onWire.Mutating || fmt.Sprint(onWire.Attrs) != fmt.Sprint(attrs) {
					t.Errorf("the provider reads %+v, the agent link %s %v", onWire, call.Class, attrs)
				}
			}

			if lookUp == "" {
				return
			}
			clock.hours.Store(1) // past every documented lag
			for range contract.Advertised.LookUp.LagReads {
				post(t, s, lookUp, decode(t, c.lookUpArgs), "", "")
			}
			status, found := post(t, s, lookUp, decode(t, c.lookUpArgs), "", "")
			if found.Status != Done || len(found.Found) < c.objects {
				t.Fatalf("%s: %d %+v, expected %d objects", lookUp, status, found, c.objects)
			}
			for i, id := range first.Receipts {
				if found.Found[i]["id"] != id {
					t.Errorf("%s found %v, expected %s first", lookUp, found.Found, id)
				}
			}
			for name, want := range decode(t, c.args) {
				if got, shown := found.Found[0][name]; shown && !reflect.DeepEqual(got, want) {
					t.Errorf("%s shows %s %v (%T), the call had %v (%T)", lookUp, name, got, got, want, want)
				}
			}
		})
	}
}

func TestDeleteNewestOnFakeProvider(t *testing.T) {
	contract, _ := contracts.Find("files-delete-newest")
	fake, err := fakeproviders.Raise(withDeadline(t), bench.ProviderSpec{Kind: "files", Contract: contract, Dir: t.TempDir(), Gate: open{}, Clock: &stoppedClock{},
		World: []bench.WorldEffect{{Class: "file", Attrs: map[string]any{"path": "b/1", "content": "x"}}, {Class: "file", Attrs: map[string]any{"path": "b/2", "content": "y"}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	address, err := fake.Listen("provider/1")
	if err != nil {
		t.Fatal(err)
	}
	typed := bench.ToolUse{Errors: bench.ErrorsTyped}
	s := raise(t, newTestPool(t), bench.ToolServerConfig{ProviderKind: "files", Provider: address,
		Tools: map[string]bench.ToolUse{"delete_newest": typed, "list_files": typed}})
	for left := 1; left >= 0; left-- {
		if _, a := post(t, s, "delete_newest", map[string]any{"prefix": "b/"}, "", ""); a.Status != Done {
			t.Fatalf("got %+v", a)
		}
		if _, a := post(t, s, "list_files", map[string]any{"prefix": "b/"}, "", ""); len(a.Found) != left || left == 1 && a.Found[0]["path"] != "b/1" {
			t.Errorf("left %v, expected %d", a.Found, left)
		}
	}
	if _, a := post(t, s, "delete_newest", map[string]any{"prefix": "b/"}, "", ""); a.Status != Refused {
		t.Errorf("with nothing there: %+v, expected refused", a)
	}
}

func decode(t *testing.T, s string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(s), &m); err != nil {
		t.Fatal(err)
	}
	return m
}
