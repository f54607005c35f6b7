package systems

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sixthcopy/sixthcopy/bench"
)

const (
	maxLine    = 1 << 20  // bytes of one word
	maxTrial   = 16 << 20 // bytes of words in one trial
	maxWords   = 512      // words that the harness has not read yet
	stderrTail = 64 << 10 // bytes of stderr kept for messages, at least
	dieWithin  = 10 * time.Second
)

// process is one child process that speaks the wire contract. It may serve many trials, one after another.
type process struct {
	system string
	tap    *Tap // nil: nobody listens in
	child  child
	family family
	in     io.WriteCloser // orders, with a write deadline
	out    io.ReadCloser  // words
	tail   *tail          // of stderr
	fail   chan struct{}  // closed when err is set
	gone   chan struct{}  // closed when process and descendants are dead and reaped, and words is closed

	mu     sync.Mutex
	seq    int                   // of the last order of the trial
	acks   map[int]chan struct{} // open orders
	words  chan bench.Word       // of the trial; nil between trials
	read   int                   // bytes of words in the trial
	acked  int                   // orders acknowledged in the trial
	killed bool                  // by us
	err    *bench.SystemError    // why it cannot go on
	end    error                 // something outlived the kill
	reaped bool                  // about to be, or done

	writing sync.Mutex // one order at a time on in
}

// Tap sees what goes over between the harness and the processes of a system. Its functions are called with
// locks held: they return soon and call nothing of this package.
type Tap struct {
	Sent func(pid int, line []byte) []byte // an order, as it is about to be written; what is returned is written
	Came func(pid int, line []byte)        // a line of the system, before it is read as a word
}

// child is the process itself, started by us or forked by a warm parent.
type child interface {
	waitDead()   // returns when it is dead, and leaves it to be reaped
	reap() error // gives its id free; the error says how it ended, nil for status 0
}

// executed is a child that was started for itself.
type executed struct{ cmd *exec.Cmd }

func (e executed) waitDead()   { waitDead(e.cmd.Process.Pid) }
func (e executed) reap() error { return e.cmd.Wait() }

// spawn starts a process. With dial it waits until the process has dialled in, within patience.
func spawn(system string, c command, patience time.Duration) (*process, error) {
	p := &process{
		system: system, tap: c.tap, tail: &tail{}, gone: make(chan struct{}), acks: map[int]chan struct{}{}, fail: make(chan struct{}),
	}
	token, name := rand.Text(), rand.Text()
	p.family.mark = markVar + "=" + name
	var listener net.Listener
	if c.dial {
		var err error
		if listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("address to dial for system %s: %w", system, err)
		}
		defer listener.Close()
		c.argv = append(c.argv[:len(c.argv):len(c.argv)], "--dial", listener.Addr().String(), "--token", token)
	}
	ends, err := p.pipes(c.dial)
	if err != nil {
		return nil, fmt.Errorf("pipes of system %s: %w", system, err)
	}
	if c.warm != nil {
		err = p.fork(c, name, ends)
	} else {
		err = p.start(c, ends)
	}
	for _, f := range ends {
		if f != nil {
			f.Close() // stdout and stderr may be one; the second close does nothing
		}
	}
	if err != nil {
		p.closePipes()
		return nil, err
	}
	if c.dial {
		if err := p.accept(listener, token, patience); err != nil {
			go p.await()
			p.Kill()
			return nil, err
		}
	}
	go p.await()
	return p, nil
}

