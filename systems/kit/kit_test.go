package kit_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/systems/kit"
)

func ExampleMain() {
	orders := strings.NewReader(`{"type":"start","seq":1,"now":"2026-01-05T09:00:00Z","start":{"wire":1,"state_dir":"/tmp","tools":[],"knobs":{}}}
{"type":"turn","seq":2,"now":"2026-01-05T09:00:00Z","turn":{"id":"t1","calls":[{"ordinal":1,"id":"c","tool":"refund","args":{"amount":2500}}]}}
{"type":"reset","seq":3,"now":"2026-01-05T09:00:00Z"}
`)
	refund := func(ctx context.Context, c *kit.Call) kit.Claim {
		if err := c.Wait(ctx, c.Now().Add(time.Second), "back-off"); err != nil { // nobody moves the clock here
			return kit.Failed(err.Error())
		}
		return kit.Done("re_1")
	}
	status := kit.Main(kit.Adapter{Call: refund}, orders, io.Discard, os.Stderr)
	fmt.Println("status", status)
	// Output: status 0
}

// peer is the harness's side of a kit that runs in this process.
type peer struct {
	t      *testing.T
	orders io.WriteCloser
	words  *bufio.Scanner
	status chan int
	stderr *bytes.Buffer
	seq    int
}

func drive(t *testing.T, a kit.Adapter, knobs bench.Knobs) *peer {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	p := &peer{t: t, orders: inWrite, words: bufio.NewScanner(outRead), status: make(chan int, 1), stderr: &bytes.Buffer{}}
	go func() {
		p.status <- kit.Main(a, inRead, outWrite, p.stderr)
		outWrite.Close()
		inRead.Close()
	}()
	t.Cleanup(func() {
		inWrite.Close()
		for p.words.Scan() {
		}
		<-p.status
	})
	p.send(0, bench.Order{Type: "start", Start: &bench.StartOrder{Wire: bench.WireVersion, Knobs: knobs}})
	p.expect("started", "ack")
	return p
}

// send writes an order at a virtual time, in seconds after the epoch.
func (p *peer) send(at int, o bench.Order) {
	p.t.Helper()
	p.seq++
	o.Seq, o.Now = p.seq, bench.Epoch.Add(time.Duration(at)*time.Second).Format(time.RFC3339Nano)
	text, err := json.Marshal(o)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.orders.Write(append(text, '\n')); err != nil {
		p.t.Fatal(err)
	}
}

// expect reads as many words as are named and compares: TYPE or TYPE:OUTCOME, EVENT, UNTIL.
func (p *peer) expect(want ...string) {
	p.t.Helper()
	for _, word := range want {
		if !p.words.Scan() {
			p.t.Fatalf("the words ended, expected %s", word)
		}
		var w bench.Word
		if err := json.Unmarshal(p.words.Bytes(), &w); err != nil {
			p.t.Fatal(err)
		}
		got := w.Type
		if more := w.Outcome + w.Event; more != "" {
			got += ":" + more
		}
		if w.Type == "wait" {
			got += ":" + strings.TrimPrefix(w.Until, "2026-01-05T")
		}
		if got != word {
			p.t.Fatalf("got %s, expected %s (%s)", got, word, p.words.Bytes())
		}
	}
}

func turn(calls int) bench.Order {
	o := &bench.TurnOrder{ID: "t1"}
	for i := range calls {
		o.Calls = append(o.Calls, bench.GivenCall{Ordinal: i + 1, ID: fmt.Sprint("call-", i+1), Tool: "refund"})
	}
	return bench.Order{Type: "turn", Turn: o}
}

func TestWaitsEndWithTheClockAndAreWithdrawn(t *testing.T) {
	p := drive(t, kit.Adapter{Call: func(ctx context.Context, c *kit.Call) kit.Claim {
		limited, stop := c.Deadline(ctx, 10*time.Second)
		if c.Given.Ordinal == 2 {
			<-limited.Done()
			stop()
			return kit.Unknown(context.Cause(limited).Error())
		}
		stop() // the call ended first
		if err := c.Wait(ctx, c.Now().Add(5*time.Second), "back-off"); err != nil {
			return kit.Unknown(err.Error())
		}
		return kit.Done()
	}}, bench.Knobs{})
	p.send(0, turn(2))
	p.expect("ack", "wait:09:00:10Z", "wait:", "wait:09:00:05Z")
	p.send(4, bench.Order{Type: "clock"})
	p.expect("ack")
	p.send(5, bench.Order{Type: "clock"})
	p.expect("ack", "claim:done", "wait:09:00:15Z")
	p.send(15, bench.Order{Type: "clock"})
	p.expect("ack", "claim:unknown", "finished", "idle")
}

