package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/results/store"
)

// The test binary runs itself: as the program's own children, and as systems that misbehave, or call a provider themselves.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if _, child := wiring().children[os.Args[1]]; child {
			main()
		}
		if os.Args[1] == "misbehave" {
			misbehave(os.Args[2])
			os.Exit(0)
		}
		if os.Args[1] == "planted" {
			os.Exit(plantedAdapter(os.Args[2]))
		}
		if os.Args[1] == "straight" {
			os.Exit(straight(os.Args[2] == "keyed"))
		}
	}
	testscript.Main(tidy{m}, map[string]func(){"sixthcopy": main})
}

// tidy runs the tests and removes what they shared.
type tidy struct{ m *testing.M }

func (t tidy) Run() int {
	code := t.m.Run()
	for _, dir := range sharedFolders {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return max(code, 1)
		}
	}
	return code
}

// TestScripts runs the command line as a user does. A mended bug is a stanza of a script under its
// issue's number.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata", Cmds: map[string]func(*testscript.TestScript, bool, []string){
		"status": checkStatus,
		"mkrun":  makeRun,
	}})
}

// checkStatus runs `status N COMMAND ARGS...` and wants exactly this exit status.
func checkStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command args...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		var exit interface{ ExitCode() int }
		if !errors.As(err, &exit) {
			ts.Fatalf("%v: %v", args[1:], err)
		}
		got = exit.ExitCode()
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit status %d, expected %s", got, args[0])
	}
}

// makeRun writes `mkrun FILE`: a run of two trials, one of them with a verdict that its evidence does
// not bear out.
func makeRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mkrun FILE")
	}
	started := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	ended := started.Add(1500 * time.Millisecond)
	s, err := store.Create(ts.MkAbs(args[0]), store.Manifest{ID: "small", Started: started, Ended: &ended, Suite: "quick", Seed: 7,
		Substrate: "process", Planned: 2, Command: []string{"sixthcopy", "run"}, Machine: store.Machine{OS: "linux", Arch: "amd64", CPUs: 2}})
	ts.Check(err)
	ts.Check(s.SetPlan(storedPlan{}))
	for i, b := range []bench.Boundary{bench.NoFault, bench.CommittedBeforeResponse} {
		rec := smallTrial(fmt.Sprintf("%d0ffee", i), b)
		ts.Check(s.SaveEvidence(rec))
		ts.Check(s.SaveVerdict(rec.Trial.ID, bench.Judged{Verdict: bench.Exact, Reason: "as asked"}))
	}
	ts.Check(s.Close())
}

