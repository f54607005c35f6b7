// Package check holds an adapter, in whatever language, against the wire contract (docs/wire-contract.md)
// without a run of the benchmark: it raises the system as the harness does, hands it a fixed series of
// orders, lets its calls reach a real provider through a front that loses, holds and refuses them, and
// checks each word that comes back.
//
// The checks are a list (checks); each has a trial of its own. What holds always (each order acknowledged,
// no claim for a call that was not given, `idle` when all is over, no sleep in real time) is watched by the
// desk (desk.go), whatever the check.
package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/systems"
)

// Place is what the calls of a system lead to, for one trial: a provider, behind a tool server or by itself.
type Place struct {
	Upstream  string // host:port
	Parse     func(bench.RawRequest) bench.Call
	Tools     []bench.OfferedTool // with the path only in Address
	Providers []string            // kinds that Upstream is, for systems that call it themselves; empty: tools
	Calls     []bench.ToolCall    // to hand over; one at least
	Refused   *bench.ToolCall     // a call that is refused for its arguments; nil: there is none
	Objects   func(context.Context) ([]string, error)
	Close     func() error
}

// Config says what to check, and where.
type Config struct {
	System   *systems.System
	Manifest systems.Manifest
	// Raise makes the place of one trial. dir is empty and its own; now is the trial's virtual time.
	Raise func(ctx context.Context, dir string, t bench.Transport, now func() time.Time) (*Place, error)
	// Own tells the harness's own children, by their command lines, from what a system may leave behind.
	Own   func(command []string) bool
	Dir   string        // for state folders and stores
	Ack   time.Duration // within which an order is acknowledged; 0: as the harness has it
	Quiet time.Duration // without a word or a call while something is owed; 0: as the harness has it
	Rest  time.Duration // between two calls without a `wait` that is no sleep yet; 0: one second
	Each  func(Result)  // told of each result, in order; nil: nobody
}

// Result is what came of one check.
type Result struct {
	Name string // of the check
	Says string // what held, or why it was not tried
	Tag  Tag
	Break
	Lines []string // all that went over, `> ` what was sent and `< ` what came
}

// Tag is the kind of a result.
type Tag string

const (
	OK      Tag = "ok"
	Broken  Tag = "BROKEN"
	Note    Tag = "note" // nothing is broken, but something is left lying
	Skipped Tag = "-"    // it does not apply
)

// Break is how the contract was broken.
type Break struct {
	What     string // what came, in words
	Sent     string // the order that it answers, as it was sent
	Came     string // the line that came; empty: none
	Expected string
	Do       string
}

// one is a check: it drives one trial, and says what held.
type one struct {
	name string
	// applies says why it does not apply to a system; "": it does.
	applies func(c *checker) string
	knobs   bench.Knobs
	over    bench.Transport // of the tools; empty: the system's usual one
	extra   bool            // its `start` carries fields that nobody knows
	do      func(ctx context.Context, d *desk) (says string, err error)
}

// checker is a Check in progress.
type checker struct {
	Config
	desk     *desk
	started  *bench.Word // as it was said last
	sends    bool        // a turn has sent a call
	reuse    bool        // processes serve the next trial: that is known by now
	children map[int]bool
}

// errBroken says that the desk has a break.
var errBroken = errors.New("the contract is broken")

// Check holds a system against the contract. It returns the results in order; the error is of the harness,
// or a *bench.SystemError of reason "did not start".
func Check(ctx context.Context, c Config) (all []Result, err error) {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&c.Ack, systems.Patience)
	set(&c.Quiet, 15*time.Second)
	set(&c.Rest, time.Second)
	k := &checker{Config: c, children: map[int]bool{}}
	for _, pid := range childrenOf(os.Getpid()) {
		k.children[pid] = true
	}
	c.System.Listen(systems.Tap{Sent: k.sent, Came: k.came}, c.Ack)
	done := func(r Result) {
		all = append(all, r)
		if c.Each != nil {
			c.Each(r)
		}
	}
	defer func() { err = errors.Join(err, c.System.Close()) }()
	for _, o := range checks {
		if why := o.applies(k); why != "" {
			done(Result{Name: o.name, Tag: Skipped, Says: why})
			continue
		}
		r, err := k.run(ctx, o)
		if err != nil {
			return all, fmt.Errorf("check %s: %w", o.name, err)
		}
		done(r)
		if r.Tag == Broken && (o.name == "start" || o.name == "turn") {
			return all, nil // what follows rests on it
		}
	}
	done(k.leavings())
	return all, nil
}

