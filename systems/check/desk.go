package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// desk is the harness's side of one trial. Lines and calls are noted in the order in which they come; what
// must hold always is looked at as they do, and the first thing that does not is kept.
type desk struct {
	k       *checker
	front   *front
	place   *Place
	session bench.Session
	dir     string
	knobs   bench.Knobs

	mu      sync.Mutex
	changed chan struct{} // closed and made anew at each change
	now     time.Time
	pid     int
	lines   []string
	orders  map[int]string // lines by seq, of this process
	last    string         // order sent last, as it went
	seq     int            // of it
	acked   map[int]bool
	work    int // seq of the last order that gave work
	idleAt  int // seq that the last idle covers
	given   map[bench.CallRef]*handed
	waits   map[waitOf]time.Time
	ats     []bench.Word // announced and not yet answered
	arrived []event
	open    int // calls that the front has in hand
	rest    pause
	extra   bool // the next order carries fields that nobody knows
	over    bool // the words have ended
	dying   bool // by a kill of ours
	moves   int
	brk     *Break
}

// handed is a call that the system was given.
type handed struct {
	call   bench.GivenCall
	line   string // the order that gave it, or asked for it again
	owes   bool   // a claim
	claims []bench.Word
	since  int // of the claims, those before the last order on it
}

type waitOf struct {
	ref bench.CallRef
	why string
}

// pause is the time since something last happened while the system owed something and had nothing to wait for.
type pause struct {
	on    bool
	began time.Time
	busy  time.Duration // time that the process had run, or wished to, by then
	after string
}

// maxMoves bounds the moves of the clock in one check, and the calls: what goes on for longer has no bound of
// its own, most likely. The harness has more patience (docs/wire-contract.md, endless).
const maxMoves = 200

func newDesk(k *checker, dir string, knobs bench.Knobs) *desk {
	return &desk{k: k, dir: dir, knobs: knobs, changed: make(chan struct{}), now: bench.Epoch, orders: map[int]string{},
		acked: map[int]bool{}, given: map[bench.CallRef]*handed{}, waits: map[waitOf]time.Time{}}
}

// time is the trial's virtual time.
func (d *desk) time() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *desk) change() {
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *desk) broken() *Break {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.brk
}

// verdict is errBroken if something is.
func (d *desk) verdict() error {
	if d.broken() != nil {
		return errBroken
	}
	return nil
}

// breaks keeps the first break, and returns errBroken.
func (d *desk) breaks(b Break) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.breakLocked(b)
	return errBroken
}

func (d *desk) breakLocked(b Break) {
	if d.brk != nil {
		return
	}
	if b.Sent == "" {
		b.Sent = d.last
	}
	d.brk = &b
	d.change()
}

// asBreak turns a system's own end into a break. Any other error, and one of a system that cannot be
// started at all, is returned as it is.
func (d *desk) asBreak(err error) error {
	var own *bench.SystemError
	if !errors.As(err, &own) || own.Reason == "did not start" {
		return err
	}
	b := Break{What: "it " + own.Reason + ": " + own.Detail, Expected: "a process that goes on until the harness ends it",
		Do: "read its words on stderr; docs/wire-contract.md, Ends, has the reasons"}
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.lines); n > 0 && strings.HasPrefix(d.lines[n-1], "< ") {
		b.Came = strings.TrimPrefix(d.lines[n-1], "< ")
	}
	switch own.Reason {
	case "printed a line that is not protocol", "flood":
		b.Expected, b.Do = "one JSON object of the contract a line, and nothing else, on stdout", "log to stderr"
	case "wire version":
		b.Expected, b.Do = fmt.Sprintf(`"wire":%d in started`, bench.WireVersion), "speak the version of docs/wire-contract.md"
	case "hung":
		b.Expected = fmt.Sprintf(`{"type":"ack","seq":%d}, before anything that the order sets off`, d.seq)
		b.Do = "read orders on a thread of their own, and acknowledge each as it is read; flush stdout after each line"
		b.Came = ""
	}
	d.breakLocked(b)
	return errBroken
}

// send hands an order over and returns when it is acknowledged.
func (d *desk) send(ctx context.Context, o bench.Order) error {
	if err := d.verdict(); err != nil {
		return err
	}
	o.Now = d.time().Format(time.RFC3339Nano)
	return d.asBreak(d.session.Send(ctx, o))
}

// start opens the trial, in a first process or another.
func (d *desk) start(ctx context.Context, restarted bool) error {
	o := &bench.StartOrder{Wire: bench.WireVersion, StateDir: filepath.Join(d.dir, "state"), Restarted: restarted,
		Token: filepath.Base(d.dir), Knobs: d.knobs}
	base := "http://" + d.front.address()
	for _, t := range d.place.Tools {
		t.Address = base + t.Address
		o.Tools = append(o.Tools, t)
	}
	for _, kind := range d.place.Providers {
		if o.Providers == nil {
			o.Providers = map[string]string{}
		}
		o.Providers[kind] = base
	}
	d.mu.Lock()
	d.k.started = nil
	d.mu.Unlock()
	if err := d.send(ctx, bench.Order{Type: "start", Start: o}); err != nil {
		return err
	}
	return d.until(ctx, "`started`", func() bool { return d.k.started != nil })
}

