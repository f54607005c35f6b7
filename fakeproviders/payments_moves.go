package fakeproviders

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// paymentParams are the parameters that each mutation takes beside metadata and expand, by their names before
// a bracket: those of the official SDKs (stripe-python 16.1.0).
var paymentParams = map[string]string{
	"charges": "amount application_fee_amount capture currency customer description destination on_behalf_of radar_options receipt_email " +
		"shipping source statement_descriptor statement_descriptor_suffix transfer_data transfer_group payment_intent charge",
	"charges/capture": "amount application_fee application_fee_amount receipt_email statement_descriptor statement_descriptor_suffix transfer_data transfer_group",
	"payment_intents": "amount amount_details application_fee_amount automatic_payment_methods capture_method confirm confirmation_method " +
		"confirmation_token currency customer description error_on_requires_action mandate mandate_data off_session on_behalf_of payment_details " +
		"payment_method payment_method_configuration payment_method_data payment_method_options payment_method_types radar_options receipt_email " +
		"return_url setup_future_usage shipping statement_descriptor statement_descriptor_suffix transfer_data transfer_group use_stripe_sdk payment_intent charge",
	"payment_intents/confirm": "amount_details capture_method confirmation_token error_on_requires_action mandate mandate_data off_session payment_details " +
		"payment_method payment_method_data payment_method_options payment_method_types radar_options receipt_email return_url setup_future_usage shipping use_stripe_sdk",
	"payment_intents/capture": "amount_details amount_to_capture application_fee_amount final_capture payment_details statement_descriptor statement_descriptor_suffix transfer_data",
	"payment_intents/cancel":  "cancellation_reason",
	"payouts":                 "amount currency description destination method payout_method source_type statement_descriptor",
	"payouts/cancel":          "",
	"refunds":                 "amount charge currency customer instructions_email origin payment_intent reason refund_application_fee reverse_transfer",
	"refunds/cancel":          "",
	"transfers":               "amount currency description destination source_transaction source_type transfer_group",
	"transfers/reversals":     "amount description refund_application_fee",
}

// paymentMove is a mutation in work.
type paymentMove struct {
	x    *exchange
	rt   paymentRoute
	form url.Values
	kept map[string]any // the form as it is kept in the ledger
	b    *books
	now  *entry // object that it changes; nil: it makes one
}

// move carries out a mutation: what is wrong with the request itself is told first and is never kept under
// its key; from there on it is executed, and what comes of it is the answer to its key.
func (p payments) move(x *exchange, rt paymentRoute) (answer, error) {
	m := &paymentMove{x: x, rt: rt}
	if r := m.read(); r != nil {
		return p.refuse(*r), nil
	}
	ledger, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	ledger = slices.DeleteFunc(ledger, func(o store.Object) bool { return !own(x, o) })
	m.b = booksOf(ledger)
	o, r := m.execute()
	if r != nil {
		a := p.refuse(*r)
		a.executed = true
		return a, nil
	}
	o.Class = x.call.Class
	if o.Attrs == nil {
		o.Attrs = x.call.Attrs
	}
	if o.Detail == nil {
		o.Detail = map[string]any{}
	}
	o.Detail["form"] = m.kept
	if livemode(x.raw) {
		o.Detail["live"] = true
	}
	prefix := "txn_"
	switch {
	case rt.id == "":
		o.Detail["endpoint"], prefix = rt.endpoint, paymentPrefix[rt.endpoint]
	case rt.step == "reversals":
		prefix = paymentPrefix["reversals"]
	case rt.step == "confirm":
		prefix = "ch_"
	}
	if m.now != nil {
		o.Detail["of"], o.Undoes = m.now.id, undone(rt, m.now.id)
	}
	o.ID, o.At = objectID(prefix, x.name, 0), x.p.clock.Now()
	m.b.apply(o)
	e := m.b.entries[o.ID]
	if m.now != nil && rt.step != "reversals" {
		e = m.now
		o.Detail["shown"] = m.b.shown(e, nil)
	}
	x.add(prefix, o)
	return jsonAnswer(http.StatusOK, m.b.shown(e, expansions(m.form))), nil
}

