package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// paymentScenarios are the objects of Stripe's API v1 and their states, as its SDKs see them.
func paymentScenarios() []scenario {
	var all []scenario
	for _, c := range stripeSDKs {
		add := func(name, expected string, run func(*stage) (string, error)) {
			all = append(all, scenario{name: name, contract: "stripe-v1", client: c, expected: expected, run: run})
		}
		card := map[string]string{"stripe-python": "CardError", "stripe-node": "StripeCardError", "stripe-go": "CardError"}[c]
		invalid := stripeTypes[c].invalid + " 400 "
		add("a payment: authorized, captured in part, refunded twice",
			"requires_capture, 2500 capturable; succeeded, 2000 received; its charge captured 2000; a refund of 500; a refund of 1500; then "+invalid+"charge_already_refunded",
			paymentLife)
		add("a payment confirmed in a second call", "requires_payment_method; "+invalid+"payment_intent_unexpected_state; succeeded", confirmedLater)
		add("a declined card, twice under one key", card+" 402 card_declined; then "+card+" 402 card_declined, marked, 0 effects",
			twice(declinedPayment, declinedPayment, nil, "id"))
		add("a payout canceled twice", "pending; canceled; then "+stripeTypes[c].invalid+" 400", func(st *stage) (string, error) {
			p, err := st.must("payouts.create", payout)
			if err != nil {
				return "", err
			}
			id := with{"id": p.at("id")}
			gone, err := st.do("payouts.cancel", map[string]any{}, id)
			if err != nil {
				return "", err
			}
			if gone.Error != nil {
				sent := st.tap.requests()
				return fmt.Sprintf("%s; %s to a request for %s", p.at("status"), gone, strings.ReplaceAll(sent[len(sent)-1].path, p.at("id").(string), "ID")), nil
			}
			again, err := st.do("payouts.cancel", map[string]any{}, id)
			return fmt.Sprintf("%s; %s; then %s", p.at("status"), gone.at("status"), again), err
		})
		if c == "stripe-go" {
			last := &all[len(all)-1]
			last.here = "pending; InvalidRequestError 404 to a request for /v1/topups/ID/cancel"
			last.why = "payout_service.go of stripe-go 85.0.0 cancels a payout at the address of top-ups"
		}
		add("a transfer reversed in part", "700 of 2500 reversed", func(st *stage) (string, error) {
			t, err := st.must("transfers.create", map[string]any{"amount": 2500, "currency": "usd", "destination": "acct_2"})
			if err != nil {
				return "", err
			}
			reverse := map[string]string{"stripe-python": "transfers.reversals.create", "stripe-node": "transfers.create_reversal",
				"stripe-go": "transfer_reversals.create"}[st.client.name]
			if _, err := st.must(reverse, map[string]any{"amount": 700}, with{"id": t.at("id")}); err != nil {
				return "", err
			}
			t, err = st.must("transfers.retrieve", map[string]any{}, with{"id": t.at("id")})
			return fmt.Sprintf("%v of %v reversed", t.at("amount_reversed"), t.at("amount")), err
		})
		add("a list over its pages", "5 in 3 reads, newest first", func(st *stage) (string, error) {
			return pages(st, "payouts", payout, nil)
		})
		add("live and test keys", "ok, another object, 2 effects", liveAndTest(c))
		add("no object of that id", map[string]string{"stripe-python": "InvalidRequestError 404 resource_missing", "stripe-node": "StripeInvalidRequestError 404 resource_missing",
			"stripe-go": "InvalidRequestError 404 resource_missing"}[c], func(st *stage) (string, error) {
			r, err := st.do("charges.retrieve", map[string]any{}, with{"id": "ch_00000000000000000"})
			return r.String(), err
		})
	}
	all = append(all, scenario{name: "no API key is one of Stripe's", contract: "stripe-v1", client: "stripe-python", expected: "AuthenticationError 401, 0 effects",
		run: func(st *stage) (string, error) {
			r, err := st.do("payouts.create", payout, with{"api_key": "none"})
			if err != nil {
				return "", err
			}
			made, err := st.effects()
			return fmt.Sprintf("%s, %s", r, plural(len(made), "effect")), err
		}})
	once := payoutOf(2500, "key", "k1", "retries", 0)
	return append(all,
		scenario{name: "the first failed (500), the same key 23 h later", contract: "stripe-v1", client: "stripe-python",
			expected: "APIError 500; then APIError 500, marked, 0 effects",
			run:      meets(1, bench.BeforeCommit, bench.Action{Act: bench.Fail, Status: 500}, twice(once, once, pass(23*time.Hour), "id"))},
		scenario{name: "a key in work for an hour, 24 h 30 min after its first sight", contract: "stripe-v1", client: "stripe-python",
			expected: "ok, another object, 2 effects", run: longInWork},
		scenario{name: "a crash under the first, the same key 2 h later", contract: "stripe-v1-claim-left", client: "stripe-python",
			expected: "APIConnectionError; then APIError 409, 0 effects",
			run:      meets(1, bench.BeforeCommit, bench.Action{Act: bench.CrashAct}, twice(once, once, pass(2*time.Hour), "id"))},
	)
}

