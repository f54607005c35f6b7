package fakeproviders

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// outbound speaks the wire of Stripe's API v2: JSON bodies, POST and DELETE under keys, lists that lag.
// Rules: docs.stripe.com/api-v2-overview; shapes: stripe-python 16.1.0; wire: docs/providers/outbound.md.
type outbound struct{}

func (outbound) Name() string { return "outbound" }
func (outbound) Summary() string {
	return "outbound payments and event destinations over the Stripe v2 wire"
}

const (
	outboundPayments  = "/v2/money_management/outbound_payments"
	eventDestinations = "/v2/core/event_destinations"
)

// outboundRoute is what a path names: COLLECTION, COLLECTION/ID, COLLECTION/ID/STEP.
type outboundRoute struct {
	collection, id, step string
	class                string // of the effect; "": a read
}

func outboundRouteOf(r bench.RawRequest) (outboundRoute, bool) {
	for _, collection := range []string{outboundPayments, eventDestinations} {
		rest, ok := strings.CutPrefix(pathOf(r), collection)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		id, step, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
		rt := outboundRoute{collection: collection, id: id, step: step}
		switch {
		case r.Method == http.MethodGet && step == "":
			return rt, true
		case r.Method == http.MethodDelete && collection == eventDestinations && id != "" && step == "":
			rt.class = "removal"
		case r.Method != http.MethodPost:
		case id == "" && collection == outboundPayments:
			rt.class = "outbound_payment"
		case id == "":
			rt.class = "event_destination"
		case collection == outboundPayments && step == "cancel":
			rt.class = "cancellation"
		case collection == eventDestinations && (step == "" || step == "enable" || step == "disable"):
			rt.class = "change"
		}
		return rt, rt.class != ""
	}
	return outboundRoute{}, false
}

func (outbound) Parse(r bench.RawRequest) bench.Call {
	rt, ok := outboundRouteOf(r)
	if !ok {
		return bench.Call{Op: "unknown"}
	}
	who := stripeAccount(r)
	noun := map[string]string{outboundPayments: "outbound payment", eventDestinations: "event destination"}[rt.collection]
	if rt.class == "" {
		return bench.Call{Op: "read " + noun + "s", Principal: who}
	}
	m := fields(r.Body)
	c := bench.Call{Class: rt.class, Mutating: true, Principal: who, Op: firstText(rt.step, "create") + " " + noun}
	switch rt.class {
	case "outbound_payment":
		amount, to, from := object(m, "amount"), object(m, "to"), object(m, "from")
		attrs := map[string]any{"account": who, "recipient": text(to, "recipient"), "currency": text(amount, "currency"),
			"from": text(from, "financial_account"), "description": text(m, "description")}
		if n, ok := amount["value"].(int); ok {
			attrs["amount"] = n
		}
		c.Attrs = pick(attrs, "account", "recipient", "amount", "currency", "from", "description")
	case "event_destination":
		c.Attrs = pick(map[string]any{"account": who, "name": text(m, "name"), "type": text(m, "type"),
			"url": text(object(m, "webhook_endpoint"), "url")}, "account", "name", "type", "url")
	default:
		if rt.class == "removal" {
			c.Op = "delete " + noun
		} else if rt.step == "" {
			c.Op = "update " + noun
		}
		c.Attrs = map[string]any{"object": rt.id}
	}
	return c
}

// object is the JSON object in m under name; nil if there is none.
func object(m map[string]any, name string) map[string]any {
	o, _ := m[name].(map[string]any)
	return o
}

func (outbound) scoped(part string, r bench.RawRequest, c bench.Call) string {
	return payments{}.scoped(part, r, c)
}

// admit refuses a request without a secret key: restricted ones do not open API v2.
func (outbound) admit(r bench.RawRequest) *refusal { return authenticated(r, "sk_test_", "sk_live_") }

func (o outbound) execute(x *exchange) (answer, error) {
	rt, ok := outboundRouteOf(x.raw)
	if !ok {
		return o.refuse(refusal{status: http.StatusNotFound, code: "not_found", message: "Unrecognized request URL (" + x.raw.Method + ": " +
			pathOf(x.raw) + ")."}), nil
	}
	now := x.p.clock.Now()
	if rt.class != "" {
		return o.mutate(x, rt, now)
	}
	if rt.id != "" { // one object is always as it is; lists lag
		ledger, err := x.tx.Objects()
		if err != nil {
			return answer{}, err
		}
		for _, it := range outboundItems(ledger, x, now) {
			if it.id == rt.id && it.collection == rt.collection {
				return jsonAnswer(http.StatusOK, it.shown(wantsURL(x.raw, nil))), nil
			}
		}
		return o.refuse(noItem(rt)), nil
	}
	seen, err := x.look(func(store.Object) bool { return true })
	if err != nil {
		return answer{}, err
	}
	return o.list(x, rt, outboundItems(seen, x, now)), nil
}

func noItem(rt outboundRoute) refusal {
	return refusal{status: http.StatusNotFound, code: "not_found", message: "Object not found: " + rt.id}
}

// outboundItem is an object as it is now.
type outboundItem struct {
	id, collection string
	made           time.Time
	body           map[string]any
}

// shown leaves out the address of an event destination unless it is asked for.
func (it *outboundItem) shown(withURL bool) map[string]any {
	if endpoint := object(it.body, "webhook_endpoint"); endpoint != nil && !withURL {
		endpoint["url"] = nil
	}
	return it.body
}

