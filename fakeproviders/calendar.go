package fakeproviders

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// calendar speaks the Google Calendar API v3: insert with an id of the caller's or without, import by
// iCalUID, get, list, delete. Rules and shapes: developers.google.com/workspace/calendar/api/v3/reference/events.
type calendar struct{}

func (calendar) Name() string    { return "calendar" }
func (calendar) Summary() string { return "events over the Google Calendar v3 wire" }

// primaryCalendar is the id of the calendar that the account calls "primary".
const primaryCalendar = "user@example.com"

// calendarPath is a request's path below /calendar/v3, which a client's base URL may have or leave out.
func calendarPath(r bench.RawRequest) (cal, rest string, query url.Values) {
	path, query := target(r)
	if len(path) > 2 && path[0] == "calendar" && path[1] == "v3" {
		path = path[2:]
	}
	if len(path) < 3 || len(path) > 4 || path[0] != "calendars" || path[1] == "" || path[2] != "events" {
		return "", "", query
	}
	if path[1] == primaryCalendar {
		path[1] = "primary"
	}
	return path[1], strings.Join(path[3:], ""), query
}

func (calendar) Parse(r bench.RawRequest) bench.Call {
	cal, rest, query := calendarPath(r)
	switch {
	case cal == "":
		return bench.Call{Op: "unknown"}
	case r.Method == http.MethodPost && (rest == "" || rest == "import"):
		op := map[string]string{"": "insert event", "import": "import event"}[rest]
		return bench.Call{Op: op, Class: "event", Mutating: true, Attrs: eventAttrs(cal, fields(r.Body))}
	case r.Method == http.MethodDelete && rest != "":
		return bench.Call{Op: "delete event", Class: "cancellation", Mutating: true, Attrs: map[string]any{"calendar": cal, "event_id": rest}}
	case rest != "":
		return bench.Call{Op: "read event", Attrs: map[string]any{"calendar": cal, "event_id": rest}}
	}
	return bench.Call{Op: "list events", Attrs: pick(map[string]any{"calendar": cal, "ical_uid": query.Get("iCalUID")}, "calendar", "ical_uid")}
}

// eventAttrs are the business attributes of an event resource. Times are read as the instants that they name.
func eventAttrs(cal string, m map[string]any) map[string]any {
	at := func(name string) any {
		t, _ := m[name].(map[string]any)
		s := firstText(text(t, "dateTime"), text(t, "date"))
		if instant, err := time.Parse(time.RFC3339, s); err == nil {
			return instant.UTC().Format(time.RFC3339)
		}
		return s
	}
	attrs := map[string]any{"calendar": cal, "start": at("start"), "end": at("end")}
	for attr, name := range map[string]string{"event_id": "id", "summary": "summary", "location": "location", "description": "description", "ical_uid": "iCalUID"} {
		attrs[attr] = text(m, name)
	}
	return pick(attrs, "calendar", "event_id", "summary", "start", "end", "location", "description", "ical_uid")
}

func (c calendar) execute(x *exchange) (answer, error) {
	cal, rest, query := calendarPath(x.raw)
	switch x.call.Op {
	case "insert event", "import event":
		return c.create(x, cal)
	case "delete event":
		return c.cancel(x, cal, rest)
	}
	switch {
	case cal == "":
		return c.refuse(notFound), nil
	case x.raw.Method != http.MethodGet:
		return c.refuse(wrongMethod), nil
	case rest != "":
		return c.get(x, cal, rest)
	}
	return c.list(x, cal, query)
}

// create inserts or imports. The attributes of a world object are not looked at but for its id.
func (c calendar) create(x *exchange, cal string) (answer, error) {
	m := fields(x.raw.Body)
	if r := badEvent(x.call.Op, m); r != nil {
		return c.refuse(*r), nil
	}
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	id, uid := text(m, "id"), text(m, "iCalUID")
	if x.call.Op == "import event" {
		if i := slices.IndexFunc(all, func(o store.Object) bool {
			return inCalendar(o, cal) && !cancelled(all, o) && eventShown(o, all)["iCalUID"] == uid
		}); i >= 0 {
			return c.imported(x, all, all[i]), nil
		}
	}
	if i := x.taken(all, cal, id); i >= 0 {
		r := duplicate
		r.existing = []string{all[i].ID}
		return c.refuse(r), nil
	}
	if id == "" {
		id = calendarID(x.name)
	}
	object := calendarObject(cal, id)
	for n := 2; slices.ContainsFunc(all, func(o store.Object) bool { return o.ID == object }); n++ {
		object = fmt.Sprintf("%s#%d", calendarObject(cal, id), n) // an id that was given out twice
	}
	private := private(m)
	x.add("", store.Object{ID: object, Class: "event", Attrs: x.call.Attrs, Reference: text(private, "reference"),
		Detail: map[string]any{"id": id, "event": m}})
	return c.current(x.tx.Added()), nil
}

