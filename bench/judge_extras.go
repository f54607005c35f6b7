package bench

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
)

// left is what an effect left over is.
type left int

const (
	notLeft left = iota // in its slot, or attached, or a compensation that is no second extra
	leftUnauthorised
	leftSecondary
	leftDuplicate
	leftDrifted
	leftStray
)

// leftover classifies an effect under a ruling, and names the slot that reports count it under.
func (s *sitting) leftover(r *ruling, e int) (left, string) {
	if r.slotOf[e] >= 0 || s.aside[e] || r.undoing[e] || r.loose[e] {
		return notLeft, ""
	}
	effect := s.effects[e]
	duplicate, drifted := "", ""
	for i, slot := range s.slots {
		switch {
		case s.differences(e, i) == 0:
			decision := s.ev.Workload.Intents[slot.intent].Decision
			if decision == Denied || decision == Withdrawn && s.afterNo(e, i) {
				return leftUnauthorised, ""
			}
			o := s.outcomes[r.outcome]
			if duplicate == "" && r.filled[i] >= o.must[i]+o.may[i] {
				duplicate = slot.Name
			}
		case drifted == "" && s.drifts(e, i):
			drifted = slot.Name
		}
	}
	_, carried := s.objects[effect.CarriedBy]
	switch {
	case effect.CarriedBy != "" && carried && effect.CarriedBy != effect.Object:
		return leftSecondary, ""
	case duplicate != "":
		return leftDuplicate, duplicate
	case drifted != "":
		return leftDrifted, drifted
	}
	return leftStray, "stray " + effect.Class
}

// countExtras counts effects left over, with the cause of each extra.
func (s *sitting) countExtras(r *ruling, h *hearing, j *Judged) {
	j.ExtraBySlot = map[string]int{}
	for e := range s.effects {
		kind, under := s.leftover(r, e)
		switch kind {
		case notLeft:
			continue
		case leftUnauthorised:
			j.Findings[string(FindUnauthorised)]++
			continue
		case leftSecondary:
			j.Findings[string(FindSecondaryExtra)]++
			continue
		case leftDuplicate:
			j.Extra.Duplicate++
		case leftDrifted:
			j.Extra.Drifted++
		case leftStray:
			j.Extra.Stray++
		}
		j.ExtraBySlot[under]++
		if r.undone[e] {
			j.Extra.Compensated++
		}
		j.Causes = append(j.Causes, s.cause(h, e))
	}
}

// Links of an attempt, the outermost first.
var outermostFirst = []string{"redelivery", "restart", "model", "agent link", "provider link"}

// cause names the outermost link with a new message before the attempt that made an extra, and what had
// been told of the attempt before.
func (s *sitting) cause(h *hearing, e int) Cause {
	c := Cause{Layer: "unknown", Told: "nothing"}
	r, known := s.requests[s.effects[e].Request]
	if !known {
		return c
	}
	for _, link := range outermostFirst {
		if slices.Contains(r.NewOn, link) {
			c.Layer = link
			break
		}
	}
	before := -1
	for i, earlier := range s.ev.Observed.Requests {
		if earlier.Arrived < r.Arrived && meet(h.carriedFor[earlier.Request], h.carriedFor[r.Request]) &&
			(before < 0 || earlier.Arrived > s.ev.Observed.Requests[before].Arrived) {
			before = i
		}
	}
	if before >= 0 {
		c.Told = cmp.Or(s.ev.Observed.Requests[before].Told, "nothing")
	}
	return c
}

// countAttached counts attached effects against their carriers: one per carrying effect and unit, extras
// included. Attached effects that do not say on what they hang are taken where one is missing, then where
// an extra may carry one; the rest are effects left over like others.
func (s *sitting) countAttached(r *ruling, f Findings) {
	for a, slot := range s.slots {
		if slot.AttachedTo == "" {
			continue
		}
		wanted := s.wanted(r, a, len(s.slots))
		room, missing := 0, 0
		for e := range s.effects {
			if slot.carrier < 0 || !s.carries(e, a) {
				continue
			}
			there := len(s.carried[carrier{e, a}])
			f[string(FindSecondaryExtra)] += max(0, there-slot.Count)
			if lack := max(0, slot.Count-there); slices.Contains(wanted, e) {
				missing += lack
			} else {
				room += lack
			}
		}
		for e := range s.effects {
			if kind, _ := s.leftover(r, e); kind == notLeft || kind == leftSecondary || s.differences(e, a) != 0 {
				continue
			}
			switch {
			case missing > 0:
				missing--
			case room > 0:
				room--
			default:
				continue
			}
			r.loose[e] = true
		}
		f[string(FindSecondaryMissing)] += missing
	}
}

