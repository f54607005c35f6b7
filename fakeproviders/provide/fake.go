// Package provide serves one fake provider by itself, for tests of those who call the real one: over a store that
// may outlive it, with a clock that the test moves, a gate that the test gives orders to, and an address from which
// it does both (docs/provide.md).
package provide

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// Spec says what to serve.
type Spec struct {
	Contract bench.Contract
	Listener net.Listener     // its address is the fake's
	Dir      string           // an empty folder of the fake's own; its state is in it if there is no File
	File     string           // store that outlives the fake; "": none
	Oracle   bench.Oracle     // reads its effects
	Machine  func() time.Time // the machine's clock
}

// Fake is a provider that is served by itself.
type Fake struct {
	contract bench.Contract
	oracle   bench.Oracle
	machine  func() time.Time
	dir      string
	file     *file // nil: none
	door     *door

	mu    sync.RWMutex // held for writing while what follows is replaced
	lives int          // resets so far, and one
	life  life
}

// life is what a reset replaces.
type life struct {
	dir      string
	provider bench.Provider
	gate     *Gate
	clock    *Clock
}

// Open serves a fake until Close. The listener is closed with it, and by an error.
func Open(ctx context.Context, s Spec) (f *Fake, err error) {
	f, err = open(ctx, s)
	if err != nil {
		return nil, errors.Join(err, s.Listener.Close())
	}
	return f, nil
}

func open(ctx context.Context, s Spec) (*Fake, error) {
	f := &Fake{contract: s.Contract, oracle: s.Oracle, machine: s.Machine, dir: s.Dir}
	clock := NewClock(s.Machine)
	if s.File != "" {
		kept, reading, err := openFile(ctx, s.File, s.Contract.Name, clock.Read())
		if err != nil {
			return nil, err
		}
		f.file = kept
		if err := clock.restore(reading); err != nil {
			return nil, errors.Join(err, kept.close())
		}
	}
	f.door = newDoor(s.Listener)
	if err := f.begin(ctx, clock); err != nil {
		if f.file != nil {
			err = errors.Join(err, f.file.close())
		}
		return nil, err
	}
	return f, nil
}

// begin raises the provider; it needs the lock, or that nobody else has f yet.
func (f *Fake) begin(ctx context.Context, clock *Clock) error {
	f.lives++
	dir := filepath.Join(f.dir, strconv.Itoa(f.lives))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("folder of the fake: %w", err)
	}
	if f.file != nil {
		if err := f.file.link(dir, f.contract.Provider); err != nil {
			return err
		}
	}
	gate := NewGate(clock)
	p, err := fakeproviders.Raise(ctx, bench.ProviderSpec{Kind: f.contract.Provider, Contract: f.contract, Dir: dir, Gate: gate, Clock: clock})
	if err != nil {
		return err
	}
	if err := p.(interface {
		Serve(link string, l net.Listener) error
	}).Serve("client", f.door.enter()); err != nil {
		return errors.Join(err, p.Close())
	}
	f.life = life{dir, p, gate, clock}
	return nil
}

// end resets what is held or open and gives up the store. It needs the lock.
func (f *Fake) end(ctx context.Context) error {
	f.life.gate.end()
	err := f.life.provider.Close()
	if f.file != nil {
		err = errors.Join(err, f.file.keep(ctx, f.life.clock.Read()))
	}
	return err
}

// reset begins anew at the same address: no request, no effect, no key, no order, and the machine's time.
func (f *Fake) reset(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.end(ctx); err != nil {
		return err
	}
	clock := NewClock(f.machine)
	if f.file != nil {
		if err := errors.Join(f.file.empty(f.contract.Provider), f.file.blank(ctx, f.contract.Name, clock.Read())); err != nil {
			return err
		}
	}
	was := f.life.dir
	return errors.Join(f.begin(ctx, clock), os.RemoveAll(was))
}

// Close ends the fake. What it had committed is in its file, if it has one.
func (f *Fake) Close(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := errors.Join(f.door.close(), f.end(ctx))
	if f.file != nil {
		err = errors.Join(err, f.file.close())
	}
	return err
}

// move moves the clock, and keeps how it stands with the store.
func (f *Fake) move(ctx context.Context, m Motion) (Reading, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	r, err := f.life.clock.Move(m)
	if err != nil {
		return r, &mistake{err}
	}
	if f.file != nil {
		return r, f.file.keep(ctx, r)
	}
	return r, nil
}

// now is the present life. It must not be used after a reset but for waiting.
func (f *Fake) now() life {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.life
}

// Effects reads what exists, by the oracle.
func (f *Fake) Effects(ctx context.Context) ([]bench.Effect, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.oracle.Read(ctx, f.life.dir)
}

// rows has a query of the store answered, over a connection of its own.
func (f *Fake) rows(ctx context.Context, query string, each func(*sql.Rows) error, args ...any) (err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(f.life.dir, store.FileName)+"?mode=ro")
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return fmt.Errorf("store: %w", err)
		}
	}
	return rows.Err()
}
