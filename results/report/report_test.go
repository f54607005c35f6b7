package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/results/report"
)

var update = flag.Bool("update", false, "write testdata anew")

// trial is one judged trial of a small run.
func trial(system string, b bench.Boundary, variant string, rep int, j bench.Judged) bench.Record {
	w := bench.Workload{Name: "refund-twice", Outcomes: []bench.Outcome{{Word: "all"}},
		Tools: map[string]bench.ToolUse{"refund_order": {Key: bench.KeyArgument}},
		Turns: []bench.Turn{
			{ID: "t1", Intents: []bench.Intent{{ID: "first", Call: bench.ToolCall{Tool: "refund_order"}, Slots: []bench.Slot{{Name: "first", Class: "refund", Count: 1}}}}},
			{ID: "t2", Intents: []bench.Intent{{ID: "second", TwinOf: "first", Call: bench.ToolCall{Tool: "refund_order"}, Slots: []bench.Slot{{Name: "second", Class: "refund", Count: 1}}}}},
		}}
	terms := bench.Terms{Key: bench.KeyTerms{Location: "header:Idempotency-Key"}}
	r := bench.Record{Trial: bench.Trial{ID: fmt.Sprintf("%s-%s-%d", system, b, rep), Workload: w,
		Contract: bench.Contract{Name: "stripe-v1", Advertised: terms, Actual: terms},
		Fault:    bench.Fault{Boundary: b, Variant: variant}, System: system, Kind: "policy", Struck: "first", Class: "lost", Bound: bench.MarkExact, Seed: 1, Rep: rep}}
	r.Evidence.Strike.Truth = bench.TruthCommitted
	if b == bench.NoFault {
		r.Trial.Struck, r.Trial.Class = "", ""
	}
	r.Measures = bench.Measures{LatencyMS: 2 + float64(rep), Attempts: 2, LedgerBytes: 100}
	r.History = history(rep)
	r.Judged = j
	if system == "never" && b == bench.CommittedBeforeResponse {
		r.Broke = &bench.SystemError{System: system, Reason: "hung", Detail: "nothing was said within 15s"}
	}
	return r
}

func duplicates(n int) bench.Judged {
	return bench.Judged{Verdict: bench.Violation, Extra: bench.Extras{Duplicate: n}, Findings: bench.Findings{"false_failure": 1}}
}

// sample is a run in which all four controls come out as known.
func sample() []bench.Record {
	exact := bench.Judged{Verdict: bench.Exact}
	lost := bench.CommittedBeforeResponse
	return []bench.Record{
		trial("blind", bench.NoFault, "none", 0, exact),
		trial("blind", lost, "reset", 0, duplicates(1)),
		trial("blind", lost, "reset", 1, duplicates(3)),
		trial("blind", lost, "reset", 2, exact),
		trial("do-nothing", bench.NoFault, "none", 0, bench.Judged{Verdict: bench.Safe, Missing: 2}),
		trial("dedupe-everything", bench.NoFault, "none", 0, bench.Judged{Verdict: bench.Violation, FalseDedup: bench.FalseDedup{StandIn: 1}}),
		trial("native-token", lost, "reset", 0, exact),
		trial("native-token", lost, "reset", 1, exact),
		trial("never", lost, "reset", 0, bench.Judged{Verdict: bench.Safe, Unresolved: bench.Unresolved{Escalated: 1}}),
		trial("never", bench.CrashRestart, "kill", 0, bench.Judged{Verdict: bench.Invalid, InvalidBecause: "strike not shown"}),
		trial("never", bench.CrashRestart, "kill", 1, bench.Judged{}),
	}
}

