package fakeproviders

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// repository speaks the GitHub REST API: issues, comments, pull requests, releases, deployments and refs of any
// OWNER/NAME, all of which exist. It has no idempotency key anywhere; what a second request makes is decided by
// natural uniqueness alone (docs/providers/repository.md). Shapes: docs.github.com/rest.
type repository struct{}

func (repository) Name() string { return "repository" }
func (repository) Summary() string {
	return "issues, comments, pull requests, releases and deployments over the GitHub REST API"
}

// githubOp is one operation of the API.
type githubOp struct {
	name   string
	class  string // of the effect that it makes; "": it reads
	method string
	path   string // under /repos/OWNER/NAME, or from the root if it begins with a slash; ":" stands for one segment, "*" for the rest
	docs   string // page and anchor in docs.github.com/rest, as errors name them
}

var githubOps = []githubOp{
	{"create issue", "issue", "POST", "issues", "issues/issues#create-an-issue"},
	{"list issues", "", "GET", "issues", "issues/issues#list-repository-issues"},
	{"read issue", "", "GET", "issues/:", "issues/issues#get-an-issue"},
	{"edit issue", "change", "PATCH", "issues/:", "issues/issues#update-an-issue"},
	{"comment", "comment", "POST", "issues/:/comments", "issues/comments#create-an-issue-comment"},
	{"list comments", "", "GET", "issues/:/comments", "issues/comments#list-issue-comments"},
	{"read comment", "", "GET", "issues/comments/:", "issues/comments#get-an-issue-comment"},
	{"open pull request", "pull_request", "POST", "pulls", "pulls/pulls#create-a-pull-request"},
	{"list pull requests", "", "GET", "pulls", "pulls/pulls#list-pull-requests"},
	{"read pull request", "", "GET", "pulls/:", "pulls/pulls#get-a-pull-request"},
	{"edit pull request", "change", "PATCH", "pulls/:", "pulls/pulls#update-a-pull-request"},
	{"create release", "release", "POST", "releases", "releases/releases#create-a-release"},
	{"list releases", "", "GET", "releases", "releases/releases#list-releases"},
	{"read release", "", "GET", "releases/:", "releases/releases#get-a-release"},
	{"read release by tag", "", "GET", "releases/tags/:", "releases/releases#get-a-release-by-tag-name"},
	{"create deployment", "deployment", "POST", "deployments", "deployments/deployments#create-a-deployment"},
	{"list deployments", "", "GET", "deployments", "deployments/deployments#list-deployments"},
	{"read deployment", "", "GET", "deployments/:", "deployments/deployments#get-a-deployment"},
	{"create ref", "ref", "POST", "git/refs", "git/refs#create-a-reference"},
	{"read ref", "", "GET", "git/ref/*", "git/refs#get-a-reference"},
	{"read repository", "", "GET", "", "repos/repos#get-a-repository"},
	{"search issues", "", "GET", "/search/issues", "search/search#search-issues-and-pull-requests"},
	{"read rate limit", "", "GET", "/rate_limit", "rate-limit/rate-limit#get-rate-limit-status-for-the-authenticated-user"},
	{"read user", "", "GET", "/user", "users/users#get-the-authenticated-user"},
}

// githubPlace is a request's operation, its repository and the segments that its path leaves open.
type githubPlace struct {
	op    githubOp
	repo  string // "owner/name", in small letters: GitHub does not tell their case apart
	open  []string
	query url.Values
}

// placed finds the operation of a request; false if GitHub has none there.
func placed(r bench.RawRequest) (githubPlace, bool) {
	segments, query := target(r)
	p := githubPlace{query: query}
	root := "/" + strings.Join(segments, "/")
	if len(segments) >= 3 && segments[0] == "repos" && segments[1] != "" && segments[2] != "" {
		p.repo = strings.ToLower(segments[1] + "/" + segments[2])
	}
	for _, op := range githubOps {
		switch {
		case op.method != r.Method:
		case strings.HasPrefix(op.path, "/"):
			if root == op.path {
				p.op = op
				return p, true
			}
		case p.repo == "":
		default:
			if open, ok := matched(op.path, segments[3:]); ok {
				p.op, p.open = op, open
				return p, true
			}
		}
	}
	return p, false
}