// wanted lists the effects that should carry attached slot a: those in the slot that it hangs on, which
// may itself be attached (hops bounds a circle of slots).
func (s *sitting) wanted(r *ruling, a, hops int) []int {
	on := s.slots[a].carrier
	var out []int
	switch {
	case on < 0 || hops == 0:
	case s.slots[on].AttachedTo == "":
		for e, slot := range r.slotOf {
			if slot == on {
				out = append(out, e)
			}
		}
	default:
		for _, e := range s.wanted(r, on, hops-1) {
			hang := s.carried[carrier{e, on}]
			out = append(out, hang[:max(0, min(len(hang), s.slots[on].Count))]...)
		}
	}
	return out
}

// countDisorder counts the effects that would have to move to restore the declared order: all but the
// longest run that keeps it. Among twins of one turn order is by count as well.
func (s *sitting) countDisorder(r *ruling) int {
	rank := map[string]int{}
	for i, name := range s.ev.Workload.Ordered {
		rank[name] = i
	}
	type placed struct {
		effect, rank int
		alike        string
	}
	var line []placed
	for e, slot := range r.slotOf {
		if slot < 0 {
			continue
		}
		if k, ordered := rank[s.slots[slot].Name]; ordered {
			line = append(line, placed{e, k, s.signature(slot)})
		}
	}
	sort.SliceStable(line, func(a, b int) bool { return s.effects[line[a].effect].Committed < s.effects[line[b].effect].Committed })
	alike := map[string][]int{}
	for _, p := range line {
		alike[p.alike] = append(alike[p.alike], p.rank)
	}
	for _, ranks := range alike {
		slices.Sort(ranks)
	}
	longest := make([]int, len(line))
	most := 0
	for i, p := range line {
		line[i].rank, alike[p.alike] = alike[p.alike][0], alike[p.alike][1:]
		for k := range i {
			if line[k].rank <= line[i].rank {
				longest[i] = max(longest[i], longest[k])
			}
		}
		longest[i]++
		most = max(most, longest[i])
	}
	return len(line) - most
}

// countCollateral counts effects that spoilt an object which nobody asked to touch. An effect in its slot
// may well touch the very object that the slot is about.
func (s *sitting) countCollateral(r *ruling) int {
	n := 0
	for e, effect := range s.effects {
		asked := false
		if slot := r.slotOf[e]; slot >= 0 {
			asked = effect.Harms == effect.Object || effect.Harms == effect.Undoes
			for _, v := range s.slots[slot].Match {
				asked = asked || sameValue(v, effect.Harms)
			}
		}
		if effect.Harms != "" && !asked {
			n++
		}
	}
	return n
}

// countLeaks counts answers that show another principal's object: receipts, and dedup records that
// answered a request, each object once for the same intents.
func (s *sitting) countLeaks() int {
	of := map[string]string{}
	for _, o := range s.ev.Observed.World {
		of[o.Object] = o.Principal
	}
	for _, e := range s.ev.Observed.Effects {
		of[e.Object] = e.Principal
	}
	leaks := map[string]bool{}
	look := func(ids []string, object string) {
		intents := s.known(ids)
		theirs := len(intents) == 0 || of[object] == ""
		for _, i := range intents {
			p := s.ev.Workload.Intents[i].Principal
			theirs = theirs || p == "" || p == of[object]
		}
		if !theirs {
			leaks[fmt.Sprint(intents, object)] = true
		}
	}
	for _, c := range s.ev.Claims {
		for _, object := range c.Receipts {
			look(c.Intents, object)
		}
	}
	for _, d := range s.ev.Observed.Dedup {
		look(s.requests[d.Request].Intents, d.Record)
	}
	return len(leaks)
}
