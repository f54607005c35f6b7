package oracles

import (
	"context"

	"github.com/sixthcopy/sixthcopy/bench"
)

// documents reads the lines of all documents in the order in which they were appended.
type documents struct{}

func (documents) Kind() string { return "lines" }

func (documents) Read(ctx context.Context, dir string) ([]bench.Effect, error) {
	return rows(ctx, dir, "line")
}
