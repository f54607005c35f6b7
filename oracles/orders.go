package oracles

import (
	"context"

	"github.com/sixthcopy/sixthcopy/bench"
)

// orderBook reads orders and payments; a cancellation is one of the same class with the other sign.
type orderBook struct{}

func (orderBook) Kind() string { return "orders" }

func (orderBook) Read(ctx context.Context, dir string) ([]bench.Effect, error) {
	return rows(ctx, dir, "order", "payment")
}
