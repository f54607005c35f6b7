// Package links raises the proxied paths of a trial: between agent and balancer, and between a tool
// server and the provider. Each link is a chain of toxiproxy (v2.5.0) with two boundary toxics, which know
// where messages of HTTP/1.1 end and give each one whole to the gate before anything of it goes on.
// The toxics never decide: what becomes of a message is the gate's word.
//
// The front is the link's own, and toxiproxy's links are started on its sockets by
// ToxicCollection.StartLink. toxiproxy's accept loop can send a reset only on connections that were made
// for it from the start, and cannot shut its front without ending what is open; here one link does both
// kinds of end, each when it is asked for.
package links

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"github.com/sixthcopy/sixthcopy/bench"
)

// dialWithin bounds a dial to an upstream on this machine; it is met only when something is broken.
const dialWithin = 10 * time.Second

// New returns what raises links, on loopback addresses of this machine. The boundary toxics are entered
// into toxiproxy's process-wide registry; doing so again changes nothing.
func New() bench.Links {
	toxics.Register(requestType, new(requestToxic))
	toxics.Register(answerType, new(answerToxic))
	return &links{
		server:  toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()),
		buffers: sync.Pool{New: func() any { return new([chunk]byte) }},
	}
}

type links struct {
	server  *toxiproxy.ApiServer
	buffers sync.Pool // of *[chunk]byte: two per connection while it lives
}

// chunk is the size of reads, as io.Copy's.
const chunk = 32 << 10

// link implements bench.Link.
type link struct {
	spec     bench.LinkSpec
	raiser   *links
	proxy    *toxiproxy.Proxy // never started: it holds the toxics
	address  string
	starting *conn // the connection whose toxics are being started, by the one accept loop

	front   sync.Mutex // of Shut, Open and Stop, one at a time
	ln      net.Listener
	loop    chan struct{} // closed when the accept loop of ln has ended
	hold    int           // socket that keeps the port while the front is shut; -1: none
	stopped bool

	mu      sync.Mutex
	changed *sync.Cond // on mu: anything below, or of a connection, has changed
	conns   map[int]*conn
	last    int   // ordinal of the last connection
	open    int   // exchanges
	err     error // why the front accepts no more
}

// Raise puts up a link in front of spec.Upstream. It costs some tens of microseconds.
func (ls *links) Raise(spec bench.LinkSpec) (bench.Link, error) {
	if spec.Gate == nil {
		return nil, fmt.Errorf("link %s: no gate was given: a link decides nothing itself", spec.Name)
	}
	l := &link{spec: spec, raiser: ls, conns: map[int]*conn{}, hold: -1}
	l.changed = sync.NewCond(&l.mu)
	address := "127.0.0.1:0" // the one that a system under test may have to except from its web proxy
	if spec.Request != bench.AgentRequest {
		address = bench.OwnLoopback()
	}
	ln, err := listen(address)
	if err != nil {
		return nil, fmt.Errorf("link %s: %w", spec.Name, err)
	}
	l.address = ln.Addr().String()
	l.proxy = toxiproxy.NewProxy(ls.server, spec.Name, l.address, spec.Upstream)
	if err := l.addToxics(); err != nil {
		_ = ln.Close()
		return nil, fmt.Errorf("link %s: %w", spec.Name, err)
	}
	l.accept(ln)
	return l, nil
}

// addToxics puts the boundary toxics on the chains. toxiproxy makes them from JSON and gives them back;
// no connection can have started yet.
func (l *link) addToxics() error {
	request, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(
		`{"type":"` + requestType + `","stream":"upstream","toxicity":1,"attributes":{}}`))
	if err != nil {
		return fmt.Errorf("toxic %s: %w", requestType, err)
	}
	request.Toxic.(*requestToxic).link = l
	answer, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(
		`{"type":"` + answerType + `","stream":"downstream","toxicity":1,"attributes":{}}`))
	if err != nil {
		return fmt.Errorf("toxic %s: %w", answerType, err)
	}
	answer.Toxic.(*answerToxic).link = l
	return nil
}

// listen opens a front. SO_REUSEPORT lets Shut bind the port a second time before it closes the front.
func listen(address string) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		if e := raw.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		}); e != nil {
			return e
		}
		return err
	}}
	config.SetMultipathTCP(false)
	return config.Listen(context.Background(), "tcp4", address)
}

func (l *link) accept(ln net.Listener) {
	l.ln, l.loop = ln, make(chan struct{})
	go l.serve(ln, l.loop)
}

// serve accepts one connection after the other and dials the upstream for each before the next: so the
// k-th connection of the link is the k-th that the upstream's listener gets.
func (l *link) serve(ln net.Listener, done chan struct{}) {
	defer close(done)
	for {
		client, err := ln.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				l.mu.Lock()
				l.err = fmt.Errorf("link %s: front: %w", l.spec.Name, err)
				l.mu.Unlock()
			}
			return
		}
		server, err := net.DialTimeout("tcp4", l.spec.Upstream, dialWithin)
		if err != nil { // the upstream refuses: nothing of this connection was or will be delivered
			_ = client.(*net.TCPConn).SetLinger(0)
			_ = client.Close()
			continue
		}
		l.start(client.(*net.TCPConn), server.(*net.TCPConn))
	}
}

