package conformance

import (
	"fmt"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
)

const kubernetesClient = "kubernetes"

// theJob makes a job; meta is its metadata.
func theJob(meta map[string]any) step {
	pod := map[string]any{"restartPolicy": "Never", "containers": []any{map[string]any{"name": "main", "image": "busybox"}}}
	return step{op: "BatchV1Api.create_namespaced_job", args: map[string]any{"namespace": "ops",
		"body": map[string]any{"metadata": meta, "spec": map[string]any{"template": map[string]any{"spec": pod}}}}}
}

// applied applies settings to the config map web.
func applied(manager string, data map[string]any, force bool) step {
	args := map[string]any{"namespace": "ops", "name": "web", "field_manager": manager, "_content_type": "application/apply-patch+yaml",
		"body": map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "web"}, "data": data}}
	if force {
		args["force"] = true
	}
	return step{op: "CoreV1Api.patch_namespaced_config_map", args: args}
}

func clusterScenarios() []scenario {
	const byName, generated, apply = "kubernetes-by-name", "kubernetes-generate-name", "kubernetes-apply"
	one, some := theJob(map[string]any{"name": "one"}), theJob(map[string]any{"generateName": "some-", "labels": map[string]any{"reference": "r-1"}})
	remove := step{op: "BatchV1Api.delete_namespaced_job", args: map[string]any{"namespace": "ops", "name": "one"}}
	var all []scenario
	add := func(contract, name, expected string, run func(*stage) (string, error)) {
		all = append(all, scenario{name: name, contract: contract, client: kubernetesClient, expected: expected, run: run})
	}
	id := []any{"metadata", "uid"}
	add(byName, "the same name", "ConflictException 409 AlreadyExists, 1 effect", twice(one, one, nil, id...))
	add(byName, "the same name, another object", "ConflictException 409 AlreadyExists, 1 effect",
		twice(one, theJob(map[string]any{"name": "one", "labels": map[string]any{"a": "b"}}), nil, id...))
	add(byName, "the same name, of another kind", "ok, another object, 2 effects", twice(one, step{op: "CoreV1Api.create_namespaced_config_map",
		args: map[string]any{"namespace": "ops", "body": map[string]any{"metadata": map[string]any{"name": "one"}}}}, nil, id...))
	add(byName, "the same name, after the object was deleted", "ok, another object, 3 effects", twice(one, one, func(st *stage) error {
		_, err := st.must(remove.op, remove.args)
		return err
	}, id...))
	add(byName, "the same name, while the first is in work", "ok; the first: ConflictException 409 AlreadyExists, 1 effect",
		func(st *stage) (string, error) { return st.second(one, one) })
	add(byName, "read by name", "ok, the same object, 1 effect",
		twice(one, step{op: "BatchV1Api.read_namespaced_job", args: remove.args}, nil, id...))
	add(byName, "a name in capitals", "1 send, 0 effects, UnprocessableEntityException 422 Invalid",
		func(st *stage) (string, error) { return st.tell(theJob(map[string]any{"name": "One"})) })
	add(byName, "read of a name that is not there", "NotFoundException 404 NotFound", func(st *stage) (string, error) {
		r, err := st.do("BatchV1Api.read_namespaced_job", remove.args)
		return r.String(), err
	})
	add(byName, "the dynamic client, the same name", "ConflictError 409 AlreadyExists, 1 effect", func(st *stage) (string, error) {
		s := step{op: "dynamic.create", args: map[string]any{"api_version": "batch/v1", "kind": "Job", "namespace": "ops", "body": one.args["body"]}}
		return twice(s, s, nil, id...)(st)
	})
	add(generated, "the same prefix, twice", "ok, another object, 2 effects", twice(some, some, nil, id...))
	add(generated, "list by label", "2 found, named some-*****", func(st *stage) (string, error) {
		for range 2 {
			if _, err := st.must(some.op, some.args); err != nil {
				return "", err
			}
		}
		r, err := st.must("BatchV1Api.list_namespaced_job", map[string]any{"namespace": "ops", "label_selector": "reference=r-1"})
		found, _ := r.at("items").([]any)
		shape := ""
		for i := range found {
			if name, _ := r.at("items", i, "metadata", "name").(string); strings.HasPrefix(name, "some-") {
				shape = "some-" + strings.Repeat("*", len(name)-len("some-"))
			}
		}
		return fmt.Sprintf("%d found, named %s", len(found), shape), err
	})
	setting := func(v string) map[string]any { return map[string]any{"x": v} }
	add(apply, "the same configuration", "ok, the same object, 1 effect",
		twice(applied("a", setting("1"), false), applied("a", setting("1"), false), nil, "metadata", "resourceVersion"))
	add(apply, "another configuration", "ok, another object, 2 effects",
		twice(applied("a", setting("1"), false), applied("a", setting("2"), false), nil, "metadata", "resourceVersion"))
	add(apply, "another configuration by another manager", "ConflictException 409 Conflict, 1 effect",
		twice(applied("a", setting("1"), false), applied("b", setting("2"), false), nil, id...))
	add(apply, "another configuration by another manager, by force", "ok, the same object, 2 effects",
		twice(applied("a", setting("1"), false), applied("b", setting("2"), true), nil, id...))
	add(apply, "the dynamic client, the same configuration", "ok, the same object, 1 effect", func(st *stage) (string, error) {
		s := step{op: "dynamic.server_side_apply", args: map[string]any{"api_version": "v1", "kind": "ConfigMap", "namespace": "ops", "field_manager": "a",
			"body": applied("a", setting("1"), false).args["body"]}}
		return twice(s, s, nil, "metadata", "resourceVersion")(st)
	})
	return append(all, clusterSends(some, applied("a", setting("1"), false), one, remove)...)
}

