package fakeproviders

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// cluster speaks the Kubernetes API for config maps, pods, jobs and deployments: create by name and by
// generateName, server-side apply, get, list, delete. An object's versions are effects one after another;
// each is named by its uid and its resource version. Rules: kubernetes.io/docs/reference/using-api/api-concepts.
type cluster struct{}

func (cluster) Name() string { return "cluster" }
func (cluster) Summary() string {
	return "config maps, pods, jobs and deployments over the Kubernetes API"
}

// resource is a kind of object that the cluster holds.
type resource struct {
	group, version        string // "batch", "v1"
	plural, single, short string // "jobs", "job"
	kind                  string // "Job"
	class                 string // of its effects
}

var resources = []resource{
	{"", "v1", "configmaps", "configmap", "cm", "ConfigMap", "config"},
	{"", "v1", "pods", "pod", "po", "Pod", "pod"},
	{"apps", "v1", "deployments", "deployment", "deploy", "Deployment", "app"},
	{"batch", "v1", "jobs", "job", "", "Job", "job"},
}

func (r resource) apiVersion() string { return strings.TrimPrefix(r.group+"/"+r.version, "/") }

// qualified is the resource's name as errors have it: "jobs.batch".
func (r resource) qualified() string { return strings.TrimSuffix(r.plural+"."+r.group, ".") }

// place is what a path names.
type place struct {
	resource
	namespace, name string // "": all
	status          bool   // its status subresource
}

// placeOf reads the path of a request about objects; ok is false for any other.
func placeOf(r bench.RawRequest) (p place, query url.Values, ok bool) {
	path, query := target(r)
	group, version := "", ""
	switch {
	case len(path) > 2 && path[0] == "api":
		version, path = path[1], path[2:]
	case len(path) > 3 && path[0] == "apis":
		group, version, path = path[1], path[2], path[3:]
	default:
		return p, query, false
	}
	if len(path) > 2 && path[0] == "namespaces" && path[1] != "" {
		p.namespace, path = path[1], path[2:]
	}
	i := slices.IndexFunc(resources, func(r resource) bool { return r.group == group && r.version == version && r.plural == path[0] })
	if i < 0 || len(path) > 3 || len(path) == 3 && path[2] != "status" || len(path) > 1 && (path[1] == "" || p.namespace == "") {
		return p, query, false
	}
	p.resource, p.status = resources[i], len(path) == 3
	if len(path) > 1 {
		p.name = path[1]
	}
	return p, query, true
}

func (cluster) Parse(r bench.RawRequest) bench.Call {
	p, _, ok := placeOf(r)
	if !ok {
		return bench.Call{Op: "unknown"}
	}
	switch {
	case p.namespace == "" || p.status:
	case r.Method == http.MethodPost && p.name == "":
		return bench.Call{Op: "create " + p.single, Class: p.class, Mutating: true, Attrs: p.attributes(fields(r.Body))}
	case r.Method == http.MethodPatch && p.name != "" && applies(r):
		return bench.Call{Op: "apply " + p.single, Class: p.class, Mutating: true, Attrs: p.attributes(fields(r.Body))}
	case r.Method == http.MethodDelete && p.name != "":
		return bench.Call{Op: "delete " + p.single, Class: "teardown", Mutating: true,
			Attrs: map[string]any{"namespace": p.namespace, "name": p.name, "kind": p.kind}}
	}
	return bench.Call{Op: "read " + p.plural, Attrs: pick(map[string]any{"namespace": p.namespace, "name": p.name}, "namespace", "name")}
}

// applies says whether a patch is a server-side apply.
func applies(r bench.RawRequest) bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.TrimSpace(kind) == "application/apply-patch+yaml"
}

