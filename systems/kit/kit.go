// Package kit makes an adapter of a Go system one function.
//
// An adapter is a process that speaks the wire contract (docs/wire-contract.md) on stdin and stdout. The
// kit reads the orders, acknowledges them, keeps virtual time and says `idle` and `finished`; the adapter
// fills in Adapter.Call, which carries one call out and returns what it claims of it:
//
//	func main() {
//		os.Exit(kit.Main(kit.Adapter{Call: func(ctx context.Context, c *kit.Call) kit.Claim {
//			id, err := charge(ctx, c.Given.Args)
//			if err != nil {
//				return kit.Unknown(err.Error()) // it was sent: nobody knows what became of it
//			}
//			return kit.Done(id)
//		}}, os.Stdin, os.Stdout, os.Stderr))
//	}
//
// Calls run one after another, in the order in which they were handed over. Their context ends when the
// harness cancels the call, when its goal is withdrawn or denied, and when the trial is closed;
// context.Cause tells which.
package kit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/sixthcopy/sixthcopy/bench"
)

// Causes of the end of a call's context.
var (
	ErrCancelled = errors.New("the call was cancelled")
	ErrWithdrawn = errors.New("the goal of the call was withdrawn or denied")
	ErrTimedOut  = errors.New("the call timed out") // by Call.Deadline, in virtual time
	ErrClosed    = errors.New("the trial was closed")
)

// Adapter is a system as the kit drives it. Call or Turn is required, the rest may be nil.
type Adapter struct {
	Versions map[string]string // of what is adapted, by name
	Kill     string            // what a kill hits; empty: the process group
	Can      []string          // abilities that do not follow from the functions below: "timeout", "at", "wait"

	// Open opens a trial, before its first turn. An error is reported and ends the process.
	Open func(t *Trial) error
	// Call carries out one call that was given, or the repair of one, and returns the claim.
	Call func(ctx context.Context, c *Call) Claim
	// Turn carries out a whole turn instead, for systems with a model; it claims by Trial.Claim.
	Turn func(ctx context.Context, t *Trial, o bench.TurnOrder)
	// Decide hears a decision on a call that is not waiting in Ask, after the call itself has returned.
	// The zero Claim says nothing new.
	Decide func(ctx context.Context, c *Call, d bench.Decision) Claim
	// Event hears a provider's event.
	Event func(ctx context.Context, t *Trial, e bench.EventOrder)
	// Totals are the figures of the trial so far.
	Totals func(t *Trial) Totals
	// Close closes a trial: nothing of it may be left in the process. The state folder is not touched.
	Close func(t *Trial)
}

// Totals are a trial's figures so far.
type Totals struct {
	Escalations int   // calls whose last claim is unknown
	LedgerBytes int64 // bytes of durable effect records
	Tokens      int64 // of a model
}

// Claim is what a system says of a call. The zero value says nothing.
type Claim struct {
	Outcome  string   // done, failed, unknown, partial, deferred
	Receipts []string // object ids
	Detail   string   // for the reader
}

// Done claims that the call happened and made these objects.
func Done(receipts ...string) Claim { return Claim{Outcome: bench.Done, Receipts: receipts} }

// Failed claims that nothing happened and that nothing will.
func Failed(detail string) Claim { return Claim{Outcome: bench.Failed, Detail: detail} }

// Unknown claims that the call may have happened: the honest word after a lost connection, a time-out or
// a passed-on 5xx.
func Unknown(detail string) Claim { return Claim{Outcome: bench.Unknown, Detail: detail} }

// maxLine is the largest order that the kit reads, in bytes.
const maxLine = 16 << 20

// Main drives the adapter until stdin ends. It returns the exit status: 0, or 1 when the harness sent
// what the contract does not know or a trial could not be opened; stderr then says why.
func Main(a Adapter, stdin io.Reader, stdout, stderr io.Writer) int {
	k := &kit{adapter: a, out: stdout}
	lines := bufio.NewScanner(stdin)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		if err := k.take(lines.Bytes()); err != nil {
			fmt.Fprintln(stderr, "kit:", err)
			k.say(bench.Word{Type: "error", Detail: err.Error()})
			return 1
		}
	}
	if k.trial != nil {
		k.trial.close()
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(stderr, "kit: read of an order:", err)
		return 1
	}
	return 0
}

