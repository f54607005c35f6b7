package fakeproviders

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
)

// errorOf is the named field of an answer's error.
func (r reply) errorOf(name string) string {
	e, _ := r.field("error").(map[string]any)
	return text(e, name)
}

// pay makes a payment of 25.00 that is authorized only, and returns its id.
func (r *rig) pay() string {
	r.Helper()
	got := r.want(r.send("POST", "/v1/payment_intents", "amount=2500&currency=eur&confirm=true&capture_method=manual&payment_method=pm_card_visa"), 200)
	return got.field("id").(string)
}

func TestPaymentStates(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps []string // "PATH?FORM" and what the answer says: "status", or the error's code
		wants []string
	}{
		{"captured in part, refunded in two parts", []string{"payment_intents/ID/capture?amount_to_capture=2000", "refunds?payment_intent=ID&amount=500",
			"refunds?payment_intent=ID", "refunds?payment_intent=ID"}, []string{"succeeded", "succeeded 500", "succeeded 1500", "400 charge_already_refunded"}},
		{"captured twice", []string{"payment_intents/ID/capture", "payment_intents/ID/capture"}, []string{"succeeded", "400 payment_intent_unexpected_state"}},
		{"captured too much", []string{"payment_intents/ID/capture?amount_to_capture=2501"}, []string{"400 amount_too_large"}},
		{"canceled, then captured", []string{"payment_intents/ID/cancel", "payment_intents/ID/capture", "payment_intents/ID/cancel"},
			[]string{"canceled", "400 payment_intent_unexpected_state", "400 payment_intent_unexpected_state"}},
		{"refunded before its capture", []string{"refunds?payment_intent=ID"}, []string{"400 charge_not_refundable"}},
		{"refunded too much", []string{"payment_intents/ID/capture", "refunds?payment_intent=ID&amount=2501"}, []string{"succeeded", "400 "}},
		{"confirmed twice", []string{"payment_intents/ID/confirm?payment_method=pm_card_visa"}, []string{"400 payment_intent_unexpected_state"}},
		{"a refund canceled makes room again", []string{"payment_intents/ID/capture", "refunds?payment_intent=ID", "refunds/LAST/cancel", "refunds?payment_intent=ID"},
			[]string{"succeeded", "succeeded 2500", "canceled 2500", "succeeded 2500"}},
		{"payouts", []string{"payouts?amount=700&currency=eur", "payouts/LAST/cancel", "payouts/LAST/cancel"}, []string{"pending 700", "canceled 700", "400 "}},
		{"transfers", []string{"transfers?amount=700&currency=eur&destination=acct_2", "transfers/LAST/reversals?amount=500", "transfers/FIRST/reversals", "transfers/FIRST/reversals"},
			[]string{" 700", " 500", " 200", "400 "}},
		{"more than the balance", []string{"payouts?amount=99999999&currency=usd", "payouts?amount=2&currency=usd", "payouts?amount=1&currency=usd"},
			[]string{"pending 99999999", "400 balance_insufficient", "pending 1"}},
		{"objects that are not there", []string{"refunds?charge=ch_00000000000000", "charges/ch_x/capture", "payouts/po_x/cancel", "transfers/tr_x/reversals"},
			[]string{"404 resource_missing", "404 resource_missing", "404 resource_missing", "404 resource_missing"}},
		{"an object of another kind", []string{"payouts?amount=700&currency=eur", "refunds/LAST/cancel"}, []string{"pending 700", "404 resource_missing"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := up(t, "stripe-v1")
			id, last, earliest := r.pay(), "", ""
			for i, s := range c.steps {
				path, form, _ := strings.Cut(strings.NewReplacer("ID", id, "LAST", last, "FIRST", earliest).Replace(s), "?")
				got := r.send("POST", "/v1/"+path, form)
				said := fmt.Sprint(got.status, " ", got.errorOf("code"))
				if got.status == 200 {
					said, _ = got.field("status").(string)
					if n, ok := got.field("amount").(int); ok && !strings.HasPrefix(path, "payment_intents") {
						said += fmt.Sprint(" ", n)
					}
					if last = got.field("id").(string); earliest == "" {
						earliest = last
					}
				}
				if said != c.wants[i] {
					t.Errorf("step %d, %s: %q %s; want %q", i+1, path, said, got.body, c.wants[i])
				}
			}
		})
	}
}

