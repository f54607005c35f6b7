package bench_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sixthcopy/sixthcopy/bench"
)

// drawEvidence draws a small trial: up to three intents in up to two turns, twins among them, and a world
// that has little to do with what was asked.
func drawEvidence(t *rapid.T) bench.Evidence {
	var ev bench.Evidence
	n := rapid.IntRange(1, 3).Draw(t, "intents")
	var slots []bench.Slot
	for i := range n {
		in := bench.EvidenceIntent{ID: fmt.Sprintf("i%d", i), Turn: 1}
		if i > 0 {
			in.Turn = ev.Workload.Intents[i-1].Turn + rapid.IntRange(0, 1).Draw(t, "later turn")
		}
		in.Decision = rapid.SampledFrom([]bench.Decision{"", "", "", bench.Withdrawn, bench.Denied}).Draw(t, "decision")
		if twin := i > 0 && rapid.Bool().Draw(t, "twin"); twin {
			first := ev.Workload.Intents[0]
			in.TwinOf, in.Decision = first.ID, first.Decision
			for k, s := range first.Slots {
				s.Name = fmt.Sprintf("%s/%d", in.ID, k)
				in.Slots = append(in.Slots, s)
			}
		} else {
			for k := range rapid.IntRange(0, 2).Draw(t, "slots") {
				in.Slots = append(in.Slots, bench.Slot{Name: fmt.Sprintf("%s/%d", in.ID, k), Class: "c", Match: drawAttrs(t),
					Count: rapid.IntRange(0, 2).Draw(t, "count"), Sign: rapid.SampledFrom([]int{0, 1, 1, -1}).Draw(t, "sign")})
			}
		}
		ev.Workload.Intents = append(ev.Workload.Intents, in)
		slots = append(slots, in.Slots...)
		if in.Decision != "" {
			ev.Observed.Decisions = append(ev.Observed.Decisions, bench.ObservedDecision{Intent: in.ID, Decision: in.Decision, Received: rapid.IntRange(1, 300).Draw(t, "received")})
		}
	}
	ev.Workload.Outcomes = rapid.SampledFrom([][]bench.Outcome{
		{{Word: "all"}}, {{Word: "all"}}, {{Word: "none"}}, {{Word: "all"}, {Word: "none"}}, {{Word: "none"}, {Word: "all"}},
		{{Counts: map[string]int{"i0/0": 1}}, {Counts: map[string]int{"i0/1": 2}}},
		{{Counts: map[string]int{"i0/0": 1}, AtMost: map[string]int{"i0/0": 3, "i1/0": 1}}},
	}).Draw(t, "outcomes")
	ev.Workload.Net = rapid.IntRange(0, 4).Draw(t, "net") == 0
	ev.Observed.Turns = []bench.ObservedTurn{{Turn: 1}, {Turn: 2, HandedOver: 100}, {Turn: 3, HandedOver: 200}}
	var objects []string
	for k := range rapid.IntRange(0, 5).Draw(t, "requests") {
		at := 10 + 60*k
		r := bench.ObservedRequest{Request: fmt.Sprintf("r%d", k), Intents: drawIDs(t, ev), Dispatched: at - 1, Arrived: at,
			NewOn: []string{rapid.SampledFrom([]string{"model", "restart", "provider link"}).Draw(t, "new on")},
			Told:  rapid.SampledFrom([]string{"done", "nothing"}).Draw(t, "told")}
		ev.Observed.Requests = append(ev.Observed.Requests, r)
		if rapid.IntRange(0, 3).Draw(t, "dedup") == 0 {
			ev.Observed.Dedup = append(ev.Observed.Dedup, bench.DedupRecord{By: "provider", Request: r.Request,
				Record: rapid.SampledFrom(append(objects, "")).Draw(t, "record")})
			continue
		}
		e := bench.Effect{Object: fmt.Sprintf("o%d", k), Request: r.Request, Committed: at + 2, Class: "c", Attrs: drawAttrs(t)}
		if len(slots) > 0 && rapid.IntRange(0, 3).Draw(t, "as asked") > 0 {
			s := rapid.SampledFrom(slots).Draw(t, "slot")
			e.Class, e.Attrs, e.Sign = s.Class, s.Match, s.Sign
			if rapid.IntRange(0, 3).Draw(t, "attributed") > 0 {
				of, _, _ := strings.Cut(s.Name, "/")
				ev.Observed.Requests[k].Intents = []string{of}
			}
		}
		if len(objects) > 0 && rapid.IntRange(0, 4).Draw(t, "undoes") == 0 {
			e.Undoes, e.Sign = rapid.SampledFrom(objects).Draw(t, "undone"), -1
		}
		objects = append(objects, e.Object)
		ev.Observed.Effects = append(ev.Observed.Effects, e)
	}
	named := append(slices.Clone(objects), "nothing", "before")
	ev.Observed.World = []bench.ObservedObject{{Object: "before", Class: "c"}}
	for k := range rapid.IntRange(0, 4).Draw(t, "claims") {
		c := bench.ClaimRecord{Turn: 1, Call: k + 1, Intents: drawIDs(t, ev), At: 400 + k,
			Claim: rapid.SampledFrom([]string{bench.Done, bench.Done, bench.Failed, bench.Unknown, bench.Partial, bench.Deferred}).Draw(t, "claim")}
		for range rapid.IntRange(0, 2).Draw(t, "receipts") {
			c.Receipts = append(c.Receipts, rapid.SampledFrom(named).Draw(t, "receipt"))
		}
		ev.Claims = append(ev.Claims, c)
	}
	ev.Contract.Advertised = bench.BoundTerms{KeyHours: rapid.SampledFrom([]float64{0, 24}).Draw(t, "key hours")}
	ev.Fault = bench.EvidenceFault{Boundary: bench.CommittedBeforeResponse, Truth: bench.TruthCommitted, Intent: "i0"}
	ev.Strike = bench.StrikeRecord{Reached: true, Struck: true, Truth: bench.TruthCommitted}
	return ev
}

