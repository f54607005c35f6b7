package oracles

import (
	"context"

	"github.com/sixthcopy/sixthcopy/bench"
)

// repository reads all that was made in repositories, and every change of an issue or a pull request.
type repository struct{}

func (repository) Kind() string { return "repository" }

func (repository) Read(ctx context.Context, dir string) ([]bench.Effect, error) {
	return rows(ctx, dir, "issue", "comment", "pull_request", "release", "draft", "deployment", "ref", "change")
}
