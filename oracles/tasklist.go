package oracles

import (
	"context"

	"github.com/sixthcopy/sixthcopy/bench"
)

// taskList reads the tasks that were started; one call may have started several.
type taskList struct{}

func (taskList) Kind() string { return "tasks" }

func (taskList) Read(ctx context.Context, dir string) ([]bench.Effect, error) {
	return rows(ctx, dir, "task")
}
