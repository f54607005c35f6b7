package fakeproviders

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
)

func record(request, object string) bench.DedupRecord {
	return bench.DedupRecord{By: "provider", Request: request, Record: object}
}

func TestRetention(t *testing.T) {
	for _, c := range []struct {
		name    string
		clock   string
		park    time.Duration // between the first sight of the key and its completion
		wait    time.Duration // from completion to the retry
		effects int
	}{
		{"just inside", "first-seen", 0, 24 * time.Hour, 1},
		{"just past", "first-seen", 0, 24*time.Hour + time.Nanosecond, 2},
		{"days past", "first-seen", 0, 72 * time.Hour, 2},
		{"from first sight, past", "first-seen", time.Hour, 23*time.Hour + time.Second, 2},
		{"from completion, inside", "completed", time.Hour, 23*time.Hour + time.Second, 1},
		{"from completion, past", "completed", time.Hour, 24*time.Hour + time.Second, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := up(t, "stripe-v1", func(k *bench.Contract) { k.Actual.Key.ClockStart = c.clock })
			p := r.gate.park(bench.BeforeCommit, "r1")
			first := r.async(func() reply { return r.refund("o", "k") })
			<-p.arrived
			r.clock.pass(c.park)
			p.goOn <- pass()
			r.want(<-first, 200)
			r.clock.pass(c.wait)
			second := r.want(r.refund("o", "k"), 200)
			r.wantEffects(c.effects)
			if replayed := second.header.Get("Idempotent-Replayed") == "true"; replayed != (c.effects == 1) {
				t.Errorf("replay marker %v beside %d effects", replayed, c.effects)
			}
		})
	}
}

func TestFingerprint(t *testing.T) {
	for _, c := range []struct {
		name, print, mismatch string
		send                  func(*rig) reply
		status                int
		dedup, made           bool
	}{
		{"same parameters in another order", "params+path", "400", func(r *rig) reply {
			return r.send("POST", "/v1/refunds", "amount=2500&payment_intent=o", "Idempotency-Key", "k")
		}, 200, true, false},
		{"another amount", "params+path", "400", func(r *rig) reply { return r.refund("o", "k", "amount", "2600") }, 400, true, false},
		{"another free text", "params+path", "400", func(r *rig) reply { return r.refund("o", "k", "reason", "x") }, 400, true, false},
		{"another endpoint", "params+path", "400", func(r *rig) reply {
			return r.send("POST", "/v1/payment_intents", "payment_intent=o&amount=2500", "Idempotency-Key", "k")
		}, 400, true, false},
		{"silent mismatch", "params+path", "silent", func(r *rig) reply { return r.refund("o2", "k") }, 200, true, false},
		{"no fingerprint", "none", "400", func(r *rig) reply { return r.refund("o2", "k") }, 200, true, false},
		{"another key", "params+path", "400", func(r *rig) reply { return r.refund("o", "k2") }, 200, false, true},
		{"no key", "params+path", "400", func(r *rig) reply { return r.refund("o", "") }, 200, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := up(t, "stripe-v1", func(k *bench.Contract) {
				k.Actual.Key.Fingerprint, k.Actual.Key.Mismatch = c.print, c.mismatch
			})
			first := r.want(r.refund("o", "k"), 200)
			got := r.want(c.send(r), c.status)
			if c.status == 400 && !strings.Contains(got.body, `"type":"idempotency_error"`) {
				t.Errorf("body %s", got.body)
			}
			if c.dedup && c.status == 200 && got.body != first.body {
				t.Errorf("replay %s, want the stored %s", got.body, first.body)
			}
			want := []bench.DedupRecord{}
			if c.dedup {
				want = append(want, record("r2", first.field("id").(string)))
			}
			r.wantDedup(want...)
			r.wantEffects(map[bool]int{true: 2, false: 1}[c.made])
			if c.dedup && r.gate.points("r2") != "received before-response" {
				t.Errorf("points %s", r.gate.points("r2"))
			}
		})
	}
}

func TestScope(t *testing.T) {
	t.Run("account", func(t *testing.T) {
		r := up(t, "stripe-v1")
		r.want(r.refund("o", "k"), 200)
		r.want(r.send("POST", "/v1/refunds", "payment_intent=o&amount=2500", "Idempotency-Key", "k", "Stripe-Account", "acct_2"), 200)
		r.wantEffects(2)
		if p := r.effects()[1].Principal; p != "acct_2" {
			t.Errorf("principal %q, want acct_2", p)
		}
		r.wantDedup()
	})
	t.Run("cluster", func(t *testing.T) {
		r := up(t, "ecs-run-task")
		r.want(r.runTask(`{"taskDefinition":"web","clientToken":"t"}`), 200)
		r.want(r.runTask(`{"taskDefinition":"web","clientToken":"t","cluster":"b"}`), 200)
		r.wantEffects(2)
		r.want(r.runTask(`{"taskDefinition":"web","clientToken":"t","cluster":"b"}`), 200)
		r.wantEffects(2)
	})
}

