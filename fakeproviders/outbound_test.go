package fakeproviders

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// outboundOf is a payment of this amount to acct_2.
func outboundOf(amount int) string {
	return fmt.Sprintf(`{"from":{"financial_account":"fa_1","currency":"usd"},"to":{"recipient":"acct_2"},"amount":{"value":%d,"currency":"usd"}}`, amount)
}

const hookDestination = `{"name":"n","type":"webhook_endpoint","event_payload":"thin","enabled_events":["v1.a"],"webhook_endpoint":{"url":"https://example.org"}}`

func (r *rig) v2(method, path, body, key string, header ...string) reply {
	return r.send(method, path, body, append([]string{"Idempotency-Key", key, "Content-Type", "application/json"}, header...)...)
}

// TestFailuresAreExecutedAgain holds API v2 against v1: its keys do not keep failures.
func TestFailuresAreExecutedAgain(t *testing.T) {
	for _, at := range []bench.Point{bench.Received, bench.BeforeCommit, bench.Committed} {
		r := up(t, "stripe-v2")
		r.gate.order(at, "r1", bench.Action{Act: bench.Fail, Status: 500})
		failed := r.want(r.v2("POST", outboundPayments, outboundOf(5), "k"), 500)
		if failed.errorOf("type") != "api_error" || failed.header.Get("Stripe-Should-Retry") != "" {
			t.Errorf("%s: %s %v", at, failed.body, failed.header)
		}
		done := r.want(r.v2("POST", outboundPayments, outboundOf(5), "k"), 200)
		again := r.want(r.v2("POST", outboundPayments, outboundOf(5), "k"), 200)
		if again.header.Get("Idempotent-Replayed") != "true" || again.field("id") != done.field("id") {
			t.Errorf("%s: %s, then %s %v", at, done.body, again.body, again.header)
		}
		r.wantEffects(1)
		if got := r.want(r.v2("POST", outboundPayments, outboundOf(6), "k"), 400); got.errorOf("type") != "idempotency_error" {
			t.Errorf("%s: another amount: %s", at, got.body)
		}
	}
	t.Run("what was made outlives a second failure", func(t *testing.T) {
		r := up(t, "stripe-v2")
		r.gate.order(bench.Committed, "r1", bench.Action{Act: bench.Fail, Status: 500})
		r.gate.order(bench.Received, "r2", bench.Action{Act: bench.Fail, Status: 503})
		r.want(r.v2("POST", outboundPayments, outboundOf(5), "k"), 500)
		r.want(r.v2("POST", outboundPayments, outboundOf(5), "k"), 503)
		done := r.want(r.v2("POST", outboundPayments, outboundOf(5), "k"), 200)
		if all := r.effects(); len(all) != 1 || done.field("id") != all[0].ID {
			t.Errorf("effects %+v, answer %s", all, done.body)
		}
	})
	t.Run("funds that come back", func(t *testing.T) {
		r := up(t, "stripe-v2")
		big := r.want(r.v2("POST", outboundPayments, outboundOf(60_000_000), "k1"), 200)
		if got := r.want(r.v2("POST", outboundPayments, outboundOf(60_000_000), "k2"), 400); got.errorOf("type") != "insufficient_funds" {
			t.Errorf("refused with %s", got.body)
		}
		r.want(r.v2("POST", outboundPayments+"/"+big.field("id").(string)+"/cancel", "", "k3"), 200)
		r.want(r.v2("POST", outboundPayments, outboundOf(60_000_000), "k2"), 200)
	})
	t.Run("a cancellation whose answer failed", func(t *testing.T) {
		r := up(t, "stripe-v2")
		made := r.want(r.v2("POST", outboundPayments, outboundOf(5), "k1"), 200)
		r.gate.order(bench.Committed, "r2", bench.Action{Act: bench.Fail, Status: 503})
		path := outboundPayments + "/" + made.field("id").(string) + "/cancel"
		r.want(r.v2("POST", path, "", "k2"), 503)
		if got := r.want(r.v2("POST", path, "", "k2"), 200); got.field("status") != "canceled" || got.field("id") != made.field("id") {
			t.Errorf("again: %s", got.body)
		}
		if got := r.want(r.v2("POST", path, "", "k3"), 400); got.errorOf("type") != "already_canceled" {
			t.Errorf("under another key: %s", got.body)
		}
		r.wantEffects(2)
	})
}

func TestOutboundPaymentsPost(t *testing.T) {
	r := up(t, "stripe-v2")
	made := r.want(r.v2("POST", outboundPayments, outboundOf(5), "k1"), 200)
	path := outboundPayments + "/" + made.field("id").(string)
	r.clock.pass(postsAfter - time.Second)
	if got := r.want(r.send("GET", path, ""), 200); got.field("status") != "processing" {
		t.Errorf("before: %s", got.body)
	}
	r.clock.pass(time.Second)
	if got := r.want(r.send("GET", path, ""), 200); got.field("status") != "posted" || got.field("cancelable") != false {
		t.Errorf("after: %s", got.body)
	}
	if got := r.want(r.v2("POST", path+"/cancel", "", "k2"), 400); got.errorOf("type") != "not_cancelable" {
		t.Errorf("canceled too late: %s", got.body)
	}
}