func drawAttrs(t *rapid.T) map[string]any {
	return map[string]any{"to": rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "to"), "n": rapid.IntRange(1, 2).Draw(t, "n")}
}

func drawIDs(t *rapid.T, ev bench.Evidence) []string {
	var ids []string
	for _, in := range ev.Workload.Intents {
		if rapid.Bool().Draw(t, "of "+in.ID) {
			ids = append(ids, in.ID)
		}
	}
	return ids
}

// clone copies evidence deeply.
func clone(t *rapid.T, ev bench.Evidence) bench.Evidence {
	text, err := json.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	var c bench.Evidence
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// counts is a judgement without names of slots and without text.
func counts(j bench.Judged) string {
	j.Reason, j.MissingSlots, j.ExtraBySlot = "", nil, nil
	slices.SortFunc(j.Causes, func(a, b bench.Cause) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	text, _ := json.Marshal(j)
	return string(text)
}

func extras(j bench.Judged) int { return j.Extra.Duplicate + j.Extra.Drifted + j.Extra.Stray }

func TestAssignmentIsMinimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ev := drawEvidence(t)
		got, least := bench.RuledCost(ev), bench.LeastCost(ev)
		if least.Extras > 0 {
			got.False, least.False = 0, 0 // of equal effects the later is left over, kind or not
		}
		if got != least {
			t.Fatalf("got %+v, the least is %+v", got, least)
		}
	})
}

func TestJudgeIsIndependentOfOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ev := drawEvidence(t)
		shuffled := clone(t, ev)
		for i, in := range shuffled.Workload.Intents {
			if len(in.Slots) > 1 {
				shuffled.Workload.Intents[i].Slots = rapid.Permutation(in.Slots).Draw(t, "slots of "+in.ID)
			}
		}
		o := &shuffled.Observed
		if len(o.Effects) > 1 {
			o.Effects = rapid.Permutation(o.Effects).Draw(t, "effects")
		}
		if len(o.Requests) > 1 {
			o.Requests = rapid.Permutation(o.Requests).Draw(t, "requests")
		}
		if len(shuffled.Claims) > 1 {
			shuffled.Claims = rapid.Permutation(shuffled.Claims).Draw(t, "claims")
		}
		a, b := bench.Judge(ev), bench.Judge(shuffled)
		slices.Sort(a.MissingSlots)
		slices.Sort(b.MissingSlots)
		if counts(a) != counts(b) || !slices.Equal(a.MissingSlots, b.MissingSlots) || fmt.Sprint(a.ExtraBySlot) != fmt.Sprint(b.ExtraBySlot) {
			t.Fatalf("in another order\n got %s %v\nwant %s %v", counts(b), b.MissingSlots, counts(a), a.MissingSlots)
		}
	})
}

func TestDuplicateNeverLowersExtras(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ev := drawEvidence(t)
		ev.Workload.Outcomes = ev.Workload.Outcomes[:1]
		if len(ev.Observed.Effects) == 0 {
			return
		}
		more := clone(t, ev)
		e := rapid.SampledFrom(more.Observed.Effects).Draw(t, "doubled")
		e.Object, e.Undoes, e.Request, e.Committed = "twice", "", "late", 402
		more.Observed.Requests = append(more.Observed.Requests, bench.ObservedRequest{Request: "late", Dispatched: 400, Arrived: 401})
		more.Observed.Effects = append(more.Observed.Effects, e)
		a, b := bench.Judge(ev), bench.Judge(more)
		before, after := extras(a)+a.Findings["unauthorised"], extras(b)+b.Findings["unauthorised"]
		if after < before {
			t.Fatalf("%d effects left over, %d after one more: %s\n%s", before, after, counts(a), counts(b))
		}
	})
}

func TestRelabellingTwinsChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ev := drawEvidence(t)
		in := ev.Workload.Intents
		var pairs [][2]string
		for i := range in {
			for k := range i {
				sameKin := in[i].TwinOf == in[k].ID || in[i].TwinOf != "" && in[i].TwinOf == in[k].TwinOf
				if sameKin && in[i].Turn == in[k].Turn {
					pairs = append(pairs, [2]string{in[k].ID, in[i].ID})
				}
			}
		}
		if len(pairs) == 0 || ev.Workload.Outcomes[0].Word == "" {
			return
		}
		p := rapid.SampledFrom(pairs).Draw(t, "pair")
		swapped := clone(t, ev)
		swap := func(ids []string) {
			for i, id := range ids {
				switch id {
				case p[0]:
					ids[i] = p[1]
				case p[1]:
					ids[i] = p[0]
				}
			}
		}
		for _, r := range swapped.Observed.Requests {
			swap(r.Intents)
		}
		for _, c := range swapped.Claims {
			swap(c.Intents)
		}
		for i := range swapped.Observed.Decisions {
			id := []string{swapped.Observed.Decisions[i].Intent}
			swap(id)
			swapped.Observed.Decisions[i].Intent = id[0]
		}
		if a, b := counts(bench.Judge(ev)), counts(bench.Judge(swapped)); a != b {
			t.Fatalf("with %s and %s exchanged\n got %s\nwant %s", p[0], p[1], b, a)
		}
	})
}

// One intent of so many units, so many effects, and every claim that can be made of them.
func TestTrueClaimIsNeverWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ev := drawEvidence(t)
		ev.Workload.Net = false
		want := rapid.IntRange(1, 3).Draw(t, "wanted")
		there := rapid.IntRange(0, 4).Draw(t, "there")
		slot := bench.Slot{Name: "s", Class: "mine", Match: map[string]any{"to": "eva"}, Count: want}
		ev.Workload.Intents = append(ev.Workload.Intents, bench.EvidenceIntent{ID: "mine", Turn: 1, Slots: []bench.Slot{slot}})
		ev.Workload.Outcomes = []bench.Outcome{{Word: "all"}}
		ev.Observed.Requests = append(ev.Observed.Requests, bench.ObservedRequest{Request: "mine", Intents: []string{"mine"}, Dispatched: 500, Arrived: 501})
		var own []string
		for k := range there {
			own = append(own, fmt.Sprintf("mine/%d", k))
			ev.Observed.Effects = append(ev.Observed.Effects, bench.Effect{Object: own[k], Request: "mine", Committed: 502 + k, Class: "mine", Attrs: slot.Match})
		}
		judge := func(word string, receipts ...string) bench.Judged {
			with := clone(t, ev)
			with.Claims = append(with.Claims, bench.ClaimRecord{Turn: 1, Call: 9, Intents: []string{"mine"}, At: 600, Claim: word, Receipts: receipts})
			return bench.Judge(with)
		}
		var honest, lies []bench.Judged
		if there >= want {
			honest = append(honest, judge(bench.Done), judge(bench.Done, own[:want]...))
		} else {
			lies = append(lies, judge(bench.Done), judge(bench.Done, own...))
		}
		if there == 0 {
			honest = append(honest, judge(bench.Failed))
		} else {
			lies = append(lies, judge(bench.Failed))
			honest = append(honest, judge(bench.Partial, own[:1]...))
		}
		honest = append(honest, judge(bench.Unknown))
		lies = append(lies, judge(bench.Done, append([]string{"before"}, own...)...), judge(bench.Partial, append([]string{"nothing"}, own...)...))
		for _, h := range honest {
			for _, l := range lies {
				if h.Verdict > l.Verdict {
					t.Fatalf("a true claim is %s, a false one %s:\n%s\n%s", h.Verdict, l.Verdict, counts(h), counts(l))
				}
			}
		}
		for _, l := range lies {
			if l.Verdict != bench.Violation {
				t.Fatalf("a false claim is %s, expected violation: %s", l.Verdict, counts(l))
			}
		}
	})
}

// FuzzJudge gives Judge any evidence that can be stored: it must answer, and answer the same again.
func FuzzJudge(f *testing.F) {
	for _, c := range goldenCases(f) {
		text, err := json.Marshal(c.Evidence)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, odd := range []string{
		`{}`,
		`{"workload":{"outcomes":[{"word":"every"}]}}`,
		`{"workload":{"intents":[{"id":"a","turn":1,"twin_of":"a","effects":[{"slot":"s","class":"c","count":-3,"attached_to":"s"}]}]}}`,
		`{"workload":{"intents":[{"id":"a","effects":[{"slot":"s","attached_to":"t"},{"slot":"t","attached_to":"s"}]}],"ordered":["s","s"]},
		  "observed":{"effects":[{"object":"x","carried_by":"y","undoes":"y"},{"object":"y","carried_by":"x","undoes":"x"}]}}`,
		`{"workload":{"intents":[{"id":"a"},{"id":"a"}]},"claims":[{"intents":["a","b","a"],"claim":"perhaps"}]}`,
	} {
		f.Add([]byte(odd))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var ev bench.Evidence
		if json.Unmarshal(text, &ev) != nil || len(ev.Observed.Effects) > 12 || len(ev.Workload.Intents) > 6 {
			return
		}
		a, b := bench.Judge(ev), bench.Judge(ev)
		if counts(a) != counts(b) || a.Reason != b.Reason {
			t.Errorf("judged twice:\n%s\n%s", counts(a), counts(b))
		}
		if a.Verdict == bench.Unjudged {
			t.Error("judged, and yet unjudged")
		}
	})
}
