package oracles

import (
	"context"

	"github.com/sixthcopy/sixthcopy/bench"
)

// cluster reads every version of every object of a cluster, and what was torn down.
type cluster struct{}

func (cluster) Kind() string { return "cluster" }

func (cluster) Read(ctx context.Context, dir string) ([]bench.Effect, error) {
	return rows(ctx, dir, "config", "pod", "job", "app", "teardown")
}