func TestConcurrentSameKey(t *testing.T) {
	for _, c := range []struct {
		rule    string
		status  int // of the second, while the first is in work
		effects int
	}{{"conflict", 409, 1}, {"execute", 200, 2}} {
		t.Run(c.rule, func(t *testing.T) {
			r := up(t, "stripe-v1", func(k *bench.Contract) { k.Actual.Key.Concurrent = c.rule })
			p := r.gate.park(bench.BeforeCommit, "r1")
			first := r.async(func() reply { return r.refund("o", "k") })
			<-p.arrived
			second := r.want(r.refund("o", "k"), c.status)
			if c.status == 409 && second.field("error").(map[string]any)["code"] != "idempotency_key_in_use" {
				t.Errorf("body %s", second.body)
			}
			p.goOn <- pass()
			r.want(<-first, 200)
			r.wantEffects(c.effects)
			r.wantDedup() // nothing was there yet that the conflict could be bound to
		})
	}
	t.Run("wait", func(t *testing.T) {
		r := up(t, "stripe-v1", func(k *bench.Contract) { k.Actual.Key.Concurrent = "wait" })
		p := r.gate.park(bench.BeforeCommit, "r1")
		second := r.gate.park(bench.Received, "r2")
		one := r.async(func() reply { return r.refund("o", "k") })
		<-p.arrived
		two := r.async(func() reply { return r.refund("o", "k") })
		<-second.arrived
		second.goOn <- pass()
		p.goOn <- pass()
		if a, b := r.want(<-one, 200), r.want(<-two, 200); a.body != b.body {
			t.Errorf("answers differ: %s and %s", a.body, b.body)
		}
		r.wantEffects(1)
	})
	t.Run("wait for one that fails", func(t *testing.T) {
		r := up(t, "ecs-run-task-waits")
		p := r.gate.park(bench.BeforeCommit, "r1")
		body := `{"taskDefinition":"web","clientToken":"t"}`
		one := r.async(func() reply { return r.runTask(body) })
		<-p.arrived
		two := r.async(func() reply { return r.runTask(body) })
		p.goOn <- bench.Action{Act: bench.Fail, Status: 500}
		r.want(<-one, 500)
		r.want(<-two, 200)
		r.wantEffects(1)
	})
	t.Run("another key while the first is open", func(t *testing.T) {
		r := up(t, "stripe-v1")
		p := r.gate.park(bench.BeforeCommit, "r1")
		first := r.async(func() reply { return r.refund("o", "k1") })
		<-p.arrived
		r.want(r.refund("o", "k2"), 200) // a retry commits while the first is held: no lock of the store is in the way
		p.goOn <- pass()
		r.want(<-first, 200)
		all := r.effects()
		if len(all) != 2 || all[0].Request != "r2" || all[1].Request != "r1" {
			t.Errorf("effects %v; want r2's, then r1's", all)
		}
	})
}

func TestSavedFailures(t *testing.T) {
	for _, c := range []struct {
		saves         string
		at            bench.Point
		status        int
		retry, effect int // status of the retry; effects after it
	}{
		{"executed", bench.Received, 500, 500, 0},
		{"executed", bench.BeforeCommit, 500, 500, 0},
		{"executed", bench.Committed, 500, 500, 1},
		{"executed", bench.BeforeCommit, 429, 200, 1}, // rate limits come before the idempotency layer
		{"success", bench.Received, 500, 200, 1},
		{"success", bench.BeforeCommit, 500, 200, 1},
		{"success", bench.Committed, 500, 200, 1},
	} {
		t.Run(fmt.Sprintf("%s %s %d", c.saves, c.at, c.status), func(t *testing.T) {
			r := up(t, "stripe-v1", func(k *bench.Contract) { k.Actual.Key.Saves = c.saves })
			r.gate.order(c.at, "r1", bench.Action{Act: bench.Fail, Status: c.status})
			first := r.want(r.refund("o", "k"), c.status)
			second := r.want(r.refund("o", "k"), c.retry)
			r.wantEffects(c.effect)
			switch {
			case c.retry == 500:
				if second.body != first.body || second.header.Get("Idempotent-Replayed") != "true" {
					t.Errorf("second answer %s %v; want the first one, marked", second.body, second.header)
				}
				r.wantDedup(record("r2", ""))
			case c.at == bench.Committed:
				r.wantDedup(record("r2", r.effects()[0].ID))
			default:
				r.wantDedup()
			}
		})
	}
}