// attributes are the business attributes of an object as it was sent.
func (p place) attributes(m map[string]any) map[string]any {
	meta := inner(m, "metadata")
	attrs := map[string]any{"namespace": p.namespace, "name": firstText(p.name, text(meta, "name"))}
	if attrs["name"] == "" {
		attrs["generate_name"] = text(meta, "generateName")
	}
	pod := inner(m, "spec")
	switch p.class {
	case "config":
		attrs["data"] = settings(inner(m, "data"))
		pod = nil
	case "app":
		attrs["replicas"] = pod["replicas"]
		pod = inner(pod, "template", "spec")
	case "job":
		pod = inner(pod, "template", "spec")
	}
	if all, _ := pod["containers"].([]any); len(all) > 0 {
		c, _ := all[0].(map[string]any)
		attrs["image"], attrs["command"] = text(c, "image"), commandOf(c)
	}
	if _, number := attrs["replicas"].(int); !number {
		delete(attrs, "replicas")
	}
	return pick(attrs, "namespace", "name", "generate_name", "image", "command", "replicas", "data")
}

// inner is the object under a path of names, nil if there is none.
func inner(m map[string]any, names ...string) map[string]any {
	for _, n := range names {
		m, _ = m[n].(map[string]any)
	}
	return m
}

// settings writes a config map's data as an attribute: one line "name=value" each, sorted.
func settings(data map[string]any) string {
	var all []string
	for name, v := range data {
		value, _ := v.(string)
		if strings.ContainsAny(value, "\r\n") {
			value = strconv.Quote(value)
		}
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// commandOf is what a container runs: the script, where a shell is given one.
func commandOf(c map[string]any) string {
	var words []string
	for _, field := range []string{"command", "args"} {
		list, _ := c[field].([]any)
		for _, w := range list {
			s, _ := w.(string)
			words = append(words, s)
		}
	}
	if len(words) == 3 && words[0] == "/bin/sh" && words[1] == "-c" {
		return words[2]
	}
	return strings.Join(words, " ")
}

func (c cluster) execute(x *exchange) (answer, error) {
	p, query, ok := placeOf(x.raw)
	get := x.raw.Method == http.MethodGet
	switch {
	case !ok && get:
		return discovered(x)
	case !ok:
		return c.refuse(notFound), nil
	case x.call.Class == "teardown":
		return c.remove(x, p)
	case x.call.Mutating && p.name == "":
		return c.create(x, p, query)
	case x.call.Mutating:
		return c.apply(x, p, query)
	case x.raw.Method == http.MethodPatch && p.name != "":
		return statusAnswer(http.StatusUnsupportedMediaType, "UnsupportedMediaType",
			"the body of the request was in an unknown format - accepted media types include: application/apply-patch+yaml", nil), nil
	case !get:
		return c.refuse(wrongMethod), nil
	}
	all, err := x.look(func(store.Object) bool { return true })
	if err != nil {
		return answer{}, err
	}
	if p.name == "" {
		return p.list(all, query), nil
	}
	if o := p.find(all); o != nil {
		return jsonAnswer(http.StatusOK, manifest(*o)), nil
	}
	return p.missing(), nil
}

func (c cluster) create(x *exchange, p place, query url.Values) (answer, error) {
	m := fields(x.raw.Body)
	if a := p.wrong(m); a != nil {
		return *a, nil
	}
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	p.name = text(inner(m, "metadata"), "name")
	if p.name == "" {
		if p.name, err = p.generate(x, all, text(inner(m, "metadata"), "generateName")); err != nil {
			return answer{}, err
		}
	}
	if there := p.find(all); there != nil && x.namesAreUnique(p.class) {
		a := statusAnswer(http.StatusConflict, "AlreadyExists", fmt.Sprintf("%s %q already exists", p.qualified(), p.name), p.details())
		a.existing, a.dedup = there.ID, true
		return a, nil
	}
	manager := firstText(query.Get("fieldManager"), strings.Split(x.raw.Header.Get("User-Agent"), "/")[0], "unknown")
	return p.put(x, all, nil, m, owned(m, "Update:"+manager), query), nil
}

// generate makes a name that is free: the prefix and five characters. An API server tries up to eight times
// (kubernetes.io/docs/reference/using-api/api-concepts/#generated-values).
func (p place) generate(x *exchange, all []store.Object, prefix string) (string, error) {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	for try := range 8 {
		name := []byte(prefix[:min(len(prefix), 58)])
		for _, b := range []byte(digest(fmt.Sprintf("name %s %d", x.name, try))[:5]) {
			name = append(name, letters[int(b)%len(letters)])
		}
		if p.name = string(name); p.find(all) == nil {
			return p.name, nil
		}
	}
	return "", fmt.Errorf("no free name under %q after 8 tries", prefix)
}

// put holds a new version of an object for the commit: of before, or, if that is nil, of a new one.
func (p place) put(x *exchange, all []store.Object, before *store.Object, m, owners map[string]any, query url.Values) answer {
	version := strconv.Itoa(len(all) + 1)
	uid, made := uuidOf(x.name), x.p.clock.Now().UTC().Format("2006-01-02T15:04:05Z")
	if before != nil {
		uid, made = text(before.Detail, "uid"), text(before.Detail, "made")
	}
	o := store.Object{ID: uid + "@" + version, Class: p.class, Attrs: x.call.Attrs, Reference: text(inner(m, "metadata", "labels"), "reference"),
		Detail: map[string]any{"resource": p.plural, "namespace": p.namespace, "name": p.name, "uid": uid, "version": version,
			"made": made, "new": before == nil, "body": m, "owners": owners}}
	if query.Get("dryRun") == "All" {
		return cluster{}.current([]store.Object{o})
	}
	x.add("", o)
	return cluster{}.current(x.tx.Added())
}

// uuidOf is a version 4 UUID made of a request's name.
func uuidOf(request string) string {
	d := digest("uid " + request)
	return strings.Join([]string{d[:8], d[8:12], "4" + d[13:16], "a" + d[17:20], d[20:32]}, "-")
}

// standing are the objects that are there, each in its last version, oldest first.
func standing(all []store.Object) []store.Object {
	var there []store.Object
	for _, o := range all {
		i := slices.IndexFunc(there, func(t store.Object) bool {
			return t.ID == o.Undoes || o.Undoes == "" && t.Detail["uid"] == o.Detail["uid"]
		})
		switch {
		case i < 0 && o.Undoes == "":
			there = append(there, o)
		case o.Undoes == "":
			there[i] = o
		case i >= 0:
			there = slices.Delete(there, i, i+1)
		}
	}
	return there
}

// holds says whether an object lies where p says.
func (p place) holds(o store.Object) bool {
	return o.Detail["resource"] == p.plural && (p.namespace == "" || o.Detail["namespace"] == p.namespace) &&
		(p.name == "" || o.Detail["name"] == p.name)
}

func (p place) find(all []store.Object) *store.Object {
	for _, o := range standing(all) {
		if p.holds(o) {
			return &o
		}
	}
	return nil
}

func (c cluster) remove(x *exchange, p place) (answer, error) {
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	there := p.find(all)
	if there == nil {
		return p.missing(), nil
	}
	x.add("", store.Object{ID: "removed " + there.ID, Class: "teardown", Attrs: x.call.Attrs, Undoes: there.ID, Detail: there.Detail})
	return c.current(x.tx.Added()), nil
}

func (p place) list(all []store.Object, query url.Values) answer {
	fits, err := selects(query.Get("labelSelector"), query.Get("fieldSelector"))
	from, size := 0, len(all)
	if token := query.Get("continue"); err == nil && token != "" {
		b, bad := base64.RawURLEncoding.DecodeString(token)
		if from, _ = strconv.Atoi(string(b)); bad != nil || from <= 0 {
			err = fmt.Errorf("continue key is not valid: %q", token)
		}
	}
	if limit, bad := strconv.Atoi(query.Get("limit")); bad == nil && limit > 0 {
		size = limit
	}
	if query.Get("watch") == "true" || query.Get("watch") == "1" {
		err = fmt.Errorf("watch is not supported here: list again")
	}
	if err != nil {
		return statusAnswer(http.StatusBadRequest, "BadRequest", err.Error(), nil)
	}
	items := []any{}
	for _, o := range standing(all) {
		if m := manifest(o); p.holds(o) && fits(m) {
			items = append(items, m)
		}
	}
	items = items[min(from, len(items)):]
	meta := map[string]any{"resourceVersion": strconv.Itoa(len(all))}
	if len(items) > size {
		meta["continue"] = base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(from + size)))
		meta["remainingItemCount"], items = len(items)-size, items[:size]
	}
	return jsonAnswer(http.StatusOK, map[string]any{"kind": p.kind + "List", "apiVersion": p.apiVersion(), "metadata": meta, "items": items})
}