func build(records []bench.Record, normalised bool) *report.Report {
	b := report.NewBuilder(report.Run{ID: "run", Started: "2026-01-05T09:00:00Z", Seconds: 12.5, Commit: "0123456789abcdef", Dirty: true,
		Command: []string{"sixthcopy", "run"}, Machine: map[string]string{"os": "linux", "arch": "amd64", "cpus": "2"},
		Suite: "quick", Seed: 1, Substrate: "process", PlanHash: "abc", Planned: len(records), Normalised: normalised})
	for _, r := range records {
		b.Add(r)
	}
	two := 2
	zero := 0
	return b.Report(
		[]report.Class{
			{System: "never", Workload: "refund-twice", Class: "lost", Bound: bench.MarkExact, Mark: bench.MarkSafe},
			{System: "blind", Workload: "refund-twice", Class: "lost", Bound: bench.MarkExact, Mark: bench.MarkViolation, Regret: &two, Lucky: true},
			{System: "native-token", Workload: "refund-twice", Class: "lost", Bound: bench.MarkExact, Mark: bench.MarkExact, Regret: &zero},
		},
		[]report.NotApplicable{{System: "never", Workload: "refund-twice", Boundary: bench.OtherInstance, Reason: "one tool server only"}})
}

func rendered(t *testing.T, r *report.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.JSON(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (write it anew with -update, then read the change):\n%s", path, got)
	}
}

func TestReportIsAsBefore(t *testing.T) {
	r := build(sample(), false)
	golden(t, "report.json", rendered(t, r))
	golden(t, "normalised.json", rendered(t, build(sample(), true)))
	var text bytes.Buffer
	if err := r.Text(&text, "run.db"); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.txt", text.Bytes())
}

func TestTextFitsATerminal(t *testing.T) {
	var records []bench.Record
	for _, system := range []string{"mcp-scripts-minimal", "ledger-no-reconcile"} {
		for _, b := range append([]bench.Boundary{bench.NoFault}, bench.Boundaries...) {
			for rep := range 999 {
				r := trial(system, b, "a variant with a rather long name/mirror", rep, duplicates(1))
				r.Trial.ID = "0123456789ab"
				r.Trial.Workload.Name = fmt.Sprintf("%s-%d", r.Trial.Workload.Name, rep%3)
				records = append(records, r)
			}
		}
	}
	var text bytes.Buffer
	if err := build(records, false).Text(&text, ""); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(text.String(), "\n") {
		if n := utf8.RuneCountInString(strings.TrimRight(line, " ")); n > 80 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
}

func TestOrderOfTrialsChangesNothing(t *testing.T) {
	want := rendered(t, build(sample(), true))
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		records := sample()
		rng.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		if got := rendered(t, build(records, true)); !bytes.Equal(got, want) {
			t.Fatalf("another order of trials gives another report:\n%s", got)
		}
	}
}

func TestNormalisedReportForgetsTheRun(t *testing.T) {
	later := sample()
	for i := range later {
		later[i].Measures.LatencyMS *= 3
		later[i].Measures.LedgerBytes++
		for k := range later[i].History {
			later[i].History[k].Micros += 1000
			later[i].History[k].Virtual = "2027-01-01T00:00:00Z"
		}
	}
	if a, b := rendered(t, build(sample(), true)), rendered(t, build(later, true)); !bytes.Equal(a, b) {
		t.Errorf("times show in a normalised report:\n%s\n%s", a, b)
	}
	planted := sample()
	planted[3].History[1].Status = 502
	a, b := build(sample(), true), build(planted, true)
	changed := 0
	for i := range a.Cells {
		if a.Cells[i].Histories != b.Cells[i].Histories {
			changed++
		}
	}
	if changed != 1 {
		t.Errorf("one planted event changed %d cells, expected 1", changed)
	}
}

func TestReportFollowsItsSchema(t *testing.T) {
	c := jsonschema.NewCompiler()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(report.JSONSchema))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource("report.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("report.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, normalised := range []bool{false, true} {
		good := rendered(t, build(sample(), normalised))
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(good))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("normalised %v: %v", normalised, err)
		}
		for _, field := range []string{"class", "trials_with_extra", "invalid_reasons", "added_latency_ms"} {
			bad := bytes.Replace(good, []byte(`"`+field+`"`), []byte(`"`+field+`s"`), 1)
			if v, err = jsonschema.UnmarshalJSON(bytes.NewReader(bad)); err != nil {
				t.Fatal(err)
			}
			if schema.Validate(v) == nil {
				t.Errorf("a report without %s in a cell passes", field)
			}
		}
	}
	empty := report.NewBuilder(report.Run{}).Report(nil, nil)
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(rendered(t, empty)))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("a run without trials: %v", err)
	}
}

