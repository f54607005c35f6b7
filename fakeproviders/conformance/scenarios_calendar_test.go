package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

const googleClient = "google-api-python-client"

// entry is an operation on one event of the primary calendar; more are fields of its body, in pairs.
func entry(op string, more ...any) step {
	body := map[string]any{"summary": "Planning",
		"start": map[string]any{"dateTime": "2026-01-12T09:00:00Z"}, "end": map[string]any{"dateTime": "2026-01-12T10:00:00Z"}}
	for i := 0; i < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return step{op: op, args: map[string]any{"calendarId": "primary", "body": body}}
}

// onEvent is an operation on the event that has an id.
func onEvent(op, id string) step {
	return step{op: op, args: map[string]any{"calendarId": "primary", "eventId": id}}
}

func calendarScenarios() []scenario {
	const ownID, none, slips = "google-calendar-own-id", "google-calendar", "google-calendar-own-id-slips"
	insert, plan := entry("events.insert"), entry("events.insert", "id", "plan2026")
	marked := entry("events.insert", "extendedProperties", map[string]any{"private": map[string]any{"reference": "r-1"}})
	search := step{op: "events.list", args: map[string]any{"calendarId": "primary", "privateExtendedProperty": "reference=r-1"}}
	var all []scenario
	add := func(contract, name, expected string, run func(*stage) (string, error)) {
		all = append(all, scenario{name: name, contract: contract, client: googleClient, expected: expected, run: run})
	}
	again := func(between func(*stage) error, more ...any) func(*stage) (string, error) {
		return twice(plan, entry("events.insert", append([]any{"id", "plan2026"}, more...)...), between, "id")
	}
	add(ownID, "the same id, the same event", "HttpError 409 duplicate, 1 effect", again(nil))
	add(ownID, "the same id, another event", "HttpError 409 duplicate, 1 effect", again(nil, "summary", "Other"))
	add(ownID, "the same id, a year later", "HttpError 409 duplicate, 1 effect", again(pass(365*24*time.Hour)))
	add(ownID, "the same id, after the event was deleted", "HttpError 409 duplicate, 2 effects", again(func(st *stage) error {
		_, err := st.must("events.delete", onEvent("", "plan2026").args)
		return err
	}))
	add(ownID, "the same id in another calendar", "ok, the same object, 2 effects", func(st *stage) (string, error) {
		other := plan
		other.args = map[string]any{"calendarId": "team@example.com", "body": plan.args["body"]}
		return twice(plan, other, nil, "id")(st)
	})
	add(ownID, "an id with letters beyond v", "1 send, 0 effects, HttpError 400 invalid", func(st *stage) (string, error) {
		return st.tell(entry("events.insert", "id", "wxyz2026"))
	})
	add(ownID, "get by id", "ok, the same object, 1 effect", twice(plan, onEvent("events.get", "plan2026"), nil, "id"))
	add(ownID, "get of an id that is not there", "HttpError 404 notFound, 1 effect", twice(plan, onEvent("events.get", "other2026"), nil, "id"))
	add(ownID, "delete, twice", "HttpError 410 deleted, 2 effects", func(st *stage) (string, error) {
		if _, err := st.must(plan.op, plan.args); err != nil {
			return "", err
		}
		return twice(onEvent("events.delete", "plan2026"), onEvent("events.delete", "plan2026"), nil)(st)
	})
	add(ownID, "list_next over 5 events, 2 a page", "pages of [2 2 1]", func(st *stage) (string, error) {
		for i := range 5 {
			s := entry("events.insert", "id", fmt.Sprintf("plan%d", i))
			if _, err := st.must(s.op, s.args); err != nil {
				return "", err
			}
		}
		r, err := st.must("events.list", map[string]any{"calendarId": "primary", "maxResults": 2}, with{"pages": true})
		return fmt.Sprintf("pages of %v", r.OK), err
	})
	add(slips, "the same id within 3 min", "ok, the same object, 2 effects", again(pass(3*time.Minute-time.Second)))
	add(slips, "the same id after 3 min", "HttpError 409 duplicate, 1 effect", again(pass(3*time.Minute)))
	add(none, "two inserts without an id", "ok, another object, 2 effects", twice(insert, insert, nil, "id"))
	for _, c := range []struct {
		later    time.Duration
		expected string
	}{{0, "0 found"}, {time.Minute - time.Second, "0 found"}, {time.Minute, "1 found"}} {
		add(none, fmt.Sprintf("list by privateExtendedProperty, %v after the insert", c.later), c.expected, func(st *stage) (string, error) {
			if _, err := st.must(marked.op, marked.args); err != nil {
				return "", err
			}
			st.clock.pass(c.later)
			r, err := st.must(search.op, search.args)
			found, _ := r.at("items").([]any)
			return fmt.Sprintf("%d found", len(found)), err
		})
	}
	add(none, "import of an iCalUID, twice", "ok, the same object, 1 effect",
		twice(entry("events.import_", "iCalUID", "a@example.com"), entry("events.import_", "iCalUID", "a@example.com"), nil, "id"))
	return append(all, calendarSends(insert, plan)...)
}