// run carries one check out, in a trial of its own.
func (k *checker) run(ctx context.Context, o one) (Result, error) {
	r := Result{Name: o.name, Tag: OK}
	dir, err := os.MkdirTemp(k.Dir, "check-")
	if err != nil {
		return r, fmt.Errorf("folder of the trial: %w", err)
	}
	defer os.RemoveAll(dir)
	d, err := k.open(ctx, dir, o)
	if err == nil {
		r.Says, err = o.do(ctx, d)
		if err == nil {
			err = d.verdict()
		}
	}
	if d != nil {
		r.Lines = d.close()
		if err == nil {
			err = d.verdict() // closing it can break something too
		}
		if b := d.broken(); b != nil {
			r.Tag, r.Break, r.Says = Broken, *b, b.What
		}
	}
	var note *noted
	switch {
	case r.Tag == Broken, errors.Is(err, errBroken):
		return r, nil
	case errors.As(err, &note):
		r.Tag, r.Says, r.Do = Note, note.says, note.do
		return r, nil
	}
	return r, err
}

// noted is what a check finds that breaks nothing.
type noted struct{ says, do string }

func (n *noted) Error() string { return n.says }

// open raises place and process of a trial and starts it.
func (k *checker) open(ctx context.Context, dir string, o one) (*desk, error) {
	for _, sub := range []string{"store", "state"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, fmt.Errorf("folder of the trial: %w", err)
		}
	}
	d := newDesk(k, dir, o.knobs)
	var err error
	if d.front, err = openFront(d.happened); err != nil {
		return nil, err
	}
	if d.place, err = k.Raise(ctx, filepath.Join(dir, "store"), o.over, d.time); err != nil {
		return nil, errors.Join(err, d.front.shut())
	}
	d.front.lead(d.place.Upstream, d.place.Parse)
	k.desk = d
	if d.session, err = k.System.Begin(ctx, filepath.Join(dir, "state")); err != nil {
		return d, d.asBreak(err)
	}
	d.listen()
	d.extra = o.extra
	return d, d.start(ctx, false)
}

// leavings looks for what the system has left behind when all its processes are ended.
func (k *checker) leavings() Result {
	r := Result{Name: "nothing left", Tag: OK, Says: "no process of it is alive"}
	if err := k.System.Close(); err != nil {
		r.Tag, r.Break = Broken, Break{What: err.Error(), Expected: "processes that die of SIGKILL", Do: "do not leave processes in other namespaces behind"}
		return r
	}
	for _, pid := range childrenOf(os.Getpid()) {
		if k.children[pid] || isDead(pid) || k.Own != nil && k.Own(commandLine(pid)) {
			continue
		}
		r.Tag = Broken
		r.Break = Break{What: fmt.Sprintf("process %d (%s) has outlived the kill of the system", pid, commandOf(pid)),
			Expected: "everything that the system starts dies with it: a kill is SIGKILL to its process group and to what left it",
			Do:       "start children in the group of the adapter, and leave them the environment that it was given"}
		r.Says = r.What
		_ = endProcess(pid)
	}
	return r
}

// Passed reports whether nothing was broken.
func Passed(all []Result) bool {
	for _, r := range all {
		if r.Tag == Broken {
			return false
		}
	}
	return true
}

func (b Break) String() string {
	var s strings.Builder
	for _, part := range [][2]string{{"sent", b.Sent}, {"came", b.Came}, {"expected", b.Expected}, {"do", b.Do}} {
		text := part[1]
		if text == "" && part[0] == "came" {
			text = "nothing"
		}
		if text != "" {
			text = shorten(text, 500)
			fmt.Fprintf(&s, "%-8s  %s\n", part[0], text)
		}
	}
	return s.String()
}