func TestValidationIsNotSaved(t *testing.T) {
	r := up(t, "stripe-v1")
	for _, body := range []string{"payment_intent=o", "payment_intent=o&amount=2500.5", "amount=2500", "payment_intent=o&amount=1&foo=1"} {
		r.want(r.send("POST", "/v1/refunds", body, "Idempotency-Key", "k"), 400)
	}
	r.want(r.refund("o", "k"), 200)
	r.want(r.refund("o", strings.Repeat("k", 256)), 400)
	r.want(r.refund("o", strings.Repeat("k", 255)), 200)
	r.wantEffects(2)
}

func TestReplayForms(t *testing.T) {
	t.Run("stored, with its marker and ids", func(t *testing.T) {
		r := up(t, "stripe-v1")
		a, b := r.want(r.refund("o", "k"), 200), r.want(r.refund("o", "k"), 200)
		if a.body != b.body || a.header.Get("Idempotent-Replayed") != "" || b.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("first %s %v, replay %s %v", a.body, a.header, b.body, b.header)
		}
		if a.header.Get("Original-Request") != a.header.Get("Request-Id") || b.header.Get("Original-Request") != a.header.Get("Request-Id") || b.header.Get("Request-Id") == a.header.Get("Request-Id") {
			t.Errorf("request ids: first %v, replay %v", a.header, b.header)
		}
	})
	t.Run("current", func(t *testing.T) {
		r := up(t, "ecs-run-task")
		body := `{"taskDefinition":"web","clientToken":"t","count":3}`
		a, b := r.want(r.runTask(body), 200), r.want(r.runTask(body), 200)
		if len(a.field("tasks").([]any)) != 3 || strings.ReplaceAll(a.body, `"lastStatus":"PENDING"`, `"lastStatus":"RUNNING"`) != b.body || a.body == b.body {
			t.Errorf("first %s, replay %s", a.body, b.body)
		}
		r.wantEffects(3)
		r.wantDedup(record("r2", r.effects()[0].ID))
	})
	t.Run("conflict names what is there", func(t *testing.T) {
		r := up(t, "ecs-run-task")
		r.want(r.runTask(`{"taskDefinition":"web","clientToken":"t","count":2}`), 200)
		got := r.want(r.runTask(`{"taskDefinition":"web2","clientToken":"t","count":2}`), 400)
		var want []any
		for _, o := range r.effects() {
			want = append(want, o.ID)
		}
		if ids := got.field("resourceIds").([]any); got.field("__type") != "ConflictException" || !slices.Equal(ids, want) {
			t.Errorf("answer %s, want a conflict with %v", got.body, want)
		}
		r.wantEffects(2)
	})
}

func TestProvidersThatLie(t *testing.T) {
	t.Run("key is not enforced", func(t *testing.T) {
		r := up(t, "stripe-v1-unenforced")
		r.want(r.refund("o", "k"), 200)
		r.want(r.refund("o", "k"), 200)
		r.wantEffects(2)
		r.wantDedup()
	})
	t.Run("key is forgotten early", func(t *testing.T) {
		r := up(t, "stripe-v1-forgets-early")
		r.want(r.refund("o", "k"), 200)
		r.clock.pass(2 * time.Hour)
		r.want(r.refund("o", "k"), 200)
		r.wantEffects(2)
	})
	t.Run("unique constraint is not there", func(t *testing.T) {
		r := up(t, "rows-unenforced")
		for range 2 {
			r.want(r.send("POST", "/tables/t/rows", `{"key":"k","value":"v"}`), 201)
		}
		r.wantEffects(2)
	})
}

