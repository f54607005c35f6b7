// Package python_test holds the Python kit against orders, as a child process.
package python_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// python is the interpreter of the tests' own .venv, else the one in PATH.
func python(t *testing.T, modules ...string) string {
	t.Helper()
	exe, err := filepath.Abs("test/.venv/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(exe); err != nil {
		if len(modules) > 0 {
			t.Skip("python modules " + strings.Join(modules, ", ") + " are not here: cd systems/kit/python/test && sh ../setup.sh")
		}
		if exe, err = exec.LookPath("python3"); err != nil {
			t.Skip("python3 is not in PATH: apt-get install -y python3 python3-venv")
		}
	}
	return exe
}

// peer is the harness's side of an adapter.
type peer struct {
	t      *testing.T
	orders io.Writer
	words  *bufio.Scanner
	seq    int
}

func drive(t *testing.T, knobs bench.Knobs, tool bench.OfferedTool, args ...string) *peer {
	t.Helper()
	cmd := exec.Command(python(t), append([]string{"testdata/adapter.py"}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH=.", "PYTHONDONTWRITEBYTECODE=1")
	cmd.Stderr = t.Output()
	orders, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	words, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, orders: orders, words: bufio.NewScanner(words)}
	deadline := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() }) // it only bounds failure
	t.Cleanup(func() {
		orders.Close()
		for p.words.Scan() {
		}
		deadline.Stop()
		if err := cmd.Wait(); err != nil && !t.Failed() {
			t.Errorf("the adapter ended with %v, expected status 0 at the end of its orders", err)
		}
	})
	var tools []bench.OfferedTool
	for _, name := range []string{"sleep", "raise", "post", "retry"} {
		tool.Name = name
		tools = append(tools, tool)
	}
	p.send(0, bench.Order{Type: "start", Start: &bench.StartOrder{Wire: bench.WireVersion, Knobs: knobs, Tools: tools}})
	p.expect("started", "ack 1")
	return p
}

// send writes an order at a virtual time, in seconds after the epoch.
func (p *peer) send(at float64, o bench.Order) {
	p.t.Helper()
	p.seq++
	o.Seq, o.Now = p.seq, bench.Epoch.Add(time.Duration(at*float64(time.Second))).Format(time.RFC3339Nano)
	text, err := json.Marshal(o)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.orders.Write(append(text, '\n')); err != nil {
		p.t.Fatal(err)
	}
}

// expect reads as many words as are named and compares them, as words prints them.
func (p *peer) expect(want ...string) (last bench.Word) {
	p.t.Helper()
	for _, word := range want {
		last = bench.Word{}
		if !p.words.Scan() {
			p.t.Fatalf("the words ended, expected %s", word)
		}
		if err := json.Unmarshal(p.words.Bytes(), &last); err != nil {
			p.t.Fatalf("%s: %v", p.words.Bytes(), err)
		}
		got := last.Type
		switch last.Type {
		case "ack", "idle":
			got += fmt.Sprint(" ", last.Seq)
		case "claim":
			got += fmt.Sprint(" ", last.Ordinal, " ", last.Outcome)
		case "wait":
			got += " " + strings.TrimPrefix(last.Until, "2026-01-05T") + " " + last.Why
		case "finished":
			got += fmt.Sprint(" ", last.Escalations)
		}
		if got != word {
			p.t.Fatalf("got %q, expected %q (%s)", got, word, p.words.Bytes())
		}
	}
	return last
}

func turn(tools ...string) bench.Order {
	o := &bench.TurnOrder{ID: "t1"}
	for i, tool := range tools {
		o.Calls = append(o.Calls, bench.GivenCall{Ordinal: i + 1, ID: fmt.Sprint("call-", i+1), Tool: tool})
	}
	return bench.Order{Type: "turn", Turn: o}
}

func cancel(ordinal int) bench.Order {
	return bench.Order{Type: "cancel", Cancel: &bench.CallRef{Turn: "t1", Ordinal: ordinal}}
}

var clock = bench.Order{Type: "clock"}

