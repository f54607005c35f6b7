package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Tx is an open transaction of one request. It is used by one goroutine.
type Tx struct {
	s        *Store
	version  int  // of the store at Begin
	read     bool // it has looked at the state
	added    []Object
	key      *Key
	commit   []func() error
	rollback []func()
}

// Objects returns all committed objects in order of commit; this transaction's own are not among them.
func (t *Tx) Objects() ([]Object, error) {
	t.read = true
	return t.s.Objects()
}

// Add holds an effect for the commit.
func (t *Tx) Add(o Object) {
	if o.Sign == 0 {
		o.Sign = 1
	}
	t.added = append(t.added, o)
}

// Added returns what is held for the commit.
func (t *Tx) Added() []Object { return t.added }

// SaveKey holds a key's record for the commit.
func (t *Tx) SaveKey(k Key) { t.key = &k }

// OnCommit has f run when the rows are committed, before another transaction can begin or commit;
// OnRollback has f run when this one is given up.
func (t *Tx) OnCommit(f func() error) { t.commit = append(t.commit, f) }
func (t *Tx) OnRollback(f func())     { t.rollback = append(t.rollback, f) }

// Commit writes all that is held, at virtual time now, in one SQLite transaction. With ErrStale nothing is written.
func (t *Tx) Commit(now time.Time) error {
	s := t.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.read && t.version != s.version {
		return ErrStale
	}
	tx, err := s.db.Begin()
	if err != nil {
		return fmt.Errorf("store: begin: %w", err)
	}
	if err := t.write(tx, now); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("store: commit: %w", err)
	}
	s.version++
	for _, f := range t.commit {
		if err := f(); err != nil {
			return fmt.Errorf("store: after commit: %w", err)
		}
	}
	return nil
}

// Rollback gives everything up.
func (t *Tx) Rollback() {
	for _, f := range t.rollback {
		f()
	}
	t.added, t.key, t.commit, t.rollback = nil, nil, nil, nil
}

func (t *Tx) write(tx *sql.Tx, now time.Time) error {
	for _, o := range t.added {
		attrs, err := json.Marshal(o.Attrs)
		if err != nil {
			return fmt.Errorf("store: attributes of %q: %w", o.ID, err)
		}
		detail, err := json.Marshal(o.Detail)
		if err != nil {
			return fmt.Errorf("store: detail of %q: %w", o.ID, err)
		}
		_, err = tx.Exec(`INSERT INTO effects (object, class, attrs, sign, principal, request, undoes, carried_by, harms,
			reference, detail, committed_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)`,
			o.ID, o.Class, string(attrs), o.Sign, o.Principal, o.Request, o.Undoes, o.CarriedBy, o.Harms,
			o.Reference, string(detail), now.UnixNano())
		if err != nil {
			return fmt.Errorf("store: effect %q: %w", o.ID, err)
		}
	}
	if t.key != nil {
		return saveKey(tx, *t.key)
	}
	return nil
}

func saveKey(db interface {
	Exec(string, ...any) (sql.Result, error)
}, k Key) error {
	header, err := json.Marshal(k.Header)
	if err != nil {
		return fmt.Errorf("store: header under key %q: %w", k.Name, err)
	}
	objects, err := json.Marshal(k.Objects)
	if err != nil {
		return fmt.Errorf("store: objects under key %q: %w", k.Name, err)
	}
	_, err = db.Exec(`INSERT OR REPLACE INTO keys VALUES (?,?,?,?,?,?,?,?,?,?,?)`,
		k.Scope, k.Name, k.State, k.Fingerprint, k.Request, k.Status, string(header), k.Body, string(objects),
		k.Created.UnixNano(), k.Done.UnixNano())
	if err != nil {
		return fmt.Errorf("store: key %q: %w", k.Name, err)
	}
	return nil
}
