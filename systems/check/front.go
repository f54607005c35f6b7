package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"

	"github.com/sixthcopy/sixthcopy/bench"
)

// act is what a call meets that would change something.
type act string

const (
	pass act = "pass" // it is answered
	lose act = "lose" // it is carried out, and the connection is reset before a byte of the answer
	hold act = "hold" // it is kept from what answers it, until release, or until its caller gives it up
)

// maxBody is the largest request that the front reads, in bytes.
const maxBody = 1 << 20

// front is what the system connects to. It hands requests on to a place, and lets calls that would change
// something meet what a check asks for.
type front struct {
	listener net.Listener
	server   *http.Server
	proxy    *httputil.ReverseProxy
	parse    func(bench.RawRequest) bench.Call
	tell     func(event)

	mu       sync.Mutex
	acts     []act // of the calls to come; the last is of all after it
	released chan struct{}
	then     act // what the held ones meet when they are released
	calls    int // that would change something, so far
}

// event is something that happened to a call at the front.
type event struct {
	kind string // "arrived", "answered", "lost", "given up"
	n    int    // which call it was, from 1
	conn string // where it came from: one address a connection
	what string // the request, for the reader
}

// openFront listens on a free port of the loopback. Its place comes with lead.
func openFront(tell func(event)) (*front, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("address for the calls of the system: %w", err)
	}
	return &front{listener: l, tell: tell, acts: []act{pass}, released: make(chan struct{})}, nil
}

func (f *front) address() string { return f.listener.Addr().String() }

// lead begins to hand requests on to an upstream.
func (f *front) lead(upstream string, parse func(bench.RawRequest) bench.Call) {
	f.parse = parse
	f.proxy = httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: upstream})
	f.proxy.FlushInterval = -1
	f.proxy.Transport = &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	f.proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { // the system gave the call up, most likely
		w.WriteHeader(http.StatusBadGateway)
	}
	f.server = &http.Server{Handler: f}
	go f.server.Serve(f.listener)
}

// meets says what calls meet from now on; the last is met by all after it.
func (f *front) meets(acts ...act) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acts = acts
}

// release lets go of what is held, to meet then as all after it.
func (f *front) release(then act) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acts, f.then = []act{then}, then
	close(f.released)
	f.released = make(chan struct{})
}

// shut refuses connections from now on.
func (f *front) shut() error {
	if f.server != nil {
		return f.server.Close()
	}
	return f.listener.Close()
}

// next is what the next call meets.
func (f *front) next() (n int, a act, released chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	a = f.acts[0]
	if len(f.acts) > 1 {
		f.acts = f.acts[1:]
	}
	return f.calls, a, f.released
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	raw := bench.RawRequest{Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header, Body: body}
	if !f.parse(raw).Mutating {
		f.proxy.ServeHTTP(w, r)
		return
	}
	n, a, released := f.next()
	e := event{n: n, conn: r.RemoteAddr, what: r.Method + " " + r.URL.RequestURI() + " " + shorten(string(body), 300)}
	say := func(kind string) { e.kind = kind; f.tell(e) }
	say("arrived")
	if a == hold {
		select {
		case <-released:
			f.mu.Lock()
			a = f.then
			f.mu.Unlock()
		case <-r.Context().Done():
			say("given up")
			return
		}
	}
	var over sync.Once
	if a != lose {
		p := *f.proxy
		p.ModifyResponse = func(*http.Response) error { // before a byte of it leaves
			over.Do(func() { say("answered") })
			return nil
		}
		p.ServeHTTP(w, r)
		over.Do(func() { say("given up") })
		return
	}
	f.proxy.ServeHTTP(&deaf{head: http.Header{}}, r.WithContext(context.WithoutCancel(r.Context())))
	say("lost")
	if err := resetConn(w); err != nil {
		panic(http.ErrAbortHandler) // a close is as good
	}
}

// resetConn ends a connection by a reset.
func resetConn(w http.ResponseWriter) error {
	h, ok := w.(http.Hijacker)
	if !ok {
		return errors.New("a connection that cannot be taken over")
	}
	conn, _, err := h.Hijack()
	if err != nil {
		return err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a connection just taken over takes it
	}
	return conn.Close()
}

// deaf takes an answer that nobody is to see.
type deaf struct{ head http.Header }

func (d *deaf) Header() http.Header         { return d.head }
func (d *deaf) Write(p []byte) (int, error) { return len(p), nil }
func (d *deaf) WriteHeader(int)             {}

func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "..."
}
