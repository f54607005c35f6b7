package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/sixthcopy/sixthcopy/bench"
)

// This file is the systems that misbehave, each in one way; the test binary runs itself as one of them.

// misbehaviours are their names, with the reason that ends their control run: "" if it goes to its end.
var misbehaviours = map[string]string{
	"rubbish":      "printed a line that is not protocol",
	"deaf":         "hung",
	"mute":         "hung",
	"never-claims": "",
	"never-idle":   "hung",
	"floods-line":  "printed a line that is not protocol",
	"floods-words": "flood",
	"floods-log":   "",
	"exits":        "exited",
	"exits-late":   "exited",
	"forks":        "",
	"forks-exits":  "exited",
	"strange-call": "broke the contract",
	"strange-turn": "broke the contract",
	"at-unasked":   "broke the contract",
	"waits-ever":   "endless",
	"waits-again":  "endless",
	"waits-out":    "hung",
	"claims-twice": "",
	"old-wire":     "wire version",
	"calls-on":     "endless",
	"no-such-file": "did not start",
}

// wild is a system that misbehaves: what it hears and says.
type wild struct {
	orders *bufio.Scanner
	start  bench.Order
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// serve acknowledges what comes and acts on turns.
func (w *wild) serve(onTurn, onClock func(bench.Order)) {
	for w.orders.Scan() {
		var o bench.Order
		if json.Unmarshal(w.orders.Bytes(), &o) != nil {
			os.Exit(3)
		}
		say(`{"type":"ack","seq":%d}`, o.Seq)
		switch o.Type {
		case "start":
			w.start = o
			say(`{"type":"started","wire":1}`)
		case "turn":
			onTurn(o)
		case "clock":
			onClock(o)
		}
	}
}

// call makes the call that it was given, over plain JSON, and returns the receipts.
func (w *wild) call(o bench.Order) []string {
	given := o.Turn.Calls[0]
	for _, t := range w.start.Start.Tools {
		if t.Name != given.Tool {
			continue
		}
		body, err := json.Marshal(map[string]any{"arguments": given.Args, "call_id": given.ID})
		if err != nil {
			os.Exit(3)
		}
		answer, err := http.Post(t.Address+"/tools/"+given.Tool, "application/json", bytes.NewReader(body))
		if err != nil {
			return nil
		}
		defer answer.Body.Close()
		var told struct{ Receipts []string }
		_ = json.NewDecoder(answer.Body).Decode(&told) // an answer that was cut has no receipts
		return told.Receipts
	}
	os.Exit(3)
	return nil
}

func claim(o bench.Order, outcome string, receipts []string) {
	list, _ := json.Marshal(append([]string{}, receipts...))
	say(`{"type":"claim","turn":%q,"call":1,"outcome":%q,"receipts":%s}`, o.Turn.ID, outcome, list)
}

func idle() { say(`{"type":"idle"}`) }

// misbehave is the body of the child process.
func misbehave(how string) {
	w := &wild{orders: bufio.NewScanner(os.Stdin)}
	w.orders.Buffer(nil, 1<<20)
	nothing := func(bench.Order) {}
	switch how {
	case "rubbish":
		say("Loading model...")
		w.serve(nothing, nothing)
	case "deaf":
		select {}
	case "mute": // acknowledges the start, and no order after it
		w.orders.Scan()
		say(`{"type":"started","wire":1}`)
		say(`{"type":"ack","seq":1}`)
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "never-claims":
		w.serve(func(o bench.Order) { w.call(o); idle() }, nothing)
	case "never-idle":
		w.serve(func(o bench.Order) { claim(o, "done", w.call(o)) }, nothing)
	case "floods-line":
		flood(os.Stdout)
	case "floods-words":
		w.serve(func(bench.Order) {
			for range 200 {
				say(`{"type":"error","detail":%q}`, strings.Repeat("y", 1<<19))
			}
		}, nothing)
	case "floods-log":
		w.serve(func(o bench.Order) { flood(os.Stderr); claim(o, "done", w.call(o)); idle() }, nothing)
	case "exits":
		fmt.Fprintln(os.Stderr, "no module named langgraph")
		os.Exit(7)
	case "exits-late":
		w.serve(func(o bench.Order) { w.call(o); os.Exit(9) }, nothing)
	case "forks":
		fork()
		w.serve(func(o bench.Order) { claim(o, "done", w.call(o)); idle() }, nothing)
	case "forks-exits":
		fork()
		w.serve(func(o bench.Order) { os.Exit(0) }, nothing)
	case "lives-on": // a child of a system, in a session of its own
		select {}
	case "strange-call":
		w.serve(func(o bench.Order) { say(`{"type":"claim","turn":%q,"call":7,"outcome":"done"}`, o.Turn.ID) }, nothing)
	case "strange-turn":
		w.serve(func(bench.Order) { say(`{"type":"claim","turn":"yesterday","call":1,"outcome":"done"}`) }, nothing)
	case "at-unasked":
		w.serve(func(o bench.Order) { say(`{"type":"at","event":"dispatching","turn":%q,"call":1}`, o.Turn.ID) }, nothing)
	case "waits-ever":
		w.serve(func(o bench.Order) {
			say(`{"type":"wait","turn":%q,"call":1,"until":"9999-01-01T00:00:00Z","why":"back-off"}`, o.Turn.ID)
		}, nothing)
	case "waits-again":
		again := func(bench.Order) {
			say(`{"type":"wait","turn":"t1","call":1,"until":"2026-01-05T09:00:01Z","why":"back-off"}`)
		}
		w.serve(again, again)
	case "waits-out": // for a time-out that nobody lets run out
		w.serve(func(o bench.Order) {
			say(`{"type":"wait","turn":%q,"call":1,"until":"2026-01-05T09:00:01Z","why":"time-out"}`, o.Turn.ID)
		}, nothing)
	case "claims-twice":
		w.serve(func(o bench.Order) {
			claim(o, "unknown", nil)
			claim(o, "done", w.call(o))
			idle()
		}, nothing)
	case "old-wire":
		w.orders.Scan()
		say(`{"type":"started","wire":7}`)
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "calls-on":
		w.serve(func(o bench.Order) {
			for {
				w.call(o)
			}
		}, nothing)
	case "tells": // well-behaved; says on a pipe that a trial is under way
		pipe, err := os.OpenFile(os.Args[3], os.O_WRONLY, 0)
		if err != nil {
			os.Exit(5)
		}
		w.serve(func(o bench.Order) {
			fmt.Fprintln(pipe, o.Turn.ID)
			claim(o, "done", w.call(o))
			idle()
		}, nothing)
	case "spoils": // damages the provider's store, which no system should know of: the harness has lost its evidence
		w.serve(func(o bench.Order) {
			w.call(o)
			stores, _ := filepath.Glob(filepath.Join(filepath.Dir(w.start.Start.StateDir), "store", "*")) // the pattern is well formed
			for _, file := range stores {
				_ = os.WriteFile(file, []byte(strings.Repeat("spoilt", 1000)), 0o600)
			}
			claim(o, "done", nil)
			idle()
		}, nothing)
	default:
		fmt.Fprintf(os.Stderr, "misbehave: unknown way %q\n", how)
		os.Exit(64)
	}
}

// flood prints 100 MB without a line end.
func flood(to io.Writer) {
	part := bytes.Repeat([]byte("x"), 1<<20)
	for range 100 {
		if _, err := to.Write(part); err != nil {
			return
		}
	}
}

// fork leaves a child behind that has left the process group, and waits until it runs.
func fork() {
	child := exec.Command(os.Args[0], "misbehave", "lives-on")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		os.Exit(4)
	}
}

// writeSystem writes the manifest of a misbehaving system into dir.
func writeSystem(dir, name, exe string, args ...string) error {
	if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
		return err
	}
	if name == "no-such-file" {
		exe = "/no/such/file"
	}
	command, err := json.Marshal(append([]string{exe, "misbehave", name}, args...)) // JSON is YAML
	if err != nil {
		return err
	}
	can := "turn, clock, cancel, decide, timeout, wait" // most of them lie
	if name == "tells" {
		can = "turn, clock"
	}
	text := fmt.Sprintf("kind: client\nsummary: A system that misbehaves.\nroles: [{name: front, command: %s}]\n"+
		"clock: protocol\nidle: probe\nafter_kill: redeliver\ncan: [%s]\n", command, can)
	return os.WriteFile(filepath.Join(dir, name, "system.yaml"), []byte(text), 0o600)
}
