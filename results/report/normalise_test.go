package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/results/report"
)

// history is a short trial in which every kind of name appears; run makes names, times and the order
// between actors differ as they do between runs.
func history(run int) []bench.Event {
	object := fmt.Sprintf("re_%06d", 482100+run*7)
	key := fmt.Sprintf("key-%08x", 0xabc000+run*31)
	callID := fmt.Sprintf("call_%d", 70001+run)
	address := fmt.Sprintf("http://127.0.0.1:%d/mcp", 40000+run)
	events := []bench.Event{
		{Actor: "harness", Kind: "order", Order: &bench.Order{Type: "start", Seq: 1, Now: fmt.Sprintf("2026-01-05T09:00:%02dZ", run), Start: &bench.StartOrder{
			Wire: 1, StateDir: fmt.Sprintf("/tmp/trial%d/state", run), Tools: []bench.OfferedTool{{Name: "refund_order", Address: address, TakesKey: true}},
			Providers: map[string]string{"payments": fmt.Sprintf("127.0.0.1:%d", 50000+run)}}}},
		{Actor: "harness", Kind: "order", Turn: "t1", Order: &bench.Order{Type: "turn", Seq: 2, Turn: &bench.TurnOrder{ID: "t1", Conversation: fmt.Sprintf("conv-%d", run),
			Say: "Refund 25.00.", Calls: []bench.GivenCall{{Ordinal: 1, ID: callID, Tool: "refund_order", Args: map[string]any{"order": "order_4821"}}}}}},
		{Actor: "agent-link", Kind: "request", Link: "agent", Conn: 1 + run, Exchange: 1, Call: &bench.Call{Op: "create", Class: "refund", Mutating: true,
			ID: fmt.Sprint(3 + run), Attrs: map[string]any{"order": "order_4821", "amount": 2500}}, Text: "call " + callID},
		{Actor: "provider", Kind: "arrived", Request: "r1", Call: &bench.Call{Op: "create", Class: "refund", Mutating: true, Key: key,
			Attrs: map[string]any{"order": "order_4821", "amount": 2500}}},
		{Actor: "provider", Kind: "strike", Request: "r1", Truth: bench.TruthCommitted, Text: "committed " + object + " under " + key},
		{Actor: "agent", Kind: "claim", Word: &bench.Word{Type: "claim", Turn: "t1", Ordinal: 1, Outcome: bench.Done, Receipts: []string{object},
			Detail: "dial " + strings.TrimPrefix(address, "http://") + " reset, then found " + object + "."}},
		{Actor: "agent", Kind: "wait", Word: &bench.Word{Type: "wait", Until: fmt.Sprintf("2026-01-05T10:00:%02dZ", run), Why: "back-off"}},
		{Actor: "agent", Kind: "finished", Word: &bench.Word{Type: "finished", LedgerBytes: int64(400 + run)}},
		{Actor: "agent-link", Kind: "answer", Link: "agent", Conn: 1 + run, Exchange: 1, Status: 200, Told: "done", Text: "answers " + callID},
	}
	if run%2 == 1 { // the actors interleave otherwise
		var other []bench.Event
		for _, i := range []int{3, 4, 0, 2, 1, 8, 5, 6, 7} {
			other = append(other, events[i])
		}
		events = other
	}
	for i := range events {
		events[i].Tick, events[i].Micros, events[i].Virtual = i+1, int64(i*100+run), fmt.Sprintf("2026-01-05T09:%02d:00Z", run)
	}
	return events
}

func TestNormaliseForgetsNamesTimesAndInterleaving(t *testing.T) {
	want := report.Normalise(history(0))
	for run := 1; run < 6; run++ {
		if got := report.Normalise(history(run)); !bytes.Equal(got, want) {
			t.Errorf("run %d:\n%s\nrun 0:\n%s", run, got, want)
		}
	}
	for _, gone := range []string{"127.0.0.1", "re_4821", "abc000", "/tmp", "2026", "call_7"} {
		if bytes.Contains(want, []byte(gone)) {
			t.Errorf("%q is left in:\n%s", gone, want)
		}
	}
	for _, kept := range []string{"order_4821", "2500", "refund_order", "committed", "back-off", "t1"} {
		if !bytes.Contains(want, []byte(kept)) {
			t.Errorf("%q is lost in:\n%s", kept, want)
		}
	}
}

