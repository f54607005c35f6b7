package fakeproviders

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// orderWire is one way to word the same: where an API has its objects, what its fields are called, what its
// answers look like. The payment APIs' shapes are those that their official clients read.
type orderWire struct {
	name    string
	classes map[string][]string // effect class -> path of its collection
	cancel  []string            // path of the cancellation, behind the object's
	byKey   []string            // path of the cancellation by key, behind the collection's; nil: there is none
	header  string              // that a request of this wire has; empty: none
	created int                 // status of an answer to a creation
	prefix  map[string]string   // of ids, by class; the plain ones are minted by the engine
	id      func(class, request string) string

	places   map[string][]string // attribute -> places in the body, the first that is filled counts
	required map[string][]string // by class: places that must be filled
	show     func(store.Object) map[string]any
	envelope func(class string) string // around one object; nil: none
	page     func(class string, data []any, next string) map[string]any
	refuse   func(x *exchange, r refusal) answer // x is nil where no request is known
	kind     string                              // Content-Type of answers
}

// orderWires lists the wires, the plain one last: it takes what no other one does.
var orderWires = []*orderWire{gocardlessWire, squareWire, adyenWire, increaseWire, plainWire}

// wireOf tells by which wire a request came; nil: by none.
func wireOf(r bench.RawRequest) *orderWire {
	for _, w := range orderWires {
		if _, _, ok := w.route(r); ok {
			return w
		}
	}
	return nil
}

// route reads the path: the class, and what follows its collection.
func (w *orderWire) route(r bench.RawRequest) (class string, rest []string, ok bool) {
	if w.header != "" && r.Header.Get(w.header) == "" {
		return "", nil, false
	}
	path, _ := target(r)
	for _, class := range slices.Sorted(maps.Keys(w.classes)) {
		collection := w.classes[class]
		if len(path) >= len(collection) && slices.Equal(path[:len(collection)], collection) {
			return class, path[len(collection):], true
		}
	}
	return "", nil, false
}

// cancels says whether what follows the collection names the cancellation of an object, by its id or by its key.
func (w *orderWire) cancels(rest []string) bool {
	return len(rest) > 1 && slices.Equal(rest[1:], w.cancel) || w.cancelsByKey(rest)
}

func (w *orderWire) cancelsByKey(rest []string) bool {
	return w.byKey != nil && slices.Equal(rest, w.byKey)
}

// at is the value at a place like "amount_money.amount", nil if nothing is there.
func at(m map[string]any, place string) any {
	name, rest, deeper := strings.Cut(place, ".")
	if !deeper {
		return m[name]
	}
	inner, _ := m[name].(map[string]any)
	return at(inner, rest)
}

var orderAttributes = map[string][]string{
	"order":   {"customer", "item", "quantity", "note", "region"},
	"payment": {"order", "amount", "currency", "note", "region"},
}

// attributes reads the business attributes of a class from a body: what is absent, empty or of a wrong type
// is left out.
func (w *orderWire) attributes(class string, body map[string]any) map[string]any {
	attrs := map[string]any{}
	for _, name := range orderAttributes[class] {
		for _, place := range w.places[name] {
			v := at(body, place)
			if _, isNumber := v.(int); isNumber != numeric(name) || v == nil || v == "" {
				continue
			}
			if _, isText := v.(string); isText == numeric(name) {
				continue
			}
			attrs[name] = v
			break
		}
	}
	return attrs
}

func numeric(name string) bool { return name == "amount" || name == "quantity" }

// check says what is wrong with the body of a creation.
func (w *orderWire) check(class string, body map[string]any) *refusal {
	if body == nil {
		r := invalid("", "The body is not a JSON object.")
		return &r
	}
	for _, place := range w.required[class] {
		if v := at(body, place); v == nil || v == "" {
			r := invalid(place, "Field %s is missing.", place)
			return &r
		}
	}
	for _, name := range orderAttributes[class] {
		for _, place := range w.places[name] {
			v := at(body, place)
			n, isNumber := v.(int)
			_, isText := v.(string)
			if v != nil && (numeric(name) && (!isNumber || n < 1) || !numeric(name) && !isText) {
				r := invalid(place, "Field %s is not a %s.", place, map[bool]string{true: "whole number above 0", false: "text"}[numeric(name)])
				return &r
			}
		}
	}
	return nil
}

func (w *orderWire) one(class string, shown map[string]any) map[string]any {
	if w.envelope == nil {
		return shown
	}
	return map[string]any{w.envelope(class): shown}
}

