package fakeproviders

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
)

const (
	jobsOf    = "/apis/batch/v1/namespaces/ops/jobs"
	configsOf = "/api/v1/namespaces/ops/configmaps"
	podSpec   = `{"containers":[{"name":"main","image":"busybox","command":["/bin/sh","-c","echo hi"]}]}`
	jobSpec   = `{"template":{"spec":` + podSpec + `}}`
)

func manifestOf(metadata, spec string) string {
	return `{"metadata":` + metadata + `,"spec":` + spec + `}`
}

func (r *rig) job(metadata string) reply {
	return r.send("POST", jobsOf, manifestOf(metadata, jobSpec))
}

func (r *rig) apply(name, manager, data string, query ...string) reply {
	return r.send("PATCH", configsOf+"/"+name+"?"+strings.Join(append(query, "fieldManager="+manager), "&"),
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+name+`"},"data":`+data+`}`, "Content-Type", "application/apply-patch+yaml")
}

// meta is a field of an answer's metadata.
func (r reply) meta(name string) string { return text(inner(fields([]byte(r.body)), "metadata"), name) }

func TestClusterObjectsAreReadBack(t *testing.T) {
	for kind, c := range map[string]struct{ path, body, class, attrs string }{
		"job":        {jobsOf, manifestOf(`{"name":"one","labels":{"a":"b"}}`, jobSpec), "job", "map[command:echo hi image:busybox name:one namespace:ops]"},
		"config map": {configsOf, `{"metadata":{"name":"one"},"data":{"b":"2","a":"1\n2"}}`, "config", "map[data:a=\"1\\n2\"\nb=2 name:one namespace:ops]"},
		"pod":        {"/api/v1/namespaces/ops/pods", manifestOf(`{"name":"one"}`, podSpec), "pod", "map[command:echo hi image:busybox name:one namespace:ops]"},
		"deployment": {"/apis/apps/v1/namespaces/ops/deployments", manifestOf(`{"name":"one"}`, `{"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"spec":`+podSpec+`}}`), "app",
			"map[command:echo hi image:busybox name:one namespace:ops replicas:2]"},
	} {
		t.Run(kind, func(t *testing.T) {
			r := up(t, "kubernetes-by-name")
			got := r.want(r.send("POST", c.path, c.body, "User-Agent", "tester/1"), 201)
			all := r.effects()
			if len(all) != 1 || all[0].ID != got.meta("uid")+"@"+got.meta("resourceVersion") || all[0].Class != c.class || fmt.Sprint(all[0].Attrs) != c.attrs {
				t.Fatalf("effects %+v, want a %s %s as in %s", all, c.class, c.attrs, got.body)
			}
			if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(got.meta("uid")) || got.meta("namespace") != "ops" ||
				got.meta("creationTimestamp") != "2026-01-05T09:00:00Z" || !strings.Contains(got.body, `"manager":"tester"`) {
				t.Errorf("answer %s", got.body)
			}
			if read := r.want(r.send("GET", c.path+"/one", ""), 200); read.body != got.body {
				t.Errorf("read back as\n%s, made as\n%s", read.body, got.body)
			}
			again := r.want(r.send("POST", c.path, c.body), 409)
			if again.field("reason") != "AlreadyExists" || text(inner(fields([]byte(again.body)), "details"), "name") != "one" || strings.Contains(again.body, got.meta("uid")) {
				t.Errorf("again: %s", again.body)
			}
			r.wantDedup(bench.DedupRecord{By: "provider", Request: "r3", Record: all[0].ID})
			gone := r.want(r.send("DELETE", c.path+"/one", ""), 200)
			if (gone.field("status") == "Success") != (kind != "pod") || !strings.Contains(gone.body, got.meta("uid")) {
				t.Errorf("deleted: %s", gone.body)
			}
			r.want(r.send("DELETE", c.path+"/one", ""), 404)
			r.want(r.send("GET", c.path+"/one", ""), 404)
			if second := r.want(r.send("POST", c.path, c.body), 201); second.meta("uid") == got.meta("uid") { // the name is free again
				t.Errorf("a new object has the uid of the old one: %s", second.body)
			}
			if all = r.effects(); len(all) != 3 || all[1].Class != "teardown" || all[1].Undoes != all[0].ID {
				t.Errorf("effects %+v", all)
			}
		})
	}
}