func TestPaymentTestCards(t *testing.T) {
	r := up(t, "stripe-v1")
	for method, want := range map[string]string{
		"pm_card_visa": "200  ", "pm_card_visa_chargeDeclined": "402 card_declined generic_decline", "pm_card_visa_chargeDeclinedLostCard": "402 card_declined lost_card",
		"pm_card_chargeDeclinedExpiredCard": "402 expired_card expired_card", "pm_card_chargeDeclinedIncorrectCvc": "402 incorrect_cvc incorrect_cvc", "chargeDeclined": "200  ",
	} {
		got := r.send("POST", "/v1/payment_intents", "amount=1&currency=usd&confirm=true&payment_method="+method)
		if said := fmt.Sprint(got.status, " ", got.errorOf("code"), " ", got.errorOf("decline_code")); said != want {
			t.Errorf("%s: %s, want %s", method, said, want)
		}
	}
	if got := r.send("POST", "/v1/charges", "amount=1&currency=usd&source=tok_visa_chargeDeclinedInsufficientFunds"); got.status != 402 || got.errorOf("decline_code") != "insufficient_funds" {
		t.Errorf("a declined token: %d %s", got.status, got.body)
	}
	r.wantEffects(2)
}

// TestWhatIsKept tells apart what comes before the execution from what it comes to.
func TestWhatIsKept(t *testing.T) {
	const decline = "amount=1&currency=usd&confirm=true&payment_method=pm_card_visa_chargeDeclined"
	for _, c := range []struct {
		path, form string
		kept       bool
	}{
		{"/v1/payment_intents", decline, true},
		{"/v1/payouts", "amount=99999999&currency=usd", true},
		{"/v1/refunds", "charge=ch_00000000000000", true},
		{"/v1/refunds/re_x/cancel", "", true},
		{"/v1/payouts", "amount=0&currency=usd", false},
		{"/v1/payouts", "amount=1", false},
		{"/v1/payouts", "amount=1&currency=usd&foo=1", false},
		{"/v1/transfers", "amount=1&currency=usd", false},
		{"/v1/charges", "amount=1&capture=maybe", false},
		{"/v1/refunds", "payment_intent=o&amount=1&reason=whim", false},
		{"/v1/nothing", "amount=1", false},
	} {
		t.Run(c.path+"?"+c.form, func(t *testing.T) {
			r := up(t, "stripe-v1")
			if c.path == "/v1/payouts" && c.kept {
				r.want(r.send("POST", "/v1/payouts", "amount=2&currency=usd"), 200)
			}
			first := r.send("POST", c.path, c.form, "Idempotency-Key", "k")
			again := r.send("POST", c.path, c.form, "Idempotency-Key", "k")
			if first.status < 400 || first.status >= 500 || again.status != first.status || again.body != first.body {
				t.Fatalf("%d %s, then %d %s", first.status, first.body, again.status, again.body)
			}
			if marked := again.header.Get("Idempotent-Replayed") == "true"; marked != c.kept {
				t.Errorf("marked %v", marked)
			}
			if retry := first.header.Get("Stripe-Should-Retry"); (retry == "false") != c.kept {
				t.Errorf("Stripe-Should-Retry %q of a failure kept: %v", retry, c.kept)
			}
			if !c.kept { // the key is free
				r.want(r.send("POST", "/v1/payouts", "amount=1&currency=usd", "Idempotency-Key", "k"), 200)
			}
		})
	}
}

func TestStripeKeysOfApplications(t *testing.T) {
	r := up(t, "stripe-v1")
	r.want(r.send("POST", "/v1/payouts", "amount=1&currency=usd", "Idempotency-Key", "k"), 200)
	for _, authorization := range []string{"", "Bearer", "Bearer pk_test_1", "Basic !", "Basic c2tfbm9uZTo=", "Token sk_test_1"} {
		got := r.want(r.send("POST", "/v1/payouts", "amount=1&currency=usd", "Idempotency-Key", "k", "Authorization", authorization), 401)
		if got.header.Get("Idempotent-Replayed") != "" || got.errorOf("type") != "invalid_request_error" || strings.Contains(got.body, "po_") {
			t.Errorf("%q: %v %s", authorization, got.header, got.body)
		}
	}
	r.want(r.send("POST", "/v1/payouts", "amount=1&currency=usd", "Idempotency-Key", "k", "Authorization", "Basic c2tfdGVzdF8xOg=="), 200) // sk_test_1:
	r.wantEffects(1)
	live := r.want(r.send("POST", "/v1/payouts", "amount=1&currency=usd", "Idempotency-Key", "k", "Authorization", "Bearer sk_live_1"), 200)
	if live.field("livemode") != true {
		t.Errorf("a live payout: %s", live.body)
	}
	r.wantEffects(2)
	for key, n := range map[string]int{"sk_test_1": 1, "sk_live_1": 1} {
		if got := r.want(r.send("GET", "/v1/payouts", "", "Authorization", "Bearer "+key), 200); strings.Count(got.body, `"object":"payout"`) != n {
			t.Errorf("payouts of %s: %s", key, got.body)
		}
	}
	if got := r.want(r.send("GET", "/v1/payouts", "", "Stripe-Account", "acct_9"), 200); strings.Contains(got.body, "po_") {
		t.Errorf("another account sees %s", got.body)
	}
}

