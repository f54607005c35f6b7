package fakeproviders

import (
	"net/http"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// rows inserts rows into tables under the contract's unique constraint.
type rows struct{ plainJSON }

func (rows) Name() string    { return "rows" }
func (rows) Summary() string { return "rows inserted under a unique constraint" }

func (rows) Parse(r bench.RawRequest) bench.Call {
	path, query := target(r)
	if len(path) != 3 || path[0] != "tables" || path[1] == "" || path[2] != "rows" {
		return bench.Call{Op: "unknown"}
	}
	attrs := map[string]any{"table": path[1]}
	if r.Method != http.MethodPost {
		if k := query.Get("key"); k != "" {
			attrs["key"] = k
		}
		return bench.Call{Op: "read rows", Attrs: attrs}
	}
	for k, v := range pick(fields(r.Body), "key", "value") {
		attrs[k] = v
	}
	return bench.Call{Op: "insert row", Class: "row", Mutating: true, Attrs: attrs}
}

func (w rows) execute(x *exchange) (answer, error) {
	switch {
	case x.call.Op == "unknown":
		return w.refuse(notFound), nil
	case x.call.Mutating:
		return w.insert(x)
	case x.raw.Method != http.MethodGet:
		return w.refuse(wrongMethod), nil
	}
	return list(x, "rows")
}

func (w rows) insert(x *exchange) (answer, error) {
	m := fields(x.raw.Body)
	if r := texts(m, []string{"key"}); r != nil {
		return w.refuse(*r), nil
	}
	if v := m["value"]; v == nil {
		return w.refuse(invalid("value", "Field value is missing.")), nil
	}
	rival, err := x.rival()
	if err != nil {
		return answer{}, err
	}
	if rival != nil {
		return w.refuse(refusal{status: http.StatusConflict, code: "already_exists",
			message: "There is a row with this key already.", existing: []string{rival.ID}}), nil
	}
	x.add("rw_", store.Object{Class: "row", Attrs: x.call.Attrs})
	return w.current(x.tx.Added()), nil
}

func (rows) current(objects []store.Object) answer {
	return jsonAnswer(http.StatusCreated, shown(objects[0]))
}

func (rows) world(w bench.WorldEffect, n int) store.Object { return worldObject("rw_", w, n) }
