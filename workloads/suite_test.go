package workloads

import (
	"encoding/json"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
)

func loadSuite(t *testing.T) []bench.Workload {
	t.Helper()
	all, err := Core()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestSuite(t *testing.T) {
	var got, names []string
	all, err := Suite()
	if err != nil {
		t.Fatal(err)
	}
	providers, err := Providers()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		if slices.Contains(names, w.Name) {
			t.Errorf("%s: two workloads of this name", w.Name)
		}
		names = append(names, w.Name)
		file := w.Name + ".yaml" // a workload is found in the file of its name
		if slices.ContainsFunc(providers, func(p bench.Workload) bool { return p.Name == w.Name }) {
			file = "providers/" + file
		} else {
			got = append(got, w.Name)
		}
		fromFile, err := LoadFile(file)
		if err != nil {
			t.Error(err)
		}
		if !reflect.DeepEqual(w, fromFile) {
			t.Errorf("%s: the embedded workload is not the one in the file", w.Name)
		}
		text, err := Canonical(w)
		if err != nil {
			t.Fatal(err)
		}
		var back bench.Workload
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(w, back) {
			t.Errorf("%s: not the same after a trip through JSON:\n%+v\n%+v", w.Name, w, back)
		}
	}
	want := []string{"append-line", "append-line-twice", "create-resource", "delete-newest", "message-to-five", "payment",
		"read-only", "refund", "refund-twice", "run-task", "staged-file", "three-resources", "ticket", "unique-row"}
	if !slices.Equal(got, want) {
		t.Errorf("core: got %v, expected %v", got, want)
	}
}

// The suite has to show variety, or cells that look different test the same thing.
func TestSuiteIsVaried(t *testing.T) {
	seen := map[string]int{}
	for _, w := range loadSuite(t) {
		seen["provider "+w.Provider.Kind]++
		struck := w.Turns[0].Intents[0].Call.Tool
		use := w.Tools[struck]
		seen["key "+string(use.Key)]++
		seen["transport "+string(use.Transport)]++
		seen["errors "+string(use.Errors)]++
		if use.Annotations.Idempotent != nil && *use.Annotations.Idempotent {
			seen["says idempotent"]++
		}
		for _, d := range w.Drifts {
			seen["drift "+d.Name]++
		}
		if len(w.Drifts) == 0 {
			t.Errorf("%s: no drift: boundary parameter-drift could not strike it", w.Name)
		}
	}
	providers, err := Providers()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range providers { // a real provider's wire has its workloads there
		seen["provider "+w.Provider.Kind]++
	}
	want := []string{"key none", "key argument", "transport mcp", "transport json", "errors typed", "errors vague", "errors lying", "says idempotent"}
	for kind := range Known().Providers {
		want = append(want, "provider "+kind)
	}
	for _, d := range bench.DriftNames {
		want = append(want, "drift "+d)
	}
	for _, w := range want {
		if seen[w] == 0 {
			t.Errorf("no workload has %s; there are %v", w, seen)
		}
	}
}

// After a drift at most one matched attribute of each slot may differ, else nobody can tell whose the
// drifted call is. A list argument is compared as a whole: only one of its elements may differ.
func TestDriftsStayNear(t *testing.T) {
	for _, w := range loadSuite(t) {
		in := w.Turns[0].Intents[0]
		for _, d := range w.Drifts {
			differ := 0
			for name, v := range d.Args {
				now, given := in.Call.Args[name]
				list, isList := v.([]any)
				switch {
				case isList:
					for i, x := range list {
						if x != now.([]any)[i] {
							differ++
						}
					}
				case given && v != now, !given && d.Tool == "":
					differ++
				}
			}
			if d.Tool == "" && differ != 1 || d.Tool != "" && differ > 1 {
				t.Errorf("%s, drift %s: %d things differ, expected 1", w.Name, d.Name, differ)
			}
		}
	}
}

const small = `
name: small
summary: Three tasks.
provider: {kind: tasks, contract: ecs-run-task}
tools: {run_task: {}}
turns:
  - say: Start three tasks.
    intents:
      - id: three
        call: {tool: run_task, args: {family: resize, cluster: log, count: 3}}
        effects:
          - {class: task, match: {cluster: log}}
          - {slot: other, class: task, match: {family: resize}, count: 2}
  - say: And again.
    asks_again: three
    continues: t1
`

