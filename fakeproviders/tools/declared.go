package tools

import (
	"net/http"
	"slices"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/declared"
)

// find returns the tool of this name as a workload offers it: its own, or the catalogue's; nil if there is none.
func find(name string, use bench.ToolUse) *Tool {
	if use.External != nil {
		return declare(name, *use.External)
	}
	return ByName(name)
}

// Declare makes a tool that a workload declares itself.
func Declare(name string, t bench.ExternalTool) bench.Tool { return declare(name, t) }

var argumentKinds = map[string]kind{bench.ArgumentText: text, bench.ArgumentNumber: number, bench.ArgumentEither: scalar}

func declare(name string, t bench.ExternalTool) *Tool {
	tool := &Tool{
		name: name, provider: bench.KindExternal, about: t.About, class: t.Makes, readOnly: t.Makes == "", lookUp: t.LookUp,
		effects: func(a arguments) []map[string]any { return []map[string]any{declared.Call(name, t, a).Attrs} },
		plan:    func(a arguments) []request { return []request{declaredRequest(name, t, a)} },
		read:    func(r response) outcome { return readDeclared(t.Answer, r) },
	}
	for _, a := range t.Arguments {
		tool.args = append(tool.args, argument{name: a.Name, kind: argumentKinds[a.Type], required: a.Required, about: a.About})
		if a.Name == "reference" && t.Makes != "" && t.LookUp != "" {
			tool.lookUpArgument = a.Name
		}
	}
	return tool
}

// declaredRequest fills the template in. What cannot be filled in is not sent.
func declaredRequest(name string, t bench.ExternalTool, a arguments) request {
	typed := map[string]any{}
	for _, each := range t.Arguments {
		v, given := a[each.Name]
		if !given || v == "" {
			continue
		}
		if n, ok := whole(v); ok && each.Type == bench.ArgumentNumber { // however it was written
			v = n
		}
		typed[each.Name] = v
	}
	filled, err := declared.Fill(t.Request, typed)
	return request{method: filled.Method, path: filled.Path, header: filled.Header, body: filled.Body, about: name, placed: true, broken: err}
}

// readDeclared reads an answer as the workload says, and where it says nothing as HTTP has it.
func readDeclared(a bench.ExternalAnswer, r response) outcome {
	var body any
	o, _ := r.object()
	body = o
	if o == nil {
		body = r.list()
	}
	message := ""
	if a.Message != "" {
		said, _ := bench.At(body, a.Message)
		message, _ = said.(string)
	}
	switch {
	case slices.Contains(a.Conflict, r.status):
		return outcome{status: Conflict, message: message}
	case slices.Contains(a.Refused, r.status):
		return outcome{status: Refused, message: message}
	case slices.Contains(a.Done, r.status) || len(a.Done) == 0 && r.status/100 == 2:
		if a.Found != nil {
			return declaredFound(*a.Found, body)
		}
		if a.Receipt == "" {
			return outcome{status: Done}
		}
		id, _ := bench.At(body, a.Receipt)
		if declared.ID(id) == "" {
			return outcome{status: Unknown, message: "the provider's answer names no " + a.Receipt}
		}
		return outcome{status: Done, receipts: []string{declared.ID(id)}}
	case r.status/100 == 2:
		return outcome{status: Unknown, message: message}
	}
	return r.failed(message)
}

func declaredFound(f bench.ExternalFound, body any) outcome {
	list, ok := bench.At(body, f.List)
	objects, isList := list.([]any)
	if !ok || !isList {
		return outcome{status: Unknown, message: "the provider's answer has no list at " + f.List}
	}
	all := []map[string]any{}
	for _, each := range objects {
		id, _ := bench.At(each, f.ID)
		found := map[string]any{"id": declared.ID(id)}
		for name, path := range f.Attributes {
			if v, ok := bench.At(each, path); ok && v != nil && v != "" {
				found[name] = v
			}
		}
		all = append(all, found)
	}
	if f.Newest {
		slices.Reverse(all)
	}
	return outcome{status: Done, found: all}
}

// declaredWarmUp is a read at an external provider.
func declaredWarmUp(path string) request {
	if path == "" {
		path = "/"
	}
	return request{method: http.MethodGet, path: path, header: http.Header{}, about: "warm-up"}
}