// longInWork holds the first call for an hour of virtual time; its key counts from its first sight.
func longInWork(st *stage) (string, error) {
	key := payoutOf(2500, "key", "k1")
	h := st.gate.hold(bench.BeforeCommit, 1)
	work := st.begin(key)
	if err := st.reached(h); err != nil {
		return "", err
	}
	st.clock.pass(time.Hour)
	h.release(bench.Action{Act: bench.Pass})
	first, err := work.end()
	if err != nil {
		return "", err
	}
	st.clock.pass(23*time.Hour + 30*time.Minute)
	second, err := st.play(key)
	if err != nil {
		return "", err
	}
	return st.compare(first, second, "id")
}

var declinedPayment = step{"payment_intents.create", map[string]any{"amount": 2500, "currency": "usd", "confirm": true,
	"payment_method": "pm_card_visa_chargeDeclinedInsufficientFunds"}, with{"key": "k1"}}

func paymentLife(st *stage) (string, error) {
	pi, err := st.must("payment_intents.create", map[string]any{"amount": 2500, "currency": "usd", "confirm": true, "capture_method": "manual",
		"payment_method": "pm_card_visa", "metadata": map[string]any{"order": "o1"}})
	if err != nil {
		return "", err
	}
	id := with{"id": pi.at("id")}
	taken, err := st.must("payment_intents.capture", map[string]any{"amount_to_capture": 2000}, id)
	if err != nil {
		return "", err
	}
	whole, err := st.must("payment_intents.retrieve", map[string]any{"expand": []any{"latest_charge"}}, id)
	if err != nil {
		return "", err
	}
	part, err := st.must("refunds.create", map[string]any{"payment_intent": pi.at("id"), "amount": 500})
	if err != nil {
		return "", err
	}
	rest, err := st.must("refunds.create", map[string]any{"payment_intent": pi.at("id")})
	if err != nil {
		return "", err
	}
	over, err := st.do("refunds.create", map[string]any{"payment_intent": pi.at("id")})
	return fmt.Sprintf("%s, %v capturable; %s, %v received; its charge captured %v; a refund of %v; a refund of %v; then %s",
		pi.at("status"), pi.at("amount_capturable"), taken.at("status"), taken.at("amount_received"),
		whole.at("latest_charge", "amount_captured"), part.at("amount"), rest.at("amount"), over), err
}

func confirmedLater(st *stage) (string, error) {
	pi, err := st.must("payment_intents.create", map[string]any{"amount": 2500, "currency": "usd"})
	if err != nil {
		return "", err
	}
	id := with{"id": pi.at("id")}
	without, err := st.do("payment_intents.confirm", map[string]any{}, id)
	if err != nil {
		return "", err
	}
	paid, err := st.must("payment_intents.confirm", map[string]any{"payment_method": "pm_card_visa"}, id)
	return fmt.Sprintf("%s; %s; %s", pi.at("status"), without, paid.at("status")), err
}

