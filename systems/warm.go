package systems

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sixthcopy/sixthcopy/bench"
)

// Warm start. A system whose interpreter takes long to import is started once: that process, the parent,
// imports everything and then forks a child for each process that is wanted. The child is what a process
// started for itself would be: its own stdin, stdout and stderr, its own process group, its own mark. It is
// not our child, though: the parent reaps it, and only when asked, so that its id is not taken by another
// process before all that it left behind is gone.
//
// The parent finds one end of a socket in the variable warmVar, says {"ready":true}, and answers requests,
// one message each (systems/kit/python/sixthcopy_kit/warm.py).
const warmVar = "SIXTHCOPY_WARM"

// warmWithin is how long a parent may take to import and to answer. It only bounds failure.
const warmWithin = time.Minute

// warm starts the processes of one system by forks.
type warm struct {
	system string

	mu     sync.Mutex // one fork at a time
	parent *parent    // nil: none yet
	closed bool
}

// parent is a process that forks.
type parent struct {
	cmd     *exec.Cmd
	family  family
	tail    *tail
	tailed  chan struct{} // closed when tail has ended
	ending  sync.Once
	mu      sync.Mutex // one request at a time
	control *net.UnixConn
}

// request is what a parent is asked, answer what it says.
type (
	request struct {
		Fork string `json:"fork,omitempty"` // the mark of the child; its stdin, stdout and stderr come along
		Reap int    `json:"reap,omitempty"` // a child that is dead
	}
	answer struct {
		Ready  bool             `json:"ready"`
		Pid    int              `json:"pid"`
		Status *unix.WaitStatus `json:"status"`
	}
)

// fork has the parent fork a child that speaks on the three files. A parent that has died is started again.
func (w *warm) fork(c command, mark string, ends [3]*os.File) (*forked, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	for range 2 {
		if w.closed {
			return nil, fmt.Errorf("system %s: a process was wanted after Close", w.system)
		}
		if w.parent == nil {
			if w.parent, err = raise(w.system, c); err != nil {
				return nil, err
			}
		}
		var child *forked
		if child, err = w.parent.fork(mark, ends); err == nil {
			return child, nil
		}
		err = fmt.Errorf("fork of system %s: %w; last words of its parent on stderr: %s", w.system, err, w.parent.tail)
		w.parent.end()
		w.parent = nil
	}
	return nil, err
}

// close ends the parent, and with it what it has forked.
func (w *warm) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.parent != nil {
		w.parent.end()
		w.parent = nil
	}
}

// raise starts a parent and returns when it has imported everything.
func raise(system string, c command) (*parent, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket for system %s: %w", system, err)
	}
	ours, theirs := os.NewFile(uintptr(ends[0]), "control"), os.NewFile(uintptr(ends[1]), "control")
	defer ours.Close()
	defer theirs.Close() // a second time does nothing
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, fmt.Errorf("socket for system %s: %w", system, err)
	}
	said, says, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("pipe of system %s: %w", system, err), conn.Close())
	}
	p := &parent{control: conn.(*net.UnixConn), tail: &tail{from: said}, tailed: make(chan struct{})}
	p.family.mark = markVar + "=" + rand.Text() // a child writes its own in place of it, of the same length
	p.cmd = exec.Command(c.argv[0], c.argv[1:]...)
	p.cmd.Dir = c.dir
	p.cmd.Env = append(append(os.Environ(), c.env...), p.family.mark, warmVar+"=3")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.ExtraFiles = says, says, []*os.File{theirs}
	err = p.cmd.Start()
	says.Close()
	theirs.Close() // the parent's end is its own, so that its death is heard
	if err != nil {
		return nil, errors.Join(notStarted(system, c.argv, err), conn.Close(), said.Close())
	}
	p.family.pid = p.cmd.Process.Pid
	go func() { p.tail.fill(); close(p.tailed) }()
	if a, err := p.hear(); err != nil || !a.Ready {
		p.end()
		return nil, &bench.SystemError{System: system, Reason: "did not start", Detail: fmt.Sprintf(
			"%q imported what it needs and did not get ready to fork (warm in its manifest): %v, %v; its last words on stderr: %s", c.argv, p.cmd.ProcessState, err, p.tail)}
	}
	return p, nil
}

// hear reads one answer.
func (p *parent) hear() (answer, error) {
	var a answer
	_ = p.control.SetReadDeadline(time.Now().Add(warmWithin)) // an open socket takes a deadline
	text := make([]byte, 4096)
	n, err := p.control.Read(text)
	switch {
	case err != nil:
		return a, fmt.Errorf("answer of the parent: %w", err)
	case n == 0:
		return a, errors.New("the parent has ended")
	}
	if err := json.Unmarshal(text[:n], &a); err != nil {
		return a, fmt.Errorf("answer of the parent %.200q: %w", text[:n], err)
	}
	return a, nil
}

// ask puts a request and returns its answer.
func (p *parent) ask(r request, files ...*os.File) (answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, err := json.Marshal(r)
	if err != nil {
		return answer{}, err
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	_ = p.control.SetWriteDeadline(time.Now().Add(warmWithin))
	if _, _, err := p.control.WriteMsgUnix(text, rights, nil); err != nil {
		return answer{}, fmt.Errorf("request to the parent: %w", err)
	}
	return p.hear()
}

func (p *parent) fork(mark string, ends [3]*os.File) (*forked, error) {
	a, err := p.ask(request{Fork: mark}, ends[:]...)
	if err != nil {
		return nil, err
	}
	if a.Pid <= 0 {
		return nil, fmt.Errorf("the parent answered with process %d, expected a child", a.Pid)
	}
	fd, err := unix.PidfdOpen(a.Pid, 0) // dead or alive: nobody reaps it before we ask
	if err != nil {
		return nil, fmt.Errorf("handle on process %d: %w", a.Pid, err)
	}
	return &forked{pid: a.Pid, fd: fd, parent: p}, nil
}

// end kills the parent and what it has started, and returns when it is gone. Its children die of its death.
func (p *parent) end() {
	p.ending.Do(func() {
		p.family.kill()
		waitDead(p.family.pid)
		_ = p.family.sweep(dieWithin) // what outlives it carries its mark, and shows at the next kill
		_ = p.cmd.Wait()              // it was killed
		p.control.Close()
		<-p.tailed
		p.tail.from.Close()
	})
}

// forked is a child that a parent has forked.
type forked struct {
	pid    int
	fd     int // its end can be awaited on it
	parent *parent
}

// waitDead returns when the child is dead, and leaves it to be reaped.
func (f *forked) waitDead() {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(f.fd), Events: unix.POLLIN}}, -1)
		if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// reap gives the id of the dead child free, and says how it ended.
func (f *forked) reap() error {
	defer unix.Close(f.fd)
	var status unix.WaitStatus
	a, err := f.parent.ask(request{Reap: f.pid})
	if err == nil && a.Status != nil {
		status = *a.Status
	} else {
		// With the parent's end the child has become ours, if we are the one that reaps orphans.
		f.parent.end()
		if _, err := unix.Wait4(f.pid, &status, 0, nil); err != nil {
			return errors.New("the process that it was forked from has ended")
		}
		return fmt.Errorf("%s, with the process that it was forked from", said(status))
	}
	if status == 0 {
		return nil
	}
	return errors.New(said(status))
}

// said is a status in the words of os/exec.
func said(s unix.WaitStatus) string {
	if s.Signaled() {
		return "signal: " + s.Signal().String()
	}
	return fmt.Sprintf("exit status %d", s.ExitStatus())
}
