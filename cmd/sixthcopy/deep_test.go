//go:build deep

package main

import "testing"

// TestDeepFull runs every variant on every policy, with what every run must be.
func TestDeepFull(t *testing.T) {
	full, err := runOnce(t.TempDir(), 0, "--suite", "full", "--seed", "1")
	if err != nil {
		t.Fatal(err)
	}
	checkRun(t, full)
}

// TestDeepWarmAndColdStartsAgree is TestWarmAndColdStartsAgree on all workloads.
func TestDeepWarmAndColdStartsAgree(t *testing.T) {
	warmAndColdAgree(t, []string{"tenacity/tuned", "requests/retrying"})
}
