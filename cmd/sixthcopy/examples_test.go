package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamples runs the examples of docs/provide.md as users do, with the program in PATH, and wants their text on
// that page.
func TestExamples(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "provide.md"))
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(exe, filepath.Join(bin, "sixthcopy")); err != nil { // by this name the test binary is the program
		t.Fatal(err)
	}
	python, err := filepath.Abs(filepath.Join("..", "..", ".cache", "clients", "python", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file    string
		command []string
		need    string // what to do where the command is not there
		says    []string
	}{
		{"lost_refund.py", []string{python}, "make clients", []string{"OK"}},
		{"lost_task.py", []string{python}, "make clients", []string{"OK"}},
		{"curl.sh", []string{"sh"}, "install curl", []string{"no answer: curl ended with 56", `"state":"done"`, `"request":"r1"`, `"request":"r2"`}},
		{"go/lost_ticket_test.go", []string{"go", "test", "-count=1"}, "install go", []string{"ok"}},
		{"fake.py", nil, "", nil}, // of the others
	} {
		t.Run(c.file, func(t *testing.T) {
			path, err := filepath.Abs(filepath.Join("..", "..", "examples", "provide", filepath.FromSlash(c.file)))
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(page), "\n"+string(text)+"```\n") {
				t.Errorf("docs/provide.md does not show %s as it is", c.file)
			}
			if c.command == nil {
				return
			}
			program := c.command[0]
			if c.file == "curl.sh" {
				program = "curl"
			}
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("%v: %s", err, c.need)
			}
			cmd := exec.Command(c.command[0], append(c.command[1:], path)...)
			cmd.Dir = t.TempDir()
			if c.command[0] == "go" {
				cmd.Args, cmd.Dir = append(c.command, "."), filepath.Dir(path)
			}
			cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v:\n%s", err, out)
			}
			for _, want := range c.says {
				if !strings.Contains(string(out), want) {
					t.Errorf("it does not say %s:\n%s", want, out)
				}
			}
		})
	}
}