// start executes the command.
func (p *process) start(c command, ends [3]*os.File) error {
	if c.image != "" {
		var err error
		if p.family.box, c.argv, err = contain(c.image, c.argv, strings.TrimPrefix(p.family.mark, markVar+"="), c.state); err != nil {
			return notStarted(p.system, c.argv, err)
		}
	}
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(append(os.Environ(), c.env...), p.family.mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if ends[0] != nil {
		cmd.Stdin = ends[0]
	}
	cmd.Stdout, cmd.Stderr = ends[1], ends[2]
	if err := cmd.Start(); err != nil {
		return notStarted(p.system, c.argv, err)
	}
	p.child, p.family.pid = executed{cmd}, cmd.Process.Pid
	return nil
}

// fork has the warm parent fork.
func (p *process) fork(c command, name string, ends [3]*os.File) error {
	f, err := c.warm.fork(c, name, ends)
	if err != nil {
		return err
	}
	p.child, p.family.pid = f, f.pid
	return nil
}

func notStarted(system string, argv []string, err error) error {
	return &bench.SystemError{System: system, Reason: "did not start", Detail: fmt.Sprintf("%q: %v; look at command and setup in its manifest", argv, err)}
}

// pipes makes stdin, stdout and stderr of the child and returns the child's ends; stdin is nil with dial.
func (p *process) pipes(dial bool) (ends [3]*os.File, _ error) {
	errRead, errWrite, err := os.Pipe()
	if err != nil {
		return ends, err
	}
	p.tail.from = errRead
	if dial { // stdout is free text there, like stderr
		return [3]*os.File{nil, errWrite, errWrite}, nil
	}
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return ends, errors.Join(err, errRead.Close(), errWrite.Close())
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return ends, errors.Join(err, errRead.Close(), errWrite.Close(), inRead.Close(), inWrite.Close())
	}
	p.in, p.out = inWrite, outRead
	return [3]*os.File{inRead, outWrite, errWrite}, nil
}

func (p *process) closePipes() {
	p.tail.from.Close()
	if p.in != nil {
		p.in.Close()
		p.out.Close()
	}
}

// accept takes the connection whose first line carries the token; others are turned away.
func (p *process) accept(l net.Listener, token string, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	_ = l.(*net.TCPListener).SetDeadline(deadline) // a listener just made takes a deadline
	for {
		conn, err := l.Accept()
		if err != nil {
			return &bench.SystemError{System: p.system, Reason: "hung", Detail: fmt.Sprintf("it did not dial in with its token within %s; its last words on stderr: %s", patience, p.tail)}
		}
		_ = conn.SetReadDeadline(deadline)
		line, err := readLine(conn, 4096)
		if err == nil && isHello(line, token) {
			_ = conn.SetReadDeadline(time.Time{})
			p.in, p.out = conn, conn
			return nil
		}
		conn.Close()
	}
}

// readLine reads a line byte by byte, so that nothing after it is taken from r.
func readLine(r io.Reader, limit int) ([]byte, error) {
	line := make([]byte, 0, 256)
	one := make([]byte, 1)
	for len(line) < limit {
		if _, err := io.ReadFull(r, one); err != nil {
			return line, err
		}
		if one[0] == '\n' {
			return line, nil
		}
		line = append(line, one[0])
	}
	return line, bufio.ErrTooLong
}

// await reads the words until the process has ended, and reaps it with all that it left behind.
func (p *process) await() {
	tailed := make(chan struct{})
	go func() { p.tail.fill(); close(tailed) }()
	readers := make(chan struct{})
	go func() {
		if p.out != nil {
			p.listen()
		}
		close(readers)
	}()
	p.child.waitDead()
	var end error
	if p.family.box != nil {
		end = p.family.box.gone(dieWithin)
	}
	end = errors.Join(end, p.family.sweep(dieWithin))
	// What wrote to the pipes is dead; if something got away all the same, its words are not waited for.
	late := time.AfterFunc(time.Second, func() { p.tail.from.Close(); p.closeOut() })
	<-readers
	<-tailed
	late.Stop()
	p.mu.Lock()
	p.reaped = true // from here on its id may be another's
	end = errors.Join(end, p.family.reap(dieWithin))
	p.mu.Unlock()
	status := p.child.reap()
	p.closePipes()

	p.mu.Lock()
	p.end = end
	if !p.killed {
		said := "status 0"
		if status != nil {
			said = status.Error()
		}
		p.failLocked("exited", fmt.Sprintf("%s, while the harness was not done with it; its last words on stderr: %s", said, p.tail))
	}
	if p.words != nil {
		close(p.words)
		p.words = nil
	}
	p.mu.Unlock()
	close(p.gone)
}

func (p *process) closeOut() {
	if p.out != nil {
		p.out.Close()
	}
}

