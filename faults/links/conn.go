package links

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/sixthcopy/sixthcopy/bench"
)

// conn is one proxied connection: two sockets, and the exchange that is open on it. Exchanges of a
// connection follow one another: a pipelined request is held until the answer before it has been passed
// on, so what strikes one exchange never strikes the next.
//
// Fields below mu are guarded by link.mu.
type conn struct {
	link   *link
	n      int // ordinal on the link, from 1
	client *net.TCPConn
	server *net.TCPConn

	// mu
	open      *exchange // nil: none is open
	exchanges int       // begun so far
	passing   bool      // an ended exchange's answer is still being written, or comes through
	dead      bool      // one side has ended, or is about to: no exchange begins any more
	hole      bool      // a black hole: the upstream's end is not shown to the client
	ends      int       // of: reading the client, the direction of requests, that of answers
	fin       bool      // the client's side is to end orderly, whatever the upstream does
	reset     struct {  // how the sides are to be closed, by what was seen on the other
		client, server bool
	}
}

// exchange is a request and its answer.
type exchange struct {
	arrival   bench.Arrival // as last given to the gate
	method    string
	get       bool // a request without a body: what it opens may be a standing stream
	keep      bool // the request lets the connection serve another exchange
	continued bool // the link itself has sent 100 Continue

	// under link.mu
	forwarded bool // the request has gone on to the upstream
	atGate    bool // an Arrive of it has not returned
	over      bool // it ended while at the gate: the report follows
	left      bool
	leaving   bool // a Left of it has not returned
	ended     bool
	note      string
}

// begin opens an exchange when the one before is over. false: the connection has ended.
func (c *conn) begin(x *exchange) bool {
	l := c.link
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.quiet() {
		return false
	}
	c.exchanges++
	x.arrival.Link, x.arrival.Conn, x.arrival.Exchange = l.spec.Name, c.n, c.exchanges
	c.open = x
	l.open++
	return true
}

// quiet waits, with link.mu held, until nothing of an earlier exchange is under way. false: the connection has ended.
func (c *conn) quiet() bool {
	for (c.open != nil || c.passing) && !c.dead {
		c.link.changed.Wait()
	}
	return !c.dead
}

// arrive gives an arrival of x to the gate and waits for its decision. false: x ended meanwhile, and
// nothing is to be done.
func (c *conn) arrive(x *exchange, point bench.Point, status int, told, note string) (bench.Action, bool) {
	l := c.link
	l.mu.Lock()
	if x.ended {
		l.mu.Unlock()
		return bench.Action{}, false
	}
	x.atGate = true
	x.arrival.Point, x.arrival.Status, x.arrival.Told, x.arrival.Note = point, status, told, note
	a := x.arrival
	l.changed.Broadcast() // Stop does not wait for what is at the gate
	l.mu.Unlock()

	action := l.spec.Gate.Arrive(a)

	l.mu.Lock()
	x.atGate = false
	over := x.over
	l.mu.Unlock()
	if over {
		c.end(x, "")
	}
	return action, !over
}

// forward marks x as gone on to the upstream.
func (c *conn) forward(x *exchange) {
	c.link.mu.Lock()
	x.forwarded = true
	c.link.mu.Unlock()
}

// awaited returns the exchange whose answer is due, nil if none is.
func (c *conn) awaited() *exchange {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	if c.open != nil && c.open.forwarded {
		return c.open
	}
	return nil
}

// end reports x over, once. While x is at the gate the report waits for the gate to return: an exchange
// never ends before its arrival is answered, or before its client's leaving is told. It is called before the bytes or the fault that end
// the exchange reach the client: whatever the client does next comes after it in the history.
func (c *conn) end(x *exchange, note string) {
	l := c.link
	l.mu.Lock()
	if x.note == "" {
		x.note = note
	}
	x.over = true
	if x.atGate || x.leaving || x.ended {
		l.mu.Unlock()
		return
	}
	x.ended = true
	a := x.arrival
	if x.note != "" {
		a.Note = x.note
	}
	l.mu.Unlock()

	l.spec.Gate.Ended(a)

	l.mu.Lock()
	l.open--
	if c.open == x {
		c.open = nil
	}
	l.changed.Broadcast()
	l.mu.Unlock()
}

// last ends x, and with it the connection's exchanges: a request behind it is never let through.
func (c *conn) last(x *exchange, note string) {
	c.link.mu.Lock()
	c.dead = true
	c.link.mu.Unlock()
	c.end(x, note)
}

// endOpen ends the exchange that is open, if one is, as the last.
func (c *conn) endOpen(note string) {
	c.link.mu.Lock()
	c.dead = true
	x := c.open
	c.link.mu.Unlock()
	if x != nil {
		c.end(x, note)
	}
}

// setPassing says whether an ended exchange's answer is still on its way to the client.
func (c *conn) setPassing(on bool) {
	c.link.mu.Lock()
	c.passing = on
	c.link.changed.Broadcast()
	c.link.mu.Unlock()
}

// swallow makes the connection a black hole until the client leaves or the link cuts it.
func (c *conn) swallow() {
	c.link.mu.Lock()
	c.hole = true
	c.link.mu.Unlock()
}

// orderly makes the client's side end by a FIN when the direction of answers ends.
func (c *conn) orderly() {
	c.link.mu.Lock()
	c.fin = true
	c.link.mu.Unlock()
}

