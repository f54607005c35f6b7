package fakeproviders

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
)

const calendarBase = "/calendar/v3/calendars/"

// event is the body of an event with more fields, each written as in JSON.
func event(more ...string) string {
	return `{"summary":"Planning","start":{"dateTime":"2026-01-12T10:00:00+01:00"},"end":{"dateTime":"2026-01-12T09:30:00Z"}` + strings.Join(append([]string{""}, more...), ",") + `}`
}

func (r *rig) insert(cal, body string) reply { return r.send("POST", calendarBase+cal+"/events", body) }

// reason is the reason of an error as Google's clients read it.
func (r reply) reason() string {
	e, _ := r.field("error").(map[string]any)
	all, _ := e["errors"].([]any)
	if len(all) == 0 || e["code"] != r.status {
		return r.body
	}
	return text(all[0].(map[string]any), "reason")
}

func TestCalendarEventIsReadBack(t *testing.T) {
	r := up(t, "google-calendar-own-id")
	got := r.want(r.insert("team@example.com", event(`"id":"plan2026"`, `"location":"Room 4"`)), 200)
	if got.field("id") != "plan2026" || got.field("status") != "confirmed" || got.field("iCalUID") != "plan2026@google.com" || got.field("location") != "Room 4" {
		t.Errorf("answer %s", got.body)
	}
	all := r.effects()
	want := map[string]any{"calendar": "team@example.com", "event_id": "plan2026", "summary": "Planning", "location": "Room 4",
		"start": "2026-01-12T09:00:00Z", "end": "2026-01-12T09:30:00Z"}
	if len(all) != 1 || all[0].ID != "team@example.com/plan2026" || all[0].Class != "event" || fmt.Sprint(all[0].Attrs) != fmt.Sprint(want) {
		t.Errorf("effects %+v, want one event %v", all, want)
	}
	if read := r.want(r.send("GET", calendarBase+"team@example.com/events/plan2026", ""), 200); read.body != got.body {
		t.Errorf("read back as %s, made as %s", read.body, got.body)
	}
	r.want(r.send("GET", "/calendars/team%40example.com/events/plan2026", ""), 200) // a client whose base URL has no path
	r.want(r.send("GET", calendarBase+"primary/events/plan2026", ""), 404)
	if p := r.gate.points("r1"); p != "received before-commit committed" {
		t.Errorf("points %q", p)
	}
}

func TestCalendarPrimaryHasTwoNames(t *testing.T) {
	r := up(t, "google-calendar-own-id")
	r.want(r.insert("primary", event(`"id":"plan2026"`)), 200)
	r.want(r.insert("user@example.com", event(`"id":"plan2026"`)), 409)
	r.want(r.send("GET", calendarBase+"user@example.com/events/plan2026", ""), 200)
	if all := r.effects(); len(all) != 1 || all[0].Attrs["calendar"] != "primary" || all[0].ID != "user@example.com/plan2026" {
		t.Errorf("effects %+v", all)
	}
}

func TestCalendarOwnIDIsUniqueForEver(t *testing.T) {
	r := up(t, "google-calendar-own-id")
	r.want(r.insert("primary", event(`"id":"plan2026"`)), 200)
	again := r.want(r.insert("primary", event(`"id":"plan2026"`, `"location":"elsewhere"`)), 409)
	if again.reason() != "duplicate" || strings.Contains(again.body, "plan2026") {
		t.Errorf("a duplicate is told as %s; want the reason duplicate and no id", again.body)
	}
	r.wantDedup(bench.DedupRecord{By: "provider", Request: "r2", Record: "user@example.com/plan2026"})
	r.want(r.insert("other", event(`"id":"plan2026"`)), 200) // another calendar
	r.want(r.send("DELETE", calendarBase+"primary/events/plan2026", ""), 204)
	r.want(r.insert("primary", event(`"id":"plan2026"`)), 409)
	r.clock.pass(1000 * time.Hour)
	r.want(r.insert("primary", event(`"id":"plan2026"`)), 409)
	r.wantEffects(3)
}

