package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fenced is a block of a page: its language and its lines.
var fenced = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// TestBringYourOwnProviderPage runs docs/bring-your-own-provider.md word for word, on a service from the registry:
// YAML goes into the file that its first line names, commands go to one shell, and what they print is what the
// page says, where ... stands for any lines.
func TestBringYourOwnProviderPage(t *testing.T) {
	if testing.Short() {
		t.Skip("it installs a service: go test without -short")
	}
	if out, err := exec.Command("python3", "-c", "import ensurepip").CombinedOutput(); err != nil {
		t.Skipf("no python3 with venv (apt-get install -y python3 python3-venv): %s", out)
	}
	text, err := os.ReadFile("../../docs/bring-your-own-provider.md")
	if err != nil {
		t.Fatal(err)
	}
	sh := startShell(t)
	commands := 0
	for _, b := range fenced.FindAllStringSubmatch(string(text), -1) {
		if b[1] == "yaml" {
			sh.file(b[2])
			continue
		}
		var command string
		var want []string
		check := func() {
			if command != "" {
				commands++
				sh.run(command, want)
			}
		}
		for _, line := range strings.Split(strings.TrimSuffix(b[2], "\n"), "\n") {
			if next, ok := strings.CutPrefix(line, "$ "); ok {
				check()
				command, want = next, nil
				continue
			}
			want = append(want, line)
		}
		check()
	}
	if commands < 8 {
		t.Errorf("%d commands were run, expected the page's eight", commands)
	}
}

// shell is one bash in which the commands of a page are run.
type shell struct {
	*testing.T
	dir  string
	path string
	last int // exit status
	bg   []*exec.Cmd
}

func startShell(t *testing.T) *shell {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(exe, filepath.Join(bin, "sixthcopy")); err != nil { // by this name the test binary is the program
		t.Fatal(err)
	}
	s := &shell{T: t, dir: t.TempDir(), path: bin + ":" + os.Getenv("PATH")}
	t.Cleanup(func() {
		for _, c := range s.bg {
			_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // it may have ended by itself
			_ = c.Wait()                                      // killed
		}
	})
	return s
}

// file writes a block into the file that its first line names. One that begins with an oracle is the first file
// with that oracle in the place of its own.
func (s *shell) file(text string) {
	s.Helper()
	first, rest, _ := strings.Cut(text, "\n")
	name := strings.TrimPrefix(first, "# ")
	if strings.HasPrefix(rest, "  oracle:") {
		base, err := os.ReadFile(filepath.Join(s.dir, "booking.yaml"))
		if err != nil {
			s.Fatal(err)
		}
		own := regexp.MustCompile(`(?m)^  oracle:\n(    .*\n)+`)
		if !own.Match(base) {
			s.Fatalf("no oracle in %s", base)
		}
		rest = string(own.ReplaceAllLiteral(base, []byte(rest)))
	}
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(rest), 0o600); err != nil {
		s.Fatal(err)
	}
}

// run runs a command and compares what it prints. One that ends with & stays until the test is over.
func (s *shell) run(command string, want []string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 3*time.Minute)
	defer cancel()
	background := strings.HasSuffix(command, "&")
	c := exec.CommandContext(ctx, "bash", "-c", command)
	if background {
		c = exec.Command("bash", "-c", "exec "+strings.TrimSpace(strings.TrimSuffix(command, "&")))
	}
	var out bytes.Buffer
	c.Dir, c.Env, c.SysProcAttr = s.dir, append(os.Environ(), "PATH="+s.path), &syscall.SysProcAttr{Setpgid: true}
	if background {
		if err := c.Start(); err != nil {
			s.Fatal(err)
		}
		s.bg = append(s.bg, c)
		return
	}
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	s.last = c.ProcessState.ExitCode()
	if strings.Contains(command, "pip install") && err != nil {
		s.Skipf("%s: the registry cannot be reached: %s", command, out.String())
	}
	if wantStatus := map[bool]int{true: int(violated)}[strings.HasPrefix(command, "sixthcopy run --system blind")]; s.last != wantStatus {
		s.Fatalf("$ %s: exit status %d, expected %d: %v\n%s%s", command, s.last, wantStatus, err, out.String(), s.log())
	}
	if off := differs(want, strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")); off != "" {
		s.Errorf("$ %s\nprinted\n%s\nand nowhere in place: %q", command, out.String(), off)
	}
}

func (s *shell) log() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "progress.log"))
	return fmt.Sprint(string(text), err)
}

// differs returns the first wanted line that is not in its place, "" if all are. A line ... stands for any lines;
// after it the next one may come later.
func differs(want, got []string) string {
	loose := false
	for _, w := range want {
		if w == "..." {
			loose = true
			continue
		}
		for loose && len(got) > 0 && strings.TrimRight(got[0], " ") != w {
			got = got[1:]
		}
		if len(got) == 0 || strings.TrimRight(got[0], " ") != w {
			return w
		}
		got, loose = got[1:], false
	}
	return ""
}
