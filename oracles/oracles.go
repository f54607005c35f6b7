// Package oracles reads external state after a trial: each oracle opens the provider's store, or its files,
// by its own read-only connection and shares no code with the provider. The store's layout is a contract in
// docs/providers.md.
package oracles

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"

	"github.com/sixthcopy/sixthcopy/bench"
)

// All lists every oracle by the kind of provider that it reads. To add one: a file beside this, a line here.
var All = []bench.Oracle{
	calendar{},
	chat{},
	cluster{},
	fileStore{},
	documents{},
	machines{},
	itemTables{},
	mailbox{},
	messageQueue{},
	orderBook{},
	outbound{},
	payments{},
	repository{},
	snapshotStore{},
	table{},
	taskList{},
	ticketQueue{},
}

// Find returns the oracle of a kind of provider, and whether there is one.
func Find(kind string) (bench.Oracle, bool) {
	i := slices.IndexFunc(All, func(o bench.Oracle) bool { return o.Kind() == kind })
	if i < 0 {
		return nil, false
	}
	return All[i], true
}

// rows reads the effects of the given classes in order of commit. An effect of another class is an error:
// the store is not what the oracle was written for.
func rows(ctx context.Context, dir string, classes ...string) (effects []bench.Effect, err error) {
	path := filepath.Join(dir, "store.sqlite")
	db, err := sql.Open("sqlite3", "file:"+path+"?mode=ro")
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	found, err := db.QueryContext(ctx, `SELECT object, class, attrs, sign, principal, request, undoes, carried_by, harms FROM effects ORDER BY ord`)
	if err != nil {
		return nil, fmt.Errorf("store %s: effects: %w", path, err)
	}
	defer found.Close()
	for found.Next() {
		var e bench.Effect
		var attrs []byte
		if err := found.Scan(&e.Object, &e.Class, &attrs, &e.Sign, &e.Principal, &e.Request, &e.Undoes, &e.CarriedBy, &e.Harms); err != nil {
			return nil, fmt.Errorf("store %s: effect %d: %w", path, len(effects)+1, err)
		}
		if !slices.Contains(classes, e.Class) {
			return nil, fmt.Errorf("store %s: effect %s has class %q; expected %s", path, e.Object, e.Class, strings.Join(classes, " or "))
		}
		if e.Attrs, err = attributes(attrs); err != nil {
			return nil, fmt.Errorf("store %s: attributes of %s: %w", path, e.Object, err)
		}
		e.Committed = len(effects) + 1
		effects = append(effects, e)
	}
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("store %s: effects: %w", path, err)
	}
	return effects, nil
}

// attributes reads a JSON object; whole numbers become int, as in a workload file.
func attributes(text []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, err
	}
	for k, v := range m {
		n, ok := v.(json.Number)
		if !ok {
			continue
		}
		f, err := n.Float64()
		if err != nil {
			return nil, fmt.Errorf("number %s: %w", n, err)
		}
		if m[k] = f; float64(int(f)) == f {
			m[k] = int(f)
		}
	}
	return m, nil
}