func TestCalendarDuplicateSlipsThrough(t *testing.T) {
	r := up(t, "google-calendar-own-id-slips")
	first := r.want(r.insert("primary", event(`"id":"plan2026"`)), 200)
	r.clock.pass(3*time.Minute - time.Second)
	r.want(r.send("GET", calendarBase+"primary/events/plan2026", ""), 404)
	second := r.want(r.insert("primary", event(`"id":"plan2026"`)), 200)
	if first.field("id") != second.field("id") {
		t.Errorf("ids %v and %v, want the same", first.field("id"), second.field("id"))
	}
	r.clock.pass(time.Second)
	r.want(r.insert("primary", event(`"id":"plan2026"`)), 409)
	r.want(r.send("GET", calendarBase+"primary/events/plan2026", ""), 200)
	if all := r.effects(); len(all) != 2 || all[0].ID == all[1].ID {
		t.Errorf("effects %+v, want two", all)
	}
}

func TestCalendarWithoutIDEveryInsertIsAnEvent(t *testing.T) {
	r := up(t, "google-calendar")
	with := event(`"extendedProperties":{"private":{"reference":"r-1"}}`)
	a, b := r.want(r.insert("primary", with), 200), r.want(r.insert("primary", with), 200)
	if id, _ := a.field("id").(string); id == b.field("id") || len(id) != 26 || strings.Trim(id, "abcdefghijklmnopqrstuv0123456789") != "" {
		t.Errorf("ids %v and %v, want two of 26 letters of base32hex", a.field("id"), b.field("id"))
	}
	list := calendarBase + "primary/events?privateExtendedProperty=reference%3Dr-1"
	for _, c := range []struct {
		pass time.Duration
		n    int
	}{{0, 0}, {time.Minute - time.Second, 0}, {time.Second, 2}} {
		r.clock.pass(c.pass)
		if got := r.want(r.send("GET", list, ""), 200); strings.Count(got.body, `"calendar#event"`) != c.n {
			t.Errorf("%v later: %s; want %d events", c.pass, got.body, c.n)
		}
	}
}

func TestCalendarDelete(t *testing.T) {
	r := up(t, "google-calendar-own-id")
	r.want(r.insert("primary", event(`"id":"plan2026"`)), 200)
	if got := r.want(r.send("DELETE", calendarBase+"primary/events/plan2026", ""), 204); got.body != "" {
		t.Errorf("answer %q, want none", got.body)
	}
	if got := r.want(r.send("DELETE", calendarBase+"primary/events/plan2026", ""), 410); got.reason() != "deleted" {
		t.Errorf("again: %s", got.body)
	}
	if got := r.want(r.send("GET", calendarBase+"primary/events/plan2026", ""), 200); got.field("status") != "cancelled" {
		t.Errorf("read: %s", got.body)
	}
	for query, n := range map[string]int{"": 0, "?showDeleted=true": 1} {
		if got := r.want(r.send("GET", calendarBase+"primary/events"+query, ""), 200); strings.Count(got.body, `"calendar#event"`) != n {
			t.Errorf("list%s: %s; want %d", query, got.body, n)
		}
	}
	all := r.effects()
	if len(all) != 2 || all[1].Class != "cancellation" || all[1].Undoes != all[0].ID {
		t.Errorf("effects %+v", all)
	}
}

func TestCalendarImportByUID(t *testing.T) {
	r := up(t, "google-calendar")
	imp := func(more ...string) reply {
		return r.send("POST", calendarBase+"primary/events/import", event(more...))
	}
	first := r.want(imp(`"iCalUID":"a@example.com"`), 200)
	if again := r.want(imp(`"iCalUID":"a@example.com"`), 200); again.field("id") != first.field("id") {
		t.Errorf("again: %s", again.body)
	}
	if other := r.want(imp(`"iCalUID":"a@example.com"`, `"location":"x"`), 409); other.reason() != "duplicate" {
		t.Errorf("changed: %s", other.body)
	}
	if none := r.want(imp(), 400); none.reason() != "required" {
		t.Errorf("without iCalUID: %s", none.body)
	}
	r.wantEffects(1)
}

