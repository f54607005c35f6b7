package fakeproviders

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// maxBody bounds a request's body in bytes.
const maxBody = 8 << 20

// provider is a raised provider. Everything below mu is guarded by it; no lock is held while a call is parked.
type provider struct {
	kind  Kind
	says  bench.Terms // what it promises
	terms bench.Terms // what it does
	dir   string
	gate  bench.Gate
	clock bench.Clock

	mu     sync.Mutex
	store  *store.Store
	life   int                 // crashes so far: what began in an earlier life is dead
	dead   chan struct{}       // closed when this life ends
	claims map[claimID]*claim  // keys in work, by the memory of this life
	conns  map[*conn]struct{}  // open connections of all fronts
	fronts []*http.Server      //
	hand   int                 // requests in hand
	open   int                 // open transactions
	dedup  []bench.DedupRecord //
	looks  int                 // look-ups so far
	seen   map[string]int      // look-ups that had been when an object was committed
	broken error               // first error of the harness' own: shown by Busy
	closed bool
}

func raise(ctx context.Context, kind Kind, spec bench.ProviderSpec) (*provider, error) {
	s, err := store.Open(ctx, spec.Dir)
	if err != nil {
		return nil, err
	}
	p := &provider{
		kind: kind, says: spec.Contract.Advertised, terms: spec.Contract.Actual, dir: spec.Dir, gate: spec.Gate, clock: spec.Clock,
		store: s, dead: make(chan struct{}), claims: map[claimID]*claim{}, conns: map[*conn]struct{}{}, seen: map[string]int{},
	}
	if len(spec.World) == 0 {
		return p, nil
	}
	tx := s.Begin()
	for i, w := range spec.World {
		o := kind.world(w, i)
		if k, ok := kind.(interface {
			place(dir string, tx *store.Tx, o store.Object) error
		}); ok { // a kind that keeps more than the store
			if err := k.place(p.dir, tx, o); err != nil {
				return nil, errors.Join(fmt.Errorf("world object %d: %w", i, err), s.Close())
			}
		}
		tx.Add(o)
	}
	if err := tx.Commit(p.clock.Now()); err != nil {
		return nil, errors.Join(fmt.Errorf("world: %w", err), s.Close())
	}
	return p, nil
}

// conn is an accepted connection of a front.
type conn struct {
	net.Conn
	link      string
	ordinal   int // on its front, from 1, in order of acceptance
	exchanges int // used by the connection's own goroutine only
}

type connKey struct{}

// Listen opens a front on a loopback address of its own. The server accepts one connection after another, and
// ConnContext is called in that order.
func (p *provider) Listen(link string) (string, error) {
	l, err := bench.Listen(bench.OwnLoopback())
	if err != nil {
		return "", fmt.Errorf("front %s: %w", link, err)
	}
	if err := p.Serve(link, l); err != nil {
		return "", errors.Join(err, l.Close())
	}
	return l.Addr().String(), nil
}

// Serve opens a front on a listener, which Close then closes.
func (p *provider) Serve(link string, l net.Listener) error {
	accepted := 0
	srv := &http.Server{
		Handler:  http.HandlerFunc(p.serve),
		ErrorLog: log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, nc net.Conn) context.Context {
			accepted++
			c := &conn{Conn: nc, link: link, ordinal: accepted}
			p.mu.Lock()
			p.conns[c] = struct{}{}
			p.mu.Unlock()
			return context.WithValue(ctx, connKey{}, c)
		},
		ConnState: func(nc net.Conn, state http.ConnState) {
			if state != http.StateClosed && state != http.StateHijacked {
				return
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			for c := range p.conns {
				if c.Conn == nc {
					delete(p.conns, c)
				}
			}
		},
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fmt.Errorf("front %s: the provider is closed", link)
	}
	p.fronts = append(p.fronts, srv)
	go srv.Serve(l) // ends with Close
	return nil
}

// Parse reads a request in business terms.
func (p *provider) Parse(r bench.RawRequest) bench.Call {
	c := p.kind.Parse(r)
	c.Principal = firstText(c.Principal, principalOf(r))
	if c.Mutating {
		c.Key = keyOf(firstText(p.terms.Key.Location, p.says.Key.Location), r) // also one that is ignored, for the history
		if p.terms.Key.Syntax == "sf-string" && len(c.Key) > 1 && strings.HasPrefix(c.Key, `"`) {
			c.Key = strings.TrimSuffix(c.Key[1:], `"`)
		}
	}
	return c
}

// Busy names what is not yet quiet.
func (p *provider) Busy() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var parts []string
	if p.broken != nil {
		parts = append(parts, "broken: "+p.broken.Error())
	}
	if p.hand > 0 {
		parts = append(parts, plural(p.hand, "request")+" in hand")
	}
	if p.open > 0 {
		parts = append(parts, plural(p.open, "open transaction"))
	}
	return strings.Join(parts, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Dedup lists the dedup records bound to requests when they were answered.
func (p *provider) Dedup() []bench.DedupRecord {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]bench.DedupRecord(nil), p.dedup...)
}

