package systems

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
)

// reference returns the reference agent under one policy.
func reference(t *testing.T, policy string) *System {
	t.Helper()
	for _, s := range Reference(os.Args[0]) {
		if s.Name() == policy {
			t.Cleanup(func() {
				if err := s.(*System).Close(); err != nil {
					t.Error(err)
				}
			})
			return s.(*System)
		}
	}
	t.Fatalf("no policy %s", policy)
	return nil
}

// states lists the states of all records in a journal, in order.
func states(t *testing.T, dir string) []map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "effects.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var l struct{ Effect map[string]any }
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		if l.Effect != nil {
			all = append(all, l.Effect)
		}
	}
	return all
}

// When a request arrives anywhere, its effect is in the state folder, complete and in progress.
func TestLedgerRecordsBeforeItDispatches(t *testing.T) {
	w := newWorld(t)
	k := begin(t, reference(t, "ledger"), bench.StartOrder{Tools: w.offer(bench.TransportMCP, true, key24)})
	defer k.session.Release()
	var seen []map[string]any
	w.arrived = func() { seen = states(t, k.dir) }
	once(t, k, w)
	if len(seen) != 2 || seen[0]["state"] != "not_started" || seen[1]["state"] != "in_progress" {
		t.Fatalf("at the arrival of the request the journal holds %v", seen)
	}
	for _, field := range []string{"effect_id", "workflow_id", "intent_hash", "tool", "contract_version", "authority", "target", "attempts", "provider_key", "retention_deadline"} {
		if seen[1][field] == nil || seen[1][field] == "" {
			t.Errorf("the record has no %s: %v", field, seen[1])
		}
	}
	if w.requests[0]["idempotency_key"] != seen[1]["provider_key"] {
		t.Errorf("the key on the wire is %v, the recorded one %v", w.requests[0]["idempotency_key"], seen[1]["provider_key"])
	}
	after := states(t, k.dir)
	last := after[len(after)-1]
	if last["state"] != "committed" || !slices.Equal(last["receipt"].([]any), []any{"th_1"}) {
		t.Errorf("the last record is %v", last)
	}
	info, err := os.Stat(filepath.Join(k.dir, "effects.jsonl"))
	if err != nil || k.figures.LedgerBytes != info.Size() {
		t.Errorf("the agent reports %d ledger bytes, the journal has %d, %v", k.figures.LedgerBytes, info.Size(), err)
	}
}

// Killed at any of its events, once or twice, the ledger makes one thing and says so.
func TestLedgerKilledAtEveryEvent(t *testing.T) {
	for _, test := range []struct {
		event, detail string
		contract      bench.OfferedContract
		takesKey      bool
		says          string
		things        int
	}{
		{"state-written", "intent", bench.OfferedContract{}, false, bench.Done, 1}, // nothing was dispatched, and the record says so
		{"dispatching", "", bench.OfferedContract{}, false, bench.Unknown, 0},      // the record says that it may have been
		{"dispatching", "", key24, true, bench.Done, 1},
		{"dispatching", "", byIdentity, false, bench.Done, 1},
		{"result-delivered", "done", bench.OfferedContract{}, false, bench.Unknown, 1},
		{"result-delivered", "done", key24, true, bench.Done, 1},
		{"result-delivered", "done", byIdentity, false, bench.Done, 1},
		{"state-written", "result", bench.OfferedContract{}, false, bench.Done, 1},
		{"next-model-call", "", bench.OfferedContract{}, false, bench.Done, 1},
	} {
		for _, kills := range []int{1, 2} {
			t.Run(test.event+" "+test.detail+" "+test.says, func(t *testing.T) {
				w := newWorld(t)
				k := begin(t, reference(t, "ledger"), bench.StartOrder{Tools: w.offer(bench.TransportJSON, test.takesKey, test.contract), Knobs: bench.Knobs{Events: true}})
				defer k.session.Release()
				k.onAt = func(w bench.Word) bool { return w.Event == test.event && w.Detail == test.detail }
				k.turn(given("t1"))
				k.idle()
				for range kills {
					if k.last.Type != "at" {
						break // the second time it does not come to this event
					}
					k.restart()
					o := given("t1")
					o.Redelivered = true
					k.turn(o)
					if kills == 1 {
						k.onAt = nil
					}
					k.idle()
				}
				if k.last.Type == "at" { // killed often enough
					k.onAt = nil
					k.send(bench.Order{Type: "proceed", Proceed: &bench.ProceedOrder{Event: k.last.Event}})
					k.idle()
				}
				_, things, _ := w.count()
				if says := k.claims["t1/1"].Outcome; says != test.says || things != test.things {
					t.Errorf("it says %s and there are %d, expected %s and %d", says, things, test.says, test.things)
				}
			})
		}
	}
}

// A line of the journal that a kill cut short is dropped; one that is broken in the middle is not passed over.
func TestTornJournal(t *testing.T) {
	w := newWorld(t)
	k := begin(t, reference(t, "ledger"), bench.StartOrder{Tools: w.offer(bench.TransportJSON, false, bench.OfferedContract{})})
	defer k.session.Release()
	once(t, k, w)
	path := filepath.Join(k.dir, "effects.jsonl")
	if err := k.session.Kill(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"effect":{"effect_id":"to`)
	f.Close()
	k.restart()
	o := given("t1")
	o.Redelivered = true
	k.turn(o)
	k.idle()
	if requests, _, _ := w.count(); requests != 1 || k.claims["t1/1"].Outcome != bench.Done {
		t.Errorf("%d requests, it says %s; expected 1 and done", requests, k.claims["t1/1"].Outcome)
	}

	if err := k.session.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("rubbish\n{\"opened\":1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := k.session.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	start := order("start")
	start.Start = &bench.StartOrder{Tools: k.start.Tools}
	err = k.session.Send(t.Context(), start)
	if err == nil || !strings.Contains(err.Error(), "line at byte 0") {
		t.Errorf("a broken journal was opened: %v", err)
	}
}

// A journal that cannot be written stops the dispatch: nothing is sent, and the claim is true.
func TestLedgerThatCannotBeWritten(t *testing.T) {
	w := newWorld(t)
	s := reference(t, "ledger")
	s.command.argv = append([]string{"/bin/sh", "-c", `ulimit -f 0; trap "" XFSZ; exec "$0" "$@"`}, s.command.argv...)
	session, err := s.Begin(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Release()
	start := order("start")
	start.Start = &bench.StartOrder{Tools: w.offer(bench.TransportJSON, false, bench.OfferedContract{})}
	err = session.Send(t.Context(), start)
	if err == nil || !strings.Contains(err.Error(), "journal") {
		t.Errorf("a trial was opened on a journal that cannot be written: %v", err)
	}
}

// The agent sends what its policy sends and nothing else, also on a kept-alive connection that is cut.
func TestAgentNeverResendsByItself(t *testing.T) {
	for _, transport := range []bench.Transport{bench.TransportJSON, bench.TransportMCP, bench.TransportMCPSessions} {
		w := newWorld(t, step{true, "ok"}, step{true, "lost"})
		k := begin(t, reference(t, "never"), bench.StartOrder{Tools: w.offer(transport, true, key24)})
		once(t, k, w)
		k.turn(given("t2"))
		k.idle()
		k.session.Release()
		if requests, _, _ := w.count(); requests != 2 || k.claims["t2/1"].Outcome != bench.Unknown {
			t.Errorf("%s: %d requests, it says %q; expected 2 and unknown", transport, requests, k.claims["t2/1"].Outcome)
		}
	}
}
