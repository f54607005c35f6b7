package tools

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
)

// The calendar family speaks the Google Calendar API v3 (docs/providers/calendar.md): create_event brings an
// id of its own, by which it is found again; book_appointment brings none, and its reference travels as a
// private extended property.

var createEvent = &Tool{
	name: "create_event", provider: "calendar",
	about:   "Put an event with an id of your own into a calendar. The id is unique in the calendar.",
	args:    slices.Concat([]argument{{name: "event_id", kind: text, required: true, about: "5 to 1024 letters from a to v and digits."}}, eventArguments),
	lookUp:  "find_event",
	class:   "event",
	effects: one("event_id", "calendar", "summary", "start", "end", "location", "description"),
	plan:    planEvent,
	read:    readEvent,
}

var bookAppointment = &Tool{
	name: "book_appointment", provider: "calendar",
	about:  "Put an appointment into a calendar. A reference of your own lets you find it again.",
	args:   slices.Concat(eventArguments, []argument{{name: "reference", kind: text, about: "Your own reference; find_appointment finds the appointment by it."}}),
	lookUp: "find_appointment", lookUpArgument: "reference",
	class:   "event",
	effects: one("calendar", "summary", "start", "end", "location", "description"),
	plan:    planEvent,
	read:    readEvent,
}

var eventArguments = []argument{
	{name: "calendar", kind: text, required: true, about: "The calendar's id, or primary."},
	{name: "summary", kind: text, required: true, about: "One line."},
	{name: "start", kind: text, required: true, about: "When it starts, RFC 3339 with an offset."},
	{name: "end", kind: text, required: true, about: "When it ends, RFC 3339 with an offset."},
	{name: "location", kind: text, about: "Where it is."},
	{name: "description", kind: text, about: "The whole story."},
}

func planEvent(a arguments) []request {
	body := a.pick("summary", "location", "description")
	body["start"], body["end"] = map[string]any{"dateTime": a.text("start")}, map[string]any{"dateTime": a.text("end")}
	if id := a.text("event_id"); id != "" {
		body["id"] = id
	}
	if reference := a.text("reference"); reference != "" {
		body["extendedProperties"] = map[string]any{"private": map[string]any{"reference": reference}}
	}
	return []request{keylessRequest(http.MethodPost, eventsPath(a), "event "+a.text("summary"), body)}
}

var findEvent = &Tool{
	name: "find_event", provider: "calendar", readOnly: true,
	about: "Find the event of a calendar that has an id.",
	args: []argument{
		{name: "calendar", kind: text, required: true, about: "The calendar's id, or primary."},
		{name: "event_id", kind: text, required: true, about: "The id given at creation."},
	},
	plan: func(a arguments) []request {
		return []request{keylessRequest(http.MethodGet, eventsPath(a)+"/"+url.PathEscape(a.text("event_id")), "event "+a.text("event_id"), nil)}
	},
	read: func(r response) outcome {
		o, _ := r.object()
		switch {
		case r.status == http.StatusNotFound, r.status/100 == 2 && o["status"] == "cancelled":
			return outcome{status: Done, found: []map[string]any{}}
		case r.status/100 != 2:
			return readEvent(r)
		case o["id"] == nil:
			return outcome{status: Unknown, message: "the provider's answer is no event"}
		}
		return outcome{status: Done, found: []map[string]any{eventFound(o)}}
	},
}

var findAppointment = &Tool{
	name: "find_appointment", provider: "calendar", readOnly: true,
	about: "Find the appointments of a calendar that carry a reference.",
	args: []argument{
		{name: "calendar", kind: text, required: true, about: "The calendar's id, or primary."},
		{name: "reference", kind: text, required: true, about: "The reference given at creation."},
	},
	plan: func(a arguments) []request {
		query := url.Values{"privateExtendedProperty": {"reference=" + a.text("reference")}, "maxResults": {"2500"}}
		return []request{keylessRequest(http.MethodGet, eventsPath(a)+"?"+query.Encode(), "search for "+a.text("reference"), nil)}
	},
	read: func(r response) outcome {
		if r.status/100 != 2 {
			return readEvent(r)
		}
		return listed(r, "items", eventFound, oldestFirst)
	},
}

func eventsPath(a arguments) string {
	return "/calendar/v3/calendars/" + url.PathEscape(a.text("calendar")) + "/events"
}

// eventFound is an event as agents see it. It is named by its calendar and its id.
func eventFound(o map[string]any) map[string]any {
	found := pickGiven(o, "summary", "location", "description")
	organizer, _ := o["organizer"].(map[string]any)
	calendar, _ := organizer["email"].(string)
	id, _ := o["id"].(string)
	found["id"], found["event_id"] = calendar+"/"+id, id
	for _, name := range []string{"start", "end"} {
		if at, _ := o[name].(map[string]any); at["dateTime"] != nil {
			found[name] = at["dateTime"]
		}
	}
	if calendar != "" && organizer["self"] == true {
		found["calendar"] = calendar
		if creator, _ := o["creator"].(map[string]any); creator["email"] == calendar {
			found["calendar"] = "primary"
		}
	}
	return found
}

func readEvent(r response) outcome {
	o, _ := r.object()
	if r.status/100 == 2 {
		if id, _ := o["id"].(string); id == "" {
			return outcome{status: Unknown, message: "the provider's answer names no id"}
		}
		return created(eventFound(o), "id")
	}
	problem, _ := o["error"].(map[string]any)
	message, _ := problem["message"].(string)
	return r.failed(message) // a duplicate is told without the event that is in the way
}

// keylessRequest is a JSON request to a provider that takes no idempotency key.
func keylessRequest(method, path, about string, body map[string]any) request {
	r := request{method: method, path: path, about: about, header: http.Header{}}
	if body != nil {
		r.header.Set("Content-Type", "application/json")
		r.body, _ = json.Marshal(body) // texts, numbers and what is made of them: it cannot fail
	}
	return r
}