// taken finds the event that has the id already: in a calendar an id is unique for ever, deleted or not. What
// is younger than the constraint's lag is overlooked.
func (x *exchange) taken(all []store.Object, cal, id string) int {
	if id == "" || !x.namesAreUnique("event") {
		return -1
	}
	now := x.p.clock.Now()
	return slices.IndexFunc(all, func(o store.Object) bool {
		return inCalendar(o, cal) && o.Detail["id"] == id && (o.Request == "" || now.Sub(o.At) >= x.p.terms.UniqueLag)
	})
}

// namesAreUnique says whether a kind that names objects refuses a name that is taken. It does, also where the
// contract is about calls that bring no name; not where the contract promises it and breaks its promise.
func (x *exchange) namesAreUnique(class string) bool {
	return len(x.p.says.Unique) == 0 || len(x.p.terms.Unique[class]) > 0
}

var duplicate = refusal{status: http.StatusConflict, code: "already_exists", message: "The requested identifier already exists."}

// imported answers the import of an iCalUID that is there. What becomes of one whose event differs is not
// documented; here it is refused.
func (c calendar) imported(x *exchange, all []store.Object, there store.Object) answer {
	for name, v := range x.call.Attrs {
		if there.Attrs[name] != v {
			r := duplicate
			r.existing = []string{there.ID}
			return c.refuse(r)
		}
	}
	a := jsonAnswer(http.StatusOK, eventShown(there, all))
	a.existing, a.dedup = there.ID, true
	return a
}

func badEvent(op string, m map[string]any) *refusal {
	bad := func(code, param, message string) *refusal {
		return &refusal{status: http.StatusBadRequest, code: code, param: param, message: message}
	}
	if m == nil {
		return bad("parse_error", "", "Parse Error")
	}
	for _, name := range []string{"id", "summary", "location", "description", "iCalUID"} {
		if v, ok := m[name]; ok && v != nil {
			if _, ok := v.(string); !ok {
				return bad("invalid_request", name, "Invalid value for: "+name)
			}
		}
	}
	if v := m["extendedProperties"]; v != nil && !allTexts(private(m)) {
		return bad("invalid_request", "extendedProperties", "Invalid value for: extendedProperties")
	}
	if id := text(m, "id"); id != "" && (len(id) < 5 || len(id) > 1024 || strings.Trim(id, "abcdefghijklmnopqrstuv0123456789") != "") {
		return bad("invalid_request", "id", "Invalid resource id value.")
	}
	if op == "import event" && text(m, "iCalUID") == "" {
		return bad("required", "iCalUID", "Required")
	}
	times := map[string]time.Time{}
	for _, name := range []string{"start", "end"} {
		t, _ := m[name].(map[string]any)
		at, layout := text(t, "dateTime"), time.RFC3339
		switch {
		case at == "" && text(t, "date") == "":
			return bad("required", name, "Missing "+name+" time.")
		case at == "":
			at, layout = text(t, "date"), time.DateOnly
		case text(t, "timeZone") != "" && !strings.ContainsAny(at[min(len(at), 19):], "Z+-"):
			layout = "2006-01-02T15:04:05"
		case !strings.ContainsAny(at[min(len(at), 19):], "Z+-"):
			return bad("required", name, "Missing time zone definition for "+name+" time.")
		}
		instant, err := time.Parse(layout, at)
		if err != nil {
			return bad("invalid_request", name, "Invalid value for: "+name)
		}
		times[name] = instant
	}
	if times["end"].Before(times["start"]) {
		return bad("time_range_empty", "end", "The specified time range is empty.")
	}
	return nil
}

// allTexts says whether an object holds texts only; an absent one does.
func allTexts(m map[string]any) bool {
	for _, v := range m {
		if _, ok := v.(string); !ok {
			return false
		}
	}
	return true
}

