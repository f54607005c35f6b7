package fakeproviders

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// claimID names a key in its scope.
type claimID struct{ scope, key string }

// claim is a key in work.
type claim struct {
	done chan struct{} // closed when the work is over, however it ended
}

// keyOf reads the idempotency key at a location like "header:Idempotency-Key", "body:clientToken" (JSON, or a
// form), "form:ClientToken" or "query:requestId", as it was sent.
func keyOf(location string, r bench.RawRequest) string {
	place, name, _ := strings.Cut(location, ":")
	switch place {
	case "header":
		return strings.TrimSpace(r.Header.Get(name))
	case "body", "entry":
		if m := fields(r.Body); m != nil {
			return text(m, name)
		}
		return formField(r.Body, name)
	case "form":
		return formField(r.Body, name)
	case "query":
		_, query := target(r)
		return query.Get(name)
	}
	return ""
}

func formField(body []byte, name string) string {
	f, err := url.ParseQuery(string(body))
	if err != nil {
		return ""
	}
	return f.Get(name)
}

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)

// sfString is a quoted string of printable ASCII (RFC 9651, section 3.3.3).
var sfString = regexp.MustCompile(`^"([\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"$`)

// keyProblem says what is wrong with a key as it was sent, "" if nothing is.
func keyProblem(t bench.KeyTerms, key string) string {
	switch n := utf8.RuneCountInString(key); {
	case t.MaxLength > 0 && n > t.MaxLength:
		return fmt.Sprintf("The idempotency key has %d characters; the limit is %d.", n, t.MaxLength)
	case t.Syntax == "uuid" && !uuid.MatchString(key):
		return fmt.Sprintf("The idempotency key must be a UUID, not %.60q.", key)
	case t.Syntax == "sf-string" && !sfString.MatchString(key):
		return fmt.Sprintf("The idempotency key must be a quoted string, not %.60q.", key)
	}
	return ""
}

// fingerprint binds a key to a request, by the contract's rule. Parameters are compared as values:
// their order and spelling in the body do not matter.
func fingerprint(t bench.KeyTerms, r bench.RawRequest) string {
	if t.Fingerprint == "none" || t.Fingerprint == "" {
		return ""
	}
	place, name, _ := strings.Cut(t.Location, ":")
	params := string(r.Body)
	if m := fields(r.Body); m != nil {
		for _, left := range t.Ignores {
			delete(m, left)
		}
		if place == "body" {
			delete(m, name)
		}
		if b, err := json.Marshal(m); err == nil {
			params = string(b)
		}
	} else if form, err := url.ParseQuery(params); err == nil {
		for _, left := range t.Ignores {
			form.Del(left)
		}
		if place == "form" || place == "body" {
			form.Del(name)
		}
		params = form.Encode()
	}
	if t.Fingerprint == "params+path" {
		path, _, _ := strings.Cut(r.Path, "?")
		return r.Method + " " + path + "\n" + digest(params) // the path is there to be read: see mismatch
	}
	return digest(params)
}

// scopeOf is the space in which the request's key is unique. A kind with parts of its own names them by
// scoped; other parts are attributes of the call.
func (x *exchange) scopeOf(t bench.KeyTerms) string {
	if t.Scope == "everybody" {
		return ""
	}
	scope := x.call.Principal
	_, parts, _ := strings.Cut(t.Scope, "+")
	for part := range strings.SplitSeq(parts, "+") {
		if part == "" {
			continue
		}
		value := ""
		if k, ok := x.p.kind.(interface {
			scoped(part string, r bench.RawRequest, c bench.Call) string
		}); ok {
			value = k.scoped(part, x.raw, x.call)
		} else if part == "path" {
			value, _, _ = strings.Cut(x.raw.Path, "?")
		} else if v, ok := x.call.Attrs[part]; ok {
			value = fmt.Sprint(v)
		}
		scope += "/" + value
	}
	return scope
}

