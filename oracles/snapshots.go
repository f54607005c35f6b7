package oracles

import (
	"context"

	"github.com/sixthcopy/sixthcopy/bench"
)

// snapshotStore reads the snapshots that were started, and which were completed.
type snapshotStore struct{}

func (snapshotStore) Kind() string { return "snapshots" }

func (snapshotStore) Read(ctx context.Context, dir string) ([]bench.Effect, error) {
	return rows(ctx, dir, "snapshot", "completion")
}
