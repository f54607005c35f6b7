// Package systems raises the systems under test: child processes that speak the wire contract
// (docs/wire-contract.md). A system is a folder with a manifest (Load) or one of the policies of the
// reference agent (Reference).
package systems

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// Patience is how long a system may take to acknowledge an order, in real time, unless it is told
// otherwise. It only bounds failure.
const Patience = 10 * time.Second

// command is how a process of a system is started.
type command struct {
	argv  []string
	env   []string // beside the harness's own
	dir   string   // working folder; empty: the harness's
	dial  bool     // it dials in; else it speaks on stdin and stdout
	image string   // of the container in which argv runs; empty: none
	state string   // folder that the container sees, of the process's trial
	tap   *Tap     // nil: nobody listens in
	warm  *warm    // forks it; nil: each process is started for itself
}

// of is the command for a trial with this state folder.
func (c command) of(dir string) command {
	c.state = dir
	return c
}

// System is a system under test whose processes are children of the harness. It keeps those that were
// reset for the next trial. It is safe for concurrent use.
type System struct {
	name, kind, summary, says, clock, afterKill string
	providers, tools                            []string

	can      []string
	variant  string // StartOrder.Policy
	command  command
	patience time.Duration
	manifest *Manifest // nil: it is part of this program

	mu     sync.Mutex
	idle   []*process
	closed bool
}

var (
	_ bench.System = (*System)(nil)
	_ io.Closer    = (*System)(nil)
)

func (s *System) Name() string    { return s.name }
func (s *System) Kind() string    { return s.kind }
func (s *System) Summary() string { return s.summary }

// Says is the line of configuration that makes the variant, "" where its manifest does not say it.
func (s *System) Says() string                       { return s.says }
func (s *System) Clock() string                      { return s.clock }
func (s *System) AfterKill() string                  { return s.afterKill }
func (s *System) Calls() (providers, tools []string) { return s.providers, s.tools }
func (s *System) Can(ability string) bool            { return slices.Contains(s.can, ability) }

// Listen has t see all lines, and patience bound each acknowledgement. It comes before the first Begin.
func (s *System) Listen(t Tap, patience time.Duration) { s.command.tap, s.patience = &t, patience }

// Readiness says whether the system's folder can be run.
func (s *System) Readiness() (Readiness, error) {
	if s.manifest == nil {
		return Readiness{}, nil
	}
	return s.manifest.Readiness()
}

// Folder is the name by which the system is set up: its manifest's, without the variant.
func (s *System) Folder() string {
	if s.manifest == nil {
		return s.name
	}
	return s.manifest.Name
}

// Begin takes a process for a trial: one that was reset, or a new one. The runner sends `start`; dir is
// put into it as StateDir where that is empty.
func (s *System) Begin(ctx context.Context, dir string) (bench.Session, error) {
	p, err := s.take(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &session{system: s, dir: dir, process: p, words: p.attach()}, nil
}

// take returns an idle process that is alive, or a new one.
func (s *System) take(ctx context.Context, dir string) (*process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	for len(s.idle) > 0 {
		p := s.idle[len(s.idle)-1]
		s.idle = s.idle[:len(s.idle)-1]
		if !p.over() {
			s.mu.Unlock()
			return p, nil
		}
	}
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return nil, fmt.Errorf("system %s: a trial was begun after Close", s.name)
	}
	return spawn(s.name, s.command.of(dir), s.patience)
}

// give takes a process back that was reset.
func (s *System) give(p *process) {
	s.mu.Lock()
	keep := !s.closed
	if keep {
		s.idle = append(s.idle, p)
	}
	s.mu.Unlock()
	if !keep {
		_ = p.Kill() // on the way out; what outlives SIGKILL is reported by trials
	}
}

// Close ends the idle processes. Sessions end theirs themselves.
func (s *System) Close() error {
	s.mu.Lock()
	idle := s.idle
	s.idle, s.closed = nil, true
	s.mu.Unlock()
	var errs []error
	for _, p := range idle {
		errs = append(errs, p.Kill())
	}
	if s.command.warm != nil {
		s.command.warm.close()
	}
	return errors.Join(errs...)
}

// session is a process during a trial.
type session struct {
	system *System
	dir    string

	mu      sync.Mutex
	process *process
	words   chan bench.Word

	released sync.Once
}

func (s *session) current() (*process, <-chan bench.Word) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process, s.words
}

