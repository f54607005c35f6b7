package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPytestFixture runs a team's pytest with the fixture of the Python kit, the program in PATH: what holds passes,
// and what does not fails with the story of its trial.
func TestPytestFixture(t *testing.T) {
	bin, err := filepath.Abs("../../systems/kit/python/test/.venv/bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(bin, "pytest")); err != nil {
		t.Skip("pytest is not here: cd systems/kit/python/test && sh ../setup.sh")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	own := t.TempDir()
	if err := os.Symlink(exe, filepath.Join(own, "sixthcopy")); err != nil { // by this name the test binary is the program
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "python"), "-m", "pytest", "-p", "sixthcopy_kit.pytest_plugin", "-p", "no:cacheprovider", "-q", "-rA", "test_mine.py")
	cmd.Dir = filepath.Join("testdata", "pytest")
	cmd.Env = append(os.Environ(), "PATH="+own+":"+bin+":"+os.Getenv("PATH"), "SIXTHCOPY=", "PYTHONDONTWRITEBYTECODE=1", "COLUMNS=200")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("pytest ended with %v, expected status 1 for the tests that are to fail:\n%s", err, out)
	}
	for _, want := range []string{
		"PASSED test_mine.py::test_once_makes_no_second_refund",
		"PASSED test_mine.py::test_all_variants_are_run",
		"FAILED test_mine.py::test_again_makes_one",
		"violation, expected safe at worst: mine/again, refund, response-at-tool-server reset",
		"verdict violation: Extra 1", // the story
		"again: sixthcopy show ",
		"token-expired has no cell with append-line: the contract has no token that could expire",
		`unknown boundary "no-such"`,
		"nothing has no system",
		"4 failed, 2 passed",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("pytest does not say %q:\n%s", want, out)
		}
	}
}