// smallTrial is a refund under the blind policy; with a fault it is made twice.
func smallTrial(id string, b bench.Boundary) bench.Record {
	match := map[string]any{"order": "order_4821", "amount": 2500.0}
	slot := bench.Slot{Name: "first", Class: "refund", Match: match, Count: 1, Sign: 1}
	call := bench.Call{Op: "create", Class: "refund", Attrs: match, Mutating: true}
	rec := bench.Record{
		Trial: bench.Trial{ID: id, System: "blind", Kind: "policy", Seed: 7, Fault: bench.Fault{Boundary: b, Variant: "none"},
			Workload: bench.Workload{Name: "refund", Outcomes: []bench.Outcome{{Word: "all"}},
				Turns: []bench.Turn{{ID: "t1", Intents: []bench.Intent{{ID: "first", Slots: []bench.Slot{slot}}}}}},
			Contract: bench.Contract{Name: "none", Provider: "payments"}},
		Evidence: bench.Evidence{
			Workload: bench.EvidenceWorkload{Intents: []bench.EvidenceIntent{{ID: "first", Turn: 1, Slots: []bench.Slot{slot}}}, Outcomes: []bench.Outcome{{Word: "all"}}},
			Fault:    bench.EvidenceFault{Boundary: b, Strike: "none"},
			Observed: bench.Observed{Turns: []bench.ObservedTurn{{Turn: 1, HandedOver: 1}},
				Requests: []bench.ObservedRequest{{Request: "r1", Intents: []string{"first"}, Dispatched: 2000, Arrived: 3000, NewOn: []string{"agent link"}, Told: bench.Done}},
				Effects:  []bench.Effect{{Object: "re_1", Request: "r1", Committed: 4000, Class: "refund", Attrs: match, Sign: 1}}},
			Claims: []bench.ClaimRecord{{Turn: 1, Call: 1, Intents: []string{"first"}, At: 9000, Claim: bench.Done, Receipts: []string{"re_1"}}},
		},
		History: []bench.Event{
			{Tick: 1, Actor: "harness", Kind: "order turn", Turn: "t1", Order: &bench.Order{Type: "turn", Turn: &bench.TurnOrder{ID: "t1", Say: "Refund 25.00."}}, Virtual: "09:00:00"},
			{Tick: 2, Actor: "provider", Kind: "received", Request: "r1", Link: "provider/1", Conn: 1, Exchange: 1, Call: &call, Virtual: "09:00:00", Micros: 1500},
		},
		Measures: bench.Measures{Attempts: 1, LatencyMS: 2.5},
	}
	if b == bench.NoFault {
		return rec
	}
	rec.Trial.Struck, rec.Trial.Class, rec.Trial.Bound, rec.Trial.Fault.Variant = "first", "lost", bench.MarkSafe, "reset"
	rec.Evidence.Fault = bench.EvidenceFault{Boundary: b, Strike: "reset", Truth: bench.TruthCommitted, Intent: "first"}
	rec.Evidence.Strike = bench.StrikeRecord{Reached: true, Struck: true, Truth: bench.TruthCommitted}
	o := &rec.Evidence.Observed
	o.Requests[0].Told = "vague error"
	o.Requests = append(o.Requests, bench.ObservedRequest{Request: "r2", Intents: []string{"first"}, Dispatched: 6000, Arrived: 7000, NewOn: []string{"agent link"}, Told: bench.Done})
	o.Effects = append(o.Effects, bench.Effect{Object: "re_2", Request: "r2", Committed: 8000, Class: "refund", Attrs: match, Sign: 1})
	rec.Evidence.Claims[0].Receipts = []string{"re_2"}
	rec.History = append(rec.History,
		bench.Event{Tick: 3, Actor: "harness", Kind: "strike", Request: "r1", Truth: bench.TruthCommitted, Text: "reset", Virtual: "09:00:00", Micros: 1800},
		bench.Event{Tick: 4, Actor: "agent", Kind: "word wait", Word: &bench.Word{Type: "wait", Why: "back-off"}, Virtual: "09:00:01", Micros: 2400})
	rec.Measures.Attempts = 2
	return rec
}

func TestEveryBoundaryHasASummary(t *testing.T) {
	for _, b := range bench.Boundaries {
		if boundarySummaries[b] == "" {
			t.Errorf("boundary %s has no summary", b)
		}
	}
	if len(boundarySummaries) != len(bench.Boundaries) {
		t.Errorf("%d summaries for %d boundaries", len(boundarySummaries), len(bench.Boundaries))
	}
}

func TestEndingsAndTheirStatus(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want int
		says string
	}{
		{"nothing wrong", nil, 0, ""},
		{"a violation", &ending{violated, errors.New("blind: 3 violations"), ""}, 1, "sixthcopy: error: blind: 3 violations\n"},
		{"usage", usagef("say less", "too much"), 2, "sixthcopy: error: too much\nsixthcopy: hint: say less\n"},
		{"wrapped", fmt.Errorf("run: %w", usagef("say less", "too much")), 2, "sixthcopy: error: too much\nsixthcopy: hint: say less\n"},
		{"no proof", &ending{inconclusive, errors.New("2 trials are invalid"), ""}, 3, "sixthcopy: error: 2 trials are invalid\n"},
		{"anything else", errors.New("disk: full"), 4, "sixthcopy: error: disk: full\n"},
		{"several problems", &ending{misused, errors.New("a:1: x\na:2: y"), ""}, 2, "sixthcopy: error: a:1: x\nsixthcopy: error: a:2: y\n"},
		{"interrupted", context.Canceled, 130, "sixthcopy: error: interrupted\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var said bytes.Buffer
			p := parts{commands: []func(*console) *cobra.Command{func(*console) *cobra.Command {
				return &cobra.Command{Use: "end", RunE: func(*cobra.Command, []string) error { return c.err }}
			}}}
			got := execute(context.Background(), p, []string{"end"}, &console{nil, io.Discard, &said})
			if got != c.want || said.String() != c.says {
				t.Errorf("status %d, said %q; expected %d, %q", got, said.String(), c.want, c.says)
			}
		})
	}
}

