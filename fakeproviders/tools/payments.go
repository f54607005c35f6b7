package tools

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// The payments family speaks the form-encoded wire of Stripe's API v1 (docs/providers/payments.md): an order is
// named by payment_intent on a refund and by metadata on a charge; a connected account by its header.

var refundOrder = &Tool{
	name: "refund_order", provider: "payments",
	about: "Refund an order, in whole or in part. The amount is in the minor unit: 2500 is 25.00.",
	args: []argument{
		{name: "order", kind: text, required: true, about: "The order to refund."},
		{name: "amount", kind: number, required: true, about: "Amount in the minor unit of the currency."},
		{name: "reason", kind: text, about: "Why it is refunded, in free text."},
	},
	lookUp:  "list_refunds",
	class:   "refund",
	effects: one("order", "amount", "reason"),
	plan: func(a arguments) []request {
		form := amountForm(a)
		form.Set("payment_intent", a.text("order"))
		setText(form, "metadata[reason]", a.text("reason"))
		return []request{formRequest("/v1/refunds", "refund of "+a.text("order"), form)}
	},
	read: readPayment,
}

var chargeOrder = &Tool{
	name: "charge_order", provider: "payments",
	about: "Charge the customer of an order. The amount is in the minor unit: 2500 is 25.00.",
	args: []argument{
		{name: "order", kind: text, required: true, about: "The order to charge."},
		{name: "amount", kind: number, required: true, about: "Amount in the minor unit of the currency."},
		{name: "currency", kind: text, about: "Three-letter code in lower case."},
		{name: "description", kind: text, about: "Text for the customer."},
	},
	lookUp:  "list_charges",
	class:   "charge",
	effects: one("order", "amount", "currency", "description"),
	plan: func(a arguments) []request {
		form := amountForm(a)
		form.Set("metadata[order]", a.text("order"))
		setText(form, "currency", a.text("currency"))
		setText(form, "description", a.text("description"))
		return []request{formRequest("/v1/charges", "charge of "+a.text("order"), form)}
	},
	read: readPayment,
}

var listRefunds = &Tool{
	name: "list_refunds", provider: "payments", readOnly: true,
	about: "List the refunds of an order, oldest first.",
	args:  []argument{{name: "order", kind: text, required: true, about: "The order."}},
	plan:  listPayments("/v1/refunds"),
	read:  readPayments("reason"),
}

var listCharges = &Tool{
	name: "list_charges", provider: "payments", readOnly: true,
	about: "List the charges of an order, oldest first.",
	args:  []argument{{name: "order", kind: text, required: true, about: "The order."}},
	plan:  listPayments("/v1/charges"),
	read:  readPayments("currency", "description"),
}

// accountArgument names the connected account that money is moved for.
var accountArgument = argument{name: "account", kind: text, about: "Connected account that it is done for; your own unless given."}

var createPayout = &Tool{
	name: "create_payout", provider: "payments",
	about: "Pay out an account's balance to its bank. The amount is in the minor unit: 2500 is 25.00.",
	args: []argument{
		{name: "amount", kind: number, required: true, about: "Amount in the minor unit of the currency."},
		{name: "currency", kind: text, required: true, about: "Three-letter code in lower case."},
		{name: "description", kind: text, about: "What it is for."},
		accountArgument,
	},
	lookUp:  "list_payouts",
	class:   "payout",
	effects: one("account", "amount", "currency", "description"),
	plan:    payOut("/v1/payouts", "payout", "description"),
	read:    readPayment,
}

var createTransfer = &Tool{
	name: "create_transfer", provider: "payments",
	about: "Move money from a balance to a connected account. The amount is in the minor unit: 2500 is 25.00.",
	args: []argument{
		{name: "amount", kind: number, required: true, about: "Amount in the minor unit of the currency."},
		{name: "currency", kind: text, required: true, about: "Three-letter code in lower case."},
		{name: "destination", kind: text, required: true, about: "Account that receives it."},
		{name: "description", kind: text, about: "What it is for."},
		accountArgument,
	},
	lookUp:  "list_transfers",
	class:   "transfer",
	effects: one("account", "amount", "currency", "destination", "description"),
	plan:    payOut("/v1/transfers", "transfer", "destination", "description"),
	read:    readPayment,
}