func TestLookUps(t *testing.T) {
	const body = `{"title":"T","reference":"ref"}`
	found := func(r *rig) int {
		return strings.Count(r.want(r.send("GET", "/tickets?reference=ref", ""), 200).body, `"tk_`)
	}
	for _, c := range []struct {
		contract string
		pass     time.Duration
		sees     []int // of look-ups one after another
	}{
		{"tickets-authoritative", 0, []int{1}},
		{"tickets-stale", 10*time.Minute - time.Nanosecond, []int{0}},
		{"tickets-stale", 10 * time.Minute, []int{1}},
		{"tickets-lags", 59 * time.Minute, []int{0}},
		{"tickets-lags", time.Hour, []int{1}},
		{"tickets-lags-reads", 0, []int{0, 0, 1, 1}},
		{"tickets-open-only", time.Hour, []int{1}},
		{"tickets-open-only", time.Hour + time.Second, []int{0}},
		{"tickets-stale-unbounded", 24 * time.Hour, []int{0}},
	} {
		t.Run(fmt.Sprintf("%s after %s", c.contract, c.pass), func(t *testing.T) {
			r := up(t, c.contract)
			r.want(r.send("POST", "/tickets", body), 201)
			r.clock.pass(c.pass)
			for i, want := range c.sees {
				if got := found(r); got != want {
					t.Errorf("look-up %d sees %d tickets, want %d", i+1, got, want)
				}
			}
			r.wantEffects(1) // whatever the look-up says
		})
	}
	t.Run("look-ups of before do not count", func(t *testing.T) {
		r := up(t, "tickets-lags-reads")
		for range 3 {
			found(r)
		}
		r.want(r.send("POST", "/tickets", body), 201)
		for i, want := range []int{0, 0, 1} {
			if got := found(r); got != want {
				t.Errorf("look-up %d after it was made sees %d tickets, want %d", i+1, got, want)
			}
		}
	})
	t.Run("none", func(t *testing.T) {
		r := up(t, "tickets-no-look-up")
		r.want(r.send("GET", "/tickets?reference=ref", ""), 400)
	})
	t.Run("tasks by startedBy, lagging", func(t *testing.T) {
		r := up(t, "ecs-run-task")
		r.want(r.runTask(`{"taskDefinition":"web","startedBy":"ref"}`), 200)
		arn := r.effects()[0].ID
		for _, want := range []string{`{"taskArns":[]}`, fmt.Sprintf(`{"taskArns":[%q]}`, arn)} {
			if got := r.want(r.ecs("ListTasks", `{"startedBy":"ref"}`), 200); got.body != want {
				t.Errorf("tasks %s, want %s", got.body, want)
			}
			described := r.want(r.ecs("DescribeTasks", fmt.Sprintf(`{"tasks":[%q]}`, arn)), 200)
			if missing := strings.Contains(described.body, "MISSING"); missing != (want == `{"taskArns":[]}`) {
				t.Errorf("described as %s", described.body)
			}
			r.clock.pass(5 * time.Minute)
		}
		r.want(r.ecs("ListTasks", `{"startedBy":"ref","family":"web"}`), 400)
	})
}

func TestUniqueAndNatural(t *testing.T) {
	t.Run("rows", func(t *testing.T) {
		r := up(t, "rows-unique")
		first := r.want(r.send("POST", "/tables/t/rows", `{"key":"k","value":"v"}`), 201)
		second := r.want(r.send("POST", "/tables/t/rows", `{"key":"k","value":"other"}`), 409)
		if second.field("existing") != first.field("id") {
			t.Errorf("refusal %s, want existing %v", second.body, first.field("id"))
		}
		r.want(r.send("POST", "/tables/t2/rows", `{"key":"k","value":"v"}`), 201)
		r.wantEffects(2)
		r.wantDedup(record("r2", first.field("id").(string)))
	})
	t.Run("rows, both open", func(t *testing.T) {
		r := up(t, "rows-unique")
		p := r.gate.park(bench.BeforeCommit, "r1")
		first := r.async(func() reply { return r.send("POST", "/tables/t/rows", `{"key":"k","value":"v"}`) })
		<-p.arrived
		second := r.want(r.send("POST", "/tables/t/rows", `{"key":"k","value":"v"}`), 201)
		p.goOn <- pass()
		if got := r.want(<-first, 409); got.field("existing") != second.field("id") {
			t.Errorf("the later commit is told %s", got.body)
		}
		r.wantEffects(1)
		if p := r.gate.points("r1"); p != "received before-commit before-response" {
			t.Errorf("points %s", p)
		}
	})
	t.Run("files", func(t *testing.T) {
		r := up(t, "files-put")
		first := r.want(r.send("PUT", "/files/a", `{"content":"x"}`), 200)
		again := r.want(r.send("PUT", "/files/a", `{"content":"x"}`), 200)
		if again.field("id") != first.field("id") || again.field("unchanged") != true {
			t.Errorf("equal over equal answers %s", again.body)
		}
		r.wantEffects(1)
		r.want(r.send("PUT", "/files/a", `{"content":"y"}`), 200)
		r.wantEffects(2)
	})
	t.Run("delete newest", func(t *testing.T) {
		c, _ := contracts.Find("files-delete-newest")
		var world []bench.WorldEffect
		for _, p := range []string{"backups/1", "backups/2", "other/3"} {
			world = append(world, bench.WorldEffect{Class: "file", Attrs: map[string]any{"path": p, "content": p}})
		}
		r := upWith(t, c, world)
		for _, want := range []any{"backups/2", "backups/1", nil} {
			got := r.send("DELETE", "/files?newest_under=backups/", "")
			if want == nil {
				r.want(got, http.StatusNotFound)
			} else if got.field("path") != want {
				t.Errorf("deleted %s, want %v", got.body, want)
			}
		}
		all := r.effects()
		if len(all) != 5 || all[0].Request != "" || all[3].Class != "deletion" || all[3].Attrs["path"] != "backups/2" || all[3].Request != "r1" {
			t.Errorf("ledger %+v", all)
		}
	})
}