func TestClusterNamesAreOfAKindInANamespace(t *testing.T) {
	r := up(t, "kubernetes-by-name")
	r.want(r.job(`{"name":"one"}`), 201)
	r.want(r.send("POST", "/apis/batch/v1/namespaces/other/jobs", manifestOf(`{"name":"one"}`, jobSpec)), 201)
	r.want(r.send("POST", configsOf, `{"metadata":{"name":"one"}}`), 201)
	r.want(r.job(`{"name":"one","labels":{"differs":"yes"}}`), 409) // nothing else is compared
	r.wantEffects(3)
	broken := up(t, "kubernetes-by-name", func(c *bench.Contract) { c.Actual.Unique = nil })
	broken.want(broken.job(`{"name":"one"}`), 201)
	broken.want(broken.job(`{"name":"one"}`), 201)
	broken.wantEffects(2)
}

func TestClusterGeneratesNames(t *testing.T) {
	r := up(t, "kubernetes-generate-name")
	seen := map[string]bool{}
	for range 20 {
		got := r.want(r.job(`{"generateName":"report-","labels":{"reference":"r-1"}}`), 201)
		if name := got.meta("name"); seen[name] || !regexp.MustCompile(`^report-[bcdfghjklmnpqrstvwxz2456789]{5}$`).MatchString(name) || got.meta("generateName") != "report-" {
			t.Fatalf("name %q after %v", name, seen)
		} else {
			seen[name] = true
		}
	}
	if got := r.want(r.send("GET", jobsOf+"?labelSelector=reference%3Dr-1", ""), 200); len(got.field("items").([]any)) != 20 {
		t.Errorf("list %s", got.body)
	}
	if all := r.effects(); all[0].Attrs["generate_name"] != "report-" || all[0].Attrs["name"] != nil || all[0].Reference != "r-1" {
		t.Errorf("effect %+v", all[0])
	}
	r.want(r.job(`{"name":"one"}`), 201)
	r.want(r.job(`{"name":"one"}`), 409) // a name of the caller's is unique here too
	long := r.want(r.job(`{"generateName":"`+strings.Repeat("a", 100)+`"}`), 201)
	if len(long.meta("name")) != 63 {
		t.Errorf("a long prefix gives %q", long.meta("name"))
	}
}

func TestClusterApply(t *testing.T) {
	r := up(t, "kubernetes-apply")
	first := r.want(r.apply("web", "a", `{"x":"1"}`), 201)
	r.clock.pass(3600e9)
	if again := r.want(r.apply("web", "a", `{"x":"1"}`), 200); again.body != first.body {
		t.Errorf("again: %s, first %s", again.body, first.body)
	}
	r.wantEffects(1)
	r.wantDedup(bench.DedupRecord{By: "provider", Request: "r2", Record: first.meta("uid") + "@1"})
	for i, step := range []struct {
		manager, data, query string
		status               int
		left                 string
	}{
		{"a", `{"x":"2"}`, "", 200, "map[x:2]"},             // its own value
		{"b", `{"y":"1"}`, "", 200, "map[x:2 y:1]"},         // beside another's
		{"b", `{"x":"3","y":"1"}`, "", 409, "map[x:2 y:1]"}, // against another's
		{"b", `{"x":"3","y":"1"}`, "force=true", 200, "map[x:3 y:1]"},
		{"a", `{"x":"2"}`, "", 409, "map[x:3 y:1]"}, // which it has lost
		{"b", `{"x":"3"}`, "", 200, "map[x:3]"},     // what it no longer lists goes
		{"c", `{"x":"3"}`, "", 200, "map[x:3]"},     // nobody disagrees
		{"b", `{}`, "dryRun=All", 200, "map[x:3]"},  // nothing is kept
	} {
		r.want(r.apply("web", step.manager, step.data, step.query), step.status)
		got := r.want(r.send("GET", configsOf+"/web", ""), 200)
		if data := fmt.Sprint(inner(fields([]byte(got.body)), "data")); data != step.left || got.meta("uid") != first.meta("uid") {
			t.Errorf("step %d: %s, want %s in %s", i+1, data, step.left, got.body)
		}
	}
	conflict := r.apply("web", "z", `{"x":"9"}`)
	if conflict.field("reason") != "Conflict" || !strings.Contains(conflict.body, `conflict with \"b\" using v1`) || !strings.Contains(conflict.body, `"field":".data.x"`) {
		t.Errorf("conflict: %s", conflict.body)
	}
	r.want(r.send("POST", configsOf, `{"metadata":{"name":"posted"},"data":{"x":"1"}}`, "User-Agent", "tester/1"), 201)
	r.want(r.apply("posted", "tester", `{"x":"2"}`), 409) // created it, and never applied it
	r.wantEffects(6)

	broken := up(t, "kubernetes-apply", func(c *bench.Contract) { c.Actual.NaturallyIdempotent = false })
	broken.want(broken.apply("web", "a", `{"x":"1"}`), 201)
	if again := broken.want(broken.apply("web", "a", `{"x":"1"}`), 200); again.meta("resourceVersion") != "2" {
		t.Errorf("a promise broken: %s", again.body)
	}
	broken.wantEffects(2)
}

