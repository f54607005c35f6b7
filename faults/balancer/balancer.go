// Package balancer spreads TCP connections over tool-server replicas behind one stable address. It knows
// no messages: a connection stays with its instance, and each end of it, orderly or a reset, is passed on
// to the other side as what it was.
package balancer

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

const (
	dialWithin   = 10 * time.Second // of an instance on this machine; met only when something is broken
	acceptWithin = 5 * time.Second  // Serving waits as long for a connection that the kernel has yet to hand over
)

// New listens on a loopback port of its own. Instances come with Point.
func New() (bench.Balancer, error) {
	ln, err := bench.Listen(bench.OwnLoopback())
	if err != nil {
		return nil, fmt.Errorf("balancer: %w", err)
	}
	b := &balancer{ln: ln, loop: make(chan struct{}), conns: map[*splice]struct{}{}}
	b.changed = sync.NewCond(&b.mu)
	go b.serve()
	return b, nil
}

// balancer implements bench.Balancer.
type balancer struct {
	ln   net.Listener
	loop chan struct{} // closed when the accept loop has ended

	mu        sync.Mutex
	changed   *sync.Cond // on mu: serving, conns or stopped
	instances []*instance
	next      int      // instance that is first asked for the next connection
	serving   []string // by ordinal of the connection - 1
	conns     map[*splice]struct{}
	stopped   bool
	err       error // why it accepts no more
}

type instance struct {
	name    string
	address string
	avoid   bool
}

// splice is one connection with its two sockets.
type splice struct {
	instance       string
	client, server *net.TCPConn
}

func (b *balancer) Address() string { return b.ln.Addr().String() }

// Serving names the instance that carries its conn-th connection: "" if it was refused. A connection that
// has been made but not yet accepted is waited for.
func (b *balancer) Serving(conn int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	late := false
	if conn > len(b.serving) {
		bound := time.AfterFunc(acceptWithin, func() {
			b.mu.Lock()
			late = true
			b.changed.Broadcast()
			b.mu.Unlock()
		})
		defer bound.Stop()
	}
	for conn > len(b.serving) && !b.stopped && !late {
		b.changed.Wait()
	}
	if conn < 1 || conn > len(b.serving) {
		return ""
	}
	return b.serving[conn-1]
}

// Point sets where an instance is reached from now on. A new name is put at the end of the round.
func (b *balancer) Point(name, address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := b.find(name); i != nil {
		i.address = address
		return
	}
	b.instances = append(b.instances, &instance{name: name, address: address})
}

// Avoid sends new connections elsewhere, or here again. A name that Point has not told is left alone.
func (b *balancer) Avoid(name string, avoid bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := b.find(name); i != nil {
		i.avoid = avoid
	}
}

func (b *balancer) find(name string) *instance {
	if i := slices.IndexFunc(b.instances, func(i *instance) bool { return i.name == name }); i >= 0 {
		return b.instances[i]
	}
	return nil
}

// Drop ends the open connections of an instance by resets on both sides.
func (b *balancer) Drop(name string) {
	for _, s := range b.open() {
		if s.instance == name {
			s.reset()
		}
	}
}

func (b *balancer) open() []*splice {
	b.mu.Lock()
	defer b.mu.Unlock()
	open := make([]*splice, 0, len(b.conns))
	for s := range b.conns {
		open = append(open, s)
	}
	return open
}

// Stop closes the front, resets what is open, and returns when all of it has ended.
func (b *balancer) Stop() error {
	b.mu.Lock()
	again := b.stopped
	b.stopped = true
	b.changed.Broadcast()
	b.mu.Unlock()
	if again {
		return nil
	}
	err := b.ln.Close()
	<-b.loop
	for _, s := range b.open() {
		s.reset()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.conns) > 0 {
		b.changed.Wait()
	}
	return errors.Join(err, b.err)
}

// serve accepts one connection after the other and dials its instance before it accepts the next, so that
// ordinals and the round are exact.
func (b *balancer) serve() {
	defer close(b.loop)
	for {
		c, err := b.ln.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				b.mu.Lock()
				b.err = fmt.Errorf("balancer: front: %w", err)
				b.mu.Unlock()
			}
			return
		}
		b.carry(c.(*net.TCPConn))
	}
}

// carry dials the next instance of the round. If there is none, or it refuses, the client is reset: there
// is no second try, since a balancer that retries would hide what is tested.
func (b *balancer) carry(client *net.TCPConn) {
	name, address := b.choose()
	var server net.Conn
	err := errors.New("no instance")
	if address != "" {
		server, err = net.DialTimeout("tcp4", address, dialWithin)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.changed.Broadcast()
	if err != nil {
		b.serving = append(b.serving, "")
		_ = client.SetLinger(0)
		_ = client.Close()
		return
	}
	b.serving = append(b.serving, name)
	s := &splice{instance: name, client: client, server: server.(*net.TCPConn)}
	b.conns[s] = struct{}{}
	go b.run(s)
}

func (b *balancer) choose() (name, address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.instances {
		i := b.instances[b.next%len(b.instances)]
		b.next++
		if !i.avoid {
			return i.name, i.address
		}
	}
	return "", ""
}

func (b *balancer) run(s *splice) {
	var up sync.WaitGroup
	up.Go(func() { s.copy(s.server, s.client) })
	s.copy(s.client, s.server)
	up.Wait()
	_ = s.client.Close()
	_ = s.server.Close()
	b.mu.Lock()
	delete(b.conns, s)
	b.changed.Broadcast()
	b.mu.Unlock()
}

// copy carries one direction. An orderly end is passed on as one; anything else resets both sides.
func (s *splice) copy(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil || to.CloseWrite() != nil {
		s.reset()
	}
}

// reset ends both sides at once. Errors mean that a side is closed already.
func (s *splice) reset() {
	for _, c := range []*net.TCPConn{s.client, s.server} {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
}