// waitDead returns when the process is dead, and leaves it to be reaped.
func waitDead(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// listen reads words until the end of the output or the first that breaks the contract.
func (p *process) listen() {
	lines := bufio.NewReaderSize(p.out, 64<<10)
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == bufio.ErrBufferFull && len(line) <= maxLine:
			continue
		case len(line) > maxLine:
			p.breakOff("printed a line that is not protocol", fmt.Sprintf("%.80q... is longer than 1 MiB; log to stderr, stdout carries one JSON object a line (docs/wire-contract.md)", line))
			return
		case err != nil && len(line) == 0:
			return
		case err != nil && p.over():
			return // a kill can cut a line
		}
		if !p.hear(line) {
			return
		}
		line = line[:0]
	}
}

// hear takes one line and reports whether to go on.
func (p *process) hear(line []byte) bool {
	word, problem := parseWord(bytes.TrimSpace(line))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tap != nil {
		p.tap.Came(p.family.pid, bytes.TrimSpace(line))
	}
	p.read += len(line)
	if p.err != nil {
		return false // of no interest; but what a killed one had said, it had said
	}
	switch {
	case p.read > maxTrial:
		return p.failLocked("flood", fmt.Sprintf("it printed more than %d MiB in one trial; log to stderr", maxTrial>>20))
	case problem != "":
		return p.failLocked("printed a line that is not protocol", problem)
	case word.Type == "ack":
		done, open := p.acks[word.Seq]
		if !open {
			return p.failLocked("printed a line that is not protocol", fmt.Sprintf("ack of order %d, which is not open; every order is acknowledged once", word.Seq))
		}
		delete(p.acks, word.Seq)
		p.acked++
		close(done)
		return true
	case word.Seq > p.seq:
		return p.failLocked("printed a line that is not protocol", fmt.Sprintf("%s of order %d, which was not sent; the last was %d", word.Type, word.Seq, p.seq))
	case word.Type == "started" && word.Wire != bench.WireVersion:
		return p.failLocked("wire version", fmt.Sprintf("it speaks version %d, the harness version %d", word.Wire, bench.WireVersion))
	case p.words == nil:
		return p.failLocked("printed a line that is not protocol", fmt.Sprintf("%s outside of a trial; between reset and start a system is silent", word.Type))
	}
	if word.Type == "idle" && word.Seq == 0 { // it means all that it has acknowledged
		word.Seq = p.acked
	}
	select {
	case p.words <- word:
		return true
	default:
		return p.failLocked("flood", fmt.Sprintf("more than %d words were waiting to be read", maxWords))
	}
}

// breakOff sets the reason why the process cannot go on, and kills it.
func (p *process) breakOff(reason, detail string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failLocked(reason, detail)
}

// failLocked sets the first reason and kills the process. It returns false, for hear.
func (p *process) failLocked(reason, detail string) bool {
	if p.err == nil && !p.killed {
		p.err = &bench.SystemError{System: p.system, Reason: reason, Detail: detail}
		close(p.fail)
		if !p.reaped {
			p.family.kill()
		}
	}
	return false
}

// over reports whether what it still says is of no interest.
func (p *process) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed || p.err != nil
}

// Kill is SIGKILL to the group and to what left it. It returns when all are gone.
func (p *process) Kill() error {
	p.mu.Lock()
	p.killed = true
	if !p.reaped {
		p.family.kill()
	}
	p.mu.Unlock()
	<-p.gone
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end != nil {
		return fmt.Errorf("kill of system %s: %w", p.system, p.end)
	}
	return nil
}

// tail keeps the end of what a process says on stderr.
type tail struct {
	from *os.File
	mu   sync.Mutex
	kept []byte
}

func (t *tail) fill() {
	part := make([]byte, 64<<10)
	for {
		n, err := t.from.Read(part)
		t.mu.Lock()
		t.kept = append(t.kept, part[:n]...)
		if len(t.kept) > 8*stderrTail { // moved seldom, for what floods
			t.kept = append(t.kept[:0], t.kept[len(t.kept)-stderrTail:]...)
		}
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// String is the last kilobyte, for a message.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := bytes.TrimSpace(t.kept)
	if len(last) == 0 {
		return "none"
	}
	if len(last) > 1024 {
		last = last[len(last)-1024:]
	}
	return fmt.Sprintf("%q", last)
}
