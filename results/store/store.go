// Package store keeps runs: one SQLite file a run, with the evidence of every trial as it was read and,
// apart from it, the verdicts that can be made anew from that evidence at any time.
//
// Evidence is written once. Triggers refuse to change or delete it, so that a mended judge is always
// run over what was really seen. Verdicts are flat columns for SQL users and are replaced by Rejudge.
package store

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"

	"github.com/sixthcopy/sixthcopy/bench"
)

// Schema is the version of the tables; a file of another version is refused.
const Schema = 1

const tables = `
CREATE TABLE manifest (
	one     INTEGER PRIMARY KEY CHECK (one = 1),
	body    TEXT NOT NULL               -- store.Manifest as JSON
);
CREATE TABLE document (                 -- workloads, contracts and faults, each stored once
	hash    TEXT PRIMARY KEY,           -- SHA-256 of the JSON, in hex
	kind    TEXT NOT NULL,              -- workload, contract, fault, plan
	name    TEXT NOT NULL,
	body    BLOB NOT NULL               -- JSON, zlib
) WITHOUT ROWID;
CREATE TABLE trial (
	id       TEXT PRIMARY KEY,
	system   TEXT NOT NULL,
	kind     TEXT NOT NULL,
	workload TEXT NOT NULL,
	boundary TEXT NOT NULL,             -- 'none' in controls
	variant  TEXT NOT NULL,
	struck   TEXT NOT NULL,             -- intent; '' in controls
	seed     INTEGER NOT NULL,
	rep      INTEGER NOT NULL,
	body     TEXT NOT NULL,             -- bench.Trial as JSON, without its documents
	workload_hash TEXT NOT NULL REFERENCES document,
	contract_hash TEXT NOT NULL REFERENCES document,
	fault_hash    TEXT NOT NULL REFERENCES document,
	UNIQUE (system, workload, boundary, variant, struck, seed, rep)
) WITHOUT ROWID;
CREATE TABLE evidence (
	trial    TEXT PRIMARY KEY REFERENCES trial,
	history_schema INTEGER NOT NULL,    -- bench.HistorySchema
	evidence BLOB NOT NULL,             -- bench.Evidence and bench.Measures: JSON, zlib
	history  BLOB NOT NULL              -- []bench.Event: JSON, zlib
);
CREATE TRIGGER evidence_is_never_changed BEFORE UPDATE ON evidence
	BEGIN SELECT RAISE(ABORT, 'evidence is never changed'); END;
CREATE TRIGGER evidence_is_never_replaced BEFORE INSERT ON evidence
	WHEN EXISTS (SELECT 1 FROM evidence WHERE trial = NEW.trial)
	BEGIN SELECT RAISE(ABORT, 'evidence is never replaced'); END;
CREATE TRIGGER evidence_is_never_deleted BEFORE DELETE ON evidence
	BEGIN SELECT RAISE(ABORT, 'evidence is never deleted'); END;
CREATE TABLE verdict (                  -- made from evidence; judge rewrites it
	trial        TEXT PRIMARY KEY REFERENCES evidence,
	verdict      TEXT NOT NULL,         -- exact, safe, violation, invalid, unjudged
	invalid_because TEXT NOT NULL,
	bound        TEXT NOT NULL,
	declined     INTEGER NOT NULL,
	duplicate    INTEGER NOT NULL,      -- extras of the three sorts, in effects
	drifted      INTEGER NOT NULL,
	stray        INTEGER NOT NULL,
	compensated  INTEGER NOT NULL,
	missing      INTEGER NOT NULL,      -- units
	false_dedup  INTEGER NOT NULL,      -- units
	unresolved   INTEGER NOT NULL,      -- intents
	avoidable    INTEGER NOT NULL,
	retry_induced INTEGER NOT NULL,
	reason       TEXT NOT NULL,
	body         TEXT NOT NULL          -- bench.Judged as JSON
) WITHOUT ROWID;
PRAGMA user_version = 1;
`

// Store is one run's file. It is safe for concurrent use.
type Store struct {
	path  string
	db    *sql.DB
	queue chan job      // nil: opened to be read only
	ended chan struct{} // closed when the writer has returned

	mu     sync.Mutex // guards closed against sends on queue
	closed bool

	failMu sync.Mutex
	failed error // first error of the writer; sticks
}

