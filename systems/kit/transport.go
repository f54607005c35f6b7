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

// Transport puts the kit under a library's HTTP client: base does the work, unchanged; what is added is the
// time-out of each request in virtual time, as http.Client.Timeout has it in real time, and an eye on whether
// anything of a call has left (Call.Lost). The time-out is the trial's (knob call_timeout_ms), else own, the
// library's, else none. Connections are the trial's: they are kept alive over its calls unless it asks for
// fresh ones, and go with it. base is the kit's from here on.
func (t *Trial) Transport(base *http.Transport, own time.Duration) http.RoundTripper {
	if ms := t.Start.Knobs.CallTimeoutMS; ms > 0 {
		own = time.Duration(ms) * time.Millisecond
	}
	if t.Start.Knobs.FreshConns {
		base.DisableKeepAlives = true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watched = true
	t.transports = append(t.transports, base)
	return &transport{trial: t, base: base, limit: own}
}

// Pause is Call.Wait for the call in work, for hooks of libraries that are told how long to back off and of
// nothing else: it returns when d of virtual time has passed, with the reason when the call ended first.
func (t *Trial) Pause(d time.Duration) error {
	t.mu.Lock()
	c := t.open
	t.mu.Unlock()
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

type transport struct {
	trial *Trial
	base  http.RoundTripper
	limit time.Duration
}

func (p *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	p.trial.mu.Lock()
	c := p.trial.open
	p.trial.mu.Unlock()
	if c == nil {
		return nil, errNoCall
	}
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		p.trial.mu.Lock()
		defer p.trial.mu.Unlock()
		c.left = true
	}})
	ctx, stop := c.Deadline(ctx, p.limit)
	res, err := p.base.RoundTrip(r.WithContext(ctx))
	if err != nil {
		stop()
		return nil, timedOut(ctx, err)
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