// start starts both directions of a connection.
func (l *link) start(client, server *net.TCPConn) {
	l.mu.Lock()
	l.last++
	c := &conn{link: l, n: l.last, client: client, server: server}
	l.conns[c.n] = c
	l.mu.Unlock()
	l.starting = c
	name := strconv.Itoa(c.n)
	l.proxy.Toxics.StartLink(l.raiser.server, name+"up", clientSide{c}, serverSide{c}, stream.Upstream)
	l.proxy.Toxics.StartLink(l.raiser.server, name+"down", serverSide{c}, clientSide{c}, stream.Downstream)
}

// copy is io.Copy with a lent buffer.
func (l *link) copy(w io.Writer, r io.Reader) (int64, error) {
	buffer := l.raiser.buffers.Get().(*[chunk]byte)
	defer l.raiser.buffers.Put(buffer)
	return io.CopyBuffer(w, r, buffer[:])
}

func (l *link) Address() string { return l.address }

func (l *link) Exchanges() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// Shut closes the front and keeps its port: nobody else can be given it before Open.
func (l *link) Shut() error {
	l.front.Lock()
	defer l.front.Unlock()
	if l.ln == nil {
		return fmt.Errorf("link %s: it is shut already", l.spec.Name)
	}
	hold, err := bindOnly(l.ln.Addr().(*net.TCPAddr))
	if err != nil {
		return fmt.Errorf("link %s: keeping port of %s: %w", l.spec.Name, l.address, err)
	}
	l.hold = hold
	return l.closeFront()
}

// closeFront closes the listener. Between fork and exec a child of the harness holds copies of all its
// sockets, and a copy of a listener goes on accepting: the lock keeps such a moment away.
func (l *link) closeFront() error {
	syscall.ForkLock.RLock()
	err := l.ln.Close()
	syscall.ForkLock.RUnlock()
	<-l.loop
	l.ln = nil
	return err
}

// bindOnly binds an address without listening on it, and returns the socket. It must not set SO_REUSEADDR, as
// Go's listeners do: two sockets that both set it share a port as long as neither listens.
func bindOnly(address *net.TCPAddr) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Port: address.Port, Addr: [4]byte(address.IP.To4())})
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func (l *link) release() {
	if l.hold >= 0 {
		_ = unix.Close(l.hold)
		l.hold = -1
	}
}

// Open opens the front again at the same address.
func (l *link) Open() error {
	l.front.Lock()
	defer l.front.Unlock()
	if l.ln != nil || l.stopped {
		return fmt.Errorf("link %s: it is open already, or stopped", l.spec.Name)
	}
	ln, err := listen(l.address)
	if err != nil {
		return fmt.Errorf("link %s: opening %s again: %w", l.spec.Name, l.address, err)
	}
	l.release()
	l.accept(ln)
	return nil
}

// Cut ends both sides of a connection by a reset. A connection that has ended is left alone.
func (l *link) Cut(conn int) {
	l.mu.Lock()
	c := l.conns[conn]
	l.mu.Unlock()
	if c != nil {
		c.cut("cut")
	}
}

// CutIdle cuts every connection without an open exchange.
func (l *link) CutIdle() {
	l.mu.Lock()
	var idle []*conn
	for _, c := range l.conns {
		for c.open == nil && c.passing && !c.dead { // an answer's last bytes are on their way
			l.changed.Wait()
		}
		if c.open == nil {
			idle = append(idle, c)
		}
	}
	l.mu.Unlock()
	for _, c := range idle {
		c.cut("cut")
	}
}

// Answer answers the exchange that is open on a connection in the upstream's place, and ends the connection.
// Without an open exchange nothing is done.
func (l *link) Answer(conn int, a bench.Action) {
	l.mu.Lock()
	c := l.conns[conn]
	l.mu.Unlock()
	if c != nil {
		c.answer(a)
	}
}

// Stop closes the front and resets what is open. It waits for all connections but those whose message is
// still parked at the gate: they end when the gate lets go.
func (l *link) Stop() error {
	l.front.Lock()
	defer l.front.Unlock()
	l.stopped = true
	var err error
	if l.ln != nil {
		err = l.closeFront()
	}
	l.release()
	l.mu.Lock()
	live := make([]*conn, 0, len(l.conns))
	for _, c := range l.conns {
		live = append(live, c)
	}
	l.mu.Unlock()
	for _, c := range live {
		c.cut("link stopped")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.moving() {
		l.changed.Wait()
	}
	return errors.Join(err, l.err)
}

// moving says, with mu held, whether a connection is still ending.
func (l *link) moving() bool {
	for _, c := range l.conns {
		if c.open == nil || !c.open.atGate {
			return true
		}
	}
	return false
}