// Create makes a new run file at path, with its folder, and writes the manifest. It is an error if
// there is something at path.
func Create(path string, m Manifest) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("folder of the run: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("run file %s %w", path, ErrThere)
	}
	if err != nil {
		return nil, fmt.Errorf("run file: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("run file: %w", err)
	}
	db, err := connect(path, "rwc")
	if err != nil {
		return nil, err
	}
	if _, err := db.Exec(tables); err != nil {
		return nil, errors.Join(fmt.Errorf("tables of run %s: %w", path, err), db.Close())
	}
	s := start(path, db)
	if err := s.SetManifest(m); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Open opens a run file that is there, to read it. A run that is going on can be read too.
func Open(path string) (*Store, error) { return open(path, "ro") }

// Resume opens a run file that is there, to go on with it or to judge it again.
func Resume(path string) (*Store, error) { return open(path, "rw") }

func open(path, mode string) (*Store, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("run file: %w", err)
	}
	db, err := connect(path, mode)
	if err != nil {
		return nil, err
	}
	var version int
	if err := db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return nil, errors.Join(fmt.Errorf("run file %s: %w", path, err), db.Close())
	}
	if version != Schema {
		return nil, errors.Join(fmt.Errorf("run file %s has tables of version %d, expected %d: it is no run of sixthcopy, or of another version", path, version, Schema), db.Close())
	}
	if mode == "ro" {
		return &Store{path: path, db: db}, nil
	}
	return start(path, db), nil
}

// connect opens the database. What writes does so in write-ahead mode: readers never wait for the
// writer, and a killed writer leaves a file that opens again at its last commit.
func connect(path, mode string) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("run file: %w", err)
	}
	options := "mode=" + mode + "&_busy_timeout=10000&_foreign_keys=1"
	if mode != "ro" {
		options += "&_journal_mode=WAL&_synchronous=NORMAL"
	}
	where := (&url.URL{Scheme: "file", Path: abs, RawQuery: options}).String()
	db, err := sql.Open("sqlite3", where)
	if err != nil {
		return nil, fmt.Errorf("run file %s: %w", path, err)
	}
	if err := db.Ping(); err != nil {
		return nil, errors.Join(fmt.Errorf("run file %s: %w", path, err), db.Close())
	}
	return db, nil
}

func start(path string, db *sql.DB) *Store {
	s := &Store{path: path, db: db, queue: make(chan job, 256), ended: make(chan struct{})}
	go s.write()
	return s
}

// Path is where the run's file lies.
func (s *Store) Path() string { return s.path }

// Close writes what is queued and closes the file. It returns the first error of the writer, if any.
// Afterwards the run is one plain file without companions.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	if s.queue == nil {
		s.mu.Unlock()
		return s.db.Close()
	}
	close(s.queue)
	s.mu.Unlock()
	<-s.ended
	err := s.failure()
	// The companions of write-ahead mode go away, unless another process still reads the file.
	s.db.SetMaxOpenConns(1)
	_, _ = s.db.Exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE")
	return errors.Join(err, s.db.Close())
}

// Manifest returns what the run was.
func (s *Store) Manifest() (Manifest, error) {
	var body string
	var m Manifest
	if err := s.db.QueryRow("SELECT body FROM manifest").Scan(&body); err != nil {
		return m, fmt.Errorf("manifest of run %s: %w", s.path, err)
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return m, fmt.Errorf("manifest of run %s: %w", s.path, err)
	}
	return m, nil
}

// SetManifest replaces the manifest: at the run's end, or when a run is resumed.
func (s *Store) SetManifest(m Manifest) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	return s.do(func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT OR REPLACE INTO manifest VALUES (1, ?)", string(body))
		return err
	})
}

// SetPlan stores what the plan knows beyond single trials (members of classes, what does not apply),
// as one JSON document that Plan reads again. A run has one plan.
func (s *Store) SetPlan(plan any) error {
	body, err := json.Marshal(plan)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	return s.do(func(tx *sql.Tx) error {
		var z deflater
		_, err := tx.Exec("INSERT OR REPLACE INTO document VALUES ('plan', 'plan', 'plan', ?)", z.pack(body))
		return err
	})
}

