package fakeproviders

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// githubMaker carries out one mutation.
type githubMaker struct {
	x    *exchange
	p    githubPlace
	body map[string]any
	all  []store.Object // what is committed, in order
}

// githubResource names the resource of an error by the effect's class.
var githubResource = map[string]string{"issue": "Issue", "comment": "IssueComment", "change": "Issue", "pull_request": "PullRequest",
	"release": "Release", "draft": "Release", "deployment": "Deployment", "ref": "Reference"}

func (m githubMaker) make() answer {
	switch m.x.call.Class {
	case "issue":
		return m.add([]string{"title"}, m.numbered())
	case "comment":
		if m.numberedObject(m.p.open[0]) == nil {
			return m.notFound()
		}
		return m.add([]string{"body"}, nil)
	case "change":
		return m.change()
	case "pull_request":
		return m.pullRequest()
	case "release", "draft":
		detail := map[string]any{"prerelease": m.body["prerelease"] == true, "target": text(m.body, "target_commitish")}
		return m.add([]string{"tag_name"}, detail)
	case "deployment":
		return m.add([]string{"ref"}, map[string]any{"payload": m.body["payload"], "task": text(m.body, "task")})
	}
	return m.ref()
}

// add checks the body's texts and makes the object, unless one of the same natural key is in its way.
func (m githubMaker) add(required []string, detail map[string]any) answer {
	if a := m.checked(required); a != nil {
		return *a
	}
	class := m.x.call.Class
	o := store.Object{ID: githubID(m.x.name, len(m.x.tx.Added())), Class: class, Attrs: m.x.call.Attrs, Detail: map[string]any{"text": m.body["body"]}}
	for k, v := range detail {
		o.Detail[k] = v
	}
	_, o.Reference = unmarked(text(m.body, "body"))
	if payload, ok := m.body["payload"].(map[string]any); ok && class == "deployment" {
		o.Reference = text(payload, "reference")
	}
	if r := m.rival(o, ""); r != nil {
		return m.taken(*r)
	}
	m.x.add("", o)
	return m.created(m.x.tx.Added()[0])
}

func (m githubMaker) created(o store.Object) answer {
	view := githubView{api: m.x.base(), all: m.all, pulls: o.Class == "pull_request"}
	a := jsonAnswer(http.StatusCreated, view.shown(o))
	a.header = http.Header{"Location": {view.address(o)}}
	return a
}

// checked says what is wrong with the body's fields: the texts, of which some are required, and the labels.
func (m githubMaker) checked(required []string) *answer {
	var problems []map[string]any
	wrong := func(field, code string) {
		problems = append(problems, map[string]any{"resource": githubResource[m.x.call.Class], "code": code, "field": field})
	}
	for _, name := range []string{"title", "body", "head", "base", "tag_name", "name", "target_commitish", "ref", "sha", "environment", "description", "task", "state"} {
		v := m.body[name]
		_, isText := v.(string)
		switch {
		case v != nil && !isText:
			wrong(name, "invalid")
		case slices.Contains(required, name) && strings.TrimSpace(text(m.body, name)) == "":
			wrong(name, "missing_field")
		}
	}
	if v := m.body["labels"]; v != nil {
		if _, ok := v.([]any); !ok {
			wrong("labels", "invalid")
		}
	}
	if problems == nil {
		return nil
	}
	a := githubError(http.StatusUnprocessableEntity, "Validation Failed", m.p.op.docs, problems)
	return &a
}

func (m githubMaker) notFound() answer {
	return githubError(http.StatusNotFound, "Not Found", m.p.op.docs, nil)
}

// numbered is the next number: issues and pull requests of a repository share one count.
func (m githubMaker) numbered() map[string]any {
	last := 0
	for _, o := range m.all {
		if n, ok := o.Detail["number"].(int); ok && o.Attrs["repository"] == m.p.repo {
			last = max(last, n)
		}
	}
	return map[string]any{"number": last + 1}
}

// numberedObject is the issue or pull request of a number, nil if there is none.
func (m githubMaker) numberedObject(number string) *store.Object {
	for i, o := range m.all {
		if n, ok := o.Detail["number"].(int); ok && strconv.Itoa(n) == number && o.Attrs["repository"] == m.p.repo {
			return &m.all[i]
		}
	}
	return nil
}

