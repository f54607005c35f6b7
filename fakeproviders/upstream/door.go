// Package upstream is the door before a provider that the harness did not make. It stands where a fake stands:
// it sees each request whole, hands it to the gate, and forwards it. When the answer has come it reads what
// exists by the workload's oracle, so that a commit is shown by the outside world before the answer goes on.
//
// Nothing is done inside the provider. What a trial did not bring about is world: it was there at its start, or
// fits none of its requests.
package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/declared"
)

const (
	maxBody      = 8 << 20          // of a request or an answer, in bytes
	answerWithin = 10 * time.Second // bounds how long the upstream may take for one answer, in real time
)

// Read reads what exists, by the workload's oracle. Order is that of commit as far as the oracle knows it.
type Read func(context.Context) ([]bench.Effect, error)

// Doors raises doors. Trials at one upstream run one at a time, since each sees what the others make.
type Doors struct {
	open func(bench.ExternalOracle) (Read, error)

	mu    sync.Mutex
	taken map[string]chan struct{} // by upstream: holds a token while a trial is on
}

// New returns a maker of doors whose oracles are opened by open.
func New(open func(bench.ExternalOracle) (Read, error)) *Doors {
	return &Doors{open: open, taken: map[string]chan struct{}{}}
}

// Raise stands a door before the upstream of spec, when no other trial is on there, and notes what exists.
func (d *Doors) Raise(ctx context.Context, spec bench.ProviderSpec) (bench.Provider, error) {
	if spec.External == nil {
		return nil, errors.New("an external provider without its declaration")
	}
	base, err := url.Parse(spec.External.Upstream)
	if err != nil {
		return nil, fmt.Errorf("upstream: %w", err)
	}
	read, err := d.open(spec.External.Oracle)
	if err != nil {
		return nil, fmt.Errorf("oracle: %w", err)
	}
	turn := d.turn(base.Host)
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p := &door{
		base: base, lag: time.Duration(spec.External.Oracle.LagMS) * time.Millisecond, read: read, gate: spec.Gate,
		key: spec.External.Terms.Key.Location, tools: map[string]bench.ExternalTool{}, conns: map[net.Conn]struct{}{}, objects: map[string]int{},
		// One connection a request: what an idle one would do to the next request is no part of a trial.
		transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true, ForceAttemptHTTP2: false, ResponseHeaderTimeout: answerWithin},
		leave:     func() { <-turn },
	}
	for name, use := range spec.Tools {
		if use.External != nil {
			p.tools[name] = *use.External
		}
	}
	if err := Reachable(ctx, base); err != nil {
		p.leave()
		return nil, err
	}
	if err := p.look(ctx); err != nil {
		p.leave()
		return nil, err
	}
	return p, nil
}

func (d *Doors) turn(host string) chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.taken[host] == nil {
		d.taken[host] = make(chan struct{}, 1)
	}
	return d.taken[host]
}

// Reachable says whether somebody listens at an upstream.
func Reachable(ctx context.Context, base *url.URL) error {
	port := base.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[base.Scheme]
	}
	dialer := net.Dialer{Timeout: answerWithin}
	c, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(base.Hostname(), port))
	if err != nil {
		return fmt.Errorf("upstream %s cannot be reached: %w", base.Redacted(), err)
	}
	return c.Close()
}

// door is raised for one trial. Everything below mu is guarded by it; no lock is held while a call is parked,
// forwarded, or the oracle is read.
type door struct {
	base      *url.URL
	lag       time.Duration
	read      Read
	gate      bench.Gate
	key       string // location
	tools     map[string]bench.ExternalTool
	transport *http.Transport
	leave     func() // lets the next trial at the upstream in
	reading   sync.Mutex

	mu       sync.Mutex
	fronts   []*http.Server
	conns    map[net.Conn]struct{}
	requests []*request     // in order of arrival
	effects  []bench.Effect // in order of first appearance
	objects  map[string]int // index into effects
	looked   bool           // the world of before the trial has been read
	dedup    []bench.DedupRecord
	hand     int
	quietAt  time.Time // before it, an effect may show yet
	broken   error     // why the trial proves nothing
	closed   bool
}

var (
	_ bench.Provider = (*door)(nil)
	_ bench.Oracle   = (*door)(nil)
)

type connKey struct{}

// conn is an accepted connection of a front.
type conn struct {
	net.Conn
	link      string
	ordinal   int // on its front, from 1
	exchanges int // used by its own goroutine only
}

// Listen opens a front on a loopback address of its own.
func (p *door) Listen(link string) (string, error) {
	l, err := bench.Listen(bench.OwnLoopback())
	if err != nil {
		return "", fmt.Errorf("front %s: %w", link, err)
	}
	accepted := 0
	srv := &http.Server{
		Handler:  http.HandlerFunc(p.serve),
		ErrorLog: log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, nc net.Conn) context.Context {
			accepted++
			p.mu.Lock()
			p.conns[nc] = struct{}{}
			p.mu.Unlock()
			return context.WithValue(ctx, connKey{}, &conn{Conn: nc, link: link, ordinal: accepted})
		},
		ConnState: func(nc net.Conn, state http.ConnState) {
			if state == http.StateClosed || state == http.StateHijacked {
				p.mu.Lock()
				delete(p.conns, nc)
				p.mu.Unlock()
			}
		},
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fronts = append(p.fronts, srv)
	go srv.Serve(l) // ends with Close
	return l.Addr().String(), nil
}

// Parse reads a request by the templates of the workload's tools.
func (p *door) Parse(r bench.RawRequest) bench.Call {
	c := declared.Parse(p.tools, r)
	if where, name, _ := strings.Cut(p.key, ":"); c.Mutating && where == "header" {
		c.Key = r.Header.Get(name) // for the history only
	}
	return c
}

// Busy names what is not yet quiet. What is broken is quiet: reading says what broke.
func (p *door) Busy() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.hand > 0:
		return strconv.Itoa(p.hand) + " requests in hand"
	case p.broken == nil && time.Now().Before(p.quietAt):
		return "waiting for the oracle's lag"
	}
	return ""
}

// Dedup lists the answers that named an object which had been there before their request.
func (p *door) Dedup() []bench.DedupRecord {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]bench.DedupRecord(nil), p.dedup...)
}

// Kind implements bench.Oracle.
func (p *door) Kind() string { return bench.KindExternal }

// Read reads what exists now: effects with the requests that they are attributed to.
func (p *door) Read(ctx context.Context, _ string) ([]bench.Effect, error) {
	if err := p.look(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken != nil {
		return nil, p.broken
	}
	return append([]bench.Effect(nil), p.effects...), nil
}

// Close ends the fronts and lets the next trial in.
func (p *door) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	fronts := p.fronts
	p.mu.Unlock()
	var err error
	for _, f := range fronts {
		err = errors.Join(err, f.Close())
	}
	p.transport.CloseIdleConnections()
	p.leave()
	if err != nil {
		return fmt.Errorf("door to %s: close: %w", p.base.Redacted(), err)
	}
	return nil
}

// breaks notes the first reason why the trial proves nothing.
func (p *door) breaks(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken == nil && !p.closed {
		p.broken = err
	}
}