func TestInvalidAndUnjudgedNeverCount(t *testing.T) {
	for _, j := range []bench.Judged{
		{Verdict: bench.Invalid, Extra: bench.Extras{Duplicate: 4}, Missing: 3, Findings: bench.Findings{"leak": 1}},
		{Verdict: bench.Unjudged, Extra: bench.Extras{Duplicate: 4}, Missing: 3},
	} {
		c := build([]bench.Record{trial("blind", bench.CrashRestart, "kill", 0, j)}, false).Cells[0]
		if c.Extra+c.Missing+c.TrialsWithExtra+c.Attempts+len(c.Findings)+c.Exact+c.Safe+c.Violation != 0 || c.Invalid+c.Unjudged != 1 {
			t.Errorf("%v: %+v", j.Verdict, c)
		}
	}
}

func TestCell(t *testing.T) {
	for _, c := range build(sample(), false).Cells {
		if c.System == "blind" && c.Boundary == bench.CommittedBeforeResponse {
			got, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			want := `{"system":"blind","workload":"refund-twice","contract":"stripe-v1","provider_fault":false,"boundary":"committed-before-response","variant":"reset","struck":"first",` +
				`"substrate":"process","class":"lost","trials":3,"exact":1,"safe":0,"violation":2,"invalid":0,"unjudged":0,"unsteady":true,` +
				`"extra":4,"trials_with_extra":2,"missing":0,"false_dedup":0,"unresolved":0,"findings":{"false_failure":2},"marks":{},` +
				`"latency_ms":3,"added_latency_ms":1,"attempts":6,"time_in_unknown_ms":0,"escalations":0,"ledger_bytes":100,"invalid_reasons":{},"trial":"blind-committed-before-response-0"}`
			if string(got) != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			return
		}
	}
	t.Error("no such cell")
}

func TestControls(t *testing.T) {
	lost := bench.CommittedBeforeResponse
	exact := bench.Judged{Verdict: bench.Exact}
	plant := func(change func([]bench.Record) []bench.Record) []bench.Record { return change(sample()) }
	only := func(keep string) []bench.Record {
		var kept []bench.Record
		for _, r := range sample() {
			if r.Trial.System == keep {
				kept = append(kept, r)
			}
		}
		return kept
	}
	for _, c := range []struct {
		name    string
		records []bench.Record
		ok      bool
		amiss   string // system that must be named
	}{
		{name: "as known", records: sample(), ok: true},
		{name: "none in the run", records: only("never"), ok: true},
		{name: "do-nothing comes out exact", records: append(sample(), trial("do-nothing", lost, "close", 0, exact)), amiss: "do-nothing"},
		{name: "do-nothing is safe with nothing missing", records: append(sample(), trial("do-nothing", lost, "close", 0, bench.Judged{Verdict: bench.Safe})), amiss: "do-nothing"},
		{name: "dedupe-everything shows no false dedup", records: plant(func(r []bench.Record) []bench.Record { r[5].Judged = exact; return r }), amiss: "dedupe-everything"},
		{name: "blind makes no extra", records: plant(func(r []bench.Record) []bench.Record { r[1].Judged, r[2].Judged = exact, exact; return r }), amiss: "blind"},
		{name: "blind makes none and the contract saves it", ok: true, records: plant(func(r []bench.Record) []bench.Record {
			for i := range r {
				r[i].Trial.Offered.Advertised.Unique = true
			}
			r[1].Judged, r[2].Judged = exact, exact
			return r
		})},
		{name: "the key makes an extra", records: append(sample(), trial("native-token", bench.TokenExpired, "just past", 0, duplicates(1))), amiss: "native-token"},
		{name: "the key does not resolve", records: append(sample(), trial("native-token", lost, "close", 0, bench.Judged{Verdict: bench.Safe, Unresolved: bench.Unresolved{Silent: 1}})), amiss: "native-token"},
		{name: "an invalid trial is no evidence", records: append(sample(), trial("do-nothing", lost, "close", 0, bench.Judged{Verdict: bench.Invalid})), ok: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := build(c.records, false)
			if r.ControlsOK != c.ok {
				t.Errorf("controls_ok %v, expected %v: %+v", r.ControlsOK, c.ok, r.Controls)
			}
			for _, one := range r.Controls {
				if !one.OK && one.System != c.amiss {
					t.Errorf("amiss: %+v, expected only %q", one, c.amiss)
				}
			}
		})
	}
}

