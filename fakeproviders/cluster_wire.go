package fakeproviders

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// This file has what surrounds the objects of a cluster: how a manifest is checked, how errors look, how
// selectors read, and what a client discovers.

var (
	objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
	namePrefix = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251})?$`)
	dataKey    = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`)
	labelValue = regexp.MustCompile(`^(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?$`)
)

// wrong says what is wrong with a manifest that was sent to p, nil if nothing is.
func (p place) wrong(m map[string]any) *answer {
	bad := func(format string, args ...any) *answer {
		a := statusAnswer(http.StatusBadRequest, "BadRequest", fmt.Sprintf(format, args...), nil)
		return &a
	}
	if m == nil {
		return bad("the object provided is unrecognized (must be of type %s): the body is not a JSON object", p.kind)
	}
	if v := text(m, "apiVersion"); m["apiVersion"] != nil && v != p.apiVersion() {
		return bad("the API version in the data (%s) does not match the expected API version (%s)", v, p.apiVersion())
	}
	if v := text(m, "kind"); m["kind"] != nil && v != p.kind {
		return bad("the kind in the data (%s) does not match the expected kind (%s)", v, p.kind)
	}
	meta, isMeta := m["metadata"].(map[string]any)
	if m["metadata"] != nil && !isMeta || !shapely(m, "spec", "data") || !shapely(meta, "labels", "annotations") ||
		texts(meta, nil, "name", "generateName", "namespace", "uid", "resourceVersion") != nil && isMeta {
		return bad("%s in version %q cannot be handled as a %s: a field of it has another type", p.kind, p.version, p.kind)
	}
	for _, of := range []map[string]any{inner(m, "data"), inner(meta, "labels"), inner(meta, "annotations")} {
		if !allTexts(of) {
			return bad("%s in version %q cannot be handled as a %s: a value is not a text", p.kind, p.version, p.kind)
		}
	}
	if ns := text(meta, "namespace"); ns != "" && ns != p.namespace {
		return bad("the namespace of the provided object does not match the namespace sent on the request")
	}
	name, prefix := text(meta, "name"), text(meta, "generateName")
	if p.name != "" && name != "" && name != p.name {
		return bad("the name of the object (%s) does not match the name on the URL (%s)", name, p.name)
	}
	field, message := "", ""
	switch name := firstText(p.name, name); {
	case name == "" && prefix == "":
		field, message = "metadata.name", "Required value: name or generateName is required"
	case name != "" && !objectName.MatchString(name):
		field, message = "metadata.name", fmt.Sprintf("Invalid value: %q: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'", name)
	case name == "" && !namePrefix.MatchString(prefix):
		field, message = "metadata.generateName", fmt.Sprintf("Invalid value: %q: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'", prefix)
	default:
		field, message = p.invalid(m)
	}
	for k, v := range inner(meta, "labels") {
		if !labelValue.MatchString(v.(string)) { // all of them are texts
			field, message = "metadata.labels", fmt.Sprintf("Invalid value: %q: the value of label %s must be 63 characters or less of alphanumerics, '-', '_' or '.'", v, k)
		}
	}
	if field == "" {
		return nil
	}
	a := p.refused(firstText(p.name, name), field, message)
	return &a
}

// invalid names the first field of a manifest that the resource needs and that is missing or wrong.
func (p place) invalid(m map[string]any) (field, message string) {
	pod, at := inner(m, "spec"), "spec"
	switch p.class {
	case "config":
		for k := range inner(m, "data") {
			if !dataKey.MatchString(k) {
				return "data[" + k + "]", fmt.Sprintf("Invalid value: %q: a valid config key must consist of alphanumeric characters, '-', '_' or '.'", k)
			}
		}
		return "", ""
	case "app":
		if inner(pod, "selector") == nil {
			return "spec.selector", "Required value"
		}
		pod, at = inner(pod, "template", "spec"), "spec.template.spec"
	case "job":
		pod, at = inner(pod, "template", "spec"), "spec.template.spec"
	}
	all, _ := pod["containers"].([]any)
	if len(all) == 0 {
		return at + ".containers", "Required value"
	}
	for i, each := range all {
		c, _ := each.(map[string]any)
		for _, name := range []string{"name", "image"} {
			if text(c, name) == "" {
				return fmt.Sprintf("%s.containers[%d].%s", at, i, name), "Required value"
			}
		}
	}
	return "", ""
}