// held is a tool that holds every call: came says that one came, and gone that its caller left. A value
// sent on answer is the answer of the one that is held.
type held struct {
	tool   bench.OfferedTool
	came   chan string
	gone   chan struct{}
	answer chan string
}

func hold(t *testing.T) held {
	h := held{came: make(chan string, 10), gone: make(chan struct{}, 10), answer: make(chan string)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // the whole request, or what there is of it
		h.came <- string(body)
		select {
		case <-r.Context().Done():
			h.gone <- struct{}{}
		case text := <-h.answer:
			if text == "" {
				panic(http.ErrAbortHandler) // the answer is lost
			}
			io.WriteString(w, text)
		}
	}))
	t.Cleanup(server.Close)
	h.tool = bench.OfferedTool{Address: server.URL, Transport: bench.TransportJSON, Contract: bench.OfferedContract{ErrorsTyped: true}}
	return h
}

func TestSleepIsAWait(t *testing.T) {
	for _, how := range []string{"sync", "async"} {
		t.Run(how, func(t *testing.T) {
			p := drive(t, bench.Knobs{}, bench.OfferedTool{}, how)
			p.send(1, turn("sleep", "sleep"))
			p.expect("ack 2", "wait 09:01:31Z back-off")
			p.send(91, clock)
			p.expect("ack 3", "wait  back-off", "claim 1 done", "wait 09:03:01Z back-off")
			p.send(181, clock)
			claim := p.expect("ack 4", "wait  back-off", "claim 2 done")
			if how == "sync" && strings.Join(claim.Receipts, " ") != "True True" {
				t.Errorf("time.monotonic and time.time passed the sleep: %v, expected both", claim.Receipts)
			}
			p.expect("finished 0", "idle 4")
		})
	}
}

func TestTimeOutOfASocketIsAWait(t *testing.T) {
	for _, how := range []string{"sync", "async"} {
		t.Run(how, func(t *testing.T) {
			h := hold(t)
			p := drive(t, bench.Knobs{CallTimeoutMS: 2500}, h.tool, how)
			p.send(0, turn("post", "post"))
			p.expect("ack 2", "wait 09:00:02.5Z time-out")
			<-h.came
			h.answer <- `{"status":"done","receipts":["re_1"]}`
			if claim := p.expect("wait  time-out", "claim 1 done"); strings.Join(claim.Receipts, " ") != "re_1" {
				t.Errorf("receipts %v, expected re_1", claim.Receipts)
			}
			p.expect("wait 09:00:02.5Z time-out")
			<-h.came
			p.send(2.5, clock)
			p.expect("ack 3", "wait  time-out", "claim 2 unknown", "finished 1", "idle 3")
			<-h.gone
		})
	}
}

func TestCancelDisconnectsAndIsNotRetried(t *testing.T) {
	for _, test := range []struct{ how, tool string }{{"sync", "retry"}, {"async", "post"}} {
		t.Run(test.how, func(t *testing.T) {
			h := hold(t)
			p := drive(t, bench.Knobs{}, h.tool, test.how)
			p.send(0, turn(test.tool, test.tool))
			p.expect("ack 2")
			<-h.came
			p.send(0, cancel(2)) // it has not begun: nothing of it is sent
			p.expect("ack 3")
			p.send(0, cancel(1))
			p.expect("ack 4", "claim 1 unknown", "claim 2 failed", "finished 1", "idle 4")
			<-h.gone
			if len(h.came) > 0 {
				t.Errorf("another request came: %s", <-h.came)
			}
		})
	}
}

func TestWithdrawnEndsABackOff(t *testing.T) {
	h := hold(t)
	p := drive(t, bench.Knobs{}, h.tool)
	p.send(0, turn("retry"))
	p.expect("ack 2")
	<-h.came
	h.answer <- ""
	p.expect("wait 09:00:10Z back-off")
	p.send(0, bench.Order{Type: "decide", Decide: &bench.DecideOrder{Turn: "t1", Ordinal: 1, Decision: bench.Withdrawn}})
	p.expect("ack 3", "wait  back-off", "claim 1 unknown", "finished 1", "idle 3")
}