// pages makes five objects and reads the list of them two at a time.
func pages(st *stage, service string, args map[string]any, between func(*stage) error) (string, error) {
	var made []any
	for range 5 {
		r, err := st.must(service+".create", args)
		if err != nil {
			return "", err
		}
		made = append([]any{r.at("id")}, made...)
	}
	if between != nil {
		if err := between(st); err != nil {
			return "", err
		}
	}
	before := len(st.gate.seen())
	all, err := st.must(service+".list", map[string]any{"limit": 2}, with{"all": true})
	if err != nil {
		return "", err
	}
	ids, _ := all.at("ids").([]any)
	order := "newest first"
	if !slices.Equal(ids, made) {
		order = fmt.Sprintf("%v instead of %v", ids, made)
	}
	return fmt.Sprintf("%d in %d reads, %s", len(ids), len(st.gate.seen())-before, order), nil
}

// liveAndTest is one key in two modes. stripe-go's client has one API key here, so that it has two accounts.
func liveAndTest(client string) func(*stage) (string, error) {
	other := payoutOf(2500, "key", "k1", "api_key", "sk_live_sixthcopy")
	if client == "stripe-go" {
		other = payoutOf(2500, "key", "k1", "account", "acct_2")
	}
	return twice(payoutOf(2500, "key", "k1"), other, nil, "id")
}

// rawErrors are the exceptions that stripe-go gives its caller as they come from API v2.
var rawErrors = strings.NewReplacer("IdempotencyError 400", "V2RawError idempotency_error 400", "APIError 500", "V2RawError api_error 500",
	"InvalidRequestError 404", "V2RawError invalid_request_error 404")

// stripeV2Scenarios are the promises of Stripe's API v2: docs.stripe.com/api-v2-overview. stripe-go has no
// outbound payments: it makes event destinations.
func stripeV2Scenarios() []scenario {
	var all []scenario
	for _, c := range stripeSDKs {
		add := func(name, expected string, run func(*stage) (string, error)) {
			s := scenario{name: name, contract: "stripe-v2", client: c, expected: expected, run: run}
			if c == "stripe-go" {
				if s.here = rawErrors.Replace(expected); s.here == expected {
					s.here = ""
				} else {
					s.why = "stripe-go has no type of its own for these errors of API v2"
				}
			}
			all = append(all, s)
		}
		of := func(options ...any) step { return madeOverV2(c, options...) }
		key := of("key", "k1")
		other := of("key", "k1")
		other.args = map[string]any{"description": "another"}
		for k, v := range key.args {
			if k != "description" {
				other.args[k] = v
			}
		}
		replay := "ok, the same object, marked, 1 effect"
		failed := stripeTypes[c].api + " 500"
		if c != "stripe-python" { // it drops the code
			failed += " api_error"
		}
		add("same key, same parameters", replay, twice(key, key, nil, "id"))
		add("same key, other parameters", idempotencyError[c]+" 400 idempotency_key_reused, 1 effect", twice(key, other, nil, "id"))
		add("another key, same parameters", "ok, another object, 2 effects", twice(key, of("key", "k2"), nil, "id"))
		add("same key after 29 d 23 h", replay, twice(key, key, pass(30*24*time.Hour-time.Hour), "id"))
		add("same key after 30 d 1 h", "ok, another object, 2 effects", twice(key, key, pass(30*24*time.Hour+time.Hour), "id"))
		once := of("key", "k1", "retries", 0)
		add("the first failed (500), nothing was made: it is executed again", failed+"; then ok, 1 effect",
			meets(1, bench.BeforeCommit, bench.Action{Act: bench.Fail, Status: 500}, twice(once, once, nil, "id")))
		add("the first failed (500), yet it was made: the answer shows it", failed+"; then ok, 1 effect",
			meets(1, bench.Committed, bench.Action{Act: bench.Fail, Status: 500}, twice(once, once, nil, "id")))
		service := "v2.money_management.outbound_payments"
		if c == "stripe-go" {
			service = "v2.core.event_destinations"
		}
		add("a list over its pages", "5 in 3 reads, newest first", func(st *stage) (string, error) {
			return pages(st, service, of().args, pass(time.Minute))
		})
		add("a list does not see what is new", "0 at once, 1 after a minute; by its id at once", func(st *stage) (string, error) {
			return seenLate(st, service, of().args)
		})
		add("a deletion under one key, twice; under another", "ok, marked; "+stripeTypes[c].invalid+" 404 not_found", func(st *stage) (string, error) { return deletedTwice(st) })
	}
	for _, c := range stripeSDKs[:2] {
		poor := map[string]string{"stripe-python": "InsufficientFundsError", "stripe-node": "InsufficientFundsError"}[c]
		all = append(all, scenario{name: "funds come back: the failed call is executed under its key", contract: "stripe-v2", client: c,
			expected: poor + " 400 insufficient_funds; then ok", run: fundsComeBack})
	}
	return all
}