// refused is the answer to a manifest that is read and not valid.
func (p place) refused(name, field, message string) answer {
	details := map[string]any{"name": name, "kind": p.kind, "causes": []any{map[string]any{
		"reason": map[bool]string{true: "FieldValueRequired", false: "FieldValueInvalid"}[strings.HasPrefix(message, "Required")], "message": message, "field": field}}}
	if p.group != "" {
		details["group"] = p.group
	}
	return statusAnswer(http.StatusUnprocessableEntity, "Invalid", fmt.Sprintf("%s %q is invalid: %s: %s", strings.TrimSuffix(p.kind+"."+p.group, "."), name, field, message), details)
}

// shapely says whether the named fields are objects where they are there.
func shapely(m map[string]any, names ...string) bool {
	return !slices.ContainsFunc(names, func(n string) bool {
		_, is := m[n].(map[string]any)
		return m[n] != nil && !is
	})
}

// details name an object in a Status.
func (p place) details() map[string]any {
	d := map[string]any{"name": p.name, "kind": p.plural}
	if p.group != "" {
		d["group"] = p.group
	}
	return d
}

func (p place) missing() answer {
	return statusAnswer(http.StatusNotFound, "NotFound", fmt.Sprintf("%s %q not found", p.qualified(), p.name), p.details())
}

// statusAnswer is a failure as Kubernetes words it; its clients read reason and details.
func statusAnswer(status int, reason, message string, details map[string]any) answer {
	m := map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure", "message": message, "reason": reason, "code": status}
	if details != nil {
		m["details"] = details
	}
	return jsonAnswer(status, m)
}

func (cluster) refuse(r refusal) answer {
	reason := map[int]string{
		http.StatusUnauthorized: "Unauthorized", http.StatusForbidden: "Forbidden", http.StatusNotFound: "NotFound",
		http.StatusMethodNotAllowed: "MethodNotAllowed", http.StatusConflict: "Conflict", http.StatusTooManyRequests: "TooManyRequests",
		http.StatusInternalServerError: "InternalError", http.StatusServiceUnavailable: "ServiceUnavailable", http.StatusGatewayTimeout: "Timeout",
	}[r.status]
	switch {
	case reason == "NotFound":
		r.message = "the server could not find the requested resource"
	case reason == "MethodNotAllowed":
		r.message = "the server does not allow this method on the requested resource"
	case reason == "" && r.status >= 500:
		reason = "InternalError"
	case reason == "":
		reason = "BadRequest"
	}
	return statusAnswer(r.status, reason, r.message, nil)
}

// selects reads a label and a field selector (kubernetes.io/docs/concepts/overview/working-with-objects/labels).
func selects(labels, fields string) (func(map[string]any) bool, error) {
	var all []func(map[string]any) bool
	for _, s := range splitSelector(labels) {
		fits, err := requirement(s)
		if err != nil {
			return nil, err
		}
		all = append(all, func(m map[string]any) bool { return fits(inner(m, "metadata", "labels")) })
	}
	for _, s := range splitSelector(fields) {
		name, value, ok := strings.Cut(s, "=")
		name, isMeta := strings.CutPrefix(strings.TrimSuffix(name, "!"), "metadata.")
		if !ok || !isMeta || name != "name" && name != "namespace" {
			return nil, fmt.Errorf("field label not supported: %s", s)
		}
		want := !strings.Contains(s, "!=")
		value = strings.TrimPrefix(value, "=")
		all = append(all, func(m map[string]any) bool { return (text(inner(m, "metadata"), name) == value) == want })
	}
	return func(m map[string]any) bool {
		return !slices.ContainsFunc(all, func(fits func(map[string]any) bool) bool { return !fits(m) })
	}, nil
}

