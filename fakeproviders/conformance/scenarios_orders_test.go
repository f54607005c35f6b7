package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// The payment APIs' rules and sources stand in docs/providers/orders.md; what the clients send is measured.

func ordersScenarios() []scenario {
	return slices.Concat(paymentKeys(), gocardlessScenarios(), paymentSends(), azureScenarios())
}

// paymentAPI is how a payment is made over an API: by which client, what it says, where answers name it.
type paymentAPI struct {
	contract, client string
	pay              func(key string, amount int) step
	id               []any
	kept             time.Duration
}

var paymentAPIs = []paymentAPI{
	{"gocardless-payments", "gocardless_pro", func(key string, amount int) step {
		return step{op: "payments.create", args: map[string]any{"amount": amount, "currency": "GBP", "links": map[string]any{"mandate": "MD1"},
			"metadata": map[string]any{"order": "4821"}}, options: keyed(key)}
	}, []any{"id"}, 24 * time.Hour},
	{"square-payments", "squareup", func(key string, amount int) step {
		return step{op: "payments.create", args: map[string]any{"source_id": "cnon:ok", "idempotency_key": key, "reference_id": "4821",
			"amount_money": map[string]any{"amount": amount, "currency": "USD"}}}
	}, []any{"payment", "id"}, 24 * time.Hour},
	{"adyen-payments", "Adyen", func(key string, amount int) step {
		return step{op: "payments", args: map[string]any{"merchantAccount": "M", "reference": "4821", "paymentMethod": map[string]any{"type": "scheme"},
			"amount": map[string]any{"value": amount, "currency": "EUR"}, "returnUrl": "https://example.org/"}, options: keyed(key)}
	}, []any{"pspReference"}, 7 * 24 * time.Hour},
	{"increase-transfers", "increase", func(key string, amount int) step {
		return step{op: "ach_transfers.create", args: map[string]any{"account_id": "account_1", "amount": amount, "statement_descriptor": "4821",
			"account_number": "1", "routing_number": "2"}, options: keyed(key)}
	}, []any{"id"}, 10 * 365 * 24 * time.Hour},
}

func keyed(key string) with {
	if key == "" {
		return with{}
	}
	return with{"key": key}
}

// paymentKeys are what each API promises of a key.
func paymentKeys() []scenario {
	var all []scenario
	for _, p := range paymentAPIs {
		add := func(name, expected string, run func(*stage) (string, error)) {
			all = append(all, scenario{name: name, contract: p.contract, client: p.client, expected: expected, run: run})
		}
		key := p.pay("k1", 2500)
		again, marked := "ok, the same object, 1 effect", ""
		if p.client == "increase" {
			marked = ", marked"
		}
		again = "ok, the same object" + marked + ", 1 effect"
		add("same key, same parameters", again, twice(key, key, nil, p.id...))
		add("another key, same parameters", "ok, another object, 2 effects", twice(key, p.pay("k2", 2500), nil, p.id...))
		add("an older key after a newer one", strings.Replace(again, "1 effect", "2 effects", 1), twice(key, key, func(st *stage) error {
			_, err := st.succeed(p.pay("k2", 2500))
			return err
		}, p.id...))
		add("same key at the end of its retention", again, twice(key, key, pass(p.kept), p.id...))
		add("same key a minute after its retention", "ok, another object, 2 effects", twice(key, key, pass(p.kept+time.Minute), p.id...))
		other := map[string]string{
			"gocardless_pro": "ok, the same object, 1 effect", // parameters are not compared, and the client reads the first
			"squareup":       "ApiError 400 IDEMPOTENCY_KEY_REUSED, 1 effect",
			"Adyen":          "AdyenAPIUnprocessableEntity 422 704, 1 effect",
			"increase":       "IdempotencyKeyAlreadyUsedError 409, 1 effect, naming the first",
		}[p.client]
		add("same key, other parameters", other, func(st *stage) (string, error) {
			a, err := st.succeed(key)
			if err != nil {
				return "", err
			}
			b, err := st.play(p.pay("k1", 2600))
			if err != nil {
				return "", err
			}
			words, err := st.compare(a, b, p.id...)
			if b.Error != nil && at(b.Error.More, "existing") == a.at("id") && a.at("id") != nil {
				words += ", naming the first"
			}
			return words, err
		})
		add("the answer is lost once", map[string]string{
			"gocardless_pro": "2 sends under 1 key, 1 effect, ok",
			"squareup":       "1 send under 1 key, 1 effect, RemoteProtocolError",
			"Adyen":          "1 send under 1 key, 1 effect, ConnectionError",
			"increase":       "2 sends under 1 key, 1 effect, ok",
		}[p.client], meets(1, bench.Committed, bench.Action{Act: bench.Close}, func(st *stage) (string, error) { return st.tell(key) }))
	}
	return all
}