func TestInterval(t *testing.T) {
	// 95 % limits as tabulated for the exact method (Clopper and Pearson 1934).
	for _, c := range []struct {
		k, n int
		want string
	}{
		{0, 20, "0 of 20 (<= 16.8 %)"},
		{20, 20, "20 of 20 (>= 83.2 %)"},
		{3, 40, "3 of 40 (1.6 to 20.4 %)"},
		{5, 10, "5 of 10 (18.7 to 81.3 %)"},
		{1, 1, "1 of 1"},
	} {
		if got := report.Share(c.k, c.n); got != c.want {
			t.Errorf("%d of %d: got %q, want %q", c.k, c.n, got, c.want)
		}
	}
}

// The text report fits a terminal of 80 columns, with the longest names of policies.
func TestTextIsNarrow(t *testing.T) {
	records := sample()
	for i := range records {
		if records[i].Trial.System == "never" {
			records[i].Trial.System = "mcp-scripts-minimal"
			records[i].Broke = &bench.SystemError{Reason: "printed a line that is not protocol", Detail: strings.Repeat("a word ", 20) + strings.Repeat("x", 200)}
		}
		records[i].Trial.ID = "0123456789ab"
	}
	var b strings.Builder
	if err := build(records, false).Text(&b, ""); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// What broke off shows its last words, a control before other trials; what nobody reached is named.
func TestTextNamesWhatWentWrong(t *testing.T) {
	records := sample()
	calm := trial("never", bench.NoFault, "none", 0, bench.Judged{Verdict: bench.Safe, Unresolved: bench.Unresolved{Silent: 2}})
	calm.Broke = &bench.SystemError{Reason: "hung", Detail: "it printed\x1b[2J\nnothing"}
	calm.Trial.Workload.Name = "booking"
	records = append(records, calm)
	r := build(records, false)
	if len(r.BrokenOff) != 1 || r.BrokenOff[0].Trials != 2 || r.BrokenOff[0].InControl != 1 || r.BrokenOff[0].Trial != "never-none-0" {
		t.Errorf("broken off: %+v", r.BrokenOff)
	}
	var b strings.Builder
	if err := r.Text(&b, "'a run.db'"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"     2  never   hung    never-none-0\n        it printed [2J nothing\n",
		"\nno system reached the goal of booking without a fault: check its slots\n",
		"\nsixthcopy show ID --run 'a run.db' tells ",
		"\n  never: 1 (one tool server only)\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "goal of refund-twice") {
		t.Error("a goal that was reached is named")
	}
}

// Where a provider breaks its promise the table says so, and the reference owes the bound only with a look-up.
func TestTextMarksProviderFaults(t *testing.T) {
	two := 2
	for _, c := range []struct {
		name         string
		fault, owes  bool
		column, miss bool
	}{
		{"a kept promise", false, true, false, true},
		{"a broken one", true, false, true, false},
		{"a broken one, and a look-up that is true", true, true, true, true},
	} {
		r := build(sample(), false)
		r.Classes = []report.Class{{System: "ledger", Workload: "refund", Class: "lost", Bound: bench.MarkExact, Mark: bench.MarkViolation,
			Regret: &two, ProviderFault: c.fault, LedgerOwes: c.owes}}
		for i := range r.Cells {
			r.Cells[i].ProviderFault = c.fault
		}
		var b strings.Builder
		if err := r.Text(&b, "run.db"); err != nil {
			t.Fatal(err)
		}
		for _, says := range []string{"The provider breaks its promise: refund-twice at stripe-v1.", "* some or all at a provider that breaks its promise"} {
			if got := strings.Contains(b.String(), says); got != c.fault {
				t.Errorf("%s: %q is said: %v", c.name, says, got)
			}
		}
		if got := strings.Contains(b.String(), "fault: the provider breaks its promise"); got != c.column {
			t.Errorf("%s: the column of faults is there: %v", c.name, got)
		}
		if got := strings.Contains(b.String(), "BOUND MISSED by the reference"); got != c.miss {
			t.Errorf("%s: the bound is said to be missed: %v", c.name, got)
		}
	}
}
