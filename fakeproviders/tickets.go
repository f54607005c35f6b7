package fakeproviders

import (
	"net/http"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// tickets is an issue tracker whose tickets carry a reference of the caller's, by which they are found again.
type tickets struct{ plainJSON }

func (tickets) Name() string { return "tickets" }
func (tickets) Summary() string {
	return "tickets with an external reference and a look-up, optionally stale"
}

var ticketFields = []string{"title", "queue", "priority", "body", "reference"}

func (tickets) Parse(r bench.RawRequest) bench.Call {
	path, query := target(r)
	switch {
	case path[0] != "tickets" || len(path) > 2:
		return bench.Call{Op: "unknown"}
	case r.Method == http.MethodPost && len(path) == 1:
		return bench.Call{Op: "create ticket", Class: "ticket", Mutating: true, Attrs: pick(fields(r.Body), ticketFields...)}
	}
	return bench.Call{Op: "read tickets", Attrs: pick(map[string]any{"reference": query.Get("reference"), "title": query.Get("title")}, "reference", "title")}
}

func (t tickets) execute(x *exchange) (answer, error) {
	path, _ := target(x.raw)
	switch {
	case x.call.Op == "unknown":
		return t.refuse(notFound), nil
	case x.call.Mutating:
		return t.create(x), nil
	case x.raw.Method != http.MethodGet:
		return t.refuse(wrongMethod), nil
	case len(path) == 2:
		return t.get(x, path[1])
	case x.call.Attrs["reference"] != nil && !x.findsByReference():
		return t.refuse(noLookUp), nil
	}
	return list(x, "tickets", append(ticketFields, "status")...)
}

func (t tickets) create(x *exchange) answer {
	m := fields(x.raw.Body)
	if r := texts(m, []string{"title"}, "queue", "body", "reference"); r != nil {
		return t.refuse(*r)
	}
	switch m["priority"].(type) {
	case nil, string, int, float64:
	default:
		return t.refuse(invalid("priority", "Field priority is neither a text nor a number."))
	}
	x.add("tk_", store.Object{Class: "ticket", Attrs: x.call.Attrs, Reference: text(m, "reference"), Detail: map[string]any{"status": "open"}})
	return t.current(x.tx.Added())
}

// get reads one ticket by its id, which no index delays.
func (t tickets) get(x *exchange, id string) (answer, error) {
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	for _, o := range all {
		if o.ID == id {
			return jsonAnswer(http.StatusOK, shown(o, ticketFields...)), nil
		}
	}
	return t.refuse(notFound), nil
}

func (tickets) current(objects []store.Object) answer {
	return jsonAnswer(http.StatusCreated, shown(objects[0], ticketFields...))
}

func (tickets) world(w bench.WorldEffect, n int) store.Object {
	o := worldObject("tk_", w, n)
	o.Reference, o.Detail = text(w.Attrs, "reference"), map[string]any{"status": "open"}
	return o
}
