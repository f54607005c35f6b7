package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/systems"
	"github.com/sixthcopy/sixthcopy/systems/check"
)

// checked holds an adapter of this test binary against the contract.
func checked(t *testing.T, how string) []check.Result {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "planted")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	manifest := fmt.Sprintf(`kind: client
summary: An adapter with a planted fault.
roles: [{name: front, command: [%q, planted, %q]}]
clock: protocol
idle: probe
after_kill: redeliver
knobs: [call_timeout_ms, recovery, events, fresh_connections]
can: [turn, repair, cancel, decide, event, clock, at, wait, reset, timeout]
`, exe, how)
	if err := os.WriteFile(filepath.Join(dir, "system.yaml"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	m, all, err := systemOf(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := systems.Subreap(); err != nil {
		t.Fatal(err)
	}
	w, stop, err := world()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	raise, err := places(w, m)
	if err != nil {
		t.Fatal(err)
	}
	results, err := check.Check(t.Context(), check.Config{System: all[0], Manifest: m, Raise: raise, Dir: t.TempDir(), Own: ownChild,
		Ack: 2 * time.Second, Quiet: 2 * time.Second, Rest: 400 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// ownChild knows the processes of other tests of this binary.
func ownChild(command []string) bool {
	exe, err := os.Executable()
	return err == nil && command[0] == exe
}

// TestCheckFindsPlantedFaults wants the sound adapter to pass, and the first thing that is found of each other
// to be its fault, with the line that was sent.
func TestCheckFindsPlantedFaults(t *testing.T) {
	for _, r := range checked(t, "sound") {
		if r.Tag != check.OK {
			t.Errorf("the sound adapter: %s %s: %s\n%s", r.Tag, r.Name, r.Says, r.Break)
		}
	}
	for _, how := range plantedFaults() {
		t.Run(how, func(t *testing.T) {
			if !strings.HasPrefix(how, "strays") { // what these leave is seen by all
				t.Parallel()
			}
			want := plantedAt[how]
			for _, r := range checked(t, how) {
				if r.Tag != check.Broken {
					continue
				}
				if r.Name != want[0] || !strings.Contains(r.What, want[1]) {
					t.Errorf("found in %s: %s\nexpected in %s: ...%s...\n%s%s", r.Name, r.What, want[0], want[1], r.Break, strings.Join(r.Lines, "\n"))
				}
				if r.Expected == "" || r.Do == "" || r.Sent == "" && r.Name != "nothing left" {
					t.Errorf("a break that says too little: %+v", r.Break)
				}
				return
			}
			t.Errorf("nothing was found, expected in %s: %s", want[0], want[1])
		})
	}
}

// TestCheckedSystems holds every system of the suite that is set up against the contract.
func TestCheckedSystems(t *testing.T) {
	all, err := systems.Load(filepath.Join("..", "..", "systems"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			if is, err := m.Readiness(); err != nil || !is.Ready() {
				t.Skipf("%s: %s (%v): sixthcopy setup %s", m.Name, is, err, m.Name)
			}
			var out, errw bytes.Buffer
			if got := sixthcopy(context.Background(), []string{"check-system", m.Dir}, nil, &out, &errw); got != 0 {
				t.Errorf("exit status %d\n%s%s", got, &out, &errw)
			}
		})
	}
}