func TestEventDestinations(t *testing.T) {
	r := up(t, "stripe-v2")
	made := r.want(r.v2("POST", eventDestinations, hookDestination, "k1"), 200)
	path := eventDestinations + "/" + made.field("id").(string)
	if strings.Contains(made.body, "example.org") {
		t.Errorf("the address is shown: %s", made.body)
	}
	if got := r.want(r.send("GET", path+"?include[0]=webhook_endpoint.url", ""), 200); !strings.Contains(got.body, "https://example.org") {
		t.Errorf("the address is not shown: %s", got.body)
	}
	for _, c := range []struct{ path, body, name, status string }{
		{path, `{"name":"m"}`, "m", "enabled"}, {path + "/disable", "", "m", "disabled"}, {path + "/enable", "", "m", "enabled"},
	} {
		if got := r.want(r.v2("POST", c.path, c.body, c.path), 200); got.field("name") != c.name || got.field("status") != c.status {
			t.Errorf("%s: %s", c.path, got.body)
		}
	}
	for range 2 {
		if got := r.want(r.v2("DELETE", path, "", "k2"), 200); got.field("id") != made.field("id") || got.field("object") != "v2.core.event_destination" {
			t.Errorf("deleted: %s", got.body)
		}
	}
	for _, got := range []reply{r.v2("DELETE", path, "", "k3"), r.send("GET", path, ""), r.v2("POST", path+"/enable", "", "k4")} {
		if got.status != 404 || got.errorOf("code") != "not_found" {
			t.Errorf("what is gone answers %d %s", got.status, got.body)
		}
	}
	r.wantEffects(5)
}

func TestOutboundLists(t *testing.T) {
	r := up(t, "stripe-v2")
	for i := range 5 {
		r.want(r.v2("POST", outboundPayments, outboundOf(i+1), fmt.Sprint("k", i)), 200)
	}
	if got := r.want(r.send("GET", outboundPayments, ""), 200); len(got.field("data").([]any)) != 0 {
		t.Errorf("at once: %s", got.body)
	}
	r.clock.pass(time.Minute)
	var amounts []any
	for page := any(outboundPayments + "?limit=2"); page != nil; {
		got := r.want(r.send("GET", page.(string), ""), 200)
		for _, o := range got.field("data").([]any) {
			amounts = append(amounts, object(o.(map[string]any), "amount")["value"])
		}
		page = got.field("next_page_url")
		if len(amounts) > 5 {
			break
		}
	}
	if fmt.Sprint(amounts) != "[5 4 3 2 1]" {
		t.Errorf("over its pages: %v", amounts)
	}
	for query, n := range map[string]int{"?recipient=acct_2": 5, "?recipient=acct_3": 0, "?status[0]=processing&status[1]=posted": 5, "?status=canceled": 0,
		"?created[gt]=2030-01-01T00:00:00Z": 0, "?created[gte]=2020-01-01T00:00:00Z": 5} {
		if got := r.want(r.send("GET", outboundPayments+query, ""), 200); len(got.field("data").([]any)) != n {
			t.Errorf("%s: %s, want %d", query, got.body, n)
		}
	}
	if got := r.want(r.send("GET", outboundPayments, "", "Stripe-Context", "acct_9"), 200); len(got.field("data").([]any)) != 0 {
		t.Errorf("another account sees %s", got.body)
	}
}

func TestOutboundRefuses(t *testing.T) {
	r := up(t, "stripe-v2")
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", outboundPayments, "[]", 400}, {"POST", outboundPayments, "", 400}, {"POST", outboundPayments, outboundOf(0), 400},
		{"POST", outboundPayments, `{"from":{},"to":{},"amount":{}}`, 400}, {"POST", outboundPayments, `{"from":7,"to":[],"amount":"x"}`, 400},
		{"POST", eventDestinations, "{}", 400}, {"POST", eventDestinations, strings.Replace(hookDestination, "webhook_endpoint", "fax", 1), 400},
		{"POST", eventDestinations, strings.Replace(hookDestination, `["v1.a"]`, `"v1.a"`, 1), 400}, {"POST", eventDestinations + "/ed_x", `{"name":7}`, 404},
		{"GET", outboundPayments + "?limit=0", "", 400}, {"GET", outboundPayments + "?page=x", "", 400}, {"GET", outboundPayments + "/obp_x", "", 404},
		{"DELETE", outboundPayments + "/obp_x", "", 404}, {"PUT", eventDestinations, "{}", 404}, {"GET", "/v2/core/accounts", "", 404},
	} {
		got := r.v2(c.method, c.path, c.body, "k")
		if got.status != c.status || got.errorOf("message") == "" {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, got.status, got.body)
		}
	}
	if got := r.want(r.v2("POST", outboundPayments, outboundOf(1), "k", "Authorization", "Bearer rk_test_1"), 401); got.errorOf("type") != "invalid_request_error" {
		t.Errorf("a restricted key: %s", got.body)
	}
	r.want(r.v2("POST", outboundPayments, outboundOf(1), strings.Repeat("k", 256)), 400)
	r.wantEffects(0)
	r.want(r.v2("POST", outboundPayments, outboundOf(1), "k"), 200)
}
