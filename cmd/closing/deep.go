package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// store writes the result of a deep run into dir, named by its start and commit.
func (r *result) store(dir string, started time.Time) (string, error) {
	head, err := git("rev-parse", "HEAD")
	if err != nil {
		return "", fmt.Errorf("commit: %w", err)
	}
	changed, err := git("status", "--porcelain")
	if err != nil {
		return "", fmt.Errorf("work tree: %w", err)
	}
	r.Commit, r.Dirty, r.Started = head, changed != "", started.UTC().Format(time.RFC3339)
	body, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, started.UTC().Format("20060102-150405")+"-"+head[:12]+".json")
	return path, os.WriteFile(path, append(body, '\n'), 0o644)
}

// staleness says of the newest deep result in dir whether the code has changed since.
func staleness(dir string) string {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		return "deep: never run here (make deep)"
	}
	slices.Sort(files)
	newest := files[len(files)-1]
	body, err := os.ReadFile(newest)
	if err != nil {
		return "deep: " + err.Error()
	}
	var r result
	if err := json.Unmarshal(body, &r); err != nil {
		return fmt.Sprintf("deep: %s: %v", newest, err)
	}
	what := fmt.Sprintf("deep: %s at commit %.12s: %d passed, %d failed, %d skipped", r.Started, r.Commit, r.Passed, len(r.Failed), len(r.Skipped))
	changed, err := git("log", "--oneline", r.Commit+"..HEAD", "--", "*.go", "*.yaml", "*.json", "go.mod", "go.sum", ":!"+dir)
	switch {
	case err != nil:
		return what + "; whether it is stale cannot be told: " + err.Error()
	case r.Dirty:
		return what + "; STALE: it ran on changes that were not committed"
	case changed != "":
		return fmt.Sprintf("%s; STALE: %d commits have changed code since (make deep)", what, strings.Count(changed, "\n")+1)
	}
	return what + "; the code has not changed since"
}

// git runs a git command here and returns what it prints, trimmed.
func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		if exit, ok := err.(*exec.ExitError); ok {
			return "", fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(string(exit.Stderr)))
		}
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