// madeOverV2 is an outbound payment, or with stripe-go an event destination.
func madeOverV2(client string, options ...any) step {
	s := step{op: "v2.money_management.outbound_payments.create", options: with{}, args: map[string]any{
		"from": map[string]any{"financial_account": "fa_1", "currency": "usd"}, "to": map[string]any{"recipient": "acct_2"},
		"amount": map[string]any{"value": 2500, "currency": "usd"}, "description": "invoice 88"}}
	if client == "stripe-go" {
		s.op, s.args = "v2.core.event_destinations.create", destination
	}
	for i := 0; i < len(options); i += 2 {
		s.options[options[i].(string)] = options[i+1]
	}
	return s
}

var destination = map[string]any{"name": "books", "description": "for the books", "type": "webhook_endpoint", "event_payload": "thin",
	"enabled_events": []any{"v1.billing.meter.error_report_triggered"}, "webhook_endpoint": map[string]any{"url": "https://example.org/hook"}}

func seenLate(st *stage, service string, args map[string]any) (string, error) {
	made, err := st.must(service+".create", args)
	if err != nil {
		return "", err
	}
	count := func() int {
		r, e := st.must(service+".list", map[string]any{}, with{"all": true})
		if e != nil {
			err = e
		}
		ids, _ := r.at("ids").([]any)
		return len(ids)
	}
	early := count()
	one, e := st.must(service+".retrieve", map[string]any{}, with{"id": made.at("id")})
	if e != nil {
		return "", e
	}
	st.clock.pass(time.Minute)
	late := count()
	how := "not by its id"
	if one.at("id") == made.at("id") {
		how = "by its id at once"
	}
	return fmt.Sprintf("%d at once, %d after a minute; %s", early, late, how), err
}

func deletedTwice(st *stage) (string, error) {
	made, err := st.must("v2.core.event_destinations.create", destination)
	if err != nil {
		return "", err
	}
	id := made.at("id")
	if _, err := st.must("v2.core.event_destinations.delete", map[string]any{}, with{"id": id, "key": "d1"}); err != nil {
		return "", err
	}
	again, err := st.must("v2.core.event_destinations.delete", map[string]any{}, with{"id": id, "key": "d1"})
	if err != nil {
		return "", err
	}
	other, err := st.do("v2.core.event_destinations.delete", map[string]any{}, with{"id": id, "key": "d2"})
	marked := "not marked"
	if again.Headers["idempotent-replayed"] == "true" {
		marked = "marked"
	}
	return fmt.Sprintf("%s, %s; %s", again, marked, other), err
}

func fundsComeBack(st *stage) (string, error) {
	big := madeOverV2(st.client.name)
	big.args = map[string]any{"from": big.args["from"], "to": big.args["to"], "amount": map[string]any{"value": 60_000_000, "currency": "usd"}}
	first, err := st.must(big.op, big.args)
	if err != nil {
		return "", err
	}
	poor, err := st.do(big.op, big.args, with{"key": "k1"})
	if err != nil {
		return "", err
	}
	if _, err := st.must("v2.money_management.outbound_payments.cancel", map[string]any{}, with{"id": first.at("id")}); err != nil {
		return "", err
	}
	then, err := st.do(big.op, big.args, with{"key": "k1"})
	return fmt.Sprintf("%s; then %s", poor, then), err
}