func TestClusterSelectsAndPages(t *testing.T) {
	r := up(t, "kubernetes-by-name")
	for i, labels := range []string{`{"app":"web","tier":"a"}`, `{"app":"web","tier":"b"}`, `{"app":"db"}`, `{}`} {
		r.want(r.job(fmt.Sprintf(`{"name":"j%d","labels":%s}`, i, labels)), 201)
	}
	for selector, want := range map[string]string{"": "j0 j1 j2 j3", "app=web": "j0 j1", "app==web,tier=b": "j1", "app!=web": "j2 j3", "app in (web, db)": "j0 j1 j2",
		"app notin (web)": "j2 j3", "tier": "j0 j1", "!tier": "j2 j3", "tier in (a),app in (web,x)": "j0"} {
		got := r.want(r.send("GET", jobsOf+"?labelSelector="+url.QueryEscape(selector), ""), 200)
		if names := namesIn(got); names != want {
			t.Errorf("%q: %s, want %s", selector, names, want)
		}
	}
	for _, bad := range []string{"a b", "=x", "a in web", "(", "a=(b)"} {
		r.want(r.send("GET", jobsOf+"?labelSelector="+url.QueryEscape(bad), ""), 400)
	}
	if got := r.want(r.send("GET", "/apis/batch/v1/jobs?fieldSelector=metadata.name%3Dj2", ""), 200); namesIn(got) != "j2" || got.field("kind") != "JobList" {
		t.Errorf("by name: %s", got.body)
	}
	r.want(r.send("GET", jobsOf+"?fieldSelector=spec.x%3D1", ""), 400)
	page := r.want(r.send("GET", jobsOf+"?limit=3", ""), 200)
	rest := r.want(r.send("GET", jobsOf+"?limit=3&continue="+page.meta("continue"), ""), 200)
	if namesIn(page)+"; "+namesIn(rest) != "j0 j1 j2; j3" || rest.meta("continue") != "" {
		t.Errorf("pages %s and %s", page.body, rest.body)
	}
	r.want(r.send("GET", jobsOf+"?limit=3&continue=rubbish", ""), 400)
	r.want(r.send("GET", jobsOf+"?watch=true", ""), 400)
}

func namesIn(r reply) string {
	var all []string
	items, _ := r.field("items").([]any)
	for _, i := range items {
		all = append(all, text(inner(i.(map[string]any), "metadata"), "name"))
	}
	return strings.Join(all, " ")
}

