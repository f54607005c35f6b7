package fakeproviders

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// TestEveryActionAtEveryPoint strikes the first refund and then sends it again under the same key.
func TestEveryActionAtEveryPoint(t *testing.T) {
	const rst, eof = -1, -2
	for _, c := range []struct {
		at     bench.Point
		act    bench.Action
		status int    // of the struck one; rst or eof: no answer
		after  int    // effects at the strike's end
		retry  int    // effects after the retry
		points string // of the struck request
	}{
		{bench.Received, bench.Action{Act: bench.Pass}, 200, 1, 1, "received before-commit committed"},
		{bench.Received, bench.Action{Act: bench.Rollback}, 200, 0, 1, "received before-commit before-response"},
		{bench.Received, bench.Action{Act: bench.Fail, Status: 503}, 503, 0, 0, "received"},
		{bench.Received, bench.Action{Act: bench.Reset}, rst, 0, 1, "received"},
		{bench.Received, bench.Action{Act: bench.Close}, eof, 0, 1, "received"},
		{bench.Received, bench.Action{Act: bench.CrashAct}, rst, 0, 1, "received"},
		{bench.BeforeCommit, bench.Action{Act: bench.Rollback}, 200, 0, 1, "received before-commit before-response"},
		{bench.BeforeCommit, bench.Action{Act: bench.Fail, Status: 503}, 503, 0, 0, "received before-commit"},
		{bench.BeforeCommit, bench.Action{Act: bench.Reset}, rst, 0, 1, "received before-commit"},
		{bench.BeforeCommit, bench.Action{Act: bench.Close}, eof, 0, 1, "received before-commit"},
		{bench.BeforeCommit, bench.Action{Act: bench.CrashAct}, rst, 0, 1, "received before-commit"},
		{bench.Committed, bench.Action{Act: bench.Fail, Status: 503}, 503, 1, 1, "received before-commit committed"},
		{bench.Committed, bench.Action{Act: bench.Reset}, rst, 1, 1, "received before-commit committed"},
		{bench.Committed, bench.Action{Act: bench.Close}, eof, 1, 1, "received before-commit committed"},
		{bench.Committed, bench.Action{Act: bench.CrashAct}, rst, 1, 1, "received before-commit committed"},
		{bench.Committed, bench.Action{Act: bench.Replace, Status: 502, Body: "edge"}, 502, 1, 1, "received before-commit committed"},
		{bench.Committed, bench.Action{Act: bench.Truncate, Bytes: 5}, eof, 1, 1, "received before-commit committed"},
	} {
		t.Run(fmt.Sprintf("%s %s", c.at, c.act.Act), func(t *testing.T) {
			r := up(t, "stripe-v1")
			r.gate.order(c.at, "r1", c.act)
			got := r.refund("o", "k")
			switch {
			case c.status == rst && !errors.Is(got.err, syscall.ECONNRESET):
				t.Errorf("got %v, want a reset", got.err)
			case c.status == eof && !errors.Is(got.err, io.EOF) && !errors.Is(got.err, io.ErrUnexpectedEOF):
				t.Errorf("got %v, want an end", got.err)
			case c.status > 0:
				r.want(got, c.status)
			}
			if a := <-r.gate.ended; a.Request != "r1" || a.Link != "provider/1" {
				t.Errorf("ended %+v, want r1", a)
			}
			if b := r.Busy(); b != "" {
				t.Errorf("busy after the end: %s", b)
			}
			r.wantEffects(c.after)
			if p := r.gate.points("r1"); p != c.points {
				t.Errorf("points %q, want %q", p, c.points)
			}
			again := r.refund("o", "k")
			if again.err != nil {
				t.Fatal(again.err)
			}
			r.wantEffects(c.retry)
			if c.act.Act == bench.Rollback && len(got.body) != len(again.body) {
				t.Errorf("the mirror answered %s, the real one %s", got.body, again.body)
			}
		})
	}
}

func TestActionsOnAnswersThatCommitNothing(t *testing.T) {
	for act, status := range map[bench.Act]int{bench.Fail: 500, bench.Rollback: 200, bench.Reset: 0, bench.Close: 0, bench.CrashAct: 0} {
		t.Run(string(act), func(t *testing.T) {
			r := up(t, "stripe-v1")
			first := r.want(r.refund("o", "k"), 200)
			r.gate.order(bench.BeforeResponse, "r2", bench.Action{Act: act, Status: 500})
			got := r.refund("o", "k")
			if got.status != status {
				t.Errorf("status %d (%v), want %d", got.status, got.err, status)
			}
			if again := r.want(r.refund("o", "k"), 200); again.body != first.body {
				t.Errorf("later replay %s, want %s", again.body, first.body)
			}
			r.wantEffects(1)
		})
	}
}

