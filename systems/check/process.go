package check

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// childrenOf lists the children of a process.
func childrenOf(pid int) []int {
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

// descendantsOf lists children, their children and so on.
func descendantsOf(pid int) []int {
	all := childrenOf(pid)
	for i := 0; i < len(all); i++ {
		all = append(all, childrenOf(all[i])...)
	}
	return all
}

// identity is a process and when it was started: a number alone may be another's later.
type identity struct {
	pid   int
	start string
}

func identify(pids []int) []identity {
	var all []identity
	for _, pid := range pids {
		if start := startOf(pid); start != "" {
			all = append(all, identity{pid, start})
		}
	}
	return all
}

func (i identity) alive() bool { return startOf(i.pid) == i.start && !isDead(i.pid) }

// stat is what /proc/PID/stat says after the name, which may hold anything.
func stat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

func startOf(pid int) string {
	if f := stat(pid); len(f) > 19 {
		return f[19]
	}
	return ""
}

// isDead reports whether a process is gone, or waits only to be reaped.
func isDead(pid int) bool {
	f := stat(pid)
	return len(f) == 0 || f[0] == "Z" || f[0] == "X"
}

// commandLine is empty for a process that is gone.
func commandLine(pid int) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

func commandOf(pid int) string { return shorten(strings.Join(commandLine(pid), " "), 120) }

// endProcess kills a process that a system has left.
func endProcess(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }

// processTime is the time that a process has run or wished to run: what it has not slept.
func processTime(pid int) time.Duration {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // the pattern is well formed
	var sum time.Duration
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // the thread is gone
		}
		var ran, wished int64
		if n, _ := fmt.Sscan(string(text), &ran, &wished); n == 2 {
			sum += time.Duration(ran + wished)
		}
	}
	return sum
}
