package oracles

import (
	"context"

	"github.com/sixthcopy/sixthcopy/bench"
)

// outbound reads payments to others and event destinations.
type outbound struct{}

func (outbound) Kind() string { return "outbound" }

func (outbound) Read(ctx context.Context, dir string) ([]bench.Effect, error) {
	return rows(ctx, dir, "outbound_payment", "event_destination", "cancellation", "removal", "change")
}