var listPayouts = &Tool{
	name: "list_payouts", provider: "payments", readOnly: true,
	about: "List the payouts of an account, oldest first.",
	args:  []argument{accountArgument},
	plan:  listMoves("/v1/payouts", "payouts"),
	read:  readPayments("currency", "description"),
}

var listTransfers = &Tool{
	name: "list_transfers", provider: "payments", readOnly: true,
	about: "List the transfers from an account to one that received them, oldest first.",
	args:  []argument{{name: "destination", kind: text, required: true, about: "Account that received them."}, accountArgument},
	plan:  listMoves("/v1/transfers", "transfers", "destination"),
	read:  readPayments("currency", "destination", "description"),
}

func payOut(path, noun string, texts ...string) func(arguments) []request {
	return func(a arguments) []request {
		form := amountForm(a)
		form.Set("currency", a.text("currency"))
		for _, name := range texts {
			setText(form, name, a.text(name))
		}
		return []request{forAccount(formRequest(path, noun+" of "+form.Get("amount")+" "+a.text("currency"), form), a)}
	}
}

func listMoves(path, noun string, filters ...string) func(arguments) []request {
	return func(a arguments) []request {
		query := url.Values{"limit": {"100"}}
		for _, name := range filters {
			setText(query, name, a.text(name))
		}
		return []request{forAccount(request{method: http.MethodGet, path: path + "?" + query.Encode(), about: "list of " + noun, header: stripeKey()}, a)}
	}
}

// forAccount puts the connected account of a call on a request: docs.stripe.com/connect/authentication.
func forAccount(r request, a arguments) request {
	if account := a.text("account"); account != "" {
		r.header.Set("Stripe-Account", account)
	}
	return r
}

// stripeKey is the header that authenticates a request: a test key, of no account's.
func stripeKey() http.Header { return http.Header{"Authorization": {"Bearer sk_test_sixthcopy"}} }

func amountForm(a arguments) url.Values {
	return url.Values{"amount": {strconv.FormatInt(a.number("amount", 0), 10)}}
}

func setText(form url.Values, name, value string) {
	if value != "" {
		form.Set(name, value)
	}
}

func formRequest(path, about string, form url.Values) request {
	r := request{method: http.MethodPost, path: path, about: about, body: []byte(form.Encode()), header: stripeKey(), keyed: keyHeader}
	r.header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

// keyHeader is where payments and the plain JSON providers take an idempotency key.
func keyHeader(r *request, key string) { r.header.Set("Idempotency-Key", key) }

func listPayments(path string) func(arguments) []request {
	return func(a arguments) []request {
		query := url.Values{"payment_intent": {a.text("order")}, "limit": {"100"}}
		return []request{{method: http.MethodGet, path: path + "?" + query.Encode(), about: "list of " + a.text("order"), header: stripeKey()}}
	}
}

func readPayment(r response) outcome {
	o, ok := r.object()
	if r.status/100 == 2 {
		return created(o, "id")
	}
	problem, _ := o["error"].(map[string]any)
	message, _ := problem["message"].(string)
	if ok && r.status == http.StatusBadRequest && problem["type"] == "idempotency_error" {
		return outcome{status: Conflict, message: message}
	}
	return r.failed(message)
}

func readPayments(optional ...string) func(response) outcome {
	return func(r response) outcome {
		if r.status/100 != 2 {
			return readPayment(r)
		}
		return listed(r, "data", func(o map[string]any) map[string]any {
			metadata, _ := o["metadata"].(map[string]any)
			found := pickGiven(o, append([]string{"id", "amount"}, optional...)...)
			for _, order := range []any{metadata["order"], o["payment_intent"], o["charge"]} {
				if s, ok := order.(string); ok && s != "" {
					found["order"] = s
					break
				}
			}
			if reason, ok := metadata["reason"].(string); ok && slices.Contains(optional, "reason") {
				found["reason"] = reason
			}
			return found
		}, newestFirst)
	}
}
