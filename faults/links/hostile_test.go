package links

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
)

// TestHostileClient: what is no request ends its own connection, is told to the gate, and never reaches
// the upstream.
func TestHostileClient(t *testing.T) {
	for _, c := range []struct{ name, raw, note string }{
		{"rubbish", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n", `request line "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03": expected METHOD PATH HTTP/1.1`},
		{"another version", "GET / HTTP/2.0\r\n\r\n", `version "HTTP/2.0": expected HTTP/1.1 or HTTP/1.0`},
		{"a tunnel", "CONNECT x:1 HTTP/1.1\r\n\r\n", "method CONNECT: a link carries no tunnels"},
		{"1 MiB header", "GET / HTTP/1.1\r\nA: " + strings.Repeat("a", 1<<20) + "\r\n\r\n", "head of more than 65536 bytes"},
		{"header line without a colon", "GET / HTTP/1.1\r\nabc\r\n\r\n", `header field "abc": expected name: value`},
		{"folded header line", "GET / HTTP/1.1\r\nA: b\r\n c: d\r\n\r\n", `header field " c: d": expected name: value`},
		{"length that is none", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", `Content-Length "-1": expected one number of bytes`},
		{"two lengths", "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", `Content-Length "2": expected one number of bytes`},
		{"length and chunks", "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "both Content-Length and Transfer-Encoding: expected one"},
		{"another encoding", "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", `Transfer-Encoding "gzip, chunked": expected chunked`},
		{"a body of 1 TiB", "POST / HTTP/1.1\r\nContent-Length: 1099511627776\r\n\r\n", "body of 1099511627776 bytes: a link holds at most 16777216"},
		{"endless chunk extension", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("x", 1<<16), "chunk size line of more than 4096 bytes"},
		{"chunk of 1 TiB", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n10000000000\r\n", "chunk of more than 16777216 bytes"},
		{"chunk without a size", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", "chunk size is empty: expected hexadecimal digits"},
		{"chunk size that is none", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", `chunk size with byte 'x': expected hexadecimal digits`},
		{"chunk that is too long", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", `byte 'b' after a chunk's data: expected the end of the line`},
		{"endless trailers", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("A: b\r\n", 1<<14), "trailers of more than 65536 bytes"},
		{"many chunks", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("100000\r\n"+strings.Repeat("x", 1<<20)+"\r\n", 17), "request of more than 16777216 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGate(nil)
			u := newUpstream(t, echo)
			l := raise(t, u.ln.Addr().String(), g)
			client := dial(t, l.Address())
			_, _ = io.WriteString(client, c.raw) // the link may have closed before it has all
			g.wait("ended", 1)
			if got := g.last("ended").Note; got != "unreadable request: "+c.note {
				t.Errorf("note %q, expected %q", got, c.note)
			}
			if len(c.raw) < 1<<10 {
				got, err := io.ReadAll(client)
				if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n") {
					t.Errorf("answer %q, %v", got, err)
				}
			}
			_ = client.Close()
			stop(t, l)
			if g.times("arrive") != 1 || g.times("ended") != 1 || len(u.requests()) != 0 || l.Exchanges() != 0 {
				t.Errorf("upstream got %q, gate was told\n%s", u.requests(), g.told())
			}
		})
	}
}

// TestHalfRequest: a client that leaves before its request was whole has not called anybody.
func TestHalfRequest(t *testing.T) {
	for _, raw := range []string{"", "P", "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nhel", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"} {
		g := newGate(nil)
		u := newUpstream(t, echo)
		l := raise(t, u.ln.Addr().String(), g)
		client := dial(t, l.Address())
		send(t, client, raw)
		_ = client.CloseWrite()
		expectEnd(t, client, "", nil) // both directions have run dry
		_ = client.Close()
		stop(t, l)
		if g.told() != "" || len(u.requests()) != 0 {
			t.Errorf("%q: upstream got %q, gate was told\n%s", raw, u.requests(), g.told())
		}
	}
}

// TestHostileUpstream: what is no answer ends the exchange and resets the client.
func TestHostileUpstream(t *testing.T) {
	for _, c := range []struct{ name, raw, note string }{
		{"rubbish", "hello\r\n\r\n", `status line "hello": expected HTTP/1.1 and three digits`},
		{"1 MiB header", "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 1<<20), "head of more than 65536 bytes"},
		{"another protocol", "HTTP/1.1 101 Switching Protocols\r\n\r\n", "status 101: a link carries no upgraded protocols"},
		{"endless chunk extension", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;" + strings.Repeat("x", 1<<16), "chunk size line of more than 4096 bytes"},
		{"endless body", "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 17<<20), "answer of more than 16777216 bytes"},
		{"endless event", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + strings.Repeat("data: x\n", 17<<17), "event of more than 16777216 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGate(nil)
			u := newUpstream(t, func(conn *upstreamConn, _ *http.Request, _ string) bool {
				conn.write(c.raw)
				return false
			})
			l := raise(t, u.ln.Addr().String(), g)
			client := dial(t, l.Address())
			send(t, client, post(`{"id":1}`))
			if _, err := io.ReadAll(client); err == nil {
				t.Error("the client saw an orderly end")
			}
			g.wait("ended", 1)
			if got := g.last("ended").Note; got != "unreadable answer: "+c.note {
				t.Errorf("note %q, expected %q", got, c.note)
			}
			if l.Exchanges() != 0 || g.times("arrive") != 2 {
				t.Errorf("%d open exchanges, gate was told\n%s", l.Exchanges(), g.told())
			}
		})
	}
}

// TestUnasked: what an upstream says on an idle connection goes on, and is nobody's answer.
func TestUnasked(t *testing.T) {
	const word = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
	g := newGate(nil)
	u := newUpstream(t, func(c *upstreamConn, r *http.Request, body string) bool {
		echo(c, r, body)
		c.write(word)
		return false
	})
	l := raise(t, u.ln.Addr().String(), g)
	client := dial(t, l.Address())
	send(t, client, post("hello"))
	expectEnd(t, client, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"+word, nil)
	if g.times("arrive") != 2 {
		t.Errorf("gate was told\n%s", g.told())
	}
}

// FuzzMessages: no input makes a parser panic, and a cut keeps exactly the content that was asked for.
func FuzzMessages(f *testing.F) {
	for _, c := range answerCases {
		f.Add([]byte(c.answer), 3)
	}
	f.Add([]byte("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), 1)
	f.Fuzz(func(t *testing.T, raw []byte, n int) {
		for _, request := range []bool{true, false} {
			size := headEnd(raw, 0)
			if size == 0 {
				continue
			}
			h, err := parseHead(raw[:size], request)
			if err != nil {
				continue
			}
			b, err := h.answerBody(http.MethodPost)
			if err != nil {
				continue
			}
			start := b
			var whole []byte
			at := size
			for at < len(raw) && !b.done() {
				content, k, err := b.next(raw[at:])
				if err != nil {
					return
				}
				whole = append(whole, content...)
				at += k
			}
			n = max(0, min(n, len(whole)))
			cut := keep(raw[size:at], start, n)
			var kept []byte
			for p := raw[size : size+cut]; len(p) > 0; {
				content, k, err := start.next(p)
				if err != nil || k == 0 {
					t.Fatalf("cut after %d bytes of content: %v", n, err)
				}
				kept, p = append(kept, content...), p[k:]
			}
			if string(kept) != string(whole[:n]) {
				t.Fatalf("kept %q, expected %q", kept, whole[:n])
			}
		}
	})
}

// TestNoGate: a link without a gate would decide itself.
func TestNoGate(t *testing.T) {
	_, err := New().Raise(bench.LinkSpec{Name: "agent", Upstream: "127.0.0.1:1"})
	if want := "link agent: no gate was given: a link decides nothing itself"; fmt.Sprint(err) != want {
		t.Errorf("error %v, expected %s", err, want)
	}
}