// private are the extended properties that only this calendar's copy of an event has.
func private(m map[string]any) map[string]any {
	extended, _ := m["extendedProperties"].(map[string]any)
	p, _ := extended["private"].(map[string]any)
	return p
}

func (c calendar) get(x *exchange, cal, id string) (answer, error) {
	all, err := x.look(func(store.Object) bool { return true })
	if err != nil {
		return answer{}, err
	}
	for _, o := range all {
		if inCalendar(o, cal) && o.Detail["id"] == id {
			return jsonAnswer(http.StatusOK, eventShown(o, all)), nil
		}
	}
	return c.refuse(notFound), nil
}

func (c calendar) cancel(x *exchange, cal, id string) (answer, error) {
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	i := slices.IndexFunc(all, func(o store.Object) bool { return inCalendar(o, cal) && o.Detail["id"] == id })
	if i < 0 {
		return c.refuse(notFound), nil
	}
	if cancelled(all, all[i]) {
		return c.refuse(refusal{status: http.StatusGone, code: "deleted", message: "Resource has been deleted", existing: []string{all[i].ID}}), nil
	}
	x.add("", store.Object{ID: "cancelled " + all[i].ID, Class: "cancellation", Attrs: x.call.Attrs, Undoes: all[i].ID})
	return c.current(x.tx.Added()), nil
}

func inCalendar(o store.Object, cal string) bool {
	return o.Class == "event" && o.Attrs["calendar"] == cal
}

// cancelled says whether an event was deleted.
func cancelled(all []store.Object, event store.Object) bool {
	return slices.ContainsFunc(all, func(o store.Object) bool { return o.Class == "cancellation" && o.Undoes == event.ID })
}

func (c calendar) list(x *exchange, cal string, query url.Values) (answer, error) {
	size, err := strconv.Atoi(firstText(query.Get("maxResults"), "250"))
	if err != nil || size < 1 {
		return c.refuse(invalid("maxResults", "Invalid value for maxResults: %q", query.Get("maxResults"))), nil
	}
	from := 0
	if token := query.Get("pageToken"); token != "" {
		b, err := base64.RawURLEncoding.DecodeString(token)
		if from, _ = strconv.Atoi(string(b)); err != nil || from <= 0 {
			return c.refuse(invalid("pageToken", "Invalid page token value.")), nil
		}
	}
	all, err := x.look(func(store.Object) bool { return true })
	if err != nil {
		return answer{}, err
	}
	items := []any{}
	for _, o := range all {
		if shown := eventShown(o, all); inCalendar(o, cal) && eventFits(shown, query) {
			items = append(items, shown)
		}
	}
	items = items[min(from, len(items)):]
	page := map[string]any{"kind": "calendar#events", "etag": `"p` + strconv.Itoa(len(all)) + `"`, "summary": cal, "timeZone": "UTC",
		"updated": x.p.clock.Now().UTC().Format(calendarTime), "accessRole": "owner", "defaultReminders": []any{}}
	if size = min(size, 2500); len(items) > size {
		items = items[:size]
		page["nextPageToken"] = base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(from + size)))
	}
	page["items"] = items
	return jsonAnswer(http.StatusOK, page), nil
}

// eventFits holds an event against the filters of a list.
func eventFits(e map[string]any, query url.Values) bool {
	if e["status"] == "cancelled" && query.Get("showDeleted") != "true" {
		return false
	}
	if uid := query.Get("iCalUID"); uid != "" && e["iCalUID"] != uid {
		return false
	}
	for _, wanted := range query["privateExtendedProperty"] {
		if name, value, _ := strings.Cut(wanted, "="); text(private(e), name) != value || value == "" {
			return false
		}
	}
	for name, outside := range map[string]func(from, to, bound time.Time) bool{
		"timeMin": func(_, to, bound time.Time) bool { return !to.After(bound) },
		"timeMax": func(from, _, bound time.Time) bool { return !from.Before(bound) },
	} {
		if bound, err := time.Parse(time.RFC3339, query.Get(name)); err == nil && outside(eventTime(e, "start"), eventTime(e, "end"), bound) {
			return false
		}
	}
	words := strings.ToLower(text(e, "summary") + " " + text(e, "description") + " " + text(e, "location"))
	for _, word := range strings.Fields(strings.ToLower(query.Get("q"))) {
		if !strings.Contains(words, word) {
			return false
		}
	}
	return true
}

