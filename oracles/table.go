package oracles

import (
	"context"

	"github.com/sixthcopy/sixthcopy/bench"
)

// table reads all rows of all tables.
type table struct{}

func (table) Kind() string { return "rows" }

func (table) Read(ctx context.Context, dir string) ([]bench.Effect, error) {
	return rows(ctx, dir, "row")
}
