// Package remotegate carries a gate over HTTP, so that a provider in another process or container is held
// by the trial's one gate. Handler stands in the harness, Dial in the other process.
//
//	POST /arrive   an arrival; answered with the action when the gate lets it go, however long it is parked
//	POST /left     an arrival
//	POST /ended    an arrival
//
// Every request carries "Authorization: Bearer TOKEN"; without the trial's token it is refused with 401.
// It is for loopback and for networks of one's own: there is no encryption.
package remotegate

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/sixthcopy/sixthcopy/bench"
)

// maxMessage bounds an arrival in bytes.
const maxMessage = 16 << 20

// Handler serves gate to those who have the token, which must not be empty.
func Handler(gate bench.Gate, token string) (http.Handler, error) {
	if token == "" {
		return nil, errors.New("remote gate: the token is empty; give each trial one of its own")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /arrive", func(w http.ResponseWriter, r *http.Request) {
		a, ok := arrival(w, r)
		if !ok {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		if err := http.NewResponseController(w).Flush(); err != nil { // the caller sees that it has been heard
			return
		}
		json.NewEncoder(w).Encode(gate.Arrive(a)) // an error means that the caller has gone: nobody waits for it
	})
	tell := func(f func(bench.Arrival)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if a, ok := arrival(w, r); ok {
				f(a)
				w.WriteHeader(http.StatusNoContent)
			}
		}
	}
	mux.HandleFunc("POST /left", tell(gate.Left))
	mux.HandleFunc("POST /ended", tell(gate.Ended))
	want := []byte("Bearer " + token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			http.Error(w, "remote gate: the trial's token is missing or wrong", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}), nil
}

func arrival(w http.ResponseWriter, r *http.Request) (bench.Arrival, bool) {
	var a bench.Arrival
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxMessage))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		http.Error(w, fmt.Sprintf("remote gate: expected an arrival: %v", err), http.StatusBadRequest)
		return a, false
	}
	if a.Point == "" {
		http.Error(w, "remote gate: expected an arrival with a Point", http.StatusBadRequest)
		return a, false
	}
	return a, true
}

// Gate is the far end of a gate. It is a bench.Gate.
type Gate struct {
	ctx   context.Context
	base  string
	token string
	http  *http.Client

	mu  sync.Mutex
	err error
}

var _ bench.Gate = (*Gate)(nil)

// Dial returns a gate that asks the handler at base ("http://127.0.0.1:7000") until ctx ends.
func Dial(ctx context.Context, base, token string) *Gate {
	// No idle connections and no resending: each message goes out once.
	return &Gate{ctx: ctx, base: base, token: token, http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

// Arrive asks the gate. If it cannot be reached the exchange is cut by a reset, for nobody may pass a gate
// unseen, and Err says why.
func (g *Gate) Arrive(a bench.Arrival) bench.Action {
	var act bench.Action
	if err := g.post("/arrive", a, &act); err != nil {
		g.fault(err)
		return bench.Action{Act: bench.Reset}
	}
	return act
}

// Left tells the gate that a client has gone.
func (g *Gate) Left(a bench.Arrival) {
	if err := g.post("/left", a, nil); err != nil {
		g.fault(err)
	}
}

// Ended tells the gate that an exchange is over.
func (g *Gate) Ended(a bench.Arrival) {
	if err := g.post("/ended", a, nil); err != nil {
		g.fault(err)
	}
}

// Err is the first error of the line to the gate; a trial with one proves nothing.
func (g *Gate) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

func (g *Gate) fault(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = fmt.Errorf("remote gate %s: %w", g.base, err)
	}
}

func (g *Gate) post(path string, a bench.Arrival, into any) error {
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(g.ctx, http.MethodPost, g.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+g.token)
	res, err := g.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 500))
		return fmt.Errorf("%s answered %s: %s", path, res.Status, bytes.TrimSpace(text))
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		return fmt.Errorf("%s: expected an action: %w", path, err)
	}
	return nil
}
