// Package store is a fake provider's durable state: one SQLite file per trial.
//
// A transaction holds its writes back and applies them in one SQLite transaction at its commit, so that
// many can be open at a time and what is uncommitted is seen by nobody and lost in a crash. A transaction
// that has read is refused with ErrStale if another one has committed since it began: execute it again.
// Nothing is ever deleted but keys past their retention.
package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"
)

// FileName is the name of the store's file in a provider's folder. Oracles know it from docs/providers.md.
const FileName = "store.sqlite"

// ErrStale says that a transaction read what another one has since changed.
var ErrStale = errors.New("the state read by this transaction has changed")

// options of a connection. Durability against power loss is not modelled, so synchronous is off.
const options = "?_txlock=immediate&_synchronous=OFF"

// schema is run as one statement batch. The journal mode stays with the file.
const schema = `
PRAGMA synchronous = OFF;
PRAGMA journal_mode = WAL;
BEGIN;
CREATE TABLE IF NOT EXISTS requests (
	ord INTEGER PRIMARY KEY, link TEXT, conn INTEGER, exchange INTEGER,
	op TEXT, class TEXT, attrs TEXT, key TEXT, principal TEXT, arrived_at INTEGER);
CREATE TABLE IF NOT EXISTS effects (
	ord INTEGER PRIMARY KEY AUTOINCREMENT, object TEXT NOT NULL UNIQUE, class TEXT NOT NULL, attrs TEXT NOT NULL,
	sign INTEGER NOT NULL, principal TEXT NOT NULL, request TEXT NOT NULL,
	undoes TEXT NOT NULL, carried_by TEXT NOT NULL, harms TEXT NOT NULL,
	reference TEXT NOT NULL, detail TEXT NOT NULL, committed_at INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS keys (
	scope TEXT, key TEXT, state TEXT, fingerprint TEXT, request TEXT, status INTEGER, header TEXT, body BLOB,
	objects TEXT, created_at INTEGER, done_at INTEGER, PRIMARY KEY (scope, key)) WITHOUT ROWID;
COMMIT;`

// Object is one effect in the store; for classes that make something it is that thing.
type Object struct {
	Rank      int // position in the order of commits, from 1; set by the store
	ID        string
	Class     string
	Attrs     map[string]any // business attributes
	Sign      int            // 1 or -1
	Principal string
	Request   string // r1, r2, ...; empty for the world before the trial
	Undoes    string
	CarriedBy string
	Harms     string
	Reference string         // identity of the caller's for look-ups; empty: none
	Detail    map[string]any // what else the answer shows
	At        time.Time      // virtual time of the commit
}

// Request is an arrived request.
type Request struct {
	Link           string
	Conn, Exchange int
	Op, Class, Key string
	Attrs          map[string]any
	Principal      string
	At             time.Time
}

// Key states.
const (
	InFlight = "in-flight"
	Done     = "done"
	Partly   = "partly-done"
	Failed   = "failed"
)

// Key is the record of an idempotency key.
type Key struct {
	Scope, Name string
	State       string
	Fingerprint string
	Request     string // the one that first used it
	Status      int
	Header      map[string][]string
	Body        []byte
	Objects     []string // what it made
	Created     time.Time
	Done        time.Time
}

// Store is an open store. It is safe for concurrent use.
type Store struct {
	mu       sync.Mutex // one writer at a time
	db       *sql.DB
	requests int
	version  int // commits so far
}

