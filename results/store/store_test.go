package store_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/results/store"
)

// record is a small but whole trial.
func record(n int, events int) bench.Record {
	w := bench.Workload{Name: "refund", Summary: "A refund.", Provider: bench.ProviderUse{Kind: "payments", Contract: "stripe-v1"}}
	r := bench.Record{Trial: bench.Trial{
		ID: fmt.Sprintf("%08x", n), Workload: w, Contract: bench.Contract{Name: "stripe-v1", Provider: "payments"},
		Fault:  bench.Fault{Boundary: bench.CommittedBeforeResponse, Variant: "reset"},
		System: "blind", Kind: "policy", Struck: "first", Class: "c1", Bound: bench.MarkExact, Seed: 7, Rep: n,
	}}
	for i := range events {
		r.History = append(r.History, bench.Event{Tick: i + 1, Actor: "provider", Kind: "arrived", Request: fmt.Sprintf("r%d", i),
			Call: &bench.Call{Op: "create", Class: "refund", Mutating: true, Attrs: map[string]any{"order": "order_4821", "amount": 2500.0}}})
	}
	r.Evidence.Strike = bench.StrikeRecord{Reached: true, Struck: true, Truth: bench.TruthCommitted}
	r.Evidence.Claims = []bench.ClaimRecord{{Turn: 1, Call: 1, Intents: []string{"first"}, Claim: bench.Done, Receipts: []string{"re_1"}}}
	r.Measures = bench.Measures{Attempts: 2, LatencyMS: 3.5}
	r.Broke = &bench.SystemError{System: "blind", Reason: "hung", Detail: "no acknowledgement"}
	return r
}

func create(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Create(filepath.Join(t.TempDir(), "a folder", "run #1.db"), store.Manifest{ID: "run", Suite: "quick", Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	g, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	w, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(g) != string(w) {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	s := create(t)
	want := record(1, 30)
	if err := s.SaveEvidence(want); err != nil {
		t.Fatal(err)
	}
	want.Judged = bench.Judged{Verdict: bench.Violation, Extra: bench.Extras{Duplicate: 1}, Reason: "one copy too many"}
	if err := s.SaveVerdict(want.Trial.ID, want.Judged); err != nil {
		t.Fatal(err)
	}
	got, err := s.Trial(want.Trial.ID)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "record", got, want)
	same(t, "workload", got.Trial.Workload, want.Trial.Workload)
	same(t, "contract", got.Trial.Contract, want.Trial.Contract)

	path := s.Path()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 1 {
		t.Errorf("a closed run is one file, got %v", files)
	}
	again, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	got, err = again.Trial(want.Trial.ID)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "record after closing", got, want)
	if err := again.SaveEvidence(record(2, 1)); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("saving in a file opened for reading: %v", err)
	}
	if _, err := again.Trial("none"); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("a trial that is not there: %v", err)
	}
}

func TestEvidenceIsNeverChanged(t *testing.T) {
	s := create(t)
	if err := s.SaveEvidence(record(1, 3)); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", s.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{"UPDATE evidence SET history = x''", "DELETE FROM evidence", "INSERT OR REPLACE INTO evidence SELECT * FROM evidence"} {
		if _, err := db.Exec(q); err == nil || !strings.Contains(err.Error(), "evidence is never") {
			t.Errorf("%s: got %v, expected a refusal", q, err)
		}
	}
	if err := s.SaveEvidence(record(1, 4)); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); err == nil || !strings.Contains(err.Error(), "trial 00000001") {
		t.Errorf("a trial saved twice: got %v, expected an error that names it", err)
	}
	got, err := s.Trial("00000001")
	if err == nil {
		t.Errorf("after an error of the writer every call is told, got %d events", len(got.History))
	}
}

func TestUniqueKeyAndDocumentsOnce(t *testing.T) {
	s := create(t)
	for n := range 5 {
		if err := s.SaveEvidence(record(n, 2)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", s.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var documents int
	if err := db.QueryRow("SELECT count(*) FROM document").Scan(&documents); err != nil {
		t.Fatal(err)
	}
	if documents != 3 {
		t.Errorf("%d documents for five trials of one cell, expected a workload, a contract and a fault", documents)
	}
	twin := record(3, 1)
	twin.Trial.ID = "another"
	if err := s.SaveEvidence(twin); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); err == nil || !strings.Contains(err.Error(), "UNIQUE") {
		t.Errorf("another id with the same key: got %v", err)
	}
}

func TestRejudgeReplacesVerdictsOnly(t *testing.T) {
	s := create(t)
	for n := range 3 {
		if err := s.SaveEvidence(record(n, 2)); err != nil {
			t.Fatal(err)
		}
		if n == 2 {
			break // this one never got its verdict
		}
		if err := s.SaveVerdict(fmt.Sprintf("%08x", n), bench.Judged{Verdict: bench.Exact}); err != nil {
			t.Fatal(err)
		}
	}
	judge := func(bench.Evidence) bench.Judged {
		return bench.Judged{Verdict: bench.Exact, Reason: "now with a reason"}
	}
	c, err := s.Rejudge(context.Background(), judge)
	if err != nil {
		t.Fatal(err)
	}
	want := store.Changes{Judged: 3, Verdicts: []store.Change{{Trial: "00000002", Before: bench.Unjudged, After: bench.Exact}}, Details: 2}
	same(t, "changes", c, want)
	c, err = s.Rejudge(context.Background(), judge)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "changes the second time", c, store.Changes{Judged: 3})
}

