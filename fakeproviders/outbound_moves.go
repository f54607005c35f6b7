package fakeproviders

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// mutate carries out a mutation. A failure is not kept: under its key the request is executed again.
func (o outbound) mutate(x *exchange, rt outboundRoute, now time.Time) (answer, error) {
	m := fields(x.raw.Body)
	if m == nil && len(x.raw.Body) > 0 {
		return o.refuse(invalid("", "The body is not a JSON object.")), nil
	}
	ledger, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	items := outboundItems(ledger, x, now)
	made := store.Object{Class: rt.class, Attrs: x.call.Attrs, Detail: map[string]any{"fields": m}}
	if livemode(x.raw) {
		made.Detail["live"] = true
	}
	if rt.id == "" {
		return o.create(x, rt, items, made, m), nil
	}
	i := slices.IndexFunc(items, func(it *outboundItem) bool { return it.id == rt.id && it.collection == rt.collection })
	if i < 0 {
		return o.refuse(noItem(rt)), nil
	}
	if r := outboundStep(rt, items[i], m); r != nil {
		return o.refuse(*r), nil
	}
	if rt.step != "" {
		made.Detail["step"] = rt.step
	}
	if rt.class != "change" {
		made.Undoes = rt.id
	}
	made.At = now
	shown := items[i]
	outboundApply(items, made)
	body := shown.shown(wantsURL(x.raw, m))
	if rt.class == "removal" {
		body = map[string]any{"id": rt.id, "object": shown.body["object"]}
	}
	made.Detail["shown"] = body
	x.add("act_", made)
	return jsonAnswer(http.StatusOK, body), nil
}

func (o outbound) create(x *exchange, rt outboundRoute, items []*outboundItem, made store.Object, m map[string]any) answer {
	prefix, r := "obp_", outboundPaymentProblem(m)
	if rt.collection == eventDestinations {
		prefix, r = "ed_", eventDestinationProblem(m)
	}
	if r != nil {
		return o.refuse(*r)
	}
	if rt.collection == outboundPayments {
		if r := insufficient(items, x.call.Attrs); r != nil {
			return o.refuse(*r)
		}
	}
	x.add(prefix, made)
	it := outboundApply(nil, x.tx.Added()[0])[0]
	return jsonAnswer(http.StatusOK, it.shown(wantsURL(x.raw, m)))
}

// outboundStep refuses what cannot be done with an object.
func outboundStep(rt outboundRoute, it *outboundItem, m map[string]any) *refusal {
	if rt.class == "change" && rt.step == "" {
		return texts(firstMap(m), nil, "name", "description")
	}
	if rt.class != "cancellation" {
		return nil
	}
	switch it.body["status"] {
	case "processing":
		return nil
	case "canceled":
		return &refusal{status: http.StatusBadRequest, code: "already_canceled", message: "The OutboundPayment " + it.id + " is already canceled."}
	}
	return &refusal{status: http.StatusBadRequest, code: "not_cancelable", message: "The OutboundPayment " + it.id + " can no longer be canceled."}
}

