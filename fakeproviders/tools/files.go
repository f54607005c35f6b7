package tools

import (
	"net/http"
	"net/url"
)

var putFile = &Tool{
	name: "put_file", provider: "files",
	about: "Write a file whole; what was there before under this path is replaced.",
	args: []argument{
		{name: "path", kind: text, required: true, about: "Path of the file."},
		{name: "content", kind: text, required: true, about: "Its whole content."},
	},
	lookUp:  "list_files",
	class:   "file",
	effects: one("path", "content"),
	plan: func(a arguments) []request {
		path := (&url.URL{Path: "/files/" + a.text("path")}).EscapedPath()
		return []request{jsonRequest(http.MethodPut, path, "file "+a.text("path"), a.pick("content"))}
	},
	read: readCreated,
}

var deleteNewest = &Tool{
	name: "delete_newest", provider: "files",
	about:  "Delete the file under a prefix that was written last.",
	args:   []argument{{name: "prefix", kind: text, required: true, about: "Prefix of paths."}},
	lookUp: "list_files",
	class:  "deletion",
	// Which file it will be is not known before the call.
	effects: func(arguments) []map[string]any { return []map[string]any{{}} },
	plan: func(a arguments) []request {
		path := "/files?" + url.Values{"newest_under": {a.text("prefix")}}.Encode()
		return []request{jsonRequest(http.MethodDelete, path, "deletion under "+a.text("prefix"), nil)}
	},
	read: readCreated,
}

var listFiles = &Tool{
	name: "list_files", provider: "files", readOnly: true,
	about: "List the files under a prefix, the one written last at the end.",
	args:  []argument{{name: "prefix", kind: text, required: true, about: "Prefix of paths."}},
	plan: func(a arguments) []request {
		path := "/files?" + url.Values{"prefix": {a.text("prefix")}}.Encode()
		return []request{jsonRequest(http.MethodGet, path, "list of "+a.text("prefix"), nil)}
	},
	read: readListed("files", "path", "version"),
}
