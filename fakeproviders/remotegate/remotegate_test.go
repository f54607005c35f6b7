package remotegate

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
)

// keeper is the harness' end: it parks r1 by handshake and orders a crash for r2.
type keeper struct {
	parked, goOn chan struct{}
	mu           sync.Mutex
	told         []string
}

func (k *keeper) Arrive(a bench.Arrival) bench.Action {
	k.note("arrived", a)
	switch a.Request {
	case "r1":
		close(k.parked)
		<-k.goOn
		return bench.Action{Act: bench.Fail, Status: 503}
	case "r2":
		return bench.Action{Act: bench.CrashAct}
	}
	return bench.Action{Act: bench.Pass}
}
func (k *keeper) Left(a bench.Arrival)  { k.note("left", a) }
func (k *keeper) Ended(a bench.Arrival) { k.note("ended", a) }
func (k *keeper) note(what string, a bench.Arrival) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told = append(k.told, fmt.Sprintf("%s %s %s/%d.%d %s %v", what, a.Request, a.Link, a.Conn, a.Exchange, a.Call.Class, a.Call.Attrs["amount"]))
}

func serve(t *testing.T) (*keeper, *httptest.Server) {
	k := &keeper{parked: make(chan struct{}), goOn: make(chan struct{})}
	h, err := Handler(k, "secret")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return k, s
}

func at(request string) bench.Arrival {
	return bench.Arrival{Point: bench.Committed, Link: "provider/1", Conn: 2, Exchange: 3, Request: request,
		Call: bench.Call{Op: "create refund", Class: "refund", Attrs: map[string]any{"amount": 2500}, Mutating: true}}
}

func TestGateOverHTTP(t *testing.T) {
	k, s := serve(t)
	g := Dial(context.Background(), s.URL, "secret")
	held := make(chan bench.Action, 1)
	go func() { held <- g.Arrive(at("r1")) }()
	<-k.parked
	if act := g.Arrive(at("r2")); act.Act != bench.CrashAct { // goes on while r1 is parked
		t.Errorf("r2: %+v, want a crash", act)
	}
	close(k.goOn)
	if act := <-held; act.Act != bench.Fail || act.Status != 503 {
		t.Errorf("r1: %+v, want fail 503", act)
	}
	g.Left(at("r1"))
	g.Ended(at("r1"))
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	want := "[arrived r1 provider/1/2.3 refund 2500 arrived r2 provider/1/2.3 refund 2500 left r1 provider/1/2.3 refund 2500 ended r1 provider/1/2.3 refund 2500]"
	if got := fmt.Sprint(k.told); got != want {
		t.Errorf("told %s\nwant %s", got, want)
	}
}

func TestStrangersAndRubbishAreRefused(t *testing.T) {
	k, s := serve(t)
	g := Dial(context.Background(), s.URL, "guess")
	if act := g.Arrive(at("r3")); act.Act != bench.Reset {
		t.Errorf("with a wrong token: %+v, want a reset", act)
	}
	if err := g.Err(); err == nil || !strings.Contains(err.Error(), "token is missing or wrong") {
		t.Errorf("error %v", err)
	}
	for _, body := range []string{"", "[", `{}`, `{"Nonsense":1}`} {
		req, err := http.NewRequest("POST", s.URL+"/arrive", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer secret")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: %s, want 400", body, res.Status)
		}
	}
	if len(k.told) != 0 {
		t.Errorf("the gate was told %v", k.told)
	}
	if _, err := Handler(k, ""); err == nil {
		t.Error("an empty token was taken")
	}
}

func TestAGateThatIsGoneLetsNobodyPass(t *testing.T) {
	_, s := serve(t)
	s.Close()
	g := Dial(context.Background(), s.URL, "secret")
	if act := g.Arrive(at("r3")); act.Act != bench.Reset || g.Err() == nil {
		t.Errorf("action %+v, error %v; want a reset and an error", act, g.Err())
	}
}
