package fakeproviders

import (
	"net/http"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// mail accepts messages, one recipient each, as a mail service does after a 250: every accepted one exists.
type mail struct{ plainJSON }

func (mail) Name() string    { return "mail" }
func (mail) Summary() string { return "messages, one recipient each; no key, no look-up" }

func (mail) Parse(r bench.RawRequest) bench.Call {
	path, query := target(r)
	switch {
	case len(path) != 1 || path[0] != "messages":
		return bench.Call{Op: "unknown"}
	case r.Method == http.MethodPost:
		return bench.Call{Op: "create message", Class: "message", Mutating: true, Attrs: pick(fields(r.Body), "to", "subject", "body")}
	}
	return bench.Call{Op: "read messages", Attrs: pick(map[string]any{"to": query.Get("to")}, "to")}
}

func (m mail) execute(x *exchange) (answer, error) {
	switch {
	case x.call.Op == "unknown":
		return m.refuse(notFound), nil
	case x.call.Mutating:
		if r := texts(fields(x.raw.Body), []string{"to", "subject"}, "body"); r != nil {
			return m.refuse(*r), nil
		}
		x.add("msg_", store.Object{Class: "message", Attrs: x.call.Attrs})
		return m.current(x.tx.Added()), nil
	case x.raw.Method != http.MethodGet:
		return m.refuse(wrongMethod), nil
	}
	return list(x, "messages", "to", "subject", "body")
}

func (mail) current(objects []store.Object) answer {
	return jsonAnswer(http.StatusAccepted, shown(objects[0], "subject", "body"))
}

func (mail) world(w bench.WorldEffect, n int) store.Object { return worldObject("msg_", w, n) }
