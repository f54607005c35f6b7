package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// cli runs the program in this process and returns its exit status and what it printed.
func cli(t *testing.T, args ...string) (int, string, string) {
	t.Helper()
	var out, errw bytes.Buffer
	status := sixthcopy(context.Background(), args, strings.NewReader(""), &out, &errw)
	return status, out.String(), errw.String()
}

// TestGate: a client without a key is over its limits at the boundaries where its answer is lost, and within
// them with a key; the gate names who made the extra, what the caller was told, the configuration and the pair.
func TestGate(t *testing.T) {
	systems, dir := straightSystems(t), t.TempDir()
	policy := func(text string) string {
		file := filepath.Join(dir, "gate.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	stored := filepath.Join(dir, "run.db")
	file := policy("systems: [straight/blind]\nbeside: [straight/keyed]\nworkloads: [payment]\nlimits: {extra: 0}\nboundaries: {parameter-drift: {extra: 2, violations: 1}, crash-restart: {extra: 1, violations: 1}}\n")
	status, out, errs := cli(t, "gate", "--policy", file, "--systems", systems, "--out", stored)
	if status != 1 || !strings.Contains(errs, "cells are over a limit") {
		t.Fatalf("status %d, expected 1\n%s%s", status, out, errs)
	}
	for _, want := range []string{
		`straight/blind, payment, committed-before-response reset: violations 1 \(limit\s+0\), extra 1 \(limit 0\)`,
		`(?s)made by  the system, which sent the same call again by itself; its caller had\s+been told nothing`,
		`config   no Idempotency-Key`,
		`(?s)pair     straight/keyed: exact, by Idempotency-Key: one a call`,
		`(?s)story    sixthcopy show [0-9a-f]{12} --run\s+` + regexp.QuoteMeta(stored),
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if strings.Contains(out, "crash-restart") || strings.Contains(out, "straight/keyed, ") {
		t.Errorf("a cell within its limits is named:\n%s", out)
	}

	file = policy("systems: [straight/keyed]\nlimits: {extra: 0}\nboundaries: {parameter-drift: {extra: 1, violations: 1}, token-expired: {extra: 1, violations: 1}}\n")
	if status, out, errs = cli(t, "gate", "--policy", file, stored); status != 0 || !strings.Contains(out, "Within the limits: ") {
		t.Errorf("status %d, expected 0\n%s%s", status, out, errs)
	}
	file = policy("systems: [straight/other]\n")
	if status, _, errs = cli(t, "gate", "--policy", file, stored); status != 3 || !strings.Contains(errs, "system straight/other") {
		t.Errorf("status %d, expected 3\n%s", status, errs)
	}
	if status, _, errs = cli(t, "gate", "--policy", filepath.Join(dir, "none.yaml"), stored); status != 2 || !strings.Contains(errs, "init gate") {
		t.Errorf("status %d, expected 2\n%s", status, errs)
	}
	_, out, _ = cli(t, "gate", "--policy", policy("systems: [straight/blind]\nlimits: {extra: 0}\n"), stored)
	id := regexp.MustCompile(`show ([0-9a-f]{12})`).FindStringSubmatch(out)
	if id == nil {
		t.Fatalf("no trial is named in\n%s", out)
	}
	if _, out, _ = cli(t, "show", id[1], "--run", stored); !strings.Contains(out, "config  no Idempotency-Key") || !strings.Contains(out, "pair    straight/keyed: exact") {
		t.Errorf("show tells neither configuration nor pair:\n%.900s", out)
	}
}