func eventTime(e map[string]any, name string) time.Time {
	m, _ := e[name].(map[string]any)
	t, err := time.Parse(time.RFC3339, text(m, "dateTime"))
	if err != nil {
		t, _ = time.Parse(time.DateOnly, text(m, "date"))
	}
	return t
}

// current answers a mutation: the event, or nothing at all for a deletion.
func (calendar) current(objects []store.Object) answer {
	if objects[0].Class == "cancellation" {
		return answer{status: http.StatusNoContent, kind: calendarJSON}
	}
	a := jsonAnswer(http.StatusOK, eventShown(objects[0], objects))
	a.kind = calendarJSON
	return a
}

const (
	calendarJSON = "application/json; charset=UTF-8"
	calendarTime = "2006-01-02T15:04:05.000Z"
)

// eventShown is an event resource: what was sent, and what the service adds.
func eventShown(o store.Object, all []store.Object) map[string]any {
	m := map[string]any{}
	sent, _ := o.Detail["event"].(map[string]any)
	for name, v := range sent {
		m[name] = v
	}
	id, made := text(o.Detail, "id"), o.At.UTC().Format(calendarTime)
	email := calendarEmail(text(o.Attrs, "calendar"))
	for name, v := range map[string]any{
		"kind": "calendar#event", "id": id, "etag": `"` + digest(o.ID)[:16] + `"`, "status": "confirmed",
		"htmlLink": "https://www.google.com/calendar/event?eid=" + base64.RawURLEncoding.EncodeToString([]byte(id+" "+email)),
		"created":  made, "updated": made, "creator": map[string]any{"email": primaryCalendar, "self": email == primaryCalendar},
		"organizer": map[string]any{"email": email, "self": true}, "eventType": "default",
		"iCalUID": firstText(text(sent, "iCalUID"), id+"@google.com"), "sequence": 0, "reminders": map[string]any{"useDefault": true},
	} {
		m[name] = v
	}
	if cancelled(all, o) {
		m["status"] = "cancelled"
	}
	return m
}

func calendarEmail(cal string) string {
	if cal == "primary" {
		return primaryCalendar
	}
	return cal
}

// calendarObject names an event in the store: its calendar and its id, as an event resource shows both.
func calendarObject(cal, id string) string { return calendarEmail(cal) + "/" + id }

// calendarID is the id that the service gives an event that came without one: 26 characters of base32hex.
func calendarID(request string) string { return digest("event " + request)[:26] }

// refuse renders Google's error shape; its clients read reason and message.
func (calendar) refuse(r refusal) answer {
	reason := map[string]string{
		"already_exists": "duplicate", "not_found": "notFound", "deleted": "deleted", "parse_error": "parseError",
		"required": "required", "time_range_empty": "timeRangeEmpty", "method_not_allowed": "httpMethodNotAllowed",
	}[r.code]
	switch {
	case r.code == "not_found":
		r.message = "Not Found"
	case r.status == http.StatusTooManyRequests:
		reason, r.message = "rateLimitExceeded", "Rate Limit Exceeded"
	case r.status == http.StatusUnauthorized:
		reason, r.message = "authError", "Invalid Credentials"
	case r.code == "provider_failure":
		reason, r.message = "backendError", "Backend Error"
	case reason == "":
		reason = "invalid"
	}
	each := map[string]any{"domain": "global", "reason": reason, "message": r.message}
	a := jsonAnswer(r.status, map[string]any{"error": map[string]any{"code": r.status, "message": r.message, "errors": []any{each}}})
	a.kind = calendarJSON
	if len(r.existing) > 0 {
		a.existing, a.dedup = r.existing[0], true
	}
	return a
}

func (calendar) world(w bench.WorldEffect, n int) store.Object {
	o := worldObject("", w, n)
	if w.Class != "event" {
		return o
	}
	id := firstText(text(w.Attrs, "event_id"), calendarID(o.ID))
	sent := map[string]any{}
	for attr, name := range map[string]string{"event_id": "id", "summary": "summary", "location": "location", "description": "description", "ical_uid": "iCalUID"} {
		if v := w.Attrs[attr]; v != nil {
			sent[name] = v
		}
	}
	for _, name := range []string{"start", "end"} {
		if at := text(w.Attrs, name); at != "" {
			sent[name] = map[string]any{"dateTime": at}
		}
	}
	o.ID = calendarObject(text(w.Attrs, "calendar"), id)
	o.Detail = map[string]any{"id": id, "event": sent}
	return o
}
