package fakeproviders

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// stripeAccount is on whose behalf a request comes: the connected account that it names.
func stripeAccount(r bench.RawRequest) string {
	return firstText(r.Header.Get("X-On-Behalf-Of"), r.Header.Get("Stripe-Account"), r.Header.Get("Stripe-Context"))
}

// livemode says whether a request comes with a live key. Live and test objects are apart, and so are their
// idempotency keys (for API v1 undocumented: a choice of this project).
func livemode(r bench.RawRequest) bool { return strings.Contains(apiKey(r), "_live_") }

// apiKey is the key by which a request is authenticated: a bearer token, or the user name of basic authentication.
func apiKey(r bench.RawRequest) string {
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch {
	case strings.EqualFold(scheme, "Bearer"):
		return strings.TrimSpace(value)
	case strings.EqualFold(scheme, "Basic"):
		if b, err := base64.StdEncoding.DecodeString(value); err == nil {
			key, _, _ := strings.Cut(string(b), ":")
			return key
		}
	}
	return ""
}

// admit refuses a request that is not authenticated, before its idempotency key is looked at.
func (payments) admit(r bench.RawRequest) *refusal {
	return authenticated(r, "sk_test_", "sk_live_", "rk_test_", "rk_live_")
}

func authenticated(r bench.RawRequest, kinds ...string) *refusal {
	key := apiKey(r)
	if key == "" {
		return &refusal{status: http.StatusUnauthorized, code: "unauthenticated", message: "You did not provide an API key. You need to provide " +
			"your API key in the Authorization header, using Bearer auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY')."}
	}
	for _, k := range kinds {
		if strings.HasPrefix(key, k) {
			return nil
		}
	}
	return &refusal{status: http.StatusUnauthorized, code: "unauthenticated",
		message: "Invalid API Key provided: " + strings.Repeat("*", min(len(key), 8)) + ". Any key that begins with " + strings.Join(kinds, " or ") + " will do."}
}

// scoped is the part of a key's space that a contract calls "mode": live or test.
func (payments) scoped(_ string, r bench.RawRequest, _ bench.Call) string {
	if livemode(r) {
		return "live"
	}
	return "test"
}

// refuseTo words what SDKs show of a key in work.
func (p payments) refuseTo(x *exchange, r refusal) answer {
	if r.code == "idempotency_key_in_use" {
		r.message = "There is currently another in-progress request using this Idempotent Key (that probably means you submitted twice, " +
			"and the other request is still going through): " + x.call.Key + ". Please try again later."
	}
	return p.refuse(r)
}

// refuse renders Stripe's error shape. Sources disagree on the type of the 409; this is one of the two.
func (payments) refuse(r refusal) answer {
	kind, code := "invalid_request_error", r.code
	switch {
	case r.code == "idempotency_key_in_use":
		kind = "idempotency_error"
	case r.code == "idempotency_key_reused", r.code == "idempotency_key_other_endpoint", r.code == "idempotency_conflict":
		kind, code = "idempotency_error", ""
	case r.code == "not_found":
		code = "resource_missing"
	case r.code == "invalid_request", r.code == "unknown_url", r.code == "unauthenticated", r.code == "idempotency_key_invalid", r.code == "idempotency_key_missing":
		code = ""
	case r.status == http.StatusPaymentRequired:
		kind = "card_error"
	case r.status >= 500:
		kind, code = "api_error", ""
	case r.status == http.StatusTooManyRequests:
		code = "rate_limit"
	}
	e := map[string]any{"type": kind, "message": r.message}
	for name, v := range map[string]string{"code": code, "param": r.param, "decline_code": r.decline} {
		if v != "" {
			e[name] = v
		}
	}
	if code != "" {
		e["doc_url"] = "https://stripe.com/docs/error-codes/" + strings.ReplaceAll(code, "_", "-")
	}
	return jsonAnswer(r.status, map[string]any{"error": e})
}

// decorate adds the headers by which Stripe tells a first execution from a replay, and by which it tells its
// SDKs that a request sent again would only be answered from its key.
func (payments) decorate(x *exchange, a *answer) { stripeHeaders(x, a) }

func stripeHeaders(x *exchange, a *answer) {
	if a.header == nil {
		a.header = http.Header{}
	}
	original := firstText(x.original, x.name)
	a.header.Set("Request-Id", objectID("req_", x.name, 0))
	a.header.Set("Stripe-Version", firstText(x.raw.Header.Get("Stripe-Version"), stripeVersion))
	if x.call.Mutating && x.raw.Header.Get("Idempotency-Key") != "" {
		a.header.Set("Original-Request", objectID("req_", original, 0))
		a.header.Set("Idempotency-Key", x.raw.Header.Get("Idempotency-Key"))
	}
	t := x.p.terms.Key
	keepsFailures := t.Saves == "executed" && !t.ForgetsOnError
	if a.dedup && x.replayed || x.key != nil && (a.status/100 == 2 || keepsFailures && (a.executed || a.status >= 500)) {
		a.header.Set("Stripe-Should-Retry", "false") // it would be answered from the key
	}
}

// stripeVersion is the version of the API that is answered where a request names none: that of stripe-python 16.1.0.
const stripeVersion = "2026-10-28.endive"

// current renders a mutation's answer from what it made.
func (payments) current(objects []store.Object) answer {
	if shown := object(objects[0].Detail, "shown"); shown != nil { // it changed another object
		return jsonAnswer(http.StatusOK, shown)
	}
	b := booksOf(objects)
	if e := b.entries[objects[0].ID]; e != nil {
		return jsonAnswer(http.StatusOK, b.shown(e, nil))
	}
	return jsonAnswer(http.StatusOK, map[string]any{"id": text(objects[0].Detail, "of")})
}
