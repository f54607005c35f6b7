package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/declared"
)

// answer is the upstream's answer, read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// serve carries one request: read whole, received, forwarded, its effect looked for, answered.
func (p *door) serve(w http.ResponseWriter, r *http.Request) {
	c := r.Context().Value(connKey{}).(*conn)
	c.exchanges++
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		panic(http.ErrAbortHandler) // half a request is none: nothing arrived
	}
	raw := bench.RawRequest{Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header, Body: body}
	x := p.arrive(p.Parse(raw))
	at := bench.Arrival{Link: c.link, Conn: c.ordinal, Exchange: c.exchanges, Call: x.call, Request: x.name}
	defer func() {
		p.mu.Lock()
		p.hand--
		p.mu.Unlock()
		p.gate.Ended(at)
	}()

	at.Point = bench.Received
	act, ans := p.gate.Arrive(at), answer{}
	defer func() {
		if !passes(act) && act.Act != bench.Reset {
			p.breaks(fmt.Errorf("request %s: the gate asks for %q, which cannot be done at a provider that the harness did not make", x.name, act.Act))
		}
	}()
	if passes(act) {
		p.mu.Lock()
		x.sent = true
		p.mu.Unlock()
		ans, err = p.forward(raw)
		if err == nil {
			at.Note, err = p.answered(x, ans)
		}
		if err != nil {
			p.breaks(fmt.Errorf("request %s (%s): %w", x.name, x.call.Op, err))
			act = bench.Action{Act: bench.Reset}
		} else {
			at.Point, at.Status = bench.BeforeResponse, ans.status
			if x.made > 0 {
				at.Point = bench.Committed
			}
			act = p.gate.Arrive(at)
		}
	}
	write(w, r, c, act, ans)
}

func passes(a bench.Action) bool { return a.Act == bench.Pass || a.Act == "" }

// hop are headers of one connection: they are not forwarded.
var hop = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// once is a body that cannot be rewound, so that no request is sent twice.
type once struct{ io.Reader }

func (once) Close() error { return nil }

// forward sends a request on, once, and reads the answer whole. It does not end with its client: a provider
// that has received a request carries it out.
func (p *door) forward(raw bench.RawRequest) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	to := strings.TrimSuffix(p.base.String(), "/") + raw.Path
	req, err := http.NewRequestWithContext(ctx, raw.Method, to, once{bytes.NewReader(raw.Body)})
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: %w", raw.Method, raw.Path, err)
	}
	req.ContentLength = int64(len(raw.Body))
	req.Header = raw.Header.Clone()
	for _, name := range hop {
		req.Header.Del(name)
	}
	resp, err := p.transport.RoundTrip(req)
	if err != nil {
		return answer{}, p.lost(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return answer{}, p.lost(err)
	}
	if len(body) > maxBody {
		return answer{}, fmt.Errorf("the upstream's answer is longer than %d bytes", maxBody)
	}
	return answer{resp.StatusCode, resp.Header, body}, nil
}

// lost says how an upstream failed that no fault was to strike.
func (p *door) lost(err error) error {
	var op *net.OpError
	how := err.Error()
	switch {
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("upstream %s cannot be reached any more: %w", p.base.Redacted(), err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		how = "it ended the connection"
	case errors.Is(err, context.DeadlineExceeded):
		how = fmt.Sprintf("nothing came within %v", answerWithin)
	}
	return fmt.Errorf("upstream %s did not answer: %s; no fault was placed there, so the trial proves nothing", p.base.Redacted(), how)
}

// answered looks for the effect of a request whose answer has come. The note is for the history.
func (p *door) answered(x *request, ans answer) (note string, err error) {
	tool, ours := p.tools[x.call.Op]
	if !ours || tool.Makes == "" {
		p.mu.Lock()
		x.over = true
		p.mu.Unlock()
		return "", nil
	}
	done, receipt := said(tool.Answer, ans)
	before := p.there(receipt)
	p.mu.Lock()
	x.answered, x.done, x.receipt = true, done, receipt
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin+p.lag)
	defer cancel()
	for until := time.Now().Add(p.lag); ; {
		if err := p.look(ctx); err != nil {
			return "", err
		}
		missing := p.contradicted(x)
		if missing == "" {
			break
		}
		if !time.Now().Before(until) {
			return "", fmt.Errorf("the upstream answered %d, and %s within %v: if it takes longer to show, say so in oracle.lag; if it never shows, the oracle reads something else than the tool makes",
				ans.status, missing, p.lag)
		}
		select { // the oracle has no word for this, so it is asked again
		case <-time.After(lookEvery):
		case <-ctx.Done():
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	x.over = true
	switch {
	case x.made > 0:
		return "the oracle shows " + strings.Join(p.madeBy(x.name), ", "), nil
	case done && before:
		p.dedup = append(p.dedup, bench.DedupRecord{By: "provider", Request: x.name, Record: receipt})
		return "the answer names " + receipt + ", which was there", nil
	}
	if !done {
		p.quietAt = time.Now().Add(p.lag)
	}
	return "the oracle shows nothing new", nil
}

// lookEvery is how often an oracle with a lag is asked again, in real time.
const lookEvery = 20 * time.Millisecond

// said reads an answer as the tool does.
func said(a bench.ExternalAnswer, ans answer) (done bool, receipt string) {
	if slices.Contains(a.Refused, ans.status) || slices.Contains(a.Conflict, ans.status) {
		return false, ""
	}
	if len(a.Done) > 0 && !slices.Contains(a.Done, ans.status) || len(a.Done) == 0 && ans.status/100 != 2 {
		return false, ""
	}
	return true, declared.Receipt(a, ans.body)
}

// write passes the answer on, or resets the connection: nothing else is done at a door.
func write(w http.ResponseWriter, r *http.Request, c *conn, act bench.Action, ans answer) {
	if !passes(act) {
		if t, ok := c.Conn.(*net.TCPConn); ok {
			_ = t.SetLinger(0) // fails on a closed connection only
		}
		_ = c.Close()
		panic(http.ErrAbortHandler)
	}
	h := w.Header()
	for name, values := range ans.header {
		if !slices.Contains(hop, name) {
			h[name] = values
		}
	}
	if r.Method != http.MethodHead {
		h.Set("Content-Length", strconv.Itoa(len(ans.body)))
	}
	w.WriteHeader(ans.status)
	_, _ = w.Write(ans.body) // an error means that the client has gone: the exchange is over all the same
}
