package oracles

import (
	"context"

	"github.com/sixthcopy/sixthcopy/bench"
)

// calendar reads the events of all calendars, and their cancellations.
type calendar struct{}

func (calendar) Kind() string { return "calendar" }

func (calendar) Read(ctx context.Context, dir string) ([]bench.Effect, error) {
	return rows(ctx, dir, "event", "cancellation")
}
