package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// place is a folder in which the program is run as from a shell, with a system that tells of its trials.
type place struct {
	dir     string
	told    *bufio.Scanner // a line for each turn of the system
	command []string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &place{dir: t.TempDir()}
	fifo := filepath.Join(p.dir, "told")
	if err := errors.Join(os.Symlink(exe, filepath.Join(p.dir, "sixthcopy")), syscall.Mkfifo(fifo, 0o600),
		writeSystem(filepath.Join(p.dir, "more systems"), "tells", exe, fifo),
		os.WriteFile(filepath.Join(p.dir, "plain note.yaml"), []byte(plainNote), 0o600)); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(fifo, os.O_RDWR, 0) // for writing too, so that it does not end with a system
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pipe.Close() })
	p.told = bufio.NewScanner(pipe)
	p.command = []string{"./sixthcopy", "run", "--parallel", "2", "--system", "tells", "--systems", "more systems", "--workload", "./plain note.yaml", "--out"}
	return p
}

// hear waits until n more turns of the system have been told of.
func (p *place) hear(t *testing.T, n int) {
	t.Helper()
	for range n {
		if !p.told.Scan() {
			t.Fatal("the system tells of nothing more")
		}
	}
}

// begun is a command that runs.
type begun struct {
	cmd      *exec.Cmd
	out, err bytes.Buffer
}

// begin runs a command line as a shell does.
func (p *place) begin(t *testing.T, line string) *begun {
	t.Helper()
	b := &begun{cmd: exec.Command("/bin/sh", "-c", "exec "+line)}
	b.cmd.Dir, b.cmd.Stdout, b.cmd.Stderr = p.dir, &b.out, &b.err
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.cmd.Process.Kill() }) // it has ended already, if all is well
	return b
}

func (b *begun) end(t *testing.T, status int) {
	t.Helper()
	_ = b.cmd.Wait() // its status is read below
	if got := b.cmd.ProcessState.ExitCode(); got != status {
		t.Fatalf("exit status %d, expected %d; stderr:\n%s", got, status, b.err.String())
	}
}

// interrupt sends SIGINT and returns the command line with which to go on.
func (b *begun) interrupt(t *testing.T) string {
	t.Helper()
	if err := b.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	b.end(t, 130)
	_, line, found := strings.Cut(b.err.String(), "sixthcopy: hint: to go on: ")
	if !found {
		t.Fatalf("it does not say how to go on:\n%s", b.err.String())
	}
	return strings.TrimSpace(line)
}

// whole is the normalised report of a run that has ended.
func (p *place) whole(t *testing.T, file string) string {
	t.Helper()
	cmd := exec.Command("./sixthcopy", "report", file, "--format", "json", "--normalised")
	cmd.Dir = p.dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(out, []byte(`"interrupted": true`)) {
		t.Fatal("the run has not ended")
	}
	return string(out)
}

// Interrupted or killed, however often, a run that is resumed reports what an uninterrupted one does.
func TestInterruptedAndKilledRunsGoOn(t *testing.T) {
	const violations = 1 // the system makes its call again when it is restarted
	straight := newPlace(t)
	straight.begin(t, quoted(append(straight.command, "straight.db"))).end(t, violations)
	want := straight.whole(t, "straight.db")

	t.Run("interrupted twice", func(t *testing.T) {
		p := newPlace(t)
		first := p.begin(t, quoted(append(p.command, "it's cut.db")))
		p.hear(t, 3)
		second := p.begin(t, first.interrupt(t))
		p.hear(t, 4)
		p.begin(t, second.interrupt(t)).end(t, violations)
		if got := p.whole(t, "it's cut.db"); got != want {
			t.Errorf("the report is not that of an uninterrupted run: %s", difference(got, want))
		}
	})
	t.Run("killed", func(t *testing.T) {
		p := newPlace(t)
		run := p.begin(t, quoted(append(p.command, "killed.db")))
		p.hear(t, 5)
		dir, children := belongings(t, run.cmd.Process.Pid)
		if err := run.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		run.end(t, -1)
		for _, child := range children {
			child.end(t)
		}
		if _, err := os.Stat(dir); err != nil {
			t.Fatalf("folder of the trials: %v; a killed run cannot have removed it", err)
		}
		p.begin(t, quoted(append(p.command, "killed.db", "--resume"))).end(t, violations)
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder of the killed run: %v, expected that the next run removed it", err)
		}
		if got := p.whole(t, "killed.db"); got != want {
			t.Errorf("the report is not that of an uninterrupted run: %s", difference(got, want))
		}
	})
}