// calendarSends are the requests that the client sends on its own: httplib2 tries twice at the level of
// sockets, whatever num_retries says, and only where the connection ends in order before an answer begins.
func calendarSends(insert, plan step) []scenario {
	var all []scenario
	for _, c := range []struct {
		name, contract, expected string
		s                        step
		at                       bench.Point
		act                      bench.Action
		n                        []int // requests that meet it
	}{
		{"no request is read to", "google-calendar", "2 sends, 0 effects, RemoteDisconnected", insert, bench.Received, bench.Action{Act: bench.Close}, nil},
		{"no answer comes back", "google-calendar", "2 sends, 2 effects, RemoteDisconnected", insert, bench.Committed, bench.Action{Act: bench.Close}, nil},
		{"the first answer does not come back", "google-calendar", "2 sends, 2 effects, ok", insert, bench.Committed, bench.Action{Act: bench.Close}, []int{1}},
		{"the first answer does not come back, with an id", "google-calendar-own-id", "2 sends, 1 effect, HttpError 409 duplicate", plan, bench.Committed, bench.Action{Act: bench.Close}, []int{1}},
		{"the connection is reset in place of an answer", "google-calendar", "1 send, 1 effect, ConnectionResetError", insert, bench.Committed, bench.Action{Act: bench.Reset}, nil},
		{"the answer is cut short", "google-calendar", "1 send, 1 effect, IncompleteRead", insert, bench.Committed, bench.Action{Act: bench.Truncate, Bytes: 20}, nil},
		{"every answer is a 503", "google-calendar", "1 send, 1 effect, HttpError 503 backendError", insert, bench.Committed, bench.Action{Act: bench.Fail, Status: 503}, nil},
		{"every answer is a 429", "google-calendar", "1 send, 0 effects, HttpError 429 rateLimitExceeded", insert, bench.Received, bench.Action{Act: bench.Fail, Status: 429}, nil},
	} {
		all = append(all, scenario{name: c.name, contract: c.contract, client: googleClient, expected: c.expected,
			run: func(st *stage) (string, error) {
				st.gate.meet(c.at, c.act, c.n...)
				return st.tell(c.s)
			}})
	}
	retried := step{insert.op, insert.args, with{"num_retries": 1}}
	all = append(all, scenario{name: "no answer comes back, num_retries 1", contract: "google-calendar", client: googleClient, slow: true,
		expected: "4 sends, 4 effects, RemoteDisconnected",
		run:      meets(0, bench.Committed, bench.Action{Act: bench.Close}, func(st *stage) (string, error) { return st.tell(retried) })})
	return slices.Clip(all)
}