func gocardlessScenarios() []scenario {
	p := paymentAPIs[0]
	key := p.pay("k1", 2500)
	add := func(name, expected string, run func(*stage) (string, error)) scenario {
		return scenario{name: name, contract: p.contract, client: p.client, expected: expected, run: run}
	}
	return []scenario{
		add("a conflict is turned into a read of the first", "ok; 2 creations, 1 read", func(st *stage) (string, error) {
			if _, err := st.succeed(key); err != nil {
				return "", err
			}
			r, err := st.play(key)
			creations, reads := 0, 0
			for _, a := range st.gate.seen() {
				if a.Call.Mutating {
					creations++
				} else {
					reads++
				}
			}
			return fmt.Sprintf("%s; %s, %s", r, plural(creations, "creation"), plural(reads, "read")), err
		}),
		add("same key, where the client is to raise", "IdempotentCreationConflictError 409 invalid_state, naming the first, 1 effect", func(st *stage) (string, error) {
			a, err := st.succeed(key)
			if err != nil {
				return "", err
			}
			s := p.pay("k1", 2500)
			s.options["raises"] = true
			b, err := st.play(s)
			if err != nil {
				return "", err
			}
			words := b.String()
			if b.Error != nil && at(b.Error.More, "existing") == a.at("id") {
				words += ", naming the first"
			}
			made, err := st.effects()
			return words + ", " + plural(len(made), "effect"), err
		}),
		add("the caller gives no key, twice", "ok, another object, 2 effects", twice(p.pay("", 2500), p.pay("", 2500), nil, p.id...)),
		add("the first is in work", "the second waits: ok, the same object, 1 effect", func(st *stage) (string, error) {
			h, waits := st.gate.hold(bench.BeforeCommit, 1), st.gate.hold(bench.WaitsForKey, 2)
			first := st.begin(key)
			if err := st.reached(h); err != nil {
				return "", err
			}
			second := st.begin(key)
			select {
			case <-waits.arrived:
			case b := <-second:
				h.release(bench.Action{Act: bench.Pass})
				_, err := first.end()
				return "the second is answered at once: " + b.String(), err
			}
			waits.release(bench.Action{Act: bench.Pass})
			h.release(bench.Action{Act: bench.Pass})
			a, err := first.end()
			if err != nil {
				return "", err
			}
			b, err := second.end()
			if err != nil {
				return "", err
			}
			words, err := st.compare(a, b, p.id...)
			return "the second waits: " + words, err
		}),
		add("every answer is lost", "3 sends under 1 key, 1 effect, ConnectionError", func(st *stage) (string, error) {
			st.gate.meet(bench.Committed, bench.Action{Act: bench.Close})
			st.gate.meet(bench.BeforeResponse, bench.Action{Act: bench.Close})
			return st.tell(key)
		}),
		add("500 in the API's own words", "1 send under 1 key, 0 effects, GoCardlessInternalError 500 gocardless", meets(1, bench.BeforeCommit,
			bench.Action{Act: bench.Fail, Status: 500}, func(st *stage) (string, error) { return st.tell(key) })),
		add("503 of something in between, after the commit", "2 sends under 1 key, 1 effect, ok", meets(1, bench.Committed,
			bench.Action{Act: bench.Replace, Status: 503, Body: "<html>busy</html>"}, func(st *stage) (string, error) { return st.tell(key) })),
		add("a list of five, two a page", "5 payments", func(st *stage) (string, error) {
			for i := range 5 {
				if _, err := st.succeed(p.pay(fmt.Sprint("k", i), 100+i)); err != nil {
					return "", err
				}
			}
			r, err := st.must("payments.all", map[string]any{"limit": 2})
			list, _ := r.at("payments").([]any)
			return plural(len(list), "payment"), err
		}),
	}
}

