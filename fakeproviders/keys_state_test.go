package fakeproviders

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// drawTerms draws a contract for keys, any dimension with any other.
func drawTerms(rt *rapid.T) bench.Terms {
	word := func(name string, all ...string) string { return rapid.SampledFrom(all).Draw(rt, name) }
	span := func(name string, all ...time.Duration) time.Duration { return rapid.SampledFrom(all).Draw(rt, name) }
	often := func(name string) bool { return rapid.IntRange(0, 4).Draw(rt, name) == 0 }
	t := bench.Terms{
		Closes: span("closes", 0, 0, 30*time.Minute),
		Key: bench.KeyTerms{
			Location:    word("location", "header:Idempotency-Key", "body:request_id", "query:requestId", "header:Idempotency-Key", ""),
			Required:    often("required"),
			Scope:       word("scope", "account", "account+region", "account+path", "everybody"),
			Fingerprint: word("fingerprint", "none", "params", "params+path"),
			Mismatch:    word("mismatch", "400", "409", "422", "conflict", "silent"),
			Retention:   span("retention", time.Hour, 24*time.Hour),
			ClockStart:  word("clock start", "first-seen", "completed", "resource-end"),
			FailedFor:   span("failed for", 0, 5*time.Minute),
			ClaimFor:    span("claim for", 0, 5*time.Minute),
			Concurrent:  word("concurrent", "conflict", "wait", "execute"),
			InFlight:    word("in flight", "memory", "durable"),
			Saves:       word("saves", "success", "final", "executed", "resumes"),
			Replay:      word("replay", "stored", "current", "conflict"),
			Marker:      word("marker", "", "Idempotent-Replayed", "status 200"),
		},
	}
	if t.Key.Location == "" {
		t.Key = bench.KeyTerms{} // accepted, and not enforced
	}
	if t.Key.ClockStart == "resource-end" {
		t.Key.AfterEnd = span("after end", 0, 10*time.Minute, 2*time.Hour)
	}
	if often("ignores") {
		t.Key.Ignores = []string{"note"}
	}
	t.Key.ForgetsOnError, t.Key.LatestOnly = often("forgets on error"), often("latest only")
	return t
}

func drawWish(rt *rapid.T, name string) wish {
	return wish{
		key:       rapid.SampledFrom([]string{"a", "a", "b", ""}).Draw(rt, name+" key"),
		principal: rapid.SampledFrom([]string{"p", "p", "q"}).Draw(rt, name+" principal"),
		path:      rapid.SampledFrom([]string{"/orders", "/orders", "/payments"}).Draw(rt, name+" path"),
		region:    rapid.SampledFrom([]string{"eu", "eu", "us"}).Draw(rt, name+" region"),
		note:      rapid.SampledFrom([]string{"n", "n", "m"}).Draw(rt, name+" note"),
		number:    rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(rt, name+" number"),
	}
}

func drawFate(rt *rapid.T) fate {
	f := fate{act: rapid.SampledFrom([]bench.Act{bench.Pass, bench.Pass, bench.Fail, bench.Fail, bench.Rollback, bench.CrashAct, bench.Reset}).Draw(rt, "act"),
		status: rapid.SampledFrom([]int{500, 500, 503, 422, 429, 409, 401}).Draw(rt, "status"),
		works:  rapid.SampledFrom([]time.Duration{0, 0, time.Minute}).Draw(rt, "works")}
	switch f.act {
	case bench.Rollback:
		f.at = bench.BeforeCommit
	case bench.Reset:
		f.at = bench.Committed
	case bench.Fail, bench.CrashAct:
		f.at = rapid.SampledFrom([]bench.Point{bench.Received, bench.BeforeCommit, bench.Committed}).Draw(rt, "at")
	}
	return f
}

// keyRig is a provider beside its model.
type keyRig struct {
	*rig
	rt       *rapid.T
	model    *keyModel
	requests int
}

// call sends a wish; the header says for whom, and the key goes where the contract has it.
func (k *keyRig) call(w wish) reply {
	path, body, header := w.path, w.body(), []string{"X-On-Behalf-Of", w.principal}
	place, name, _ := strings.Cut(k.model.terms.Key.Location, ":")
	switch {
	case w.key == "":
	case place == "body":
		body = fmt.Sprintf(`{%q:%q,`, name, w.key) + body[1:]
	case place == "query":
		path += "?" + name + "=" + w.key
	default:
		header = append(header, "Idempotency-Key", w.key)
	}
	return k.send("POST", path, body, header...)
}

