package oracles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
)

// fileStore reads the ledger of writes and deletions, and holds it against the files that are really there:
// a file that differs from the last write of its path, is missing, or is not in the ledger, is an error.
type fileStore struct{}

func (fileStore) Kind() string { return "files" }

func (fileStore) Read(ctx context.Context, dir string) ([]bench.Effect, error) {
	effects, err := rows(ctx, dir, "file", "deletion")
	if err != nil {
		return nil, err
	}
	want := map[string]string{}
	for _, e := range effects {
		path, _ := e.Attrs["path"].(string)
		if e.Class == "deletion" {
			delete(want, path)
			continue
		}
		want[path], _ = e.Attrs["content"].(string)
	}
	there, err := os.ReadDir(filepath.Join(dir, "files"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("files in %s: %w", dir, err)
	}
	if len(there) != len(want) {
		return nil, fmt.Errorf("files in %s: %d are there, the ledger has %d: the provider's rename and its commit have parted", dir, len(there), len(want))
	}
	for _, f := range there {
		path, err := url.PathUnescape(strings.TrimPrefix(f.Name(), "f-"))
		if err != nil {
			return nil, fmt.Errorf("file %s in %s: %w", f.Name(), dir, err)
		}
		content, err := os.ReadFile(filepath.Join(dir, "files", f.Name()))
		if err != nil {
			return nil, fmt.Errorf("files in %s: %w", dir, err)
		}
		if w, ok := want[path]; !ok || w != string(content) {
			return nil, fmt.Errorf("file %s in %s holds %q, the ledger has %q", path, dir, content, w)
		}
	}
	return effects, nil
}
