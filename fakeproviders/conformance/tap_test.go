package conformance

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"sync"
)

// tap is a listener that keeps what its clients send, so that it can be read beside the fake's own account.
type tap struct {
	net.Listener
	mu    sync.Mutex
	conns []*tapped
}

// tapped is a connection whose incoming bytes are kept. It stays a TCP connection to those who reset it.
type tapped struct {
	*net.TCPConn
	mu  sync.Mutex
	got bytes.Buffer
}

func (t *tap) Accept() (net.Conn, error) {
	c, err := t.Listener.Accept()
	if err != nil {
		return nil, err
	}
	kept := &tapped{TCPConn: c.(*net.TCPConn)}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conns = append(t.conns, kept)
	return kept, nil
}

func (c *tapped) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got.Write(b[:n])
	return n, err
}

// sent is a request as its client sent it.
type sent struct {
	method, path string
	header       http.Header
	body         string
	conn         int // from 1
}

// requests lists what was sent, connection by connection in the order of their acceptance.
func (t *tap) requests() []sent {
	t.mu.Lock()
	conns := append([]*tapped(nil), t.conns...)
	t.mu.Unlock()
	var all []sent
	for i, c := range conns {
		c.mu.Lock()
		in := bufio.NewReader(bytes.NewReader(bytes.Clone(c.got.Bytes())))
		c.mu.Unlock()
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				break // the end of what came
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				break
			}
			all = append(all, sent{r.Method, r.URL.RequestURI(), r.Header, string(body), i + 1})
		}
	}
	return all
}