// name is the next request's.
func (k *keyRig) name() string {
	k.requests++
	return fmt.Sprintf("r%d", k.requests)
}

// step sends one request with its fate, and perhaps another under the same key while it is in work.
func (k *keyRig) step(w wish, f fate, second *wish) {
	name := k.name()
	if f.act != bench.Pass && f.at != bench.BeforeCommit {
		k.gate.order(f.at, name, bench.Action{Act: f.act, Status: f.status})
	}
	parked := k.gate.park(bench.BeforeCommit, name)
	first := k.async(func() reply { return k.call(w) })
	var other *waiting
	var got reply
	answered := false
	want := k.model.send(w, f, func() { // the model says that it is executed
		select {
		case <-parked.arrived:
		case got = <-first:
			k.rt.Fatalf("%+v is answered by %d %s, want it executed", w, got.status, got.body)
		}
		if second == nil {
			return
		}
		other = k.meanwhile(*second)
	})
	select {
	case <-parked.arrived:
		k.clock.pass(f.works)
		act := pass()
		if f.act != bench.Pass && f.at == bench.BeforeCommit {
			act = bench.Action{Act: f.act, Status: f.status}
		}
		parked.goOn <- act
	case got = <-first:
		answered = true
	}
	if !answered {
		got = <-first
	}
	k.compare(w, got, want)
	if other != nil { // it has waited: it is answered as one that comes now
		k.compare(*second, other.end(), k.model.send(*second, fate{act: bench.Pass}, nil))
	}
	if b := k.Busy(); strings.Contains(b, "broken") {
		k.rt.Fatal(b)
	}
}

// waiting is a request that waits for another one under its key.
type waiting struct {
	reply  chan reply
	parked *park // before its own commit, if it comes to that
}

// end lets it go on to its answer.
func (w *waiting) end() reply {
	select {
	case <-w.parked.arrived:
		w.parked.goOn <- pass()
		return <-w.reply
	case got := <-w.reply:
		return got
	}
}

// meanwhile sends a second request while the first is in work. One that waits is returned.
func (k *keyRig) meanwhile(w wish) *waiting {
	name := k.name()
	switch k.model.terms.Key.Concurrent {
	case "conflict":
		k.compare(w, k.call(w), verdict{how: "in use", status: http.StatusConflict})
	case "execute":
		second := *k.model // what it makes counts, and the first one's record comes over its own
		second.records = map[string]*keyRecord{}
		want := second.send(w, fate{act: bench.Pass}, nil)
		k.model.made = second.made
		k.model.records[k.model.scope(w)] = second.records[k.model.scope(w)]
		k.compare(w, k.call(w), want)
	case "wait":
		received := k.gate.park(bench.Received, name)
		other := &waiting{parked: k.gate.park(bench.BeforeCommit, name)}
		other.reply = k.async(func() reply { return k.call(w) })
		<-received.arrived
		received.goOn <- pass()
		return other
	}
	return nil
}

// learn holds what exists against what the model made, in order of commit, and learns the ids.
func (k *keyRig) learn() {
	made := k.effects()
	made = slices.DeleteFunc(made, func(o store.Object) bool { return o.Sign < 0 })
	if len(made) != len(k.model.made) {
		k.rt.Fatalf("%d objects under %+v, want %d", len(made), k.model.terms, len(k.model.made))
	}
	for i, o := range k.model.made {
		if o.id = made[i].ID; made[i].Principal != o.principal {
			k.rt.Fatalf("object %s is of %q, want it of %q", o.id, made[i].Principal, o.principal)
		}
	}
}

// compare holds an answer against what it must be, and learns the id of what was made.
func (k *keyRig) compare(w wish, got reply, want verdict) {
	k.learn()
	if want.status == 0 {
		if got.err == nil {
			k.rt.Fatalf("%+v is answered by %d %s, want no answer", w, got.status, got.body)
		}
		return
	}
	if got.err != nil || got.status != want.status {
		k.rt.Fatalf("%+v under %+v: %d %s (%v), want %s with %d", w, k.model.terms.Key, got.status, got.body, got.err, want.how, want.status)
	}
	id, _ := got.field("id").(string)
	existing, _ := got.field("existing").(string)
	switch {
	case want.how == "made":
		if id != want.object.id {
			k.rt.Fatalf("%+v: %s, want the new object %s", w, got.body, want.object.id)
		}
	case want.how == "replayed" && want.status/100 == 2:
		end, ended := k.model.end(want.object)
		over := ended && !end.After(k.model.now)
		state := map[bool]string{true: "cancelled", false: "accepted"}[over && !want.stored]
		if id != want.object.id || k.model.terms.Key.Replay == "current" && got.field("status") != state {
			k.rt.Fatalf("%+v: %s, want a replay of %s as %s", w, got.body, want.object.id, state)
		}
	case want.object != nil && want.how != "failed": // named by a conflict
		if existing != want.object.id {
			k.rt.Fatalf("%+v: %s, want %s named", w, got.body, want.object.id)
		}
	}
	codes := map[string]string{"in use": "idempotency_key_in_use", "missing": "idempotency_key_missing"}
	if c := codes[want.how]; c != "" && code(got) != c {
		k.rt.Fatalf("%+v: %s, want %s", w, got.body, c)
	}
}