// TestEveryPlantedChangeShows changes each field of each event in turn. Only what says when, and the
// first appearance of a generated name, may go unseen.
func TestEveryPlantedChangeShows(t *testing.T) {
	base := history(0)
	want := report.Normalise(base)
	unseen := map[string]bool{"Tick": true, "Virtual": true, "Micros": true}
	for i := range base {
		for f := range reflect.TypeFor[bench.Event]().NumField() {
			name := reflect.TypeFor[bench.Event]().Field(f).Name
			changed := copied(t, base)
			if !plant(reflect.ValueOf(&changed[i]).Elem().Field(f)) {
				continue
			}
			if same := bytes.Equal(report.Normalise(changed), want); same != unseen[name] {
				t.Errorf("event %d (%s %s): changed %s, seen %v", i, base[i].Actor, base[i].Kind, name, !same)
			}
		}
		without := append(copied(t, base[:i]), copied(t, base[i+1:])...)
		if bytes.Equal(report.Normalise(without), want) {
			t.Errorf("event %d (%s %s) can go unseen", i, base[i].Actor, base[i].Kind)
		}
		twice := append(copied(t, base), base[i])
		if bytes.Equal(report.Normalise(twice), want) {
			t.Errorf("event %d (%s %s) can come twice unseen", i, base[i].Actor, base[i].Kind)
		}
	}
}

// plant changes a value and says whether it could.
func plant(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
			return true
		}
		return plant(v.Elem())
	case reflect.Struct:
		return plant(v.Field(0)) // Call.Op, Word.Type, Order.Type
	default:
		return false
	}
	return true
}

func copied(t *testing.T, events []bench.Event) []bench.Event {
	t.Helper()
	b, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	var out []bench.Event
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestConnectionsStandTogether has the end of an abandoned exchange fall before or after the first sight of
// the next one: the same history. Another exchange abandoned is another history.
func TestConnectionsStandTogether(t *testing.T) {
	see := func(conn int, kind string) bench.Event {
		return bench.Event{Actor: "provider/1 link", Link: "provider/1", Conn: conn, Exchange: 1, Kind: kind}
	}
	early := report.Normalise([]bench.Event{see(1, "request"), see(1, "client left"), see(2, "request"), see(2, "response")})
	late := report.Normalise([]bench.Event{see(1, "request"), see(2, "request"), see(2, "response"), see(1, "client left")})
	if !bytes.Equal(early, late) {
		t.Errorf("interleaving shows:\n%s\n%s", early, late)
	}
	other := report.Normalise([]bench.Event{see(1, "request"), see(1, "response"), see(2, "request"), see(2, "client left")})
	if bytes.Equal(early, other) {
		t.Error("it does not show which exchange was left")
	}
}

func TestNormaliseTellsNamesApart(t *testing.T) {
	receipts := func(a, b string) []bench.Event {
		return []bench.Event{
			{Actor: "agent", Kind: "claim", Word: &bench.Word{Type: "claim", Receipts: []string{a}}},
			{Actor: "agent", Kind: "claim", Word: &bench.Word{Type: "claim", Receipts: []string{b}}},
		}
	}
	same, other := report.Normalise(receipts("re_1a", "re_1a")), report.Normalise(receipts("re_1a", "re_2b"))
	if bytes.Equal(same, other) {
		t.Error("the same receipt twice and two receipts look alike")
	}
	if !bytes.Equal(other, report.Normalise(receipts("re_9x", "re_1a"))) {
		t.Error("other names of two receipts show")
	}
	before := []bench.Event{{Actor: "a", Kind: "note", Text: "made re_77z"}, {Actor: "b", Kind: "claim", Word: &bench.Word{Receipts: []string{"re_77z"}}}}
	if got := report.Normalise(before); bytes.Contains(got, []byte("re_77z")) {
		t.Errorf("a name in a text before the field that declares it is left: %s", got)
	}
	words := []bench.Event{{Actor: "a", Kind: "claim", Text: "2 of 3 done", Word: &bench.Word{Receipts: []string{"done", "2"}}}}
	if got := report.Normalise(words); !bytes.Contains(got, []byte("2 of 3 done")) {
		t.Errorf("an ordinary word or number was taken for a name: %s", got)
	}
	fromStore := copied(t, history(0))
	if !bytes.Equal(report.Normalise(fromStore), report.Normalise(history(0))) {
		t.Error("a history from the store normalises otherwise than one from memory")
	}
}

func BenchmarkNormalise(b *testing.B) {
	var events []bench.Event
	for range 4 { // about a trial's length
		events = append(events, history(0)...)
	}
	for b.Loop() {
		report.Normalise(events)
	}
}