// difference is the first line in which two texts differ.
func difference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d: %q, expected %q", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, expected %d", len(a), len(b))
}

// descendant is a process by a descriptor, which stays its own when its number is another's.
type descendant struct {
	pid, fd int
	command string
}

// end waits until the process has ended.
func (d descendant) end(t *testing.T) {
	t.Helper()
	defer unix.Close(d.fd)
	ready, err := unix.Poll([]unix.PollFd{{Fd: int32(d.fd), Events: unix.POLLIN}}, int((20 * time.Second).Milliseconds()))
	for errors.Is(err, unix.EINTR) {
		ready, err = unix.Poll([]unix.PollFd{{Fd: int32(d.fd), Events: unix.POLLIN}}, int((20 * time.Second).Milliseconds()))
	}
	if ready != 1 || err != nil {
		t.Errorf("process %d (%q) outlives the harness: %v", d.pid, d.command, err)
	}
}

// belongings are the folder of trials of a harness, and its children.
func belongings(t *testing.T, pid int) (dir string, all []descendant) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if target, err := os.Readlink(f); err == nil && filepath.Base(target) == ownerFile {
			dir = filepath.Dir(target)
		}
	}
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that ended
		}
		for _, word := range strings.Fields(string(text)) {
			var d descendant
			if _, err := fmt.Sscan(word, &d.pid); err != nil {
				t.Fatal(err)
			}
			if d.fd, err = unix.PidfdOpen(d.pid, 0); err != nil {
				continue // it has ended
			}
			command, _ := os.ReadFile("/proc/" + word + "/cmdline") // it may end meanwhile
			d.command = strings.ReplaceAll(string(command), "\x00", " ")
			all = append(all, d)
		}
	}
	if dir == "" || len(all) < 2 {
		t.Fatalf("folder %q and children %v of process %d, expected a folder and some children", dir, all, pid)
	}
	return dir, all
}

func TestCommandThatGoesOn(t *testing.T) {
	for _, c := range []struct {
		args []string
		o    runOptions
		want string
	}{
		{[]string{"sixthcopy", "run"}, runOptions{}, "sixthcopy run --out results/runs/a.db --resume"},
		{[]string{"bin/sixthcopy", "run", "--out", "my run.db", "--workload=it's.yaml"}, runOptions{out: "my run.db"},
			`bin/sixthcopy run --out 'my run.db' '--workload=it'\''s.yaml' --resume`},
		{[]string{"sixthcopy", "run", "--resume", "--out", "a.db"}, runOptions{out: "a.db", resume: true}, "sixthcopy run --resume --out a.db"},
		{[]string{"/tmp/go-build123/b001/exe/sixthcopy", "run"}, runOptions{}, "go run ./cmd/sixthcopy run --out results/runs/a.db --resume"},
	} {
		if got := c.o.again(c.args, "results/runs/a.db"); got != c.want {
			t.Errorf("got %s, expected %s", got, c.want)
		}
	}
}

// A folder of a run that lives, or that is being made, is not taken for an orphan.
func TestFoldersOfLivingRunsStay(t *testing.T) {
	parent := t.TempDir()
	first, leave, err := trialDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	orphan, unmade := filepath.Join(parent, dirPrefix+"orphan"), filepath.Join(parent, dirPrefix+"unmade")
	other := filepath.Join(parent, "another program's")
	for _, dir := range []string{orphan, unmade, other} {
		if err := os.MkdirAll(filepath.Join(dir, "trial-1"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{orphan, other} {
		if err := os.WriteFile(filepath.Join(dir, ownerFile), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	second, leave2, err := trialDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	for dir, there := range map[string]bool{first: true, second: true, unmade: true, other: true, orphan: false} {
		if _, err := os.Stat(dir); (err == nil) != there {
			t.Errorf("%s: %v, expected there=%v", dir, err, there)
		}
	}
	if err := errors.Join(leave(), leave2()); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{first, second} {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s after its run: %v", dir, err)
		}
	}
}
