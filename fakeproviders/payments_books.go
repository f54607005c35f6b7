package fakeproviders

import (
	"maps"
	"slices"
	"strings"

	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// openingBalance is what an account has in each currency before its first payment, in the minor unit.
const openingBalance = 100_000_000

// books are the objects of one account as they are now, made by reading its ledger in order of commit.
type books struct {
	entries map[string]*entry
	order   []*entry
	balance map[string]int // by currency, beside the opening balance
}

// entry is one object.
type entry struct {
	id, endpoint string
	order        string // of the caller's own
	body         map[string]any
}

func (e *entry) number(name string) int {
	n, _ := e.body[name].(int)
	return n
}

func booksOf(ledger []store.Object) *books {
	b := &books{entries: map[string]*entry{}, balance: map[string]int{}}
	for _, o := range ledger {
		b.apply(o)
	}
	return b
}

// available is what can be paid out of a balance.
func (b *books) available(currency string) int { return openingBalance + b.balance[currency] }

func (b *books) balanceShown(live bool) map[string]any {
	currencies := slices.Sorted(maps.Keys(b.balance))
	if len(currencies) == 0 {
		currencies = []string{"usd"}
	}
	available, pending := []any{}, []any{}
	for _, c := range currencies {
		available = append(available, map[string]any{"amount": b.available(c), "currency": c, "source_types": map[string]any{"card": b.available(c)}})
		pending = append(pending, map[string]any{"amount": 0, "currency": c, "source_types": map[string]any{"card": 0}})
	}
	return map[string]any{"object": "balance", "livemode": live, "available": available, "pending": pending}
}

// shown is an entry's answer, with the named references to other entries shown whole.
func (b *books) shown(e *entry, expand []string) map[string]any {
	body := maps.Clone(e.body)
	for _, name := range expand {
		name, _, _ = strings.Cut(name, ".")
		if other := b.entries[text(body, name)]; other != nil {
			body[name] = maps.Clone(other.body)
		}
	}
	if e.endpoint == "transfers" {
		data := []any{}
		for _, r := range slices.Backward(b.order) {
			if r.endpoint == "reversals" && r.body["transfer"] == e.id {
				data = append(data, maps.Clone(r.body))
			}
		}
		body["reversals"] = map[string]any{"object": "list", "url": "/v1/transfers/" + e.id + "/reversals", "has_more": false, "data": data}
	}
	return body
}

// apply reads one effect. What an effect asked for beside its attributes is its detail: the form as sent, the
// object that it changes ("of"), the charge that comes with an intent.
func (b *books) apply(o store.Object) {
	endpoint, of := text(o.Detail, "endpoint"), b.entries[text(o.Detail, "of")]
	form, _ := o.Detail["form"].(map[string]any)
	switch o.Class {
	case "intent":
		b.enter(intentEntry(o, form))
	case "charge":
		intent := of
		if endpoint == "payment_intents" {
			intent = b.enter(intentEntry(o, form))
		}
		b.charge(o, intent, form)
	case "capture":
		if of != nil {
			b.capture(of, number(o.Attrs, "amount"))
		}
	case "refund":
		b.refund(o, form)
	case "payout":
		b.enter(payoutEntry(o, form))
		b.balance[currencyOf(o)] -= number(o.Attrs, "amount")
	case "transfer":
		b.enter(transferEntry(o, form))
		b.balance[currencyOf(o)] -= number(o.Attrs, "amount")
	case "reversal":
		b.reversal(o, form)
	case "cancellation":
		if of != nil {
			b.cancel(of, o, form)
		}
	}
}

func (b *books) enter(e *entry) *entry {
	b.entries[e.id] = e
	b.order = append(b.order, e)
	return e
}

func number(m map[string]any, name string) int {
	n, _ := m[name].(int)
	return n
}

func currencyOf(o store.Object) string { return firstText(text(o.Attrs, "currency"), "usd") }

// isLive says whether an object is one of live mode.
func isLive(o store.Object) bool { return o.Detail["live"] == true }

// metadataOf is the metadata as sent; of what was there before the trial, the order.
func metadataOf(o store.Object, form map[string]any) map[string]any {
	metadata := map[string]any{}
	for name, v := range form {
		if inner, ok := strings.CutPrefix(name, "metadata["); ok {
			metadata[strings.TrimSuffix(inner, "]")] = v
		}
	}
	if o.Request == "" && o.Attrs["order"] != nil {
		metadata["order"] = o.Attrs["order"]
	}
	return metadata
}

// null shows an absent text as null.
func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// basis is what all objects have.
func basis(o store.Object, form map[string]any, object string) map[string]any {
	return map[string]any{
		"id": o.ID, "object": object, "created": o.At.Unix(), "livemode": isLive(o),
		"amount": number(o.Attrs, "amount"), "currency": currencyOf(o), "metadata": metadataOf(o, form),
		"description": o.Attrs["description"], "balance_transaction": "txn_" + digest(o.ID)[:24],
	}
}

func intentEntry(o store.Object, form map[string]any) *entry {
	m := basis(o, form, "payment_intent")
	delete(m, "balance_transaction")
	method := firstText(text(form, "payment_method"), text(form, "source"))
	status := "requires_payment_method"
	if method != "" {
		status = "requires_confirmation"
	}
	maps.Copy(m, map[string]any{
		"status": status, "payment_method": null(method), "payment_method_types": []any{"card"}, "latest_charge": nil,
		"amount_capturable": 0, "amount_received": 0, "capture_method": firstText(text(form, "capture_method"), "automatic"),
		"confirmation_method": firstText(text(form, "confirmation_method"), "automatic"), "client_secret": o.ID + "_secret_" + digest(o.ID + "secret")[:24],
		"customer": null(text(form, "customer")), "canceled_at": nil, "cancellation_reason": nil, "last_payment_error": nil,
		"next_action": nil, "receipt_email": null(text(form, "receipt_email")), "transfer_group": null(text(form, "transfer_group")),
		"setup_future_usage": null(text(form, "setup_future_usage")), "statement_descriptor": null(text(form, "statement_descriptor")),
	})
	return &entry{id: o.ID, endpoint: "payment_intents", order: text(o.Attrs, "order"), body: m}
}

// charge enters a charge: of its own, or of an intent. Until it is captured it moves nothing.
func (b *books) charge(o store.Object, intent *entry, form map[string]any) {
	captured := text(form, "capture") != "false"
	if intent != nil {
		captured = intent.body["capture_method"] != "manual"
		if id := text(o.Detail, "charge"); id != "" {
			o.ID = id
		}
	}
	m := basis(o, form, "charge")
	method := firstText(text(form, "payment_method"), text(form, "source"))
	if intent != nil {
		method = firstText(method, text(intent.body, "payment_method"))
		intent.body["payment_method"], m["payment_intent"] = null(method), intent.id
		intent.body["latest_charge"], intent.body["status"] = o.ID, "requires_capture"
		intent.body["amount_capturable"] = number(o.Attrs, "amount")
		m["metadata"], m["description"], m["customer"] = intent.body["metadata"], intent.body["description"], intent.body["customer"]
	}
	maps.Copy(m, map[string]any{
		"status": "succeeded", "paid": true, "captured": false, "amount_captured": 0, "amount_refunded": 0, "refunded": false, "disputed": false,
		"payment_intent": m["payment_intent"], "payment_method": null(method), "customer": null(firstText(text(m, "customer"), text(form, "customer"))),
		"failure_code": nil, "failure_message": nil, "receipt_email": null(text(form, "receipt_email")), "transfer_group": null(text(form, "transfer_group")),
		"outcome":         map[string]any{"network_status": "approved_by_network", "type": "authorized", "risk_level": "normal", "reason": nil, "seller_message": "Payment complete."},
		"billing_details": map[string]any{"address": nil, "email": nil, "name": nil, "phone": nil},
		"fraud_details":   map[string]any{}, "statement_descriptor": null(text(form, "statement_descriptor")),
	})
	e := b.enter(&entry{id: o.ID, endpoint: "charges", order: text(o.Attrs, "order"), body: m})
	if captured {
		b.capture(e, e.number("amount"))
	} else {
		m["balance_transaction"] = nil
	}
}

// capture takes an authorized amount; what is left of the authorization is released.
func (b *books) capture(e *entry, amount int) {
	if e.endpoint == "payment_intents" {
		if e = b.entries[text(e.body, "latest_charge")]; e == nil {
			return
		}
	}
	e.body["captured"], e.body["amount_captured"] = true, amount
	e.body["balance_transaction"] = "txn_" + digest(e.id)[:24]
	b.balance[text(e.body, "currency")] += amount
	if intent := b.entries[text(e.body, "payment_intent")]; intent != nil {
		intent.body["status"], intent.body["amount_capturable"], intent.body["amount_received"] = "succeeded", 0, amount
	}
}

func (b *books) refund(o store.Object, form map[string]any) {
	m := basis(o, form, "refund")
	charge := b.charged(form)
	reason := text(form, "reason")
	if o.Request == "" {
		form = map[string]any{"payment_intent": text(o.Attrs, "order")}
		reason = text(o.Attrs, "reason")
	}
	maps.Copy(m, map[string]any{
		"status": "succeeded", "charge": null(text(form, "charge")), "payment_intent": null(text(form, "payment_intent")),
		"reason": null(reason), "receipt_number": nil, "source_transfer_reversal": nil, "transfer_reversal": nil,
		"destination_details": map[string]any{"type": "card", "card": map[string]any{"type": "refund", "reference_status": "pending", "reference_type": "acquirer_reference_number"}},
	})
	delete(m, "livemode") // a refund has none
	if charge != nil {
		m["charge"], m["payment_intent"], m["currency"] = charge.id, charge.body["payment_intent"], charge.body["currency"]
		b.refunded(charge, number(o.Attrs, "amount"))
	}
	b.balance[text(m, "currency")] -= number(o.Attrs, "amount")
	b.enter(&entry{id: o.ID, endpoint: "refunds", order: text(o.Attrs, "order"), body: m})
}

// charged is the charge that a refund names by its id or by that of its intent; nil if these books have none.
func (b *books) charged(form map[string]any) *entry {
	if e := b.entries[text(form, "charge")]; e != nil && e.endpoint == "charges" {
		return e
	}
	if e := b.entries[text(form, "payment_intent")]; e != nil {
		return b.entries[text(e.body, "latest_charge")]
	}
	return nil
}

func (b *books) refunded(charge *entry, amount int) {
	n := charge.number("amount_refunded") + amount
	charge.body["amount_refunded"], charge.body["refunded"] = n, n >= charge.number("amount_captured")
}

func payoutEntry(o store.Object, form map[string]any) *entry {
	m := basis(o, form, "payout")
	maps.Copy(m, map[string]any{
		"status": "pending", "arrival_date": o.At.Unix(), "automatic": false, "destination": firstText(text(o.Attrs, "destination"), "ba_1PresetBankAccount"),
		"method": firstText(text(form, "method"), "standard"), "source_type": firstText(text(form, "source_type"), "card"), "type": "bank_account",
		"statement_descriptor": null(text(form, "statement_descriptor")), "failure_code": nil, "failure_message": nil,
		"failure_balance_transaction": nil, "original_payout": nil, "reversed_by": nil, "reconciliation_status": "not_applicable",
	})
	return &entry{id: o.ID, endpoint: "payouts", order: text(o.Attrs, "order"), body: m}
}

func transferEntry(o store.Object, form map[string]any) *entry {
	m := basis(o, form, "transfer")
	maps.Copy(m, map[string]any{
		"destination": o.Attrs["destination"], "destination_payment": "py_" + digest(o.ID)[:24], "amount_reversed": 0, "reversed": false,
		"source_transaction": null(text(form, "source_transaction")), "source_type": firstText(text(form, "source_type"), "card"),
		"transfer_group": null(text(form, "transfer_group")),
	})
	return &entry{id: o.ID, endpoint: "transfers", body: m}
}

func (b *books) reversal(o store.Object, form map[string]any) {
	t := b.entries[text(o.Attrs, "transfer")]
	m := basis(o, form, "transfer_reversal")
	delete(m, "livemode")
	delete(m, "description")
	maps.Copy(m, map[string]any{"transfer": o.Attrs["transfer"], "destination_payment_refund": nil, "source_refund": nil})
	if t != nil {
		n := t.number("amount_reversed") + number(o.Attrs, "amount")
		t.body["amount_reversed"], t.body["reversed"], m["currency"] = n, n >= t.number("amount"), t.body["currency"]
		b.balance[text(m, "currency")] += number(o.Attrs, "amount")
	}
	b.enter(&entry{id: o.ID, endpoint: "reversals", body: m})
}

// cancel undoes what an object did to others.
func (b *books) cancel(e *entry, o store.Object, form map[string]any) {
	e.body["status"] = "canceled"
	switch e.endpoint {
	case "payment_intents":
		e.body["canceled_at"], e.body["amount_capturable"] = o.At.Unix(), 0
		e.body["cancellation_reason"] = null(text(form, "cancellation_reason"))
		if charge := b.entries[text(e.body, "latest_charge")]; charge != nil { // the authorization is given back
			b.refunded(charge, charge.number("amount"))
		}
	case "payouts":
		b.balance[text(e.body, "currency")] += e.number("amount")
	case "refunds":
		b.balance[text(e.body, "currency")] += e.number("amount")
		if charge := b.entries[text(e.body, "charge")]; charge != nil {
			b.refunded(charge, -e.number("amount"))
		}
	}
}