// own says whether an object belongs to the account and the mode of a request.
func own(x *exchange, o store.Object) bool {
	return o.Principal == x.call.Principal && isLive(o) == livemode(x.raw)
}

// undone is the object that a cancellation takes back.
func undone(rt paymentRoute, id string) string {
	if rt.step == "cancel" {
		return id
	}
	return ""
}

// read checks the request itself: its form, the parameters that it must have, and their spelling.
func (m *paymentMove) read() *refusal {
	form, err := url.ParseQuery(string(m.x.raw.Body))
	if err != nil {
		r := invalid("", "The body is not a form: %v", err)
		return &r
	}
	m.form, m.kept = form, map[string]any{}
	known := strings.Fields(paymentParams[m.rt.move])
	for name := range form {
		base, _, _ := strings.Cut(name, "[")
		if base != "metadata" && base != "expand" && !slices.Contains(known, base) {
			return parameter("parameter_unknown", name, "Received unknown parameter: %s", name)
		}
		if base != "expand" {
			m.kept[name] = form.Get(name)
		}
	}
	for _, name := range []string{"amount", "amount_to_capture", "application_fee_amount"} {
		v := form.Get(name)
		if n, err := strconv.Atoi(v); form.Has(name) && (err != nil || n < 1) {
			return parameter("parameter_invalid_integer", name, "Invalid positive integer: %q", v)
		} else if n > 99_999_999 {
			return parameter("amount_too_large", name, "Amount must be no more than 99999999 (it currently is %d).", n)
		}
	}
	for _, name := range []string{"capture", "confirm", "off_session", "refund_application_fee", "reverse_transfer"} {
		if v := form.Get(name); v != "" && v != "true" && v != "false" {
			return parameter("", name, "Invalid boolean: %s", v)
		}
	}
	if m.rt.id != "" {
		return nil
	}
	var missing string
	switch {
	case (m.rt.endpoint != "refunds" || !named(form)) && form.Get("amount") == "":
		missing = "amount"
	case (m.rt.endpoint == "payouts" || m.rt.endpoint == "transfers") && form.Get("currency") == "":
		missing = "currency"
	case m.rt.endpoint == "transfers" && form.Get("destination") == "":
		missing = "destination"
	case m.rt.endpoint == "refunds" && orderOf(form) == "":
		return parameter("parameter_missing", "payment_intent", "Missing required param: payment_intent (or charge, or metadata[order]).")
	}
	if missing != "" {
		return parameter("parameter_missing", missing, "Missing required param: %s.", missing)
	}
	reasons := []string{"", "duplicate", "fraudulent", "requested_by_customer"}
	if m.rt.endpoint == "refunds" && !slices.Contains(reasons, form.Get("reason")) {
		return parameter("", "reason", "Invalid reason: must be one of duplicate, fraudulent, or requested_by_customer")
	}
	return nil
}

// named says whether a refund names a payment by Stripe's id, whose amount is known.
func named(form url.Values) bool {
	return stripeID(form.Get("payment_intent"), "pi_") || stripeID(form.Get("charge"), "ch_")
}

// stripeID says whether a name has the form of Stripe's ids: what is called otherwise is the caller's own.
func stripeID(name, prefix string) bool {
	id, ok := strings.CutPrefix(name, prefix)
	return ok && len(id) >= 14 && strings.Trim(id, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}

// parameter is a refusal of a request for one of its parameters.
func parameter(code, name, format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, code: firstText(code, "invalid_request"), param: name, message: fmt.Sprintf(format, args...)}
}

func noSuch(endpoint, id, param string) refusal {
	noun := strings.TrimSuffix(endpoint, "s")
	return refusal{status: http.StatusNotFound, code: "not_found", param: param, message: "No such " + noun + ": '" + id + "'"}
}

