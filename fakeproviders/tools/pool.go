package tools

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// restWithin bounds how long Release waits for a tool server to come to rest, in real time.
const restWithin = 2 * time.Second

// Pool keeps tool servers between trials. It is safe for concurrent use.
type Pool struct {
	exe  string
	argv []string

	mu     sync.Mutex
	idle   []*process
	alive  map[*process]bool
	closed bool
}

var _ bench.ToolServers = (*Pool)(nil)

// NewPool returns a pool whose tool servers are `exe argv...`, a program that calls Main.
func NewPool(exe string, argv ...string) *Pool {
	return &Pool{exe: exe, argv: argv, alive: map[*process]bool{}}
}

// Get returns a tool server under this name: one that rests in the pool, or a new process. It must be
// configured before use.
func (p *Pool) Get(ctx context.Context, name string) (bench.ToolServer, error) {
	p.mu.Lock()
	var resting *process
	for len(p.idle) > 0 && resting == nil {
		last := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if !last.ended() {
			resting = last
		}
	}
	p.mu.Unlock()
	r := &replica{pool: p, name: name, notes: newNotes()}
	if resting == nil {
		started, err := p.start(ctx)
		if err != nil {
			return nil, fmt.Errorf("tool server %s: %w", name, err)
		}
		resting = started
	}
	r.use(resting)
	return r, nil
}

// Close ends all processes of the pool, those in use too.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	all := make([]*process, 0, len(p.alive))
	for each := range p.alive {
		all = append(all, each)
	}
	p.mu.Unlock()
	for _, each := range all {
		p.end(each)
	}
	return nil
}

func (p *Pool) start(ctx context.Context) (*process, error) {
	started, err := startProcess(ctx, p.exe, p.argv)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	closed := p.closed
	p.alive[started] = true
	p.mu.Unlock()
	if closed {
		p.end(started)
		return nil, errors.New("the pool is closed")
	}
	return started, nil
}

// end kills a process and returns when it is reaped.
func (p *Pool) end(each *process) {
	each.kill()
	p.mu.Lock()
	delete(p.alive, each)
	p.mu.Unlock()
}

func (p *Pool) giveBack(each *process) {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.idle = append(p.idle, each)
	}
	p.mu.Unlock()
	if closed {
		p.end(each)
	}
}

// replica is a tool server in the hands of a trial.
type replica struct {
	pool  *Pool
	name  string
	notes *notes

	mu       sync.Mutex
	process  *process
	config   *bench.ToolServerConfig // the last one; nil: not configured
	released bool
}

var _ bench.ToolServer = (*replica)(nil)

func (r *replica) use(p *process) {
	r.mu.Lock()
	r.process = p
	r.mu.Unlock()
	p.listen(func(n bench.ToolServerNote) {
		n.Instance = r.name
		r.notes.add(n)
	})
}

func (r *replica) current() (*process, *bench.ToolServerConfig) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process, r.config
}

// Name is the name that Get was given.
func (r *replica) Name() string { return r.name }

// Address is the host:port on which the present process listens; agents reach it under PathMCP,
// PathMCPSessions and PathTools.
func (r *replica) Address() string {
	p, _ := r.current()
	return p.address
}

// Configure opens a trial on it and forgets the one before, notes included.
func (r *replica) Configure(ctx context.Context, c bench.ToolServerConfig) error {
	r.notes.forget()
	r.mu.Lock()
	r.config = &c
	r.mu.Unlock()
	return r.order(ctx, controlOrder{Type: orderConfigure, Config: &c})
}

// Clock tells it virtual time. When it returns, what was due has been given up; the notes of it follow.
func (r *replica) Clock(ctx context.Context, now time.Time) error {
	r.mu.Lock()
	if r.config != nil {
		r.config.Now = now // a restart begins there
	}
	r.mu.Unlock()
	return r.order(ctx, controlOrder{Type: orderClock, Now: now})
}

// Busy is the number of exchanges and calls that it has in hand, by its own counter.
func (r *replica) Busy(ctx context.Context) (int, error) {
	p, _ := r.current()
	w, err := p.ask(ctx, controlOrder{Type: orderBusy})
	if err != nil {
		return 0, fmt.Errorf("tool server %s: %w", r.name, err)
	}
	return w.Busy, nil
}

// Warm makes one read on the connection to the provider, so that the next request is not its first. It
// is of use with kept-alive connections only.
func (r *replica) Warm(ctx context.Context) error {
	return r.order(ctx, controlOrder{Type: orderWarm})
}

// Notes returns what it reports, until Configure or Release closes the channel.
func (r *replica) Notes() <-chan bench.ToolServerNote { return r.notes.channel() }

// Kill is SIGKILL to its process group; it returns when the process is reaped.
func (r *replica) Kill() error {
	p, _ := r.current()
	r.pool.end(p)
	return nil
}

// Restart raises a new process under the same name, with the last configuration at the present virtual
// time and without memory. It is an error while the old process lives.
func (r *replica) Restart(ctx context.Context) error {
	old, config := r.current()
	if !old.ended() {
		return fmt.Errorf("tool server %s: restart while its process %d lives; kill it first", r.name, old.pid())
	}
	started, err := r.pool.start(ctx)
	if err != nil {
		return fmt.Errorf("tool server %s: restart: %w", r.name, err)
	}
	r.use(started)
	if config == nil {
		return nil
	}
	return r.order(ctx, controlOrder{Type: orderConfigure, Config: config})
}

// Release gives it back to the pool if it comes to rest, and ends it if it does not, was killed, or has
// served sessions, which the SDK keeps. The replica cannot be used afterwards.
func (r *replica) Release() {
	r.mu.Lock()
	again := r.released
	r.released = true
	p, config := r.process, r.config
	r.mu.Unlock()
	if again {
		return
	}
	r.notes.close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*restWithin)
	defer cancel()
	if !hasSessions(config) && !p.ended() {
		w, err := p.ask(ctx, controlOrder{Type: orderRest, WithinMS: int(restWithin.Milliseconds())})
		if err == nil && w.Busy == 0 {
			r.pool.giveBack(p)
			return
		}
	}
	r.pool.end(p)
}

func hasSessions(c *bench.ToolServerConfig) bool {
	if c == nil {
		return false
	}
	for _, use := range c.Tools {
		if use.Transport == bench.TransportMCPSessions {
			return true
		}
	}
	return false
}

func (r *replica) order(ctx context.Context, o controlOrder) error {
	p, _ := r.current()
	w, err := p.ask(ctx, o)
	if err == nil && w.Error != "" {
		err = errors.New(w.Error)
	}
	if err != nil {
		return fmt.Errorf("tool server %s: %s: %w", r.name, o.Type, err)
	}
	return nil
}