func (w *orderWire) answer(status int, v map[string]any) answer {
	a := jsonAnswer(status, v)
	a.kind = w.kind
	return a
}

// asSent is a field of the request that made an object, as it was sent; nil if nothing is there.
func asSent(o store.Object, place string) any {
	body, _ := o.Detail["body"].(map[string]any)
	return at(body, place)
}

// status is the first word for an object that is cancelled, else the second.
func status(o store.Object, cancelled, otherwise string) string {
	if o.Detail["cancelled"] == true {
		return cancelled
	}
	return otherwise
}

func rfc3339(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func same(name string) func(string) string { return func(string) string { return name } }

// plainWire is this project's own: JSON, with errors as problem details (RFC 9457), which the Idempotency-Key
// draft asks for, and beside them the error object that azure-core reads.
var plainWire = &orderWire{
	name:    "plain",
	classes: map[string][]string{"order": {"orders"}, "payment": {"payments"}},
	cancel:  []string{"cancel"},
	created: http.StatusCreated,
	prefix:  map[string]string{"order": "or_", "payment": "py_"},
	id:      func(string, string) string { return "" },
	places: map[string][]string{"customer": {"customer"}, "item": {"item"}, "quantity": {"quantity"}, "note": {"note"},
		"region": {"region"}, "order": {"order"}, "amount": {"amount"}, "currency": {"currency"}},
	required: map[string][]string{"order": {"customer", "item"}, "payment": {"order", "amount"}},
	show: func(o store.Object) map[string]any {
		m := map[string]any{"id": o.ID, "created": o.At.Unix(), "status": status(o, "cancelled", "accepted")}
		for _, name := range orderAttributes[o.Class] {
			m[name] = o.Attrs[name]
		}
		if o.Reference != "" {
			m["idempotency_key"] = o.Reference
		}
		return m
	},
	page: func(class string, data []any, next string) map[string]any {
		m := map[string]any{class + "s": data}
		if next != "" {
			m["next"] = next
		}
		return m
	},
	refuse: func(_ *exchange, r refusal) answer {
		body := map[string]any{"title": http.StatusText(r.status), "status": r.status, "detail": r.message,
			"error": map[string]any{"code": r.code, "message": r.message}}
		if len(r.existing) > 0 {
			body["existing"] = r.existing[0]
		}
		a := jsonAnswer(r.status, body)
		a.kind = "application/problem+json"
		return a
	},
	kind: "application/json",
}

// paymentAPI is what the payment APIs have in common.
func paymentAPI(w orderWire, collection ...string) *orderWire {
	w.classes = map[string][]string{"payment": collection}
	w.prefix = map[string]string{"payment": ""}
	w.kind = "application/json"
	return &w
}

// gocardlessWire: developer.gocardless.com/api-reference, as gocardless_pro 3.22 reads it. It is told from the
// plain one, which has the same paths, by the header that this API demands.
var gocardlessWire = paymentAPI(orderWire{
	name: "gocardless", header: "GoCardless-Version", cancel: []string{"actions", "cancel"}, created: http.StatusCreated,
	id: func(_, request string) string { return "PM" + strings.ToUpper(digest("gocardless/" + request)[:14]) },
	places: map[string][]string{"amount": {"payments.amount"}, "currency": {"payments.currency"}, "note": {"payments.description"},
		"order": {"payments.metadata.order", "payments.reference", "payments.links.mandate"}},
	required: map[string][]string{"payment": {"payments.amount", "payments.currency", "payments.links.mandate"}},
	envelope: same("payments"),
	show: func(o store.Object) map[string]any {
		metadata, _ := asSent(o, "payments.metadata").(map[string]any)
		if metadata == nil {
			metadata = map[string]any{}
		}
		return map[string]any{"id": o.ID, "created_at": rfc3339(o.At), "charge_date": o.At.UTC().AddDate(0, 0, 3).Format(time.DateOnly),
			"amount": o.Attrs["amount"], "currency": o.Attrs["currency"], "description": o.Attrs["note"], "amount_refunded": 0,
			"reference": asSent(o, "payments.reference"), "status": status(o, "cancelled", "pending_submission"), "metadata": metadata,
			"links": map[string]any{"mandate": asSent(o, "payments.links.mandate")}}
	},
	page: func(_ string, data []any, next string) map[string]any {
		return map[string]any{"payments": data, "meta": map[string]any{"limit": 50,
			"cursors": map[string]any{"before": nil, "after": orNull(next)}}}
	},
	refuse: refuseGoCardless,
}, "payments")

// squareWire: developer.squareup.com/reference/square/payments-api, as squareup 46 reads it.
var squareWire = paymentAPI(orderWire{
	name: "square", cancel: []string{"cancel"}, byKey: []string{"cancel"}, created: http.StatusOK,
	id: func(_, request string) string { return digest("square/" + request)[:22] + "YZY" },
	places: map[string][]string{"amount": {"amount_money.amount"}, "currency": {"amount_money.currency"}, "note": {"note"},
		"order": {"reference_id", "order_id", "customer_id"}},
	required: map[string][]string{"payment": {"source_id", "amount_money.amount", "amount_money.currency"}},
	envelope: same("payment"),
	show: func(o store.Object) map[string]any {
		money := map[string]any{"amount": o.Attrs["amount"], "currency": o.Attrs["currency"]}
		m := map[string]any{"id": o.ID, "created_at": rfc3339(o.At), "updated_at": rfc3339(o.At), "amount_money": money, "total_money": money,
			"approved_money": money, "status": status(o, "CANCELED", "COMPLETED"), "source_type": "CARD", "version_token": digest(o.ID)[:10]}
		for field, v := range map[string]any{"reference_id": asSent(o, "reference_id"), "order_id": asSent(o, "order_id"),
			"customer_id": asSent(o, "customer_id"), "note": o.Attrs["note"]} {
			if v != nil {
				m[field] = v
			}
		}
		return m
	},
	page: func(_ string, data []any, next string) map[string]any {
		m := map[string]any{"payments": data}
		if next != "" {
			m["cursor"] = next
		}
		return m
	},
	refuse: refuseSquare,
}, "v2", "payments")

// adyenWire: docs.adyen.com/api-explorer/Checkout/72/post/payments, as the Adyen library 16 reads it. The
// API reads no payments back.
var adyenWire = paymentAPI(orderWire{
	name: "adyen", cancel: []string{"cancels"}, created: http.StatusOK,
	id:       func(_, request string) string { return strings.ToUpper(digest("adyen/" + request)[:16]) },
	places:   map[string][]string{"amount": {"amount.value"}, "currency": {"amount.currency"}, "order": {"reference"}},
	required: map[string][]string{"payment": {"merchantAccount", "reference", "amount.value", "amount.currency"}},
	show: func(o store.Object) map[string]any {
		return map[string]any{"pspReference": o.ID, "resultCode": status(o, "Cancelled", "Authorised"), "merchantReference": o.Attrs["order"],
			"amount": map[string]any{"value": o.Attrs["amount"], "currency": o.Attrs["currency"]}}
	},
	page:   func(_ string, data []any, _ string) map[string]any { return map[string]any{"data": data} },
	refuse: refuseAdyen,
}, "v72", "payments")

// increaseWire: increase.com/documentation/api/ach-transfers, as the increase library 0.552 reads it.
var increaseWire = paymentAPI(orderWire{
	name: "increase", cancel: []string{"cancel"}, created: http.StatusOK,
	id: func(_, request string) string { return "ach_transfer_" + digest("increase/" + request)[:20] },
	places: map[string][]string{"amount": {"amount"}, "order": {"individual_id", "statement_descriptor"},
		"note": {"company_entry_description"}},
	required: map[string][]string{"payment": {"account_id", "amount", "statement_descriptor"}},
	show: func(o store.Object) map[string]any {
		m := map[string]any{"id": o.ID, "type": "ach_transfer", "created_at": rfc3339(o.At), "amount": o.Attrs["amount"], "currency": "USD",
			"network": "ach", "notifications_of_change": []any{}, "idempotency_key": orNull(o.Reference),
			"status": status(o, "canceled", "pending_submission")}
		for _, field := range []string{"account_id", "statement_descriptor", "account_number", "routing_number", "external_account_id",
			"individual_id", "individual_name", "company_entry_description"} {
			m[field] = asSent(o, field)
		}
		return m
	},
	page: func(_ string, data []any, next string) map[string]any {
		return map[string]any{"data": data, "next_cursor": orNull(next)}
	},
	refuse: refuseIncrease,
}, "ach_transfers")

// pointer is a place as GoCardless points to it: "/payments/amount" for "payments.amount".
func pointer(place string) string { return "/" + strings.ReplaceAll(place, ".", "/") }
