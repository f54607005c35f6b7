package oracles

import (
	"context"

	"github.com/sixthcopy/sixthcopy/bench"
)

// mailbox reads every message that was accepted.
type mailbox struct{}

func (mailbox) Kind() string { return "mail" }

func (mailbox) Read(ctx context.Context, dir string) ([]bench.Effect, error) {
	return rows(ctx, dir, "message")
}
