package fakeproviders

import (
	"net/http"
	"strings"
)

// The payment APIs' errors, by the codes of docs/providers.md. Where an API's documentation leaves one open,
// the choice is named in docs/providers/orders.md.

// keyTaken tells whether a key is bound to something else or already used, and not only in work.
func keyTaken(r refusal) bool {
	switch r.code {
	case "idempotency_key_reused", "idempotency_key_other_endpoint", "idempotency_conflict", "idempotent_creation_conflict":
		return true
	}
	return false
}

func badRequest(r refusal) bool {
	switch r.code {
	case "invalid_request", "idempotency_key_missing", "idempotency_key_invalid", "look_up_not_supported":
		return true
	}
	return false
}

// refuseGoCardless: developer.gocardless.com/api-reference/#errors. Its client has no class for any other type.
func refuseGoCardless(x *exchange, r refusal) answer {
	kind, reason, status := "invalid_api_usage", r.code, r.status
	detail := map[string]any{"message": r.message}
	switch {
	case keyTaken(r) && len(r.existing) == 0: // its client needs the id in a conflict
		kind = "invalid_state"
	case keyTaken(r):
		kind, reason, status = "invalid_state", "idempotent_creation_conflict", http.StatusConflict
		detail["links"] = map[string]any{"conflicting_resource_id": first(r.existing)}
	case r.code == "idempotency_key_in_use":
		kind, reason = "invalid_state", "idempotency_key_in_use"
	case badRequest(r):
		kind, reason, status = "validation_failed", "", http.StatusUnprocessableEntity
		field := r.param[strings.LastIndex(r.param, ".")+1:]
		detail["field"], detail["request_pointer"] = field, pointer(r.param)
	case r.code == "not_found":
		reason = "resource_not_found"
	case r.status == http.StatusTooManyRequests:
		reason = "rate_limit_exceeded"
	case r.status >= 500:
		kind, reason = "gocardless", "internal_server_error"
	}
	if reason != "" {
		detail["reason"] = reason
	}
	id := ""
	if x != nil {
		id = digest(x.name)[:32]
	}
	return jsonAnswer(status, map[string]any{"error": map[string]any{"message": r.message, "errors": []any{detail}, "type": kind, "code": status,
		"documentation_url": "https://developer.gocardless.com/api-reference#" + firstText(reason, kind), "request_id": id}})
}

// refuseSquare: developer.squareup.com/docs/build-basics/general-considerations/handling-errors.
func refuseSquare(_ *exchange, r refusal) answer {
	category, code, status := "INVALID_REQUEST_ERROR", "BAD_REQUEST", r.status
	field := r.param
	switch {
	case keyTaken(r):
		code, field = "IDEMPOTENCY_KEY_REUSED", "idempotency_key"
	case r.code == "idempotency_key_in_use":
		code, field = "CONFLICT", "idempotency_key"
	case r.code == "idempotency_key_missing":
		code, field = "MISSING_REQUIRED_PARAMETER", "idempotency_key"
	case r.code == "idempotency_key_invalid":
		code, field = "VALUE_TOO_LONG", "idempotency_key"
	case r.code == "invalid_request" && strings.HasSuffix(r.message, "is missing."):
		code = "MISSING_REQUIRED_PARAMETER"
	case r.code == "invalid_request" && r.param != "":
		code = "INVALID_VALUE"
	case r.code == "not_found":
		code = "NOT_FOUND"
	case r.code == "method_not_allowed":
		code = "METHOD_NOT_ALLOWED"
	case r.status == http.StatusTooManyRequests:
		category, code = "RATE_LIMIT_ERROR", "RATE_LIMITED"
	case r.status == http.StatusServiceUnavailable:
		category, code = "API_ERROR", "SERVICE_UNAVAILABLE"
	case r.status >= 500:
		category, code = "API_ERROR", "INTERNAL_SERVER_ERROR"
	}
	e := map[string]any{"category": category, "code": code, "detail": r.message}
	if field != "" {
		e["field"] = field
	}
	return jsonAnswer(status, map[string]any{"errors": []any{e}})
}

// refuseAdyen: docs.adyen.com/development-resources/api-idempotency and .../error-codes. A key in work is 422
// or 409 with 704 there, and 422 here; transient-error says that the same key may be sent again.
func refuseAdyen(x *exchange, r refusal) answer {
	code, kind, status, transient := "702", "validation", r.status, false
	switch {
	case r.code == "idempotency_key_in_use":
		code, kind, status, transient = "704", "internal", http.StatusUnprocessableEntity, true
	case keyTaken(r):
		code, kind, status = "704", "validation", http.StatusUnprocessableEntity
	case r.param == "reference":
		code, status = "130", http.StatusUnprocessableEntity
	case r.param == "amount.value" || r.param == "amount.currency":
		code, status = "137", http.StatusUnprocessableEntity
	case r.param == "merchantAccount":
		code, kind, status = "901", "security", http.StatusForbidden
	case r.code == "not_found":
		code = "100"
	case r.status == http.StatusServiceUnavailable:
		code, kind, transient = "703", "internal", true
	case r.status >= 500:
		code, kind = "905", "internal"
	}
	a := jsonAnswer(status, map[string]any{"status": status, "errorCode": code, "message": r.message, "errorType": kind})
	if transient {
		a.header = http.Header{"Transient-Error": {"true"}}
	}
	return a
}

// refuseIncrease: increase.com/documentation/errors; its client has a class for each type.
func refuseIncrease(_ *exchange, r refusal) answer {
	kind, status := "invalid_operation_error", r.status
	body := map[string]any{"title": http.StatusText(r.status), "detail": r.message}
	switch {
	case keyTaken(r):
		kind, status = "idempotency_key_already_used_error", http.StatusConflict
		body["resource_id"] = first(r.existing)
	case badRequest(r):
		kind = "invalid_parameters_error"
		body["errors"] = []any{map[string]any{"field": r.param, "message": r.message}}
	case r.code == "not_found":
		kind = "object_not_found_error"
	case r.code == "method_not_allowed":
		kind = "api_method_not_found_error"
	case r.status == http.StatusTooManyRequests:
		kind = "rate_limited_error"
	case r.status >= 500:
		kind = "internal_server_error"
	}
	body["type"], body["status"] = kind, status
	return jsonAnswer(status, body)
}