func TestDefaults(t *testing.T) {
	w, err := Parse("small.yaml", []byte(small+"outcomes: [all, none, {three/1: 1}, {at_most: {other: 2}}]\n"), Known())
	if err != nil {
		t.Fatal(err)
	}
	want := bench.Workload{
		Name: "small", Summary: "Three tasks.",
		Provider: bench.ProviderUse{Kind: "tasks", Contract: "ecs-run-task"},
		Tools:    map[string]bench.ToolUse{"run_task": {Key: bench.KeyNone, Transport: bench.TransportMCP, Errors: bench.ErrorsVague}},
		Turns: []bench.Turn{
			{ID: "t1", Say: "Start three tasks.", Intents: []bench.Intent{{
				ID: "three", Decision: bench.Approved,
				Call: bench.ToolCall{Tool: "run_task", Args: map[string]any{"family": "resize", "cluster": "log", "count": 3.0}},
				Slots: []bench.Slot{
					{Name: "three/1", Class: "task", Match: map[string]any{"cluster": "log"}, Count: 1, Sign: 1},
					{Name: "other", Class: "task", Match: map[string]any{"family": "resize"}, Count: 2, Sign: 1},
				},
			}}},
			{ID: "t2", Say: "And again.", AsksAgain: "three", Continues: "t1"},
		},
		Outcomes: []bench.Outcome{{Word: "all"}, {Word: "none"}, {Counts: map[string]int{"three/1": 1}}, {AtMost: map[string]int{"other": 2}}},
		Inject:   bench.Inject{Intents: []string{"three"}},
		Repair:   bench.Repair{Kind: "give-up"},
	}
	if !reflect.DeepEqual(w, want) {
		t.Errorf("got\n%+v\nwant\n%+v", w, want)
	}
}

// The words that a file may use are the catalogue's, not the loader's.
func TestCatalogueDecides(t *testing.T) {
	cat := Known()
	delete(cat.Contracts, "ecs-run-task")
	_, err := Parse("small.yaml", []byte(small+"outcomes: [all]\n"), cat)
	if err == nil || !strings.Contains(err.Error(), `unknown "ecs-run-task"`) {
		t.Errorf("got %v, expected an unknown contract", err)
	}
}

func TestLoadFileThatIsNotThere(t *testing.T) {
	if _, err := LoadFile("testdata/none.yaml"); err == nil || !strings.Contains(err.Error(), "workload: open testdata/none.yaml") {
		t.Errorf("got %v, expected that the file cannot be opened", err)
	}
}

func TestCatalogueHangsTogether(t *testing.T) {
	cat := Known()
	for name, kind := range cat.Contracts {
		if cat.Providers[kind].Classes == nil {
			t.Errorf("contract %s: no provider %s", name, kind)
		}
	}
	classes := 0
	for _, p := range cat.Providers {
		classes += len(p.Classes)
	}
	if all := cat.classes(); len(all) != classes {
		t.Errorf("%d classes with %d names: a file names classes without their provider", classes, len(all))
	}
	for name, tool := range cat.Tools {
		if cat.Providers[tool.Provider].Classes == nil || tool.Makes != "" && cat.Providers[tool.Provider].Classes[tool.Makes] == nil {
			t.Errorf("tool %s: provider %s makes no %s", name, tool.Provider, tool.Makes)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"effects", "intents", "id", "summary"}
	for word, want := range map[string]string{"intent": "intents", "efefcts": "effects", "Summary": "summary", "di": "id", "retries": "", "": ""} {
		if got := nearest(word, known); got != want {
			t.Errorf("nearest to %q: got %q, expected %q", word, got, want)
		}
	}
}

// Whatever a file holds, it is read or refused with places inside the file; what is read has one JSON text.
func FuzzParse(f *testing.F) {
	all, err := fs.Glob(files, "*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range all {
		data, err := files.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	cat := Known()
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := Parse("f", data, cat)
		if err == nil {
			text, err := Canonical(w)
			if err != nil {
				t.Fatal(err)
			}
			var back bench.Workload
			if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(w, back) {
				t.Fatalf("not the same after a trip through JSON (%v): %s", err, text)
			}
			return
		}
		lines := strings.Count(string(data), "\n") + 1
		for _, p := range err.(*Problems).List {
			if p.Line < 1 || p.Line > lines || p.Column < 1 || p.Text == "" {
				t.Fatalf("a problem without a place in %d lines: %s", lines, p)
			}
		}
	})
}