// Send writes an order and waits for its acknowledgement. Its error is a *bench.SystemError, of reason
// "killed" where Kill came in between, or the context's.
func (s *session) Send(ctx context.Context, o bench.Order) error {
	p, _ := s.current()
	if o.Start != nil {
		start := *o.Start
		if start.StateDir == "" {
			start.StateDir = s.dir
		}
		if start.Policy == "" {
			start.Policy = s.system.variant
		}
		start.Wire = bench.WireVersion
		o.Start = &start
	}
	return p.send(ctx, o, s.system.patience)
}

func (s *session) Words() <-chan bench.Word {
	_, words := s.current()
	return words
}

func (s *session) Kill() error {
	p, _ := s.current()
	return p.Kill()
}

func (s *session) Restart(ctx context.Context) error {
	p, _ := s.current()
	select {
	case <-p.gone:
	default:
		return fmt.Errorf("restart of system %s: its process is alive; Kill comes first", s.system.name)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	fresh, err := spawn(s.system.name, s.system.command.of(s.dir), s.system.patience)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process, s.words = fresh, fresh.attach()
	return nil
}

func (s *session) Err() error {
	p, _ := s.current()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		return nil
	}
	return p.err
}

// Release closes the trial. A process that acknowledges the reset is kept for the next one, any other is
// killed with all that it left behind. A second call does nothing.
func (s *session) Release() { s.released.Do(s.release) }

func (s *session) release() {
	p, _ := s.current()
	if s.system.Can("reset") && s.system.command.image == "" && !p.over() {
		err := p.send(context.Background(), bench.Order{Type: "reset", Now: bench.Epoch.Format(time.RFC3339)}, s.system.patience)
		if err == nil && p.detach() {
			s.system.give(p)
			return
		}
	}
	_ = p.Kill() // the trial is judged on what it did; what outlives SIGKILL shows at the next kill
}

// attach opens the words of a trial.
func (p *process) attach() chan bench.Word {
	p.mu.Lock()
	defer p.mu.Unlock()
	words := make(chan bench.Word, maxWords)
	select {
	case <-p.gone:
		close(words)
	default:
		p.words = words
	}
	p.read, p.acked, p.seq = 0, 0, 0
	return words
}

// detach closes the words of a trial and reports whether the process can take another.
func (p *process) detach() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.words != nil {
		close(p.words)
		p.words = nil
	}
	return p.err == nil && !p.killed
}

// send writes an order and waits until it is acknowledged, at most for patience.
func (p *process) send(ctx context.Context, o bench.Order, patience time.Duration) error {
	done := make(chan struct{})
	p.mu.Lock()
	if err := p.lostLocked(); err != nil {
		p.mu.Unlock()
		return err
	}
	p.seq++
	o.Seq = p.seq
	line, err := json.Marshal(o)
	if err != nil {
		p.mu.Unlock()
		return fmt.Errorf("order %s: %w", o.Type, err)
	}
	if p.tap != nil {
		line = p.tap.Sent(p.family.pid, line)
	}
	p.acks[o.Seq] = done
	p.mu.Unlock()

	timer := time.NewTimer(patience)
	defer timer.Stop()
	if err := p.write(append(line, '\n'), patience); err != nil {
		// The pipe breaks when the process dies; a full one means that it does not read.
		select {
		case <-p.gone:
		case <-p.fail:
		case <-timer.C:
			p.breakOff("hung", fmt.Sprintf("it did not read order %d (%s) within %s", o.Seq, o.Type, patience))
		}
		return p.lost()
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.fail:
	case <-p.gone:
	case <-timer.C:
		p.breakOff("hung", fmt.Sprintf("no acknowledgement of order %d (%s) within %s; every order is acknowledged on receipt, before it is carried out", o.Seq, o.Type, patience))
	}
	select {
	case <-done: // it was acknowledged with its last breath
		return nil
	default:
		return p.lost()
	}
}

// write writes a line whole; orders do not mix.
func (p *process) write(line []byte, patience time.Duration) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	if d, ok := p.in.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = d.SetWriteDeadline(time.Now().Add(patience)) // pipes and connections take one
	}
	_, err := p.in.Write(line)
	return err
}

func (p *process) lost() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lostLocked()
}

// lostLocked is why no order can be sent, nil if one can.
func (p *process) lostLocked() error {
	switch {
	case p.err != nil:
		return p.err
	case p.killed:
		return &bench.SystemError{System: p.system, Reason: "killed", Detail: "by the harness; Restart raises it again"}
	}
	return nil
}