// matched holds a path's segments against a pattern and returns those that it leaves open.
func matched(pattern string, segments []string) (open []string, ok bool) {
	var want []string
	if pattern != "" {
		want = strings.Split(pattern, "/")
	}
	for i, w := range want {
		switch {
		case i >= len(segments):
			return nil, false
		case w == "*":
			return append(open, strings.Join(segments[i:], "/")), true
		case w == ":" && segments[i] != "":
			open = append(open, segments[i])
		case w != segments[i]:
			return nil, false
		}
	}
	return open, len(want) == len(segments)
}

func (repository) Parse(r bench.RawRequest) bench.Call {
	p, ok := placed(r)
	if !ok {
		return bench.Call{Op: "unknown"}
	}
	c := bench.Call{Op: p.op.name, Class: p.op.class, Mutating: p.op.class != "", Attrs: map[string]any{}}
	if p.repo != "" {
		c.Attrs["repository"] = p.repo
	}
	if !c.Mutating {
		return c
	}
	m := fields(r.Body)
	words, _ := unmarked(text(m, "body"))
	take := func(names ...string) {
		for k, v := range pick(m, names...) {
			c.Attrs[k] = v
		}
	}
	switch c.Class {
	case "issue":
		take("title")
	case "comment":
		if n, err := strconv.Atoi(p.open[0]); err == nil {
			c.Attrs["issue"] = n
		}
	case "change":
		if n, err := strconv.Atoi(p.open[0]); err == nil {
			c.Attrs["number"] = n
		}
		take("title", "state")
	case "pull_request":
		take("title", "base")
		if head := branchOf(text(m, "head"), p.repo); head != "" {
			c.Attrs["head"] = head
		}
	case "release":
		take("name")
		if m["draft"] == true {
			c.Class = "draft"
		}
		for k, v := range pick(m, "tag_name") {
			c.Attrs[strings.TrimSuffix(k, "_name")] = v
		}
	case "deployment":
		take("ref", "environment", "description")
	case "ref":
		take("ref", "sha")
	}
	if labels := labelsOf(m["labels"]); labels != "" && (c.Class == "issue" || c.Class == "change") {
		c.Attrs["labels"] = labels
	}
	if words != "" && c.Class != "deployment" && c.Class != "ref" {
		c.Attrs["body"] = words
	}
	return c
}

// A reference of the caller's travels at the end of a body, where no reader sees it: GitHub has no field for it.
const markerBegin, markerEnd = "<!-- reference: ", " -->"

// unmarked parts a body into its words and the reference of the marker at its end; "": none.
func unmarked(body string) (words, reference string) {
	i := strings.LastIndex(body, markerBegin)
	if i < 0 || !strings.HasSuffix(strings.TrimSpace(body), markerEnd) {
		return body, ""
	}
	reference = strings.TrimSuffix(strings.TrimSpace(body[i+len(markerBegin):]), markerEnd)
	if strings.ContainsAny(reference, "<>\n") {
		return body, ""
	}
	return strings.TrimRight(body[:i], " \r\n"), reference
}

// branchOf is a branch as its own repository calls it: OWNER:BRANCH of the same owner is BRANCH.
func branchOf(head, repo string) string {
	owner, _, _ := strings.Cut(repo, "/")
	if user, branch, named := strings.Cut(head, ":"); named && strings.EqualFold(user, owner) {
		return branch
	}
	return head
}

