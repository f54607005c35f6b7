package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/systems/kit"
)

// This file is an adapter that keeps the wire contract, with faults that can be planted in it, one at a time;
// the test binary runs itself as it. What is wrong with it is in three places: what it makes of a call
// (plant.call), of what it hears (plant.hear), and of what it says (plant.say).
type plant struct {
	how string

	inCall sync.Mutex
	mu     sync.Mutex
	kept   string      // a line that is said later
	first  *kit.Call   // of the first trial
	said   kit.Claim   // of it
	start  bench.Order // last heard
}

// plantedAdapter is the adapter's process.
func plantedAdapter(how string) int {
	p := &plant{how: how}
	adapter := kit.Adapter{
		Versions: map[string]string{"planted": "1"},
		Can:      []string{"at", "timeout", "wait"},
		Open: func(t *kit.Trial) error {
			t.Value = &http.Client{Transport: t.Timeout(t.Transport(&http.Transport{}), 0)}
			switch p.how {
			case "strays":
				return stray("sleep", "300").Start()
			case "strays-at-once": // its parent is gone before anybody looks
				return stray("sh", "-c", "sleep 300 & true").Run()
			}
			return nil
		},
		Call:   func(ctx context.Context, c *kit.Call) kit.Claim { return p.call(ctx, c) },
		Decide: func(context.Context, *kit.Call, bench.Decision) kit.Claim { return kit.Claim{} },
		Event:  func(context.Context, *kit.Trial, bench.EventOrder) {},
	}
	in, heard := io.Pipe()
	go func() {
		orders := bufio.NewScanner(os.Stdin)
		orders.Buffer(nil, 16<<20)
		for orders.Scan() {
			if line := p.hear(orders.Text()); line != "" {
				io.WriteString(heard, line+"\n")
			}
		}
		heard.Close()
	}()
	return kit.Main(adapter, in, writes(p.say), os.Stderr)
}

// writes is a writer of whole lines.
type writes func(line string) []string

func (f writes) Write(line []byte) (int, error) {
	for _, l := range f(string(bytes.TrimSpace(line))) {
		if _, err := io.WriteString(os.Stdout, l+"\n"); err != nil {
			return 0, err
		}
	}
	return len(line), nil
}