func TestCalendarListPages(t *testing.T) {
	r := up(t, "google-calendar-own-id")
	for i := range 5 {
		r.want(r.insert("primary", event(fmt.Sprintf(`"id":"plan%d"`, i), fmt.Sprintf(`"location":"Room %d"`, i))), 200)
	}
	token, pages := "", ""
	for range 3 {
		got := r.want(r.send("GET", calendarBase+"primary/events?maxResults=2&pageToken="+token, ""), 200)
		items, _ := got.field("items").([]any)
		token, _ = got.field("nextPageToken").(string)
		pages += fmt.Sprint(len(items), token != "", " ")
	}
	if pages != "2 true 2 true 1 false " {
		t.Errorf("pages %q", pages)
	}
	for query, n := range map[string]int{"q=room+3": 1, "q=ROOM": 5, "q=none": 0, "iCalUID=plan1%40google.com": 1, "timeMin=2026-01-12T09:30:00Z": 0,
		"timeMin=2026-01-12T09:29:00Z": 5, "timeMax=2026-01-12T09:00:00Z": 0, "timeMax=2026-01-12T09:01:00Z": 5} {
		if got := r.want(r.send("GET", calendarBase+"primary/events?"+query, ""), 200); strings.Count(got.body, `"calendar#event"`) != n {
			t.Errorf("%s: %s; want %d", query, got.body, n)
		}
	}
}

func TestCalendarRefusals(t *testing.T) {
	r := up(t, "google-calendar-own-id")
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		reason             string
	}{
		"no JSON":               {"POST", "primary/events", `{`, 400, "parseError"},
		"a list":                {"POST", "primary/events", `[]`, 400, "parseError"},
		"no start":              {"POST", "primary/events", `{"summary":"x"}`, 400, "required"},
		"start of a wrong type": {"POST", "primary/events", `{"start":7,"end":7}`, 400, "required"},
		"a time that is none":   {"POST", "primary/events", `{"start":{"date":"monday"},"end":{"date":"2026-01-01"}}`, 400, "invalid"},
		"no offset":             {"POST", "primary/events", `{"start":{"dateTime":"2026-01-12T09:00:00"},"end":{"dateTime":"2026-01-12T09:00:00"}}`, 400, "required"},
		"the end first":         {"POST", "primary/events", `{"start":{"date":"2026-01-02"},"end":{"date":"2026-01-01"}}`, 400, "timeRangeEmpty"},
		"an id in capitals":     {"POST", "primary/events", event(`"id":"PLAN2026"`), 400, "invalid"},
		"an id beyond v":        {"POST", "primary/events", event(`"id":"wxyzw"`), 400, "invalid"},
		"a short id":            {"POST", "primary/events", event(`"id":"abcd"`), 400, "invalid"},
		"a long id":             {"POST", "primary/events", event(`"id":"` + strings.Repeat("a", 1025) + `"`), 400, "invalid"},
		"an id of a wrong type": {"POST", "primary/events", event(`"id":7`), 400, "invalid"},
		"properties":            {"POST", "primary/events", event(`"extendedProperties":{"private":{"a":1}}`), 400, "invalid"},
		"nothing there":         {"GET", "primary/events/abcde", ``, 404, "notFound"},
		"nothing to delete":     {"DELETE", "primary/events/abcde", ``, 404, "notFound"},
		"no such path":          {"GET", "primary/acl", ``, 404, "notFound"},
		"no such method":        {"PUT", "primary/events/abcde", `{}`, 405, "httpMethodNotAllowed"},
		"a page of no size":     {"GET", "primary/events?maxResults=0", ``, 400, "invalid"},
		"a token that is none":  {"GET", "primary/events?pageToken=%25", ``, 400, "invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := r.send(c.method, calendarBase+c.path, c.body); got.status != c.status || got.reason() != c.reason {
				t.Errorf("status %d, reason %s; want %d %s", got.status, got.reason(), c.status, c.reason)
			}
		})
	}
	r.wantEffects(0)
	for _, ok := range []string{event(`"id":"abcde"`), event(`"id":"` + strings.Repeat("v", 1024) + `"`),
		`{"start":{"date":"2026-01-01"},"end":{"date":"2026-01-02"}}`,
		`{"start":{"dateTime":"2026-01-12T09:00:00","timeZone":"Europe/Zurich"},"end":{"dateTime":"2026-01-12T09:00:00","timeZone":"Europe/Zurich"}}`} {
		r.want(r.insert("primary", ok), 200)
	}
}

