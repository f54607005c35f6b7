package fakeproviders

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
)

// github sends a request with a token.
func (r *rig) github(method, path, body string, header ...string) reply {
	return r.send(method, path, body, append([]string{"Authorization", "Bearer ghp_x"}, header...)...)
}

const widgets = "/repos/Octo/Widgets"

// list reads the field of every element of a JSON list.
func (r *rig) list(got reply, field string) string {
	r.Helper()
	var all []map[string]any
	if err := json.Unmarshal([]byte(r.want(got, 200).body), &all); err != nil {
		r.Fatalf("%v: %s", err, got.body)
	}
	var values []string
	for _, o := range all {
		values = append(values, fmt.Sprint(o[field]))
	}
	return strings.Join(values, " ")
}

// TestGitHubNaturalKeys makes each thing twice: what GitHub refuses is refused in its words, with a dedup record of
// the first, and what it does not refuse is made.
func TestGitHubNaturalKeys(t *testing.T) {
	for name, c := range map[string]struct {
		path, body, refused string
	}{
		"issue":      {"/issues", `{"title":"t"}`, ""},
		"release":    {"/releases", `{"tag_name":"v1"}`, `{"code":"already_exists","field":"tag_name","resource":"Release"}`},
		"draft":      {"/releases", `{"tag_name":"v1","draft":true}`, ""},
		"pull":       {"/pulls", `{"title":"t","head":"fix","base":"main"}`, `"message":"A pull request already exists for octo:fix."`},
		"fork":       {"/pulls", `{"title":"t","head":"me:fix","base":"main"}`, `"message":"A pull request already exists for me:fix."`},
		"deployment": {"/deployments", `{"ref":"main"}`, ""},
		"ref":        {"/git/refs", `{"ref":"refs/heads/a","sha":"1"}`, `"message":"Reference already exists"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := up(t, "github")
			first := r.want(r.github("POST", widgets+c.path, c.body), 201)
			if c.refused == "" {
				r.want(r.github("POST", widgets+c.path, c.body), 201)
				r.wantEffects(2)
				r.wantDedup()
				return
			}
			second := r.want(r.github("POST", widgets+c.path, c.body), 422)
			if !strings.Contains(second.body, c.refused) || strings.Contains(second.body, fmt.Sprint(first.field("id"))) && c.path != "/git/refs" {
				t.Errorf("%s; expected %s in it, and not the id of the first", second.body, c.refused)
			}
			r.wantEffects(1)
			r.wantDedup(bench.DedupRecord{By: "provider", Request: "r2", Record: r.effects()[0].ID})
			other := strings.NewReplacer("v1", "v2", `"base":"main"`, `"base":"next"`, "heads/a", "heads/b").Replace(c.body)
			r.want(r.github("POST", widgets+c.path, other), 201)
			r.want(r.github("POST", "/repos/octo/other"+c.path, c.body), 201)
		})
	}
}

// TestGitHubWithoutItsNaturalKeys breaks the promise.
func TestGitHubWithoutItsNaturalKeys(t *testing.T) {
	r := up(t, "github", func(c *bench.Contract) { c.Actual.Unique = nil })
	for range 2 {
		r.want(r.github("POST", widgets+"/releases", `{"tag_name":"v1"}`), 201)
		r.want(r.github("POST", widgets+"/pulls", `{"title":"t","head":"fix","base":"main"}`), 201)
	}
	r.wantEffects(4)
}

// TestGitHubPullRequestsEnd: a closed pull request is in nobody's way, and one that is in the way keeps it closed.
func TestGitHubPullRequestsEnd(t *testing.T) {
	r := up(t, "github")
	open := `{"title":"t","head":"fix","base":"main"}`
	r.want(r.github("POST", widgets+"/pulls", open), 201)
	r.want(r.github("PATCH", widgets+"/pulls/1", `{"state":"closed"}`), 200)
	r.want(r.github("PATCH", widgets+"/pulls/1", `{"state":"closed"}`), 200) // equal over equal
	if got := r.effects(); len(got) != 2 || got[1].Undoes != got[0].ID || got[1].Sign != -1 || got[1].Class != "change" {
		t.Fatalf("effects %+v; expected the pull request and its end", got)
	}
	r.want(r.github("POST", widgets+"/pulls", open), 201)
	r.want(r.github("PATCH", widgets+"/pulls/1", `{"state":"open"}`), 422)
	r.want(r.github("PATCH", widgets+"/issues/2", `{"state":"closed"}`), 200) // a pull request is an issue too
	if got := r.want(r.github("PATCH", widgets+"/pulls/1", `{"state":"open","title":"t2"}`), 200); got.field("state") != "open" || got.field("title") != "t2" {
		t.Errorf("opened again: %s", got.body)
	}
	if got := r.list(r.github("GET", widgets+"/pulls?head=octo:fix&base=main", ""), "number"); got != "" {
		t.Errorf("the first look shows %q", got)
	}
	if got := r.list(r.github("GET", widgets+"/pulls?head=octo:fix&base=main", ""), "number"); got != "1" {
		t.Errorf("open pull requests %q, expected 1", got)
	}
}

// TestGitHubMarker: a reference at the end of a body is none of its words, and stays in what GitHub shows.
func TestGitHubMarker(t *testing.T) {
	for body, want := range map[string][2]string{
		"Words.\n\n<!-- reference: r-1 -->":              {"Words.", "r-1"},
		"<!-- reference: r-1 -->":                        {"", "r-1"},
		"<!-- reference: r-1 --> and more":               {"<!-- reference: r-1 --> and more", ""},
		"<!-- reference: <b> -->":                        {"<!-- reference: <b> -->", ""},
		"none":                                           {"none", ""},
		"a <!-- reference: x -->\n<!-- reference: y -->": {"a <!-- reference: x -->", "y"},
	} {
		if words, reference := unmarked(body); words != want[0] || reference != want[1] {
			t.Errorf("%q: %q and %q, expected %q", body, words, reference, want)
		}
	}
	r := up(t, "github")
	got := r.want(r.github("POST", widgets+"/issues", `{"title":"t","body":"Words.\n\n<!-- reference: r-1 -->"}`), 201)
	if o := r.effects()[0]; o.Attrs["body"] != "Words." || o.Reference != "r-1" || got.field("body") != "Words.\n\n<!-- reference: r-1 -->" {
		t.Errorf("effect %+v, answer %s", o, got.body)
	}
}

// TestGitHubLookUps: lists and searches show what their lag lets through, one object is shown at once.
func TestGitHubLookUps(t *testing.T) {
	r := up(t, "github-lagging-lists")
	r.want(r.github("POST", widgets+"/issues", `{"title":"Odd noise","body":"b","labels":["bug","loud"]}`), 201)
	search := "/search/issues?q=" + strings.ReplaceAll(`"odd noise" repo:octo/widgets is:issue is:open label:bug`, " ", "+")
	see := func(what, list, found string) {
		t.Helper()
		if got := r.list(r.github("GET", widgets+"/issues?labels=bug,loud", ""), "number"); got != list {
			t.Errorf("%s: listed %q, expected %q", what, got, list)
		}
		got := r.want(r.github("GET", search, ""), 200)
		if n := fmt.Sprint(got.field("total_count")); n != found {
			t.Errorf("%s: found %s, expected %s", what, n, found)
		}
	}
	see("at once", "", "0")
	r.want(r.github("GET", widgets+"/issues/1", ""), 200)
	r.clock.pass(time.Hour)
	see("after an hour", "1", "0")
	r.clock.pass(time.Minute)
	see("a minute later", "1", "1")
	r.want(r.github("PATCH", widgets+"/issues/1", `{"state":"closed"}`), 200)
	see("closed", "", "0")
	if got := r.list(r.github("GET", widgets+"/issues?state=all", ""), "state"); got != "closed" {
		t.Errorf("all: %q", got)
	}
	if got := r.list(r.github("GET", widgets+"/issues?labels=quiet&state=all", ""), "number"); got != "" {
		t.Errorf("of another label: %q", got)
	}
}

// TestGitHubPages goes through a list by its Link headers.
func TestGitHubPages(t *testing.T) {
	r := up(t, "github", func(c *bench.Contract) { c.Actual.LookUp.LagReads = 0 })
	for n := range 5 {
		r.want(r.github("POST", widgets+"/issues", fmt.Sprintf(`{"title":"%d"}`, n)), 201)
	}
	var seen []string
	path := widgets + "/issues?per_page=2"
	for path != "" {
		got := r.github("GET", path, "")
		seen = append(seen, r.list(got, "number"))
		path = ""
		for _, link := range strings.Split(got.header.Get("Link"), ", ") {
			if to, ok := strings.CutSuffix(link, `>; rel="next"`); ok {
				path = strings.TrimPrefix(to, "<"+r.base)
			}
		}
	}
	if got := strings.Join(seen, "|"); got != "5 4|3 2|1" {
		t.Errorf("pages %s", got)
	}
	last := r.github("GET", widgets+"/issues?per_page=2&page=3", "").header.Get("Link")
	if strings.Contains(last, `rel="next"`) || !strings.Contains(last, `rel="prev"`) || !strings.Contains(last, `rel="first"`) {
		t.Errorf("the last page links %s", last)
	}
}

// TestGitHubRefuses: what cannot be read or is not there gets GitHub's errors and makes nothing.
func TestGitHubRefuses(t *testing.T) {
	r := up(t, "github")
	for _, c := range []struct {
		method, path, body string
		status             int
		words              string
	}{
		{"POST", widgets + "/issues", `{"title":`, 400, `"message":"Problems parsing JSON"`},
		{"POST", widgets + "/issues", `[]`, 400, `"message":"Problems parsing JSON"`},
		{"POST", widgets + "/issues", `{}`, 422, `{"code":"missing_field","field":"title","resource":"Issue"}`},
		{"POST", widgets + "/issues", `{"title":7}`, 422, `{"code":"invalid","field":"title","resource":"Issue"}`},
		{"POST", widgets + "/issues", `{"title":"t","labels":"bug"}`, 422, `"field":"labels"`},
		{"POST", widgets + "/issues/9/comments", `{"body":"b"}`, 404, `"message":"Not Found"`},
		{"POST", widgets + "/issues/x/comments", `{"body":"b"}`, 404, `"message":"Not Found"`},
		{"POST", widgets + "/pulls", `{"title":"t","head":"main","base":"main"}`, 422, "No commits between main and main"},
		{"POST", widgets + "/git/refs", `{"ref":"main","sha":"1"}`, 422, "refs/"},
		{"PATCH", widgets + "/issues/9", `{"state":"closed"}`, 404, "Not Found"},
		{"GET", widgets + "/issues/9/comments", ``, 404, "Not Found"},
		{"GET", widgets + "/releases/tags/v9", ``, 404, "Not Found"},
		{"GET", "/search/issues?q=", ``, 422, `"resource":"Search"`},
		{"GET", "/repos/octo", ``, 404, "Not Found"},
		{"DELETE", widgets + "/issues/1", ``, 404, "Not Found"},
		{"POST", widgets + "/issues", `{"title":"` + strings.Repeat("x", 1<<20) + `"`, 400, "Problems parsing JSON"},
	} {
		got := r.want(r.github(c.method, c.path, c.body), c.status)
		if !strings.Contains(got.body, c.words) || !strings.Contains(got.body, `"documentation_url":"https://docs.github.com/rest`) {
			t.Errorf("%s %s %.40s: %s; expected %s in it", c.method, c.path, c.body, got.body, c.words)
		}
	}
	if got := r.want(r.send("POST", widgets+"/issues", `{"title":"t"}`, "Authorization", ""), 401); !strings.Contains(got.body, "Requires authentication") {
		t.Errorf("without a token: %s", got.body)
	}
	r.wantEffects(0)
}

// TestGitHubFails: failures that the gate orders come in the words by which clients tell them.
func TestGitHubFails(t *testing.T) {
	r := up(t, "github")
	for i, c := range []struct {
		status int
		words  string
	}{{500, "Server Error"}, {403, "secondary rate limit"}, {429, "secondary rate limit"}, {401, "Bad credentials"}} {
		r.gate.order(bench.Received, fmt.Sprint("r", i+1), bench.Action{Act: bench.Fail, Status: c.status})
		got := r.want(r.github("POST", widgets+"/issues", `{"title":"t"}`), c.status)
		if !strings.Contains(got.body, c.words) || got.header.Get("X-GitHub-Request-Id") == "" {
			t.Errorf("%d: %s %v", c.status, got.body, got.header)
		}
	}
	h := r.github("GET", "/rate_limit", "").header
	if h.Get("X-RateLimit-Used") != "5" || h.Get("X-RateLimit-Remaining") != "4995" || h.Get("X-RateLimit-Reset") == "" {
		t.Errorf("rate limit after five requests: %v", h)
	}
}

// TestGitHubWorld: what was there before the trial has numbers and ids, and is seen at once.
func TestGitHubWorld(t *testing.T) {
	c, _ := contracts.Find("github-lagging-lists")
	r := upWith(t, c, []bench.WorldEffect{
		{Class: "issue", Attrs: map[string]any{"repository": "octo/widgets", "title": "old"}},
		{Class: "comment", Attrs: map[string]any{"repository": "octo/widgets", "issue": 1, "body": "b"}},
		{Class: "pull_request", Attrs: map[string]any{"repository": "octo/widgets", "title": "p", "head": "fix", "base": "main"}},
	})
	if got := r.list(r.github("GET", widgets+"/issues", ""), "number"); got != "3 1" {
		t.Errorf("issues %q, expected 3 and 1", got)
	}
	if got := r.list(r.github("GET", widgets+"/issues/1/comments", ""), "body"); got != "b" {
		t.Errorf("comments %q", got)
	}
	r.want(r.github("POST", widgets+"/pulls", `{"title":"p","head":"fix","base":"main"}`), http.StatusUnprocessableEntity)
	if got := r.want(r.github("POST", widgets+"/issues", `{"title":"new"}`), 201); got.field("number") != 4 {
		t.Errorf("number %v, expected 4", got.field("number"))
	}
}