// stray is a process that no kill of the group reaches, and that carries no mark.
func stray(command ...string) *exec.Cmd {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// tries is how often a call is sent.
const tries = 3

// call posts a call, three times at most.
func (p *plant) call(ctx context.Context, c *kit.Call) (claim kit.Claim) {
	p.inCall.Lock()
	defer p.inCall.Unlock()
	tool, _ := c.Tool() // a call is of a tool that is offered, or Request says so
	switch {
	case p.how == "silent", p.how == "unrepaired" && c.Repair, p.how == "not-redelivered" && c.Redelivered:
		<-make(chan struct{})
	case p.how == "json-only" && tool.Transport != bench.TransportJSON:
		return kit.Failed("it speaks JSON only")
	case p.how == "uncancelled":
		ctx = context.WithoutCancel(ctx)
	case p.how == "remembers" && p.first != nil:
		return p.said
	case p.how == "old-address" && p.first != nil:
		c.Trial.Start.Tools = p.first.Trial.Start.Tools
	}
	budget := tries
	if c.Trial.Start.Knobs.Recovery == "model" && p.how != "resends" {
		budget = 1
	}
	for n := 1; ; n++ {
		request, err := c.Request(ctx, c.Given.ID)
		if err != nil {
			return kit.Failed(err.Error())
		}
		p.at(c, "dispatching")
		claim = c.Read(c.Trial.Value.(*http.Client).Do(request))
		if p.first == nil {
			p.first, p.said = c, claim
		}
		if claim.Outcome != bench.Unknown || n == budget || ctx.Err() != nil && (p.how != "goes-on" || errors.Is(context.Cause(ctx), kit.ErrCancelled)) {
			break
		}
		switch p.how {
		case "sleeps":
			time.Sleep(600 * time.Millisecond)
		case "sleeps-long":
			time.Sleep(time.Hour)
		case "goes-on":
			if errors.Is(context.Cause(ctx), kit.ErrWithdrawn) {
				ctx = context.WithoutCancel(ctx)
			}
			fallthrough
		default:
			_ = c.Wait(ctx, c.Now().Add(time.Second), "back-off") // at its end, the next request ends too
		}
	}
	p.at(c, "result-delivered")
	if p.how == "no-receipts" {
		claim.Receipts = nil
	}
	if p.how == "old-receipts" {
		claim.Receipts = p.said.Receipts
	}
	return claim
}

func (p *plant) at(c *kit.Call, event string) {
	if p.how != "no-at" {
		c.At(event, "")
	}
}

// hear is told of an order before the kit is; it returns what the kit hears.
func (p *plant) hear(line string) string {
	var o bench.Order
	if json.Unmarshal([]byte(line), &o) != nil {
		os.Exit(3)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if o.Start != nil {
		p.start = o
		if p.how == "keeps-connections" {
			return strings.Replace(line, `"fresh_connections":true`, `"fresh_connections":false`, 1)
		}
	}
	switch {
	case p.how == "exits" && o.Type == "turn", p.how == "strict" && strings.Contains(line, "of_a_later_version"):
		os.Exit(7)
	case p.how == "deaf-in-call" && o.Type == "clock":
		p.inCall.Lock()
		defer p.inCall.Unlock()
	case p.how == "unreset" && o.Type == "reset":
		return ""
	case p.how == "dies-at-reset" && o.Type == "reset":
		io.WriteString(os.Stdout, `{"type":"ack","seq":`+string(mustJSON(o.Seq))+"}\n")
		os.Exit(0)
	}
	return line
}

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// say is told of a word before the harness is; it returns what the harness hears.
func (p *plant) say(line string) []string {
	var w bench.Word
	if json.Unmarshal([]byte(line), &w) != nil {
		os.Exit(3)
	}
	is := func(how, kind string) bool { return p.how == how && w.Type == kind }
	swap := func(old, new string) []string { return []string{strings.ReplaceAll(line, old, new)} }
	switch {
	case is("unacked", "ack"), is("no-claim", "claim"), is("no-idle", "idle"),
		is("one-call", "claim") && w.Ordinal == 2, is("untimed", "wait") && w.Why == "time-out":
		return nil
	case is("prints", "started"):
		return []string{"Loading model...", line}
	case is("old-wire", "started"):
		return swap(`"wire":1`, `"wire":7`)
	case is("unknown-field", "started"):
		return swap(`"can"`, `"abilities"`)
	case is("less-than-listed", "started"):
		return swap(`"repair",`, "")
	case is("late-ack", "ack") && w.Seq == 2:
		p.kept = line
		return nil
	case p.how == "late-ack" && p.kept != "":
		first := p.kept
		p.kept = ""
		return []string{first, line}
	case is("strange-call", "claim"):
		return swap(`"call":1`, `"call":7`)
	case is("claims-twice", "claim"):
		return []string{line, line}
	case is("made-up-receipts", "claim"):
		return swap(`"receipts":["re_`, `"receipts":["re_none`)
	case is("at-unasked", "claim") && !p.start.Start.Knobs.Events:
		return []string{`{"type":"at","event":"state-written"}`, line}
	case is("waits-on", "claim"):
		return []string{`{"type":"wait","turn":"t1","call":1,"until":"2026-01-05T10:00:00Z","why":"time-out"}`, line}
	case is("idle-each", "claim"):
		return []string{line, `{"type":"idle","seq":2}`}
	case is("failed-if-lost", "claim"):
		return swap(`"outcome":"unknown"`, `"outcome":"failed"`)
	case is("done-anyway", "claim"):
		return swap(`"outcome":"failed"`, `"outcome":"done"`)
	case is("blind-to-status", "claim") && strings.Contains(line, "HTTP 422"):
		return swap(`"outcome":"failed"`, `"outcome":"done"`)
	case is("early-time-out", "wait") && w.Why == "time-out":
		return swap("09:00:02Z", "09:00:00.5Z")
	case is("at-runs-on", "at") && w.Event == "result-delivered":
		return []string{line, `{"type":"claim","turn":"t1","call":1,"outcome":"unknown"}`}
	}
	return []string{line}
}

// plantedAt lists the faults, with the check that finds each and part of what it says. "" is the sound adapter.
var plantedAt = map[string][2]string{
	"prints":            {"start", `"Loading model...": not JSON`},
	"old-wire":          {"start", "it speaks version 7"},
	"unknown-field":     {"start", `unknown field "abilities"`},
	"unacked":           {"start", "no acknowledgement of order 1"},
	"exits":             {"turn", "exit status 7"},
	"late-ack":          {"acknowledged at once", "no acknowledgement of order 2 (turn)"},
	"no-claim":          {"turn", "`idle` before the claim on turn t1 call 1"},
	"no-idle":           {"turn", "no `idle` within"},
	"silent":            {"turn", "no claim on turn t1 call 1 within"},
	"strange-call":      {"turn", `a claim on turn "t1" call 7, which it was not given`},
	"claims-twice":      {"turn", "a second claim on turn t1 call 1"},
	"no-receipts":       {"turn", "`done` without receipts"},
	"made-up-receipts":  {"turn", `a receipt "re_none`},
	"at-unasked":        {"turn", "`at` without the knob `events`"},
	"waits-on":          {"turn", "it is idle, and still waits: time-out (turn t1 call 1)"},
	"less-than-listed":  {"abilities", `the manifest lists the ability "repair"`},
	"deaf-in-call":      {"acknowledged at once", "no acknowledgement of order 3 (clock)"},
	"strict":            {"unknown fields", "exit status 7"},
	"json-only":         {"over mcp", "nothing was sent to the address that `start` gave"},
	"one-call":          {"two calls", "`idle` before the claim on turn t1 call 2"},
	"idle-each":         {"two calls", "`idle` before the claim on turn t1 call 2"},
	"failed-if-lost":    {"answer lost always", "`failed`, though it happened"},
	"sleeps":            {"answer lost once", "in real time, after: call lost"},
	"sleeps-long":       {"answer lost once", "it sleeps in real time, or hangs"},
	"done-anyway":       {"dial refused", "`done` of a call whose connection was refused"},
	"blind-to-status":   {"refusal", "`done` of a call that was refused"},
	"keeps-connections": {"fresh connections", "calls 1 and 2 came over one connection"},
	"uncancelled":       {"cancel", "the call's connection stays open"},
	"untimed":           {"time-out", "no `wait` with why `time-out`"},
	"early-time-out":    {"time-out", "a time-out at 2026-01-05T09:00:00.5Z"},
	"unrepaired":        {"repair", "no claim on turn t1 call 1 within"},
	"resends":           {"recovery by the model", "3 calls were sent"},
	"goes-on":           {"decide", "after the goal was withdrawn"},
	"no-at":             {"at and proceed", "no `at` in a whole turn"},
	"at-runs-on":        {"at and proceed", "it went on after `at` result-delivered"},
	"not-redelivered":   {"kill and restart", "no claim on turn t1 call 1 within"},
	"strays":            {"kill and restart", "has outlived the kill"},
	"unreset":           {"next trial", "`reset` was not acknowledged"},
	"dies-at-reset":     {"next trial", "the process ended after its `reset`"},
	"old-address":       {"next trial", "sent to the address of the first"},
	"remembers":         {"next trial", "answered from what was left of the first"},
	"old-receipts":      {"refusal", "that does not exist"},
	"strays-at-once":    {"nothing left", "has outlived the kill of the system"},
}

// plantedFaults are their names, sorted.
func plantedFaults() []string {
	var names []string
	for name := range plantedAt {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
