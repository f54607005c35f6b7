package oracles

import (
	"context"

	"github.com/sixthcopy/sixthcopy/bench"
)

// chat reads every message that was ever posted, and what was corrected or taken away.
type chat struct{}

func (chat) Kind() string { return "chat" }

func (chat) Read(ctx context.Context, dir string) ([]bench.Effect, error) {
	return rows(ctx, dir, "post", "correction", "removal")
}