// Close ends the fronts and drops the store handle.
func (p *provider) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	fronts := p.fronts
	p.endLife()
	err := p.store.Close()
	p.mu.Unlock()
	for _, f := range fronts {
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("provider %s: close: %w", p.kind.Name(), err)
	}
	return nil
}

// crash ends this life and begins another: connections are reset, the store handle is dropped with what was
// uncommitted, the notes in memory are gone, and the store is opened again behind the same fronts.
func (p *provider) crash() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.endLife()
	p.dead = make(chan struct{})
	if err := p.store.Close(); err != nil {
		p.fault(fmt.Errorf("crash: %w", err))
	}
	s, err := store.Open(context.Background(), p.dir)
	if err != nil {
		p.fault(fmt.Errorf("restart after a crash: %w", err))
		return
	}
	p.store = s
}

// endLife needs mu.
func (p *provider) endLife() {
	p.life++
	close(p.dead)
	for c := range p.conns {
		reset(c.Conn)
	}
	p.claims = map[claimID]*claim{}
}

// fault notes an error of the harness' own; needs mu.
func (p *provider) fault(err error) {
	if p.broken == nil {
		p.broken = err
	}
}

// reset ends a connection by RST.
func reset(c net.Conn) {
	if t, ok := c.(interface{ SetLinger(sec int) error }); ok { // a TCP connection, or one that wraps it
		t.SetLinger(0) // fails on a closed connection only
	}
	c.Close()
}

// serve carries one request: reads it whole, lets it live, writes what came of it.
func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	c := r.Context().Value(connKey{}).(*conn)
	c.exchanges++
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		panic(http.ErrAbortHandler) // half a request is none: nothing arrived
	}
	raw := bench.RawRequest{Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header, Body: body}
	x, err := p.arrive(raw, c)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	x.host = r.Host
	defer x.end() // also when the write panics to end the connection
	act, ans := x.run()
	x.write(w, r, act, ans)
}

// end takes the request out of hand and tells the gate. A panic of our own is an error of the harness.
func (x *exchange) end() {
	caught := recover()
	x.p.mu.Lock()
	if caught != nil && caught != http.ErrAbortHandler {
		x.p.fault(fmt.Errorf("request %s: panic: %v", x.name, caught))
	}
	x.p.hand--
	x.p.mu.Unlock()
	x.p.gate.Ended(x.arrival)
	if caught != nil {
		panic(http.ErrAbortHandler)
	}
}

// write does to the connection what act says; with Pass it writes ans.
func (x *exchange) write(w http.ResponseWriter, r *http.Request, act bench.Action, ans answer) {
	switch act.Act {
	case bench.Reset, bench.CrashAct:
		reset(x.conn.Conn)
		panic(http.ErrAbortHandler)
	case bench.Close:
		x.conn.Close()
		panic(http.ErrAbortHandler)
	case bench.Swallow:
		select { // until the client leaves or this life of the provider ends
		case <-r.Context().Done():
		case <-x.dead:
		}
		panic(http.ErrAbortHandler)
	case bench.Replace:
		ans = answer{status: act.Status, kind: "text/plain", body: []byte(act.Body)}
	}
	h := w.Header()
	for k, v := range ans.header {
		h[k] = v
	}
	h.Set("Content-Type", ans.kind)
	h.Set("Content-Length", strconv.Itoa(len(ans.body)))
	h.Set("Date", x.p.clock.Now().UTC().Format(http.TimeFormat))
	w.WriteHeader(ans.status)
	body := ans.body
	if act.Act == bench.Truncate {
		body = body[:min(act.Bytes, len(body))]
	}
	w.Write(body) // an error means that the client has gone: the exchange is over all the same
	http.NewResponseController(w).Flush()
	if act.Act == bench.Truncate {
		x.conn.Close()
		panic(http.ErrAbortHandler)
	}
}

// arrive names a request.
func (p *provider) arrive(raw bench.RawRequest, c *conn) (*exchange, error) {
	call := p.Parse(raw)
	now := p.clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("the provider is closed")
	}
	name, err := p.store.Arrive(store.Request{
		Link: c.link, Conn: c.ordinal, Exchange: c.exchanges, Op: call.Op, Class: call.Class, Key: call.Key,
		Attrs: call.Attrs, Principal: call.Principal, At: now,
	})
	if err != nil {
		p.fault(err)
		return nil, err
	}
	p.hand++
	return &exchange{
		p: p, raw: raw, call: call, conn: c, name: name, life: p.life, dead: p.dead,
		arrival: bench.Arrival{Link: c.link, Conn: c.ordinal, Exchange: c.exchanges, Call: call, Request: name},
	}, nil
}

// visible says whether a look-up at now, the n-th, finds o. It needs mu.
func (p *provider) visible(o store.Object, now time.Time, n int) bool {
	l := p.terms.LookUp
	age := now.Sub(o.At)
	if l.Forgets > 0 && age > l.Forgets {
		return false
	}
	if o.Request == "" {
		return true // the world has settled
	}
	return age >= l.Lag && n-p.seen[o.ID] > l.LagReads
}
