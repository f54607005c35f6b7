package provide

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// maxOrder bounds the body of a request to the control address in bytes.
const maxOrder = 1 << 20

// longest bounds how long GET /gate/ID waits.
const longest = 10 * time.Minute

// mistake is an error of who asks.
type mistake struct{ error }

var errNoOrder = errors.New("there is no such order; GET /gate lists them")

// about is what GET / answers.
type about struct {
	Name       string      `json:"name"`
	Provider   string      `json:"provider"`
	Summary    string      `json:"summary"`
	Advertised bench.Terms `json:"advertised"`
	Actual     bench.Terms `json:"actual"`
	Clock      Reading     `json:"clock"`
	Busy       string      `json:"busy"` // what is in hand; "": nothing
}

// request is what GET /requests answers of each.
type request struct {
	Request   string          `json:"request"` // r1, r2, ... by arrival
	Op        string          `json:"op"`
	Class     string          `json:"class,omitempty"`
	Attrs     json.RawMessage `json:"attributes"`
	Key       string          `json:"key,omitempty"`
	Principal string          `json:"principal,omitempty"`
	At        time.Time       `json:"at"`
	Points    []Passage       `json:"points"` // of the last 10 000 requests of this process
}

// key is what GET /keys answers of each dedup record.
type key struct {
	Scope   string          `json:"scope"`
	Key     string          `json:"key"`
	State   string          `json:"state"`
	Request string          `json:"request"`
	Status  int             `json:"status"`
	Objects json.RawMessage `json:"objects"`
	Created time.Time       `json:"created"`
	Done    *time.Time      `json:"done,omitempty"`
}

// Handler serves the control address to those who have the token, which must not be empty.
func (f *Fake) Handler(token string) (http.Handler, error) {
	if token == "" {
		return nil, errors.New("control address: the token is empty")
	}
	mux := http.NewServeMux()
	var known []string
	on := func(pattern string, answer func(r *http.Request) (any, error)) {
		known = append(known, pattern)
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			v, err := answer(r)
			reply(w, v, err)
		})
	}
	on("GET /{$}", func(*http.Request) (any, error) {
		l := f.now()
		return about{f.contract.Name, f.contract.Provider, f.contract.Summary, f.contract.Advertised, f.contract.Actual, l.clock.Read(), l.provider.Busy()}, nil
	})
	on("GET /clock", func(*http.Request) (any, error) { return f.now().clock.Read(), nil })
	on("POST /clock", func(r *http.Request) (any, error) {
		var m Motion
		if err := decode(r, &m, `{"pass":"25h"}, {"set":"2027-01-01T00:00:00Z"} or {"runs":false}`); err != nil {
			return nil, err
		}
		return f.move(r.Context(), m)
	})
	on("GET /gate", func(*http.Request) (any, error) { return f.now().gate.standings(), nil })
	on("POST /gate", func(r *http.Request) (any, error) {
		var o Order
		if err := decode(r, &o, `an order like {"at":"committed","act":"reset"}`); err != nil {
			return nil, err
		}
		s, err := f.now().gate.arm(o)
		if err != nil {
			return asked(nil, err)
		}
		return f.told(r.Context(), s)
	})
	on("GET /gate/{id}", func(r *http.Request) (any, error) {
		wait := time.Duration(0)
		if text := r.URL.Query().Get("wait"); text != "" {
			d, err := time.ParseDuration(text)
			if err != nil || d < 0 || d > longest {
				return nil, &mistake{fmt.Errorf("wait is %q, expected a duration from 0 to %s like \"10s\"", text, longest)}
			}
			wait = d
		}
		ctx, cancel := context.WithTimeout(r.Context(), wait)
		defer cancel()
		if s, ok := f.now().gate.await(ctx, r.PathValue("id")); ok {
			return f.told(r.Context(), s)
		}
		return nil, errNoOrder
	})
	on("DELETE /gate/{id}", func(r *http.Request) (any, error) {
		if s, ok := f.now().gate.disarm(r.PathValue("id")); ok {
			return s, nil
		}
		return nil, errNoOrder
	})
	on("POST /gate/{id}/release", func(r *http.Request) (any, error) {
		into := bench.Action{Act: bench.Pass}
		if err := decode(r, &into, `what the call meets when it goes on, like {"act":"reset"}; {} lets it pass`); err != nil {
			return nil, err
		}
		return asked(f.now().gate.let(r.PathValue("id"), into))
	})
	on("GET /requests", func(r *http.Request) (any, error) { return f.requests(r) })
	on("GET /effects", func(r *http.Request) (any, error) {
		all, err := f.Effects(r.Context())
		return append([]bench.Effect{}, all...), err
	})
	on("GET /keys", func(r *http.Request) (any, error) { return f.keys(r.Context()) })
	on("GET /dedup", func(*http.Request) (any, error) {
		return append([]bench.DedupRecord{}, f.now().provider.Dedup()...), nil
	})
	on("POST /reset", func(r *http.Request) (any, error) {
		if err := f.reset(context.WithoutCancel(r.Context())); err != nil {
			return nil, err
		}
		return f.now().clock.Read(), nil
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		problem(w, http.StatusNotFound, fmt.Sprintf("%s %s is not known; known: %s", r.Method, r.URL.Path, strings.ReplaceAll(strings.Join(known, ", "), "{$}", "")))
	})
	want := []byte("Bearer " + token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			problem(w, http.StatusUnauthorized, `the token is missing or wrong: send "Authorization: Bearer TOKEN" with what is in the token file`)
			return
		}
		mux.ServeHTTP(w, r)
	}), nil
}