// TestCalendarFails orders the provider's own failures.
func TestCalendarFails(t *testing.T) {
	for status, reason := range map[int]string{500: "backendError", 503: "backendError", 429: "rateLimitExceeded", 401: "authError"} {
		r := up(t, "google-calendar-own-id")
		r.gate.order(bench.Committed, "r1", bench.Action{Act: bench.Fail, Status: status})
		if got := r.want(r.insert("primary", event(`"id":"plan2026"`)), status); got.reason() != reason {
			t.Errorf("%d: %s", status, got.body)
		}
		r.wantEffects(1)
	}
}

func TestCalendarWorldIsThere(t *testing.T) {
	c, _ := contracts.Find("google-calendar-own-id")
	r := upWith(t, c, []bench.WorldEffect{{Class: "event", Attrs: map[string]any{"calendar": "primary", "event_id": "retro2026",
		"summary": "Retro", "start": "2026-01-09T14:00:00Z", "end": "2026-01-09T15:00:00Z"}}})
	r.want(r.insert("primary", event(`"id":"retro2026"`)), 409)
	if got := r.want(r.send("GET", calendarBase+"primary/events/retro2026", ""), 200); got.field("summary") != "Retro" {
		t.Errorf("read: %s", got.body)
	}
}

func TestCalendarRubbish(t *testing.T) {
	bodies := []string{"", "null", "{}", event(), event(`"id":"abcde"`), event(`"iCalUID":"a"`), event(`"iCalUID":7`), `{"start":{"dateTime":[]},"end":{}}`,
		event(`"extendedProperties":[]`), event(`"organizer":7`, `"status":"cancelled"`), strings.Replace(event(), "Planning", "\x00\xff", 1)}
	rubbish(t, []string{"google-calendar-own-id", "google-calendar", "google-calendar-own-id-slips"},
		[]string{"calendar/v3/calendars/primary/events", "calendars/primary/events", "calendar", "v3", "calendars", "primary", "events", "events/import", "abcde", "", "%2F", "events?q=%00", "?maxResults=1", "?timeMin=x"}, bodies, nil)
}

// rubbish sends requests put together from fragments to providers under the named contracts: each is
// answered, none breaks the provider, and an effect has the class that the request was parsed to have.
func rubbish(t *testing.T, contracts, fragments, bodies []string, header []string) {
	rigs := map[string]*rig{}
	for _, n := range contracts {
		rigs[n] = up(t, n)
	}
	rapid.Check(t, func(rt *rapid.T) {
		r := rigs[rapid.SampledFrom(contracts).Draw(rt, "contract")]
		method := rapid.SampledFrom([]string{"GET", "POST", "PUT", "DELETE", "PATCH"}).Draw(rt, "method")
		path := "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 6).Draw(rt, "path"), "/")
		body := rapid.SampledFrom(bodies).Draw(rt, "body")
		before := len(r.effects())
		got := r.send(method, path, body, header...)
		if got.err != nil || got.status >= 500 {
			rt.Fatalf("%s %s: status %d %s (%v)", method, path, got.status, got.body, got.err)
		}
		if b := r.Busy(); strings.Contains(b, "broken") {
			rt.Fatal(b)
		}
		raw := bench.RawRequest{Method: method, Path: path, Header: map[string][]string{}, Body: []byte(body)}
		for i := 0; i < len(header); i += 2 {
			raw.Header.Set(header[i], header[i+1])
		}
		call := r.Parse(raw)
		for _, o := range r.effects()[before:] {
			if o.Class != call.Class || !call.Mutating || fmt.Sprint(o.Attrs) != fmt.Sprint(call.Attrs) {
				rt.Fatalf("effect %+v of a request parsed as %+v", o, call)
			}
		}
	})
}