// splitSelector splits at commas, but not within parentheses.
func splitSelector(s string) []string {
	var parts []string
	depth, from := 0, 0
	for i, c := range s + "," {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && (depth <= 0 || i == len(s)):
			if part := strings.TrimSpace(s[from:i]); part != "" {
				parts = append(parts, part)
			}
			from = i + 1
		}
	}
	return parts
}

var setSelector = regexp.MustCompile(`^(\S+)\s+(in|notin)\s+\(([^()]*)\)$`)

func requirement(s string) (func(labels map[string]any) bool, error) {
	if m := setSelector.FindStringSubmatch(s); m != nil {
		values := strings.Split(m[3], ",")
		for i, v := range values {
			values[i] = strings.TrimSpace(v)
		}
		return func(labels map[string]any) bool {
			v, has := labels[m[1]].(string)
			return (has && slices.Contains(values, v)) == (m[2] == "in")
		}, nil
	}
	if name, ok := strings.CutPrefix(s, "!"); ok && !strings.ContainsAny(name, "=!() ") {
		return func(labels map[string]any) bool { return labels[name] == nil }, nil
	}
	name, value, compared := strings.Cut(s, "=")
	name, unequal := strings.CutSuffix(name, "!")
	name, value = strings.TrimSpace(name), strings.TrimSpace(strings.TrimPrefix(value, "="))
	if name == "" || strings.ContainsAny(name+value, "=!() ") {
		return nil, fmt.Errorf("unable to parse requirement: %q", s)
	}
	return func(labels map[string]any) bool {
		v, has := labels[name].(string)
		if !compared {
			return has
		}
		return (has && v == value) != unequal
	}, nil
}

// discovered answers what a client asks to learn which resources there are.
func discovered(x *exchange) (answer, error) {
	path, _ := target(x.raw)
	v := discovery(strings.Join(path, "/"), x.host)
	if v == nil {
		return cluster{}.refuse(notFound), nil
	}
	return jsonAnswer(http.StatusOK, v), nil
}

// served is the release of Kubernetes whose API this is.
const served = "1.34.0"

func discovery(path, host string) map[string]any {
	addresses := []any{map[string]any{"clientCIDR": "0.0.0.0/0", "serverAddress": host}}
	group := func(name string) map[string]any {
		version := map[string]any{"groupVersion": name + "/v1", "version": "v1"}
		return map[string]any{"kind": "APIGroup", "apiVersion": "v1", "name": name, "versions": []any{version}, "preferredVersion": version}
	}
	switch path {
	case "version":
		return map[string]any{"major": "1", "minor": strings.Split(served, ".")[1], "gitVersion": "v" + served, "gitCommit": "", "gitTreeState": "clean",
			"buildDate": "2025-08-27T00:00:00Z", "goVersion": "go1.24", "compiler": "gc", "platform": "linux/amd64"}
	case "api":
		return map[string]any{"kind": "APIVersions", "versions": []any{"v1"}, "serverAddressByClientCIDRs": addresses}
	case "apis":
		return map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{group("apps"), group("batch")}}
	case "apis/apps", "apis/batch":
		return group(strings.TrimPrefix(path, "apis/"))
	}
	list := []any{}
	for _, r := range resources {
		if path != "api/"+r.apiVersion() && path != "apis/"+r.apiVersion() || (r.group == "") != strings.HasPrefix(path, "api/") {
			continue
		}
		m := map[string]any{"name": r.plural, "singularName": r.single, "namespaced": true, "kind": r.kind,
			"verbs": []any{"create", "delete", "get", "list", "patch"}}
		if r.short != "" {
			m["shortNames"] = []any{r.short}
		}
		list = append(list, m)
	}
	if len(list) == 0 {
		return nil
	}
	_, version, _ := strings.Cut(path, "/")
	return map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": list}
}
