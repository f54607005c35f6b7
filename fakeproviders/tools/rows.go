package tools

import (
	"net/http"
	"net/url"
)

var insertRow = &Tool{
	name: "insert_row", provider: "rows",
	about: "Insert a row into a table.",
	args: []argument{
		{name: "table", kind: text, required: true, about: "Name of the table."},
		{name: "key", kind: text, required: true, about: "Key of the row."},
		{name: "value", kind: scalar, required: true, about: "Its value."},
	},
	lookUp:  "find_row",
	class:   "row",
	effects: one("table", "key", "value"),
	plan: func(a arguments) []request {
		about := "row " + a.text("key") + " of " + a.text("table")
		return []request{jsonRequest(http.MethodPost, rowsPath(a), about, a.pick("key", "value"))}
	},
	read: readCreated,
}

var findRow = &Tool{
	name: "find_row", provider: "rows", readOnly: true,
	about: "Find the rows of a table that have a key, oldest first.",
	args: []argument{
		{name: "table", kind: text, required: true, about: "Name of the table."},
		{name: "key", kind: text, required: true, about: "Key of the row."},
	},
	plan: func(a arguments) []request {
		path := rowsPath(a) + "?" + url.Values{"key": {a.text("key")}}.Encode()
		return []request{jsonRequest(http.MethodGet, path, "row "+a.text("key")+" of "+a.text("table"), nil)}
	},
	read: readListed("rows", "table", "key", "value"),
}

func rowsPath(a arguments) string { return "/tables/" + url.PathEscape(a.text("table")) + "/rows" }
