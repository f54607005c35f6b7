package fakeproviders

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// keyModel says what a provider must do with keys, in the words of bench.Terms alone. It shares nothing with
// keys.go: a map of records, and one function that tells what comes of a request.
type keyModel struct {
	terms   bench.Terms
	now     time.Time
	records map[string]*keyRecord
	made    []*modelObject
}

type modelObject struct {
	id, principal, path string
	at                  time.Time
	ended               time.Time // zero: it has not been cancelled
}

type keyRecord struct {
	state         string // "in flight", "done", "partly", "failed"
	print         string
	created, done time.Time
	status        int // of a failure
	objects       []*modelObject
}

// wish is a request that the test sends.
type wish struct {
	key, principal, path, region, note string
	number                             int
}

func (w wish) body() string {
	if w.path == "/payments" {
		return fmt.Sprintf(`{"order":"o","amount":%d,"region":%q,"note":%q}`, w.number, w.region, w.note)
	}
	return fmt.Sprintf(`{"customer":"c","item":"i","quantity":%d,"region":%q,"note":%q}`, w.number, w.region, w.note)
}

// fate is what happens to a request that is executed.
type fate struct {
	act    bench.Act   // Pass, Fail, Rollback, CrashAct or Reset
	at     bench.Point // Received, BeforeCommit or Committed
	status int         // of a failure
	works  time.Duration
}

// verdict is what the caller must see.
type verdict struct {
	how    string // "made", "replayed", "in use", "mismatch", "missing", "failed", "lost"
	status int    // 0: no answer
	object *modelObject
	stored bool // the object is shown as it was when it was made
}

func (m *keyModel) scope(w wish) string {
	switch m.terms.Key.Scope {
	case "everybody":
		return "|" + w.key
	case "account+region":
		return w.principal + "|" + w.region + "|" + w.key
	case "account+path":
		return w.principal + "|" + w.path + "|" + w.key
	}
	return w.principal + "|" + w.key
}

func (m *keyModel) print(w wish) string {
	if slices.Contains(m.terms.Key.Ignores, "note") {
		w.note = ""
	}
	switch m.terms.Key.Fingerprint {
	case "params":
		return w.body()
	case "params+path":
		return w.path + w.body()
	}
	return ""
}

// end is when an object is over, if it ever is.
func (m *keyModel) end(o *modelObject) (time.Time, bool) {
	closes := o.at.Add(m.terms.Closes)
	switch {
	case m.terms.Closes > 0 && (o.ended.IsZero() || closes.Before(o.ended)):
		return closes, true
	case !o.ended.IsZero():
		return o.ended, true
	}
	return time.Time{}, false
}

// known is the record that counts for a request now, nil if there is none.
func (m *keyModel) known(w wish) *keyRecord {
	r, t := m.records[m.scope(w)], m.terms.Key
	if r == nil {
		return nil
	}
	until := r.created.Add(t.Retention)
	switch {
	case r.state == "in flight" && t.ClaimFor > 0:
		until = r.created.Add(t.ClaimFor)
	case r.state == "in flight":
	case r.state == "failed" && t.FailedFor > 0:
		until = r.done.Add(t.FailedFor)
	case t.ClockStart == "completed":
		until = r.done.Add(t.Retention)
	case t.ClockStart == "resource-end" && len(r.objects) > 0:
		last, all := time.Time{}, true
		for _, o := range r.objects {
			end, ends := m.end(o)
			all = all && ends
			if end.After(last) {
				last = end
			}
		}
		if soon := last.Add(t.AfterEnd); all && soon.Before(until) {
			until = soon
		}
	}
	if m.now.After(until) {
		return nil
	}
	return r
}