// told is an order with a warning where it has met nothing and calls have come, none of them with its op or class.
func (f *Fake) told(ctx context.Context, s Standing) (any, error) {
	told := struct {
		Standing
		Warning string `json:"warning,omitempty"`
	}{Standing: s}
	if s.Fitted > 0 || s.Op == "" && s.Class == "" {
		return told, nil
	}
	var ops, classes []string
	err := f.rows(ctx, `SELECT DISTINCT op, class FROM requests ORDER BY op, class`, func(rows *sql.Rows) error {
		var op, class string
		if err := rows.Scan(&op, &class); err != nil {
			return err
		}
		ops, classes = append(ops, op), append(classes, class)
		return nil
	})
	seen := func(all []string) string {
		all = slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == "" })
		slices.Sort(all)
		return strings.Join(slices.Compact(all), ", ")
	}
	switch {
	case len(ops) == 0: // nothing to tell by
	case s.Op != "" && !slices.Contains(ops, s.Op):
		told.Warning = fmt.Sprintf("no request so far has had op %q; there were: %s", s.Op, seen(ops))
	case s.Class != "" && !slices.Contains(classes, s.Class):
		told.Warning = fmt.Sprintf("no request so far has had class %q; there were classes: %s; ops: %s", s.Class, seen(classes), seen(ops))
	}
	return told, err
}

// asked says that an error is that of who asks.
func asked(v any, err error) (any, error) {
	if err != nil && err != errNoOrder {
		err = &mistake{err}
	}
	return v, err
}

func reply(w http.ResponseWriter, v any, err error) {
	var wrong *mistake
	switch {
	case errors.Is(err, errNoOrder):
		problem(w, http.StatusNotFound, err.Error())
	case errors.As(err, &wrong):
		problem(w, http.StatusBadRequest, err.Error())
	case err != nil:
		problem(w, http.StatusInternalServerError, err.Error())
	default:
		write(w, http.StatusOK, v)
	}
}

func problem(w http.ResponseWriter, status int, text string) {
	write(w, status, map[string]string{"error": text})
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.Encode(v) // an error means that the caller has gone
}

// decode reads one JSON object, strictly.
func decode(r *http.Request, into any, expected string) error {
	text, err := io.ReadAll(io.LimitReader(r.Body, maxOrder+1))
	if err != nil {
		return &mistake{fmt.Errorf("body: %w", err)}
	}
	if len(text) > maxOrder {
		return &mistake{fmt.Errorf("the body is longer than %d bytes; expected %s", maxOrder, expected)}
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	err = d.Decode(into)
	if err == nil && d.More() {
		err = errors.New("more than one value")
	}
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF):
		err = errors.New("the body is empty")
	case errors.As(err, &wrong) && wrong.Field != "":
		err = fmt.Errorf("%q is a %s, not a %s", wrong.Field, wrong.Value, wrong.Type)
	case errors.As(err, &wrong):
		err = fmt.Errorf("the body is a JSON %s", wrong.Value)
	default:
		err = errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return &mistake{fmt.Errorf("%w; expected %s", err, expected)}
}

// requests answers the last requests, oldest first: 1000, or as many as the query's last says.
func (f *Fake) requests(r *http.Request) (any, error) {
	last := 1000
	if text := r.URL.Query().Get("last"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, &mistake{fmt.Errorf("last is %q, expected a whole number from 1", text)}
		}
		last = n
	}
	gate := f.now().gate
	all := []request{}
	err := f.rows(r.Context(), `SELECT * FROM (SELECT ord, op, class, attrs, key, principal, arrived_at FROM requests ORDER BY ord DESC LIMIT ?) ORDER BY ord`,
		func(rows *sql.Rows) error {
			var one request
			var ord, at int64
			var attrs string
			if err := rows.Scan(&ord, &one.Op, &one.Class, &attrs, &one.Key, &one.Principal, &at); err != nil {
				return err
			}
			one.Request, one.Attrs, one.At = fmt.Sprintf("r%d", ord), json.RawMessage(attrs), time.Unix(0, at).UTC()
			one.Points = append([]Passage{}, gate.passages(one.Request)...)
			all = append(all, one)
			return nil
		}, last)
	return all, err
}

// keys answers the dedup records, oldest first, also those past their retention that nobody has used since.
func (f *Fake) keys(ctx context.Context) (any, error) {
	all := []key{}
	err := f.rows(ctx, `SELECT scope, key, state, request, status, objects, created_at, done_at FROM keys ORDER BY created_at, scope, key`,
		func(rows *sql.Rows) error {
			var one key
			var created, done int64
			var objects string
			if err := rows.Scan(&one.Scope, &one.Key, &one.State, &one.Request, &one.Status, &objects, &created, &done); err != nil {
				return err
			}
			one.Objects, one.Created = json.RawMessage(objects), time.Unix(0, created).UTC()
			if at := time.Unix(0, done).UTC(); at.Year() >= 1970 {
				one.Done = &at
			}
			all = append(all, one)
			return nil
		})
	return all, err
}