// Open opens the store in dir and makes it if it is not there.
func Open(ctx context.Context, dir string) (*Store, error) {
	path := filepath.Join(dir, FileName)
	if err := begin(path); err != nil {
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	db, err := sql.Open("sqlite3", "file:"+path+options)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	s := &Store{db: db}
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM requests`).Scan(&s.requests); err != nil {
		return nil, errors.Join(fmt.Errorf("store %s: requests: %w", path, err), db.Close())
	}
	return s, nil
}

// begin puts a store with nothing in it at path, unless one is there.
func begin(path string) error {
	blank, err := empty()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(blank)
	return errors.Join(err, f.Close())
}

// empty is the file of a store with nothing in it. It is made once: every trial writes it, which is
// cheaper by half a millisecond than executing the schema.
var empty = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "sixthcopy-store-")
	if err != nil {
		return nil, fmt.Errorf("empty store: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, FileName)
	db, err := sql.Open("sqlite3", "file:"+path+options)
	if err != nil {
		return nil, fmt.Errorf("empty store: %w", err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(schema); err != nil {
		return nil, errors.Join(fmt.Errorf("empty store: schema: %w", err), db.Close())
	}
	if err := db.Close(); err != nil { // which brings what the journal holds into the file
		return nil, fmt.Errorf("empty store: %w", err)
	}
	return os.ReadFile(path)
})

// Close drops the handle. Open transactions can no longer commit.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.db.Close()
}

// Arrive notes a request and names it: r1, r2, ... in order of arrival.
func (s *Store) Arrive(r Request) (string, error) {
	attrs, err := json.Marshal(r.Attrs)
	if err != nil {
		return "", fmt.Errorf("store: attributes of a request: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.db.Exec(`INSERT INTO requests VALUES (?,?,?,?,?,?,?,?,?,?)`,
		s.requests+1, r.Link, r.Conn, r.Exchange, r.Op, r.Class, string(attrs), r.Key, r.Principal, r.At.UnixNano())
	if err != nil {
		return "", fmt.Errorf("store: request: %w", err)
	}
	s.requests++
	return fmt.Sprintf("r%d", s.requests), nil
}

// Key returns the record of a key, nil if there is none.
func (s *Store) Key(scope, name string) (*Key, error) {
	k := Key{Scope: scope, Name: name}
	var header, objects string
	var created, done int64
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.db.QueryRow(`SELECT state, fingerprint, request, status, header, body, objects, created_at, done_at
		FROM keys WHERE scope = ? AND key = ?`, scope, name).
		Scan(&k.State, &k.Fingerprint, &k.Request, &k.Status, &header, &k.Body, &objects, &created, &done)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = errors.Join(json.Unmarshal([]byte(header), &k.Header), json.Unmarshal([]byte(objects), &k.Objects))
	}
	if err != nil {
		return nil, fmt.Errorf("store: key %q: %w", name, err)
	}
	k.Created, k.Done = time.Unix(0, created).UTC(), time.Unix(0, done).UTC()
	return &k, nil
}

// DropKey forgets a key.
func (s *Store) DropKey(scope, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.db.Exec(`DELETE FROM keys WHERE scope = ? AND key = ?`, scope, name); err != nil {
		return fmt.Errorf("store: drop key %q: %w", name, err)
	}
	return nil
}

// DropOtherKeys forgets all keys of a scope but one.
func (s *Store) DropOtherKeys(scope, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.db.Exec(`DELETE FROM keys WHERE scope = ? AND key <> ?`, scope, name); err != nil {
		return fmt.Errorf("store: drop the keys beside %q: %w", name, err)
	}
	return nil
}

// SaveKey writes a key's record by itself, in place of the one that is there.
func (s *Store) SaveKey(k Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return saveKey(s.db, k)
}

// Begin opens a transaction.
func (s *Store) Begin() *Tx {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Tx{s: s, version: s.version}
}

// Objects returns all committed objects in order of commit.
func (s *Store) Objects() ([]Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, err := s.db.Query(`SELECT ord, object, class, attrs, sign, principal, request, undoes, carried_by, harms,
		reference, detail, committed_at FROM effects ORDER BY ord`)
	if err != nil {
		return nil, fmt.Errorf("store: objects: %w", err)
	}
	defer rows.Close()
	var all []Object
	for rows.Next() {
		var o Object
		var attrs, detail []byte
		var at int64
		err := rows.Scan(&o.Rank, &o.ID, &o.Class, &attrs, &o.Sign, &o.Principal, &o.Request, &o.Undoes, &o.CarriedBy,
			&o.Harms, &o.Reference, &detail, &at)
		if err == nil {
			o.Attrs, err = Values(attrs)
		}
		if err == nil {
			o.Detail, err = Values(detail)
		}
		if err != nil {
			return nil, fmt.Errorf("store: object %q: %w", o.ID, err)
		}
		o.At = time.Unix(0, at).UTC()
		all = append(all, o)
	}
	return all, rows.Err()
}

// Values reads a JSON object with whole numbers as int, so that values compare equal to those of a workload.
func Values(text []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, err
	}
	for k, v := range m {
		m[k] = plain(v)
	}
	return m, nil
}

func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return int(i)
		}
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		if i := int(f); float64(i) == f {
			return i
		}
		return f
	case map[string]any:
		for k, e := range v {
			v[k] = plain(e)
		}
	case []any:
		for i, e := range v {
			v[i] = plain(e)
		}
	}
	return v
}
