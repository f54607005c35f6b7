package systems

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	pid  int        // of the leader, and of its process group
	mark string     // markVar=..., as it stands in the environment of its members
	box  *container // in which the leader runs what it runs; nil: it is that itself

	outside []int // descendants outside the group that were killed; a dead one shows no mark any more
}

// kill sends SIGKILL to the group and to descendants outside it. It does not wait. Calls of it are one
// after another.
func (f *family) kill() {
	if f.box != nil {
		f.box.kill()
	}
	// Children of a member that is alive are reached through it; look before the kill makes them orphans.
	outside := descendants(f.pid)
	_ = unix.Kill(-f.pid, unix.SIGKILL)
	for _, pid := range outside {
		if f.owns(pid) {
			_ = unix.Kill(pid, unix.SIGKILL)
			f.outside = append(f.outside, pid)
		}
	}
}

// reap waits for those that were killed outside of the group, so far as they have become our children. It
// comes after sweep: nothing of the family lives that could have reaped them.
func (f *family) reap(limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for _, pid := range f.outside {
		if !slices.Contains(children(os.Getpid()), pid) {
			continue
		}
		if err := awaitEnd(pid, time.Until(deadline)); err != nil {
			return fmt.Errorf("end of process %d, left by process %d: %w", pid, f.pid, err)
		}
	}
	f.outside = nil
	return nil
}

// sweep ends what the leader left behind and returns when all of it is gone. The leader itself is dead and
// not reaped yet, so that its id, which names the group, cannot be taken by another process.
func (f *family) sweep(limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for looked := false; ; {
		_ = unix.Kill(-f.pid, unix.SIGKILL)
		left, dying := f.look()
		if len(left) == 0 && (!dying && looked || time.Now().After(deadline)) {
			return nil
		}
		looked = len(left) == 0
		for _, pid := range left {
			_ = unix.Kill(pid, unix.SIGKILL)
			if err := awaitEnd(pid, time.Until(deadline)); err != nil {
				return fmt.Errorf("end of process %d, left by process %d: %w", pid, f.pid, err)
			}
		}
	}
}

// look lists members of the family but for the leader: our own children (with Subreap) and, without, what
// is still in the group. A child of ours that is dying or dead shows no mark, and what it had started may
// have become our child after the list was read; and the kernel's list of children can miss one while another
// of them ends. So dying asks for looks until it is dead, and nothing left is believed at the second look.
func (f *family) look() (left []int, dying bool) {
	for _, pid := range children(os.Getpid()) {
		if pid == f.pid {
			continue
		}
		if f.owns(pid) {
			left = append(left, pid)
			left = append(left, descendants(pid)...)
			continue
		}
		if s, err := statusOf(pid); err == nil && s.dying && !s.dead { // after the mark was looked for: what had none was dying by then
			dying = true
		}
	}
	return left, dying
}

// owns reports whether a process is in the group or carries the mark. A dead process shows no environment,
// but still its group.
func (f *family) owns(pid int) bool {
	if s, err := statusOf(pid); err == nil && s.group == f.pid {
		return true
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(env, []byte(f.mark))
}

// status is what /proc/PID/stat tells, of a dead process too.
type status struct {
	group int
	dying bool // on its way out, or dead
	dead  bool // its children have been given to others
}

func statusOf(pid int) (status, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return status{}, err
	}
	// pid (name) state ppid pgrp session tty tpgid flags ...; the name may hold anything, a closing bracket too.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 7 {
		return status{}, fmt.Errorf("status of process %d: %d fields, expected more", pid, len(fields))
	}
	const exiting = 0x4 // PF_EXITING of the kernel
	group, err := strconv.Atoi(fields[2])
	flags, err2 := strconv.ParseUint(fields[6], 10, 64)
	return status{group: group, dying: flags&exiting != 0, dead: fields[0] == "Z" || fields[0] == "X"}, errors.Join(err, err2)
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
