package fakeproviders

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// files puts files by staging and atomic rename, and deletes "the newest" under a prefix. The contents are
// real files beside the ledger: files/ holds what is there, staged/ what is not committed, removed/ what was
// deleted. Nothing is destroyed.
type files struct{ plainJSON }

func (files) Name() string    { return "files" }
func (files) Summary() string { return "files put by atomic rename; deletes the newest under a prefix" }

func (files) Parse(r bench.RawRequest) bench.Call {
	segments, query := target(r)
	path := strings.Join(segments[1:], "/")
	switch {
	case segments[0] != "files":
		return bench.Call{Op: "unknown"}
	case r.Method == http.MethodPut && path != "":
		attrs := pick(fields(r.Body), "content")
		attrs["path"] = path
		return bench.Call{Op: "put file", Class: "file", Mutating: true, Attrs: attrs}
	case r.Method == http.MethodDelete && path == "" && query.Has("newest_under"):
		return bench.Call{Op: "delete newest", Class: "deletion", Mutating: true, Attrs: map[string]any{}}
	case path != "":
		return bench.Call{Op: "read file", Attrs: map[string]any{"path": path}}
	}
	return bench.Call{Op: "list files"}
}

func (f files) execute(x *exchange) (answer, error) {
	_, query := target(x.raw)
	switch {
	case x.call.Op == "unknown":
		return f.refuse(notFound), nil
	case x.call.Class == "file":
		return f.put(x)
	case x.call.Class == "deletion":
		return f.deleteNewest(x, query.Get("newest_under"))
	case x.raw.Method != http.MethodGet:
		return f.refuse(wrongMethod), nil
	}
	all, err := x.look(func(store.Object) bool { return true })
	if err != nil {
		return answer{}, err
	}
	there := present(all)
	if x.call.Op == "read file" {
		for _, o := range there {
			if o.Attrs["path"] == x.call.Attrs["path"] {
				return jsonAnswer(http.StatusOK, shown(o, "content")), nil
			}
		}
		return f.refuse(notFound), nil
	}
	found := []any{}
	for _, o := range there {
		if strings.HasPrefix(text(o.Attrs, "path"), query.Get("prefix")) {
			found = append(found, map[string]any{"id": o.ID, "path": o.Attrs["path"], "version": o.Detail["version"]})
		}
	}
	return jsonAnswer(http.StatusOK, map[string]any{"files": found}), nil
}

// present folds the ledger to the files that are there now, in the order in which they were last written.
func present(all []store.Object) []store.Object {
	var there []store.Object
	for _, o := range all {
		kept := there[:0:0]
		for _, t := range there {
			if t.Attrs["path"] != o.Attrs["path"] {
				kept = append(kept, t)
			}
		}
		there = kept
		if o.Class == "file" {
			there = append(there, o)
		}
	}
	return there
}

func (f files) put(x *exchange) (answer, error) {
	m := fields(x.raw.Body)
	content, ok := m["content"].(string)
	path := text(x.call.Attrs, "path")
	switch {
	case m == nil || !ok:
		return f.refuse(invalid("content", "Field content is missing or is not a text.")), nil
	case len(fileName(path)) > 255:
		return f.refuse(invalid("path", "The path is too long: %d bytes when escaped; the limit is 255.", len(fileName(path)))), nil
	}
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	for _, o := range present(all) {
		if o.Attrs["path"] == path && text(o.Attrs, "content") == content { // an empty content is an absent attribute
			a := jsonAnswer(http.StatusOK, fileShown(o, true))
			a.existing, a.dedup = o.ID, true
			return a, nil
		}
	}
	version := 1
	for _, o := range all {
		if o.Class == "file" && o.Attrs["path"] == path {
			version++
		}
	}
	o := store.Object{ID: fmt.Sprintf("%s@%d", path, version), Class: "file", Attrs: x.call.Attrs, Detail: map[string]any{"version": version}}
	if err := f.stage(x.p.dir, x.name, path, content, x.tx); err != nil {
		return answer{}, err
	}
	x.add("", o)
	return f.current(x.tx.Added()), nil
}

// stage writes the content aside and has the commit rename it into place.
func (files) stage(dir, request, path, content string, tx *store.Tx) error {
	staged := filepath.Join(dir, "staged", request)
	for _, d := range []string{"staged", "files", "removed"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return fmt.Errorf("files: %w", err)
		}
	}
	if err := os.WriteFile(staged, []byte(content), 0o644); err != nil {
		return fmt.Errorf("staged file: %w", err)
	}
	tx.OnCommit(func() error { return os.Rename(staged, filepath.Join(dir, "files", fileName(path))) })
	tx.OnRollback(func() { os.Remove(staged) }) // left behind, it is harmless: nothing reads staged/
	return nil
}

// fileName is the name under files/ of the content at a path: no path can leave the folder.
func fileName(path string) string { return "f-" + url.PathEscape(path) }

func (f files) deleteNewest(x *exchange, prefix string) (answer, error) {
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	there := present(all)
	for i := len(there) - 1; i >= 0; i-- {
		path := text(there[i].Attrs, "path")
		if !strings.HasPrefix(path, prefix) {
			continue
		}
		x.add("del_", store.Object{Class: "deletion", Attrs: map[string]any{"path": path}, Detail: map[string]any{"object": there[i].ID}})
		from, to := filepath.Join(x.p.dir, "files", fileName(path)), filepath.Join(x.p.dir, "removed", x.name)
		x.tx.OnCommit(func() error { return os.Rename(from, to) })
		return f.current(x.tx.Added()), nil
	}
	return f.refuse(notFound), nil
}

func (files) current(objects []store.Object) answer {
	if objects[0].Class == "deletion" {
		return jsonAnswer(http.StatusOK, shown(objects[0]))
	}
	return jsonAnswer(http.StatusOK, fileShown(objects[0], false))
}

func fileShown(o store.Object, unchanged bool) map[string]any {
	return map[string]any{"id": o.ID, "path": o.Attrs["path"], "version": o.Detail["version"], "unchanged": unchanged}
}

func (files) world(w bench.WorldEffect, n int) store.Object {
	return store.Object{ID: fmt.Sprintf("%s@1", text(w.Attrs, "path")), Class: "file", Attrs: w.Attrs, Principal: w.Principal,
		Detail: map[string]any{"version": 1}}
}

// place writes the file of a world object.
func (f files) place(dir string, tx *store.Tx, o store.Object) error {
	path := text(o.Attrs, "path")
	if path == "" || o.Class != "file" {
		return fmt.Errorf("world object %s: it needs class file and a path, and has class %q", o.ID, o.Class)
	}
	return f.stage(dir, "world-"+digest(path), path, text(o.Attrs, "content"), tx)
}
