package fakeproviders

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// payments speaks the Stripe v1 wire: form bodies, Idempotency-Key, its error shapes.
// Rules: docs.stripe.com/api/idempotent_requests, /error-low-level.
type payments struct{}

func (payments) Name() string { return "payments" }
func (payments) Summary() string {
	return "refunds and charges over the Stripe v1 wire"
}

// paymentParams are the parameters of each endpoint, metadata aside.
var paymentParams = map[string][]string{
	"refunds":         {"amount", "payment_intent", "charge", "reason", "expand"},
	"charges":         {"amount", "currency", "description", "source", "customer", "expand"},
	"payment_intents": {"amount", "currency", "description", "customer", "confirm", "payment_method", "expand"},
}

var paymentPrefix = map[string]string{"refunds": "re_", "charges": "ch_", "payment_intents": "pi_"}

func (payments) Parse(r bench.RawRequest) bench.Call {
	path, query := target(r)
	if len(path) < 2 || path[0] != "v1" || paymentParams[path[1]] == nil {
		return bench.Call{Op: "unknown"}
	}
	order := func(f url.Values) string {
		return firstText(f.Get("metadata[order]"), f.Get("payment_intent"), f.Get("charge"))
	}
	if r.Method != http.MethodPost || len(path) > 2 {
		return bench.Call{Op: "read " + path[1], Attrs: pick(map[string]any{"order": order(query)}, "order")}
	}
	f, err := url.ParseQuery(string(r.Body))
	if err != nil {
		f = url.Values{}
	}
	attrs := map[string]any{"order": order(f)}
	if n, err := strconv.Atoi(f.Get("amount")); err == nil {
		attrs["amount"] = n
	}
	class := "charge"
	if path[1] == "refunds" {
		class = "refund"
		attrs["reason"] = firstText(f.Get("metadata[reason]"), f.Get("reason"))
	} else {
		attrs["currency"], attrs["description"] = f.Get("currency"), f.Get("description")
	}
	return bench.Call{Op: "create " + strings.TrimSuffix(path[1], "s"), Class: class, Mutating: true,
		Attrs: pick(attrs, "order", "amount", "reason", "currency", "description")}
}

func firstText(all ...string) string {
	i := slices.IndexFunc(all, func(s string) bool { return s != "" })
	if i < 0 {
		return ""
	}
	return all[i]
}

func (p payments) execute(x *exchange) (answer, error) {
	path, query := target(x.raw)
	switch {
	case x.call.Op == "unknown":
		return p.refuse(notFound), nil
	case x.call.Mutating:
		return p.create(x, path[1]), nil
	case x.raw.Method != http.MethodGet:
		return p.refuse(refusal{status: http.StatusMethodNotAllowed, code: "method_not_allowed", message: "Use GET."}), nil
	}
	order := x.call.Attrs["order"]
	found, err := x.look(func(o store.Object) bool {
		if len(path) > 2 {
			return o.ID == path[2]
		}
		return o.Detail["endpoint"] == path[1] && (order == nil || o.Attrs["order"] == order)
	})
	if err != nil {
		return answer{}, err
	}
	if len(path) > 2 {
		if len(found) == 0 {
			return p.refuse(notFound), nil
		}
		return p.current(found), nil
	}
	slices.Reverse(found)
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil || limit < 1 || limit > 100 {
		limit = 100
	}
	data := []any{}
	for _, o := range found[:min(limit, len(found))] {
		data = append(data, paymentObject(o))
	}
	return jsonAnswer(http.StatusOK, map[string]any{"object": "list", "url": "/v1/" + path[1], "has_more": len(found) > limit, "data": data}), nil
}

func (p payments) create(x *exchange, endpoint string) answer {
	f, err := url.ParseQuery(string(x.raw.Body))
	if err != nil {
		return p.refuse(invalid("", "The body is not a form: %v", err))
	}
	metadata := map[string]any{}
	for name := range f {
		if inner, ok := strings.CutPrefix(name, "metadata["); ok && strings.HasSuffix(inner, "]") {
			metadata[strings.TrimSuffix(inner, "]")] = f.Get(name)
			continue
		}
		if base, _, _ := strings.Cut(name, "["); !slices.Contains(paymentParams[endpoint], base) {
			r := invalid(name, "Received unknown parameter: %s", name)
			r.code = "parameter_unknown"
			return p.refuse(r)
		}
	}
	amount, ok := x.call.Attrs["amount"].(int)
	if !ok || amount <= 0 {
		r := invalid("amount", "Invalid positive integer: %q", f.Get("amount"))
		r.code = "parameter_invalid_integer"
		if f.Get("amount") == "" {
			r.code, r.message = "parameter_missing", "Missing required param: amount."
		}
		return p.refuse(r)
	}
	if x.call.Attrs["order"] == nil {
		r := invalid("payment_intent", "Missing required param: payment_intent (or charge, or metadata[order]).")
		r.code = "parameter_missing"
		return p.refuse(r)
	}
	x.add(paymentPrefix[endpoint], store.Object{Class: x.call.Class, Attrs: x.call.Attrs,
		Detail: map[string]any{"endpoint": endpoint, "metadata": metadata}})
	return p.current(x.tx.Added())
}

func (payments) current(objects []store.Object) answer {
	return jsonAnswer(http.StatusOK, paymentObject(objects[0]))
}

func paymentObject(o store.Object) map[string]any {
	endpoint, _ := o.Detail["endpoint"].(string)
	m := map[string]any{
		"id": o.ID, "object": strings.TrimSuffix(endpoint, "s"), "created": o.At.Unix(), "livemode": false,
		"amount": o.Attrs["amount"], "currency": "usd", "payment_intent": o.Attrs["order"], "status": "succeeded",
		"metadata": o.Detail["metadata"],
	}
	if endpoint == "refunds" {
		m["charge"], m["reason"] = nil, o.Attrs["reason"]
		return m
	}
	m["description"], m["paid"] = o.Attrs["description"], true
	if c := o.Attrs["currency"]; c != nil {
		m["currency"] = c
	}
	return m
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
	case r.code == "invalid_request":
		code = ""
	case r.status >= 500:
		kind, code = "api_error", ""
	case r.status == http.StatusTooManyRequests:
		code = "rate_limit"
	}
	e := map[string]any{"type": kind, "message": r.message}
	if code != "" {
		e["code"] = code
	}
	if r.param != "" {
		e["param"] = r.param
	}
	return jsonAnswer(r.status, map[string]any{"error": e})
}

// decorate adds the headers by which Stripe tells a first execution from a replay.
func (payments) decorate(x *exchange, a *answer) {
	if a.header == nil {
		a.header = http.Header{}
	}
	original := x.original
	if original == "" {
		original = x.name
	}
	a.header.Set("Request-Id", objectID("req_", x.name, 0))
	if x.call.Mutating && x.raw.Header.Get("Idempotency-Key") != "" {
		a.header.Set("Original-Request", objectID("req_", original, 0))
		a.header.Set("Idempotency-Key", x.raw.Header.Get("Idempotency-Key"))
	}
}

func (payments) world(w bench.WorldEffect, n int) store.Object {
	endpoint := "charges"
	if w.Class == "refund" {
		endpoint = "refunds"
	}
	o := worldObject(paymentPrefix[endpoint], w, n)
	o.Detail = map[string]any{"endpoint": endpoint, "metadata": map[string]any{}}
	return o
}
