package provide

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// machine is a machine's clock that a test moves.
type machine struct {
	mu  sync.Mutex
	now time.Time
}

func (m *machine) read() time.Time { m.mu.Lock(); defer m.mu.Unlock(); return m.now }
func (m *machine) pass(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}

// rig is a served fake with its control address.
type rig struct {
	*testing.T
	fake    *Fake
	machine *machine
	base    string
	control *httptest.Server
}

// reader reads effects by the store's own code; the oracles are tested with the program.
type reader struct{}

func (reader) Kind() string { return "any" }
func (reader) Read(ctx context.Context, dir string) (effects []bench.Effect, err error) {
	s, err := store.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	all, err := s.Objects()
	for _, o := range all {
		effects = append(effects, bench.Effect{Object: o.ID, Class: o.Class, Request: o.Request, Attrs: o.Attrs})
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return effects, err
}

func up(t *testing.T, contract, file string) *rig {
	t.Helper()
	r, err := raise(t, contract, file)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func raise(t *testing.T, contract, file string) (*rig, error) {
	t.Helper()
	c, ok := contracts.Find(contract)
	if !ok {
		t.Fatalf("contract %q is not there", contract)
	}
	l, err := bench.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{now: bench.Epoch}
	f, err := Open(context.Background(), Spec{Contract: c, Listener: l, Dir: t.TempDir(), File: file, Oracle: reader{}, Machine: m.read})
	if err != nil {
		return nil, err
	}
	h, err := f.Handler("secret")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t, f, m, "http://" + l.Addr().String(), httptest.NewServer(h)}
	t.Cleanup(func() {
		r.control.Close()
		if err := f.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r, nil
}

// ask sends a request to the control address and returns status and body.
func (r *rig) ask(method, path, body string) (int, string) {
	r.Helper()
	req, err := http.NewRequest(method, r.control.URL+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer secret")
	res, err := r.control.Client().Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		r.Fatal(err)
	}
	if !json.Valid(text) {
		r.Errorf("%s %s answers no JSON: %s", method, path, text)
	}
	return res.StatusCode, string(text)
}

// want asks and wants 200, with the answer in into.
func (r *rig) want(into any, method, path, body string) {
	r.Helper()
	status, text := r.ask(method, path, body)
	if status != http.StatusOK {
		r.Fatalf("%s %s %s: status %d: %s", method, path, body, status, text)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		r.Fatalf("%s %s: %v in %s", method, path, err, text)
	}
}

// answered is what a client of the fake got; err is not nil if there was no whole answer.
type answered struct {
	status int
	header http.Header
	body   string
	err    error
}

func (r *rig) refund(order, key string) answered {
	form := url.Values{"payment_intent": {order}, "amount": {"2500"}}
	req, err := http.NewRequest("POST", r.base+"/v1/refunds", strings.NewReader(form.Encode()))
	if err != nil {
		return answered{err: err}
	}
	req.GetBody = nil // never sent again by itself
	req.Header.Set("Idempotency-Key", key)
	req.Header.Set("Authorization", "Bearer sk_test_1")
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return answered{err: err}
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return answered{res.StatusCode, res.Header, string(b), err}
}

func (r *rig) effects() int {
	r.Helper()
	var all []bench.Effect
	r.want(&all, "GET", "/effects", "")
	return len(all)
}

func TestWhatEachActDoes(t *testing.T) {
	for _, c := range []struct {
		order   string
		status  int // of the answer; 0: none comes whole
		effects int
		retried int // effects after a retry under the key
	}{
		{`{"at":"committed","act":"reset"}`, 0, 1, 1},
		{`{"at":"committed","act":"close"}`, 0, 1, 1},
		{`{"at":"committed","act":"truncate","bytes":7}`, 0, 1, 1},
		{`{"at":"committed","act":"crash"}`, 0, 1, 1},
		{`{"at":"committed","act":"replace","status":503,"body":"edge"}`, 503, 1, 1},
		{`{"at":"committed","act":"fail"}`, 503, 1, 1},
		{`{"at":"before-commit","act":"rollback"}`, 200, 0, 1},
		{`{"at":"before-commit","act":"reset"}`, 0, 0, 1},
		{`{"at":"before-commit","act":"crash"}`, 0, 0, 1},
		{`{"at":"received","act":"reset"}`, 0, 0, 1},
		{`{"at":"received","act":"pass"}`, 200, 1, 1},
		{`{"at":"received","act":"fail","status":429}`, 429, 0, 1},
		{`{"at":"committed","act":"reset","class":"charge"}`, 200, 1, 1},
		{`{"at":"committed","act":"reset","key":"k"}`, 0, 1, 1},
		{`{"at":"committed","act":"reset","op":"create refund"}`, 0, 1, 1},
	} {
		t.Run(c.order, func(t *testing.T) {
			r := up(t, "stripe-v1", "")
			var s Standing
			r.want(&s, "POST", "/gate", c.order)
			if s.ID != "o1" || s.State != "armed" || s.Nth != 1 || s.Times != 1 {
				t.Errorf("armed: %+v", s)
			}
			got := r.refund("o1", "k")
			if (got.err != nil) != (c.status == 0) || c.status != got.status && got.err == nil {
				t.Errorf("the client got %d %s (%v), expected status %d", got.status, got.body, got.err, c.status)
			}
			if n := r.effects(); n != c.effects {
				t.Errorf("%d effects, expected %d", n, c.effects)
			}
			r.want(&s, "GET", "/gate/o1", "")
			if struck := !strings.Contains(c.order, "charge"); struck != (s.State == "done") || struck != (len(s.Struck) == 1) {
				t.Errorf("afterwards: %+v, expected a strike: %v", s, struck)
			}
			again := r.refund("o1", "k")
			if n := r.effects(); n != c.retried || again.err != nil {
				t.Errorf("%d effects after a retry (%v), expected %d", n, again.err, c.retried)
			}
		})
	}
}

// TestNthAndTimes counts the calls that fit.
func TestNthAndTimes(t *testing.T) {
	r := up(t, "stripe-v1", "")
	r.want(nil, "POST", "/gate", `{"at":"received","act":"fail","status":500,"nth":2,"times":2}`)
	var got []int
	for _, k := range []string{"a", "b", "c", "d"} {
		got = append(got, r.refund("o1", k).status)
	}
	if want := []int{200, 500, 500, 200}; !equal(got, want) {
		t.Errorf("answers %v, expected %v", got, want)
	}
	var s Standing
	r.want(&s, "GET", "/gate/o1", "")
	if s.Fitted != 4 || len(s.Struck) != 2 || s.Struck[0].Request != "r2" || s.Struck[1].Request != "r3" || s.State != "done" {
		t.Errorf("standing %+v", s)
	}
	r.want(nil, "POST", "/gate", `{"at":"received","act":"reset"}`)
	r.want(nil, "DELETE", "/gate/o2", "")
	if got := r.refund("o1", "e"); got.err != nil {
		t.Errorf("after its order was taken back: %v", got.err)
	}
}

func equal(a, b []int) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

// TestHold: a call stands there until it is released, into what the release says.
func TestHold(t *testing.T) {
	r := up(t, "stripe-v1", "")
	r.want(nil, "POST", "/gate", `{"at":"before-commit","act":"hold"}`)
	first := make(chan answered, 1)
	go func() { first <- r.refund("o1", "k") }()
	var s Standing
	r.want(&s, "GET", "/gate/o1?wait=1m", "")
	if s.State != "holding" || s.Struck[0].Over {
		t.Fatalf("standing %+v", s)
	}
	if got := r.refund("o1", "k"); got.status != http.StatusConflict { // the key is in work
		t.Errorf("the second under the key got %d %s (%v), expected 409", got.status, got.body, got.err)
	}
	if status, text := r.ask("POST", "/gate/o1/release", `{"act":"hold"}`); status != 400 {
		t.Errorf("released into a hold: status %d %s", status, text)
	}
	r.want(&s, "POST", "/gate/o1/release", `{"act":"reset"}`)
	if got := <-first; got.err == nil || s.State != "done" || s.Struck[0].Act != "reset" {
		t.Errorf("released: %+v, the client got %d (%v)", s, got.status, got.err)
	}
	if n := r.effects(); n != 0 {
		t.Errorf("%d effects, expected none: it was reset before its commit", n)
	}
	if status, text := r.ask("POST", "/gate/o1/release", `{}`); status != 400 || !strings.Contains(text, "holds no call") {
		t.Errorf("released twice: status %d %s", status, text)
	}
}

// TestClock moves time around the end of a key's retention while the machine's stands.
func TestClock(t *testing.T) {
	r := up(t, "stripe-v1", "")
	var now Reading
	r.want(&now, "POST", "/clock", `{"runs":false}`)
	start := now.Now
	r.machine.pass(time.Hour)
	r.want(&now, "GET", "/clock", "")
	if now.Runs || !now.Now.Equal(start) {
		t.Fatalf("it stands, and shows %+v an hour after %s", now, start)
	}
	first := r.refund("o1", "k")
	r.want(nil, "POST", "/clock", `{"pass":"24h"}`)
	if got := r.refund("o1", "k"); got.body != first.body || got.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("at the end of the retention: %s, expected the first's %s", got.body, first.body)
	}
	r.want(&now, "POST", "/clock", `{"pass":"1ns"}`)
	got := r.refund("o1", "k")
	if got.body == first.body || r.effects() != 2 {
		t.Errorf("past the retention: %s, %d effects, expected a second one", got.body, r.effects())
	}
	if date := got.header.Get("Date"); date != now.Now.Format(http.TimeFormat) {
		t.Errorf("Date %s, expected %s", date, now.Now.Format(http.TimeFormat))
	}
	r.want(&now, "POST", "/clock", `{"runs":true}`)
	r.machine.pass(time.Minute)
	want := now.Now.Add(time.Minute)
	r.want(&now, "GET", "/clock", "")
	if !now.Runs || !now.Now.Equal(want) {
		t.Errorf("it runs again and shows %+v, expected %s", now, want)
	}
	r.want(&now, "POST", "/clock", `{"set":"2027-03-01T00:00:00Z"}`)
	if now.Now.Format(time.RFC3339) != "2027-03-01T00:00:00Z" {
		t.Errorf("set: %+v", now)
	}
}

// TestReset begins anew behind the same address, with and without a file.
func TestReset(t *testing.T) {
	for name, file := range map[string]string{"temporary": "", "kept": filepath.Join(t.TempDir(), "s.db")} {
		t.Run(name, func(t *testing.T) {
			r := up(t, "stripe-v1", file)
			r.refund("o1", "k")
			r.want(nil, "POST", "/clock", `{"pass":"48h"}`)
			r.want(nil, "POST", "/gate", `{"at":"committed","act":"hold"}`)
			held := make(chan answered, 1)
			go func() { held <- r.refund("o2", "k2") }()
			r.want(nil, "GET", "/gate/o1?wait=1m", "")
			var now Reading
			r.want(&now, "POST", "/reset", "")
			if got := <-held; got.err == nil {
				t.Errorf("the held call got %d, expected a lost connection", got.status)
			}
			if now.Ahead != "0s" || r.effects() != 0 {
				t.Errorf("after the reset: %+v, %d effects", now, r.effects())
			}
			for _, path := range []string{"/gate", "/requests", "/keys", "/dedup"} {
				if _, text := r.ask("GET", path, ""); strings.TrimSpace(text) != "[]" {
					t.Errorf("%s after the reset: %s", path, text)
				}
			}
			if got := r.refund("o1", "k"); got.status != 200 || got.header.Get("Idempotent-Replayed") != "" || r.effects() != 1 {
				t.Errorf("under the key of before: %+v, expected a new refund", got)
			}
		})
	}
}

// TestWhatIsListed shows a replay in every list.
func TestWhatIsListed(t *testing.T) {
	r := up(t, "stripe-v1", "")
	first := r.refund("o1", "k")
	r.refund("o1", "k")
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(first.body), &made); err != nil {
		t.Fatal(err)
	}
	var requests []request
	r.want(&requests, "GET", "/requests", "")
	if len(requests) != 2 || requests[0].Op != "create refund" || requests[1].Key != "k" || string(requests[0].Attrs) != `{"amount":2500,"order":"o1"}` ||
		len(requests[0].Points) != 3 || len(requests[1].Points) != 2 || requests[1].Points[1] != (Passage{"before-response", 200}) {
		t.Errorf("requests %+v", requests)
	}
	r.want(&requests, "GET", "/requests?last=1", "")
	if len(requests) != 1 || requests[0].Request != "r2" {
		t.Errorf("the last request: %+v", requests)
	}
	var keys []key
	r.want(&keys, "GET", "/keys", "")
	if len(keys) != 1 || keys[0].State != "done" || keys[0].Request != "r1" || string(keys[0].Objects) != `["`+made.ID+`"]` || keys[0].Done == nil {
		t.Errorf("keys %+v", keys)
	}
	var dedup []bench.DedupRecord
	r.want(&dedup, "GET", "/dedup", "")
	if len(dedup) != 1 || dedup[0].Request != "r2" || dedup[0].Record != made.ID {
		t.Errorf("dedup records %+v", dedup)
	}
	var a about
	r.want(&a, "GET", "/", "")
	if a.Name != "stripe-v1" || a.Advertised.Key.Retention != 24*time.Hour || a.Busy != "" {
		t.Errorf("about %+v", a)
	}
}

// TestWarning: an order for an op or a class that no call had says so, and which there were.
func TestWarning(t *testing.T) {
	r := up(t, "stripe-v1", "")
	warning := func(method, path, body string) string {
		t.Helper()
		var got struct{ Warning string }
		r.want(&got, method, path, body)
		return got.Warning
	}
	const order = `{"at":"committed","act":"pass","op":"RunTask"}`
	if w := warning("POST", "/gate", order); w != "" {
		t.Errorf("before any call: %q, expected no warning", w)
	}
	if a := r.refund("o1", "k1"); a.err != nil {
		t.Fatal(a.err)
	}
	const want = `no request so far has had op "RunTask"; there were: create refund`
	if w := warning("GET", "/gate/o1", ""); w != want {
		t.Errorf("order o1: %q, expected %q", w, want)
	}
	if w := warning("POST", "/gate", order); w != want {
		t.Errorf("the order again: %q, expected %q", w, want)
	}
	if w := warning("POST", "/gate", `{"at":"committed","act":"pass","class":"task"}`); !strings.Contains(w, `class "task"; there were classes: refund;`) {
		t.Errorf("class task: %q", w)
	}
	if w := warning("POST", "/gate", `{"at":"committed","act":"pass","op":"create refund","class":"refund"}`); w != "" {
		t.Errorf("words of a call that came: %q, expected no warning", w)
	}
}

// TestStoreThatCannotBeWritten: it is said what cannot, and it is not taken for a store of something else.
func TestStoreThatCannotBeWritten(t *testing.T) {
	for err, want := range map[error]string{unix.EROFS: "cannot be written: read-only file system", os.ErrPermission: "cannot be written: permission denied"} {
		dir := t.TempDir()
		if got := unopened(filepath.Join(dir, "s.db"), err).Error(); !strings.HasSuffix(got, "s.db: folder "+dir+" "+want) {
			t.Errorf("%v: %s", err, got)
		}
	}
}
