package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/results/store"
)

// BenchmarkKillAndRestart sets a trial through the whole line (raised, struck, settled, read, condensed,
// judged and taken down) beside the bare loop that it holds, in turns of one run: start the agent, let it
// call, kill it in the call, start it again, let it call again, end it. Both run the same binary. A run
// keeps the agent that is left for its next trial; the cold ratio is that of trials that start and end both
// agents, as the loop does. The quiet ratio is that of the first deciles, which other work on the machine
// disturbs less: a trial has more processes that wait for a turn. The acceptance line is a ratio of the
// medians of at most 3.
func BenchmarkKillAndRestart(b *testing.B) {
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	tool := newPlainTool(b)
	o := runOptions{suite: "full", systems: []string{"blind"}, workloads: []string{"append-line"}, boundaries: []string{"crash-restart"}, repeat: 1, parallel: 1, seed: 1}
	spec, chosen, err := o.spec()
	if err != nil {
		b.Fatal(err)
	}
	plan, err := bench.MakePlan(spec)
	if err != nil {
		b.Fatal(err)
	}
	i := slices.IndexFunc(plan.Trials, func(t bench.Trial) bool { return t.Fault.Variant == "kill/committed" && t.System == "blind" })
	if i < 0 {
		b.Fatal("the plan has no kill/committed of blind")
	}
	w, stop, err := world()
	if err != nil {
		b.Fatal(err)
	}
	defer stop()
	defer closeAll(chosen)
	dir, err := os.MkdirTemp(fastDir(), "sixthcopy-bench-")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	runner := &bench.Runner{World: w, Dir: dir, Deadline: trialDeadline, Replicas: 2}
	whole := func(systems map[string]bench.System) {
		rec := runner.Run(b.Context(), plan.Trials[i], systems["blind"])
		if j := bench.Judge(rec.Evidence); j.Verdict != bench.Violation {
			b.Fatalf("verdict %s (%s), expected a violation: blind appends its line twice", j.Verdict, j.InvalidBecause)
		}
	}
	whole(chosen) // the pools are filled
	var wholes, colds, bares []time.Duration
	one := func() {
		bares = append(bares, timed(func() { killAndRestart(b, exe, tool) }))
		wholes = append(wholes, timed(func() { whole(chosen) }))
		_, own, err := o.spec()
		if err != nil {
			b.Fatal(err)
		}
		colds = append(colds, timed(func() {
			whole(own)
			if err := closeAll(own); err != nil {
				b.Fatal(err)
			}
		}))
	}
	for b.Loop() {
		for range 10 { // of each; fewer make no median
			one()
		}
	}
	b.ReportMetric(milliseconds(quantile(wholes, 5)), "ms-trial-p50")
	b.ReportMetric(milliseconds(quantile(bares, 5)), "ms-bare-p50")
	b.ReportMetric(float64(quantile(wholes, 5))/float64(quantile(bares, 5)), "ratio")
	b.ReportMetric(float64(quantile(colds, 5))/float64(quantile(bares, 5)), "ratio-cold")
	b.ReportMetric(float64(quantile(wholes, 1))/float64(quantile(bares, 1)), "ratio-quiet")
	if _, _, err := runner.Late(context.Background()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRetention sets a trial in which virtual time passes the retention of a key beside the same trial
// without the pause, in turns of one run: the answer is lost after the commit, and a system without keys sends
// again. The acceptance line is a ratio of the medians of at most 1.2, for a day and for thirty days.
func BenchmarkRetention(b *testing.B) {
	for _, c := range []struct{ name, workload string }{{"day", "refund"}, {"month", "outbound-payment"}} {
		b.Run(c.name, func(b *testing.B) {
			o := runOptions{suite: "full", systems: []string{"blind"}, workloads: []string{c.workload},
				boundaries: []string{"committed-before-response", "token-expired"}, repeat: 1, parallel: 1, seed: 1}
			spec, chosen, err := o.spec()
			if err != nil {
				b.Fatal(err)
			}
			plan, err := bench.MakePlan(spec)
			if err != nil {
				b.Fatal(err)
			}
			pick := func(boundary bench.Boundary, variant string) bench.Trial {
				i := slices.IndexFunc(plan.Trials, func(t bench.Trial) bool {
					return t.Fault.Boundary == boundary && t.Fault.Variant == variant && t.System == "blind"
				})
				if i < 0 {
					b.Fatalf("the plan has no %s %s of blind", boundary, variant)
				}
				return plan.Trials[i]
			}
			paused, plain := pick(bench.TokenExpired, "just-past"), pick(bench.CommittedBeforeResponse, "reset")
			w, stop, err := world()
			if err != nil {
				b.Fatal(err)
			}
			defer stop()
			defer closeAll(chosen)
			dir, err := os.MkdirTemp(fastDir(), "sixthcopy-bench-")
			if err != nil {
				b.Fatal(err)
			}
			defer os.RemoveAll(dir)
			runner := &bench.Runner{World: w, Dir: dir, Deadline: trialDeadline, Replicas: 2}
			run := func(t bench.Trial) {
				rec := runner.Run(b.Context(), t, chosen["blind"])
				if j := bench.Judge(rec.Evidence); j.Verdict != bench.Violation || len(rec.Evidence.Observed.Requests) != 2 {
					b.Fatalf("verdict %s (%s) of %d requests, expected a violation of two", j.Verdict, j.InvalidBecause, len(rec.Evidence.Observed.Requests))
				}
			}
			run(plain) // the pools are filled
			var pauses, plains []time.Duration
			for b.Loop() {
				for range 10 { // of each; fewer make no median
					plains = append(plains, timed(func() { run(plain) }))
					pauses = append(pauses, timed(func() { run(paused) }))
				}
			}
			b.ReportMetric(contractHours(paused), "h-virtual")
			b.ReportMetric(milliseconds(quantile(plains, 5)), "ms-plain-p50")
			b.ReportMetric(float64(quantile(pauses, 5))/float64(quantile(plains, 5)), "ratio")
		})
	}
}

func contractHours(t bench.Trial) float64 { return t.Contract.Passes(t.Fault.Pass).Hours() }

// BenchmarkQuickSuite is the quick suite as the command runs it, report included. The acceptance line is at
// least 60 trials a second on two cores.
func BenchmarkQuickSuite(b *testing.B) {
	trials := 0
	for i := 0; b.Loop(); i++ {
		path := filepath.Join(b.TempDir(), "run.db")
		if got := sixthcopy(b.Context(), []string{"run", "--out", path}, nil, io.Discard, io.Discard); got != int(good) {
			b.Fatalf("status %d, expected %d", got, good)
		}
		s, err := store.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		m, err := s.Manifest()
		if err != nil {
			b.Fatal(err)
		}
		trials += m.Planned
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(trials)/b.Elapsed().Seconds(), "trials/s")
}

func timed(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}

// quantile is the value that so many tenths of all lie below.
func quantile(all []time.Duration, tenths int) time.Duration {
	slices.Sort(all)
	return all[len(all)*tenths/10]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// plainTool is a tool over plain JSON with nothing behind it: every odd call is parked until its caller is
// gone, every even one answered.
type plainTool struct {
	address string
	parked  chan struct{}
}

func newPlainTool(b *testing.B) *plainTool {
	ln, err := bench.Listen("127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	t := &plainTool{address: "http://" + ln.Addr().String(), parked: make(chan struct{})}
	calls := 0 // the loop makes one call after the other
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		if calls++; calls%2 == 1 {
			t.parked <- struct{}{}
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"status":"done","receipts":["line_1"]}`)
	})}
	ended := make(chan struct{})
	go func() { _ = web.Serve(ln); close(ended) }()
	b.Cleanup(func() { _ = web.Close(); <-ended })
	return t
}

// killAndRestart is the bare loop.
func killAndRestart(b *testing.B, exe string, tool *plainTool) {
	first := startAgent(b, exe, tool, false)
	<-tool.parked
	first.kill(b)
	second := startAgent(b, exe, tool, true)
	for {
		var w bench.Word
		if err := second.words.Decode(&w); err != nil {
			b.Fatalf("the agent's words: %v", err)
		}
		if w.Type == "claim" && w.Outcome != bench.Done {
			b.Fatalf("claim %q (%s), expected done", w.Outcome, w.Detail)
		}
		if w.Type == "idle" {
			break
		}
	}
	second.kill(b)
}

type bareAgent struct {
	cmd   *exec.Cmd
	words *json.Decoder
}

// startAgent starts an agent as a run does, and hands it its trial and its turn.
func startAgent(b *testing.B, exe string, tool *plainTool, again bool) *bareAgent {
	cmd := exec.Command(exe, agentChild, "--policy", "blind")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=400")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	now := bench.Epoch.Format(time.RFC3339)
	orders := json.NewEncoder(in)
	for _, o := range []bench.Order{
		{Type: "start", Seq: 1, Now: now, Start: &bench.StartOrder{Wire: bench.WireVersion, Restarted: again,
			Tools: []bench.OfferedTool{{Name: "append_line", Address: tool.address, Transport: bench.TransportJSON}}}},
		{Type: "turn", Seq: 2, Now: now, Turn: &bench.TurnOrder{ID: "turn-1", Redelivered: again, Calls: []bench.GivenCall{
			{Ordinal: 1, ID: "call_1", Tool: "append_line", Args: map[string]any{"document": "release-notes", "text": "2.4.1"}}}}},
	} {
		if err := orders.Encode(o); err != nil {
			b.Fatal(err)
		}
	}
	return &bareAgent{cmd, json.NewDecoder(bufio.NewReader(out))}
}

func (a *bareAgent) kill(b *testing.B) {
	if err := syscall.Kill(-a.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		b.Fatal(err)
	}
	_ = a.cmd.Wait() // its status is the signal
}
