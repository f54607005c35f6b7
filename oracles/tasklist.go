package oracles

import (
	"context"

	"github.com/sixthcopy/sixthcopy/bench"
)

// taskList reads the tasks that were started, those that were stopped (sign -1), and the services. One call may
// have started several tasks.
type taskList struct{}

func (taskList) Kind() string { return "tasks" }

func (taskList) Read(ctx context.Context, dir string) ([]bench.Effect, error) {
	return rows(ctx, dir, "task", "service")
}
