package conformance

import (
	"slices"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// Stripe's rules: docs.stripe.com/api/idempotent_requests and /error-low-level. How often an SDK sends is
// measured.

func stripeScenarios() []scenario {
	return slices.Concat(stripeKeys(), stripeSends(), stripeWire())
}

var payout = map[string]any{"amount": 2500, "currency": "usd"}

func payoutOf(amount int, options ...any) step {
	s := step{op: "payouts.create", args: map[string]any{"amount": amount, "currency": "usd"}, options: with{}}
	for i := 0; i < len(options); i += 2 {
		s.options[options[i].(string)] = options[i+1]
	}
	return s
}

// stripeSDKs make a key of their own and differ in the names of their exceptions.
var stripeSDKs = []string{"stripe-python", "stripe-node", "stripe-go"}

// idempotencyError is how an SDK names an error of that type.
var idempotencyError = map[string]string{
	"stripe-python": "IdempotencyError", "stripe-node": "StripeIdempotencyError", "stripe-go": "IdempotencyError",
}

// stripeKeys are the promises of the key, which all SDKs see alike.
func stripeKeys() []scenario {
	var all []scenario
	for _, c := range stripeSDKs {
		add := func(name, expected string, run func(*stage) (string, error)) {
			all = append(all, scenario{name: name, contract: "stripe-v1", client: c, expected: expected, run: run})
		}
		key := payoutOf(2500, "key", "k1")
		replay := "ok, the same object, marked, 1 effect"
		add("same key, same parameters", replay, twice(key, key, nil, "id"))
		add("same key, other parameters", idempotencyError[c]+" 400, 1 effect", twice(key, payoutOf(900, "key", "k1"), nil, "id"))
		at := func(service string) step {
			return step{service + ".create", map[string]any{"amount": 2500, "currency": "usd", "metadata": map[string]any{"order": "o1"}}, with{"key": "k1"}}
		}
		add("same key and parameters, other endpoint", idempotencyError[c]+" 400, 1 effect", twice(at("payment_intents"), at("charges"), nil, "id"))
		add("another key, same parameters", "ok, another object, 2 effects", twice(key, payoutOf(2500, "key", "k2"), nil, "id"))
		add("same key of another account", "ok, another object, 2 effects",
			twice(key, payoutOf(2500, "key", "k1", "account", "acct_2"), nil, "id"))
		add("same key after 23 h 59 min", replay, twice(key, key, pass(24*time.Hour-time.Minute), "id"))
		add("same key after 24 h 1 min", "ok, another object, 2 effects", twice(key, key, pass(24*time.Hour+time.Minute), "id"))
		add("an older key after a newer one", "ok, the same object, marked, 2 effects", twice(key, key, func(st *stage) error {
			_, err := st.succeed(payoutOf(2500, "key", "k2"))
			return err
		}, "id"))
		once := payoutOf(2500, "key", "k1", "retries", 0)
		add("the first failed in its execution (balance)", stripeTypes[c].poor+"; then "+stripeTypes[c].poor+", marked, 1 effect", func(st *stage) (string, error) {
			if _, err := st.succeed(payoutOf(90_000_000)); err != nil {
				return "", err
			}
			poor := payoutOf(20_000_000, "key", "k1")
			return twice(poor, poor, nil, "id")(st)
		})
		add("the first failed by its parameters", stripeTypes[c].invalid+" 400 parameter_invalid_integer; then ok, 1 effect",
			twice(payoutOf(-1, "key", "k1"), key, nil, "id"))
		add("the first was limited (429)", stripeTypes[c].limited+"; then ok, 1 effect",
			meets(1, bench.Received, bench.Action{Act: bench.Fail, Status: 429}, twice(once, once, nil, "id")))
		failed := stripeTypes[c].api + " 500"
		add("the first failed (500), nothing was made", failed+"; then "+failed+", marked, 0 effects",
			meets(1, bench.BeforeCommit, bench.Action{Act: bench.Fail, Status: 500}, twice(once, once, nil, "id")))
		add("the first failed (500), again after 23 h 59 min", failed+"; then "+failed+", marked, 0 effects",
			meets(1, bench.BeforeCommit, bench.Action{Act: bench.Fail, Status: 500}, twice(once, once, pass(24*time.Hour-time.Minute), "id")))
		add("the first failed (500), yet it was made", failed+"; then "+failed+", marked, 1 effect",
			meets(1, bench.Committed, bench.Action{Act: bench.Fail, Status: 500}, twice(once, once, nil, "id")))
		add("the provider crashed under the first", stripeTypes[c].crash,
			meets(1, bench.BeforeCommit, bench.Action{Act: bench.CrashAct}, twice(once, once, nil, "id")))
		add("the first is in work", stripeTypes[c].inUse+"; the first: ok, 1 effect", func(st *stage) (string, error) {
			return st.second(once, once)
		})
		add("a key of 256 characters", stripeTypes[c].long, func(st *stage) (string, error) {
			return st.tell(payoutOf(2500, "key", strings.Repeat("k", 256)))
		})
	}
	return append(all, claimsLeft()...)
}

// claimsLeft are keys that a crash leaves in use, under a contract of this project's that is broken so.
func claimsLeft() []scenario {
	once := payoutOf(2500, "key", "k1", "retries", 0)
	left := func(after time.Duration) func(*stage) (string, error) {
		return meets(1, bench.BeforeCommit, bench.Action{Act: bench.CrashAct}, twice(once, once, pass(after), "id"))
	}
	return []scenario{
		{name: "23 h 59 min after a crash under the key", contract: "stripe-v1-claim-left", client: "stripe-python",
			expected: "APIConnectionError; then APIError 409, 0 effects", run: left(24*time.Hour - time.Minute)},
		{name: "24 h 1 min after a crash under the key", contract: "stripe-v1-claim-left", client: "stripe-python",
			expected: "APIConnectionError; then ok, 1 effect", run: left(24*time.Hour + time.Minute)},
	}
}

// stripeTypes are the names that SDKs give to their exceptions. The crash is seen by stripe-node's caller as
// nothing at all: it sends once more after a closed connection, even with no retries.
var stripeTypes = map[string]struct{ invalid, limited, api, crash, inUse, long, poor string }{
	"stripe-python": {"InvalidRequestError", "RateLimitError 429", "APIError", "APIConnectionError; then ok, 1 effect",
		"APIError 409", "1 send under 1 key, 0 effects, InvalidRequestError 400", "InvalidRequestError 400 balance_insufficient"},
	"stripe-node": {"StripeInvalidRequestError", "StripeRateLimitError 429 rate_limit", "StripeAPIError", "ok, the same object, marked, 1 effect",
		"StripeAPIError 409 idempotency_key_in_use", "1 send under 1 key, 0 effects, StripeInvalidRequestError 400", "StripeInvalidRequestError 400 balance_insufficient"},
	"stripe-go": {"InvalidRequestError", "InvalidRequestError 429 rate_limit", "APIError", "*url.Error; then ok, 1 effect",
		"IdempotencyError 409 idempotency_key_in_use", "0 sends under 0 keys, 0 effects, *errors.errorString", "InvalidRequestError 400 balance_insufficient"},
}