// TestKeysThatBreakTheirPromise is each planted contract with what shows it; under stripe-v1 the same shows nothing.
func TestKeysThatBreakTheirPromise(t *testing.T) {
	payout := func(r *rig, key string, header ...string) reply {
		return r.send("POST", "/v1/payouts", "amount=1&currency=usd", append([]string{"Idempotency-Key", key}, header...)...)
	}
	strike := func(at bench.Point, act bench.Action) func(*rig) {
		return func(r *rig) { r.gate.order(at, "r1", act); payout(r, "k") }
	}
	for _, c := range []struct {
		contract string
		first    func(*rig)
		second   []string // headers
		honest   string   // status and effects after the second call under stripe-v1
		broken   string
	}{
		{"stripe-v1-claim-left", strike(bench.BeforeCommit, bench.Action{Act: bench.CrashAct}), nil, "200, 1", "409, 0"},
		{"stripe-v1-forgets-on-error", strike(bench.Committed, bench.Action{Act: bench.Fail, Status: 500}), nil, "500, 1", "200, 2"},
		{"stripe-v1-shared-keys", func(r *rig) { payout(r, "k", "Stripe-Account", "acct_1") }, []string{"Stripe-Account", "acct_2"}, "200, 2", "200, 1"},
		{"stripe-v1-latest-only", func(r *rig) { payout(r, "k"); payout(r, "k2") }, nil, "200, 2", "200, 3"},
		{"stripe-v1-unenforced", func(r *rig) { payout(r, "k") }, nil, "200, 1", "200, 2"},
	} {
		for contract, want := range map[string]string{"stripe-v1": c.honest, c.contract: c.broken} {
			r := up(t, contract)
			c.first(r)
			got := payout(r, "k", c.second...)
			if said := fmt.Sprintf("%d, %d", got.status, len(r.effects())); said != want {
				t.Errorf("%s, shown by %s: %s, want %s", contract, c.contract, said, want)
			}
		}
	}
	r := up(t, "stripe-v1-failure-cached") // does as stripe-v1 and says otherwise
	strike(bench.BeforeCommit, bench.Action{Act: bench.Fail, Status: 500})(r)
	r.want(payout(r, "k"), 500)
}

func TestPaymentLists(t *testing.T) {
	r := up(t, "stripe-v1")
	var made []string
	for i := range 5 {
		got := r.want(r.send("POST", "/v1/payouts", fmt.Sprintf("amount=%d&currency=usd", i+1)), 200)
		made = append([]string{got.field("id").(string)}, made...)
	}
	for _, c := range []struct {
		query string
		want  []string
		more  bool
	}{
		{"", made, false}, {"?limit=2", made[:2], true}, {"?limit=2&starting_after=" + made[1], made[2:4], true}, {"?limit=2&starting_after=" + made[3], made[4:], false},
		{"?limit=2&ending_before=" + made[3], made[1:3], true}, {"?ending_before=" + made[0], nil, false}, {"?created[gt]=99999999999", nil, false}, {"?status=pending&limit=100", made, false}, {"?status=paid", nil, false},
	} {
		got := r.want(r.send("GET", "/v1/payouts"+c.query, ""), 200)
		var ids []string
		for _, o := range got.field("data").([]any) {
			ids = append(ids, text(o.(map[string]any), "id"))
		}
		if fmt.Sprint(ids) != fmt.Sprint(c.want) || got.field("has_more") != c.more {
			t.Errorf("%s: %v, more %v; want %v, %v", c.query, ids, got.field("has_more"), c.want, c.more)
		}
	}
	for _, query := range []string{"?limit=0", "?limit=101", "?limit=x", "?starting_after=po_x", "?ending_before=po_x"} {
		if got := r.send("GET", "/v1/payouts"+query, ""); got.status != 400 && got.status != 404 {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
}
