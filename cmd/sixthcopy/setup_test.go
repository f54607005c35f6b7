package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// An interrupt ends the setups that are under way with all that they started, and leaves no stamp.
func TestInterruptedSetup(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &place{dir: t.TempDir()}
	folder := filepath.Join(p.dir, "all", "slow")
	held, told := filepath.Join(folder, "held"), filepath.Join(folder, "told")
	manifest := `kind: client
summary: Its setup never ends.
setup: [sh, -c, "sh -c 'exec 3>told; exec cat held'; true"]
made_from: [system.yaml]
roles: [{name: front, command: [sh]}]
clock: wall
idle: probe
after_kill: redeliver
can: [turn]
`
	if err := errors.Join(os.Symlink(exe, filepath.Join(p.dir, "sixthcopy")), os.MkdirAll(folder, 0o700),
		syscall.Mkfifo(held, 0o600), syscall.Mkfifo(told, 0o600),
		os.WriteFile(filepath.Join(folder, "system.yaml"), []byte(manifest), 0o600)); err != nil {
		t.Fatal(err)
	}
	b := p.begin(t, "./sixthcopy setup slow --systems all")
	child, err := os.Open(told) // opens when the setup's own child has opened it, and ends with that child
	if err != nil {
		t.Fatal(err)
	}
	defer child.Close()
	if line := b.interrupt(t); line != "sixthcopy setup slow --systems all" {
		t.Errorf("to go on: %q", line)
	}
	if n, err := child.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("read %d bytes of what the setup's child holds open, %v; expected its end", n, err)
	}
	if _, err := os.Stat(filepath.Join(folder, ".ready")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a stamp was left: %v", err)
	}
	if strings.Contains(b.err.String(), "failed") {
		t.Errorf("an interrupt is blamed on the setup:\n%s", b.err.String())
	}
}
