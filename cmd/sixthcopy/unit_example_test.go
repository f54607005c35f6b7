package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnitExample runs the example of a cell in a unit test as users do, with the program in PATH, and wants its text
// on its page. Without its key the same example fails, with the story.
func TestUnitExample(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skipf("%v: install go", err)
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "examples", "unit", "go")
	text, err := os.ReadFile(filepath.Join(dir, "retry_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "systems", "kit", "cell", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "\n```go\n"+string(text)+"```\n") {
		t.Error("systems/kit/cell/README.md does not show examples/unit/go/retry_test.go as it is")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(exe, filepath.Join(bin, "sixthcopy")); err != nil { // by this name the test binary is the program
		t.Fatal(err)
	}
	test := func(dir string) (string, error) {
		cmd := exec.Command("go", "test", "-count=1", ".")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "SIXTHCOPY=", "TMPDIR="+t.TempDir(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := test(dir); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}

	without := t.TempDir()
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":        strings.Replace(string(mod), "../../..", root, 1),
		"retry_test.go": strings.Replace(string(text), `System: "retry-with-key"`, `System: "retry"`, 1),
	} {
		if err := os.WriteFile(filepath.Join(without, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err := test(without)
	if err == nil || !strings.Contains(out, "violation, expected safe at worst: retry, refund, response-at-tool-server reset") || !strings.Contains(out, "again: sixthcopy show ") {
		t.Errorf("without a key: %v, expected the story of a violation:\n%s", err, out)
	}
}
