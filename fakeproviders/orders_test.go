package fakeproviders

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

const gcHeader = "GoCardless-Version"

// place sends an order of three lamps over the plain wire with the headers given.
func (r *rig) place(body string, header ...string) reply {
	if body == "" {
		body = `{"customer":"c","item":"lamp","quantity":3}`
	}
	return r.send("POST", "/orders", body, header...)
}

func code(r reply) string {
	e, _ := r.field("error").(map[string]any)
	c, _ := e["code"].(string)
	return c
}

// TestOrderWires: the same payment over each wire is the same effect, is read back over it, cancelled once,
// and the answer says so.
func TestOrderWires(t *testing.T) {
	const plain = `{"order":"4821","amount":2500,"currency":"GBP","note":"May"}`
	for name, c := range map[string]struct {
		contract, path, body, cancel, id string
		header                           []string
		status                           int
		attrs                            string
		one, cancelled                   string // in the answer to a creation, and to a cancellation
		noGet                            bool
	}{
		"plain order": {"ietf-idempotency-key", "/orders", `{"customer":"c","item":"lamp","quantity":3,"note":"n","region":"eu"}`, "/cancel", "id",
			[]string{"Idempotency-Key", `"k"`}, 201, `{"customer":"c","item":"lamp","note":"n","quantity":3,"region":"eu"}`, `"status":"accepted"`, `"status":"cancelled"`, false},
		"plain payment": {"paypal-orders", "/payments", plain, "/cancel", "id", nil, 201,
			`{"amount":2500,"currency":"GBP","note":"May","order":"4821"}`, `"status":"accepted"`, `"status":"cancelled"`, false},
		"gocardless": {"gocardless-payments", "/payments", `{"payments":{"amount":2500,"currency":"GBP","description":"May","metadata":{"order":"4821"},"links":{"mandate":"MD1"}}}`,
			"/actions/cancel", "payments.id", []string{gcHeader, "2015-07-06"}, 201, `{"amount":2500,"currency":"GBP","note":"May","order":"4821"}`,
			`"status":"pending_submission"`, `"status":"cancelled"`, false},
		"square": {"square-payments", "/v2/payments", `{"source_id":"cnon:ok","idempotency_key":"k","amount_money":{"amount":2500,"currency":"GBP"},"reference_id":"4821","note":"May"}`,
			"/cancel", "payment.id", nil, 200, `{"amount":2500,"currency":"GBP","note":"May","order":"4821"}`, `"status":"COMPLETED"`, `"status":"CANCELED"`, false},
		"adyen": {"adyen-payments", "/v72/payments", `{"merchantAccount":"M","reference":"4821","amount":{"value":2500,"currency":"GBP"}}`,
			"/cancels", "pspReference", nil, 200, `{"amount":2500,"currency":"GBP","order":"4821"}`, `"resultCode":"Authorised"`, `"resultCode":"Cancelled"`, true},
		"increase": {"increase-transfers", "/ach_transfers", `{"account_id":"account_1","amount":2500,"statement_descriptor":"4821","company_entry_description":"May"}`,
			"/cancel", "id", []string{"Idempotency-Key", "k"}, 200, `{"amount":2500,"note":"May","order":"4821"}`, `"status":"pending_submission"`, `"status":"canceled"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := up(t, c.contract)
			made := r.want(r.send("POST", c.path, c.body, c.header...), c.status)
			id, _ := at(fields([]byte(made.body)), c.id).(string)
			all := r.effects()
			if len(all) != 1 || all[0].ID != id || !strings.Contains(made.body, c.one) {
				t.Fatalf("answer %s, effects %+v; want one with its id", made.body, all)
			}
			if attrs, _ := json.Marshal(all[0].Attrs); string(attrs) != c.attrs {
				t.Errorf("attributes %s, want %s", attrs, c.attrs)
			}
			list := r.want(r.send("GET", c.path, "", c.header...), 200)
			if strings.Count(list.body, `"`+id+`"`) != 1 {
				t.Errorf("list %s, want %s in it once", list.body, id)
			}
			for range 2 {
				gone := r.want(r.send("POST", c.path+"/"+id+c.cancel, "{}", c.header...), 200)
				if !strings.Contains(gone.body, c.cancelled) || !strings.Contains(gone.body, id) {
					t.Errorf("cancelled: %s", gone.body)
				}
			}
			all = r.effects()
			if len(all) != 2 || all[1].Undoes != id || all[1].Sign != -1 || all[1].Class != all[0].Class {
				t.Fatalf("after two cancellations: %+v; want one effect that undoes %s", all, id)
			}
			if !c.noGet {
				if got := r.want(r.send("GET", c.path+"/"+id, "", c.header...), 200); !strings.Contains(got.body, c.cancelled) {
					t.Errorf("read after it was cancelled: %s", got.body)
				}
			}
			r.want(r.send("POST", c.path+"/nothing"+c.cancel, "{}", c.header...), 404)
			for _, bad := range []string{"", "[]", "{}", "null", strings.Replace(strings.Replace(c.body, "2500", `"x"`, 1), ":3,", ":3.5,", 1)} {
				if got := r.send("POST", c.path, bad, c.header...); got.err != nil || got.status < 400 || got.status > 422 || !json.Valid([]byte(got.body)) {
					t.Errorf("body %q: %d %s", bad, got.status, got.body)
				}
			}
			if len(r.effects()) != 2 {
				t.Error("a bad request made something")
			}
		})
	}
}

// TestOrderListsGoOn: the payment APIs' lists have pages that lead to one another.
func TestOrderListsGoOn(t *testing.T) {
	for _, c := range []struct{ contract, path, body, cursor, next string }{
		{"square-payments", "/v2/payments", `{"source_id":"s","idempotency_key":"K","amount_money":{"amount":1,"currency":"USD"}}`, "cursor", "cursor"},
		{"gocardless-payments", "/payments", `{"payments":{"amount":1,"currency":"GBP","links":{"mandate":"M"}}}`, "after", "meta.cursors.after"},
		{"increase-transfers", "/ach_transfers", `{"account_id":"a","amount":1,"statement_descriptor":"s"}`, "cursor", "next_cursor"},
	} {
		r := up(t, c.contract)
		for i := range 5 {
			key := string(rune('a' + i))
			r.want(r.send("POST", c.path, strings.Replace(c.body, `"K"`, `"`+key+`"`, 1), gcHeader, "1"), map[bool]int{true: 201, false: 200}[c.cursor == "after"])
		}
		cursor, seen, pages := "", 0, 0
		for {
			page := r.want(r.send("GET", c.path+"?limit=2&"+c.cursor+"="+cursor, "", gcHeader, "1"), 200)
			m := fields([]byte(page.body))
			for _, list := range []string{"payments", "data"} {
				objects, _ := m[list].([]any)
				seen += len(objects)
			}
			pages++
			next, _ := at(m, c.next).(string)
			if next == "" {
				break
			}
			cursor = next
		}
		if seen != 5 || pages != 3 {
			t.Errorf("%s: %d payments on %d pages, want 5 on 3", c.path, seen, pages)
		}
	}
}

// TestOrderContracts walks through what each contract says of a second request, row by row.
func TestOrderContracts(t *testing.T) {
	const guid = "6f2b1c9a-8f2e-4c3d-9a55-0123456789ab"
	key := func(contract, k string) []string {
		switch contract {
		case "ietf-idempotency-key":
			return []string{"Idempotency-Key", `"` + k + `"`}
		case "paypal-orders", "paypal-orders-waits":
			return []string{"PayPal-Request-Id", k}
		case "azure-repeatable":
			return []string{"Repeatability-Request-ID", guid, "Repeatability-First-Sent", bench.Epoch.UTC().Format(http.TimeFormat)}
		}
		return []string{"Idempotency-Key", k}
	}
	for _, c := range []struct {
		contract               string
		again                  int // status of the same again
		marker                 string
		mismatch, inWork       int // of another payload, of the same while the first is in work
		bare                   int // of one without a key
		kept                   time.Duration
		mismatchCode, workCode string
	}{
		{"ietf-idempotency-key", 201, "", 422, 409, 400, 24 * time.Hour, "idempotency_key_reused", "idempotency_key_in_use"},
		{"paypal-orders", 200, "", 422, 409, 201, 6 * time.Hour, "idempotency_key_reused", "idempotency_key_in_use"},
		{"paypal-orders-waits", 200, "", 422, 200, 201, 6 * time.Hour, "idempotency_key_reused", ""},
		{"adyen-payments", 201, "", 422, 409, 201, 7 * 24 * time.Hour, "idempotency_key_reused", "idempotency_key_in_use"},
		{"gocardless-payments", 409, "", 409, 409, 201, 24 * time.Hour, "idempotent_creation_conflict", "idempotent_creation_conflict"},
		{"azure-repeatable", 201, "", 400, 409, 201, 5 * time.Minute, "idempotency_key_reused", "idempotency_key_in_use"},
		{"increase-transfers", 201, "Idempotent-Replayed", 409, 409, 201, 10 * 365 * 24 * time.Hour, "idempotency_conflict", "idempotency_key_in_use"},
	} {
		t.Run(c.contract, func(t *testing.T) {
			r := up(t, c.contract)
			p := r.gate.park(bench.BeforeCommit, "r1")
			first := r.async(func() reply { return r.place("", key(c.contract, "k")...) })
			<-p.arrived
			var second chan reply
			if c.workCode == "idempotency_key_in_use" {
				if got := r.want(r.place("", key(c.contract, "k")...), c.inWork); code(got) != c.workCode {
					t.Errorf("in work: %s", got.body)
				}
			} else { // it waits, and is answered as the same again is
				parked := r.gate.park(bench.Received, "r2")
				second = r.async(func() reply { return r.place("", key(c.contract, "k")...) })
				<-parked.arrived
				parked.goOn <- pass()
			}
			p.goOn <- pass()
			made := r.want(<-first, 201)
			if second != nil {
				r.want(<-second, c.inWork)
			}
			again := r.want(r.place("", key(c.contract, "k")...), c.again)
			if c.again == 409 {
				if again.field("existing") != made.field("id") || code(again) != "idempotent_creation_conflict" {
					t.Errorf("again: %s, want a conflict that names %v", again.body, made.field("id"))
				}
			} else if again.field("id") != made.field("id") {
				t.Errorf("again: %s, want %s", again.body, made.body)
			}
			for _, m := range []string{"Idempotent-Replayed"} {
				if got := again.header.Get(m) != ""; got != (m == c.marker) {
					t.Errorf("again: header %s is there: %v", m, got)
				}
			}
			mismatch := r.want(r.place(`{"customer":"c","item":"lamp","quantity":4}`, key(c.contract, "k")...), c.mismatch)
			if code(mismatch) != c.mismatchCode || mismatch.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("another payload: %s %v", mismatch.body, mismatch.header)
			}
			r.wantEffects(1)
			r.want(r.place(""), c.bare)
			bare := len(r.effects())
			r.clock.pass(c.kept)
			r.want(r.place("", key(c.contract, "k")...), c.again)
			if len(r.effects()) != bare {
				t.Errorf("after %s: the key was not kept", c.kept)
			}
			r.clock.pass(time.Second)
			past := 201
			if c.contract == "azure-repeatable" {
				past = 412
			}
			r.want(r.place("", key(c.contract, "k")...), past)
		})
	}
}

func TestSquareKeyIsInTheBody(t *testing.T) {
	r := up(t, "square-payments")
	pay := func(path, more string) reply {
		return r.send("POST", path, `{"source_id":"s","amount_money":{"amount":5,"currency":"USD"},"order":"o","amount":5`+more+`}`)
	}
	for _, path := range []string{"/v2/payments", "/payments"} { // keys of one endpoint are not those of another
		a := r.send("POST", path, "{}")
		if a.status != 400 || !strings.Contains(a.body, "idempotency") {
			t.Errorf("%s without a key: %d %s", path, a.status, a.body)
		}
		first, again := pay(path, `,"idempotency_key":"k"`), pay(path, `,"idempotency_key":"k"`)
		if first.status/100 != 2 || again.body != first.body {
			t.Errorf("%s: %d %s, again %s", path, first.status, first.body, again.body)
		}
		if got := pay(path, `,"idempotency_key":"k","note":"x"`); got.status != 400 {
			t.Errorf("%s with another payload: %d %s", path, got.status, got.body)
		}
		if got := pay(path, `,"idempotency_key":"`+strings.Repeat("k", 46)+`"`); got.status != 400 {
			t.Errorf("%s with 46 characters: %d %s", path, got.status, got.body)
		}
		if got := pay(path, `,"idempotency_key":"`+strings.Repeat("ü", 45)+`"`); got.status/100 != 2 {
			t.Errorf("%s with 45 characters of two bytes: %d %s", path, got.status, got.body)
		}
	}
	r.wantEffects(4)
	r.want(r.send("POST", "/v2/payments/cancel", `{"idempotency_key":"k"}`), 200)
	r.want(r.send("POST", "/v2/payments/cancel", `{"idempotency_key":"unknown"}`), 200)
	r.want(r.send("POST", "/v2/payments/cancel", `{}`), 400)
	r.wantEffects(6) // the key of both endpoints
}

func TestOrdersScopes(t *testing.T) {
	adyen := up(t, "adyen-payments")
	for _, region := range []string{"eu", "us", "eu"} {
		adyen.want(adyen.send("POST", "/payments", `{"order":"o","amount":5,"region":"`+region+`"}`, "Idempotency-Key", "k"), 201)
	}
	adyen.wantEffects(2)
	adyen.want(adyen.send("POST", "/payments", `{"order":"o","amount":5,"region":"eu"}`, "Idempotency-Key", "k", "X-On-Behalf-Of", "other"), 201)
	adyen.wantEffects(3)

	paypal := up(t, "paypal-orders")
	paypal.want(paypal.place("", "PayPal-Request-Id", "k"), 201)
	paypal.want(paypal.send("POST", "/payments", `{"order":"o","amount":5}`, "PayPal-Request-Id", "k"), 201)
	paypal.wantEffects(2)

	ietf := up(t, "ietf-idempotency-key")
	ietf.want(ietf.place("", "Idempotency-Key", `"k"`), 201)
	if got := ietf.want(ietf.send("POST", "/payments", `{"order":"o","amount":5}`, "Idempotency-Key", `"k"`), 422); code(got) != "idempotency_key_other_endpoint" {
		t.Errorf("at another endpoint: %s", got.body)
	}
	for _, bad := range []string{`k`, `"k`, `k"`, `"`, `"k" x`, `"k"k"`, `"k\"`, "\"k\u00e9\""} {
		if got := ietf.want(ietf.place("", "Idempotency-Key", bad), 400); code(got) != "idempotency_key_invalid" {
			t.Errorf("key %s: %s", bad, got.body)
		}
	}
	ietf.wantEffects(1)
}

// TestCurrentReplay: PayPal shows an order as it is now, and 200 marks it; a stored replay shows it as it was.
func TestCurrentReplay(t *testing.T) {
	for contract, want := range map[string]string{"paypal-orders": "cancelled", "adyen-payments": "accepted"} {
		r := up(t, contract)
		header := []string{"PayPal-Request-Id", "k", "Idempotency-Key", "k"}
		made := r.want(r.place("", header...), 201)
		r.want(r.send("POST", "/orders/"+made.field("id").(string)+"/cancel", ""), 200)
		again := r.place("", header...)
		if again.field("status") != want || again.field("id") != made.field("id") {
			t.Errorf("%s: %d %s, want %s", contract, again.status, again.body, want)
		}
	}
}

// TestFailuresUnderKeys: what a failure of the provider's own leaves under a key.
func TestFailuresUnderKeys(t *testing.T) {
	for _, c := range []struct {
		contract string
		header   []string
		status   int // of the failure
		at       bench.Point
		retry    int
		effects  int
	}{
		{"ietf-idempotency-key", []string{"Idempotency-Key", `"k"`}, 500, bench.BeforeCommit, 500, 0},
		{"ietf-idempotency-key", []string{"Idempotency-Key", `"k"`}, 500, bench.Committed, 500, 1},
		{"azure-repeatable", []string{"Repeatability-Request-ID", "6f2b1c9a-8f2e-4c3d-9a55-0123456789ab"}, 500, bench.BeforeCommit, 201, 1},
		{"azure-repeatable", []string{"Repeatability-Request-ID", "6f2b1c9a-8f2e-4c3d-9a55-0123456789ab"}, 422, bench.BeforeCommit, 422, 0},
		{"azure-repeatable", []string{"Repeatability-Request-ID", "6f2b1c9a-8f2e-4c3d-9a55-0123456789ab"}, 429, bench.BeforeCommit, 201, 1},
		{"paypal-orders", []string{"PayPal-Request-Id", "k"}, 503, bench.BeforeCommit, 201, 1},
		{"paypal-orders", []string{"PayPal-Request-Id", "k"}, 503, bench.Committed, 200, 1},
		{"gocardless-payments", []string{"Idempotency-Key", "k"}, 500, bench.Committed, 409, 1},
	} {
		r := up(t, c.contract)
		c.header = append(c.header, "Repeatability-First-Sent", bench.Epoch.UTC().Format(http.TimeFormat))
		r.gate.order(c.at, "r1", bench.Action{Act: bench.Fail, Status: c.status})
		r.want(r.place("", c.header...), c.status)
		r.want(r.place("", c.header...), c.retry)
		r.wantEffects(c.effects)
	}
}

func TestAzureHeaders(t *testing.T) {
	const guid = "6f2b1c9a-8f2e-4c3d-9a55-0123456789ab"
	at := func(d time.Duration) string { return bench.Epoch.Add(d).UTC().Format(http.TimeFormat) }
	for _, c := range []struct {
		name, id, sent string
		status         int
		result         string
	}{
		{"good", guid, at(0), 201, "accepted"},
		{"at the edge of the window", guid, at(-5 * time.Minute), 201, "accepted"},
		{"past the window", guid, at(-5*time.Minute - time.Second), 412, "rejected"},
		{"ahead of the clock", guid, at(5*time.Minute + time.Second), 412, "rejected"},
		{"no guid", "x", at(0), 400, "rejected"},
		{"no time", guid, "", 400, "rejected"},
		{"another format", guid, "2026-01-05T09:00:00Z", 400, "rejected"},
		{"time alone", "", at(0), 400, ""},
		{"neither", "", "", 201, ""},
	} {
		r := up(t, "azure-repeatable")
		got := r.want(r.place("", "Repeatability-Request-ID", c.id, "Repeatability-First-Sent", c.sent), c.status)
		if got.header.Get("Repeatability-Result") != c.result {
			t.Errorf("%s: result %q, want %q", c.name, got.header.Get("Repeatability-Result"), c.result)
		}
		r.wantEffects(map[bool]int{true: 1}[c.status == 201])
	}
	t.Run("a refused payload binds the id", func(t *testing.T) {
		r := up(t, "azure-repeatable")
		r.want(r.place(`{"customer":"c"}`, "Repeatability-Request-ID", guid, "Repeatability-First-Sent", at(0)), 400)
		got := r.want(r.place("", "Repeatability-Request-ID", guid, "Repeatability-First-Sent", at(0)), 400)
		if code(got) != "idempotency_key_reused" {
			t.Errorf("the mended payload under the same id: %s", got.body)
		}
	})
}

// TestLookUpByKey: Increase finds an object by the key that made it; the others have no such look-up.
func TestLookUpByKey(t *testing.T) {
	r := up(t, "increase-transfers")
	made := r.want(r.send("POST", "/payments", `{"order":"o","amount":5}`, "Idempotency-Key", "k"), 201)
	for key, n := range map[string]int{"k": 1, "other": 0} {
		got := r.want(r.send("GET", "/payments?idempotency_key="+key, ""), 200)
		if strings.Count(got.body, made.field("id").(string)) != n {
			t.Errorf("by key %s: %s", key, got.body)
		}
	}
	none := up(t, "adyen-payments")
	none.want(none.send("GET", "/payments?idempotency_key=k", ""), 400)
}

// TestPaymentErrors holds what the official clients read of an error: their classes hang on these fields.
func TestPaymentErrors(t *testing.T) {
	const gc, sq, ad, in = "gocardless-payments", "square-payments", "adyen-payments", "increase-transfers"
	path := map[string]string{gc: "/payments", sq: "/v2/payments", ad: "/v72/payments", in: "/ach_transfers"}
	body := map[string]string{
		gc: `{"payments":{"amount":5,"currency":"GBP","links":{"mandate":"M"}}}`,
		sq: `{"source_id":"s","idempotency_key":"k","amount_money":{"amount":5,"currency":"USD"}}`,
		ad: `{"merchantAccount":"M","reference":"o","amount":{"value":5,"currency":"EUR"}}`,
		in: `{"account_id":"a","amount":5,"statement_descriptor":"o"}`,
	}
	for _, c := range []struct {
		contract, what string // "mismatch", "in use", or the status of a failure of the provider's own
		status         int
		holds          []string
	}{
		{gc, "mismatch", 409, []string{`"type":"invalid_state"`, `"reason":"idempotent_creation_conflict"`, `"conflicting_resource_id":"PM`, `"code":409`}},
		{gc, "500", 500, []string{`"type":"gocardless"`}},
		{gc, "429", 429, []string{`"type":"invalid_api_usage"`, `"reason":"rate_limit_exceeded"`}},
		{sq, "mismatch", 400, []string{`"category":"INVALID_REQUEST_ERROR"`, `"code":"IDEMPOTENCY_KEY_REUSED"`}},
		{sq, "in use", 409, []string{`"code":"CONFLICT"`}},
		{sq, "500", 500, []string{`"category":"API_ERROR"`, `"code":"INTERNAL_SERVER_ERROR"`}},
		{sq, "503", 503, []string{`"code":"SERVICE_UNAVAILABLE"`}},
		{sq, "429", 429, []string{`"category":"RATE_LIMIT_ERROR"`, `"code":"RATE_LIMITED"`}},
		{ad, "mismatch", 422, []string{`"errorCode":"704"`}},
		{ad, "in use", 422, []string{`"errorCode":"704"`, "transient"}},
		{ad, "503", 503, []string{`"errorCode":"703"`, "transient"}},
		{ad, "500", 500, []string{`"errorCode":"905"`}},
		{in, "mismatch", 409, []string{`"type":"idempotency_key_already_used_error"`, `"resource_id":"ach_transfer_`, `"status":409`}},
		{in, "in use", 409, []string{`"type":"invalid_operation_error"`}},
		{in, "500", 500, []string{`"type":"internal_server_error"`}},
		{in, "429", 429, []string{`"type":"rate_limited_error"`}},
	} {
		t.Run(c.contract+" "+c.what, func(t *testing.T) {
			r := up(t, c.contract)
			send := func(body string) reply {
				return r.send("POST", path[c.contract], body, gcHeader, "1", "Idempotency-Key", "k")
			}
			var got reply
			switch c.what {
			case "mismatch":
				send(body[c.contract])
				got = send(strings.Replace(body[c.contract], ":5,", ":6,", 1))
			case "in use":
				p := r.gate.park(bench.BeforeCommit, "r1")
				first := r.async(func() reply { return send(body[c.contract]) })
				<-p.arrived
				got = send(body[c.contract])
				p.goOn <- pass()
				r.want(<-first, 200)
			default:
				r.gate.order(bench.BeforeCommit, "r1", bench.Action{Act: bench.Fail, Status: c.status})
				got = send(body[c.contract])
			}
			r.want(got, c.status)
			for _, part := range c.holds {
				if part == "transient" {
					if got.header.Get("Transient-Error") != "true" {
						t.Errorf("no transient-error: %v", got.header)
					}
				} else if !strings.Contains(got.body, part) {
					t.Errorf("answer %s, want %s in it", got.body, part)
				}
			}
			if transient := got.header.Get("Transient-Error") != ""; transient != (c.holds[len(c.holds)-1] == "transient") {
				t.Errorf("transient-error is there: %v", transient)
			}
		})
	}
}