// execute says what the mutation makes, or why it fails.
func (m *paymentMove) execute() (store.Object, *refusal) {
	if m.rt.id != "" {
		if m.now = m.b.entries[m.rt.id]; m.now == nil || m.now.endpoint != m.rt.endpoint {
			r := noSuch(m.rt.endpoint, m.rt.id, "id")
			return store.Object{}, &r
		}
	}
	switch m.rt.move {
	case "charges":
		return store.Object{}, declined(m.form.Get("source"))
	case "payment_intents":
		if m.x.call.Class != "charge" {
			return store.Object{}, nil
		}
		method := m.form.Get("payment_method")
		if method == "" {
			return store.Object{}, noMethod()
		}
		return store.Object{Detail: map[string]any{"charge": objectID("ch_", m.x.name, 0)}}, declined(method)
	case "payment_intents/confirm":
		return m.confirm()
	case "payment_intents/capture", "charges/capture":
		return m.capture()
	case "payment_intents/cancel", "payouts/cancel", "refunds/cancel":
		return store.Object{}, m.cancel()
	case "refunds":
		return m.refund()
	case "transfers/reversals":
		return m.reverse()
	}
	return m.payOut() // payouts, transfers
}

func (m *paymentMove) confirm() (store.Object, *refusal) {
	body := m.now.body
	if status := body["status"]; status != "requires_confirmation" && status != "requires_payment_method" {
		return store.Object{}, unexpected(body, "confirm")
	}
	method := firstText(m.form.Get("payment_method"), text(body, "payment_method"))
	if method == "" {
		return store.Object{}, noMethod()
	}
	attrs := pick(map[string]any{"order": m.now.order, "amount": body["amount"], "currency": body["currency"], "description": body["description"]},
		"order", "amount", "currency", "description")
	return store.Object{Attrs: attrs}, declined(method)
}

func (m *paymentMove) capture() (store.Object, *refusal) {
	authorized, body := m.now.number("amount"), m.now.body
	switch {
	case m.now.endpoint == "charges" && body["captured"] == true:
		return store.Object{}, parameter("charge_already_captured", "", "Charge %s has already been captured.", m.now.id)
	case m.now.endpoint == "payment_intents" && body["status"] != "requires_capture":
		return store.Object{}, unexpected(body, "capture")
	}
	amount := authorized
	if n, ok := m.x.call.Attrs["amount"].(int); ok {
		amount = n
	}
	if amount > authorized {
		return store.Object{}, parameter("amount_too_large", "amount_to_capture", "The amount to capture (%d) is greater than the amount that can be captured (%d).", amount, authorized)
	}
	return store.Object{Attrs: map[string]any{"payment": m.now.id, "amount": amount}}, nil
}

func (m *paymentMove) cancel() *refusal {
	body := m.now.body
	switch m.now.endpoint {
	case "payment_intents":
		if s := body["status"]; s == "succeeded" || s == "canceled" {
			return unexpected(body, "cancel")
		}
	case "payouts":
		if body["status"] != "pending" {
			return parameter("", "", "Payouts can only be canceled while they are pending; %s is %s.", m.now.id, body["status"])
		}
	case "refunds":
		if body["status"] == "canceled" {
			return parameter("", "", "The refund %s is canceled already.", m.now.id)
		}
	}
	return nil
}

// refund takes the amount that is left unless it names one. What it names by a name that is not Stripe's is an
// order of the caller's own: paid elsewhere, and no limit is known.
func (m *paymentMove) refund() (store.Object, *refusal) {
	charge := m.b.charged(m.kept)
	for param, endpoint := range map[string]string{"charge": "charges", "payment_intent": "payment_intents"} {
		id := m.form.Get(param)
		if stripeID(id, paymentPrefix[endpoint]) && (m.b.entries[id] == nil || m.b.entries[id].endpoint != endpoint) {
			r := noSuch(endpoint, id, param)
			return store.Object{}, &r
		}
		if stripeID(id, "pi_") && charge == nil {
			return store.Object{}, parameter("payment_intent_unexpected_state", param, "This PaymentIntent (%s) does not have a successful charge to refund.", id)
		}
	}
	attrs := pick(m.x.call.Attrs, "order", "amount", "reason")
	amount, given := attrs["amount"].(int)
	if charge == nil {
		return store.Object{Attrs: attrs}, nil
	}
	left := charge.number("amount_captured") - charge.number("amount_refunded")
	switch {
	case charge.body["captured"] != true:
		return store.Object{}, parameter("charge_not_refundable", "", "Charge %s is not captured: cancel its payment instead.", charge.id)
	case left <= 0:
		return store.Object{}, parameter("charge_already_refunded", "", "Charge %s has already been refunded.", charge.id)
	case !given:
		attrs["amount"] = left
	case amount > left:
		return store.Object{}, parameter("", "amount", "Refund amount (%d) is greater than unrefunded amount on charge (%d)", amount, left)
	}
	return store.Object{Attrs: attrs}, nil
}

