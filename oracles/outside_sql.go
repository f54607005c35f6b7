package oracles

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// sqlitePrefix begins the databases that can be read here. Others are read by a command (psql, mysql).
const sqlitePrefix = "sqlite:"

// selected reads by a query: columns id and class, every other column an attribute; NULL is absent.
func selected(ctx context.Context, database, query string) (effects []bench.Effect, err error) {
	path, ok := strings.CutPrefix(database, sqlitePrefix)
	if !ok {
		return nil, fmt.Errorf("database %q: expected sqlite:PATH; read another database by a command", database)
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	db, err := sql.Open("sqlite3", "file:"+path+"?mode=ro&_busy_timeout=5000")
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("database %s: query: %w", path, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, fmt.Errorf("database %s: query: %w", path, err)
	}
	if !slices.Contains(columns, "id") || !slices.Contains(columns, "class") {
		return nil, fmt.Errorf("database %s: the query has the columns %s: expected id and class among them", path, strings.Join(columns, ", "))
	}
	for rows.Next() {
		cells := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, fmt.Errorf("database %s: row %d: %w", path, len(effects)+1, err)
		}
		e := bench.Effect{Attrs: map[string]any{}, Sign: 1}
		for i, name := range columns {
			switch v := cell(cells[i]); {
			case v == nil:
			case name == "id":
				e.Object = fmt.Sprint(v)
			case name == "class":
				e.Class = fmt.Sprint(v)
			default:
				e.Attrs[name] = v
			}
		}
		if e.Object == "" || e.Class == "" {
			return nil, fmt.Errorf("database %s: row %d has id %q and class %q: expected both", path, len(effects)+1, e.Object, e.Class)
		}
		effects = append(effects, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("database %s: query: %w", path, err)
	}
	return effects, nil
}

// cell is a value as a workload file would have it.
func cell(v any) any {
	switch n := v.(type) {
	case int64:
		return int(n)
	case float64:
		if float64(int(n)) == n {
			return int(n)
		}
	case []byte:
		return string(n)
	case time.Time:
		return n.UTC().Format(time.RFC3339Nano)
	}
	return v
}