// paymentSends are how often the others send, and what their exceptions are called.
func paymentSends() []scenario {
	var all []scenario
	square, adyen, inc := paymentAPIs[1], paymentAPIs[2], paymentAPIs[3]
	add := func(p paymentAPI, name, expected string, run func(*stage) (string, error)) {
		all = append(all, scenario{name: name, contract: p.contract, client: p.client, expected: expected, run: run,
			slow: p.client == "squareup" && strings.HasPrefix(expected, "3 sends")})
	}
	failed := func(p paymentAPI, status int) func(*stage) (string, error) {
		return func(st *stage) (string, error) {
			st.gate.meet(bench.BeforeCommit, bench.Action{Act: bench.Fail, Status: status})
			return st.tell(p.pay("k1", 2500))
		}
	}
	busy := func(p paymentAPI) func(*stage) (string, error) {
		return func(st *stage) (string, error) { return st.second(p.pay("k1", 2500), p.pay("k1", 2500)) }
	}
	add(square, "503 at every send", "3 sends under 1 key, 0 effects, ApiError 503 SERVICE_UNAVAILABLE", failed(square, 503))
	add(square, "the first is in work", "ApiError 409 CONFLICT; the first: ok, 1 effect", busy(square))
	all[len(all)-1].slow = true
	add(square, "the first is in work: how often the second is sent", "3 sends under the first's key", func(st *stage) (string, error) {
		_, err := busy(square)(st)
		return fmt.Sprintf("%d sends under the first's key", len(st.gate.seen())-1), err
	})
	all[len(all)-1].slow = true
	add(square, "a key of 46 characters", "1 send under 1 key, 0 effects, ApiError 400 VALUE_TOO_LONG", func(st *stage) (string, error) {
		return st.tell(square.pay(strings.Repeat("k", 46), 2500))
	})
	add(square, "an empty key", "1 send, 0 effects, ApiError 400 MISSING_REQUIRED_PARAMETER", func(st *stage) (string, error) { return st.tell(square.pay("", 2500)) })
	add(square, "cancelled by its key", "ok; CANCELED", func(st *stage) (string, error) {
		a, err := st.succeed(square.pay("k1", 2500))
		if err != nil {
			return "", err
		}
		r, err := st.play(step{op: "payments.cancel_by_idempotency_key", args: map[string]any{"idempotency_key": "k1"}})
		if err != nil {
			return "", err
		}
		b, err := st.must("payments.get", map[string]any{"payment_id": a.at("payment", "id")})
		return fmt.Sprintf("%s; %v", r, b.at("payment", "status")), err
	})
	add(adyen, "the first is in work", "AdyenAPIUnprocessableEntity 422 704, transient; the first: ok, 1 effect", func(st *stage) (string, error) {
		words, err := busy(adyen)(st)
		return strings.Replace(words, "704;", "704, transient;", 1), err
	})
	add(adyen, "503 before the commit", "1 send under 1 key, 0 effects, AdyenAPIResponseError 503 703", failed(adyen, 503))
	add(adyen, "the caller gives no key, twice", "ok, another object, 2 effects", twice(adyen.pay("", 2500), adyen.pay("", 2500), nil, adyen.id...))
	add(adyen, "a key of 65 characters", "1 send under 1 key, 0 effects, AdyenAPIValidationError 400 702", func(st *stage) (string, error) {
		return st.tell(adyen.pay(strings.Repeat("k", 65), 2500))
	})
	add(inc, "500 at every send", "3 sends under 1 key, 0 effects, InternalServerError 500", failed(inc, 500))
	add(inc, "the first is in work", "InvalidOperationError 409; the first: ok, 1 effect", busy(inc))
	add(inc, "the caller gives no key, twice", "ok, another object, 2 effects", twice(inc.pay("", 2500), inc.pay("", 2500), nil, inc.id...))
	add(inc, "found by its key", "the same object under its key, 0 under another", func(st *stage) (string, error) {
		a, err := st.succeed(inc.pay("k1", 2500))
		if err != nil {
			return "", err
		}
		r, err := st.must("ach_transfers.list", map[string]any{"idempotency_key": "k1"})
		if err != nil {
			return "", err
		}
		none, err := st.must("ach_transfers.list", map[string]any{"idempotency_key": "k2"})
		list, _ := none.at("data").([]any)
		word := "another"
		if r.at("data", 0, "id") == a.at("id") {
			word = "the same"
		}
		return fmt.Sprintf("%s object under its key, %d under another", word, len(list)), err
	})
	return all
}

