package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/systems/kit"
)

// straight is a client of the payments API itself, as an SDK is one: two tries, with or without a key that stays
// the same over both and over a redelivery. The test binary runs itself as it.
func straight(keyed bool) int {
	return kit.Main(kit.Adapter{Can: []string{"timeout"}, Call: func(ctx context.Context, c *kit.Call) kit.Claim {
		ctx, end := c.Deadline(ctx, time.Duration(c.Trial.Start.Knobs.CallTimeoutMS)*time.Millisecond)
		defer end()
		order, amount := fmt.Sprint(c.Given.Args["order"]), fmt.Sprint(c.Given.Args["amount"])
		path, form := "/v1/refunds", url.Values{"amount": {amount}, "payment_intent": {order}}
		if c.Given.Tool == "charge_order" {
			path, form = "/v1/charges", url.Values{"amount": {amount}, "metadata[order]": {order}}
		}
		for _, name := range []string{"currency", "description", "reason"} {
			if v, given := c.Given.Args[name]; given && name == "reason" {
				form.Set("metadata[reason]", fmt.Sprint(v))
			} else if given {
				form.Set(name, fmt.Sprint(v))
			}
		}
		last := "nothing was sent"
		for try := 0; try < 2 && ctx.Err() == nil; try++ {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Trial.Start.Providers["payments"]+path, strings.NewReader(form.Encode()))
			if err != nil {
				return kit.Failed(err.Error())
			}
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Authorization", "Bearer sk_test_straight")
			if keyed {
				r.Header.Set("Idempotency-Key", c.Given.ID)
			}
			status, body, err := exchange(r)
			var made struct{ ID string }
			switch {
			case errors.Is(err, syscall.ECONNREFUSED):
				return kit.Failed(err.Error())
			case err == nil && status/100 == 2 && json.Unmarshal(body, &made) == nil && made.ID != "":
				return kit.Done(made.ID)
			case err == nil && status/100 == 4 && status != http.StatusConflict && status != http.StatusTooManyRequests:
				return kit.Failed(string(body))
			}
			last = fmt.Sprintf("status %d, %v", status, err)
		}
		return kit.Unknown(last)
	}}, os.Stdin, os.Stdout, os.Stderr)
}

func exchange(r *http.Request) (int, []byte, error) {
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}

// straightSystems writes the two as systems into a folder.
func straightSystems(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "straight"), 0o755); err != nil {
		t.Fatal(err)
	}
	manifest := fmt.Sprintf(`kind: client
summary: Calls the payments API itself and tries twice.
providers: [payments]
tools: [refund_order, charge_order]
roles: [{name: front, command: [%q, straight]}]
clock: protocol
idle: probe
after_kill: redeliver
knobs: [call_timeout_ms]
can: [turn, repair, cancel, timeout, reset, clock]
variants:
  blind: {args: [blind], says: no Idempotency-Key}
  keyed: {args: [keyed], says: 'Idempotency-Key: one a call'}
`, exe)
	if err := os.WriteFile(filepath.Join(dir, "straight", "system.yaml"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestDirect: without a tool server each boundary that applies strikes at the one link that there is, nothing is
// invalid, and the same client is blind without a key and at its bound with one.
func TestDirect(t *testing.T) {
	o := runOptions{suite: "full", repeat: 1, seed: 1, parallel: 4, dir: straightSystems(t), systems: []string{"straight/blind", "straight/keyed"},
		workloads: []string{"refund-twice", "payment"}}
	spec, chosen, err := o.spec()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := bench.MakePlan(spec)
	if err != nil {
		t.Fatal(err)
	}
	w, stop, err := world()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop(); _ = closeAll(chosen) }()
	trials := slices.DeleteFunc(plan.Trials, func(t bench.Trial) bool { return !t.Direct })
	var records []bench.Record
	runner := &bench.Runner{World: w, Dir: t.TempDir(), Deadline: trialDeadline, Replicas: 2}
	err = runner.RunAll(t.Context(), trials, chosen, 4, func(rec bench.Record) error {
		rec.Judged = bench.Judge(rec.Evidence)
		records = append(records, rec)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	boundaries := map[bench.Boundary]bool{}
	for _, r := range records {
		f := r.Trial.Fault
		boundaries[f.Boundary] = true
		if r.Judged.Verdict == bench.Invalid {
			t.Errorf("%s %s %s: invalid: %s", r.Trial.System, f.Boundary, f.Variant, r.Evidence.Strike.Harness)
		}
		for _, e := range r.History {
			if strings.HasPrefix(e.Actor, "toolserver") || strings.HasPrefix(e.Link, "provider/") {
				t.Fatalf("%s %s: a tool server or its link in the history of a direct trial: %+v", r.Trial.System, f.Variant, e)
			}
		}
		lost := f.Boundary == bench.CommittedBeforeResponse && (f.Variant == "reset" || f.Variant == "close" || f.Variant == "truncated") ||
			f.Boundary == bench.ResponseAtToolServer && f.Truth == bench.TruthCommitted ||
			f.Boundary == bench.CrashRestart && f.Variant == "kill/committed"
		var want bench.Mark
		switch {
		case f.Boundary == bench.NoFault:
			want = bench.MarkExact
		case lost && r.Trial.System == "straight/blind":
			want = bench.MarkViolation
		case lost:
			want = bench.MarkExact
		}
		if want != "" && r.Judged.Verdict.Mark() != want {
			t.Errorf("%s, %s, %s %s: %s (%s), expected %s", r.Trial.System, r.Trial.Workload.Name, f.Boundary, f.Variant, r.Judged.Verdict, r.Judged.Reason, want)
		}
		if lost && want == bench.MarkViolation && r.Judged.Extra.Duplicate != 1 {
			t.Errorf("%s %s %s: %d extras, expected 1", r.Trial.System, f.Boundary, f.Variant, r.Judged.Extra.Duplicate)
		}
	}
	for _, b := range bench.Boundaries {
		if boundaries[b] != (b != bench.OtherInstance) {
			t.Errorf("boundary %s: ran directly: %v", b, boundaries[b])
		}
	}
}