// current answers a mutation: the object; for a deletion the pod, or a Status that names what went.
func (cluster) current(objects []store.Object) answer {
	o := objects[0]
	p := placeOfObject(o)
	switch {
	case o.Undoes != "" && p.class == "pod":
		return jsonAnswer(http.StatusOK, manifest(o))
	case o.Undoes != "":
		details := p.details()
		details["uid"] = o.Detail["uid"]
		return jsonAnswer(http.StatusOK, map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Success", "details": details})
	case o.Detail["new"] == true:
		return jsonAnswer(http.StatusCreated, manifest(o))
	}
	return jsonAnswer(http.StatusOK, manifest(o))
}

func placeOfObject(o store.Object) place {
	i := slices.IndexFunc(resources, func(r resource) bool { return r.plural == o.Detail["resource"] })
	return place{resource: resources[max(i, 0)], namespace: text(o.Detail, "namespace"), name: text(o.Detail, "name")}
}

// manifest is an object as the API shows it: what was sent, and what the server adds.
func manifest(o store.Object) map[string]any {
	p, m, meta := placeOfObject(o), map[string]any{}, map[string]any{}
	body, _ := o.Detail["body"].(map[string]any)
	for k, v := range body {
		m[k] = v
	}
	for k, v := range inner(body, "metadata") {
		meta[k] = v
	}
	for k, v := range map[string]any{"name": p.name, "namespace": p.namespace, "uid": o.Detail["uid"],
		"resourceVersion": o.Detail["version"], "creationTimestamp": o.Detail["made"]} {
		meta[k] = v
	}
	owners, _ := o.Detail["owners"].(map[string]any)
	meta["managedFields"] = managed(owners, p.apiVersion(), text(o.Detail, "made"))
	m["kind"], m["apiVersion"], m["metadata"] = p.kind, p.apiVersion(), meta
	switch p.class {
	case "pod":
		m["status"] = map[string]any{"phase": "Pending"}
	case "job", "app":
		m["status"] = map[string]any{}
	}
	return m
}

func (cluster) world(w bench.WorldEffect, n int) store.Object {
	o := worldObject("", w, n)
	i := slices.IndexFunc(resources, func(r resource) bool { return r.class == w.Class })
	if i < 0 {
		return o
	}
	p := place{resource: resources[i], namespace: firstText(text(w.Attrs, "namespace"), "default"), name: firstText(text(w.Attrs, "name"), "world-"+strconv.Itoa(n))}
	body := p.example(w.Attrs)
	uid := uuidOf(o.ID)
	o.ID = fmt.Sprintf("%s@%d", uid, n+1)
	o.Detail = map[string]any{"resource": p.plural, "namespace": p.namespace, "name": p.name, "uid": uid, "version": strconv.Itoa(n + 1),
		"made": bench.Epoch.UTC().Format("2006-01-02T15:04:05Z"), "new": true, "body": body, "owners": owned(body, "Update:world")}
	return o
}

// example is a manifest with the given attributes.
func (p place) example(attrs map[string]any) map[string]any {
	container := map[string]any{"name": "main", "image": firstText(text(attrs, "image"), "busybox")}
	if script := text(attrs, "command"); script != "" {
		container["command"] = []any{"/bin/sh", "-c", script}
	}
	pod := map[string]any{"containers": []any{container}}
	switch p.class {
	case "config":
		data := map[string]any{}
		for line := range strings.Lines(text(attrs, "data")) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			data[name] = value
		}
		return map[string]any{"data": data}
	case "pod":
		return map[string]any{"spec": pod}
	case "job":
		return map[string]any{"spec": map[string]any{"template": map[string]any{"spec": pod}}}
	}
	label := map[string]any{"app": p.name}
	return map[string]any{"spec": map[string]any{"replicas": attrs["replicas"], "selector": map[string]any{"matchLabels": label},
		"template": map[string]any{"metadata": map[string]any{"labels": label}, "spec": pod}}}
}
