package oracles

import (
	"context"

	"github.com/sixthcopy/sixthcopy/bench"
)

// payments reads what moved money at the payment service, or is about to.
type payments struct{}

func (payments) Kind() string { return "payments" }

func (payments) Read(ctx context.Context, dir string) ([]bench.Effect, error) {
	return rows(ctx, dir, "refund", "charge", "payout", "transfer", "reversal", "intent", "capture", "cancellation")
}