// rival is the object that has the natural key of o, nil if there is none or the contract has no such key.
// Closed pull requests are in nobody's way, nor is the object itself.
func (m githubMaker) rival(o store.Object, self string) *store.Object {
	key := m.x.p.terms.Unique[o.Class]
	if len(key) == 0 {
		return nil
	}
	view := githubView{all: m.all}
	for i, other := range m.all {
		same := other.Class == o.Class && other.ID != self && !view.state(other).closed
		for _, name := range key {
			same = same && other.Attrs[name] == o.Attrs[name]
		}
		if same {
			return &m.all[i]
		}
	}
	return nil
}

// taken refuses what would be the second of its natural key. It does not say which one is the first.
func (m githubMaker) taken(rival store.Object) answer {
	problem := map[string]any{"resource": githubResource[rival.Class], "code": "already_exists", "field": "tag_name"}
	message := "Validation Failed"
	switch rival.Class {
	case "pull_request":
		head := text(rival.Attrs, "head")
		if !strings.Contains(head, ":") {
			owner, _, _ := strings.Cut(m.p.repo, "/")
			head = owner + ":" + head
		}
		problem = map[string]any{"resource": "PullRequest", "code": "custom", "message": "A pull request already exists for " + head + "."}
	case "ref":
		message, problem = "Reference already exists", nil
	}
	var problems []map[string]any
	if problem != nil {
		problems = append(problems, problem)
	}
	a := githubError(http.StatusUnprocessableEntity, message, m.p.op.docs, problems)
	a.existing, a.dedup = rival.ID, true
	return a
}

func (m githubMaker) pullRequest() answer {
	if head, base := m.x.call.Attrs["head"], m.x.call.Attrs["base"]; head != nil && head == base {
		return githubError(http.StatusUnprocessableEntity, "Validation Failed", m.p.op.docs, []map[string]any{{
			"resource": "PullRequest", "code": "custom", "message": fmt.Sprintf("No commits between %v and %v", base, head)}})
	}
	detail := m.numbered()
	detail["draft"] = m.body["draft"] == true
	return m.add([]string{"title", "head", "base"}, detail)
}

func (m githubMaker) ref() answer {
	if a := m.checked([]string{"ref", "sha"}); a != nil {
		return *a
	}
	if name := text(m.body, "ref"); !strings.HasPrefix(name, "refs/") || strings.Count(name, "/") < 2 {
		return githubError(http.StatusUnprocessableEntity, "Reference name must start with 'refs/'.", m.p.op.docs, nil)
	}
	return m.add(nil, nil)
}

// change edits or closes an issue or a pull request. What changes nothing leaves no effect.
func (m githubMaker) change() answer {
	of := m.numberedObject(m.p.open[0])
	if of == nil || m.p.op.name == "edit pull request" && of.Class != "pull_request" {
		return m.notFound()
	}
	if a := m.checked(nil); a != nil {
		return *a
	}
	view := githubView{api: m.x.base(), all: m.all, pulls: m.p.op.name == "edit pull request"}
	is, set := view.state(*of), map[string]any{}
	state := text(m.body, "state")
	switch {
	case state != "" && state != "open" && state != "closed":
		return githubError(http.StatusUnprocessableEntity, "Validation Failed", m.p.op.docs,
			[]map[string]any{{"resource": githubResource[of.Class], "code": "invalid", "field": "state"}})
	case state != "" && is.closed != (state == "closed"):
		set["state"] = state
	}
	for name, before := range map[string]string{"title": is.title, "body": is.body} {
		if after, ok := m.body[name].(string); ok && after != before {
			set[name] = after
		}
	}
	if labels, ok := m.body["labels"].([]any); ok && labelsOf(labels) != is.labels {
		set["labels"] = labelsOf(labels)
	}
	if len(set) == 0 {
		return jsonAnswer(http.StatusOK, view.shown(*of))
	}
	if r := m.rival(*of, of.ID); r != nil && set["state"] == "open" {
		return m.taken(*r)
	}
	o := store.Object{ID: githubID(m.x.name, 0), Class: "change", Attrs: m.x.call.Attrs, Detail: map[string]any{"of": of.ID, "set": set}}
	if set["state"] == "closed" {
		o.Sign, o.Undoes = -1, of.ID
	}
	m.x.add("", o)
	view.all = append(slices.Clone(m.all), m.x.tx.Added()...)
	return jsonAnswer(http.StatusOK, view.shown(*of))
}