func azureScenarios() []scenario {
	const id, other = "6f2b1c9a-8f2e-4c3d-9a55-0123456789ab", "6f2b1c9a-8f2e-4c3d-9a55-0123456789ac"
	place := func(st *stage, id string, sent time.Time, quantity int) step {
		return step{op: "send", args: map[string]any{"path": "/orders", "body": map[string]any{"customer": "c", "item": "badge", "quantity": quantity},
			"headers": map[string]any{"Repeatability-Request-ID": id, "Repeatability-First-Sent": sent.UTC().Format(http.TimeFormat)}}}
	}
	var all []scenario
	add := func(name, expected string, slow bool, run func(*stage) (string, error)) {
		all = append(all, scenario{name: name, contract: "azure-repeatable", client: "azure-core", expected: expected, slow: slow, run: run})
	}
	// again sends a request, lets time pass, and sends another: both say that they were first sent in the beginning.
	again := func(second string, quantity int, after time.Duration) func(*stage) (string, error) {
		return func(st *stage) (string, error) {
			began := st.clock.Now()
			return twice(place(st, id, began, 1), place(st, second, began, quantity), pass(after), "id")(st)
		}
	}
	add("same id, same request", "ok, the same object, 1 effect", false, again(id, 1, 0))
	add("same id, another request", "HttpResponseError 400 idempotency_key_reused, 1 effect", false, again(id, 2, 0))
	add("another id, same request", "ok, another object, 2 effects", false, again(other, 1, 0))
	add("same id after 4 min 59 s", "ok, the same object, 1 effect", false, again(id, 1, 5*time.Minute-time.Second))
	add("same id after 5 min 1 s", "HttpResponseError 412 repeatability_window, 1 effect", false, again(id, 1, 5*time.Minute+time.Second))
	add("an id that is no GUID", "HttpResponseError 400 idempotency_key_invalid, 1 effect", false, again("order-4821", 1, 0))
	add("what the answers say of it", "accepted, accepted, rejected", false, func(st *stage) (string, error) {
		began, words := st.clock.Now(), []string{}
		for _, quantity := range []int{1, 1, 2} {
			r, err := st.play(place(st, id, began, quantity))
			if err != nil {
				return "", err
			}
			words = append(words, r.header("Repeatability-Result"))
		}
		return strings.Join(words, ", "), nil
	})
	add("the first is in work", "HttpResponseError 409 idempotency_key_in_use; the first: ok, 1 effect", false, func(st *stage) (string, error) {
		return st.second(place(st, id, st.clock.Now(), 1), place(st, id, st.clock.Now(), 1))
	})
	add("the answer is lost", "1 send under 1 key, 1 effect, ServiceResponseError", false, meets(1, bench.Committed, bench.Action{Act: bench.Close},
		func(st *stage) (string, error) { return st.tell(place(st, id, st.clock.Now(), 1)) }))
	add("500 once: it is executed again", "2 sends under 1 key, 1 effect, ok", false, meets(1, bench.BeforeCommit, bench.Action{Act: bench.Fail, Status: 500},
		func(st *stage) (string, error) { return st.tell(place(st, id, st.clock.Now(), 1)) }))
	add("500 at every send", "4 sends under 1 key, 0 effects, HttpResponseError 500 provider_failure", true, func(st *stage) (string, error) {
		st.gate.meet(bench.BeforeCommit, bench.Action{Act: bench.Fail, Status: 500})
		return st.tell(place(st, id, st.clock.Now(), 1))
	})
	add("422 of the execution: it is kept", "HttpResponseError 422 provider_failure; then HttpResponseError 422 provider_failure, 0 effects", false, func(st *stage) (string, error) {
		st.gate.meet(bench.BeforeCommit, bench.Action{Act: bench.Fail, Status: 422}, 1)
		return again(id, 1, 0)(st)
	})
	return all
}
