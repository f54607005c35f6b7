package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// startWithin bounds how long a new tool server may take to say where it listens, in real time.
const startWithin = 20 * time.Second

// process is the parent's side of one tool-server process.
type process struct {
	cmd     *exec.Cmd
	address string
	stderr  *tail
	reaped  chan struct{} // closed when the process is gone and waited for
	started chan string   // its address

	writeMu sync.Mutex
	stdin   io.WriteCloser

	mu      sync.Mutex
	seq     int
	waiting map[int]chan controlWord
	heard   func(bench.ToolServerNote)
}

// startProcess starts a tool server in a process group of its own and returns when it listens. Its life
// hangs on its stdin, which ends with this process; the parent-death signal is the second rope. (That
// signal comes when the starting thread ends. Go's threads do not end before the process, unless a
// goroutine that is locked to one returns: none may start tool servers.)
func startProcess(ctx context.Context, exe string, argv []string) (*process, error) {
	cmd := exec.Command(exe, argv...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=400") // small heaps, collected less often
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", exe, err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", exe, err)
	}
	p := &process{
		cmd: cmd, stdin: stdin, stderr: &tail{}, reaped: make(chan struct{}), started: make(chan string, 1),
		waiting: map[int]chan controlWord{}, heard: func(bench.ToolServerNote) {},
	}
	cmd.Stderr = p.stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", exe, err)
	}
	go p.hear(stdout)

	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	select {
	case p.address = <-p.started:
		return p, nil
	case <-p.reaped:
		return nil, fmt.Errorf("start %s: it ended before it listened; stderr: %q", exe, p.stderr.String())
	case <-ctx.Done():
		p.kill()
		return nil, fmt.Errorf("start %s: it did not say where it listens (expected {\"type\":\"started\"}): %w", exe, ctx.Err())
	}
}

// hear reads the child's words until it ends, then reaps it.
func (p *process) hear(stdout io.Reader) {
	decoder := json.NewDecoder(bufio.NewReader(stdout))
	for {
		var w controlWord
		err := decoder.Decode(&w)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				fmt.Fprintf(p.stderr, "(the pool: a word on stdout that is no control word: %v)", err)
				syscall.Kill(-p.pid(), syscall.SIGKILL)
			}
			break
		}
		switch w.Type {
		case "started":
			select {
			case p.started <- w.Address:
			default:
			}
		case "reply":
			p.mu.Lock()
			if waiter, ok := p.waiting[w.Seq]; ok {
				waiter <- w // has room for it
				delete(p.waiting, w.Seq)
			}
			p.mu.Unlock()
		case "note":
			if w.Note != nil {
				p.mu.Lock()
				heard := p.heard
				p.mu.Unlock()
				heard(*w.Note)
			}
		}
	}
	p.cmd.Wait() // how it ended does not matter: it is killed, or its stdin ended
	close(p.reaped)
}

func (p *process) listen(heard func(bench.ToolServerNote)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = heard
}

// ask sends an order and returns its reply.
func (p *process) ask(ctx context.Context, o controlOrder) (controlWord, error) {
	answer := make(chan controlWord, 1)
	p.mu.Lock()
	p.seq++
	o.Seq = p.seq
	p.waiting[o.Seq] = answer
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.waiting, o.Seq)
		p.mu.Unlock()
	}()
	line, err := json.Marshal(o)
	if err != nil {
		return controlWord{}, fmt.Errorf("order %s: %w", o.Type, err)
	}
	p.writeMu.Lock()
	_, err = p.stdin.Write(append(line, '\n'))
	p.writeMu.Unlock()
	if err != nil {
		return controlWord{}, fmt.Errorf("order %s: its process ended; stderr: %q", o.Type, p.stderr.String())
	}
	select {
	case w := <-answer:
		return w, nil
	case <-p.reaped:
		return controlWord{}, fmt.Errorf("order %s: its process ended; stderr: %q", o.Type, p.stderr.String())
	case <-ctx.Done():
		return controlWord{}, fmt.Errorf("order %s: %w", o.Type, ctx.Err())
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) ended() bool {
	select {
	case <-p.reaped:
		return true
	default:
		return false
	}
}

// kill is SIGKILL to the process group; it returns when the process is reaped.
func (p *process) kill() {
	if !p.ended() {
		syscall.Kill(-p.pid(), syscall.SIGKILL)
	}
	<-p.reaped
}

// tail keeps the last bytes of a child's stderr for error messages.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailLength = 2048

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if extra := len(t.kept) - tailLength; extra > 0 {
		t.kept = append([]byte(nil), t.kept[extra:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
