// Package declared makes requests of calls and reads calls out of requests, for tools that a workload declares
// itself by a template of their one request (bench.ExternalTool). The tool server fills templates in; the door
// before the provider reads them backwards, so that who asks for what is told by what is on the wire.
package declared

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
)

// hole is a place in a text where an argument goes, or a variable of the environment.
var hole = regexp.MustCompile(`\$\{([a-z][a-z0-9_]*|env\.[A-Za-z_][A-Za-z0-9_]*)\}`)

// Holes names what goes into a text, in order.
func Holes(text string) []string {
	var names []string
	for _, m := range hole.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// Environment puts variables of the environment into a text. One that is not set is an error.
func Environment(text string) (string, error) {
	var missing []string
	out := hole.ReplaceAllStringFunc(text, func(h string) string {
		name, env := strings.CutPrefix(h[2:len(h)-1], "env.")
		if !env {
			return h
		}
		value, set := os.LookupEnv(name)
		if !set {
			missing = append(missing, name)
		}
		return value
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("the environment has no %s: export it before the run", strings.Join(missing, ", "))
	}
	return out, nil
}

// Request is a template filled in.
type Request struct {
	Method string
	Path   string // with the query
	Header http.Header
	Body   []byte
}

// Fill makes the request of a call. What holds an argument that was not given is left out: a parameter, a
// header, a member of the body.
func Fill(t bench.ExternalRequest, args map[string]any) (Request, error) {
	f := filler{args: args}
	r := Request{Method: t.Method, Header: http.Header{}}
	path, whole := f.text(t.Path, url.PathEscape)
	if !whole {
		return r, fmt.Errorf("path %s: an argument in it is not given", t.Path)
	}
	r.Path = path
	if query := f.values(t.Query); len(query) > 0 {
		r.Path += "?" + query.Encode()
	}
	switch {
	case t.JSON != nil:
		body, _ := f.value(t.JSON)
		text, err := json.Marshal(body)
		if err != nil {
			return r, fmt.Errorf("body: %w", err)
		}
		r.Body = text
		r.Header.Set("Content-Type", "application/json")
	case t.Form != nil:
		r.Body = []byte(f.values(t.Form).Encode())
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	case t.Text != "":
		text, _ := f.text(t.Text, plain)
		r.Body = []byte(text)
	}
	for name, template := range t.Headers {
		if value, whole := f.text(template, plain); whole {
			r.Header.Set(name, value)
		}
	}
	return r, f.err
}

func plain(s string) string { return s }

// filler fills templates with the arguments of one call.
type filler struct {
	args map[string]any
	err  error // first one
}

// text fills a text in; whole is false if an argument in it is not given.
func (f *filler) text(template string, escaped func(string) string) (out string, whole bool) {
	whole = true
	template, err := Environment(template)
	if err != nil && f.err == nil {
		f.err = err
	}
	out = hole.ReplaceAllStringFunc(template, func(h string) string {
		v, given := f.args[h[2:len(h)-1]]
		whole = whole && given
		return escaped(Spell(v))
	})
	return out, whole
}

func (f *filler) values(templates map[string]string) url.Values {
	out := url.Values{}
	for name, template := range templates {
		if value, whole := f.text(template, plain); whole {
			out.Set(name, value)
		}
	}
	return out
}

// value fills a JSON template in. A text that is one hole only becomes the argument itself, a number too.
func (f *filler) value(template any) (out any, whole bool) {
	switch t := template.(type) {
	case string:
		if names := Holes(t); len(names) == 1 && t == "${"+names[0]+"}" && !strings.HasPrefix(names[0], "env.") {
			v, given := f.args[names[0]]
			return v, given
		}
		return f.text(t, plain)
	case map[string]any:
		all := map[string]any{}
		for name, each := range t {
			if v, whole := f.value(each); whole {
				all[name] = v
			}
		}
		return all, len(all) > 0 || len(t) == 0
	case []any:
		all := []any{}
		for _, each := range t {
			if v, whole := f.value(each); whole {
				all = append(all, v)
			}
		}
		return all, len(all) > 0 || len(t) == 0
	}
	return template, true
}

// Spell writes an argument as text: whole numbers without a point or an exponent.
func Spell(v any) string {
	switch n := v.(type) {
	case nil:
		return ""
	case string:
		return n
	case float64:
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// Parse reads a request as a call of one of the tools: the one whose template it fits, of several the one with
// the most arguments in it. A request that fits none is a call of nothing, with its method and path as name.
func Parse(tools map[string]bench.ExternalTool, r bench.RawRequest) bench.Call {
	call, most := bench.Call{Op: r.Method + " " + strings.SplitN(r.Path, "?", 2)[0]}, -1
	var names []string
	for name := range tools {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t := tools[name]
		args, fits := Match(t.Request, r)
		if !fits || len(args) <= most {
			continue
		}
		most = len(args)
		call = Call(name, t, args)
	}
	return call
}

// Call is a call of a declared tool in business terms: its attributes are its arguments.
func Call(name string, t bench.ExternalTool, args map[string]any) bench.Call {
	call := bench.Call{Op: name, Class: t.Makes, Mutating: t.Makes != ""}
	if t.Makes == "" {
		return call
	}
	call.Attrs = map[string]any{}
	for _, a := range t.Arguments {
		v, given := args[a.Name]
		if !given || v == "" {
			continue
		}
		if a.Type == bench.ArgumentNumber {
			v = numeric(v)
		}
		call.Attrs[a.Name] = v
	}
	return call
}

// numeric reads a number however it was written; another thing stays as it is.
func numeric(v any) any {
	s, ok := v.(string)
	if !ok {
		return v
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && f == float64(int64(f)) {
		return int64(f)
	}
	return v
}

// ID is an object's id as text: some APIs have numbers.
func ID(v any) string {
	switch n := v.(type) {
	case string:
		return n
	case float64:
		return strconv.FormatFloat(n, 'f', -1, 64)
	case json.Number:
		return n.String()
	}
	return ""
}

// Receipt reads the object's id out of an answer that says that a call is done; empty: none is declared, or it
// is not there.
func Receipt(a bench.ExternalAnswer, body []byte) string {
	var v any
	if a.Receipt == "" || json.Unmarshal(body, &v) != nil {
		return ""
	}
	id, _ := bench.At(v, a.Receipt)
	return ID(id)
}
