package fakeproviders

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// answer is a rendered response.
type answer struct {
	status   int
	header   http.Header // beside Content-Type, Date and what the key adds
	kind     string      // Content-Type
	body     []byte
	existing string // object that stood in for a new one (refused by it, or already so); a dedup record
	dedup    bool   // existing counts, even if it is ""
	executed bool   // a refusal that the execution came to, not one of its parameters: it may be kept under the key
	partly   bool   // some of what was asked for was made, and the answer says what was not
}

// refusal is an error in the provider's terms; each kind renders it in its own shape.
type refusal struct {
	status   int
	code     string // as in docs/providers.md
	message  string
	param    string
	decline  string   // why a bank declined, in payments
	existing []string // objects that are in the way
}

func invalid(param, format string, args ...any) refusal {
	return refusal{status: http.StatusBadRequest, code: "invalid_request", param: param, message: fmt.Sprintf(format, args...)}
}

var notFound = refusal{status: http.StatusNotFound, code: "not_found", message: "There is no such object."}

// jsonAnswer renders v; all values come from this package and can be encoded.
func jsonAnswer(status int, v any) answer {
	body, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("answer of type %T: %v", v, err)) // a programming error, never input
	}
	return answer{status: status, kind: "application/json", body: body}
}

// plainJSON is what the providers with a plain JSON wire share.
type plainJSON struct{}

func (plainJSON) refuse(r refusal) answer {
	body := map[string]any{"error": map[string]any{"code": r.code, "message": r.message}}
	a := answer{}
	if len(r.existing) > 0 {
		body["existing"] = r.existing[0]
		a.existing, a.dedup = r.existing[0], true
	}
	j := jsonAnswer(r.status, body)
	j.existing, j.dedup = a.existing, a.dedup
	return j
}

// fields reads a JSON object; nil if it is none.
func fields(body []byte) map[string]any {
	m, err := store.Values(body)
	if err != nil {
		return nil
	}
	return m
}

// pick takes the named fields that are there and not empty.
func pick(m map[string]any, names ...string) map[string]any {
	attrs := map[string]any{}
	for _, n := range names {
		if v, ok := m[n]; ok && v != nil && v != "" {
			attrs[n] = v
		}
	}
	return attrs
}

// text is the string in m under name, "" if there is none.
func text(m map[string]any, name string) string {
	s, _ := m[name].(string)
	return s
}

// texts checks that the named fields are texts where they are there, and that the required ones are there.
func texts(m map[string]any, required []string, optional ...string) *refusal {
	if m == nil {
		r := invalid("", "The body is not a JSON object.")
		return &r
	}
	for _, n := range required {
		if text(m, n) == "" {
			r := invalid(n, "Field %s is missing or is not a text.", n)
			return &r
		}
	}
	for _, n := range optional {
		if v, ok := m[n]; ok && v != nil {
			if _, ok := v.(string); !ok {
				r := invalid(n, "Field %s is not a text.", n)
				return &r
			}
		}
	}
	return nil
}

// target splits a request's path into unescaped segments and its query.
func target(r bench.RawRequest) (segments []string, query url.Values) {
	path, rawQuery, _ := strings.Cut(r.Path, "?")
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		query = url.Values{}
	}
	for s := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if u, err := url.PathUnescape(s); err == nil {
			s = u
		}
		segments = append(segments, s)
	}
	return segments, query
}

// principalOf names on whose behalf a request comes.
func principalOf(r bench.RawRequest) string {
	if p := r.Header.Get("X-On-Behalf-Of"); p != "" {
		return p
	}
	return r.Header.Get("Stripe-Account")
}

// objectID mints the id of the n-th object of a request: the same request in the same trial makes the same id.
func objectID(prefix, request string, n int) string {
	return prefix + digest(fmt.Sprintf("%s/%s/%d", prefix, request, n))[:24]
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// shown merges an object's id, attributes, detail and time of making for a JSON answer.
func shown(o store.Object, extra ...string) map[string]any {
	m := map[string]any{"id": o.ID, "created": o.At.Unix()}
	for _, n := range extra {
		m[n] = nil
	}
	for k, v := range o.Detail {
		m[k] = v
	}
	for k, v := range o.Attrs {
		m[k] = v
	}
	return m
}

// worldObject is the common part of an object that was there before the trial.
func worldObject(prefix string, w bench.WorldEffect, n int) store.Object {
	return store.Object{ID: objectID(prefix, "world", n), Class: w.Class, Attrs: w.Attrs, Principal: w.Principal}
}

var wrongMethod = refusal{status: http.StatusMethodNotAllowed, code: "method_not_allowed", message: "This path does not take that method."}

// list answers a read with all visible objects whose attributes agree with the call's; absent fields show as null.
func list(x *exchange, name string, show ...string) (answer, error) {
	found, err := x.look(func(o store.Object) bool {
		for k, v := range x.call.Attrs {
			if o.Attrs[k] != v {
				return false
			}
		}
		return true
	})
	if err != nil {
		return answer{}, err
	}
	all := []any{}
	for _, o := range found {
		all = append(all, shown(o, show...))
	}
	return jsonAnswer(http.StatusOK, map[string]any{name: all}), nil
}
