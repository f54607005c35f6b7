package systems

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sixthcopy/sixthcopy/bench"
)

// warmSystem is testdata/warm as a system that forks.
func warmSystem(t *testing.T, args ...string) *System {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not in PATH: apt-get install -y python3 python3-venv")
	}
	kit, err := filepath.Abs("kit/python")
	if err != nil {
		t.Fatal(err)
	}
	s := &System{name: "warm", kind: "client", can: []string{"reset"}, patience: Patience, command: command{
		argv: append([]string{python, "adapter.py"}, args...), dir: "testdata/warm", warm: &warm{system: "warm"},
		env: []string{"PYTHONPATH=" + kit, "PYTHONDONTWRITEBYTECODE=1"},
	}}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// openTrial opens a trial.
func openTrial(t *testing.T, s *System) *session {
	t.Helper()
	run, err := s.Begin(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(run.Release)
	if err := run.Send(t.Context(), order("start")); err != nil {
		t.Fatal(err)
	}
	return run.(*session)
}

// ask makes one call and returns the receipts of its claim.
func ask(t *testing.T, s *session, tool string) []string {
	t.Helper()
	o := order("turn")
	o.Turn.Calls = []bench.GivenCall{{Ordinal: 1, ID: "call-1", Tool: tool}}
	if err := s.Send(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { _ = s.Kill() }) // it only bounds failure
	defer late.Stop()
	for w := range s.Words() {
		if w.Type == "claim" {
			return w.Receipts
		}
	}
	t.Fatalf("the words ended without a claim: %v", s.Err())
	return nil
}

// alive reports whether a process is there, dead and unreaped ones too.
func alive(pid string) bool {
	_, err := os.Stat("/proc/" + pid)
	return err == nil
}

func TestKillOfAForkedChildEndsAllOfIt(t *testing.T) {
	s := warmSystem(t)
	run := openTrial(t, s)
	bystander := openTrial(t, s)
	left := ask(t, run, "leave") // the child, one in its group, one that left the group, one that was executed beside
	for _, pid := range left {
		if !alive(pid) {
			t.Fatalf("process %s is not there; left were %v", pid, left)
		}
	}
	if err := run.Kill(); err != nil {
		t.Fatal(err)
	}
	for i, pid := range left {
		if alive(pid) {
			t.Errorf("process %s, number %d of %v, outlived the kill", pid, i+1, left)
		}
	}
	if err := run.Send(t.Context(), order("turn")); reasonOf(err) != "killed" {
		t.Errorf("an order after the kill: %v, expected reason killed", err)
	}
	if err := run.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := run.Send(t.Context(), order("start")); err != nil {
		t.Fatal(err)
	}
	if again := ask(t, run, "tell")[0]; again == left[0] {
		t.Errorf("the restarted process is %s, expected another one", again)
	}
	ask(t, bystander, "tell") // it lives
}

func TestForkedChildrenAreTheirOwn(t *testing.T) {
	s := warmSystem(t)
	first, second := openTrial(t, s), openTrial(t, s)
	one, two := ask(t, first, "tell"), ask(t, second, "tell")
	for i, what := range []string{"process id", "random number", "random id", "mark"} {
		if one[i] == two[i] {
			t.Errorf("two children have the same %s, %s", what, one[i])
		}
	}
	for i, run := range []*session{first, second} {
		said := [][]string{one, two}[i]
		p, _ := run.current()
		if pid := strconv.Itoa(p.family.pid); said[0] != pid || said[4] != "True" {
			t.Errorf("child %s leads its group: %s, expected process %s and True", said[0], said[4], pid)
		}
		if markVar+"="+said[3] != p.family.mark {
			t.Errorf("the mark in the environment is %s, expected %s", said[3], p.family.mark)
		}
		shown, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.family.pid))
		if err != nil || !bytes.Contains(shown, []byte(p.family.mark)) {
			t.Errorf("the kernel does not show the mark of child %s: %v", said[0], err)
		}
	}
	first.Release() // it was reset, and serves the next trial
	if next := ask(t, openTrial(t, s), "tell"); next[0] != one[0] {
		t.Errorf("the next trial ran in process %s, expected %s, which was reset", next[0], one[0])
	}
}