// kit is the state of Main: the output and the open trial.
type kit struct {
	adapter Adapter
	trial   *Trial

	mu  sync.Mutex // guards out
	out io.Writer
	buf bytes.Buffer
}

// say writes one word. A broken pipe is no error here: stdin ends with it.
func (k *kit) say(w bench.Word) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.buf.Reset()
	if json.NewEncoder(&k.buf).Encode(w) == nil {
		_, _ = k.out.Write(k.buf.Bytes())
	}
}

// take carries out one order.
func (k *kit) take(line []byte) error {
	var o bench.Order
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber() // arguments keep the spelling of their numbers
	if err := d.Decode(&o); err != nil {
		return fmt.Errorf("order %.200q: %w", line, err)
	}
	now, err := parseTime(o.Now)
	if err != nil {
		return fmt.Errorf("order %d (%s): now is %q, expected a time by RFC 3339", o.Seq, o.Type, o.Now)
	}
	if o.Type == "start" {
		return k.start(o, now)
	}
	t := k.trial
	if t == nil {
		return fmt.Errorf("order %d (%s) before start", o.Seq, o.Type)
	}
	ack := bench.Word{Type: "ack", Seq: o.Seq}
	if o.Type == "reset" {
		t.close()
		k.trial = nil
		k.say(ack)
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq = o.Seq
	t.advance(now)
	switch {
	case o.Type == "turn" && o.Turn != nil:
		t.handOver(*o.Turn)
	case o.Type == "repair" && o.Repair != nil:
		t.repair(*o.Repair)
	case o.Type == "cancel" && o.Cancel != nil:
		t.stop(*o.Cancel, ErrCancelled)
	case o.Type == "decide" && o.Decide != nil:
		t.decide(*o.Decide)
	case o.Type == "event" && o.Event != nil:
		e := *o.Event
		if k.adapter.Event != nil {
			t.queue = append(t.queue, job{run: func(ctx context.Context) { k.adapter.Event(ctx, t, e) }})
		}
	case o.Type == "proceed" && o.Proceed != nil:
		t.proceed(o.Proceed.Event)
	case o.Type == "clock":
	default:
		return fmt.Errorf("order %d: type %q with its part is not known; expected start, turn, repair, cancel, decide, event, clock, proceed or reset", o.Seq, o.Type)
	}
	if o.Type != "clock" && o.Type != "proceed" {
		t.queue = append(t.queue, job{run: func(context.Context) {}}) // whatever it set off, `idle` follows
	}
	// The acknowledgement leaves before anything that the order sets off, and no `idle` slips in between.
	k.say(ack)
	t.wake.Broadcast()
	return nil
}

// start opens a trial.
func (k *kit) start(o bench.Order, now virtual) error {
	switch {
	case o.Start == nil:
		return fmt.Errorf("order %d: start without its part", o.Seq)
	case k.trial != nil:
		return fmt.Errorf("order %d: start while a trial is open; a reset comes first", o.Seq)
	case o.Start.Wire != bench.WireVersion:
		return fmt.Errorf("order %d: wire version is %d, expected %d", o.Seq, o.Start.Wire, bench.WireVersion)
	}
	t := newTrial(k, *o.Start, now)
	t.seq = o.Seq
	if k.adapter.Open != nil {
		if err := k.adapter.Open(t); err != nil {
			return fmt.Errorf("open of a trial: %w", err)
		}
	}
	k.trial = t
	kill := k.adapter.Kill
	if kill == "" {
		kill = "the process group"
	}
	k.say(bench.Word{Type: "started", Wire: bench.WireVersion, Versions: k.adapter.Versions, Can: k.adapter.can(), Kill: kill})
	k.say(bench.Word{Type: "ack", Seq: o.Seq})
	go t.work()
	return nil
}

// Abilities lists what a manifest of the adapter has in `can`, sorted.
func (a Adapter) Abilities() []string { return a.can() }

// can lists the abilities, sorted.
func (a Adapter) can() []string {
	can := append([]string{"cancel", "clock", "reset", "turn"}, a.Can...)
	if a.Call != nil {
		can = append(can, "repair")
	}
	if a.Call != nil || a.Decide != nil { // a withdrawn goal ends the context of its call

		can = append(can, "decide")
	}
	if a.Event != nil {
		can = append(can, "event")
	}
	slices.Sort(can)
	return slices.Compact(can)
}
