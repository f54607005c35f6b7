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

// payments speaks the Stripe v1 wire: form bodies, Idempotency-Key, its objects and its error shapes.
// Rules: docs.stripe.com/api/idempotent_requests, /error-low-level, /api; wire: docs/providers/payments.md.
type payments struct{}

func (payments) Name() string { return "payments" }
func (payments) Summary() string {
	return "payment intents, charges, refunds, payouts and transfers over the Stripe v1 wire"
}

// paymentMoves are the mutations by path ("payouts" makes one, "payouts/cancel" changes one) with the effect
// class of each. A payment intent that is confirmed at once makes a charge.
var paymentMoves = map[string]string{
	"charges":                 "charge",
	"charges/capture":         "capture",
	"payment_intents":         "intent",
	"payment_intents/confirm": "charge",
	"payment_intents/capture": "capture",
	"payment_intents/cancel":  "cancellation",
	"payouts":                 "payout",
	"payouts/cancel":          "cancellation",
	"refunds":                 "refund",
	"refunds/cancel":          "cancellation",
	"transfers":               "transfer",
	"transfers/reversals":     "reversal",
}

var paymentPrefix = map[string]string{
	"charges": "ch_", "payment_intents": "pi_", "payouts": "po_", "refunds": "re_", "transfers": "tr_", "reversals": "trr_",
}

// paymentRoute is what a path names: /v1/ENDPOINT, /v1/ENDPOINT/ID, /v1/ENDPOINT/ID/STEP, and
// /v1/transfers/ID/reversals/SUB.
type paymentRoute struct {
	endpoint, id, step, sub string
	move                    string // key of paymentMoves; "": a read
}

func routeOf(r bench.RawRequest) (paymentRoute, bool) {
	path, _ := target(r)
	if len(path) < 2 || path[0] != "v1" || paymentPrefix[path[1]] == "" && path[1] != "balance" || path[1] == "reversals" || len(path) > 5 {
		return paymentRoute{}, false
	}
	path = append(path, "", "", "")
	rt := paymentRoute{endpoint: path[1], id: path[2], step: path[3], sub: path[4]}
	if r.Method == http.MethodPost {
		rt.move = strings.TrimSuffix(rt.endpoint+"/"+rt.step, "/")
		return rt, paymentMoves[rt.move] != "" && (rt.id == "") == (rt.step == "") && rt.sub == ""
	}
	return rt, r.Method == http.MethodGet && (rt.step == "" || rt.endpoint == "transfers" && rt.step == "reversals")
}

func (payments) Parse(r bench.RawRequest) bench.Call {
	rt, ok := routeOf(r)
	if !ok {
		return bench.Call{Op: "unknown"}
	}
	who := stripeAccount(r)
	if rt.move == "" {
		_, query := target(r)
		return bench.Call{Op: "read " + firstText(rt.step, rt.endpoint), Principal: who, Attrs: pick(map[string]any{"order": orderOf(query)}, "order")}
	}
	f, err := url.ParseQuery(string(r.Body))
	if err != nil {
		f = url.Values{}
	}
	class := paymentMoves[rt.move]
	if rt.move == "payment_intents" && f.Get("confirm") == "true" {
		class = "charge"
	}
	verb := "create " + strings.TrimSuffix(rt.endpoint, "s")
	if rt.step != "" {
		verb = strings.TrimSuffix(rt.step, "s") + " " + strings.TrimSuffix(rt.endpoint, "s")
	}
	return bench.Call{Op: verb, Class: class, Mutating: true, Principal: who, Attrs: paymentAttrs(rt, class, f, who)}
}

// orderOf is what a payment is for: the caller's own name of it, else the payment that is named.
func orderOf(f url.Values) string {
	return firstText(f.Get("metadata[order]"), f.Get("payment_intent"), f.Get("charge"))
}

// paymentAttrs are the business attributes that a request asks for.
func paymentAttrs(rt paymentRoute, class string, f url.Values, account string) map[string]any {
	attrs := map[string]any{"order": orderOf(f), "currency": f.Get("currency"), "description": f.Get("description"),
		"destination": f.Get("destination"), "account": account}
	if n, err := strconv.Atoi(f.Get("amount")); err == nil {
		attrs["amount"] = n
	}
	switch class {
	case "refund":
		attrs["reason"] = firstText(f.Get("metadata[reason]"), f.Get("reason"))
		return pick(attrs, "order", "amount", "reason")
	case "payout", "transfer":
		return pick(attrs, "account", "amount", "currency", "destination", "description")
	case "reversal":
		attrs["transfer"] = rt.id
		return pick(attrs, "transfer", "amount")
	case "cancellation":
		return map[string]any{"object": rt.id}
	case "capture":
		attrs["payment"] = rt.id
		delete(attrs, "amount")
		if n, err := strconv.Atoi(firstText(f.Get("amount_to_capture"), f.Get("amount"))); err == nil {
			attrs["amount"] = n
		}
		return pick(attrs, "payment", "amount")
	}
	if rt.step == "confirm" {
		return map[string]any{} // the intent knows the rest
	}
	return pick(attrs, "order", "amount", "currency", "description")
}

func firstText(all ...string) string {
	i := slices.IndexFunc(all, func(s string) bool { return s != "" })
	if i < 0 {
		return ""
	}
	return all[i]
}