// turn hands calls over, all in one turn.
func (d *desk) turn(ctx context.Context, id string, again bool, calls ...bench.ToolCall) error {
	o := &bench.TurnOrder{ID: id, Conversation: "conversation-1", Say: "Carry these calls out: they are a test of your adapter.", Redelivered: again}
	d.mu.Lock()
	for i, c := range calls {
		g := bench.GivenCall{Ordinal: i + 1, ID: fmt.Sprintf("call_%s_%d", id, i+1), Tool: c.Tool, Args: c.Args}
		o.Calls = append(o.Calls, g)
		d.owe(bench.CallRef{Turn: id, Ordinal: i + 1}, g)
	}
	d.mu.Unlock()
	return d.send(ctx, bench.Order{Type: "turn", Turn: o})
}

// owe notes that the system is to claim of a call; d.mu is held.
func (d *desk) owe(ref bench.CallRef, g bench.GivenCall) {
	h := d.given[ref]
	if h == nil {
		h = &handed{}
		d.given[ref] = h
	}
	h.call, h.owes, h.since = g, true, len(h.claims)
}

// clock moves virtual time.
func (d *desk) clock(ctx context.Context, to time.Time) error {
	d.mu.Lock()
	d.now = to
	for w, until := range d.waits {
		if !until.After(to) {
			delete(d.waits, w)
		}
	}
	d.mu.Unlock()
	return d.send(ctx, bench.Order{Type: "clock"})
}

// until waits for cond, which is called with d.mu held. The clock does not move.
func (d *desk) until(ctx context.Context, what string, cond func() bool) error {
	return d.wait(ctx, cond, false, func() Break {
		return Break{What: "nothing came within " + d.k.Quiet.String(), Expected: what, Do: "docs/wire-contract.md says when it is owed"}
	})
}

// settle lets the system work until all that it was given has its claim, and it is idle. The clock moves to
// what it waits for.
func (d *desk) settle(ctx context.Context) error {
	return d.wait(ctx, d.settled, true, d.owed)
}

func (d *desk) settled() bool {
	for _, h := range d.given {
		if h.owes {
			return false
		}
	}
	return d.idleAt >= d.work && len(d.waits) == 0 && d.open == 0
}

// owed is what is missing; d.mu is held.
func (d *desk) owed() Break {
	within := " within " + d.k.Quiet.String()
	for ref, h := range d.given {
		if !h.owes {
			continue
		}
		b := Break{What: fmt.Sprintf("no claim on turn %s call %d%s", ref.Turn, ref.Ordinal, within), Sent: h.line,
			Expected: fmt.Sprintf(`{"type":"claim","turn":%q,"call":%d,"outcome":"..."}`, ref.Turn, ref.Ordinal),
			Do:       "claim of every call that was given, `unknown` where nobody knows; what takes time is a `wait`"}
		if d.open == 0 && len(d.arrived) > 0 && d.arrived[len(d.arrived)-1].kind == "lost" {
			b.What += ", nor another attempt or a `wait`, after its answer was lost: it sleeps in real time, or hangs"
			b.Do = "say `wait` with a virtual time in place of a sleep, and go on when a `clock` reaches it"
		}
		return b
	}
	switch {
	case d.open > 0:
		return Break{What: fmt.Sprintf("%d calls are still open%s, though it was idle", d.open, within), Came: d.lastCame(),
			Expected: "an `idle` after the end of everything that is under way", Do: "close what was given up"}
	case d.idleAt < d.work:
		return Break{What: "no `idle`" + within + ", though every call has its claim", Sent: d.orders[d.work], Came: d.lastCame(),
			Expected: fmt.Sprintf(`{"type":"idle","seq":%d}: it follows every turn, repair, cancel, decide and event`, d.work),
			Do:       "say `idle` when nothing is under way"}
	}
	var w []string
	for k := range d.waits {
		w = append(w, fmt.Sprintf("%s (turn %s call %d)", k.why, k.ref.Turn, k.ref.Ordinal))
	}
	slices.Sort(w)
	return Break{What: "it is idle, and still waits: " + strings.Join(w, ", "), Came: d.lastCame(),
		Expected: "an `idle` when no wait is open", Do: `withdraw a wait that is not needed any more: a "wait" with an empty "until"`}
}

func (d *desk) lastCame() string {
	for i := len(d.lines) - 1; i >= 0; i-- {
		if came, ok := strings.CutPrefix(d.lines[i], "< "); ok {
			return came
		}
	}
	return ""
}

