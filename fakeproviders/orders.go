package fakeproviders

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// orders takes orders and payments. Its contract says what a key does; how a request is worded is another
// matter: the plain wire and those of four payment APIs (orders_wires.go) are told apart by the request.
type orders struct{}

func (orders) Name() string { return "orders" }
func (orders) Summary() string {
	return "orders and payments under the published key semantics of several APIs"
}

// repeatability is where the OASIS Repeatable Requests, as Azure takes them, carry the key.
const repeatability = "header:Repeatability-Request-ID"

func (orders) Parse(r bench.RawRequest) bench.Call {
	w := wireOf(r)
	if w == nil {
		return bench.Call{Op: "unknown"}
	}
	class, rest, _ := w.route(r)
	switch {
	case r.Method == http.MethodPost && len(rest) == 0:
		return bench.Call{Op: "create " + class, Class: class, Mutating: true, Attrs: w.attributes(class, fields(r.Body))}
	case r.Method == http.MethodPost && w.cancels(rest):
		return bench.Call{Op: "cancel " + class, Class: class, Mutating: true, Attrs: map[string]any{}}
	}
	_, query := target(r)
	return bench.Call{Op: "read " + class + "s", Attrs: pick(map[string]any{
		"order": query.Get("order"), "customer": query.Get("customer")}, "order", "customer")}
}

func (s orders) execute(x *exchange) (answer, error) {
	w := wireOf(x.raw)
	if w == nil {
		return x.refuse(notFound), nil
	}
	class, rest, _ := w.route(x.raw)
	switch {
	case x.call.Mutating && len(rest) == 0:
		return s.create(x, w, class), nil
	case x.call.Mutating && w.cancelsByKey(rest):
		return s.cancelByKey(x, w)
	case x.call.Mutating:
		return s.cancel(x, w, class, rest[0])
	case x.raw.Method != http.MethodGet:
		return x.refuse(wrongMethod), nil
	case len(rest) == 0:
		return s.list(x, w, class)
	case len(rest) > 1:
		return x.refuse(notFound), nil
	}
	return s.get(x, w, class, rest[0])
}

func (s orders) create(x *exchange, w *orderWire, class string) answer {
	if x.p.terms.Key.Location == repeatability {
		if r := firstSent(x); r != nil {
			return x.refuse(*r)
		}
	}
	body := fields(x.raw.Body)
	if r := w.check(class, body); r != nil {
		a := x.refuse(*r)
		a.executed = x.p.terms.Key.Saves == "final" // where every 4xx is kept, those of validation are too
		return a
	}
	x.add(w.prefix[class], store.Object{ID: w.id(class, x.name), Class: class, Attrs: x.call.Attrs, Reference: x.call.Key,
		Detail: map[string]any{"wire": w.name, "body": body}})
	return w.answer(w.created, w.one(class, w.show(x.tx.Added()[0])))
}

// keyless says that a cancellation takes no key: done again it changes nothing.
func (orders) keyless(c bench.Call) bool { return strings.HasPrefix(c.Op, "cancel ") }

// firstSent refuses what the OASIS Repeatable Requests refuse: a key without its time, a time that is none,
// and one outside the tracked window (learn.microsoft.com/rest/api/communication/repeatable-requests). A
// time ahead of the provider's clock counts as far as one behind it: the sources are silent.
func firstSent(x *exchange) *refusal {
	sent := x.raw.Header.Get("Repeatability-First-Sent")
	if sent == "" && x.call.Key == "" {
		return nil // not a repeatable request
	}
	at, err := time.Parse(http.TimeFormat, sent)
	if err != nil || x.call.Key == "" {
		r := invalid("Repeatability-First-Sent", "A repeatable request needs Repeatability-Request-ID and a Repeatability-First-Sent like %s.", http.TimeFormat)
		return &r
	}
	if window := x.p.terms.Key.Retention; x.p.clock.Now().Sub(at).Abs() > window {
		return &refusal{status: http.StatusPreconditionFailed, code: "repeatability_window",
			message: "The Repeatability-First-Sent header is not within the window of " + window.String() + "."}
	}
	return nil
}

// ledger is what is there: the objects of a class, oldest first, and which of them were cancelled by what.
func (orders) ledger(x *exchange, fits func(store.Object) bool) (made []store.Object, err error) {
	all, err := x.look(func(o store.Object) bool { return o.Sign > 0 && fits(o) })
	if err != nil {
		return nil, err
	}
	everything, err := x.tx.Objects()
	if err != nil {
		return nil, err
	}
	for _, o := range everything {
		if i := slices.IndexFunc(all, func(m store.Object) bool { return m.ID == o.Undoes }); i >= 0 {
			all[i].Detail["cancelled"] = true
		}
	}
	return all, nil
}

func (s orders) list(x *exchange, w *orderWire, class string) (answer, error) {
	_, query := target(x.raw)
	key := query.Get("idempotency_key")
	if key != "" && !x.findsByReference() {
		return x.refuse(noLookUp), nil
	}
	found, err := s.ledger(x, func(o store.Object) bool {
		for name, v := range x.call.Attrs {
			if o.Attrs[name] != v {
				return false
			}
		}
		return o.Class == class && o.Principal == x.call.Principal && (key == "" || o.Reference == key)
	})
	if err != nil {
		return answer{}, err
	}
	if w != plainWire {
		slices.Reverse(found) // the payment APIs list the newest first
	}
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil || limit < 1 || limit > 100 {
		limit = 100
	}
	start := 0
	for _, cursor := range []string{query.Get("after"), query.Get("cursor")} {
		if i := slices.IndexFunc(found, func(o store.Object) bool { return o.ID == cursor }); i >= 0 {
			start = i + 1
		}
	}
	next, end := "", min(start+limit, len(found))
	if end < len(found) {
		next = found[end-1].ID
	}
	data := []any{}
	for _, o := range found[start:end] {
		data = append(data, w.show(o))
	}
	return w.answer(http.StatusOK, w.page(class, data, next)), nil
}