// Plan reads the plan's document into the value behind into. It is an error if none was stored.
func (s *Store) Plan(into any) error {
	var body []byte
	err := s.db.QueryRow("SELECT body FROM document WHERE hash = 'plan'").Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("run %s has no plan: it ended before its first trial; run it again", s.path)
	}
	if err != nil {
		return fmt.Errorf("plan of run %s: %w", s.path, err)
	}
	return unpack(body, into)
}

// Done returns the ids of the trials whose evidence is stored: a resumed run need not repeat them.
// One of them may lack its verdict (the writer was killed in between); Rejudge makes it good.
func (s *Store) Done() (map[string]bool, error) {
	if err := s.Flush(); err != nil {
		return nil, err
	}
	rows, err := s.db.Query("SELECT trial FROM evidence")
	if err != nil {
		return nil, fmt.Errorf("trials of run %s: %w", s.path, err)
	}
	defer rows.Close()
	done := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("trials of run %s: %w", s.path, err)
		}
		done[id] = true
	}
	return done, rows.Err()
}

// Find returns the ids of trials that begin with prefix, sorted, at most limit.
func (s *Store) Find(prefix string, limit int) ([]string, error) {
	rows, err := s.db.Query("SELECT id FROM trial WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id LIMIT ?2", prefix, limit)
	if err != nil {
		return nil, fmt.Errorf("trials of run %s: %w", s.path, err)
	}
	return s.ids(rows)
}