func TestRefusedDialIsProofOnlyIfNothingWasSent(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close() // its address refuses connections
	nobody := bench.OfferedTool{Address: "http://" + closed.Addr().String(), Transport: bench.TransportJSON}
	p := drive(t, bench.Knobs{}, nobody)
	p.send(0, turn("post"))
	p.expect("ack 2", "claim 1 failed", "finished 0", "idle 2")
	again := turn("post")
	again.Turn.Redelivered = true // an earlier process may have sent it
	p.send(0, again)
	p.expect("ack 3", "claim 1 unknown", "finished 1", "idle 3")
}

func TestRepairsAndRaisedErrors(t *testing.T) {
	h := hold(t)
	p := drive(t, bench.Knobs{}, h.tool)
	p.send(0, turn("raise"))
	claim := p.expect("ack 2", "claim 1 unknown")
	if !strings.Contains(claim.Detail, "KeyError: 'nothing'") {
		t.Errorf("detail is %q, expected the error", claim.Detail)
	}
	p.expect("finished 1", "idle 2")
	p.send(0, bench.Order{Type: "repair", Repair: &bench.RepairOrder{Turn: "t1", Ordinal: 1, Call: bench.GivenCall{ID: "call-9", Tool: "post"}}})
	p.expect("ack 3")
	if body := <-h.came; !strings.Contains(body, `"call_id": "call-9"`) {
		t.Errorf("the repair sent %s, expected its own call id", body)
	}
	h.answer <- `{"status":"not_executed","message":"no"}`
	p.expect("claim 1 failed", "finished 0", "idle 3")
}

func TestResetClosesATrial(t *testing.T) {
	h := hold(t)
	p := drive(t, bench.Knobs{}, h.tool)
	p.send(0, turn("post"))
	p.expect("ack 2")
	<-h.came
	p.send(0, bench.Order{Type: "reset"})
	p.expect("ack 3")
	<-h.gone
	p.seq = 0
	p.send(0, bench.Order{Type: "start", Start: &bench.StartOrder{Wire: bench.WireVersion, Tools: []bench.OfferedTool{{Name: "sleep"}}}})
	p.expect("started", "ack 1")
	p.send(0, turn("sleep"))
	p.expect("ack 2", "wait 09:01:30Z back-off")
}

func TestToolsOverMCP(t *testing.T) {
	const result = `{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"status":"done","receipts":["re_1"]}}}`
	for _, test := range []struct{ name, answer, outcome string }{
		{"event", "event: message\ndata: " + result + "\n\n", "done"},
		{"json", result, "done"},
		{"cut inside the event", "event: message\ndata: " + result[:60], "unknown"},
		{"before the event", "", "unknown"},
		{"error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}`, "unknown"},
		{"is error", `{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":"failed"}]}}`, "unknown"},
		{"refused", `{"jsonrpc":"2.0","id":1,"result":{"isError":true,"structuredContent":{"status":"refused"}}}`, "failed"},
		{"partial", `{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"status":"partial","receipts":["a"]}}}`, "partial"},
		{"conflict", `{"jsonrpc":"2.0","id":1,"result":{"isError":true,"structuredContent":{"status":"conflict","receipts":["a"]}}}`, "unknown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := hold(t)
			h.tool.Transport = bench.TransportMCP
			p := drive(t, bench.Knobs{}, h.tool)
			p.send(0, turn("post"))
			p.expect("ack 2")
			if body := <-h.came; !strings.Contains(body, `"sixthcopy/call_id": "call-1"`) {
				t.Errorf("the request is %s, expected the call id in _meta", body)
			}
			h.answer <- test.answer
			p.expect("claim 1 " + test.outcome)
		})
	}
}

// TestTypes: an adapter's author gets what the kit's types promise.
func TestTypes(t *testing.T) {
	cmd := exec.Command(python(t, "mypy"), "-m", "mypy", "--strict", "--cache-dir="+t.TempDir(), "sixthcopy_kit")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("mypy --strict: %v\n%s", err, out)
	}
}