// labelsOf joins the names of a list of labels by commas. A label is a name, or an object with one.
func labelsOf(v any) string {
	list, _ := v.([]any)
	var names []string
	for _, each := range list {
		name, _ := each.(string)
		if o, ok := each.(map[string]any); ok {
			name = text(o, "name")
		}
		if name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

func (g repository) execute(x *exchange) (answer, error) {
	p, ok := placed(x.raw)
	if auth := x.raw.Header.Get("Authorization"); strings.TrimSpace(auth) == "" {
		return githubError(http.StatusUnauthorized, "Requires authentication", "", nil), nil
	}
	if !ok {
		return githubError(http.StatusNotFound, "Not Found", "", nil), nil
	}
	if !x.call.Mutating {
		return g.read(x, p)
	}
	m := fields(x.raw.Body)
	if m == nil {
		return githubError(http.StatusBadRequest, "Problems parsing JSON", p.op.docs, nil), nil
	}
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	return githubMaker{x: x, p: p, body: m, all: all}.make(), nil
}

// githubError renders GitHub's error shape. docs is the page of the operation; "": the front page.
func githubError(status int, message, docs string, problems []map[string]any) answer {
	at := "https://docs.github.com/rest"
	if docs != "" {
		at += "/" + docs
	}
	body := map[string]any{"message": message, "documentation_url": at, "status": strconv.Itoa(status)}
	if problems != nil {
		body["errors"] = problems
	}
	return jsonAnswer(status, body)
}

// refuse renders the failures that the gate orders. Clients tell a rate limit by the words of its message.
func (repository) refuse(r refusal) answer {
	switch {
	case r.status == http.StatusForbidden, r.status == http.StatusTooManyRequests:
		a := githubError(r.status, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
			"overview/rate-limits-for-the-rest-api#about-secondary-rate-limits", nil)
		a.header = http.Header{"Retry-After": {"60"}}
		return a
	case r.status == http.StatusUnauthorized:
		return githubError(r.status, "Bad credentials", "", nil)
	case r.status >= 500:
		return githubError(r.status, "Server Error", "", nil)
	}
	return githubError(r.status, r.message, "", nil)
}

// decorate adds the headers that GitHub's clients read: the request's id and the state of the rate limit.
func (repository) decorate(x *exchange, a *answer) {
	if a.header == nil {
		a.header = http.Header{}
	}
	a.kind = "application/json; charset=utf-8"
	d := strings.ToUpper(digest(x.name))
	a.header.Set("X-GitHub-Request-Id", strings.Join([]string{d[:4], d[4:8], d[8:15], d[15:22], d[22:30]}, ":"))
	a.header.Set("X-GitHub-Media-Type", "github.v3; format=json")
	a.header.Set("X-GitHub-Api-Version-Selected", firstText(x.raw.Header.Get("X-GitHub-Api-Version"), "2022-11-28"))
	used, _ := strconv.Atoi(strings.TrimPrefix(x.name, "r"))
	limit, resource := 5000, "core"
	if x.call.Op == "search issues" {
		limit, resource = 30, "search"
	}
	for name, v := range map[string]int{"Limit": limit, "Used": min(used, limit-1), "Remaining": limit - min(used, limit-1),
		"Reset": int(x.p.clock.Now().Truncate(time.Hour).Add(time.Hour).Unix())} {
		a.header.Set("X-RateLimit-"+name, strconv.Itoa(v))
	}
	a.header.Set("X-RateLimit-Resource", resource)
}

// current renders what a mutation made. No key is ever replayed here, so the address is GitHub's own.
func (repository) current(objects []store.Object) answer {
	return jsonAnswer(http.StatusCreated, githubView{api: "https://api.github.com"}.shown(objects[0]))
}

// githubID is the id of the n-th object of a request: a number of ten digits, as GitHub has them.
func githubID(request string, n int) string {
	bits, _ := strconv.ParseUint(digest("github/" + request + "/" + strconv.Itoa(n))[:8], 16, 64) // eight hexadecimal digits
	return strconv.FormatUint(1_000_000_000+bits, 10)
}

func (repository) world(w bench.WorldEffect, n int) store.Object {
	o := worldObject("", w, n)
	o.ID = githubID("world", n)
	o.Detail = map[string]any{"text": w.Attrs["body"]}
	if slices.Contains([]string{"issue", "pull_request"}, w.Class) {
		o.Detail["number"] = n + 1
	}
	return o
}