func TestCrashTakesWhatIsUncommitted(t *testing.T) {
	for _, c := range []struct {
		name   string
		notes  string // where keys in work are noted
		status int    // of the retry under the same key
		after  int    // effects after it
	}{{"claims in memory", "", 200, 2}, {"durable claims", "durable", 409, 1}} {
		t.Run(c.name, func(t *testing.T) {
			r := up(t, "stripe-v1", func(k *bench.Contract) { k.Actual.Key.InFlight = c.notes })
			idle, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer idle.Close()
			fmt.Fprint(idle, "GET /v1/refunds HTTP/1.1\r\nHost: x\r\n\r\n")
			in := bufio.NewReader(idle)
			if res, err := http.ReadResponse(in, nil); err != nil {
				t.Fatal(err)
			} else if _, err := io.Copy(io.Discard, res.Body); err != nil {
				t.Fatal(err)
			}
			<-r.gate.ended // of r1: its answer is out before it is out of hand
			open := r.gate.park(bench.BeforeCommit, "r2")
			crash := r.gate.park(bench.Committed, "r3")
			first := r.async(func() reply { return r.refund("o", "k") })
			<-open.arrived
			if b := r.Busy(); b != "1 request in hand, 1 open transaction" {
				t.Errorf("busy %q", b)
			}
			second := r.async(func() reply { return r.refund("o", "k3") })
			<-crash.arrived
			crash.goOn <- bench.Action{Act: bench.CrashAct}
			for _, c := range []chan reply{first, second} {
				if got := <-c; !errors.Is(got.err, syscall.ECONNRESET) {
					t.Errorf("client got %d %v, want a reset", got.status, got.err)
				}
			}
			if _, err := in.ReadByte(); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("idle connection: %v, want a reset", err)
			}
			r.wantEffects(1) // the parked one's transaction is gone, the committed one stands
			open.goOn <- pass()
			for range 2 {
				<-r.gate.ended
			}
			r.wantEffects(1) // going on changes nothing any more
			r.want(r.refund("o", "k"), c.status)
			r.wantEffects(c.after)
			r.want(r.refund("o", "k3"), 200) // committed before the crash: replayed after it
			r.wantEffects(c.after)
			if b := r.Busy(); strings.Contains(b, "broken") || strings.Contains(b, "open") {
				t.Errorf("busy %q", b)
			}
		})
	}
}

func TestClientThatLeavesDoesNotStopTheCommit(t *testing.T) {
	for act, effects := range map[bench.Act]int{bench.Pass: 1, bench.Rollback: 0} {
		r := up(t, "stripe-v1")
		p := r.gate.park(bench.BeforeCommit, "r1")
		ctx, leave := context.WithCancel(context.Background())
		gone := make(chan error, 1)
		go func() {
			req, _ := http.NewRequestWithContext(ctx, "POST", r.base+"/v1/refunds", strings.NewReader("payment_intent=o&amount=1"))
			req.Header.Set("Authorization", "Bearer sk_test_1")
			_, err := r.client.Do(req)
			gone <- err
		}()
		<-p.arrived
		leave()
		if err := <-gone; err == nil {
			t.Fatal("the client got an answer")
		}
		p.goOn <- bench.Action{Act: act}
		<-r.gate.ended
		r.wantEffects(effects)
	}
}

