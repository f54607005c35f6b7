package conformance

import (
	"fmt"
	"regexp"

	"github.com/sixthcopy/sixthcopy/bench"
)

// stripeSends are the requests that Stripe's SDKs send on their own, in each case of something going wrong.
func stripeSends() []scenario {
	closed, edge := bench.Action{Act: bench.Close}, bench.Action{Act: bench.Replace, Status: 503, Body: "upstream connect error"}
	plain := bench.Action{Act: bench.Replace, Status: 500, Body: `{"error":{"type":"api_error","message":"Something went wrong."}}`}
	fail := func(status int) bench.Action { return bench.Action{Act: bench.Fail, Status: status} }
	var all []scenario
	for _, c := range []struct {
		name     string
		at       bench.Point
		act      bench.Action
		n        int            // which request meets it; 0: every one
		options  map[string]any // of the operation
		expected map[string]string
	}{
		{"no request is read to", bench.Received, closed, 0, nil, map[string]string{
			"stripe-python":        "1 send under 1 key, 0 effects, APIConnectionError",
			"stripe-python module": "3 sends under 1 key, 0 effects, APIConnectionError",
			"stripe-node":          "3 sends under 1 key, 0 effects, StripeConnectionError",
			"stripe-go":            "3 sends under 1 key, 0 effects, *url.Error"}},
		{"no answer comes back", bench.Committed, closed, 0, nil, map[string]string{
			"stripe-python":        "1 send under 1 key, 1 effect, APIConnectionError",
			"stripe-python module": "3 sends under 1 key, 1 effect, APIConnectionError",
			"stripe-node":          "3 sends under 1 key, 1 effect, StripeConnectionError",
			"stripe-go":            "3 sends under 1 key, 1 effect, *url.Error"}},
		{"no answer comes back, retries set to 2", bench.Committed, closed, 0, with{"retries": 2}, map[string]string{
			"stripe-python": "3 sends under 1 key, 1 effect, APIConnectionError"}},
		{"no answer comes back, retries set to 0", bench.Committed, closed, 0, with{"retries": 0}, map[string]string{
			"stripe-python module": "1 send under 1 key, 1 effect, APIConnectionError",
			"stripe-node":          "2 sends under 1 key, 1 effect, StripeConnectionError",
			"stripe-go":            "1 send under 1 key, 1 effect, *url.Error"}},
		{"the first answer does not come back", bench.Committed, closed, 1, nil, map[string]string{
			"stripe-python module": "2 sends under 1 key, 1 effect, ok",
			"stripe-node":          "2 sends under 1 key, 1 effect, ok",
			"stripe-go":            "2 sends under 1 key, 1 effect, ok"}},
		{"every answer is a 500 with Stripe-Should-Retry: false", bench.Received, fail(500), 0, nil, map[string]string{
			"stripe-python module": "1 send under 1 key, 0 effects, APIError 500",
			"stripe-node":          "1 send under 1 key, 0 effects, StripeAPIError 500",
			"stripe-go":            "1 send under 1 key, 0 effects, APIError 500"}},
		{"every answer is a 500 that says nothing of retrying", bench.Received, plain, 0, nil, map[string]string{
			"stripe-python":        "1 send under 1 key, 0 effects, APIError 500",
			"stripe-python module": "3 sends under 1 key, 0 effects, APIError 500",
			"stripe-node":          "3 sends under 1 key, 0 effects, StripeAPIError 500",
			"stripe-go":            "1 send under 1 key, 0 effects, APIError 500"}},
		{"every answer is a 503 of an edge's, not JSON", bench.Received, edge, 0, nil, map[string]string{
			"stripe-python module": "3 sends under 1 key, 0 effects, APIError 503",
			"stripe-node":          "3 sends under 1 key, 0 effects, StripeAPIError",
			"stripe-go":            "3 sends under 1 key, 0 effects, *errors.errorString"}},
		{"every answer is a 429", bench.Received, fail(429), 0, nil, map[string]string{
			"stripe-python module": "1 send under 1 key, 0 effects, RateLimitError 429",
			"stripe-node":          "1 send under 1 key, 0 effects, StripeRateLimitError 429 rate_limit",
			"stripe-go":            "1 send under 1 key, 0 effects, InvalidRequestError 429 rate_limit"}},
	} {
		for client, expected := range inClientOrder(c.expected) {
			all = append(all, scenario{name: c.name, contract: "stripe-v1", client: client, expected: expected, slow: true,
				run: func(st *stage) (string, error) {
					st.gate.meet(c.at, c.act, c.n)
					if c.at == bench.Committed && c.n == 0 {
						st.gate.meet(bench.BeforeResponse, c.act) // replays are lost too
					}
					return st.tell(step{"payouts.create", payout, c.options})
				}})
		}
	}
	return append(all, inUse()...)
}

// inUse is another call that comes, under the key of one that is in work, and goes on being sent.
func inUse() []scenario {
	var all []scenario
	for client, expected := range inClientOrder(map[string]string{
		"stripe-python module": "4 sends under 1 key, 0 effects, APIError 409",
		"stripe-node":          "4 sends under 1 key, 0 effects, StripeAPIError 409 idempotency_key_in_use",
		"stripe-go":            "2 sends under 1 key, 0 effects, IdempotencyError 409 idempotency_key_in_use",
	}) {
		all = append(all, scenario{name: "a call under the key of one in work (counted with it)", contract: "stripe-v1", client: client, expected: expected, slow: true,
			run: func(st *stage) (string, error) {
				work, h := payoutOf(2500, "key", "k1"), st.gate.hold(bench.BeforeCommit, 1)
				first := st.begin(work)
				if err := st.reached(h); err != nil {
					return "", err
				}
				seen, err := st.tell(work)
				h.release(bench.Action{Act: bench.Pass})
				if _, err := first.end(); err != nil {
					return "", err
				}
				return seen, err
			}})
	}
	return all
}

