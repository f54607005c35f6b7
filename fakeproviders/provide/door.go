package provide

import (
	"errors"
	"net"
	"sync"
	"time"
)

// door is the one listener of a fake. It stays open while the provider behind it is replaced: what is accepted
// meanwhile waits for the next one.
type door struct {
	l     net.Listener
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
	err   error
}

func newDoor(l net.Listener) *door {
	d := &door{l: l, conns: make(chan net.Conn), done: make(chan struct{})}
	go func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil { // no more descriptors, say: a back-off, which orders nothing
				time.Sleep(10 * time.Millisecond)
				continue
			}
			select {
			case d.conns <- c:
			case <-d.done:
				c.Close()
			}
		}
	}()
	return d
}

func (d *door) close() error {
	d.once.Do(func() {
		close(d.done)
		d.err = d.l.Close()
	})
	return d.err
}

// enter is the listener of one provider. To close it leaves the door open.
func (d *door) enter() net.Listener { return &entry{door: d, left: make(chan struct{})} }

type entry struct {
	door *door
	once sync.Once
	left chan struct{}
}

func (e *entry) Accept() (net.Conn, error) {
	select {
	case <-e.left:
		return nil, net.ErrClosed
	default:
	}
	select {
	case c := <-e.door.conns:
		return c, nil
	case <-e.left:
		return nil, net.ErrClosed
	case <-e.door.done:
		return nil, net.ErrClosed
	}
}

func (e *entry) Close() error {
	e.once.Do(func() { close(e.left) })
	return nil
}

func (e *entry) Addr() net.Addr { return e.door.l.Addr() }