// ids reads a column of ids and closes the rows.
func (s *Store) ids(rows *sql.Rows) ([]string, error) {
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("trials of run %s: %w", s.path, err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// Beside returns the ids of the trials that differ from t in the variant of their system only: systems whose
// names begin with the same folder and a slash. They come sorted by name.
func (s *Store) Beside(t bench.Trial, folder string) ([]string, error) {
	if err := s.Flush(); err != nil {
		return nil, err
	}
	rows, err := s.db.Query(`SELECT id FROM trial WHERE substr(system, 1, length(?1)) = ?1 AND system <> ?2 AND workload = ?3
		AND boundary = ?4 AND variant = ?5 AND struck = ?6 AND seed = ?7 AND rep = ?8 ORDER BY system`,
		folder+"/", t.System, t.Workload.Name, t.Fault.Boundary, t.Fault.Variant, t.Struck, t.Seed, t.Rep)
	if err != nil {
		return nil, fmt.Errorf("trials of run %s: %w", s.path, err)
	}
	return s.ids(rows)
}

// Trial reads one trial by its whole id. The error is sql.ErrNoRows, wrapped, if there is none.
func (s *Store) Trial(id string) (bench.Record, error) {
	if err := s.Flush(); err != nil {
		return bench.Record{}, err
	}
	r := newReader(s.db, true)
	rows, err := s.db.Query(r.query()+" WHERE t.id = ?", id)
	if err != nil {
		return bench.Record{}, fmt.Errorf("trial %s: %w", id, err)
	}
	defer rows.Close()
	if !rows.Next() {
		return bench.Record{}, fmt.Errorf("trial %s: %w", id, errors.Join(rows.Err(), sql.ErrNoRows))
	}
	return r.record(rows)
}

// Each calls f with every stored trial, ordered by its unique key, until f returns an error. Histories
// are the bulk of a file: without withHistory they are neither read nor unpacked.
func (s *Store) Each(ctx context.Context, withHistory bool, f func(bench.Record) error) error {
	if err := s.Flush(); err != nil {
		return err
	}
	r := newReader(s.db, withHistory)
	rows, err := s.db.QueryContext(ctx, r.query()+" ORDER BY t.system, t.workload, t.boundary, t.variant, t.struck, t.seed, t.rep")
	if err != nil {
		return fmt.Errorf("trials of run %s: %w", s.path, err)
	}
	defer rows.Close()
	for rows.Next() {
		rec, err := r.record(rows)
		if err != nil {
			return fmt.Errorf("run %s: %w", s.path, err)
		}
		if err := f(rec); err != nil {
			return err
		}
	}
	return rows.Err()
}

// reader turns rows into records and keeps the documents that it has met.
type reader struct {
	db        *sql.DB
	history   bool
	workloads map[string]bench.Workload
	contracts map[string]bench.Contract
	faults    map[string]bench.Fault
}

func newReader(db *sql.DB, history bool) *reader {
	return &reader{db: db, history: history, workloads: map[string]bench.Workload{},
		contracts: map[string]bench.Contract{}, faults: map[string]bench.Fault{}}
}

func (r *reader) query() string {
	history := "x''"
	if r.history {
		history = "e.history"
	}
	return "SELECT t.id, t.body, t.workload_hash, t.contract_hash, t.fault_hash, e.evidence, " + history +
		", coalesce(v.body, '') FROM trial t JOIN evidence e ON e.trial = t.id LEFT JOIN verdict v ON v.trial = t.id"
}

// evidence is what the column evidence.evidence holds.
type evidence struct {
	Evidence bench.Evidence `json:"evidence"`
	Measures bench.Measures `json:"measures"`

	Broke *bench.SystemError `json:"broke,omitempty"`
}

func (r *reader) record(rows *sql.Rows) (bench.Record, error) {
	var rec bench.Record
	var id, body, workload, contract, fault, verdict string
	var packed, history []byte
	if err := rows.Scan(&id, &body, &workload, &contract, &fault, &packed, &history, &verdict); err != nil {
		return rec, fmt.Errorf("trial: %w", err)
	}
	if err := json.Unmarshal([]byte(body), &rec.Trial); err != nil {
		return rec, fmt.Errorf("trial %s: %w", id, err)
	}
	var ev evidence
	if err := unpack(packed, &ev); err != nil {
		return rec, fmt.Errorf("evidence of trial %s: %w", id, err)
	}
	rec.Evidence, rec.Measures, rec.Broke = ev.Evidence, ev.Measures, ev.Broke
	if r.history {
		if err := unpack(history, &rec.History); err != nil {
			return rec, fmt.Errorf("history of trial %s: %w", id, err)
		}
	}
	if verdict != "" {
		if err := json.Unmarshal([]byte(verdict), &rec.Judged); err != nil {
			return rec, fmt.Errorf("verdict of trial %s: %w", id, err)
		}
	}
	err := errors.Join(document(r, r.workloads, workload, &rec.Trial.Workload),
		document(r, r.contracts, contract, &rec.Trial.Contract), document(r, r.faults, fault, &rec.Trial.Fault))
	if err != nil {
		return rec, fmt.Errorf("trial %s: %w", id, err)
	}
	return rec, nil
}

// document reads a document by its hash, from known if it was met before.
func document[T any](r *reader, known map[string]T, hash string, into *T) error {
	if v, ok := known[hash]; ok {
		*into = v
		return nil
	}
	var packed []byte
	if err := r.db.QueryRow("SELECT body FROM document WHERE hash = ?", hash).Scan(&packed); err != nil {
		return fmt.Errorf("document %s: %w", hash, err)
	}
	if err := unpack(packed, into); err != nil {
		return fmt.Errorf("document %s: %w", hash, err)
	}
	known[hash] = *into
	return nil
}

// deflater packs bytes with one reused compressor.
type deflater struct {
	buf bytes.Buffer
	w   *zlib.Writer
}

func (d *deflater) pack(b []byte) []byte {
	d.buf.Reset()
	if d.w == nil {
		d.w, _ = zlib.NewWriterLevel(&d.buf, zlib.BestSpeed) // the level is valid
	} else {
		d.w.Reset(&d.buf)
	}
	_, _ = d.w.Write(b) // a bytes.Buffer does not fail
	_ = d.w.Close()
	return bytes.Clone(d.buf.Bytes())
}

func unpack(packed []byte, into any) error {
	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	b, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}

func hashOf(kind string, body []byte) string {
	h := sha256.New()
	h.Write([]byte(kind))
	h.Write([]byte{0})
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// flushEvery bounds how much a killed run can lose: what was saved in the last fifth of a second, or
// the last hundred saves, whichever is less.
const (
	flushEvery = 200 * time.Millisecond
	flushAfter = 100
)
