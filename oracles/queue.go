package oracles

import (
	"context"
	"slices"

	"github.com/sixthcopy/sixthcopy/bench"
)

// messageQueue reads the queues, the messages put into them and those that were deleted. That a message was
// handed out is in the ledger too, and is no effect.
type messageQueue struct{}

func (messageQueue) Kind() string { return "queue" }

func (messageQueue) Read(ctx context.Context, dir string) ([]bench.Effect, error) {
	all, err := rows(ctx, dir, "queue", "queued-message", "message-removal", "delivery")
	return slices.DeleteFunc(all, func(e bench.Effect) bool { return e.Class == "delivery" }), err
}