func firstMap(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func outboundPaymentProblem(m map[string]any) *refusal {
	for _, name := range []string{"from", "to", "amount"} {
		if object(m, name) == nil {
			return missingField(name)
		}
	}
	for path, has := range map[string]bool{
		"amount.currency":        text(object(m, "amount"), "currency") != "",
		"from.currency":          text(object(m, "from"), "currency") != "",
		"from.financial_account": text(object(m, "from"), "financial_account") != "",
		"to.recipient":           text(object(m, "to"), "recipient") != "",
	} {
		if !has {
			return missingField(path)
		}
	}
	if n, ok := object(m, "amount")["value"].(int); !ok || n < 1 {
		r := invalid("amount.value", "amount.value must be a whole number above 0, not %v.", object(m, "amount")["value"])
		return &r
	}
	return texts(m, nil, "description", "statement_descriptor", "recipient_verification")
}

func eventDestinationProblem(m map[string]any) *refusal {
	if r := texts(m, nil, "description", "snapshot_api_version"); r != nil {
		return r
	}
	for _, name := range []string{"name", "type", "event_payload"} {
		if text(m, name) == "" {
			return missingField(name)
		}
	}
	if events, ok := m["enabled_events"].([]any); !ok || len(events) == 0 {
		return missingField("enabled_events")
	}
	kind := text(m, "type")
	if kind != "webhook_endpoint" && kind != "amazon_eventbridge" {
		r := invalid("type", "type must be webhook_endpoint or amazon_eventbridge, not %s.", kind)
		return &r
	}
	if object(m, kind) == nil {
		return missingField(kind)
	}
	if kind == "webhook_endpoint" && text(object(m, kind), "url") == "" {
		return missingField("webhook_endpoint.url")
	}
	return nil
}

// insufficient refuses a payment that a financial account has not the funds for. Each has the opening balance
// in each currency; what was canceled has come back.
func insufficient(items []*outboundItem, attrs map[string]any) *refusal {
	left := openingBalance
	for _, it := range items {
		from, amount := object(it.body, "from"), object(it.body, "amount")
		if it.collection == outboundPayments && it.body["status"] != "canceled" &&
			text(from, "financial_account") == text(attrs, "from") && amount["currency"] == attrs["currency"] {
			left -= number(amount, "value")
		}
	}
	if left >= number(attrs, "amount") {
		return nil
	}
	return &refusal{status: http.StatusBadRequest, code: "insufficient_funds", message: "The FinancialAccount has insufficient funds for this OutboundPayment."}
}

// outboundApply reads one effect into the objects of an account.
func outboundApply(items []*outboundItem, o store.Object) []*outboundItem {
	m := firstMap(object(o.Detail, "fields"))
	subject := slices.IndexFunc(items, func(it *outboundItem) bool { return it.id == o.Attrs["object"] })
	switch o.Class {
	case "outbound_payment":
		return append(items, outboundPaymentItem(o, m))
	case "event_destination":
		return append(items, eventDestinationItem(o, m))
	case "removal":
		if subject >= 0 {
			return slices.Delete(items, subject, subject+1)
		}
	case "cancellation":
		if subject >= 0 {
			body := items[subject].body
			body["status"], body["cancelable"], body["expected_arrival_date"] = "canceled", false, nil
			body["status_transitions"] = map[string]any{"canceled_at": stamp(o.At)}
		}
	case "change":
		if subject >= 0 {
			body := items[subject].body
			body["updated"] = stamp(o.At)
			switch o.Detail["step"] {
			case "enable":
				body["status"], body["status_details"] = "enabled", nil
			case "disable":
				body["status"], body["status_details"] = "disabled", map[string]any{"disabled": map[string]any{"reason": "user"}}
			default:
				maps.Copy(body, pick(m, "name", "description", "enabled_events", "metadata"))
			}
		}
	}
	return items
}

// base2 is what all objects of API v2 have.
func base2(o store.Object, m map[string]any, kind string) map[string]any {
	metadata := object(m, "metadata")
	if metadata == nil {
		metadata = map[string]any{}
	}
	return map[string]any{"id": o.ID, "object": kind, "created": stamp(o.At), "livemode": isLive(o), "metadata": metadata, "description": o.Attrs["description"]}
}

func outboundPaymentItem(o store.Object, m map[string]any) *outboundItem {
	body := base2(o, m, "v2.money_management.outbound_payment")
	amount := map[string]any{"value": o.Attrs["amount"], "currency": o.Attrs["currency"]}
	to := map[string]any{"recipient": o.Attrs["recipient"], "credited": maps.Clone(amount), "payout_method": object(m, "to")["payout_method"]}
	maps.Copy(body, map[string]any{
		"amount": amount, "from": map[string]any{"financial_account": o.Attrs["from"], "debited": maps.Clone(amount)}, "to": to,
		"status": "processing", "cancelable": true, "status_details": nil, "status_transitions": nil,
		"expected_arrival_date":  stamp(o.At.Add(48 * time.Hour)),
		"recipient_notification": map[string]any{"setting": firstText(text(object(m, "recipient_notification"), "setting"), "configured")},
		"statement_descriptor":   firstText(text(m, "statement_descriptor"), "STRIPE"),
		"tracking_details":       map[string]any{"status": "pending", "type": "bank_account"},
	})
	return &outboundItem{id: o.ID, collection: outboundPayments, made: o.At, body: body}
}

func eventDestinationItem(o store.Object, m map[string]any) *outboundItem {
	body := base2(o, m, "v2.core.event_destination")
	body["description"] = text(m, "description")
	maps.Copy(body, map[string]any{
		"name": o.Attrs["name"], "type": o.Attrs["type"], "enabled_events": firstList(m["enabled_events"]), "event_payload": firstText(text(m, "event_payload"), "thin"),
		"events_from": firstList(m["events_from"]), "status": "enabled", "status_details": nil, "updated": stamp(o.At),
	})
	if v := text(m, "snapshot_api_version"); v != "" {
		body["snapshot_api_version"] = v
	}
	if o.Attrs["type"] == "amazon_eventbridge" {
		bridge := object(m, "amazon_eventbridge")
		body["amazon_eventbridge"] = map[string]any{"aws_account_id": text(bridge, "aws_account_id"), "aws_event_source_status": "pending",
			"aws_event_source_arn": "arn:aws:events:" + text(bridge, "aws_region") + "::event-source/aws.partner/stripe.com/" + o.ID}
	} else {
		body["webhook_endpoint"] = map[string]any{"url": o.Attrs["url"]}
	}
	return &outboundItem{id: o.ID, collection: eventDestinations, made: o.At, body: body}
}

func firstList(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{"@self"}
}
