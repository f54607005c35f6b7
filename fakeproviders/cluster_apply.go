package fakeproviders

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// Server-side apply: each value of an object has managers, who may change it; another who wants another
// value is in conflict unless it uses force, and what a manager no longer lists, and nobody else manages, goes.
// Lists are one value each here, where Kubernetes merges some by the names of their entries.
// Rules: kubernetes.io/docs/reference/using-api/server-side-apply.

// between joins the names of a path; none of them has it.
const between = "\x1f"

func (c cluster) apply(x *exchange, p place, query url.Values) (answer, error) {
	m := fields(x.raw.Body)
	if a := p.wrong(m); a != nil {
		return *a, nil
	}
	manager := query.Get("fieldManager")
	if manager == "" {
		message := "Required value: is required for apply patch"
		return statusAnswer(http.StatusUnprocessableEntity, "Invalid", `PatchOptions.meta.k8s.io "" is invalid: fieldManager: `+message,
			map[string]any{"group": "meta.k8s.io", "kind": "PatchOptions", "causes": []any{map[string]any{
				"reason": "FieldValueRequired", "message": message, "field": "fieldManager"}}}), nil
	}
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	manager = "Apply:" + manager
	before := p.find(all)
	if before == nil {
		return p.put(x, all, nil, m, owned(m, manager), query), nil
	}
	body, owners, conflicts := p.merged(*before, m, manager)
	if len(conflicts) > 0 && query.Get("force") != "true" {
		return p.contested(conflicts), nil
	}
	was, _ := before.Detail["body"].(map[string]any)
	broken := x.p.says.NaturallyIdempotent && !x.p.terms.NaturallyIdempotent // every apply is written then
	if !broken && reflect.DeepEqual(leaves(was), leaves(body)) {
		a := jsonAnswer(http.StatusOK, manifest(*before))
		a.existing, a.dedup = before.ID, true
		return a, nil
	}
	return p.put(x, all, before, body, owners, query), nil
}

// conflict is a value that another manager has set otherwise.
type conflict struct{ path, manager string }

// merged lays what a manager applies over what is there. It never changes before.
func (p place) merged(before store.Object, m map[string]any, manager string) (body, owners map[string]any, conflicts []conflict) {
	was, _ := before.Detail["body"].(map[string]any)
	has, _ := before.Detail["owners"].(map[string]any)
	values, there := leaves(m), leaves(was)
	owners = maps.Clone(has)
	for path, v := range values {
		others := without(has[path], manager)
		if old, ok := there[path]; ok && !reflect.DeepEqual(old, v) {
			for _, o := range others {
				conflicts = append(conflicts, conflict{path, o.(string)})
			}
			others = nil // whoever forces it is its only manager
		}
		there[path], owners[path] = v, append(others, manager)
	}
	for path, managers := range has {
		others := without(managers, manager)
		if _, still := values[path]; still || len(others) == len(managers.([]any)) {
			continue
		}
		owners[path] = others
		if len(others) == 0 {
			delete(owners, path)
			delete(there, path)
		}
	}
	slices.SortFunc(conflicts, func(a, b conflict) int { return strings.Compare(a.path+a.manager, b.path+b.manager) })
	return grown(there), owners, conflicts
}

// without is a list of managers that leaves one out.
func without(managers any, one string) []any {
	list, _ := managers.([]any)
	return slices.DeleteFunc(slices.Clone(list), func(m any) bool { return m == one })
}

func (p place) contested(conflicts []conflict) answer {
	var causes []any
	var words []string
	for _, c := range conflicts {
		_, name, _ := strings.Cut(c.manager, ":")
		with, field := fmt.Sprintf("conflict with %q using %s", name, p.apiVersion()), "."+strings.ReplaceAll(c.path, between, ".")
		causes = append(causes, map[string]any{"reason": "FieldManagerConflict", "message": with, "field": field})
		words = append(words, with+": "+field)
	}
	message := fmt.Sprintf("Apply failed with 1 conflict: %s", words[0])
	if len(words) > 1 {
		message = fmt.Sprintf("Apply failed with %d conflicts: %s", len(words), strings.Join(words, ", "))
	}
	return statusAnswer(http.StatusConflict, "Conflict", message, map[string]any{"causes": causes})
}

// unmanaged is what nobody manages: the object's names, and what the server fills in.
var unmanaged = func() []string {
	paths := []string{"apiVersion", "kind", "status"}
	for _, n := range []string{"name", "namespace", "generateName", "uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"} {
		paths = append(paths, "metadata"+between+n)
	}
	return paths
}()

// leaves are the values of a manifest by path.
func leaves(m map[string]any) map[string]any {
	all := map[string]any{}
	var walk func(prefix string, m map[string]any)
	walk = func(prefix string, m map[string]any) {
		for k, v := range m {
			path := strings.TrimPrefix(prefix+between+k, between)
			if slices.Contains(unmanaged, path) {
				continue
			}
			if inner, ok := v.(map[string]any); ok {
				walk(path, inner)
				continue
			}
			if v != nil {
				all[path] = v
			}
		}
	}
	walk("", m)
	return all
}

// grown is the manifest that has these leaves.
func grown(leaves map[string]any) map[string]any {
	m := map[string]any{}
	for _, path := range slices.Sorted(maps.Keys(leaves)) {
		at, names := m, strings.Split(path, between)
		for _, n := range names[:len(names)-1] {
			next, ok := at[n].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[n] = next
			}
			at = next
		}
		at[names[len(names)-1]] = leaves[path]
	}
	return m
}

// owned makes one manager the owner of all values of a manifest.
func owned(m map[string]any, manager string) map[string]any {
	owners := map[string]any{}
	for path := range leaves(m) {
		owners[path] = []any{manager}
	}
	return owners
}

// managed shows owners as metadata.managedFields.
func managed(owners map[string]any, apiVersion, at string) []any {
	fields := map[string]map[string]any{}
	for path, managers := range owners {
		list, _ := managers.([]any)
		for _, m := range list {
			name := m.(string)
			if fields[name] == nil {
				fields[name] = map[string]any{}
			}
			of := fields[name]
			for _, n := range strings.Split(path, between) {
				next, ok := of["f:"+n].(map[string]any)
				if !ok {
					next = map[string]any{}
					of["f:"+n] = next
				}
				of = next
			}
		}
	}
	all := []any{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		operation, manager, _ := strings.Cut(name, ":")
		all = append(all, map[string]any{"manager": manager, "operation": operation, "apiVersion": apiVersion, "time": at,
			"fieldsType": "FieldsV1", "fieldsV1": fields[name]})
	}
	return all
}
