package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sixthcopy/sixthcopy/workloads"
)

// TestInitSystem: what is written for each language keeps the wire contract and runs at once; without a key an
// answer that is lost makes two effects, with one it makes one.
func TestInitSystem(t *testing.T) {
	for language, need := range map[string]string{"go": "go", "python": "python3", "typescript": "node"} {
		t.Run(language, func(t *testing.T) {
			if _, err := exec.LookPath(need); err != nil {
				t.Skipf("%v: install %s", err, need)
			}
			above := t.TempDir()
			dir := filepath.Join(above, "mine")
			status, said, errs := cli(t, "init", "system", dir, "--language", language)
			if status != 0 || !strings.Contains(said, "sixthcopy check-system "+dir) {
				t.Fatalf("status %d: %s%s", status, said, errs)
			}
			for _, command := range readmeCommands(t, dir) {
				status, said, errs := cli(t, command[1:]...)
				if command[1] == "run" {
					continue // the quick suite, twice; one cell of it follows
				}
				if status != 0 {
					t.Fatalf("%v: status %d\n%s%s", command, status, said, errs)
				}
			}
			for system, want := range map[string]int{"mine/default": 1, "mine/with-key": 0} {
				status, said, errs := cli(t, "run", "--systems", above, "--system", system, "--workload", "refund", "--boundary", "response-at-tool-server",
					"--out", filepath.Join(t.TempDir(), "run.db"))
				if status != want {
					t.Errorf("%s: status %d, expected %d\n%s%s", system, status, want, said, errs)
				}
			}
			if status, _, errs := cli(t, "init", "system", dir, "--language", language); status != 2 || !strings.Contains(errs, "init writes over nothing") {
				t.Errorf("a second time: status %d, %s", status, errs)
			}
		})
	}
}

// readmeCommands are the lines of the block in a written README, without the last: it runs the whole quick suite.
func readmeCommands(t *testing.T, dir string) (all [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```\n")
	block, _, _ = strings.Cut(block, "```")
	for line := range strings.Lines(block) {
		words := strings.Fields(line)
		if words[0] != "sixthcopy" {
			t.Fatalf("a line of README.md that is no command of this program: %q", line)
		}
		if words[1] != "run" {
			all = append(all, words)
		}
	}
	if len(all) == 0 || strings.Contains(string(text), "{{") {
		t.Fatalf("README.md as it was written:\n%s", text)
	}
	return all
}

// TestInitWorkload: the workload is read strictly, and the controls run on it.
func TestInitWorkload(t *testing.T) {
	dir := t.TempDir()
	if status, _, errs := cli(t, "init", "workload", dir); status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	file := filepath.Join(dir, "my-workload.yaml")
	if _, err := workloads.LoadFile(file); err != nil {
		t.Fatal(err)
	}
	status, said, errs := cli(t, "run", "--system", "blind", "--workload", file, "--boundary", "response-at-tool-server", "--out", filepath.Join(dir, "run.db"))
	if status != 1 || !strings.Contains(said, "extra 1") {
		t.Errorf("status %d, expected 1: blind repeats a refund\n%s%s", status, said, errs)
	}
}

// TestInitGate: the policy names the systems that are there, and the gate takes it as it is written.
func TestInitGate(t *testing.T) {
	dir := t.TempDir()
	if status, _, errs := cli(t, "init", "system", filepath.Join(dir, "systems", "mine"), "--language", "python"); status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	status, said, errs := cli(t, "init", "gate", dir)
	if status != 0 || !strings.Contains(said, "sixthcopy gate --policy "+filepath.Join(dir, "gate.yaml")) {
		t.Fatalf("status %d: %s%s", status, said, errs)
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skipf("%v: install python3", err)
	}
	stored := filepath.Join(dir, "run.db")
	cli(t, "run", "--systems", filepath.Join(dir, "systems"), "--system", "mine/default", "--workload", "refund", "--boundary", "response-at-tool-server", "--out", stored)
	status, said, errs = cli(t, "gate", "--policy", filepath.Join(dir, "gate.yaml"), stored)
	if status != 1 || !strings.Contains(said, "mine/default") {
		t.Errorf("status %d, expected 1: mine/default sends again without a key\n%s%s", status, said, errs)
	}
}
