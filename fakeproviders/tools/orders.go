package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// The orders family speaks the plain wire of docs/providers/orders.md under every contract. Its key goes where
// the contract advertises it, spelt as that wants it.

var placeOrder = &Tool{
	name: "place_order", provider: "orders",
	about: "Order an item for a customer.",
	args: []argument{
		{name: "customer", kind: text, required: true, about: "Who orders."},
		{name: "item", kind: text, required: true, about: "What is ordered."},
		{name: "quantity", kind: number, about: "How many."},
		{name: "note", kind: text, about: "A remark, in free text."},
		{name: "region", kind: text, about: "Region whose endpoint takes it."},
	},
	lookUp:  "list_orders",
	class:   "order",
	effects: func(a arguments) []map[string]any { return []map[string]any{orderBody(a)} },
	plan: func(a arguments) []request {
		return []request{orderRequest("/orders", "order of "+a.text("item"), orderBody(a))}
	},
	read: readOrder,
}

var payOrder = &Tool{
	name: "pay_order", provider: "orders",
	about: "Pay an order. The amount is in the minor unit: 2500 is 25.00.",
	args: []argument{
		{name: "order", kind: text, required: true, about: "The order that is paid."},
		{name: "amount", kind: number, required: true, about: "Amount in the minor unit of the currency."},
		{name: "currency", kind: text, about: "Three-letter code."},
		{name: "note", kind: text, about: "A remark, in free text."},
		{name: "region", kind: text, about: "Region whose endpoint takes it."},
	},
	lookUp:  "list_payments",
	class:   "payment",
	effects: one("order", "amount", "currency", "note", "region"),
	plan: func(a arguments) []request {
		return []request{orderRequest("/payments", "payment of "+a.text("order"), a.pick("order", "amount", "currency", "note", "region"))}
	},
	read: readOrder,
}

// payUnderReference is for an API whose key stays with the object and finds it again: the reference is the key.
var payUnderReference = &Tool{
	name: "pay_under_reference", provider: "orders",
	about: "Pay an order under a reference of your own: the same reference again pays nothing more, and find_payment finds it.",
	args: []argument{
		{name: "order", kind: text, required: true, about: "The order that is paid."},
		{name: "amount", kind: number, required: true, about: "Amount in the minor unit of the currency."},
		{name: "note", kind: text, about: "A remark, in free text."},
		{name: "reference", kind: text, about: "Your own reference; find_payment finds the payment by it."},
	},
	lookUp: "find_payment", lookUpArgument: "reference",
	class:   "payment",
	effects: one("order", "amount", "note"),
	plan: func(a arguments) []request {
		r := orderRequest("/payments", "payment of "+a.text("order"), a.pick("order", "amount", "note"))
		if reference := a.text("reference"); reference != "" {
			r.placed = false
			r.header.Set("Idempotency-Key", reference)
		}
		return []request{r}
	},
	read: readOrder,
}

var listOrders = &Tool{
	name: "list_orders", provider: "orders", readOnly: true,
	about: "List the orders of a customer, oldest first.",
	args:  []argument{{name: "customer", kind: text, required: true, about: "The customer."}},
	plan: func(a arguments) []request {
		query := url.Values{"customer": {a.text("customer")}}
		return []request{jsonRequest(http.MethodGet, "/orders?"+query.Encode(), "orders of "+a.text("customer"), nil)}
	},
	read: readListed("orders", "customer", "item", "quantity", "note", "region", "status"),
}

var listOrderPayments = &Tool{
	name: "list_payments", provider: "orders", readOnly: true,
	about: "List the payments of an order, oldest first.",
	args:  []argument{{name: "order", kind: text, required: true, about: "The order."}},
	plan: func(a arguments) []request {
		query := url.Values{"order": {a.text("order")}}
		return []request{jsonRequest(http.MethodGet, "/payments?"+query.Encode(), "payments of "+a.text("order"), nil)}
	},
	read: readListed("payments", "order", "amount", "currency", "note", "region", "status"),
}

var findPayment = &Tool{
	name: "find_payment", provider: "orders", readOnly: true,
	about: "Find the payment that was made under a reference.",
	args:  []argument{{name: "reference", kind: text, required: true, about: "The reference given at the payment."}},
	plan: func(a arguments) []request {
		query := url.Values{"idempotency_key": {a.text("reference")}}
		return []request{jsonRequest(http.MethodGet, "/payments?"+query.Encode(), "payment under "+a.text("reference"), nil)}
	},
	read: readListed("payments", "order", "amount", "currency", "note", "status"),
}

func orderBody(a arguments) map[string]any {
	body := a.pick("customer", "item", "note", "region")
	if a.has("quantity") {
		body["quantity"] = a.number("quantity", 0)
	}
	return body
}

func orderRequest(path, about string, body map[string]any) request {
	r := jsonRequest(http.MethodPost, path, about, body)
	r.keyed, r.placed = nil, true
	return r
}

// readOrder reads the answer to a creation. An API that answers a key it knows by a conflict that names the
// object says no more than another that replays: it is read as such, as GoCardless's own clients do
// (gocardless_pro turns the conflict into a read of the object).
func readOrder(r response) outcome {
	o, _ := r.object()
	problem, _ := o["error"].(map[string]any)
	code, _ := problem["code"].(string)
	message, _ := problem["message"].(string)
	switch {
	case code == "idempotent_creation_conflict":
		return created(o, "existing")
	case r.status == http.StatusUnprocessableEntity && strings.HasPrefix(code, "idempotency_key_"):
		return outcome{status: Conflict, message: message}
	case r.status == http.StatusBadRequest && code == "idempotency_key_other_endpoint":
		return outcome{status: Conflict, message: message}
	}
	return readCreated(r)
}

// place puts a key where terms want it and as they want it: a quoted string (RFC 9651, section 3.3.3), or a
// UUID, which is made of the key (version 8, RFC 9562), so that the same key is the same UUID. Beside a
// repeatable request's id stands the time of its first sending; this server remembers no earlier one.
func place(r *request, key string, terms bench.KeyTerms, now time.Time) {
	switch terms.Syntax {
	case "sf-string":
		key = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
	case "uuid":
		sum := sha256.Sum256([]byte(key))
		sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
		h := hex.EncodeToString(sum[:16])
		key = h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	}
	where, name, _ := strings.Cut(terms.Location, ":")
	switch where {
	case "body":
		body := map[string]any{}
		if len(r.body) > 0 && json.Unmarshal(r.body, &body) != nil {
			return // not one of this family's requests
		}
		body[name] = key
		r.body, _ = json.Marshal(body) // it was JSON before: it cannot fail
	case "header":
		r.header.Set(name, key)
		if name == "Repeatability-Request-ID" {
			r.header.Set("Repeatability-First-Sent", now.UTC().Format(http.TimeFormat))
		}
	case "form":
		form, err := url.ParseQuery(string(r.body))
		if err != nil {
			return // not one of this family's requests
		}
		form.Set(name, key)
		r.body = []byte(form.Encode())
	case "query":
		path, query, _ := strings.Cut(r.path, "?")
		values, err := url.ParseQuery(query)
		if err != nil {
			return // likewise
		}
		values.Set(name, key)
		r.path = path + "?" + values.Encode()
	default:
		keyHeader(r, key)
	}
}