func (p payments) execute(x *exchange) (answer, error) {
	rt, ok := routeOf(x.raw)
	if !ok {
		return p.refuse(refusal{status: http.StatusNotFound, code: "unknown_url", message: "Unrecognized request URL (" + x.raw.Method + ": " +
			pathOf(x.raw) + ")."}), nil
	}
	if rt.move != "" {
		return p.move(x, rt)
	}
	found, err := x.look(func(o store.Object) bool { return own(x, o) })
	if err != nil {
		return answer{}, err
	}
	b := booksOf(found)
	_, query := target(x.raw)
	switch {
	case rt.endpoint == "balance":
		return jsonAnswer(http.StatusOK, b.balanceShown(livemode(x.raw))), nil
	case rt.step == "reversals" && rt.sub != "":
		return p.one(b, rt.sub, "reversals", query)
	case rt.step == "reversals":
		return p.list(b, "reversals", pathOf(x.raw), query, func(e *entry) bool { return e.body["transfer"] == rt.id })
	case rt.id != "":
		return p.one(b, rt.id, rt.endpoint, query)
	}
	return p.list(b, rt.endpoint, pathOf(x.raw), query, func(e *entry) bool { return listed(e, rt.endpoint, query) })
}

func pathOf(r bench.RawRequest) string {
	path, _, _ := strings.Cut(r.Path, "?")
	return path
}

func (p payments) one(b *books, id, endpoint string, query url.Values) (answer, error) {
	e := b.entries[id]
	if e == nil || e.endpoint != endpoint {
		return p.refuse(noSuch(endpoint, id, "id")), nil
	}
	return jsonAnswer(http.StatusOK, b.shown(e, expansions(query))), nil
}

// paymentFilters are the parameters of each list beside limit, starting_after, ending_before, created and expand.
var paymentFilters = map[string][]string{
	"charges":         {"payment_intent", "charge", "customer", "transfer_group"},
	"payment_intents": {"payment_intent", "customer"},
	"payouts":         {"status", "destination", "description"},
	"refunds":         {"payment_intent", "charge"},
	"transfers":       {"destination", "transfer_group"},
}

// listed says whether an entry is in the list that a query asks for. A payment_intent or charge that names an
// order of the caller's own finds what was made for that order.
func listed(e *entry, endpoint string, query url.Values) bool {
	order := orderOf(query)
	for _, name := range paymentFilters[endpoint] {
		want := query.Get(name)
		if want == "" || e.body[name] == want || order == want && e.order == want {
			continue
		}
		return false
	}
	return true
}

// list answers one page, newest first.
func (p payments) list(b *books, endpoint, path string, query url.Values, fits func(*entry) bool) (answer, error) {
	limit := 10
	if s := query.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 100 {
			return p.refuse(refusal{status: http.StatusBadRequest, code: "parameter_invalid_integer", param: "limit",
				message: "This value must be between 1 and 100 (it currently is '" + s + "')."}), nil
		}
		limit = n
	}
	var all []*entry
	for _, e := range slices.Backward(b.order) {
		if e.endpoint == endpoint && fits(e) && inTime(e, query) {
			all = append(all, e)
		}
	}
	more := false
	if after := query.Get("starting_after"); after != "" {
		i := slices.IndexFunc(all, func(e *entry) bool { return e.id == after })
		if i < 0 {
			return p.refuse(noSuch(endpoint, after, "starting_after")), nil
		}
		all = all[i+1:]
	}
	if before := query.Get("ending_before"); before != "" {
		i := slices.IndexFunc(all, func(e *entry) bool { return e.id == before })
		if i < 0 {
			return p.refuse(noSuch(endpoint, before, "ending_before")), nil
		}
		more = i > limit
		all = all[max(0, i-limit):i]
	} else {
		more = len(all) > limit
		all = all[:min(limit, len(all))]
	}
	data := []any{}
	for _, e := range all {
		data = append(data, b.shown(e, expansions(query)))
	}
	return jsonAnswer(http.StatusOK, map[string]any{"object": "list", "url": path, "has_more": more, "data": data}), nil
}

// inTime says whether an entry was made in the range that created, or created[gt], [gte], [lt] and [lte], name.
func inTime(e *entry, query url.Values) bool {
	at, _ := e.body["created"].(int64)
	for name, fits := range map[string]func(limit int64) bool{
		"created":      func(n int64) bool { return at == n },
		"created[gt]":  func(n int64) bool { return at > n },
		"created[gte]": func(n int64) bool { return at >= n },
		"created[lt]":  func(n int64) bool { return at < n },
		"created[lte]": func(n int64) bool { return at <= n },
	} {
		if n, err := strconv.ParseInt(query.Get(name), 10, 64); err == nil && !fits(n) {
			return false
		}
	}
	return true
}

// expansions are the names of the fields that a request wants shown whole ("data." before them in a list).
func expansions(f url.Values) []string {
	var names []string
	for name, values := range f {
		if name == "expand" || strings.HasPrefix(name, "expand[") {
			for _, v := range values {
				names = append(names, strings.TrimPrefix(v, "data."))
			}
		}
	}
	return names
}

func (payments) world(w bench.WorldEffect, n int) store.Object {
	endpoint := map[string]string{"intent": "payment_intents", "refund": "refunds", "payout": "payouts", "transfer": "transfers", "reversal": "reversals"}[w.Class]
	endpoint = firstText(endpoint, "charges")
	o := worldObject(paymentPrefix[endpoint], w, n)
	o.Detail = map[string]any{"endpoint": endpoint, "form": map[string]any{}}
	return o
}