// take looks the request's key up and claims it. It returns an answer if the key has one already.
func (x *exchange) take() (*answer, error) {
	t := x.p.terms.Key
	if t.Location == "" || strings.HasPrefix(t.Location, "entry:") || !x.call.Mutating {
		return nil, nil // with "entry" each entry of a request has a key, and the kind keeps them
	}
	if k, ok := x.p.kind.(interface{ keyless(c bench.Call) bool }); ok && k.keyless(x.call) {
		return nil, nil
	}
	if x.call.Key == "" {
		if !t.Required {
			return nil, nil
		}
		a := x.refuse(refusal{status: http.StatusBadRequest, code: "idempotency_key_missing", param: t.Location,
			message: "This operation needs an idempotency key: " + t.Location + "."})
		return &a, nil
	}
	if problem := keyProblem(t, keyOf(t.Location, x.raw)); problem != "" {
		a := x.refuse(refusal{status: http.StatusBadRequest, code: "idempotency_key_invalid", param: "idempotency key", message: problem})
		return &a, nil
	}
	id := claimID{x.scopeOf(t), x.call.Key}
	print := fingerprint(t, x.raw)
	for {
		x.p.mu.Lock()
		if x.life != x.p.life {
			x.p.mu.Unlock()
			return nil, errDead
		}
		other := x.p.claims[id]
		if other == nil {
			a, err := x.claimOrAnswer(id, print)
			x.p.mu.Unlock()
			return a, err
		}
		x.p.mu.Unlock()
		switch t.Concurrent {
		case "execute":
			x.key = &store.Key{Scope: id.scope, Name: id.key, Fingerprint: print, Request: x.name, Created: x.p.clock.Now()}
			return nil, nil
		case "wait":
			if _, err := x.point(bench.WaitsForKey, 0); err != nil {
				return nil, err
			}
			select {
			case <-other.done:
			case <-x.dead:
			}
		default:
			a := x.inUse()
			return &a, nil
		}
	}
}

// claimOrAnswer needs the provider's lock, and no claim on id. The states of a key are absent (no record, or
// one past its time), in flight, done, partly done and failed; what comes of each:
//
//	absent       claimed, executed
//	in flight    in use: only a note of an earlier life can be met here
//	done         answered from the record
//	partly done  answered from the record; under "resumes" the rest is executed
//	failed       answered from the record; under "resumes" executed again
func (x *exchange) claimOrAnswer(id claimID, print string) (*answer, error) {
	t := x.p.terms.Key
	k, err := x.p.store.Key(id.scope, id.key)
	if err != nil {
		return nil, err
	}
	if k != nil {
		until, err := x.p.keptUntil(k)
		if err != nil {
			return nil, err
		}
		if x.p.clock.Now().After(until) {
			k = nil
		}
	}
	created := x.p.clock.Now()
	switch {
	case k == nil:
	case k.State == store.InFlight:
		a := x.inUse()
		return &a, nil
	case k.Fingerprint != print && t.Mismatch != "silent":
		a := x.mismatch(k)
		return &a, nil
	case t.Saves == "resumes" && k.State != store.Done:
		created = k.Created
		if x.prior, err = x.p.made(k); err != nil {
			return nil, err
		}
		x.original, x.resumed = k.Request, k
	default:
		a, err := x.replay(k)
		return &a, err
	}
	if t.LatestOnly {
		if err := x.p.store.DropOtherKeys(id.scope, id.key); err != nil {
			return nil, err
		}
	}
	x.key = &store.Key{Scope: id.scope, Name: id.key, State: store.InFlight, Fingerprint: print, Request: x.name, Created: created}
	if t.InFlight == "durable" {
		if err := x.p.store.SaveKey(*x.key); err != nil {
			return nil, err
		}
	}
	x.claim = &claim{done: make(chan struct{})}
	x.claimed = id
	x.p.claims[id] = x.claim
	return nil, nil
}

// keptUntil is the last moment at which a key's record counts. It needs the provider's lock.
func (p *provider) keptUntil(k *store.Key) (time.Time, error) {
	t := p.terms.Key
	switch {
	case k.State == store.InFlight && t.ClaimFor > 0:
		return k.Created.Add(t.ClaimFor), nil
	case k.State == store.Failed && t.FailedFor > 0:
		return k.Done.Add(t.FailedFor), nil
	case t.ClockStart == "completed" && k.State != store.InFlight:
		return k.Done.Add(t.Retention), nil
	}
	until := k.Created.Add(t.Retention)
	if t.ClockStart != "resource-end" || k.State == store.InFlight || len(k.Objects) == 0 {
		return until, nil
	}
	all, err := p.store.Objects()
	if err != nil {
		return until, err
	}
	var last time.Time
	for _, o := range all {
		if !slices.Contains(k.Objects, o.ID) {
			continue
		}
		end, ended := p.endOf(o, all)
		if !ended {
			return until, nil
		}
		if end.After(last) {
			last = end
		}
	}
	if end := last.Add(t.AfterEnd); end.Before(until) {
		until = end
	}
	return until, nil
}