func TestClusterRefusals(t *testing.T) {
	r := up(t, "kubernetes-by-name")
	many := strings.Repeat("a", 254)
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		reason             string
	}{
		"no JSON":                  {"POST", jobsOf, `---`, 400, "BadRequest"},
		"a list":                   {"POST", jobsOf, `[]`, 400, "BadRequest"},
		"no name":                  {"POST", jobsOf, manifestOf(`{}`, jobSpec), 422, "Invalid"},
		"a name in capitals":       {"POST", jobsOf, manifestOf(`{"name":"One"}`, jobSpec), 422, "Invalid"},
		"a long name":              {"POST", jobsOf, manifestOf(`{"name":"`+many+`"}`, jobSpec), 422, "Invalid"},
		"a prefix that is none":    {"POST", jobsOf, manifestOf(`{"generateName":"_"}`, jobSpec), 422, "Invalid"},
		"a name of a wrong type":   {"POST", jobsOf, manifestOf(`{"name":7}`, jobSpec), 400, "BadRequest"},
		"metadata of a wrong type": {"POST", jobsOf, manifestOf(`[]`, jobSpec), 400, "BadRequest"},
		"a spec of a wrong type":   {"POST", jobsOf, manifestOf(`{"name":"one"}`, `7`), 400, "BadRequest"},
		"no containers":            {"POST", jobsOf, manifestOf(`{"name":"one"}`, `{}`), 422, "Invalid"},
		"an empty container":       {"POST", jobsOf, manifestOf(`{"name":"one"}`, `{"template":{"spec":{"containers":[7]}}}`), 422, "Invalid"},
		"a label too long":         {"POST", jobsOf, manifestOf(`{"name":"one","labels":{"a":"`+many+`"}}`, jobSpec), 422, "Invalid"},
		"a label that is no text":  {"POST", jobsOf, manifestOf(`{"name":"one","labels":{"a":1}}`, jobSpec), 400, "BadRequest"},
		"another kind":             {"POST", jobsOf, `{"kind":"Pod","metadata":{"name":"one"}}`, 400, "BadRequest"},
		"another version":          {"POST", jobsOf, `{"apiVersion":"v1","metadata":{"name":"one"}}`, 400, "BadRequest"},
		"another namespace":        {"POST", jobsOf, manifestOf(`{"name":"one","namespace":"x"}`, jobSpec), 400, "BadRequest"},
		"no selector":              {"POST", "/apis/apps/v1/namespaces/ops/deployments", manifestOf(`{"name":"one"}`, `{}`), 422, "Invalid"},
		"data that are no texts":   {"POST", configsOf, `{"metadata":{"name":"one"},"data":{"a":1}}`, 400, "BadRequest"},
		"a key that is none":       {"POST", configsOf, `{"metadata":{"name":"one"},"data":{"a b":"1"}}`, 422, "Invalid"},
		"no namespace":             {"POST", "/apis/batch/v1/jobs", manifestOf(`{"name":"one"}`, jobSpec), 405, "MethodNotAllowed"},
		"a replacement":            {"PUT", jobsOf + "/one", manifestOf(`{"name":"one"}`, jobSpec), 405, "MethodNotAllowed"},
		"another patch":            {"PATCH", jobsOf + "/one", `{}`, 415, "UnsupportedMediaType"},
		"nothing there":            {"GET", jobsOf + "/one", ``, 404, "NotFound"},
		"no such resource":         {"GET", "/api/v1/namespaces/ops/secrets", ``, 404, "NotFound"},
		"no such group":            {"POST", "/apis/extensions/v1/namespaces/ops/jobs", `{}`, 404, "NotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.send(c.method, c.path, c.body, "Content-Type", "application/json")
			if got.status != c.status || got.field("reason") != c.reason || got.field("kind") != "Status" || got.field("code") != c.status {
				t.Errorf("%d %s; want %d %s", got.status, got.body, c.status, c.reason)
			}
		})
	}
	r.want(r.apply("web", "", `{}`), 422)
	r.want(r.send("PATCH", configsOf+"/web?fieldManager=a", `{"metadata":{"name":"other"}}`, "Content-Type", "application/apply-patch+yaml"), 400)
	r.want(r.send("POST", jobsOf+"?dryRun=All", manifestOf(`{"name":"one"}`, jobSpec)), 201)
	r.wantEffects(0)
}

