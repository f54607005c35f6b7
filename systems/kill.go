package systems

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Subreap makes this process the reaper of its orphaned descendants, so that children which a system left
// behind can be found and killed even after they have left their process group. Call it once, before the
// first system is raised. Where the kernel does not allow it, a kill ends the process group and the
// descendants that still hang on it.
func Subreap() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("child subreaper: %w", err)
	}
	return nil
}

// markVar is the environment variable that marks a process and all that it starts.
const markVar = "SIXTHCOPY_PROCESS"

// family is a started process with all that descends from it.
type family struct {
	pid  int    // of the leader, and of its process group
	mark string // markVar=..., as it stands in the environment of its members
}

// kill sends SIGKILL to the group and to descendants outside it. It does not wait.
func (f family) kill() {
	// Children of a member that is alive are reached through it; look before the kill makes them orphans.
	outside := descendants(f.pid)
	_ = unix.Kill(-f.pid, unix.SIGKILL)
	for _, pid := range outside {
		if f.owns(pid) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// sweep ends what the leader left behind and returns when all of it is gone. The leader itself is dead and
// not reaped yet, so that its id, which names the group, cannot be taken by another process.
func (f family) sweep(limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for {
		_ = unix.Kill(-f.pid, unix.SIGKILL)
		left := f.orphans()
		if len(left) == 0 {
			return nil
		}
		for _, pid := range left {
			_ = unix.Kill(pid, unix.SIGKILL)
			if err := awaitEnd(pid, time.Until(deadline)); err != nil {
				return fmt.Errorf("end of process %d, left by process %d: %w", pid, f.pid, err)
			}
		}
	}
}

// orphans lists members of the family but for the leader: our own children (with Subreap) and, without,
// what is still in the group.
func (f family) orphans() []int {
	var pids []int
	for _, pid := range children(os.Getpid()) {
		if pid != f.pid && f.owns(pid) {
			pids = append(pids, pid)
			pids = append(pids, descendants(pid)...)
		}
	}
	return pids
}

// owns reports whether a process is in the group or carries the mark. A dead process shows no environment,
// but still its group.
func (f family) owns(pid int) bool {
	if group, err := groupOf(pid); err == nil && group == f.pid {
		return true
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(env, []byte(f.mark))
}

// groupOf reads the process group from /proc/PID/stat; getpgid knows no dead process.
func groupOf(pid int) (int, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// pid (name) state ppid pgrp ...; the name may hold anything, a closing bracket too.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 3 {
		return 0, errors.New("short stat line")
	}
	return strconv.Atoi(fields[2])
}

// children lists the children of a process, of all its threads.
func children(pid int) []int {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is well formed
	var pids []int
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // the thread is gone
		}
		for _, word := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// descendants lists children, their children and so on.
func descendants(pid int) []int {
	all := children(pid)
	for i := 0; i < len(all); i++ {
		all = append(all, children(all[i])...)
	}
	return all
}

// awaitEnd returns when a killed process is gone; it reaps it if it is our child.
func awaitEnd(pid int, limit time.Duration) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	deadline := time.Now().Add(limit)
	for {
		rest := time.Until(deadline)
		if rest <= 0 {
			return errors.New("it does not die of SIGKILL")
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(rest.Milliseconds())+1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if n > 0 {
			break
		}
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, unix.WNOHANG, nil); err != nil && !errors.Is(err, unix.ECHILD) {
		return err
	}
	return nil
}
