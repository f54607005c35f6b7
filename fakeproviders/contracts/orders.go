package contracts

import (
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// noExpiry stands for a key that is kept for good: ten years of virtual time.
const noExpiry = 10 * 365 * 24 * time.Hour

// Where the rules of the orders contracts come from. What a source leaves open is a choice of this project,
// named in docs/providers/orders.md.
const (
	ietfSource       = "https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/ (-07)"
	paypalSource     = "https://developer.paypal.com/reference/guidelines/idempotency.md"
	squareSource     = "https://developer.squareup.com/docs/working-with-apis/idempotency and https://developer.squareup.com/reference/square/payments-api/create-payment"
	adyenSource      = "https://docs.adyen.com/development-resources/api-idempotency"
	gocardlessSource = "https://gocardless.com/blog/idempotency-keys and gocardless_pro 3.22"
	azureSource      = "https://learn.microsoft.com/rest/api/communication/repeatable-requests and OASIS Repeatable Requests 1.0"
	increaseSource   = "https://increase.com/documentation/idempotency-keys"
)

func orders() []bench.Contract {
	ietf := bench.Terms{Key: bench.KeyTerms{
		Location: "header:Idempotency-Key", Syntax: "sf-string", Required: true,
		Scope: "account", Fingerprint: "params+path", Mismatch: "422",
		Retention: 24 * time.Hour, ClockStart: "first-seen",
		Concurrent: "conflict", Saves: "executed", Replay: "stored",
	}}
	paypal := bench.Terms{Key: bench.KeyTerms{
		Location: "header:PayPal-Request-Id",
		Scope:    "account+path", Fingerprint: "params", Mismatch: "422",
		Retention: 6 * time.Hour, ClockStart: "first-seen",
		Concurrent: "conflict", Saves: "success", Replay: "current", Marker: "status 200",
	}}
	waits := paypal
	waits.Key.Concurrent = "wait"
	square := bench.Terms{Key: bench.KeyTerms{
		Location: "body:idempotency_key", MaxLength: 45, Required: true,
		Scope: "account+path", Fingerprint: "params", Mismatch: "400",
		Retention: 24 * time.Hour, ClockStart: "first-seen",
		Concurrent: "conflict", Saves: "success", Replay: "stored",
	}}
	adyen := bench.Terms{Key: bench.KeyTerms{
		Location: "header:Idempotency-Key", MaxLength: 64,
		Scope: "account+region", Fingerprint: "params+path", Mismatch: "422",
		Retention: 7 * 24 * time.Hour, ClockStart: "first-seen",
		Concurrent: "conflict", Saves: "success", Replay: "stored",
	}}
	gocardless := bench.Terms{Key: bench.KeyTerms{
		Location: "header:Idempotency-Key",
		Scope:    "account+path", Fingerprint: "none", Mismatch: "conflict",
		Retention: 24 * time.Hour, ClockStart: "first-seen",
		Concurrent: "wait", Saves: "success", Replay: "conflict",
	}}
	azure := bench.Terms{Key: bench.KeyTerms{
		Location: "header:Repeatability-Request-ID", Syntax: "uuid",
		Scope: "account", Fingerprint: "params+path", Mismatch: "400",
		Retention: 5 * time.Minute, ClockStart: "first-seen",
		Concurrent: "conflict", Saves: "final", Replay: "stored",
	}}
	increase := bench.Terms{
		Key: bench.KeyTerms{
			Location: "header:Idempotency-Key", MaxLength: 200,
			Scope: "account", Fingerprint: "params+path", Mismatch: "conflict",
			Retention: noExpiry, ClockStart: "first-seen",
			Concurrent: "conflict", Saves: "success", Replay: "current", Marker: "Idempotent-Replayed",
		},
		LookUp:        bench.LookUpTerms{Kind: "authoritative", By: "identity"},
		CommitsWithin: within(10 * time.Minute),
	}
	return []bench.Contract{
		honest("ietf-idempotency-key", "orders", "A quoted key that every creation must have, kept 24 h; success and failure are replayed; another payload is 422, a key in work 409. Chosen here: scope, retention.", ietfSource, ietf),
		honest("paypal-orders", "orders", "A key per endpoint, kept 6 h; a replay shows the order as it is now, as 200 in place of 201; a key in work is refused. Chosen here: scope, status of a mismatch.", paypalSource, paypal),
		honest("paypal-orders-waits", "orders", "As paypal-orders, but the second of two at once is not failed: it waits. The source says that it might be.", paypalSource, waits),
		honest("square-payments", "orders", "A key in the body that every creation must have; the first success is replayed. Chosen here, as nothing is published: 24 h, a key in work is refused.", squareSource, square),
		honest("adyen-payments", "orders", "A key per company account and region, kept 7 days; not known in another region. Chosen here: a mismatch is refused with 422.", adyenSource, adyen),
		honest("gocardless-payments", "orders", "A second creation under a key is a 409 that names the first. Chosen here: 24 h, parameters are not compared, a key in work makes the second wait.", gocardlessSource, gocardless),
		honest("azure-repeatable", "orders", "A GUID with the time of its first sending, tracked for 5 min, then 412; 2xx and 4xx are replayed, a 5xx is executed again.", azureSource, azure),
		honest("increase-transfers", "orders", "A key for good, by which the object is also found; another payload is a 409 that names the first. Chosen here: a lost call commits within 10 min.", increaseSource, increase),
	}
}
