package declared

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
)

// Match reads a request by a template: the arguments that are in it, and whether it fits. It fits if method
// and path do, and nothing that the template fixes is otherwise. Headers are not looked at: they say nothing of
// what is asked for.
func Match(t bench.ExternalRequest, r bench.RawRequest) (map[string]any, bool) {
	m := matcher{args: map[string]any{}}
	path, query, _ := strings.Cut(r.Path, "?")
	if t.Method != r.Method || !m.text(t.Path, path, `[^/]+`, url.PathUnescape) {
		return nil, false
	}
	values, err := url.ParseQuery(query)
	if err != nil || !m.values(t.Query, values) {
		return nil, false
	}
	switch {
	case t.JSON != nil:
		var body any
		if json.Unmarshal(r.Body, &body) != nil || !m.value(t.JSON, body) {
			return nil, false
		}
	case t.Form != nil:
		form, err := url.ParseQuery(string(r.Body))
		if err != nil || !m.values(t.Form, form) {
			return nil, false
		}
	case t.Text != "":
		if !m.text(t.Text, string(r.Body), `(?s:.*?)`, unescaped) {
			return nil, false
		}
	}
	return m.args, true
}

func unescaped(s string) (string, error) { return s, nil }

type matcher struct{ args map[string]any }

// text matches a text; each hole takes what the pattern one takes. Those of the environment are not kept.
func (m *matcher) text(template, got, one string, unescape func(string) (string, error)) bool {
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	var names []string
	last := 0
	for _, at := range hole.FindAllStringSubmatchIndex(template, -1) {
		pattern.WriteString(regexp.QuoteMeta(template[last:at[0]]) + "(" + one + ")")
		names = append(names, template[at[2]:at[3]])
		last = at[1]
	}
	pattern.WriteString(regexp.QuoteMeta(template[last:]) + `\z`)
	found := regexp.MustCompile(pattern.String()).FindStringSubmatch(got)
	if found == nil {
		return false
	}
	for i, name := range names {
		value, err := unescape(found[i+1])
		if err != nil {
			return false
		}
		if !strings.HasPrefix(name, "env.") {
			m.args[name] = value
		}
	}
	return true
}

// values matches parameters. One that holds an argument may be absent.
func (m *matcher) values(templates map[string]string, got url.Values) bool {
	for name, template := range templates {
		if _, there := got[name]; !there {
			if len(Holes(template)) > 0 {
				continue
			}
			return false
		}
		if !m.text(template, got.Get(name), `(?s:.*?)`, unescaped) {
			return false
		}
	}
	return true
}

// value matches a JSON value, likewise. Members that the template does not name are not looked at.
func (m *matcher) value(template, got any) bool {
	switch t := template.(type) {
	case string:
		names := Holes(t)
		if len(names) == 1 && t == "${"+names[0]+"}" {
			if !strings.HasPrefix(names[0], "env.") {
				m.args[names[0]] = got
			}
			return true
		}
		s, ok := got.(string)
		return ok && m.text(t, s, `(?s:.*?)`, unescaped)
	case map[string]any:
		o, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for name, each := range t {
			v, there := o[name]
			if !there {
				if hasHole(each) {
					continue
				}
				return false
			}
			if !m.value(each, v) {
				return false
			}
		}
		return true
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) > len(t) {
			return false
		}
		for i, each := range list {
			if !m.value(t[i], each) {
				return false
			}
		}
		return true
	}
	return template == got
}

// hasHole says whether an argument goes somewhere into a JSON template.
func hasHole(template any) bool {
	switch t := template.(type) {
	case string:
		return len(Holes(t)) > 0
	case map[string]any:
		for _, each := range t {
			if hasHole(each) {
				return true
			}
		}
	case []any:
		for _, each := range t {
			if hasHole(each) {
				return true
			}
		}
	}
	return false
}
