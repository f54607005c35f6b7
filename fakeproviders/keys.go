package fakeproviders

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// claimID names a key in its scope.
type claimID struct{ scope, key string }

// claim is a key in work.
type claim struct {
	done chan struct{} // closed when the work is over, however it ended
}

// keyOf reads the idempotency key at a location like "header:Idempotency-Key" or "body:clientToken".
func keyOf(location string, r bench.RawRequest) string {
	place, name, _ := strings.Cut(location, ":")
	switch place {
	case "header":
		return strings.TrimSpace(r.Header.Get(name))
	case "body":
		return text(fields(r.Body), name)
	}
	return ""
}

// fingerprint binds a key to a request, by the contract's rule. Parameters are compared as values:
// their order and spelling in the body do not matter.
func fingerprint(t bench.KeyTerms, r bench.RawRequest) string {
	if t.Fingerprint == "none" || t.Fingerprint == "" {
		return ""
	}
	params := string(r.Body)
	if m := fields(r.Body); m != nil {
		if place, name, _ := strings.Cut(t.Location, ":"); place == "body" {
			delete(m, name)
		}
		if b, err := json.Marshal(m); err == nil {
			params = string(b)
		}
	} else if form, err := url.ParseQuery(params); err == nil {
		params = form.Encode()
	}
	if t.Fingerprint == "params+path" {
		path, _, _ := strings.Cut(r.Path, "?")
		params = r.Method + " " + path + "\n" + params
	}
	return digest(params)
}

// scopeOf is the space in which the request's key is unique.
func scopeOf(t bench.KeyTerms, c bench.Call) string {
	if t.Scope != "cluster" {
		return c.Principal
	}
	cluster, _ := c.Attrs["cluster"].(string)
	if cluster == "" {
		cluster = "default"
	}
	return c.Principal + "/" + cluster
}

// take looks the request's key up and claims it. It returns an answer if the key has one already.
func (x *exchange) take() (*answer, error) {
	t := x.p.terms.Key
	if t.Location == "" || x.call.Key == "" {
		return nil, nil
	}
	if t.MaxLength > 0 && len(x.call.Key) > t.MaxLength {
		a := x.p.kind.refuse(invalid("idempotency key", "The idempotency key has %d characters; the limit is %d.", len(x.call.Key), t.MaxLength))
		return &a, nil
	}
	id := claimID{scopeOf(t, x.call), x.call.Key}
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

// claimOrAnswer needs the provider's lock, and no claim on id.
func (x *exchange) claimOrAnswer(id claimID, print string) (*answer, error) {
	t := x.p.terms.Key
	k, err := x.p.store.Key(id.scope, id.key)
	if err != nil {
		return nil, err
	}
	if k != nil {
		start := k.Created
		if t.ClockStart == "completed" && k.State != store.InFlight {
			start = k.Done
		}
		if x.p.clock.Now().Sub(start) > t.Retention {
			k = nil // past its retention: the key is new again
		}
	}
	switch {
	case k == nil:
	case k.State == store.InFlight: // noted by an earlier life
		a := x.inUse()
		return &a, nil
	case k.Fingerprint != print && t.Mismatch != "silent":
		a := x.mismatch(k)
		return &a, nil
	default:
		a, err := x.replay(k)
		return &a, err
	}
	x.key = &store.Key{Scope: id.scope, Name: id.key, State: store.InFlight, Fingerprint: print, Request: x.name, Created: x.p.clock.Now()}
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

// inUse answers a key whose first request is in work. There is no record yet that this could be bound to.
func (x *exchange) inUse() answer {
	return x.p.kind.refuse(refusal{status: http.StatusConflict, code: "idempotency_key_in_use",
		message: "There is currently another in-progress request using this idempotency key: " + x.call.Key})
}

// mismatch answers a key that comes with another request.
func (x *exchange) mismatch(k *store.Key) answer {
	r := refusal{status: http.StatusBadRequest, code: "idempotency_key_reused",
		message: "Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '" +
			k.Name + "' if you meant to execute a different request."}
	if x.p.terms.Key.Mismatch == "conflict" {
		r.status, r.code, r.existing = http.StatusConflict, "idempotency_conflict", k.Objects
	}
	a := x.p.kind.refuse(r)
	a.existing, a.dedup = first(k.Objects), true
	return a
}

// replay answers from a key's record.
func (x *exchange) replay(k *store.Key) (answer, error) {
	t := x.p.terms.Key
	a := answer{status: k.Status, kind: first(k.Header["Content-Type"]), body: k.Body}
	if t.Replay == "current" && k.State == store.Done {
		all, err := x.p.store.Objects()
		if err != nil {
			return a, err
		}
		var made []store.Object
		for _, o := range all {
			for _, id := range k.Objects {
				if o.ID == id {
					made = append(made, o)
				}
			}
		}
		a = x.p.kind.current(made)
	}
	if a.header == nil {
		a.header = http.Header{}
	}
	if t.Marker != "" {
		a.header.Set(t.Marker, "true")
	}
	x.original = k.Request
	a.dedup = true
	if k.State == store.Done { // a failure has nothing behind it that it could name
		a.existing = first(k.Objects)
	}
	return a, nil
}

// release gives the claim up and lets those go on who wait for it. Without a record under the key a durable
// note of it is dropped too. It needs the provider's lock.
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
	if x.p.terms.Key.InFlight == "durable" && !recorded {
		return x.p.store.DropKey(x.claimed.scope, x.claimed.key)
	}
	return nil
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}
