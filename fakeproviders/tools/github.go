package tools

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// This file has what the tools of the repository family share of the wire.

// inLowerCase is the effects of a call that asks for one effect; GitHub does not tell the case of a repository apart.
func inLowerCase(names ...string) func(arguments) []map[string]any {
	return func(a arguments) []map[string]any {
		attrs := a.pick(names...)
		if repository := a.text("repository"); repository != "" {
			attrs["repository"] = strings.ToLower(repository)
		}
		return []map[string]any{attrs}
	}
}

// The marker of a reference, at the end of a body.
const markerBegin, markerEnd = "<!-- reference: ", " -->"

// marked is a request body of the named arguments and the argument body, which carries the reference.
func marked(a arguments, names ...string) map[string]any {
	body := a.pick(append(names, "body")...)
	if reference := a.text("reference"); reference != "" {
		words, _ := body["body"].(string)
		body["body"] = strings.TrimLeft(words+"\n\n", "\n") + markerBegin + reference + markerEnd
	}
	return body
}

// unmarked parts a body into its words and its reference.
func unmarked(body string) (words, reference string) {
	words, rest, ok := strings.Cut(body, markerBegin)
	if !ok {
		return body, ""
	}
	reference, _, _ = strings.Cut(rest, markerEnd)
	return strings.TrimRight(words, " \r\n"), reference
}

// ofReference keeps what carries the reference that was asked for; without one it keeps all.
func ofReference(a arguments, found map[string]any) bool {
	return a.text("reference") == "" || found["reference"] == a.text("reference")
}

func issueName(a arguments) string {
	return a.text("repository") + "#" + strconv.FormatInt(a.number("issue", 0), 10)
}

// githubRequest is a request under a repository. The token is any: what it is for is the trial's to say.
func githubRequest(method string, a arguments, path, about string, body map[string]any) request {
	owner, name, _ := strings.Cut(a.text("repository"), "/")
	r := request{method: method, path: "/repos/" + url.PathEscape(owner) + "/" + url.PathEscape(name) + path, about: about, header: githubHeader()}
	if body != nil {
		r.header.Set("Content-Type", "application/json")
		r.body, _ = json.Marshal(body) // texts, booleans and lists of texts: it cannot fail
	}
	return r
}

func githubHeader() http.Header {
	return http.Header{"Authorization": {"Bearer ghp_sixthcopy"}, "Accept": {"application/vnd.github+json"}, "X-GitHub-Api-Version": {"2022-11-28"}}
}

// listOf asks for the newest hundred of a list.
func listOf(path, about string, query url.Values) func(arguments) []request {
	return func(a arguments) []request {
		q := url.Values{"per_page": {"100"}}
		for k, v := range query {
			q[k] = v
		}
		return []request{githubRequest(http.MethodGet, a, path+"?"+q.Encode(), about+" of "+a.text("repository"), nil)}
	}
}

// readGitHub reads the answer to a mutation: the number under id is the receipt. A refusal by a natural key does
// not name what is in the way.
func readGitHub(r response) outcome {
	o, _ := r.object()
	if r.status/100 == 2 {
		if id := idOf(o); id != "" {
			return outcome{status: Done, receipts: []string{id}}
		}
		return outcome{status: Unknown, message: "the provider's answer names no id"}
	}
	message, _ := o["message"].(string)
	taken := strings.Contains(message, "already exists")
	for _, problem := range listIn(o, "errors") {
		for _, name := range []string{"field", "code", "message"} {
			if s, ok := problem[name].(string); ok {
				message += "; " + s
				taken = taken || s == "already_exists" || strings.Contains(s, "already exists")
			}
		}
	}
	if r.status == http.StatusUnprocessableEntity && taken {
		return outcome{status: Conflict, message: message}
	}
	return r.failed(message)
}

// idOf is an object's id in decimal digits, "" if it has none.
func idOf(o map[string]any) string {
	id, ok := whole(o["id"])
	if !ok {
		return ""
	}
	return strconv.FormatInt(id, 10)
}

// listIn is the objects in a list under name.
func listIn(o map[string]any, name string) []map[string]any {
	list, _ := o[name].([]any)
	var all []map[string]any
	for _, each := range list {
		if m, ok := each.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

// readGitHubList reads a list; each object shows its repository, its body without the marker, and the reference.
func readGitHubList(o order, show func(map[string]any) map[string]any) func(response) outcome {
	return func(r response) outcome {
		if r.status/100 != 2 {
			return readGitHub(r)
		}
		var list []map[string]any
		if json.Unmarshal(r.body, &list) != nil {
			return outcome{status: Unknown, message: "the provider's answer is no list"}
		}
		all := []map[string]any{}
		for _, each := range list {
			found := show(each)
			found["id"], found["repository"] = idOf(each), repositoryIn(each["url"])
			body, _ := each["body"].(string)
			words, reference := unmarked(body)
			if words != "" {
				found["body"] = words
			}
			if reference != "" {
				found["reference"] = reference
			}
			all = append(all, found)
		}
		if o == newestFirst {
			slices.Reverse(all)
		}
		return outcome{status: Done, found: all}
	}
}

var readReleases = readGitHubList(newestFirst, func(o map[string]any) map[string]any {
	found := pickGiven(o, "name")
	found["tag"] = o["tag_name"]
	if o["draft"] == true {
		found["draft"] = true
	}
	return found
})

// repositoryIn is the OWNER/NAME in an API address.
func repositoryIn(address any) string {
	s, _ := address.(string)
	_, path, _ := strings.Cut(s, "/repos/")
	parts := strings.SplitN(path, "/", 3)
	if len(parts) < 2 {
		return ""
	}
	return parts[0] + "/" + parts[1]
}

func lastSegment(address any) string {
	s, _ := address.(string)
	return s[strings.LastIndex(s, "/")+1:]
}