func TestManifestPlanAndFind(t *testing.T) {
	s := create(t)
	if err := s.Plan(&struct{}{}); err == nil || !strings.Contains(err.Error(), "no plan") {
		t.Errorf("a run without a plan: %v", err)
	}
	if err := s.SetPlan(map[string]int{"a": 1}); err != nil {
		t.Fatal(err)
	}
	var plan map[string]int
	if err := s.Plan(&plan); err != nil || plan["a"] != 1 {
		t.Errorf("plan: %v, %v", plan, err)
	}
	m, err := s.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	ended := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m.Ended = &ended
	if err := s.SetManifest(m); err != nil {
		t.Fatal(err)
	}
	got, err := s.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	same(t, "manifest", got, m)
	for n := range 20 {
		if err := s.SaveEvidence(record(n, 1)); err != nil {
			t.Fatal(err)
		}
	}
	done, err := s.Done()
	if err != nil || len(done) != 20 || !done["00000013"] {
		t.Errorf("done: %v, %v", done, err)
	}
	ids, err := s.Find("0000001", 3)
	if err != nil || len(ids) != 3 || ids[0] != "00000010" {
		t.Errorf("find: %v, %v", ids, err)
	}
	if ids, err = s.Find("%", 3); err != nil || len(ids) != 0 {
		t.Errorf("find takes no patterns: %v, %v", ids, err)
	}
}

func TestNewestGoesByStart(t *testing.T) {
	dir := t.TempDir()
	if _, err := store.Newest(dir); err == nil || !strings.Contains(err.Error(), "sixthcopy run") {
		t.Errorf("no run: %v", err)
	}
	for i, name := range []string{"b.db", "a.db", "c.db"} {
		s, err := store.Create(filepath.Join(dir, name), store.Manifest{Started: time.Unix(int64(1000-(i-1)*(i-1)), 0)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "zz.db"), []byte("not a database"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := store.Newest(dir)
	if err != nil || filepath.Base(got) != "a.db" {
		t.Errorf("newest: %s, %v", got, err)
	}
	if _, err := store.Create(got, store.Manifest{}); !errors.Is(err, store.ErrThere) {
		t.Errorf("a file that is there: %v", err)
	}
}

// TestKilledWriter kills a process in the middle of its saves. What it had said to be flushed is there,
// and the file goes on.
func TestKilledWriter(t *testing.T) {
	if path := os.Getenv("STORE_TEST_WRITER"); path != "" {
		writeUntilKilled(path)
		return
	}
	path := filepath.Join(t.TempDir(), "run.db")
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
	cmd.Env = append(os.Environ(), "STORE_TEST_WRITER="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var flushed int
	_, scanErr := fmt.Fscanf(out, "flushed %d\n", &flushed)
	killErr := cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	if err := errors.Join(scanErr, killErr); err != nil {
		t.Fatal(err)
	}
	read, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	done, err := read.Done()
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
	if len(done) < flushed {
		t.Errorf("%d trials after the kill, %d had been flushed", len(done), flushed)
	}
	s, err := store.Resume(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SaveEvidence(record(1_000_000, 1)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func writeUntilKilled(path string) {
	s, err := store.Create(path, store.Manifest{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for n := 0; ; n++ {
		if err := s.SaveEvidence(record(n, 30)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if n == 200 {
			if err := s.Flush(); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			fmt.Println("flushed", n+1)
		}
	}
}

// BenchmarkSave is one trial of thirty events, evidence and verdict.
func BenchmarkSave(b *testing.B) {
	s, err := store.Create(filepath.Join(b.TempDir(), "run.db"), store.Manifest{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	n := 0
	for b.Loop() {
		r := record(n, 30)
		if err := errors.Join(s.SaveEvidence(r), s.SaveVerdict(r.Trial.ID, r.Judged)); err != nil {
			b.Fatal(err)
		}
		n++
	}
	if err := s.Flush(); err != nil {
		b.Fatal(err)
	}
}
