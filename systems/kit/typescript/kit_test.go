package typescript_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// node is a Node that runs the kit: the one in PATH, or that of the conformance clients.
func node(t testing.TB) string {
	t.Helper()
	if path, err := exec.LookPath("node"); err == nil {
		return path
	}
	path, err := filepath.Abs("../../../.cache/clients/node/node")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("no node in PATH: apt-get install -y nodejs, or make clients")
	}
	return path
}

// child is the test's adapter, and the harness's side of it.
type child struct {
	t      testing.TB
	cmd    *exec.Cmd
	orders io.WriteCloser
	words  *bufio.Scanner
	stderr *bytes.Buffer
	seq    int
	tools  []bench.OfferedTool
}

func raise(t testing.TB, args ...string) *child {
	t.Helper()
	c := &child{t: t, stderr: &bytes.Buffer{}}
	c.cmd = exec.Command(node(t), append([]string{"testdata/adapter.js"}, args...)...)
	c.cmd.Stderr = c.stderr
	var err error
	if c.orders, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.words = bufio.NewScanner(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.orders.Close()
		for c.words.Scan() {
		}
		c.cmd.Wait()
	})
	return c
}

// start opens a trial.
func (c *child) start(knobs bench.Knobs) {
	c.t.Helper()
	c.seq = 0
	c.send(0, bench.Order{Type: "start", Start: &bench.StartOrder{Wire: bench.WireVersion, Knobs: knobs, Tools: c.tools}})
	c.expect("started", "ack")
}

// send writes an order at a virtual time, in seconds after the epoch.
func (c *child) send(at int, o bench.Order) {
	c.t.Helper()
	c.seq++
	o.Seq, o.Now = c.seq, bench.Epoch.Add(time.Duration(at)*time.Second).Format(time.RFC3339Nano)
	text, err := json.Marshal(o)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.orders.Write(append(text, '\n')); err != nil {
		c.t.Fatal(err)
	}
}

func (c *child) turn(tools ...string) {
	c.t.Helper()
	o := &bench.TurnOrder{ID: "t1"}
	for i, tool := range tools {
		o.Calls = append(o.Calls, bench.GivenCall{Ordinal: i + 1, ID: fmt.Sprint("call-", i+1), Tool: tool, Args: map[string]any{"amount": 2500}})
	}
	c.send(0, bench.Order{Type: "turn", Turn: o})
	c.expect("ack")
}

// expect reads as many words as are named and compares: TYPE, claim:OUTCOME, at:EVENT, wait:UNTIL:WHY. It
// returns the last.
func (c *child) expect(want ...string) bench.Word {
	c.t.Helper()
	var w bench.Word
	for _, word := range want {
		if !c.words.Scan() {
			c.t.Fatalf("the words ended, expected %s; stderr: %s", word, c.stderr)
		}
		w = bench.Word{}
		if err := json.Unmarshal(c.words.Bytes(), &w); err != nil {
			c.t.Fatalf("%v: %s", err, c.words.Bytes())
		}
		got := w.Type
		if more := w.Outcome + w.Event; more != "" {
			got += ":" + more
		}
		if w.Type == "wait" {
			got += ":" + strings.TrimPrefix(w.Until, "2026-01-05T") + ":" + w.Why
		}
		if got != word {
			c.t.Fatalf("got %s, expected %s (%s)", got, word, c.words.Bytes())
		}
	}
	return w
}

// clock moves virtual time.
func (c *child) clock(at int) {
	c.t.Helper()
	c.send(at, bench.Order{Type: "clock"})
	c.expect("ack")
}

func (c *child) claims(outcome string, receipts ...string) bench.Word {
	c.t.Helper()
	w := c.expect("claim:" + outcome)
	if fmt.Sprint(w.Receipts) != fmt.Sprint(receipts) {
		c.t.Fatalf("receipts %q, expected %q", w.Receipts, receipts)
	}
	return w
}