// stripeWire is what SDKs put on the wire, read there.
func stripeWire() []scenario {
	groups := func(third string) string { return "[0-9a-f]{8}-[0-9a-f]{4}-" + third + "-[0-9a-f]{4}-[0-9a-f]{12}" }
	uuid, hex := groups("4[0-9a-f]{3}"), groups("[0-9a-f]{4}") // Python's has the groups of a UUID and nothing else of it
	var all []scenario
	add := func(client, name, expected string, run func(*stage) (string, error)) {
		all = append(all, scenario{name: name, contract: "stripe-v1", client: client, expected: expected, run: run})
	}
	for _, c := range []struct{ client, form, pattern string }{
		{"stripe-python", "UUID", hex},
		{"stripe-python module", "UUID", hex},
		{"stripe-node", "stripe-node-retry-UUID", "stripe-node-retry-" + uuid},
		{"stripe-go", "NANOSECONDS_RANDOM", `\d{19}_[0-9A-Za-z_-]{5,}`},
	} {
		add(c.client, "the caller gives no key, twice", "a key of its own for each call, of the form "+c.form+"; 2 effects", func(st *stage) (string, error) {
			for range 2 {
				if _, err := st.succeed(step{op: "payouts.create", args: payout}); err != nil {
					return "", err
				}
			}
			sent := st.tap.requests()
			a, b := sent[0].header.Get("Idempotency-Key"), sent[1].header.Get("Idempotency-Key")
			if ok, err := regexp.MatchString("^"+c.pattern+"$", a); !ok || err != nil || a == b {
				return fmt.Sprintf("keys %q and %q", a, b), err
			}
			made, err := st.effects()
			return "a key of its own for each call, of the form " + c.form + "; " + plural(len(made), "effect"), err
		})
	}
	add("stripe-python", "version header", "2026-10-28.endive", func(st *stage) (string, error) {
		if _, err := st.succeed(step{op: "payouts.create", args: payout}); err != nil {
			return "", err
		}
		return st.tap.requests()[0].header.Get("Stripe-Version"), nil
	})
	for client, expected := range inClientOrder(map[string]string{
		"stripe-python": "1 send, 0 with a key", "stripe-node": "3 sends, 0 with a key", "stripe-go": "3 sends, 3 with a key",
	}) {
		all = append(all, scenario{name: "v1 DELETE, every connection closes", contract: "stripe-v1", client: client, expected: expected, slow: true,
			run: func(st *stage) (string, error) {
				st.gate.meet(bench.Received, bench.Action{Act: bench.Close})
				if _, err := st.do("customers.delete", nil, with{"id": "cus_1"}); err != nil {
					return "", err
				}
				keyed := 0
				for _, r := range st.tap.requests() {
					if r.header.Get("Idempotency-Key") != "" {
						keyed++
					}
				}
				return fmt.Sprintf("%s, %d with a key", plural(len(st.tap.requests()), "send"), keyed), nil
			}})
	}
	return append(all, goReplays()...)
}

// goReplays are requests that Go's net/http sends again by itself, under any SDK: one that carries an
// Idempotency-Key, on a connection that was in use before and ends without a byte of an answer.
func goReplays() []scenario {
	lost := func(st *stage, first, second step) (string, error) {
		if _, err := st.play(first); err != nil {
			return "", err
		}
		st.gate.meet(bench.Committed, bench.Action{Act: bench.Close})
		st.gate.meet(bench.BeforeResponse, bench.Action{Act: bench.Close})
		before := len(st.gate.seen())
		r, err := st.play(second)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s, %s", plural(len(st.gate.seen())-before, "send"), r), nil
	}
	post := func(header ...string) step {
		h := map[string]any{"Content-Type": "application/x-www-form-urlencoded", "Authorization": "Bearer sk_test_sixthcopy"}
		for i := 0; i < len(header); i += 2 {
			h[header[i]] = header[i+1]
		}
		return step{"POST /v1/payouts", map[string]any{"header": h, "body": "amount=2500&currency=usd"}, with{"session": "one"}}
	}
	const name = "no answer comes back on a connection used before"
	return []scenario{
		{name: name, contract: "stripe-v1", client: "stripe-go", expected: "4 sends, *url.Error", slow: true,
			run: func(st *stage) (string, error) {
				return lost(st, payoutOf(2500, "session", "one"), payoutOf(900, "session", "one"))
			}},
		{name: name + ", with a key", contract: "stripe-v1", client: "net/http", expected: "2 sends, url.Error",
			run: func(st *stage) (string, error) {
				return lost(st, post("Idempotency-Key", "k1"), post("Idempotency-Key", "k2"))
			}},
		{name: name + ", without a key", contract: "stripe-v1", client: "net/http", expected: "1 send, url.Error",
			run: func(st *stage) (string, error) { return lost(st, post(), post()) }},
	}
}