// endOf is when an object ended, or will by itself: when an effect of all undid it, or when its time was up.
// The second result is false for one that does not end.
func (p *provider) endOf(o store.Object, all []store.Object) (time.Time, bool) {
	var end time.Time
	if p.terms.Closes > 0 {
		end = o.At.Add(p.terms.Closes)
	}
	for _, other := range all {
		if other.Undoes == o.ID && (end.IsZero() || other.At.Before(end)) {
			end = other.At
		}
	}
	return end, !end.IsZero()
}

// made lists what was made under a key. It needs the provider's lock.
func (p *provider) made(k *store.Key) ([]store.Object, error) {
	all, err := p.store.Objects()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(o store.Object) bool { return !slices.Contains(k.Objects, o.ID) }), nil
}

// inUse answers a key whose first request is in work. There is no record yet that this could be bound to.
func (x *exchange) inUse() answer {
	return x.refuse(refusal{status: http.StatusConflict, code: "idempotency_key_in_use",
		message: "There is currently another in-progress request using this idempotency key: " + x.call.Key})
}

// mismatch answers a key that comes with another request.
func (x *exchange) mismatch(k *store.Key) answer {
	r := refusal{status: http.StatusBadRequest, code: "idempotency_key_reused",
		message: "Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '" +
			k.Name + "' if you meant to execute a different request."}
	was, _, hasPath := strings.Cut(k.Fingerprint, "\n")
	if now, _, _ := strings.Cut(fingerprint(x.p.terms.Key, x.raw), "\n"); hasPath && was != now {
		_, path, _ := strings.Cut(was, " ")
		_, here, _ := strings.Cut(now, " ")
		r.code = "idempotency_key_other_endpoint"
		r.message = "Keys for idempotent requests can only be used for the same endpoint they were first used for ('" +
			here + "' vs '" + path + "'). Try using a key other than '" + k.Name + "' if you meant to execute a different request."
	}
	if x.p.terms.Key.Mismatch == "conflict" {
		r.status, r.code, r.existing = http.StatusConflict, "idempotency_conflict", k.Objects
	} else if status, err := strconv.Atoi(x.p.terms.Key.Mismatch); err == nil {
		r.status = status
	}
	a := x.refuse(r)
	a.existing, a.dedup = first(k.Objects), true
	return a
}

// replay answers from a key's record.
func (x *exchange) replay(k *store.Key) (answer, error) {
	t := x.p.terms.Key
	a := answer{status: k.Status, kind: first(k.Header["Content-Type"]), body: k.Body}
	if k.State != store.Failed && t.Replay != "stored" {
		made, err := x.p.made(k)
		if err != nil {
			return a, err
		}
		kind, mixes := x.p.kind.(interface {
			again(x *exchange, stored answer, made []store.Object) answer // with the provider's lock held
		})
		switch {
		case t.Replay == "conflict":
			a = x.refuse(refusal{status: http.StatusConflict, code: "idempotent_creation_conflict",
				message: "A resource has already been created with this idempotency key.", existing: k.Objects})
		case mixes: // a kind whose answer shows more than the objects
			a = kind.again(x, a, made)
		default:
			a = x.p.kind.current(made)
		}
	}
	if a.header == nil {
		a.header = http.Header{}
	}
	if status, ok := strings.CutPrefix(t.Marker, "status "); ok && k.State != store.Failed && t.Replay != "conflict" {
		a.status, _ = strconv.Atoi(status) // contracts are data of this project: a test reads them all
	} else if !ok && t.Marker != "" {
		a.header.Set(t.Marker, "true")
	}
	x.original, x.replayed = k.Request, true
	a.dedup, a.existing = true, ""
	if k.State != store.Failed { // a failure has nothing behind it that it could name
		a.existing = first(k.Objects)
	}
	return a, nil
}

// release gives the claim up and lets those go on who wait for it. Without a record under the key a durable
// note of it is dropped too, and the record that was to be resumed stands again. It needs the provider's lock.
func (x *exchange) release(recorded bool) error {
	if x.claim == nil {
		return nil
	}
	close(x.claim.done)
	x.claim = nil
	if x.life != x.p.life {
		return nil // the claim went with its life; a durable note stays
	}
	delete(x.p.claims, x.claimed)
	if x.p.terms.Key.InFlight != "durable" || recorded {
		return nil
	}
	note, err := x.p.store.Key(x.claimed.scope, x.claimed.key)
	switch {
	case err != nil || note == nil || note.State != store.InFlight || note.Request != x.name:
		return err // another request has left its record meanwhile
	case x.resumed != nil:
		return x.p.store.SaveKey(*x.resumed)
	}
	return x.p.store.DropKey(x.claimed.scope, x.claimed.key)
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}
