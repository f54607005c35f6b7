package oracles

import (
	"context"

	"github.com/sixthcopy/sixthcopy/bench"
)

// ticketQueue reads all tickets, also those that the provider's look-up does not show yet or any more.
type ticketQueue struct{}

func (ticketQueue) Kind() string { return "tickets" }

func (ticketQueue) Read(ctx context.Context, dir string) ([]bench.Effect, error) {
	return rows(ctx, dir, "ticket")
}