func TestCancelReachesOpenAndQueuedCalls(t *testing.T) {
	entered := make(chan struct{}, 2)
	p := drive(t, kit.Adapter{Call: func(ctx context.Context, c *kit.Call) kit.Claim {
		entered <- struct{}{}
		<-ctx.Done()
		if errors.Is(context.Cause(ctx), kit.ErrWithdrawn) {
			return kit.Failed("withdrawn")
		}
		return kit.Unknown(context.Cause(ctx).Error())
	}, Decide: func(_ context.Context, c *kit.Call, d bench.Decision) kit.Claim {
		return kit.Claim{Outcome: bench.Partial, Detail: string(d)}
	}}, bench.Knobs{})
	p.send(0, turn(2))
	p.expect("ack")
	<-entered
	p.send(0, bench.Order{Type: "decide", Decide: &bench.DecideOrder{Turn: "t1", Ordinal: 2, Decision: bench.Withdrawn}})
	p.expect("ack") // the second call is stopped before it begins
	p.send(0, bench.Order{Type: "cancel", Cancel: &bench.CallRef{Turn: "t1", Ordinal: 1}})
	p.expect("ack", "claim:unknown", "claim:failed", "claim:partial", "finished", "idle")
}

// An order that finds nothing to do is followed by an idle all the same: the harness waits for it.
func TestIdleFollowsEveryOrderThatMayGiveWork(t *testing.T) {
	p := drive(t, kit.Adapter{Call: func(context.Context, *kit.Call) kit.Claim { return kit.Done() }}, bench.Knobs{})
	p.send(0, turn(0))
	p.expect("ack", "finished", "idle")
	p.send(0, turn(1))
	p.expect("ack", "claim:done", "finished", "idle")
	p.send(0, bench.Order{Type: "cancel", Cancel: &bench.CallRef{Turn: "t1", Ordinal: 1}})
	p.expect("ack", "finished", "idle")
	p.send(0, bench.Order{Type: "decide", Decide: &bench.DecideOrder{Turn: "t1", Ordinal: 1, Decision: bench.Withdrawn}})
	p.expect("ack", "finished", "idle")
	p.send(0, bench.Order{Type: "event", Event: &bench.EventOrder{Kind: "charge.succeeded"}})
	p.expect("ack", "finished", "idle")
}

func TestAskIsAnsweredByADecision(t *testing.T) {
	p := drive(t, kit.Adapter{Call: func(ctx context.Context, c *kit.Call) kit.Claim {
		decision, err := c.Ask(ctx, "really?")
		if err != nil || decision != bench.Denied {
			return kit.Unknown(fmt.Sprint(decision, err))
		}
		return kit.Failed("denied")
	}}, bench.Knobs{})
	p.send(0, turn(1))
	p.expect("ack", "ask")
	p.send(0, bench.Order{Type: "decide", Decide: &bench.DecideOrder{Turn: "t1", Ordinal: 1, Decision: bench.Denied}})
	p.expect("ack", "claim:failed", "finished", "idle")
}

func TestEventsStandStillUntilProceed(t *testing.T) {
	p := drive(t, kit.Adapter{Call: func(_ context.Context, c *kit.Call) kit.Claim {
		c.At("dispatching", "")
		return kit.Done()
	}}, bench.Knobs{Events: true})
	p.send(0, turn(1))
	p.expect("ack", "at:dispatching")
	p.send(0, bench.Order{Type: "proceed", Proceed: &bench.ProceedOrder{Event: "dispatching"}})
	p.expect("ack", "claim:done", "finished", "idle")
}

func TestResetEndsWhatIsOpen(t *testing.T) {
	closed := make(chan struct{}, 2)
	p := drive(t, kit.Adapter{Call: func(ctx context.Context, c *kit.Call) kit.Claim {
		<-ctx.Done()
		return kit.Unknown("too late to say so")
	}, Close: func(*kit.Trial) { closed <- struct{}{} }}, bench.Knobs{})
	p.send(0, turn(3))
	p.expect("ack")
	p.send(0, bench.Order{Type: "reset"})
	p.expect("ack")
	<-closed
	p.seq = 0
	p.send(0, bench.Order{Type: "start", Start: &bench.StartOrder{Wire: bench.WireVersion}})
	p.expect("started", "ack")
}

func TestOrdersThatAreNotKnownEndTheProcess(t *testing.T) {
	for _, test := range []struct{ order, says string }{
		{`{"type":"turn","seq":1,"now":"2026-01-05T09:00:00Z"}`, "order 1 (turn) before start"},
		{`{"type":"start","seq":1,"now":"nine","start":{"wire":1}}`, `now is "nine", expected a time by RFC 3339`},
		{`{"type":"start","seq":1,"now":"2026-01-05T09:00:00Z","start":{"wire":9}}`, "wire version is 9, expected 1"},
		{`start`, "invalid character"},
	} {
		var out, diagnostics bytes.Buffer
		status := kit.Main(kit.Adapter{}, strings.NewReader(test.order+"\n"), &out, &diagnostics)
		if status != 1 || !strings.Contains(diagnostics.String(), test.says) || !strings.Contains(out.String(), `"type":"error"`) {
			t.Errorf("%s: status %d, %q, %q; expected 1 and ...%q", test.order, status, diagnostics.String(), out.String(), test.says)
		}
	}
}