func TestInterruptCancelsTheCommand(t *testing.T) {
	p := parts{commands: []func(*console) *cobra.Command{func(*console) *cobra.Command {
		return &cobra.Command{Use: "wait", RunE: func(cmd *cobra.Command, _ []string) error {
			if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
				return err
			}
			<-cmd.Context().Done()
			return cmd.Context().Err()
		}}
	}}}
	if got := execute(context.Background(), p, []string{"wait"}, &console{nil, io.Discard, io.Discard}); got != 130 {
		t.Errorf("exit status %d, expected 130", got)
	}
}

func TestChildrenGetTheirArgumentsUnparsed(t *testing.T) {
	var got []string
	p := parts{children: map[string]func(context.Context, []string, io.Reader, io.Writer, io.Writer) int{
		"agent": func(_ context.Context, args []string, _ io.Reader, _, _ io.Writer) int { got = args; return 7 }}}
	if code := execute(context.Background(), p, []string{"agent", "--policy", "blind", "--help"}, &console{}); code != 7 || len(got) != 3 {
		t.Errorf("status %d, arguments %v", code, got)
	}
}

func TestProgressLines(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(100, 0)
	stored := slices.Repeat([]bench.Verdict{bench.Exact, bench.Violation}, 10)
	p := newProgress(&out, 100, stored, func() time.Time { return now })
	verdicts := []bench.Verdict{bench.Exact, bench.Violation, bench.Invalid, bench.Safe, bench.Unjudged}
	for i := range 40 {
		now = now.Add(250 * time.Millisecond)
		p.add(verdicts[i%len(verdicts)])
	}
	p.end()
	want := "40 of 100 trials, 4 trials/s, 15s left, 14 violations, 8 invalid\n" +
		"60 of 100 trials, 4 trials/s, 10s left, 18 violations, 16 invalid\n" +
		"60 of 100 trials, 4 trials/s, 10s left, 18 violations, 16 invalid\n"
	if out.String() != want {
		t.Errorf("got:\n%swant:\n%s", out.String(), want)
	}
}

// TestReadmeBlocks runs each line of README.md that begins with `$ sixthcopy` and is followed by its
// output, and wants that output.
func TestReadmeBlocks(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for block := range strings.SplitSeq(string(text), "```") {
		_, body, found := strings.Cut(block, "\n$ sixthcopy")
		if !found {
			continue
		}
		line, want, _ := strings.Cut(body, "\n")
		ran++
		t.Run(strings.TrimSpace(line), func(t *testing.T) {
			var out, errw bytes.Buffer
			if got := sixthcopy(context.Background(), strings.Fields(line), nil, &out, &errw); got != 0 {
				t.Fatalf("exit status %d: %s", got, errw.String())
			}
			if out.String() != want {
				t.Errorf("README says:\n%s\nbut it prints:\n%s", want, out.String())
			}
		})
	}
	if ran == 0 {
		t.Error("README.md has no block that runs")
	}
}

// TestFoldersExplainThemselves wants a README in each folder at the top, and each page of docs in its index.
func TestFoldersExplainThemselves(t *testing.T) {
	root := filepath.Join("..", "..")
	sources, err := filepath.Glob(filepath.Join(root, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(root, "docs", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, file := range sources {
		dir, name := filepath.Split(file)
		if base := filepath.Base(dir); strings.HasPrefix(base, ".") || base == "bin" {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "README.md")); err != nil {
			t.Errorf("%s has no README.md: %v", dir, err)
		}
		if filepath.Base(dir) == "docs" && name != "README.md" {
			pages++
			if !strings.Contains(string(index), "("+name) {
				t.Errorf("docs/README.md does not lead to %s", name)
			}
		}
	}
	if pages == 0 {
		t.Error("no page in docs")
	}
}
