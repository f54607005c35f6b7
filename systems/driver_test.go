package systems

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// dial is a system that dials in: first a stranger without the token, then itself.
func dial(args []string) {
	var address, token string
	for i := 0; i+1 < len(args); i += 2 {
		switch args[i] {
		case "--dial":
			address = args[i+1]
		case "--token":
			token = args[i+1]
		}
	}
	stranger, err := net.Dial("tcp", address)
	if err != nil {
		os.Exit(6)
	}
	io.WriteString(stranger, `{"type":"hello","token":"guessed"}`+"\n")
	io.Copy(io.Discard, stranger) // until it is turned away
	conn, err := net.Dial("tcp", address)
	if err != nil {
		os.Exit(6)
	}
	io.WriteString(conn, `{"type":"hello","token":"`+token+`"}`+"\n")
	lines := bufio.NewScanner(conn)
	for seq := 1; lines.Scan(); seq++ {
		if seq == 1 {
			io.WriteString(conn, `{"type":"started","wire":1}`+"\n")
		}
		fmt.Fprintf(conn, `{"type":"ack","seq":%d}`+"\n", seq)
	}
}

// misbehaving returns a system that misbehaves in a way.
func misbehaving(t *testing.T, patience time.Duration, dial bool, how ...string) *System {
	t.Helper()
	s := &System{
		name: how[0], kind: "policy", can: []string{"reset"}, patience: patience,
		command: command{argv: append([]string{os.Args[0], "misbehave"}, how...), dial: dial},
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func order(kind string) bench.Order {
	o := bench.Order{Type: kind, Now: bench.Epoch.Format(time.RFC3339)}
	switch kind {
	case "start":
		o.Start = &bench.StartOrder{}
	case "turn":
		o.Turn = &bench.TurnOrder{ID: "t1"}
	}
	return o
}

func TestSystemsThatMisbehaveAreNamed(t *testing.T) {
	const quick, long = 300 * time.Millisecond, 20 * time.Second
	for _, test := range []struct {
		how      string
		patience time.Duration
		reason   string
		detail   string
	}{
		{"rubbish", long, "printed a line that is not protocol", `"Loading model...": not JSON; log to stderr`},
		{"hangs", quick, "hung", "no acknowledgement of order 1 (start) within 300ms"},
		{"deaf", quick, "hung", "no acknowledgement of order 1 (start)"},
		{"exits", long, "exited", `exit status 7, while the harness was not done with it; its last words on stderr: "no module named langgraph"`},
		{"floods-line", long, "printed a line that is not protocol", "is longer than 1 MiB"},
		{"floods-words", long, "flood", "more than 16 MiB in one trial"},
		{"many-words", long, "flood", "more than 512 words were waiting to be read"},
		{"old", long, "wire version", "it speaks version 7, the harness version 1"},
	} {
		t.Run(test.how, func(t *testing.T) {
			t.Parallel()
			s := misbehaving(t, test.patience, false, test.how)
			good := misbehaving(t, long, false, "well")
			run, err := s.Begin(t.Context(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer run.Release()
			err = run.Send(t.Context(), order("start"))
			if err == nil {
				err = run.Send(t.Context(), order("turn"))
			}
			for range run.Words() { // ends with the process, at the latest
				if test.how == "many-words" {
					<-run.(*session).process.gone
				}
			}
			if run.Err() != nil {
				err = run.Err()
			}
			var reason *bench.SystemError
			if !errors.As(err, &reason) {
				t.Fatalf("got %v, expected a SystemError", err)
			}
			if reason.Reason != test.reason || !strings.Contains(reason.Detail, test.detail) {
				t.Errorf("got %q: %q\nexpected %q: ...%q", reason.Reason, reason.Detail, test.reason, test.detail)
			}
			pid := run.(*session).process.family.pid
			run.Release()
			if err := syscall.Kill(-pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("signal to the group of process %d: %v, expected that it is gone", pid, err)
			}
			trial(t, good)
		})
	}
}

// trial carries out a trial that goes well.
func trial(t *testing.T, s *System) {
	t.Helper()
	run, err := s.Begin(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer run.Release()
	for _, kind := range []string{"start", "turn"} {
		if err := run.Send(t.Context(), order(kind)); err != nil {
			t.Fatal(err)
		}
	}
	var said []string
	for w := range run.Words() {
		said = append(said, w.Type)
		if w.Type == "idle" {
			break
		}
	}
	if got := strings.Join(said, " "); got != "started claim idle" {
		t.Errorf("it said %q", got)
	}
}

func TestSilentSystemCanBeWaitedForAndReleased(t *testing.T) {
	s := misbehaving(t, 20*time.Second, false, "silent")
	run, err := s.Begin(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"start", "turn"} {
		if err := run.Send(t.Context(), order(kind)); err != nil {
			t.Fatal(err)
		}
	}
	if w := <-run.Words(); w.Type != "started" {
		t.Errorf("it said %q", w.Type)
	}
	run.Release() // it acknowledges the reset: it is kept
	if len(s.idle) != 1 {
		t.Errorf("%d idle processes, expected 1", len(s.idle))
	}
}

func TestProcessesAreReusedAfterReset(t *testing.T) {
	s := misbehaving(t, 20*time.Second, false, "well")
	trial(t, s)
	first := s.idle[0].family.pid
	trial(t, s)
	if len(s.idle) != 1 || s.idle[0].family.pid != first {
		t.Errorf("the second trial ran in another process")
	}
}

func TestIdleProcessThatDiedIsReplaced(t *testing.T) {
	s := misbehaving(t, 20*time.Second, false, "well")
	trial(t, s)
	p := s.idle[0]
	if err := syscall.Kill(p.family.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.gone
	trial(t, s)
}

// Children that left the group, and those whose parent is dead, are killed with the rest.
func TestKillReachesWhatLeftTheGroup(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, s bench.Session){
		"by kill": func(t *testing.T, s bench.Session) {
			if err := s.Kill(); err != nil {
				t.Error(err)
			}
			if s.Err() != nil {
				t.Errorf("a kill is no failure of the system: %v", s.Err())
			}
		},
		"by its own exit": func(t *testing.T, s bench.Session) {
			if err := s.Send(t.Context(), order("turn")); err != nil {
				t.Error(err)
			}
			for range s.Words() {
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			fifo := filepath.Join(t.TempDir(), "alive")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			s := misbehaving(t, 20*time.Second, false, "forks", fifo)
			run, err := s.Begin(t.Context(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer run.Release()
			pipe, err := os.OpenFile(fifo, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			reader, err := os.Open(fifo)
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			lines := bufio.NewScanner(reader)
			for range 2 { // both are up
				if !lines.Scan() {
					t.Fatal(lines.Err())
				}
			}
			pipe.Close() // now only they hold it
			if err := run.Send(t.Context(), order("start")); err != nil {
				t.Fatal(err)
			}
			end(t, run)
			_ = reader.SetReadDeadline(time.Now().Add(20 * time.Second))
			if lines.Scan() || lines.Err() != nil {
				t.Errorf("a child is still alive: %q, %v", lines.Text(), lines.Err())
			}
			run.Release()
			if left, _ := (&family{mark: run.(*session).process.family.mark, pid: -1}).look(); len(left) > 0 {
				t.Errorf("processes %v are left", left)
			}
		})
	}
}

func TestKillAndRestart(t *testing.T) {
	s := misbehaving(t, 20*time.Second, false, "well")
	run, err := s.Begin(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer run.Release()
	if err := run.Send(t.Context(), order("start")); err != nil {
		t.Fatal(err)
	}
	if err := run.Restart(t.Context()); err == nil {
		t.Error("a restart of a living process was allowed")
	}
	before := run.Words()
	if err := run.Kill(); err != nil {
		t.Fatal(err)
	}
	for range before {
	}
	var killed *bench.SystemError
	if err := run.Send(t.Context(), order("turn")); !errors.As(err, &killed) || killed.Reason != "killed" {
		t.Errorf("send after kill: %v", err)
	}
	if err := run.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"start", "turn"} {
		if err := run.Send(t.Context(), order(kind)); err != nil {
			t.Fatal(err)
		}
	}
	if w := <-run.Words(); w.Type != "started" {
		t.Errorf("it said %q", w.Type)
	}
}

func TestDialIn(t *testing.T) {
	s := misbehaving(t, 20*time.Second, true, "dials")
	run, err := s.Begin(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer run.Release()
	if err := run.Send(t.Context(), order("start")); err != nil {
		t.Fatal(err)
	}
	if w := <-run.Words(); w.Type != "started" {
		t.Errorf("it said %q", w.Type)
	}
}

func TestDialInThatNeverComes(t *testing.T) {
	s := misbehaving(t, 300*time.Millisecond, true, "hangs")
	_, err := s.Begin(t.Context(), t.TempDir())
	var reason *bench.SystemError
	if !errors.As(err, &reason) || reason.Reason != "hung" {
		t.Errorf("got %v", err)
	}
}

func TestCommandThatIsNotThere(t *testing.T) {
	s := &System{name: "gone", command: command{argv: []string{"/nowhere/agent"}}, patience: Patience}
	_, err := s.Begin(context.Background(), t.TempDir())
	var reason *bench.SystemError
	if !errors.As(err, &reason) || reason.Reason != "did not start" {
		t.Errorf("got %v", err)
	}
}
