package tools

import (
	"net/http"
	"net/url"
)

var createTicket = &Tool{
	name: "create_ticket", provider: "tickets",
	about: "Open a ticket. A reference of your own lets you find it again.",
	args: []argument{
		{name: "title", kind: text, required: true, about: "One line."},
		{name: "queue", kind: text, about: "Where it goes."},
		{name: "priority", kind: scalar, about: "How urgent it is."},
		{name: "body", kind: text, about: "The whole story."},
		{name: "reference", kind: text, about: "Your own reference; find_ticket finds the ticket by it."},
	},
	lookUp: "find_ticket", lookUpArgument: "reference",
	class:   "ticket",
	effects: one("reference", "title", "queue", "priority", "body"),
	plan: func(a arguments) []request {
		body := a.pick("title", "queue", "priority", "body", "reference")
		return []request{jsonRequest(http.MethodPost, "/tickets", "ticket "+a.text("title"), body)}
	},
	read: readCreated,
}

var findTicket = &Tool{
	name: "find_ticket", provider: "tickets", readOnly: true,
	about: "Find the tickets that carry a reference, oldest first.",
	args:  []argument{{name: "reference", kind: text, required: true, about: "The reference given at creation."}},
	plan: func(a arguments) []request {
		path := "/tickets?" + url.Values{"reference": {a.text("reference")}}.Encode()
		return []request{jsonRequest(http.MethodGet, path, "search for "+a.text("reference"), nil)}
	},
	read: readListed("tickets", "reference", "title", "queue", "priority", "body"),
}