func TestKillOfTheParent(t *testing.T) {
	s := warmSystem(t)
	run := openTrial(t, s)
	child := ask(t, run, "tell")[0]
	parent := s.command.warm.parent
	if err := unix.Kill(parent.family.pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for range run.Words() { // they end with the child
	}
	var broke *bench.SystemError
	if err := run.Err(); !errors.As(err, &broke) || broke.Reason != "exited" || !strings.Contains(broke.Detail, "signal: killed, with the process that it was forked from") {
		t.Errorf("the trial ended with %v, expected exited, with the process that it was forked from", err)
	}
	if alive(child) {
		t.Errorf("process %s outlived its parent", child)
	}
	ask(t, openTrial(t, s), "tell") // another parent forks for it
	if s.command.warm.parent == parent {
		t.Error("the parent is the one that was killed")
	}
}

func TestParentsThatCannotFork(t *testing.T) {
	for _, test := range []struct{ how, says string }{
		{"no-import", "No module named 'no_such_module'"},
		{"thread", "warm start forks, but poller runs; start threads in open="},
	} {
		t.Run(test.how, func(t *testing.T) {
			s := warmSystem(t, test.how)
			_, err := s.Begin(t.Context(), t.TempDir())
			if reasonOf(err) != "did not start" || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the trial began with %v, expected did not start and %q", err, test.says)
			}
		})
	}
}

func TestCloseEndsTheParent(t *testing.T) {
	s := warmSystem(t)
	openTrial(t, s).Release()
	parent := s.command.warm.parent.family.pid
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if alive(strconv.Itoa(parent)) {
		t.Errorf("parent %d outlived Close", parent)
	}
}

func reasonOf(err error) string {
	var broke *bench.SystemError
	if errors.As(err, &broke) {
		return broke.Reason
	}
	return ""
}

// BenchmarkWarmStart starts processes of a Python system, cold and warm by turns, until they have acknowledged
// `start`. The figure that counts is the ratio of the two.
func BenchmarkWarmStart(b *testing.B) {
	for _, name := range []string{"tenacity", "requests", "boto3", "stripe-python"} {
		b.Run(name, func(b *testing.B) {
			if _, err := os.Stat(filepath.Join(name, ".venv")); err != nil {
				b.Skip(name + " is not set up: sixthcopy setup " + name)
			}
			text, err := os.ReadFile(filepath.Join(name, "system.yaml"))
			if err != nil {
				b.Fatal(err)
			}
			m, err := ParseManifest(filepath.Join(name, "system.yaml"), text)
			if err != nil {
				b.Fatal(err)
			}
			all, err := m.Systems()
			if err != nil {
				b.Fatal(err)
			}
			hot := all[0].(*System)
			defer hot.Close()
			cold := &System{name: hot.name, patience: hot.patience, command: hot.command}
			cold.command.warm = nil
			open := order("start")
			open.Start.Providers = map[string]string{}
			for _, kind := range hot.providers { // nothing is called
				open.Start.Providers[kind] = "http://127.0.0.1:9"
			}
			start := func(s *System) time.Duration {
				began := time.Now()
				run, err := s.Begin(b.Context(), b.TempDir())
				if err == nil {
					err = run.Send(b.Context(), open)
				}
				if err != nil {
					b.Fatal(err)
				}
				took := time.Since(began)
				if err := run.Kill(); err != nil {
					b.Fatal(err)
				}
				return took
			}
			start(hot) // raises the parent
			var colds, hots []time.Duration
			for b.Loop() {
				colds, hots = append(colds, start(cold)), append(hots, start(hot))
			}
			slices.Sort(colds)
			slices.Sort(hots)
			median := func(all []time.Duration) float64 { return float64(all[len(all)/2]) / float64(time.Millisecond) }
			b.ReportMetric(median(colds), "cold-ms")
			b.ReportMetric(median(hots), "warm-ms")
			b.ReportMetric(median(colds)/median(hots), "ratio")
		})
	}
}