func TestTimersOfALibraryRunOnVirtualTime(t *testing.T) {
	c := raise(t)
	c.start(bench.Knobs{})
	c.turn("wait", "timers", "cleared")
	c.expect("wait:09:00:05.000Z:look-up lag")
	c.clock(4)
	c.clock(5)
	c.claims("done", "2026-01-05T09:00:05.000Z")
	c.expect("wait:09:00:08.000Z:back-off")
	c.clock(8)
	c.expect("wait:09:00:10.000Z:back-off")
	c.clock(10)
	c.expect("wait:09:00:11.000Z:back-off")
	c.clock(11)
	c.expect("wait:09:00:15.000Z:back-off")
	c.clock(15)
	w := c.expect("claim:done")
	if got := strings.Join(w.Receipts, "; "); got != "2026-01-05T09:00:08.000Z; 2026-01-05T09:00:10.000Z; 2026; TimeoutError" {
		t.Errorf("dates %s", got)
	}
	c.expect("wait:09:00:24.000Z:back-off")
	c.clock(24)
	c.claims("done", "AbortError")
	c.expect("finished", "idle")
}

func TestAskAtAndDecide(t *testing.T) {
	c := raise(t)
	c.start(bench.Knobs{Events: true})
	c.turn("ask", "at", "stands", "stands")
	c.expect("ask")
	c.send(0, bench.Order{Type: "decide", Decide: &bench.DecideOrder{Turn: "t1", Ordinal: 1, Decision: bench.Denied}})
	c.expect("ack", "claim:failed", "at:dispatching")
	c.send(0, bench.Order{Type: "proceed", Proceed: &bench.ProceedOrder{Event: "dispatching"}})
	c.expect("ack", "claim:done")
	c.send(0, bench.Order{Type: "decide", Decide: &bench.DecideOrder{Turn: "t1", Ordinal: 4, Decision: bench.Withdrawn}})
	c.expect("ack") // the fourth is stopped before it begins
	c.send(0, bench.Order{Type: "cancel", Cancel: &bench.CallRef{Turn: "t1", Ordinal: 3}})
	c.expect("ack", "claim:unknown", "claim:failed", "finished", "idle")
	c.send(0, bench.Order{Type: "cancel", Cancel: &bench.CallRef{Turn: "t1", Ordinal: 3}})
	c.expect("ack", "finished", "idle") // nothing to do, and an idle all the same
}

func TestWhatALibraryPrintsIsNoWord(t *testing.T) {
	c := raise(t)
	c.start(bench.Knobs{})
	c.turn("prints", "throws")
	c.expect("claim:done", "error", "claim:unknown", "finished", "idle")
	c.send(0, bench.Order{Type: "reset"})
	c.expect("ack")
	c.orders.Close()
	if err := c.cmd.Wait(); err != nil || !strings.Contains(c.stderr.String(), "a line of a library") {
		t.Errorf("%v, stderr %q", err, c.stderr)
	}
}

// A process whose library has come to rest takes the next trial. One with a call that never returns does not.
func TestReset(t *testing.T) {
	c := raise(t)
	for range 2 {
		c.start(bench.Knobs{})
		c.turn("wait")
		c.expect("wait:09:00:05.000Z:look-up lag")
		c.clock(5)
		c.expect("claim:done", "finished", "idle")
		c.send(0, bench.Order{Type: "reset"})
		c.expect("ack")
	}
	c.start(bench.Knobs{})
	c.turn("never")
	c.send(0, bench.Order{Type: "reset"})
	if c.words.Scan() {
		t.Errorf("got %s, expected the end of the process", c.words.Bytes())
	}
}

func TestOrdersThatAreNotKnownEndTheProcess(t *testing.T) {
	for _, test := range []struct{ order, says string }{
		{`{"type":"turn","seq":1,"now":"2026-01-05T09:00:00Z"}`, "order 1 (turn) before start"},
		{`{"type":"start","seq":1,"now":"nine","start":{"wire":1}}`, `now is "nine", expected a time by RFC 3339`},
		{`{"type":"start","seq":1,"now":"2026-01-05T09:00:00Z","start":{"wire":9}}`, "wire version is 9, expected 1"},
		{`start`, "order start: SyntaxError"},
	} {
		c := raise(t)
		fmt.Fprintln(c.orders, test.order)
		if w := c.expect("error"); !strings.Contains(w.Detail, test.says) {
			t.Errorf("%s: %q, expected ...%q", test.order, w.Detail, test.says)
		}
		if err := c.cmd.Wait(); err == nil {
			t.Errorf("%s: ended with status 0, expected 1", test.order)
		}
	}
}
