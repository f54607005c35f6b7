package provide

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"
	"golang.org/x/sys/unix"

	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// file is a store that outlives its fake: the provider's own SQLite file, with one more table that says whose it
// is and how its clock stands. The process that serves it holds a lock on it.
type file struct {
	path string // absolute
	lock *os.File
}

// served is the table beside the provider's own. It has one row.
const served = `CREATE TABLE served (contract TEXT NOT NULL, clock TEXT NOT NULL)`

// openFile takes the store at path for a contract, and makes it if there is none, or nothing in it.
func openFile(ctx context.Context, path, contract string, now Reading) (f *file, clock Reading, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, clock, fmt.Errorf("store: %w", err)
	}
	lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, clock, unopened(path, err)
	}
	f = &file{path, lock}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, clock, fmt.Errorf("store %s is served by another process: end that one, or name another file", path)
		}
		return nil, clock, fmt.Errorf("store %s: lock: %w", path, err)
	}
	info, err := lock.Stat()
	if err != nil {
		return nil, clock, fmt.Errorf("store: %w", err)
	}
	if info.Size() == 0 {
		if entries, err := os.ReadDir(f.folder()); err == nil && len(entries) > 0 {
			return nil, clock, fmt.Errorf("store %s is new, but %s has something in it: move that away, or name another file", path, f.folder())
		}
		if err := f.dropJournal(); err != nil {
			return nil, clock, err
		}
		return f, now, f.blank(ctx, contract, now)
	}
	clock, err = f.check(ctx, contract)
	return f, clock, err
}

// Foreign says that a file is there and is no store of the contract that is to be served.
type Foreign struct{ error }

// unopened says why the file at path cannot be opened for writing.
func unopened(path string, err error) error {
	dir := filepath.Dir(path)
	at, statErr := os.Stat(path)
	in, dirErr := os.Stat(dir)
	switch {
	case statErr == nil && at.IsDir():
		return fmt.Errorf("store %s is a folder: name a file in it", path)
	case errors.Is(dirErr, os.ErrNotExist):
		return fmt.Errorf("store %s: there is no folder %s: make it first", path, dir)
	case dirErr == nil && !in.IsDir():
		return fmt.Errorf("store %s: %s is no folder", path, dir)
	case statErr == nil && readOnly(err):
		return fmt.Errorf("store %s cannot be written: %w", path, err)
	case readOnly(err):
		return fmt.Errorf("store %s: folder %s cannot be written: %w", path, dir, err)
	}
	return fmt.Errorf("store: %w", err)
}

func readOnly(err error) bool { return errors.Is(err, os.ErrPermission) || errors.Is(err, unix.EROFS) }

// blank makes the file the store of a contract to which nothing has happened. No handle on it may be open.
func (f *file) blank(ctx context.Context, contract string, now Reading) (err error) {
	dir, err := os.MkdirTemp("", "sixthcopy-blank-")
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := store.Open(ctx, dir)
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	made := &file{path: filepath.Join(dir, store.FileName)}
	clock, err := json.Marshal(now)
	if err != nil {
		return fmt.Errorf("store: clock: %w", err)
	}
	if err := made.exec(ctx, served+`; INSERT INTO served VALUES (?, ?)`, contract, string(clock)); err != nil {
		return err
	}
	text, err := os.ReadFile(made.path)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := os.WriteFile(f.path, text, 0o600); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// dropJournal removes what a killed process left beside a file that has since been removed: SQLite would read the
// commits in it into the new one.
func (f *file) dropJournal() error {
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(f.path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("store: journal of a file that is gone: %w", err)
		}
	}
	return nil
}

// folder is where a provider that keeps more than its store keeps that.
func (f *file) folder() string { return f.path + ".files" }

// check reads whose store the file is. It changes nothing in a file that is none of ours.
func (f *file) check(ctx context.Context, contract string) (clock Reading, err error) {
	db, err := sql.Open("sqlite3", "file:"+f.path+"?mode=ro")
	if err != nil {
		return clock, fmt.Errorf("store %s: %w", f.path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var of, text string
	if err := db.QueryRowContext(ctx, `SELECT contract, clock FROM served`).Scan(&of, &text); err != nil {
		return clock, &Foreign{fmt.Errorf("store %s is no store of `sixthcopy provide`: %w; name a new file, or an empty one", f.path, err)}
	}
	if of != contract {
		return clock, &Foreign{fmt.Errorf("store %s is of contract %s, not of %s: name another file", f.path, of, contract)}
	}
	if err := json.Unmarshal([]byte(text), &clock); err != nil {
		return clock, fmt.Errorf("store %s: clock: %w", f.path, err)
	}
	return clock, nil
}

// keep notes how the clock stands.
func (f *file) keep(ctx context.Context, r Reading) error {
	clock, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("store: clock: %w", err)
	}
	return f.exec(ctx, `UPDATE served SET clock = ?`, string(clock))
}

func (f *file) exec(ctx context.Context, statement string, args ...any) (err error) {
	db, err := sql.Open("sqlite3", "file:"+f.path)
	if err != nil {
		return fmt.Errorf("store %s: %w", f.path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, statement, args...); err != nil {
		return fmt.Errorf("store %s: %w", f.path, err)
	}
	return nil
}

// kept are the folders of a provider that keeps files beside its store (docs/providers.md, the store).
var kept = []string{"files", "staged", "removed"}

// link makes dir the folder of a provider whose state is in the file.
func (f *file) link(dir, kind string) error {
	if err := os.Symlink(f.path, filepath.Join(dir, store.FileName)); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if kind != "files" {
		return nil
	}
	for _, name := range kept {
		target := filepath.Join(f.folder(), name)
		if err := os.MkdirAll(target, 0o700); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	return nil
}

// empty removes what a provider kept beside its store.
func (f *file) empty(kind string) error {
	if kind != "files" {
		return nil
	}
	for _, name := range kept {
		if err := os.RemoveAll(filepath.Join(f.folder(), name)); err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	return nil
}

// close gives the file up to the next process.
func (f *file) close() error {
	if err := f.lock.Close(); err != nil {
		return fmt.Errorf("store %s: %w", f.path, err)
	}
	return nil
}
