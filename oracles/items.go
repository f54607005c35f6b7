package oracles

import (
	"context"

	"github.com/sixthcopy/sixthcopy/bench"
)

// itemTables reads what transactions wrote into tables, a write of an item each, and the tables themselves.
type itemTables struct{}

func (itemTables) Kind() string { return "items" }

func (itemTables) Read(ctx context.Context, dir string) ([]bench.Effect, error) {
	return rows(ctx, dir, "table", "item", "increment", "item-removal")
}
