package fakeproviders

import (
	"net/http"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// lines appends lines to named documents. Every append is a line of its own, at the next position.
type lines struct{ plainJSON }

func (lines) Name() string    { return "lines" }
func (lines) Summary() string { return "lines appended to named documents" }

func (lines) Parse(r bench.RawRequest) bench.Call {
	path, _ := target(r)
	if path[0] != "documents" || len(path) < 2 || len(path) > 3 || len(path) == 3 && path[2] != "lines" || path[1] == "" {
		return bench.Call{Op: "unknown"}
	}
	attrs := map[string]any{"document": path[1]}
	if r.Method != http.MethodPost || len(path) == 2 {
		return bench.Call{Op: "read document", Attrs: attrs}
	}
	for k, v := range pick(fields(r.Body), "text") {
		attrs[k] = v
	}
	return bench.Call{Op: "append line", Class: "line", Mutating: true, Attrs: attrs}
}

func (l lines) execute(x *exchange) (answer, error) {
	switch {
	case x.call.Op == "unknown":
		return l.refuse(notFound), nil
	case x.call.Mutating:
		return l.append(x)
	case x.raw.Method != http.MethodGet:
		return l.refuse(wrongMethod), nil
	}
	a, err := list(x, "lines")
	if err != nil {
		return a, err
	}
	m := fields(a.body)
	m["document"] = x.call.Attrs["document"]
	return jsonAnswer(http.StatusOK, m), nil
}

func (l lines) append(x *exchange) (answer, error) {
	if r := texts(fields(x.raw.Body), []string{"text"}); r != nil {
		return l.refuse(*r), nil
	}
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	position := 1
	for _, o := range all {
		if o.Attrs["document"] == x.call.Attrs["document"] {
			position++
		}
	}
	x.add("ln_", store.Object{Class: "line", Attrs: x.call.Attrs, Detail: map[string]any{"position": position}})
	return l.current(x.tx.Added()), nil
}

func (lines) current(objects []store.Object) answer {
	return jsonAnswer(http.StatusCreated, shown(objects[0]))
}

func (lines) world(w bench.WorldEffect, n int) store.Object {
	o := worldObject("ln_", w, n)
	o.Detail = map[string]any{"position": n + 1}
	return o
}