// get reads one object by its id, which no index delays.
func (s orders) get(x *exchange, w *orderWire, class, id string) (answer, error) {
	found, err := s.byID(x, class, id)
	if err != nil {
		return answer{}, err
	}
	if found == nil {
		return x.refuse(notFound), nil
	}
	return w.answer(http.StatusOK, w.one(class, w.show(*found))), nil
}

// byID finds an object of the caller's, nil if there is none; Detail says whether it is cancelled.
func (orders) byID(x *exchange, class, id string) (*store.Object, error) {
	all, err := x.tx.Objects()
	if err != nil {
		return nil, err
	}
	var found *store.Object
	for i, o := range all {
		switch {
		case o.ID == id && o.Class == class && o.Sign > 0 && o.Principal == x.call.Principal:
			found = &all[i]
		case o.Undoes == id && found != nil:
			found.Detail["cancelled"] = true
		}
	}
	return found, nil
}

// cancel undoes an object. One that is cancelled already stays so, and nothing is made.
func (s orders) cancel(x *exchange, w *orderWire, class, id string) (answer, error) {
	found, err := s.byID(x, class, id)
	if err != nil {
		return answer{}, err
	}
	if found == nil {
		return x.refuse(notFound), nil
	}
	s.undo(x, w, *found)
	found.Detail["cancelled"] = true
	return w.answer(http.StatusOK, w.one(class, w.show(*found))), nil
}

func (orders) undo(x *exchange, w *orderWire, o store.Object) {
	if o.Detail["cancelled"] == true {
		return
	}
	x.add("cn_", store.Object{Class: o.Class, Attrs: o.Attrs, Sign: -1, Undoes: o.ID, Detail: map[string]any{"wire": w.name}})
}

// cancelByKey cancels the payment that was made under a key, if there is one; Square answers 200 either way
// (developer.squareup.com/reference/square/payments-api/cancel-payment-by-idempotency-key).
func (s orders) cancelByKey(x *exchange, w *orderWire) (answer, error) {
	key := text(fields(x.raw.Body), "idempotency_key")
	if key == "" {
		return x.refuse(refusal{status: http.StatusBadRequest, code: "idempotency_key_missing", message: "Missing required parameter."}), nil
	}
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	for _, o := range all {
		if o.Reference == key && o.Sign > 0 && o.Principal == x.call.Principal {
			found, err := s.byID(x, o.Class, o.ID)
			if err != nil {
				return answer{}, err
			}
			s.undo(x, w, *found)
		}
	}
	return w.answer(http.StatusOK, map[string]any{}), nil
}

// current renders what was made as it was then: the wires that show its state now go through again.
func (orders) current(objects []store.Object) answer {
	return plainWire.answer(plainWire.created, plainWire.show(objects[0]))
}

// again renders what was made as it is now, over the wire that asks. The provider's lock is held.
func (orders) again(x *exchange, stored answer, made []store.Object) answer {
	w := wireOf(x.raw)
	if len(made) == 0 {
		return stored
	}
	o := made[0]
	if all, err := x.p.store.Objects(); err == nil {
		end, ended := x.p.endOf(o, all)
		o.Detail["cancelled"] = ended && !end.After(x.p.clock.Now())
	}
	return w.answer(w.created, w.one(o.Class, w.show(o)))
}

func (orders) refuse(r refusal) answer { return plainWire.refuse(nil, r) }

// refuseTo words a refusal as the wire of the request does.
func (orders) refuseTo(x *exchange, r refusal) answer {
	w := wireOf(x.raw)
	if w == nil {
		w = plainWire
	}
	a := w.refuse(x, r)
	if len(r.existing) > 0 {
		a.existing, a.dedup = r.existing[0], true
	}
	return a
}

// decorate adds the headers by which the wires' clients tell answers apart.
func (orders) decorate(x *exchange, a *answer) {
	if a.header == nil {
		a.header = http.Header{}
	}
	if x.call.Mutating && x.raw.Header.Get("Repeatability-Request-ID") != "" && x.p.terms.Key.Location == repeatability {
		result := "accepted"
		if a.status == http.StatusPreconditionFailed || a.status == http.StatusBadRequest && x.original == "" {
			result = "rejected"
		}
		a.header.Set("Repeatability-Result", result)
	}
	if key := x.raw.Header.Get("Idempotency-Key"); key != "" && x.call.Mutating && wireOf(x.raw) == adyenWire {
		a.header.Set("Idempotency-Key", key) // which says that the key was taken note of
	}
	a.header.Set("X-Request-Id", objectID("rq_", x.name, 0))
}

func (orders) world(w bench.WorldEffect, n int) store.Object {
	o := worldObject(plainWire.prefix[w.Class], w, n)
	o.Detail = map[string]any{"wire": plainWire.name}
	return o
}