// clusterSends are the requests that the client sends on its own: urllib3 repeats what HTTP calls idempotent,
// three times, and neither POST nor PATCH.
func clusterSends(some, apply, one, remove step) []scenario {
	closed := bench.Action{Act: bench.Close}
	var all []scenario
	for _, c := range []struct {
		name, contract, expected string
		s                        step
		at                       bench.Point
		act                      bench.Action
	}{
		{"create: no request is read to", "kubernetes-generate-name", "1 send, 0 effects, ProtocolError", some, bench.Received, closed},
		{"create: no answer comes back", "kubernetes-generate-name", "1 send, 1 effect, ProtocolError", some, bench.Committed, closed},
		{"create: the answer is cut short", "kubernetes-generate-name", "1 send, 1 effect, ProtocolError", some, bench.Committed, bench.Action{Act: bench.Truncate, Bytes: 20}},
		{"create: a 503", "kubernetes-generate-name", "1 send, 1 effect, ServiceException 503 ServiceUnavailable", some, bench.Committed, bench.Action{Act: bench.Fail, Status: 503}},
		{"create: a 429", "kubernetes-generate-name", "1 send, 0 effects, ApiException 429 TooManyRequests", some, bench.Received, bench.Action{Act: bench.Fail, Status: 429}},
		{"apply: no answer comes back", "kubernetes-apply", "1 send, 1 effect, ProtocolError", apply, bench.Committed, closed},
	} {
		all = append(all, scenario{name: c.name, contract: c.contract, client: kubernetesClient, expected: c.expected,
			run: func(st *stage) (string, error) {
				st.gate.meet(c.at, c.act)
				return st.tell(c.s)
			}})
	}
	deleted := func(name, expected string, at bench.Point, n ...int) {
		all = append(all, scenario{name: name, contract: "kubernetes-by-name", client: kubernetesClient, expected: expected,
			run: func(st *stage) (string, error) {
				if _, err := st.must(one.op, one.args); err != nil {
					return "", err
				}
				st.gate.meet(at, closed, n...)
				before := len(st.gate.seen())
				r, err := st.play(remove)
				if err != nil {
					return "", err
				}
				made, err := st.effects()
				return fmt.Sprintf("%s, %s, %s", plural(len(st.gate.seen())-before, "send"), plural(len(made)-1, "effect"), r), err
			}})
	}
	deleted("delete: no request is read to", "4 sends, 0 effects, MaxRetryError", bench.Received)
	deleted("delete: the first answer does not come back", "2 sends, 1 effect, NotFoundException 404 NotFound", bench.Committed, 2)
	return all
}
