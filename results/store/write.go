package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// What a call to a store can be told.
var (
	ErrClosed   = errors.New("the run's file is closed")
	ErrThere    = errors.New("is there already")
	ErrReadOnly = errors.New("the run's file was opened for reading")
)

// job is one thing for the writer: an act on the open transaction, or a wish to see it committed.
type job struct {
	act       func(tx *sql.Tx, w *writer) error
	committed chan error // answered after the commit that holds all jobs before this one
}

// writer is what the writer goroutine keeps between transactions.
type writer struct {
	z    deflater
	docs map[string]bool // hashes of documents that are stored
}

// SaveEvidence queues the evidence of a trial: its row, its history and its measures. The verdict in
// rec is not looked at. It returns an earlier error of the writer, if there was one; a trial saved
// twice is such an error.
func (s *Store) SaveEvidence(rec bench.Record) error {
	var parts [6][]byte
	for i, v := range []any{rec.Trial, evidence{rec.Evidence, rec.Measures, rec.Broke}, rec.History,
		rec.Trial.Workload, rec.Trial.Contract, rec.Trial.Fault} {
		b, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("evidence of trial %s: %w", rec.Trial.ID, err)
		}
		parts[i] = b
	}
	t := rec.Trial
	return s.enqueue(job{act: func(tx *sql.Tx, w *writer) error {
		var hashes [3]string
		for i, d := range []struct{ kind, name string }{{"workload", t.Workload.Name}, {"contract", t.Contract.Name}, {"fault", t.Fault.Variant}} {
			h, err := w.document(tx, d.kind, d.name, parts[3+i])
			if err != nil {
				return fmt.Errorf("%s of trial %s: %w", d.kind, t.ID, err)
			}
			hashes[i] = h
		}
		_, err := tx.Exec("INSERT INTO trial VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)", t.ID, t.System, t.Kind, t.Workload.Name,
			string(t.Fault.Boundary), t.Fault.Variant, t.Struck, t.Seed, t.Rep, string(parts[0]), hashes[0], hashes[1], hashes[2])
		if err != nil {
			return fmt.Errorf("trial %s: %w", t.ID, err)
		}
		_, err = tx.Exec("INSERT INTO evidence VALUES (?,?,?,?)", t.ID, bench.HistorySchema, w.z.pack(parts[1]), w.z.pack(parts[2]))
		if err != nil {
			return fmt.Errorf("evidence of trial %s: %w", t.ID, err)
		}
		return nil
	}})
}

// SaveVerdict queues the verdict of a trial whose evidence was saved before. A second one replaces it.
func (s *Store) SaveVerdict(id string, j bench.Judged) error {
	body, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("verdict of trial %s: %w", id, err)
	}
	return s.enqueue(job{act: func(tx *sql.Tx, _ *writer) error { return saveVerdict(tx, id, j, body) }})
}

func saveVerdict(tx *sql.Tx, id string, j bench.Judged, body []byte) error {
	_, err := tx.Exec("INSERT OR REPLACE INTO verdict VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", id, j.Verdict.String(), j.InvalidBecause,
		string(j.Bound), j.Declined, j.Extra.Duplicate, j.Extra.Drifted, j.Extra.Stray, j.Extra.Compensated, j.Missing,
		j.FalseDedup.StandIn+j.FalseDedup.Empty, j.Unresolved.Escalated+j.Unresolved.Silent+j.Unresolved.Hung,
		j.Unresolved.Avoidable, j.RetryInduced, j.Reason, string(body))
	if err != nil {
		return fmt.Errorf("verdict of trial %s: %w", id, err)
	}
	return nil
}

// Flush returns when everything that was saved before is committed.
func (s *Store) Flush() error {
	if s.queue == nil {
		return nil
	}
	return s.do(func(*sql.Tx) error { return nil })
}

// do runs act in the writer's transaction and returns when it is committed.
func (s *Store) do(act func(tx *sql.Tx) error) error {
	j := job{act: func(tx *sql.Tx, _ *writer) error { return act(tx) }, committed: make(chan error, 1)}
	if err := s.enqueue(j); err != nil {
		return err
	}
	return <-j.committed
}

func (s *Store) enqueue(j job) error {
	if err := s.failure(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return fmt.Errorf("run %s: %w", s.path, ErrClosed)
	case s.queue == nil:
		return fmt.Errorf("run %s: %w", s.path, ErrReadOnly)
	}
	s.queue <- j // the writer never takes s.mu, so a full queue only slows the caller down
	return nil
}

func (s *Store) failure() error {
	s.failMu.Lock()
	defer s.failMu.Unlock()
	return s.failed
}

func (s *Store) fail(err error) {
	s.failMu.Lock()
	defer s.failMu.Unlock()
	if s.failed == nil {
		s.failed = fmt.Errorf("run %s: %w", s.path, err)
	}
}

// write is the one writer of the file. It keeps a transaction open over the jobs that come, and commits
// when a job asks for it, after flushAfter jobs, after flushEvery, and at the end. After an error
// nothing more is written: what was committed stays, and every later call is told.
func (s *Store) write() {
	defer close(s.ended)
	w := &writer{docs: map[string]bool{}}
	var tx *sql.Tx
	var held int
	timer := time.NewTimer(flushEvery)
	timer.Stop()
	commit := func() {
		if tx == nil {
			return
		}
		if err := tx.Commit(); err != nil {
			s.fail(err)
		}
		tx, held = nil, 0
		timer.Stop()
	}
	one := func(j job) {
		if s.failure() == nil && tx == nil {
			var err error
			if tx, err = s.db.Begin(); err != nil {
				s.fail(err)
			}
			timer.Reset(flushEvery)
		}
		if s.failure() == nil {
			if err := j.act(tx, w); err != nil {
				s.fail(err)
				commit() // what came before the failed statement is good; the statement itself left nothing
			}
			held++
		}
		if j.committed != nil || held >= flushAfter {
			commit()
		}
		if j.committed != nil {
			j.committed <- s.failure()
		}
	}
	for {
		select {
		case j, open := <-s.queue:
			if !open {
				commit()
				return
			}
			one(j)
		case <-timer.C:
			commit()
		}
	}
}

// document stores a document unless it is there, and returns its hash.
func (w *writer) document(tx *sql.Tx, kind, name string, body []byte) (string, error) {
	h := hashOf(kind, body)
	if w.docs[h] {
		return h, nil
	}
	if _, err := tx.Exec("INSERT OR IGNORE INTO document VALUES (?,?,?,?)", h, kind, name, w.z.pack(body)); err != nil {
		return "", err
	}
	w.docs[h] = true
	return h, nil
}