// wait waits for cond. With moves the clock goes to the earliest time that the system waits for, time-outs
// apart, whenever nothing is in hand. missing says what is owed when nothing comes.
func (d *desk) wait(ctx context.Context, cond func() bool, moves bool, missing func() Break) error {
	timer := time.NewTimer(d.k.Quiet)
	defer timer.Stop()
	for {
		d.mu.Lock()
		switch {
		case d.brk != nil:
			d.mu.Unlock()
			return errBroken
		case cond():
			d.mu.Unlock()
			return nil
		case d.over:
			d.mu.Unlock()
			if err := d.session.Err(); err != nil {
				return d.asBreak(err)
			}
			return errors.New("the words of the system ended")
		}
		changed := d.changed
		to, some := d.earliest()
		if moves && some && d.open == 0 {
			d.moves++
			many := d.moves > maxMoves
			d.mu.Unlock()
			if many {
				return d.endless(fmt.Sprintf("still waits after %d moves of the clock", maxMoves))
			}
			if err := d.clock(ctx, to); err != nil {
				return err
			}
			timer.Reset(d.k.Quiet)
			continue
		}
		many := len(d.arrived) > 2*maxMoves
		d.mu.Unlock()
		if many {
			return d.endless(fmt.Sprintf("has sent %d calls without an end", maxMoves))
		}
		select {
		case <-changed:
			timer.Reset(d.k.Quiet)
		case <-timer.C:
			d.mu.Lock()
			d.breakLocked(missing())
			d.mu.Unlock()
			return errBroken
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// endless is what a system is that retries without a bound: it breaks nothing, but it ends its trials.
func (d *desk) endless(how string) error {
	d.front.release(pass)
	return &noted{"it " + how + ": if it never ends, trials end as `endless`", "nothing, if that is how the library comes; else bound the retries"}
}

// earliest is the earliest virtual time that the system waits for; d.mu is held.
func (d *desk) earliest() (at time.Time, some bool) {
	for k, t := range d.waits {
		if k.why != "time-out" && (!some || t.Before(at)) {
			at, some = t, true
		}
	}
	return at, some
}

// kill ends the process, and returns when it is gone with all that it started.
func (d *desk) kill() error {
	d.mu.Lock()
	d.dying = true
	pid := d.pid
	d.mu.Unlock()
	family := identify(descendantsOf(pid))
	if err := d.session.Kill(); err != nil {
		return d.breaks(Break{What: err.Error(), Expected: "processes that die of SIGKILL", Do: "start none in other namespaces"})
	}
	for _, p := range family {
		if p.alive() {
			return d.breaks(Break{What: fmt.Sprintf("process %d (%s), which it had started, has outlived the kill", p.pid, commandOf(p.pid)),
				Expected: "everything that the system starts dies with it: a kill is SIGKILL to its process group and to what left it",
				Do:       "start children in the group of the adapter, and leave them the environment that it was given"})
		}
	}
	return nil
}

// restart raises another process on the same state folder. All that the killed one owed is forgotten.
func (d *desk) restart(ctx context.Context) error {
	if err := d.session.Restart(ctx); err != nil {
		return d.asBreak(err)
	}
	d.mu.Lock()
	d.orders, d.acked, d.waits = map[int]string{}, map[int]bool{}, map[waitOf]time.Time{}
	d.seq, d.work, d.idleAt, d.over, d.dying, d.ats, d.rest = 0, 0, 0, false, false, nil, pause{}
	for _, h := range d.given {
		h.owes, h.since = false, len(h.claims)
	}
	d.mu.Unlock()
	d.listen()
	return d.start(ctx, true)
}

// close ends the trial and returns its lines.
func (d *desk) close() []string {
	if d.session != nil {
		d.mu.Lock()
		keep := d.k.reuse && d.brk == nil && d.settled()
		d.mu.Unlock()
		if !keep { // the next check begins with a process of its own
			d.mu.Lock()
			d.dying = true
			d.mu.Unlock()
			_ = d.session.Kill() // what outlives it is looked for at the end
		}
		d.session.Release()
	}
	d.front.release(pass)
	_ = d.front.shut() // of a listener of ours: nothing hangs on it any more
	if d.place != nil {
		_ = d.place.Close() // what it held is removed with the trial's folder
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dying = true
	return slices.Clone(d.lines)
}

// claimed is the outcome that a call has now, and what was claimed.
func (d *desk) claimed(turn string, ordinal int) (bench.Word, string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.given[bench.CallRef{Turn: turn, Ordinal: ordinal}]
	if h == nil || len(h.claims) == 0 {
		return bench.Word{}, ""
	}
	w := h.claims[len(h.claims)-1]
	text, _ := json.Marshal(w) // it came as JSON
	return w, string(text)
}

// calls is how many calls have arrived at the front.
func (d *desk) calls() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, e := range d.arrived {
		n = max(n, e.n)
	}
	return n
}
