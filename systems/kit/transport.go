package kit

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"runtime/debug"
	"sync"
	"time"
)

// Transport puts an eye under a library's HTTP client: base does the work, unchanged, and it is noted whether
// anything of a call has left (Call.Lost). Connections are the trial's: they are kept alive over its calls
// unless it asks for fresh ones, and go with it. base is the kit's from here on.
func (t *Trial) Transport(base *http.Transport) http.RoundTripper {
	if t.Start.Knobs.FreshConns {
		base.DisableKeepAlives = true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watched = true
	t.transports = append(t.transports, base)
	return &transport{trial: t, base: base}
}

// Timeout is http.Client.Timeout in virtual time, for every request that goes through next: that of the trial
// (knob call_timeout_ms), else own, the library's, else none. It stands where http.Client has its own: around
// all that is in the client's transport.
func (t *Trial) Timeout(next http.RoundTripper, own time.Duration) http.RoundTripper {
	if ms := t.Start.Knobs.CallTimeoutMS; ms > 0 {
		own = time.Duration(ms) * time.Millisecond
	}
	return &timeout{trial: t, next: next, limit: own}
}

// Pause is Call.Wait for the call in work, for hooks of libraries that are told how long to back off and of
// nothing else: it returns when d of virtual time has passed, with the reason when the call ended first.
func (t *Trial) Pause(d time.Duration) error {
	c := t.inWork()
	if c == nil {
		return errNoCall
	}
	return c.Wait(c.ctx, c.Now().Add(d), "back-off")
}

var errNoCall = errors.New("no call is in work")

// Version is the version of a module that is built in.
func Version(module string) string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == module {
			return m.Version
		}
	}
	return ""
}

// inWork is the call in work, nil if there is none.
func (t *Trial) inWork() *Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open
}

type transport struct {
	trial *Trial
	base  http.RoundTripper
}

func (p *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	c := p.trial.inWork()
	if c == nil {
		return nil, errNoCall
	}
	return p.base.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) {
			p.trial.mu.Lock()
			defer p.trial.mu.Unlock()
			c.left = true
		},
	})))
}

type timeout struct {
	trial *Trial
	next  http.RoundTripper
	limit time.Duration
}

func (p *timeout) RoundTrip(r *http.Request) (*http.Response, error) {
	c := p.trial.inWork()
	if c == nil {
		return nil, errNoCall
	}
	ctx, stop := c.Deadline(r.Context(), p.limit)
	res, err := p.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		err = timedOut(ctx, err)
		stop()
		return nil, err
	}
	res.Body = &limited{ReadCloser: res.Body, ctx: ctx, stop: stop}
	return res, nil
}

// timedOut is what net/http returns when Client.Timeout ends a request: an error that is
// context.DeadlineExceeded, though the context of the request has not ended.
func timedOut(ctx context.Context, err error) error {
	if err != nil && err != io.EOF && context.Cause(ctx) == ErrTimedOut {
		return context.DeadlineExceeded
	}
	return err
}

// limited is a body under the same time-out, which ends when the body does.
type limited struct {
	io.ReadCloser
	ctx  context.Context
	stop func()
	once sync.Once
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	return n, timedOut(l.ctx, err)
}

func (l *limited) Close() error {
	err := l.ReadCloser.Close()
	l.once.Do(l.stop)
	return err
}
