package links

import (
	"bufio"
	"io"
	"net/http"
	"testing"
)

func TestPass(t *testing.T) {
	g := newGate(nil)
	u := newUpstream(t, echo)
	l := raise(t, u.ln.Addr().String(), g)
	c := dial(t, l.Address())
	r := bufio.NewReader(c)
	for range 3 {
		send(t, c, post(`{"id":1}`))
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		if err != nil || string(b) != `{"id":1}` {
			t.Fatalf("body %q, %v", b, err)
		}
	}
	g.wait("ended", 3)
	t.Log(g.told())
}
