package oracles

import (
	"context"

	"github.com/sixthcopy/sixthcopy/bench"
)

// machines reads the instances that were launched, and those that were terminated (sign -1).
type machines struct{}

func (machines) Kind() string { return "instances" }

func (machines) Read(ctx context.Context, dir string) ([]bench.Effect, error) {
	return rows(ctx, dir, "instance")
}
