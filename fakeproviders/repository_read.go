package fakeproviders

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// searchBehind is how much later than in lists an object is found by a search. GitHub documents that its index
// is behind and no limit; this is a choice.
const searchBehind = time.Minute

// read answers a request that changes nothing. Lists and searches show what the contract's look-up shows;
// one object asked for by its number or id is shown at once.
func (g repository) read(x *exchange, p githubPlace) (answer, error) {
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	view := githubView{api: x.base(), all: all}
	one := func(fits func(store.Object) bool) (answer, error) {
		i := slices.IndexFunc(all, func(o store.Object) bool { return p.here(o) && fits(o) })
		if i < 0 {
			return githubError(http.StatusNotFound, "Not Found", p.op.docs, nil), nil
		}
		return jsonAnswer(http.StatusOK, view.shown(all[i])), nil
	}
	byID := func(classes ...string) (answer, error) {
		return one(func(o store.Object) bool { return o.ID == p.open[0] && slices.Contains(classes, o.Class) })
	}
	byNumber := func(o store.Object) bool {
		n, ok := o.Detail["number"].(int)
		return ok && strconv.Itoa(n) == p.open[0]
	}
	switch p.op.name {
	case "read issue":
		return one(byNumber)
	case "read pull request":
		view.pulls = true
		return one(func(o store.Object) bool { return o.Class == "pull_request" && byNumber(o) })
	case "read comment":
		return byID("comment")
	case "read release":
		return byID("release", "draft")
	case "read deployment":
		return byID("deployment")
	case "read ref":
		return one(func(o store.Object) bool { return o.Class == "ref" && o.Attrs["ref"] == "refs/"+p.open[0] })
	case "read repository":
		return jsonAnswer(http.StatusOK, view.repository(p.repo)), nil
	case "read user":
		return jsonAnswer(http.StatusOK, view.user(x.call.Principal)), nil
	case "read rate limit":
		limit := map[string]any{"limit": 5000, "remaining": 4999, "used": 1, "reset": x.p.clock.Now().Add(time.Hour).Unix()}
		return jsonAnswer(http.StatusOK, map[string]any{"resources": map[string]any{"core": limit, "search": limit}, "rate": limit}), nil
	}
	return g.lists(x, p, view)
}

// here says whether o is of the repository that the path names.
func (p githubPlace) here(o store.Object) bool { return o.Attrs["repository"] == p.repo }

func (g repository) lists(x *exchange, p githubPlace, view githubView) (answer, error) {
	if p.op.name == "list comments" && !slices.ContainsFunc(view.all, func(o store.Object) bool {
		n, ok := o.Detail["number"].(int)
		return ok && p.here(o) && strconv.Itoa(n) == p.open[0]
	}) {
		return githubError(http.StatusNotFound, "Not Found", p.op.docs, nil), nil
	}
	if p.op.name == "search issues" && strings.TrimSpace(p.query.Get("q")) == "" {
		return githubError(http.StatusUnprocessableEntity, "Validation Failed", p.op.docs,
			[]map[string]any{{"resource": "Search", "field": "q", "code": "missing"}}), nil
	}
	wanted := view.filter(p)
	now := x.p.clock.Now()
	found, err := x.look(func(o store.Object) bool {
		if p.op.name == "search issues" {
			return wanted(o) && (o.Request == "" || now.Sub(o.At) >= x.p.terms.LookUp.Lag+searchBehind)
		}
		return p.here(o) && wanted(o)
	})
	if err != nil {
		return answer{}, err
	}
	oldest := p.op.name == "list comments" || p.query.Get("direction") == "asc" && p.op.name != "list releases"
	if !oldest {
		slices.Reverse(found)
	}
	view.pulls = p.op.name == "list pull requests"
	return view.page(x, p, found), nil
}