func TestClusterIsDiscovered(t *testing.T) {
	r := up(t, "kubernetes-by-name")
	for path, want := range map[string]string{
		"/version": `"gitVersion":"v1.`, "/api": `"versions":["v1"]`, "/apis": `"groupVersion":"batch/v1"`, "/apis/apps": `"name":"apps"`,
		"/api/v1": `"kind":"ConfigMap"`, "/apis/batch/v1": `"singularName":"job"`, "/apis/apps/v1": `"shortNames":["deploy"]`,
	} {
		if got := r.want(r.send("GET", path, ""), 200); !strings.Contains(got.body, want) {
			t.Errorf("%s: %s, want %s in it", path, got.body, want)
		}
	}
	for _, path := range []string{"/", "/apis/v1", "/api/batch/v1", "/apis/batch/v2", "/openapi/v2"} {
		r.want(r.send("GET", path, ""), 404)
	}
}

// TestClusterFails orders the server's own failures.
func TestClusterFails(t *testing.T) {
	for status, reason := range map[int]string{500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout", 429: "TooManyRequests", 401: "Unauthorized"} {
		r := up(t, "kubernetes-by-name")
		r.gate.order(bench.Committed, "r1", bench.Action{Act: bench.Fail, Status: status})
		if got := r.want(r.job(`{"name":"one"}`), status); got.field("reason") != reason {
			t.Errorf("%d: %s", status, got.body)
		}
		r.wantEffects(1)
	}
}

func TestClusterWorldIsThere(t *testing.T) {
	c, _ := contracts.Find("kubernetes-by-name")
	r := upWith(t, c, []bench.WorldEffect{
		{Class: "job", Attrs: map[string]any{"namespace": "ops", "name": "one", "image": "busybox", "command": "echo"}},
		{Class: "config", Attrs: map[string]any{"namespace": "ops", "name": "web", "data": "a=1\nb=2"}},
		{Class: "app", Attrs: map[string]any{"namespace": "ops", "name": "shop", "replicas": 2}},
		{Class: "pod", Attrs: map[string]any{"name": "p"}},
	})
	r.want(r.job(`{"name":"one"}`), 409)
	if got := r.want(r.send("GET", configsOf+"/web", ""), 200); fmt.Sprint(inner(fields([]byte(got.body)), "data")) != "map[a:1 b:2]" {
		t.Errorf("config: %s", got.body)
	}
	r.want(r.send("GET", "/apis/apps/v1/namespaces/ops/deployments/shop", ""), 200)
	r.want(r.send("GET", "/api/v1/namespaces/default/pods/p", ""), 200)
	for _, o := range r.effects() {
		if !strings.HasPrefix(o.ID, text(o.Detail, "uid")+"@") {
			t.Errorf("object %s has the uid %v", o.ID, o.Detail["uid"])
		}
	}
}

func TestClusterRubbish(t *testing.T) {
	bodies := []string{"", "{}", "[]", "null", manifestOf(`{"name":"one"}`, jobSpec), manifestOf(`{"generateName":"g-"}`, podSpec), `{"metadata":{"name":"one"},"data":{"a":"b"}}`,
		`{"metadata":{"name":"one","labels":[]}}`, `{"metadata":{"name":"one","annotations":{"a":{}}}}`, `{"metadata":{"name":"one"},"data":{"a\u001fb":"x"},"a":{"b":{"c":[1,{"d":null}]}}}`,
		`{"metadata":{"name":"one"},"spec":{"containers":{"a":1}},"status":7,"data":null}`, manifestOf(`{"name":"one"}`, `{"containers":[{"name":"a","image":"b","command":7,"args":[7]}],"template":[]}`)}
	fragments := []string{"api/v1/namespaces/ops", "apis/batch/v1/namespaces/ops", "apis/apps/v1/namespaces/ops", "api/v1", "configmaps", "pods", "jobs", "deployments", "one", "status", "", "%2F",
		"?fieldManager=a", "?labelSelector=%28", "?limit=-1", "?continue=%00"}
	names := []string{"kubernetes-by-name", "kubernetes-generate-name", "kubernetes-apply"}
	rubbish(t, names, fragments, bodies, nil)
	rubbish(t, names, fragments, bodies, []string{"Content-Type", "application/apply-patch+yaml"})
}
