// Package workloads holds the suite, one YAML file a workload, and the loader that reads such files.
//
// Reading is strict: whatever a file says that the loader does not know is a problem, with the place, what
// was expected, what came and the nearest known name; all problems of a file come at once. The loader and
// the JSON Schema for editors rest on one description of the format (form.go).
package workloads

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
)

//go:embed *.yaml providers
var files embed.FS

// Suite returns the workloads that come with the harness, sorted by name.
func Suite() ([]bench.Workload, error) { return load("*.yaml", "providers/*.yaml") }

// Core returns those that say what a boundary is, at the simplest providers, sorted by name.
func Core() ([]bench.Workload, error) { return load("*.yaml") }

// Providers returns those at providers that keep a real contract over its real wire, sorted by name.
func Providers() ([]bench.Workload, error) { return load("providers/*.yaml") }

func load(patterns ...string) ([]bench.Workload, error) {
	var all []bench.Workload
	var wrong []error
	for _, pattern := range patterns {
		found, err := fs.Glob(files, pattern)
		if err != nil {
			return nil, fmt.Errorf("suite: %w", err)
		}
		for _, file := range found {
			data, err := files.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("suite: %w", err)
			}
			w, err := Parse("workloads/"+file, data, Known())
			wrong = append(wrong, err)
			all = append(all, w)
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b bench.Workload) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// LoadFile reads the workload file at path. A file that can be opened but not used is a *Problems.
func LoadFile(path string) (bench.Workload, error) {
	data, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return bench.Workload{}, fmt.Errorf("workload: %w", err)
	}
	return Parse(path, data, Known())
}

// Parse reads the text of a workload file, by the words of cat. name stands for the file in messages. The
// error is a *Problems with all that is wrong, sorted by position.
func Parse(name string, data []byte, cat Catalogue) (bench.Workload, error) {
	r := &reader{file: name}
	if root := r.document(data); root != nil {
		if isExternal(root) {
			cat = declaredIn(root, cat)
		}
		v := r.read(fileForm(cat), root, "")
		if v != nil {
			c := checker{reader: r, cat: cat, root: v, w: decode(v)}
			c.check()
			if len(r.problems) == 0 {
				return c.w, nil
			}
		}
	}
	return bench.Workload{}, sorted(r.problems)
}

// Canonical returns the one JSON text of a workload, for hashing and storing: equal workloads have equal
// texts, whatever their files look like.
func Canonical(w bench.Workload) ([]byte, error) {
	text, err := json.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("workload %s as JSON: %w", w.Name, err)
	}
	return text, nil
}
