package tools

import "net/http"

var sendMessage = &Tool{
	name: "send_message", provider: "mail",
	about: "Send a message to one or several recipients; each gets one of their own.",
	args: []argument{
		{name: "to", kind: texts, required: true, about: "Address of the recipient, or a list of addresses."},
		{name: "subject", kind: text, required: true, about: "Subject."},
		{name: "body", kind: text, about: "Text of the message."},
	},
	class: "message",
	effects: func(a arguments) []map[string]any {
		units := []map[string]any{}
		for _, to := range a.list("to") {
			unit := a.pick("subject", "body")
			unit["to"] = to
			units = append(units, unit)
		}
		if len(units) == 0 {
			return []map[string]any{a.pick("to", "subject", "body")}
		}
		return units
	},
	plan: func(a arguments) []request {
		var requests []request
		for _, to := range a.list("to") {
			body := a.pick("subject", "body")
			body["to"] = to
			requests = append(requests, jsonRequest(http.MethodPost, "/messages", "message to "+to, body))
		}
		return requests
	},
	read: readCreated,
}