func wantsURL(r bench.RawRequest, body map[string]any) bool {
	if include, ok := body["include"].([]any); ok && slices.Contains(include, any("webhook_endpoint.url")) {
		return true
	}
	_, query := target(r)
	for name, values := range query {
		if strings.HasPrefix(name, "include") && slices.Contains(values, "webhook_endpoint.url") {
			return true
		}
	}
	return false
}

// outboundItems reads the request's account's part of a ledger, oldest first; what was removed is not among them.
func outboundItems(ledger []store.Object, x *exchange, now time.Time) []*outboundItem {
	var items []*outboundItem
	for _, o := range ledger {
		if own(x, o) {
			items = outboundApply(items, o)
		}
	}
	for _, it := range items {
		if it.body["status"] == "processing" && now.Sub(it.made) >= postsAfter {
			it.body["status"], it.body["cancelable"] = "posted", false
			it.body["status_transitions"] = map[string]any{"posted_at": stamp(it.made.Add(postsAfter))}
		}
	}
	return items
}

// postsAfter is how long an outbound payment can be canceled: a choice of this project.
const postsAfter = 24 * time.Hour

// list answers one page, newest first. Where the next one begins is in an address that SDKs follow as it is.
func (o outbound) list(x *exchange, rt outboundRoute, items []*outboundItem) answer {
	_, query := target(x.raw)
	limit := 20
	if s := query.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 100 {
			return o.refuse(invalid("limit", "limit must be a number from 1 to 100, not %s.", s))
		}
		limit = n
	}
	var all []*outboundItem
	for _, it := range slices.Backward(items) {
		if it.collection == rt.collection && it.fits(query) {
			all = append(all, it)
		}
	}
	start := 0
	if page := query.Get("page"); page != "" {
		after, _ := base64.RawURLEncoding.DecodeString(page) // what is no page names no object
		start = slices.IndexFunc(all, func(it *outboundItem) bool { return it.id == string(after) })
		if start < 0 {
			return o.refuse(invalid("page", "page is not one of this list: %s.", page))
		}
	}
	address := func(i int) any {
		if i <= 0 && start == 0 || i >= len(all) {
			return nil
		}
		query.Set("page", base64.RawURLEncoding.EncodeToString([]byte(all[max(i, 0)].id)))
		return rt.collection + "?" + query.Encode()
	}
	data := []any{}
	for _, it := range all[start:min(start+limit, len(all))] {
		data = append(data, it.shown(wantsURL(x.raw, nil)))
	}
	body := map[string]any{"data": data, "next_page_url": address(start + limit), "previous_page_url": nil}
	if start > 0 {
		body["previous_page_url"] = address(start - limit)
	}
	return jsonAnswer(http.StatusOK, body)
}

// fits says whether an item is in the list that a query asks for.
func (it *outboundItem) fits(query url.Values) bool {
	if r := query.Get("recipient"); r != "" && text(object(it.body, "to"), "recipient") != r {
		return false
	}
	var statuses []string
	for name, values := range query {
		if name == "status" || strings.HasPrefix(name, "status[") {
			statuses = append(statuses, values...)
		}
	}
	if len(statuses) > 0 && !slices.Contains(statuses, text(it.body, "status")) {
		return false
	}
	for name, fits := range map[string]func(limit time.Time) bool{
		"created[gt]":  it.made.After,
		"created[gte]": func(t time.Time) bool { return !it.made.Before(t) },
		"created[lt]":  it.made.Before,
		"created[lte]": func(t time.Time) bool { return !it.made.After(t) },
	} {
		if t, err := time.Parse(time.RFC3339, query.Get(name)); err == nil && !fits(t) {
			return false
		}
	}
	return true
}

// refuse renders the error shape of API v2, which SDKs read by its type; only what is wrong with the fields of a
// request is told by its code.
func (outbound) refuse(r refusal) answer {
	e := map[string]any{"message": r.message, "type": "invalid_request_error", "code": r.code}
	switch {
	case strings.HasPrefix(r.code, "idempotency_"), r.code == "idempotent_creation_conflict":
		e["type"] = "idempotency_error"
	case r.code == "invalid_request", r.code == "method_not_allowed":
		e["code"] = "invalid_fields"
	case r.code == "insufficient_funds", r.code == "already_canceled", r.code == "not_cancelable":
		e["type"] = r.code
	case r.status == http.StatusTooManyRequests:
		e["type"], e["code"] = "rate_limit", "rate_limit"
	case r.status >= 500:
		e["type"], e["code"] = "api_error", "api_error"
	}
	if r.param != "" {
		e["param"] = r.param
	}
	return jsonAnswer(r.status, map[string]any{"error": e})
}

func (outbound) decorate(x *exchange, a *answer) { stripeHeaders(x, a) }

func (outbound) current(objects []store.Object) answer {
	if shown := object(objects[0].Detail, "shown"); shown != nil {
		return jsonAnswer(http.StatusOK, shown)
	}
	items := outboundApply(nil, objects[0])
	if len(items) == 0 {
		return jsonAnswer(http.StatusOK, map[string]any{"id": objects[0].Attrs["object"]})
	}
	return jsonAnswer(http.StatusOK, items[0].shown(false))
}

func (outbound) world(w bench.WorldEffect, n int) store.Object {
	prefix := "obp_"
	if w.Class == "event_destination" {
		prefix = "ed_"
	}
	return worldObject(prefix, w, n)
}

// stamp is a time as API v2 writes it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func missingField(name string) *refusal {
	r := invalid(name, "%s", fmt.Sprintf("Missing required field: %s.", name))
	return &r
}