// cancel ends an object that was made, by its owner.
func (k *keyRig) cancel(n int) {
	o := k.model.made[n]
	k.name()
	got := k.send("POST", o.path+"/"+o.id+"/cancel", "", "X-On-Behalf-Of", o.principal)
	if got.status != http.StatusOK {
		k.rt.Fatalf("cancel %s: %d %s", o.id, got.status, got.body)
	}
	if o.ended.IsZero() {
		o.ended = k.model.now
	}
}

// TestKeysAgainstAModel holds the state machine of keys against the model: any contract, any requests, fates,
// passages of time and ends of objects.
func TestKeysAgainstAModel(t *testing.T) {
	c, _ := contracts.Find("paypal-orders")
	rapid.Check(t, func(rt *rapid.T) {
		terms := drawTerms(rt)
		c.Advertised, c.Actual = terms, terms
		r := upWith(t, c, nil)
		defer r.Close()
		k := &keyRig{rig: r, rt: rt, model: &keyModel{terms: terms, now: bench.Epoch, records: map[string]*keyRecord{}}}
		spans := []time.Duration{time.Minute, 5 * time.Minute, 5*time.Minute + time.Second, 30 * time.Minute, terms.Key.AfterEnd,
			terms.Key.AfterEnd + time.Second, terms.Key.Retention, terms.Key.Retention + time.Second}
		for range rapid.IntRange(2, 12).Draw(rt, "steps") {
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0:
				d := rapid.SampledFrom(spans).Draw(rt, "passes")
				r.clock.pass(d)
				k.model.now = k.model.now.Add(d)
			case 1:
				if n := len(k.model.made); n > 0 {
					k.cancel(rapid.IntRange(0, n-1).Draw(rt, "cancels"))
				}
			case 2:
				w, f := drawWish(rt, "first"), drawFate(rt)
				second := w
				second.number = rapid.IntRange(1, 2).Draw(rt, "second number")
				// One that waits goes on at the commit, before a failure after it: which comes first is open.
				open := f.act == bench.Fail && f.at == bench.Committed && terms.Key.Concurrent == "wait"
				if open || f.act == bench.CrashAct || w.key == "" || terms.Key.Location == "" {
					k.step(w, f, nil)
				} else {
					k.step(w, f, &second)
				}
			default:
				k.step(drawWish(rt, "wish"), drawFate(rt), nil)
			}
		}
	})
}

