package tools

import (
	"net/http"
	"net/url"
)

// The outbound family speaks the JSON wire of Stripe's API v2 (docs/providers/outbound.md).

var sendPayout = &Tool{
	name: "send_payout", provider: "outbound",
	about: "Pay a recipient out of the financial account. The amount is in the minor unit: 2500 is 25.00.",
	args: []argument{
		{name: "recipient", kind: text, required: true, about: "Account that is paid."},
		{name: "amount", kind: number, required: true, about: "Amount in the minor unit of the currency."},
		{name: "currency", kind: text, required: true, about: "Three-letter code in lower case."},
		{name: "description", kind: text, about: "What it is for."},
	},
	lookUp:  "list_sent_payouts",
	class:   "outbound_payment",
	effects: one("recipient", "amount", "currency", "description"),
	plan: func(a arguments) []request {
		body := a.pick("description")
		currency := a.text("currency")
		body["from"] = map[string]any{"financial_account": financialAccount, "currency": currency}
		body["to"] = map[string]any{"recipient": a.text("recipient")}
		body["amount"] = map[string]any{"value": a.number("amount", 0), "currency": currency}
		r := jsonRequest(http.MethodPost, "/v2/money_management/outbound_payments", "payment to "+a.text("recipient"), body)
		return []request{withStripeKey(r)}
	},
	read: readPayment,
}

// financialAccount is the account that the tool pays from.
const financialAccount = "fa_sixthcopy"

var listSentPayouts = &Tool{
	name: "list_sent_payouts", provider: "outbound", readOnly: true,
	about: "List the payments to a recipient, oldest first. A new one is not in the list at once.",
	args:  []argument{{name: "recipient", kind: text, required: true, about: "Account that was paid."}},
	plan: func(a arguments) []request {
		query := url.Values{"recipient": {a.text("recipient")}, "limit": {"100"}}
		r := jsonRequest(http.MethodGet, "/v2/money_management/outbound_payments?"+query.Encode(), "payments to "+a.text("recipient"), nil)
		return []request{withStripeKey(r)}
	},
	read: func(r response) outcome {
		if r.status/100 != 2 {
			return readPayment(r)
		}
		return listed(r, "data", func(o map[string]any) map[string]any {
			found := pickGiven(o, "id", "description")
			amount, _ := o["amount"].(map[string]any)
			to, _ := o["to"].(map[string]any)
			found["amount"], found["currency"], found["recipient"] = amount["value"], amount["currency"], to["recipient"]
			return found
		}, newestFirst)
	},
}

func withStripeKey(r request) request {
	for name, values := range stripeKey() {
		r.header[name] = values
	}
	return r
}