func (m *paymentMove) reverse() (store.Object, *refusal) {
	left := m.now.number("amount") - m.now.number("amount_reversed")
	amount, given := m.x.call.Attrs["amount"].(int)
	switch {
	case left <= 0:
		return store.Object{}, parameter("", "", "The transfer %s has already been fully reversed.", m.now.id)
	case !given:
		amount = left
	case amount > left:
		return store.Object{}, parameter("", "amount", "The reversal amount (%d) is greater than the unreversed amount of the transfer (%d).", amount, left)
	}
	return store.Object{Attrs: map[string]any{"transfer": m.now.id, "amount": amount}}, nil
}

// payOut takes the amount out of the balance.
func (m *paymentMove) payOut() (store.Object, *refusal) {
	amount, currency := number(m.x.call.Attrs, "amount"), m.form.Get("currency")
	if left := m.b.available(currency); amount > left {
		return store.Object{}, parameter("balance_insufficient", "amount", "You have insufficient funds in your Stripe account for this %s: %d of %d %s.",
			strings.TrimSuffix(m.rt.endpoint, "s"), left, amount, currency)
	}
	return store.Object{}, nil
}

func noMethod() *refusal {
	return parameter("payment_intent_unexpected_state", "payment_method",
		"You cannot confirm this PaymentIntent because it's missing a payment method. Update the PaymentIntent with a payment method and then confirm it again.")
}

func unexpected(body map[string]any, verb string) *refusal {
	return parameter("payment_intent_unexpected_state", "", "You cannot %s this PaymentIntent because it has a status of %s.", verb, body["status"])
}

// declines are the test tokens and test payment methods that a bank declines, without tok_, pm_card_ and visa_
// before them, with the error code and the decline code: docs.stripe.com/testing#declined-payments.
var declines = map[string][2]string{
	"chargeDeclined":                      {"card_declined", "generic_decline"},
	"chargeDeclinedInsufficientFunds":     {"card_declined", "insufficient_funds"},
	"chargeDeclinedLostCard":              {"card_declined", "lost_card"},
	"chargeDeclinedStolenCard":            {"card_declined", "stolen_card"},
	"chargeDeclinedFraudulent":            {"card_declined", "fraudulent"},
	"chargeDeclinedVelocityLimitExceeded": {"card_declined", "card_velocity_exceeded"},
	"chargeDeclinedExpiredCard":           {"expired_card", "expired_card"},
	"chargeDeclinedIncorrectCvc":          {"incorrect_cvc", "incorrect_cvc"},
	"chargeDeclinedProcessingError":       {"processing_error", "processing_error"},
}

var declineTexts = map[string]string{
	"card_declined": "Your card was declined.", "expired_card": "Your card has expired.",
	"incorrect_cvc":    "Your card's security code is incorrect.",
	"processing_error": "An error occurred while processing your card. Try again in a little bit.",
}

// declined is the refusal of a payment method that a bank declines; nil if it does not.
func declined(method string) *refusal {
	name := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(method, "pm_card_"), "tok_"), "visa_")
	codes, ok := declines[name]
	if !ok || name == method {
		return nil
	}
	message := declineTexts[codes[0]]
	if codes[1] == "insufficient_funds" {
		message = "Your card has insufficient funds."
	}
	return &refusal{status: http.StatusPaymentRequired, code: codes[0], decline: codes[1], message: message}
}
