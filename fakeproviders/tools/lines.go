package tools

import (
	"net/http"
	"net/url"
)

var appendLine = &Tool{
	name: "append_line", provider: "lines",
	about: "Append a line to a document; the document is made if there is none.",
	args: []argument{
		{name: "document", kind: text, required: true, about: "Name of the document."},
		{name: "text", kind: text, required: true, about: "The line."},
	},
	lookUp:  "read_document",
	class:   "line",
	effects: one("document", "text"),
	plan: func(a arguments) []request {
		path := "/documents/" + url.PathEscape(a.text("document")) + "/lines"
		return []request{jsonRequest(http.MethodPost, path, "line for "+a.text("document"), a.pick("text"))}
	},
	read: readCreated,
}

var readDocument = &Tool{
	name: "read_document", provider: "lines", readOnly: true,
	about: "Read the lines of a document, in order.",
	args:  []argument{{name: "document", kind: text, required: true, about: "Name of the document."}},
	plan: func(a arguments) []request {
		path := "/documents/" + url.PathEscape(a.text("document"))
		return []request{jsonRequest(http.MethodGet, path, "document "+a.text("document"), nil)}
	},
	read: readListed("lines", "document", "text", "position"),
}
