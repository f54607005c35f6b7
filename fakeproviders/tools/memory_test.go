package tools

import (
	"net/http"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
)

func TestMemory(t *testing.T) {
	a, other := map[string]any{"title": "A"}, map[string]any{"title": "B"}
	keyed := func(args map[string]any, key string) map[string]any {
		with := map[string]any{keyArgument: key}
		for name, v := range args {
			with[name] = v
		}
		return with
	}
	type call struct {
		args map[string]any
		id   string
	}
	cases := []struct {
		name   string
		memory bool
		key    bench.KeyUse
		calls  [2]call
		want   int // requests at the provider
	}{
		{"same call id", true, bench.KeyNone, [2]call{{a, "c1"}, {a, "c1"}}, 1},
		{"same call id, other arguments", true, bench.KeyNone, [2]call{{a, "c1"}, {other, "c1"}}, 1},
		{"other call id", true, bench.KeyNone, [2]call{{a, "c1"}, {a, "c2"}}, 2},
		{"no call id", true, bench.KeyNone, [2]call{{a, ""}, {a, ""}}, 2},
		{"no memory", false, bench.KeyNone, [2]call{{a, "c1"}, {a, "c1"}}, 2},
		{"same key, other call id", true, bench.KeyArgument, [2]call{{keyed(a, "k"), "c1"}, {keyed(a, "k"), "c2"}}, 1},
		{"other key, same call id", true, bench.KeyArgument, [2]call{{keyed(a, "k"), "c1"}, {keyed(a, "l"), "c1"}}, 2},
	}
	pool := newTestPool(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := newProvider(t, ticketsAnswer)
			config := ticketConfig(p, bench.ToolUse{Key: c.key, Errors: bench.ErrorsTyped})
			config.Memory = c.memory
			s := raise(t, pool, config)
			defer s.Release()
			for _, each := range c.calls {
				if status, a := post(t, s, "create_ticket", each.args, each.id, ""); status != 200 {
					t.Fatalf("got %d %+v", status, a)
				}
			}
			if got := len(p.requests()); got != c.want {
				t.Errorf("provider saw %d requests, expected %d", got, c.want)
			}
			if c.want == 1 {
				if n := nextNote(t, s); n.Kind != "dedup" || n.Object != "tk_1" {
					t.Errorf("note %+v, expected dedup of tk_1", n)
				}
			}
		})
	}
}

// What was not done is not remembered: the repeat is carried out.
func TestMemoryForgetsFailures(t *testing.T) {
	p := newProvider(t, func(n int, s seen, w http.ResponseWriter, r *http.Request) {
		if n == 1 {
			cut(w)
			return
		}
		ticketsAnswer(n, s, w, r)
	})
	config := ticketConfig(p, bench.ToolUse{Errors: bench.ErrorsTyped})
	config.Memory = true
	s := raise(t, newTestPool(t), config)
	args := map[string]any{"title": "A"}
	if _, a := post(t, s, "create_ticket", args, "c1", ""); a.Status != Unknown {
		t.Fatalf("first: %+v", a)
	}
	if _, a := post(t, s, "create_ticket", args, "c1", ""); a.Status != Done || a.Receipts[0] != "tk_2" {
		t.Errorf("repeat: %+v", a)
	}
}

// A repeat of a call under way waits for it.
func TestMemoryInFlight(t *testing.T) {
	arrived, goOn := make(chan struct{}), make(chan struct{})
	p := newProvider(t, func(n int, s seen, w http.ResponseWriter, r *http.Request) {
		close(arrived) // a second request would panic here
		<-goOn
		ticketsAnswer(n, s, w, r)
	})
	config := ticketConfig(p, bench.ToolUse{Errors: bench.ErrorsTyped})
	config.Memory = true
	s := raise(t, newTestPool(t), config)
	ctx := withDeadline(t)
	answers := make(chan Answer, 2)
	send := func() {
		_, a, _ := tryPost(ctx, s, "create_ticket", map[string]any{"title": "A"}, "c1", "")
		answers <- a
	}
	go send()
	<-arrived
	go send()
	for { // until the repeat is in the server's hands, by its own counter
		busy, err := s.Busy(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if busy == 4 { // two exchanges, two calls
			break
		}
	}
	close(goOn)
	for range 2 {
		if a := <-answers; a.Status != Done || len(a.Receipts) != 1 || a.Receipts[0] != "tk_1" {
			t.Errorf("got %+v, expected the first's receipt", a)
		}
	}
	if n := nextNote(t, s); n.Kind != "dedup" {
		t.Errorf("note %+v, expected dedup", n)
	}
}

// A minted key is the same again from the same instance only.
func TestMintedKeys(t *testing.T) {
	p := newProvider(t, func(_ int, _ seen, w http.ResponseWriter, _ *http.Request) { cut(w) })
	config := ticketConfig(p, bench.ToolUse{Key: bench.KeyMinted})
	config.Memory = true
	pool := newTestPool(t)
	first, second := raise(t, pool, config), raise(t, pool, config)
	args := map[string]any{"title": "A"}
	post(t, first, "create_ticket", args, "c1", "")
	post(t, first, "create_ticket", args, "c1", "")
	post(t, second, "create_ticket", args, "c1", "")
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := first.Restart(withDeadline(t)); err != nil {
		t.Fatal(err)
	}
	post(t, first, "create_ticket", args, "c1", "")
	got := p.requests()
	if len(got) != 4 || got[0].key == "" || got[0].key != got[1].key {
		t.Fatalf("keys of one instance differ: %v", got)
	}
	if got[2].key == got[0].key || got[3].key == got[0].key || got[2].key == got[3].key {
		t.Errorf("another instance, or the next process, has the same key: %v", got)
	}
}
