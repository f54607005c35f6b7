package tools

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// The items family speaks the wire of Amazon DynamoDB, AWS JSON 1.0 (docs/providers/items.md): the
// idempotency key is the transaction's client request token.

var bookSeats = &Tool{
	name: "book_seats", provider: "items",
	about: "Book one seat of a flight, or several together: all of them or none. A seat that is taken stays taken.",
	args: []argument{
		{name: "flight", kind: text, required: true, about: "The flight."},
		{name: "seat", kind: texts, required: true, about: "The seat, or a list of seats."},
		{name: "guest", kind: text, required: true, about: "Name of the guest."},
		{name: "note", kind: text, about: "Free text for the crew."},
	},
	lookUp: "find_seats",
	class:  "item",
	effects: func(a arguments) []map[string]any {
		return forEach(a, "seat", "flight", "guest", "note")
	},
	plan: func(a arguments) []request {
		var writes []any
		for _, seat := range a.list("seat") {
			item := map[string]any{"flight": textValue(a.text("flight")), "seat": textValue(seat), "guest": textValue(a.text("guest"))}
			if note := a.text("note"); note != "" {
				item["note"] = textValue(note)
			}
			writes = append(writes, map[string]any{"Put": map[string]any{"TableName": "seats", "Item": item,
				"ConditionExpression": "attribute_not_exists(seat)", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}})
		}
		return []request{transaction("seats of "+a.text("flight"), writes)}
	},
	read: func(r response) outcome {
		if _, readable := r.object(); readable && r.status/100 == 2 { // an edge can answer 200 with nothing
			return outcome{status: Done}
		}
		return dynamoFailed(r)
	},
}

var findSeats = &Tool{
	name: "find_seats", provider: "items", readOnly: true,
	about: "List the seats of a flight that are booked.",
	args:  []argument{{name: "flight", kind: text, required: true, about: "The flight."}},
	plan: func(a arguments) []request {
		return []request{dynamoRequest("Query", "seats of "+a.text("flight"), map[string]any{"TableName": "seats", "ConsistentRead": true,
			"KeyConditionExpression": "flight = :flight", "ExpressionAttributeValues": map[string]any{":flight": textValue(a.text("flight"))}})}
	},
	read: func(r response) outcome {
		if r.status/100 != 2 {
			return dynamoFailed(r)
		}
		return listed(r, "Items", seatFound, oldestFirst)
	},
}

// seatFound is a seat as agents see it. Its id is its key: a seat has no other.
func seatFound(item map[string]any) map[string]any {
	found := map[string]any{}
	for _, name := range []string{"flight", "seat", "guest", "note"} {
		value, _ := item[name].(map[string]any)
		if s, ok := value["S"].(string); ok && s != "" {
			found[name] = s
		}
	}
	flight, _ := found["flight"].(string)
	seat, _ := found["seat"].(string)
	found["id"] = "seats/" + escaped(flight) + "/" + escaped(seat)
	return found
}

func escaped(s string) string { return strings.ReplaceAll(url.PathEscape(s), "@", "%40") }

var addPoints = &Tool{
	name: "add_points", provider: "items",
	about: "Add points to an account, or to several at once: all of them or none.",
	args: []argument{
		{name: "account", kind: texts, required: true, about: "The account, or a list of accounts."},
		{name: "points", kind: number, required: true, about: "How many to add to each."},
		{name: "reason", kind: text, about: "Why, in free text; the latest is kept."},
	},
	class: "increment",
	effects: func(a arguments) []map[string]any {
		units := forEach(a, "account", "reason")
		for _, u := range units {
			if _, whole := whole(a["points"]); whole {
				u["points"] = a.number("points", 0)
			} else if a.has("points") {
				u["points"] = a["points"]
			}
		}
		return units
	},
	plan: func(a arguments) []request {
		var writes []any
		for _, account := range a.list("account") {
			change := map[string]any{"TableName": "accounts", "Key": map[string]any{"account": textValue(account)}, "UpdateExpression": "ADD points :points"}
			values := map[string]any{":points": map[string]any{"N": strconv.FormatInt(a.number("points", 0), 10)}}
			if reason := a.text("reason"); reason != "" {
				change["UpdateExpression"], values[":reason"] = "ADD points :points SET reason = :reason", textValue(reason)
			}
			change["ExpressionAttributeValues"] = values
			writes = append(writes, map[string]any{"Update": change})
		}
		return []request{transaction("points for "+strings.Join(a.list("account"), " and "), writes)}
	},
	// The answer says nothing of what was written, so there is no receipt.
	read: func(r response) outcome {
		if _, readable := r.object(); readable && r.status/100 == 2 { // an edge can answer 200 with nothing
			return outcome{status: Done}
		}
		return dynamoFailed(r)
	},
}

// forEach makes an effect of each element of a list argument, with the others beside it.
func forEach(a arguments, list string, others ...string) []map[string]any {
	units := []map[string]any{}
	for _, each := range a.list(list) {
		unit := a.pick(others...)
		unit[list] = each
		units = append(units, unit)
	}
	if len(units) == 0 {
		return []map[string]any{a.pick(append(others, list)...)}
	}
	return units
}

func textValue(s string) map[string]any { return map[string]any{"S": s} }

func transaction(about string, writes []any) request {
	return dynamoRequest("TransactWriteItems", about, map[string]any{"TransactItems": writes})
}

func dynamoRequest(operation, about string, body map[string]any) request {
	r := request{
		method: http.MethodPost, path: "/", about: about,
		header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Target": {"DynamoDB_20120810." + operation}},
		keyed: func(r *request, key string) {
			body["ClientRequestToken"] = key
			r.body, _ = json.Marshal(body) // texts, numbers and lists of them: it cannot fail
		},
	}
	r.body, _ = json.Marshal(body)
	return r
}

// dynamoFailed reads an error. A transaction that a condition stopped names the items that are in the way.
func dynamoFailed(r response) outcome {
	o, _ := r.object()
	message, _ := o["message"].(string)
	name, _ := o["__type"].(string)
	_, name, _ = strings.Cut(name, "#")
	if r.status == http.StatusBadRequest {
		switch name {
		case "IdempotentParameterMismatchException", "TransactionInProgressException":
			return outcome{status: Conflict, message: message}
		case "TransactionCanceledException":
			taken := outcome{status: Conflict}
			taken.message, _ = o["Message"].(string)
			reasons, _ := o["CancellationReasons"].([]any)
			for _, each := range reasons {
				reason, _ := each.(map[string]any)
				if item, ok := reason["Item"].(map[string]any); ok {
					taken.receipts = append(taken.receipts, seatFound(item)["id"].(string))
				}
			}
			return taken
		}
	}
	return r.failed(message)
}