func TestSwallowHoldsUntilTheClientLeaves(t *testing.T) {
	r := up(t, "stripe-v1")
	c, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	body := "payment_intent=o&amount=1"
	after := r.gate.park(bench.Committed, "r1")
	fmt.Fprintf(c, "POST /v1/refunds HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk_test_1\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	<-after.arrived
	after.goOn <- bench.Action{Act: bench.Swallow}
	r.wantEffects(1)
	select {
	case a := <-r.gate.ended:
		t.Fatalf("ended %+v while the client was there", a)
	default:
	}
	c.Close()
	<-r.gate.ended
}

func TestConnectionsAndExchangesAreNumbered(t *testing.T) {
	r := up(t, "stripe-v1")
	r.client = &http.Client{Transport: &http.Transport{}} // kept alive
	for range 3 {
		r.want(r.refund("o", ""), 200)
	}
	other, err := r.Listen("provider/2")
	if err != nil {
		t.Fatal(err)
	}
	first := r.base
	r.base = "http://" + other
	r.want(r.refund("o", ""), 200)
	r.base = first
	r.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r.want(r.refund("o", ""), 200)
	var got []string
	for _, a := range r.gate.arrivals {
		if a.Point == bench.Received {
			got = append(got, fmt.Sprintf("%s %s:%d.%d", a.Request, a.Link, a.Conn, a.Exchange))
		}
	}
	want := "[r1 provider/1:1.1 r2 provider/1:1.2 r3 provider/1:1.3 r4 provider/2:1.1 r5 provider/1:2.1]"
	if fmt.Sprint(got) != want {
		t.Errorf("arrivals %v, want %s", got, want)
	}
}

// TestManyAtOnce has 16 clients send under shared keys while every fifth request crashes the provider.
func TestManyAtOnce(t *testing.T) {
	r := up(t, "stripe-v1")
	for i := 5; i <= 200; i += 5 {
		at := []bench.Point{bench.Received, bench.BeforeCommit, bench.Committed, bench.BeforeResponse}[i/5%4]
		r.gate.order(at, fmt.Sprintf("r%d", i), bench.Action{Act: bench.CrashAct})
	}
	var all sync.WaitGroup
	for c := range 16 {
		all.Go(func() {
			for i := range 12 {
				key := fmt.Sprintf("k%d", (c+i)%24)
				for try := 0; ; try++ {
					got := r.refund("o", key, "metadata[n]", key)
					if got.err == nil && got.status == 200 {
						break
					}
					if got.err == nil && got.status != 409 {
						t.Errorf("key %s: %d %s", key, got.status, got.body)
						return
					}
				}
			}
		})
	}
	all.Wait()
	r.wantEffects(24) // one a key, whatever crashed
	if b := r.Busy(); strings.Contains(b, "broken") {
		t.Error(b)
	}
}

func TestStaleTransaction(t *testing.T) {
	s, err := store.Open(context.Background(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	reads, blind := s.Begin(), s.Begin()
	if _, err := reads.Objects(); err != nil {
		t.Fatal(err)
	}
	for tx, id := range map[*store.Tx]string{reads: "a", blind: "b"} {
		tx.Add(store.Object{ID: id, Class: "c"})
	}
	if err := blind.Commit(bench.Epoch); err != nil {
		t.Fatal(err)
	}
	if err := reads.Commit(bench.Epoch); !errors.Is(err, store.ErrStale) {
		t.Errorf("commit after a read that is stale: %v, want ErrStale", err)
	}
}

func TestBadRequestsAnswerAndChangeNothing(t *testing.T) {
	for contract, requests := range map[string][][3]string{
		"stripe-v1":             {{"GET", "/", ""}, {"PUT", "/v1/refunds", ""}, {"GET", "/v1/refunds/re_x", ""}, {"POST", "/v1/refunds", "%zz"}, {"POST", "/v1/refunds/re_x", "amount=1"}},
		"ecs-run-task":          {{"GET", "/", ""}, {"POST", "/", "{"}, {"POST", "/x", `{}`}},
		"tickets-authoritative": {{"POST", "/tickets", "["}, {"POST", "/tickets", `{"title":7}`}, {"POST", "/tickets", `{"title":"t","priority":[1]}`}, {"GET", "/tickets/none", ""}, {"PATCH", "/tickets", ""}, {"GET", "/x", ""}},
		"mail-no-key":           {{"POST", "/messages", `{"to":["a","b"],"subject":"s"}`}, {"POST", "/messages", ""}, {"DELETE", "/messages", ""}},
		"lines-no-key":          {{"POST", "/documents/d/lines", `{}`}, {"POST", "/documents//lines", `{"text":"x"}`}, {"PUT", "/documents/d", ""}},
		"files-put":             {{"PUT", "/files/", `{"content":"x"}`}, {"PUT", "/files/a", `{"content":1}`}, {"PUT", "/files/" + strings.Repeat("a", 300), `{"content":"x"}`}, {"DELETE", "/files/a", ""}, {"DELETE", "/files", ""}, {"GET", "/files/none", ""}},
		"rows-unique":           {{"POST", "/tables/t/rows", `{"key":"k"}`}, {"POST", "/tables/t/rows", `{"value":1}`}, {"POST", "/tables/t", `{}`}, {"DELETE", "/tables/t/rows", ""}},
	} {
		r := up(t, contract)
		for _, q := range requests {
			got := r.send(q[0], q[1], q[2])
			if got.err != nil || got.status < 400 || got.status >= 500 || fields([]byte(got.body)) == nil {
				t.Errorf("%s %s %s: %d %s (%v); want a refusal in JSON", q[0], q[1], q[2], got.status, got.body, got.err)
			}
		}
		r.wantEffects(0)
		if b := r.Busy(); strings.Contains(b, "broken") {
			t.Error(b)
		}
	}
}

func TestPathsCannotLeaveTheFolder(t *testing.T) {
	r := up(t, "files-put")
	r.want(r.send("PUT", "/files/%2E%2E%2F%2E%2E%2Fevil", `{"content":"x"}`), 200)
	if all := r.effects(); all[0].Attrs["path"] != "../../evil" {
		t.Errorf("path %v", all[0].Attrs["path"])
	}
	if got := r.want(r.send("GET", "/files?prefix=..", ""), 200); !strings.Contains(got.body, "evil@1") {
		t.Errorf("list %s", got.body)
	}
}

func TestRaiseRefuses(t *testing.T) {
	c := bench.Contract{Name: "x", Provider: "mail"}
	for kind, want := range map[string]string{"fax": `provider "fax" is not known`, "rows": `contract "x" is for provider "mail"`} {
		_, err := Raise(context.Background(), bench.ProviderSpec{Kind: kind, Contract: c})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Raise of %s: %v, want %s", kind, err, want)
		}
	}
}