// filter is what a list or search asks for.
func (v githubView) filter(p githubPlace) func(store.Object) bool {
	q := p.query.Get
	is := func(name, want string) func(store.Object) bool {
		return func(o store.Object) bool { return want == "" || o.Attrs[name] == want }
	}
	state := func(o store.Object) bool {
		want := firstText(q("state"), "open")
		return want == "all" || v.state(o).closed == (want == "closed")
	}
	switch p.op.name {
	case "list issues": // pull requests are issues too
		return func(o store.Object) bool {
			return (o.Class == "issue" || o.Class == "pull_request") && state(o) && v.labelled(o, q("labels"))
		}
	case "list comments":
		return func(o store.Object) bool { return o.Class == "comment" && fmt.Sprint(o.Attrs["issue"]) == p.open[0] }
	case "list pull requests":
		head, base := q("head"), is("base", q("base"))
		return func(o store.Object) bool {
			ofHead := !strings.Contains(head, ":") || o.Attrs["head"] == branchOf(head, p.repo) // without its user it is no filter
			return o.Class == "pull_request" && state(o) && ofHead && base(o)
		}
	case "list releases":
		return func(o store.Object) bool { return o.Class == "release" || o.Class == "draft" }
	case "read release by tag":
		tag := is("tag", p.open[0])
		return func(o store.Object) bool { return o.Class == "release" && tag(o) }
	case "list deployments":
		ref, env := is("ref", q("ref")), q("environment")
		return func(o store.Object) bool {
			return o.Class == "deployment" && ref(o) && (env == "" || firstText(text(o.Attrs, "environment"), "production") == env)
		}
	}
	return v.searched(q("q"))
}

func (v githubView) labelled(o store.Object, labels string) bool {
	has := strings.Split(v.state(o).labels, ",")
	for want := range strings.SplitSeq(labels, ",") {
		if want != "" && !slices.Contains(has, want) {
			return false
		}
	}
	return true
}

// searched reads a search: words and quoted phrases, and the qualifiers repo, is, type, state and label. Others,
// such as in, author or sort, are passed over.
func (v githubView) searched(q string) func(store.Object) bool {
	var words, qualifiers []string
	for _, term := range searchTerms(q) {
		if name, value, ok := strings.Cut(term, ":"); ok && !strings.ContainsAny(name, " \"") && value != "" {
			qualifiers = append(qualifiers, name+":"+strings.ToLower(strings.Trim(value, `"`)))
			continue
		}
		words = append(words, strings.ToLower(strings.Trim(term, `"`)))
	}
	return func(o store.Object) bool {
		if o.Class != "issue" && o.Class != "pull_request" {
			return false
		}
		st := v.state(o)
		for _, each := range qualifiers {
			name, value, _ := strings.Cut(each, ":")
			fits := true
			switch name {
			case "repo":
				fits = o.Attrs["repository"] == value
			case "label":
				fits = v.labelled(o, value)
			case "is", "type", "state":
				fits = map[string]bool{"issue": o.Class == "issue", "pr": o.Class == "pull_request", "pull-request": o.Class == "pull_request",
					"open": !st.closed, "closed": st.closed}[value]
			}
			if !fits {
				return false
			}
		}
		all := strings.ToLower(st.title + "\n" + st.body)
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(all, w) })
	}
}

// searchTerms parts a search at blanks outside of quotes.
func searchTerms(q string) []string {
	quoted := false
	return strings.FieldsFunc(q, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	})
}

// page answers one page of a list, with the Link header by which clients go on.
func (v githubView) page(x *exchange, p githubPlace, found []store.Object) answer {
	if p.op.name == "read release by tag" {
		if len(found) == 0 {
			return githubError(http.StatusNotFound, "Not Found", p.op.docs, nil)
		}
		return jsonAnswer(http.StatusOK, v.shown(found[0]))
	}
	number := func(name string, fallback, most int) int {
		n, err := strconv.Atoi(p.query.Get(name))
		if err != nil || n < 1 {
			return fallback
		}
		return min(n, most)
	}
	size, at := number("per_page", 30, 100), number("page", 1, 1<<20)
	last := max(1, (len(found)+size-1)/size)
	items := []any{}
	for _, o := range found[min((at-1)*size, len(found)):min(at*size, len(found))] {
		items = append(items, v.shown(o))
	}
	a := jsonAnswer(http.StatusOK, items)
	if p.op.name == "search issues" {
		a = jsonAnswer(http.StatusOK, map[string]any{"total_count": len(found), "incomplete_results": false, "items": items})
	}
	path, _, _ := strings.Cut(x.raw.Path, "?")
	var links []string
	link := func(rel string, to int) {
		p.query.Set("page", strconv.Itoa(to))
		links = append(links, fmt.Sprintf(`<%s%s?%s>; rel="%s"`, v.api, path, p.query.Encode(), rel))
	}
	if at > 1 {
		link("prev", min(at-1, last))
	}
	if at < last {
		link("next", at+1)
		link("last", last)
	}
	if at > 1 {
		link("first", 1)
	}
	if links != nil {
		a.header = http.Header{"Link": {strings.Join(links, ", ")}}
	}
	return a
}

// nodeID is an id as GitHub's GraphQL API has it.
func nodeID(prefix, id string) string {
	return prefix + "_kwDO" + base64.RawURLEncoding.EncodeToString([]byte(id))
}