// answered says what comes of a request without executing it; nil: it is executed.
func (m *keyModel) answered(w wish) *verdict {
	t := m.terms.Key
	if t.Location == "" || w.key == "" && !t.Required {
		return nil
	}
	if w.key == "" {
		return &verdict{how: "missing", status: 400}
	}
	r := m.known(w)
	switch {
	case r == nil:
		return nil
	case r.state == "in flight":
		return &verdict{how: "in use", status: 409}
	case r.print != m.print(w) && t.Mismatch != "silent":
		v := &verdict{how: "mismatch", status: map[string]int{"400": 400, "409": 409, "422": 422, "conflict": 409}[t.Mismatch]}
		if t.Mismatch == "conflict" && len(r.objects) > 0 {
			v.object = r.objects[0]
		}
		return v
	case t.Saves == "resumes" && r.state != "done":
		return nil
	case r.state == "failed":
		return &verdict{how: "replayed", status: r.status}
	}
	v := &verdict{how: "replayed", status: 201, object: r.objects[0], stored: t.Replay == "stored"}
	switch {
	case t.Replay == "conflict":
		v.status = 409
	case t.Marker == "status 200":
		v.status = 200
	}
	return v
}

// saves says whether a failure is kept as an answer: rate limits, conflicts and a caller who is not known
// come before the memory of keys.
func (m *keyModel) saves(status int) bool {
	switch {
	case status == 401 || status == 409 || status == 429:
		return false
	case m.terms.Key.Saves == "executed":
		return true
	}
	return m.terms.Key.Saves == "final" && status < 500
}

// send says what comes of a request, and remembers it. The request that is executed works for fate.works
// before it commits; meanwhile is told when it has come so far.
func (m *keyModel) send(w wish, f fate, meanwhile func()) verdict {
	t := m.terms.Key
	if f.act == bench.CrashAct && f.at == bench.Received {
		return verdict{how: "lost"}
	}
	early := m.answered(w)
	if f.act == bench.Fail && f.at == bench.Received && (early != nil || w.key == "" || t.Location == "") {
		return verdict{how: "failed", status: f.status}
	}
	if early != nil {
		return *early
	}
	keyed := t.Location != "" && w.key != ""
	scope, began, print := m.scope(w), m.now, m.print(w)
	var before *keyRecord
	if keyed {
		before = m.known(w) // only one that is resumed
		if before != nil {
			began = before.created
		}
		if t.LatestOnly {
			for other := range m.records {
				if other != scope && m.sameSpace(other, scope) {
					delete(m.records, other)
				}
			}
		}
	}
	keep := func(state string, status int, objects ...*modelObject) {
		if keyed {
			m.records[scope] = &keyRecord{state: state, print: print, created: began, done: m.now, status: status, objects: objects}
		}
	}
	var had []*modelObject
	if before != nil {
		had = before.objects
	}
	fails := func(made ...*modelObject) verdict {
		all := append(slices.Clone(had), made...)
		beforeKeys := f.status == 401 || f.status == 409 || f.status == 429
		switch {
		case !keyed || beforeKeys:
		case t.ForgetsOnError:
			delete(m.records, scope)
		case t.Saves == "resumes" && len(all) > 0:
			keep("partly", f.status, all...)
		case t.Saves == "resumes":
			keep("failed", f.status)
		case m.saves(f.status):
			keep("failed", f.status, all...)
		}
		return verdict{how: "failed", status: f.status}
	}
	if f.act == bench.Fail && f.at == bench.Received {
		return fails()
	}
	if len(had) > 0 { // all of it had been made
		keep("done", 201, had...)
		return verdict{how: "replayed", status: 201, object: had[0]}
	}
	if meanwhile != nil {
		meanwhile()
	}
	m.now = m.now.Add(f.works)
	if f.at == bench.BeforeCommit {
		switch f.act {
		case bench.Fail:
			return fails()
		case bench.Rollback:
			return verdict{how: "rolled back", status: 201}
		case bench.CrashAct:
			if keyed && t.InFlight == "durable" {
				m.records[scope] = &keyRecord{state: "in flight", print: print, created: began}
			}
			return verdict{how: "lost"}
		}
	}
	o := &modelObject{principal: w.principal, path: w.path, at: m.now}
	m.made = append(m.made, o)
	keep("done", 201, o)
	switch {
	case f.at == bench.Committed && f.act == bench.Fail:
		return fails(o)
	case f.at == bench.Committed && f.act != bench.Pass:
		return verdict{how: "lost", object: o}
	}
	return verdict{how: "made", status: 201, object: o}
}

// sameSpace says whether two keys are of one scope.
func (m *keyModel) sameSpace(a, b string) bool {
	return a[:strings.LastIndex(a, "|")] == b[:strings.LastIndex(b, "|")]
}
