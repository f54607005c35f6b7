package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// maxAlike bounds the twins of one turn whose names are exchanged: 3 have 6 orders.
const maxAlike = 3

// relabelled returns the evidence with the names of twins of one turn exchanged wherever they were put
// down during the trial, in every way but the given one. Nothing tells such twins apart, so that all of
// these are the same evidence; Judge takes the kindest, and so the names that they happen to have decide
// nothing.
func relabelled(ev Evidence) []Evidence {
	s := sit(ev)
	names := []map[string]string{{}}
	done := map[int]bool{}
	for i, in := range ev.Workload.Intents {
		var alike []string
		for k := i; k < len(s.twins); k++ {
			if s.oneTurn(i, k) && !done[k] && s.interchangeable(i, k) {
				alike = append(alike, ev.Workload.Intents[k].ID)
				done[k] = true
			}
		}
		if len(alike) < 2 || len(alike) > maxAlike || s.intentAt[in.ID] != i {
			continue
		}
		var more []map[string]string
		for _, rename := range names {
			for _, order := range orders(alike) {
				next := map[string]string{}
				for from, to := range rename {
					next[from] = to
				}
				for k, id := range alike {
					next[id] = order[k]
				}
				more = append(more, next)
			}
		}
		names = more[:min(len(more), maxAlike*2*maxAlike*2)]
	}
	var out []Evidence
	for _, rename := range names[1:] {
		out = append(out, renamed(ev, rename))
	}
	return out
}

// interchangeable tells whether two intents demand the same and are bound by the same decision.
func (s *sitting) interchangeable(a, b int) bool {
	in := s.ev.Workload.Intents
	if in[a].Decision != in[b].Decision || len(in[a].Slots) != len(in[b].Slots) {
		return false
	}
	demand := func(intent int) []string {
		var all []string
		for i, slot := range s.slots {
			if slot.intent == intent {
				units := fmt.Sprint(slot.Count)
				for _, o := range s.outcomes {
					units += fmt.Sprint(" ", o.must[i], " ", o.may[i])
				}
				all = append(all, s.signature(i)+units)
			}
		}
		slices.Sort(all)
		return all
	}
	return slices.Equal(demand(a), demand(b))
}

// orders lists the orders of a few names, the given one first.
func orders(of []string) [][]string {
	if len(of) < 2 {
		return [][]string{of}
	}
	var out [][]string
	for i := range of {
		rest := slices.Delete(slices.Clone(of), i, i+1)
		for _, o := range orders(rest) {
			out = append(out, append([]string{of[i]}, o...))
		}
	}
	return out
}

// renamed puts other names of intents wherever the trial put one down.
func renamed(ev Evidence, to map[string]string) Evidence {
	name := func(id string) string {
		if n, there := to[id]; there {
			return n
		}
		return id
	}
	all := func(ids []string) []string {
		out := make([]string, len(ids))
		for i, id := range ids {
			out[i] = name(id)
		}
		return out
	}
	ev.Observed.Requests = slices.Clone(ev.Observed.Requests)
	for i, r := range ev.Observed.Requests {
		ev.Observed.Requests[i].Intents = all(r.Intents)
	}
	ev.Observed.Decisions = slices.Clone(ev.Observed.Decisions)
	for i, d := range ev.Observed.Decisions {
		ev.Observed.Decisions[i].Intent = name(d.Intent)
	}
	ev.Claims = slices.Clone(ev.Claims)
	for i, c := range ev.Claims {
		ev.Claims[i].Intents = all(c.Intents)
	}
	return ev
}

// kinder orders judgements of the same evidence: the better verdict, then fewer causes to doubt a claim,
// then anything that is the same every time.
func kinder(a, b Judged) bool {
	if a.Verdict != b.Verdict {
		return a.Verdict < b.Verdict
	}
	untrue := func(j Judged) int {
		return j.Findings[string(FindFalseSuccess)] + j.Findings[string(FindFalseFailure)] + j.Findings[string(FindWrongObject)]
	}
	if untrue(a) != untrue(b) {
		return untrue(a) < untrue(b)
	}
	return a.text() < b.text()
}

// text spells a judgement without the names of slots.
func (j Judged) text() string {
	causes := slices.Clone(j.Causes)
	slices.SortFunc(causes, func(a, b Cause) int { return cmp.Or(cmp.Compare(a.Layer, b.Layer), cmp.Compare(a.Told, b.Told)) })
	text, err := json.Marshal([]any{j.shape(), causes})
	if err != nil {
		return err.Error() // strings and numbers marshal
	}
	return string(text)
}