// clientEnded takes note of the client's side having ended, and reports an open exchange as left.
func (c *conn) clientEnded(err error) {
	l := c.link
	l.mu.Lock()
	c.dead = true
	l.changed.Broadcast()
	if errors.Is(err, net.ErrClosed) { // by this side: cut, struck or stopped
		l.mu.Unlock()
		return
	}
	c.reset.server = c.reset.server || isReset(err)
	x := c.open
	if x == nil || x.left || x.ended || x.over {
		l.mu.Unlock()
		return
	}
	x.left, x.leaving, x.over = true, true, true
	x.note = "client left"
	a := x.arrival
	l.mu.Unlock()

	l.spec.Gate.Left(a)

	l.mu.Lock()
	x.leaving = false
	l.mu.Unlock()
	c.end(x, "")
}

// serverEnded takes note of the upstream's side having ended.
func (c *conn) serverEnded(err error) {
	c.link.mu.Lock()
	c.reset.client = c.reset.client || isReset(err)
	c.link.mu.Unlock()
}

// isReset says whether a connection ended by a reset and not by an orderly end.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// toClient writes to the client. What cannot be written is lost, and the client is taken to have left.
func (c *conn) toClient(p []byte) {
	if _, err := c.client.Write(p); err != nil {
		c.clientEnded(err)
	}
}

// toServer writes to the upstream. That it is broken shows where it is read.
func (c *conn) toServer(p []byte) { _, _ = c.server.Write(p) }

// kill ends the client's side by a reset, now. Errors mean that it is closed already.
func (c *conn) kill() {
	_ = c.client.SetLinger(0)
	_ = c.client.Close()
}

// cut ends both sides by a reset, now.
func (c *conn) cut(note string) {
	c.link.mu.Lock()
	c.dead = true
	c.reset.server = true
	c.link.changed.Broadcast()
	c.link.mu.Unlock()
	c.endOpen(note)
	c.kill()
	c.closeServer(true)
}

// answer gives the client an edge's answer to its open exchange, as the last of the connection. The upstream
// sees its client leave.
func (c *conn) answer(a bench.Action) {
	c.link.mu.Lock()
	x := c.open
	if x == nil || c.dead {
		c.link.mu.Unlock()
		return
	}
	c.dead, c.fin, c.reset.server = true, true, true
	c.link.changed.Broadcast()
	c.link.mu.Unlock()
	c.end(x, fmt.Sprintf("an edge answered %d", a.Status))
	c.toClient(edgeAnswer(x.method, a, false))
	_ = c.client.CloseWrite() // an error means that the client has gone
	c.closeServer(true)
}

func (c *conn) closeServer(reset bool) {
	if reset {
		_ = c.server.SetLinger(0)
	}
	_ = c.server.Close()
}

// clientSide is the client's socket as the toxics' chains see it: the source of requests and the
// destination of answers.
type clientSide struct{ *conn }

// Read reads requests, and notices the client's leaving even while a request is parked.
func (s clientSide) Read(p []byte) (int, error) {
	n, err := s.client.Read(p)
	if err != nil {
		s.clientEnded(err)
		s.endOne()
	}
	return n, err
}

// WriteTo is what io.Copy calls to read: with a lent buffer, since the chain copies what it is given.
func (s clientSide) WriteTo(w io.Writer) (int64, error) {
	return s.link.copy(w, struct{ io.Reader }{s})
}

// Write is never called: see Pipe.
func (s clientSide) Write(p []byte) (int, error) {
	s.toClient(p)
	return len(p), nil
}

// ReadFrom is what io.Copy calls to write.
func (s clientSide) ReadFrom(r io.Reader) (int64, error) { return untilEnd(s, r) }

// untilEnd copies from the end of a chain, which carries nothing but its end.
func untilEnd(w io.Writer, r io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{w}, r, make([]byte, 16))
}

// Close is the end of the answers' direction. The client's side gets the end that the upstream's had:
// a reset, or an orderly one. The latter leaves the other half open until the client closes it too: a
// full close could turn into a reset if bytes of the client were still unread.
func (s clientSide) Close() error {
	l := s.link
	l.mu.Lock()
	hole, reset := s.hole, s.reset.client && !s.fin
	l.mu.Unlock()
	switch {
	case hole:
	case reset:
		s.kill()
	default:
		_ = s.client.CloseWrite()
	}
	s.closeServer(false)
	s.endOne()
	return nil
}

// serverSide is the upstream's socket: the destination of requests and the source of answers.
type serverSide struct{ *conn }

func (s serverSide) Read(p []byte) (int, error) {
	n, err := s.server.Read(p)
	if err != nil {
		s.serverEnded(err)
	}
	return n, err
}

func (s serverSide) WriteTo(w io.Writer) (int64, error) {
	return s.link.copy(w, struct{ io.Reader }{s})
}

// Write is never called: see Pipe.
func (s serverSide) Write(p []byte) (int, error) {
	s.toServer(p)
	return len(p), nil
}

func (s serverSide) ReadFrom(r io.Reader) (int64, error) { return untilEnd(s, r) }

// Close is the end of the requests' direction: the client left, or was cut.
func (s serverSide) Close() error {
	l := s.link
	l.mu.Lock()
	reset := s.reset.server
	l.mu.Unlock()
	s.closeServer(reset)
	s.endOne()
	return nil
}

// endOne counts what has ended of: reading the client, the direction of requests, that of answers. After
// all three the connection is forgotten.
func (c *conn) endOne() {
	l := c.link
	l.mu.Lock()
	c.dead = true
	if c.ends++; c.ends == 3 {
		_ = c.client.Close()
		delete(l.conns, c.n)
	}
	l.changed.Broadcast()
	l.mu.Unlock()
}

type side interface {
	io.ReadWriteCloser
	io.WriterTo
	io.ReaderFrom
}

var (
	_ side = clientSide{}
	_ side = serverSide{}
)