// TestBrokenPromises walks through each way of breaking a key's promise: the same order is placed again and
// again under key k, with what happens in between; what the answers are, and how many orders there are.
func TestBrokenPromises(t *testing.T) {
	crash := func(at bench.Point) func(*rig) {
		return func(r *rig) { r.gate.order(at, "r1", bench.Action{Act: bench.CrashAct}) }
	}
	fails := func(at bench.Point, status int) func(*rig) {
		return func(r *rig) { r.gate.order(at, "r1", bench.Action{Act: bench.Fail, Status: status}) }
	}
	later := func(d time.Duration) func(*rig) { return func(r *rig) { r.clock.pass(d) } }
	other := func(r *rig) { r.want(r.place("", "PayPal-Request-Id", "other"), 201) }
	cancel := func(r *rig) { r.want(r.send("POST", "/orders/"+r.effects()[0].ID+"/cancel", ""), 200) }
	for _, c := range []struct {
		name    string
		change  func(k *bench.Terms)
		before  func(*rig)
		between []func(*rig)
		answers []int // 0: none
		orders  int
	}{
		{"kept", func(*bench.Terms) {}, nil, []func(*rig){other}, []int{201, 200}, 2},
		{"accepted and not enforced", func(k *bench.Terms) { k.Key = bench.KeyTerms{} }, nil, []func(*rig){other}, []int{201, 201}, 3},
		{"a crash forgets the claim", func(*bench.Terms) {}, crash(bench.BeforeCommit), []func(*rig){nil}, []int{0, 201}, 1},
		{"a crash leaves the claim", func(k *bench.Terms) { k.Key.InFlight = "durable" }, crash(bench.BeforeCommit),
			[]func(*rig){nil, later(6 * time.Hour), later(time.Second)}, []int{0, 409, 409, 201}, 1},
		{"a crash leaves the claim for 5 min", func(k *bench.Terms) { k.Key.InFlight, k.Key.ClaimFor = "durable", 5*time.Minute }, crash(bench.BeforeCommit),
			[]func(*rig){later(5 * time.Minute), later(time.Second), nil}, []int{0, 409, 201, 200}, 1},
		{"a crash after the commit", func(k *bench.Terms) { k.Key.InFlight = "durable" }, crash(bench.Committed), []func(*rig){nil}, []int{0, 200}, 1},
		{"the claim goes with an error", func(k *bench.Terms) { k.Key.ForgetsOnError = true }, fails(bench.Committed, 500), []func(*rig){nil}, []int{500, 201}, 2},
		{"a failure is kept", func(k *bench.Terms) { k.Key.Saves = "executed" }, fails(bench.BeforeCommit, 500),
			[]func(*rig){nil, later(6 * time.Hour), later(time.Second)}, []int{500, 500, 500, 201}, 1},
		{"a failure is kept for 5 min", func(k *bench.Terms) { k.Key.Saves, k.Key.FailedFor = "executed", 5*time.Minute }, fails(bench.BeforeCommit, 500),
			[]func(*rig){later(5 * time.Minute), later(time.Second), nil}, []int{500, 500, 201, 200}, 1},
		{"a rate limit is never kept", func(k *bench.Terms) { k.Key.Saves = "executed" }, fails(bench.BeforeCommit, 429), []func(*rig){nil}, []int{429, 201}, 1},
		{"a failure is resumed", func(k *bench.Terms) { k.Key.Saves = "resumes" }, fails(bench.Committed, 500), []func(*rig){nil, nil}, []int{500, 201, 200}, 1},
		{"only the latest key is remembered", func(k *bench.Terms) { k.Key.LatestOnly = true }, nil, []func(*rig){nil, other}, []int{201, 200, 201}, 3},
		{"memory goes when the order is over", func(k *bench.Terms) { k.Key.ClockStart, k.Key.AfterEnd = "resource-end", time.Hour }, nil,
			[]func(*rig){later(5 * time.Hour), cancel, later(time.Hour), later(time.Second)}, []int{201, 200, 200, 200, 201}, 2},
		{"memory goes when the order closes by itself", func(k *bench.Terms) { k.Closes, k.Key.ClockStart, k.Key.AfterEnd = time.Hour, "resource-end", 0 }, nil,
			[]func(*rig){later(time.Hour), later(time.Second)}, []int{201, 200, 201}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := up(t, "paypal-orders", func(k *bench.Contract) { c.change(&k.Actual) })
			if c.before != nil {
				c.before(r)
			}
			for i, want := range c.answers {
				if i > 0 && c.between[i-1] != nil {
					c.between[i-1](r)
				}
				got := r.place("", "PayPal-Request-Id", "k")
				if want == 0 && got.err == nil || want != 0 && (got.err != nil || got.status != want) {
					t.Fatalf("answer %d: %d %s (%v), want %d", i+1, got.status, got.body, got.err, want)
				}
			}
			orders := slices.DeleteFunc(r.effects(), func(o store.Object) bool { return o.Sign < 0 })
			if len(orders) != c.orders {
				t.Errorf("%d orders, want %d", len(orders), c.orders)
			}
		})
	}
	t.Run("not scoped by account", func(t *testing.T) {
		for scope, orders := range map[string]int{"account+path": 2, "everybody": 1} {
			r := up(t, "paypal-orders", func(k *bench.Contract) { k.Actual.Key.Scope = scope })
			mine := r.want(r.place("", "PayPal-Request-Id", "k", "X-On-Behalf-Of", "a"), 201)
			theirs := r.place("", "PayPal-Request-Id", "k", "X-On-Behalf-Of", "b")
			if leaks := theirs.field("id") == mine.field("id"); leaks != (orders == 1) || len(r.effects()) != orders {
				t.Errorf("scope %s: %d orders, another account is shown the first one's: %v", scope, len(r.effects()), leaks)
			}
		}
	})
}
