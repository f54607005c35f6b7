package bench

import (
	"cmp"
	"slices"
)

// claimsOn lists the claims on an intent that say something, by time. Deferred says that another worker
// answers; where none does it is silence.
func (s *sitting) claimsOn(intent int) []int {
	var on []int
	for c, claim := range s.ev.Claims {
		if claim.Claim != Deferred && slices.Contains(claim.Intents, s.ev.Workload.Intents[intent].ID) {
			on = append(on, c)
		}
	}
	slices.SortStableFunc(on, func(a, b int) int { return cmp.Compare(s.ev.Claims[a].At, s.ev.Claims[b].At) })
	return on
}

// finalClaim returns the claim that counts, -1 for none: the last; under duplicate delivery a done that
// is true, whichever worker speaks last.
func (s *sitting) finalClaim(intent int) int {
	on := s.claimsOn(intent)
	if len(on) == 0 {
		return -1
	}
	lastOf := map[string]int{}
	for _, c := range on {
		lastOf[s.ev.Claims[c].Worker] = c
	}
	for i := len(on) - 1; i >= 0 && len(lastOf) > 1; i-- {
		c := on[i]
		if lastOf[s.ev.Claims[c].Worker] == c && s.ev.Claims[c].Claim == Done && s.couldBeDone(intent) {
			return c
		}
	}
	return on[len(on)-1]
}

// couldBeDone tells whether enough effects exist for all that done asserts of an intent.
func (s *sitting) couldBeDone(intent int) bool {
	for slot, want := range s.asserted(intent) {
		for e := range s.effects {
			if !s.aside[e] && s.differences(e, slot) == 0 && s.inTurn(e, slot) {
				want--
			}
		}
		if want > 0 {
			return false
		}
	}
	return true
}

// retracted tells whether a terminal claim on an intent was contradicted by a later one.
func (s *sitting) retracted(intent int) bool {
	on := s.claimsOn(intent)
	for i, a := range on {
		for _, b := range on[i+1:] {
			if s.contradicts(intent, s.ev.Claims[a], s.ev.Claims[b]) {
				return true
			}
		}
	}
	return false
}

// contradicts tells whether a later claim takes back an earlier one. Unknown takes back only what the
// same worker said of the same turn. A failed of an earlier turn is taken back by a later turn only if
// something of the intent had been asked of the provider before that turn: else the later call did it.
func (s *sitting) contradicts(intent int, early, late ClaimRecord) bool {
	same := early.Worker == late.Worker && early.Turn == late.Turn
	switch early.Claim {
	case Done:
		return late.Claim == Failed || late.Claim == Partial || late.Claim == Unknown && same
	case Partial:
		return late.Claim == Failed || late.Claim == Unknown && same
	case Failed:
		if late.Claim == Failed || late.Claim == Unknown && !same {
			return false
		}
		return late.Turn == early.Turn || s.existedBefore(intent, late.Turn)
	}
	return false
}

func (s *sitting) existedBefore(intent, turn int) bool {
	for _, t := range s.ev.Observed.Turns {
		for e := range s.effects {
			for i, slot := range s.slots {
				if t.Turn == turn && slot.intent == intent && s.effects[e].arrived < t.HandedOver && s.inTurn(e, i) && s.differences(e, i) == 0 {
					return true
				}
			}
		}
	}
	return false
}

// hearing is what the claims are worth under a ruling.
type hearing struct {
	carriedFor   map[string][]int // request -> intents, twins of one turn by count
	lacking      []int            // of each intent: units that its claim of done asserts and that are not there
	falseFailure []bool
	foreign      []group // claims with receipts that are not of their intents
}

// group is one claim as the last word on one or more intents, and what its receipts are worth.
type group struct {
	claim   int
	intents []int // on which it is the last word
	covers  []int // on which it is a word
	foreign int   // receipts of another intent's object, or of one from before the trial, or of one object twice
	bogus   int   // receipts of nothing, or of a stray
}

// false counts what is false in the claims, before false dedup absorbs any of it.
func (h *hearing) false() int {
	n := 0
	for i, l := range h.lacking {
		if l > 0 {
			n++
		}
		if h.falseFailure[i] {
			n++
		}
	}
	for _, g := range h.foreign {
		n += min(g.foreign, len(g.intents))
	}
	return n
}

// hear compares the last claims with the effects.
func (s *sitting) hear(r *ruling) *hearing {
	n := len(s.ev.Workload.Intents)
	h := &hearing{carriedFor: s.attribute(r), lacking: make([]int, n), falseFailure: make([]bool, n)}
	s.hearDone(r, h)
	for i := range n {
		h.falseFailure[i] = s.says(i) == Failed && s.stands(r, h, i)
	}
	s.hearReceipts(r, h)
	return h
}

// says returns the last word on an intent, "" for none.
func (s *sitting) says(intent int) string {
	if s.final[intent] < 0 {
		return ""
	}
	return s.ev.Claims[s.final[intent]].Claim
}

// attribute says for which intents each request came. Twins of one turn are told apart by count only:
// where an effect of one twin's request fills another's slot, the two change places.
func (s *sitting) attribute(r *ruling) map[string][]int {
	became := make([]int, len(s.ev.Workload.Intents)) // intent named by the evidence -> intent that it is
	taken, given := make([]bool, len(became)), make([]bool, len(became))
	for i := range became {
		became[i] = i
	}
	claim := func(named, is int) {
		if !given[named] && !taken[is] {
			became[named], given[named], taken[is] = is, true, true
		}
	}
	for _, own := range []bool{true, false} {
		for e, slot := range r.slotOf {
			if slot < 0 {
				continue
			}
			is := s.slots[slot].intent
			for _, named := range s.named(s.effects[e].Request) {
				if s.oneTurn(named, is) && (named == is) == own {
					claim(named, is)
				}
			}
		}
	}
	for i := range became {
		claim(i, i)
	}
	for i := range became {
		for k := 0; k < len(became) && !given[i]; k++ {
			if s.oneTurn(i, k) {
				claim(i, k)
			}
		}
	}
	out := map[string][]int{}
	for name := range s.requests {
		for _, named := range s.named(name) {
			out[name] = append(out[name], became[named])
		}
	}
	return out
}

func (s *sitting) named(request string) []int { return s.known(s.requests[request].Intents) }

// known returns the positions of intents by id.
func (s *sitting) known(ids []string) []int {
	var out []int
	for _, id := range ids {
		if i, known := s.intentAt[id]; known {
			out = append(out, i)
		}
	}
	return out
}

// oneTurn tells whether two intents are one, or twins of one turn.
func (s *sitting) oneTurn(a, b int) bool {
	in := s.ev.Workload.Intents
	return a == b || s.twins[a] == s.twins[b] && in[a].Turn == in[b].Turn
}

// hearDone counts for each claim of done what it asserts and what is not there. It goes by effects and
// not by the chosen outcome: an effect left over is there too, whatever else is wrong with it.
func (s *sitting) hearDone(r *ruling, h *hearing) {
	var slots, room []int
	for i := range h.lacking {
		if s.says(i) != Done {
			continue
		}
		for slot := range s.slots {
			if lack := s.asserted(i)[slot] - r.filled[slot]; lack > 0 {
				slots, room = append(slots, slot), append(room, lack)
			}
		}
	}
	place := assignment{effects: len(s.effects), room: slices.Clone(room), fits: func(e, p int) (price, bool) {
		left := r.slotOf[e] < 0 && !s.aside[e] && !r.undone[e] && !r.undoing[e]
		return price{priceUnits: -1, priceAge: e}, left && s.differences(e, slots[p]) == 0 && s.inTurn(e, slots[p])
	}}.solve()
	for _, p := range place {
		if p >= 0 {
			room[p]--
		}
	}
	for p, slot := range slots {
		h.lacking[s.slots[slot].intent] += room[p]
	}
}

// stands tells whether any effect of an intent stands after compensation. Attached effects are not
// spoken of. An effect left over that may belong to several intents stands against the first of them,
// and only if each was claimed failed.
func (s *sitting) stands(r *ruling, h *hearing, intent int) bool {
	undoing := map[int]bool{}
	for _, u := range s.undoneBy {
		undoing[u] = true
	}
	for e := range s.effects {
		_, undone := s.undoneBy[e]
		if undone || undoing[e] || s.aside[e] || r.loose[e] {
			continue
		}
		if slot := r.slotOf[e]; slot >= 0 {
			if s.slots[slot].intent == intent {
				return true
			}
			continue
		}
		owners := s.ownersLeft(h, e)
		if len(owners) == 0 && len(h.carriedFor[s.effects[e].Request]) == 1 {
			owners = h.carriedFor[s.effects[e].Request]
		}
		allFailed := !slices.ContainsFunc(owners, func(i int) bool { return s.says(i) != Failed })
		if len(owners) > 0 && owners[0] == intent && allFailed {
			return true
		}
	}
	return false
}

// ownersLeft lists the intents that an effect left over can belong to: those that its request came for
// and whose slots it matches or drifts from; where the request is not known, those whose slots it matches.
func (s *sitting) ownersLeft(h *hearing, e int) []int {
	came := h.carriedFor[s.effects[e].Request]
	var owners []int
	for i, slot := range s.slots {
		near := s.differences(e, i) == 0 || len(came) > 0 && s.drifts(e, i)
		if near && (len(came) == 0 || slices.Contains(came, slot.intent)) && !slices.Contains(owners, slot.intent) {
			owners = append(owners, slot.intent)
		}
	}
	slices.Sort(owners)
	return owners
}

// owners lists the intents that an object is an effect of.
func (s *sitting) owners(r *ruling, h *hearing, e int) []int {
	for range s.effects { // an attached effect is its carrier's
		if !s.aside[e] {
			break
		}
		e = s.objects[s.effects[e].CarriedBy]
	}
	switch {
	case r.slotOf[e] >= 0:
		return []int{s.slots[r.slotOf[e]].intent}
	case r.undoing[e]:
		return h.carriedFor[s.effects[e].Request]
	}
	return s.ownersLeft(h, e)
}

// strangeTo tells whether a named object is another intent's effect, or one from before the trial.
func (s *sitting) strangeTo(r *ruling, h *hearing, object string, intents []int) bool {
	if e, known := s.objects[object]; known {
		owners := s.owners(r, h, e)
		return len(owners) > 0 && !meet(owners, intents)
	}
	_, before := s.world[object]
	return before
}

// ownTo tells whether a named object is an effect of one of the intents.
func (s *sitting) ownTo(r *ruling, h *hearing, object string, intents []int) bool {
	e, known := s.objects[object]
	return known && meet(s.owners(r, h, e), intents)
}

// hearReceipts groups the claims of done and partial and weighs their receipts. One object backs one
// claim; within a claim a repeated receipt is foreign where it stands for a unit that has none of its own.
func (s *sitting) hearReceipts(r *ruling, h *hearing) {
	backs := map[string]bool{}
	for _, c := range s.groups() {
		claim := s.ev.Claims[c.claim]
		var own []string
		repeats := 0
		for _, object := range claim.Receipts {
			switch {
			case slices.Contains(own, object):
				repeats++
			case s.strangeTo(r, h, object, c.covers), s.ownTo(r, h, object, c.covers) && backs[object]:
				c.foreign++
			case s.ownTo(r, h, object, c.covers):
				own = append(own, object)
			default:
				c.bogus++
			}
		}
		wanted := 0
		for _, i := range c.intents {
			for _, n := range s.asserted(i) {
				wanted += n
			}
		}
		c.foreign += min(repeats, max(0, wanted-len(own)))
		for _, object := range own {
			backs[object] = true
		}
		h.foreign = append(h.foreign, c)
	}
}

// groups lists the claims of done and partial that count, each once, with the intents on which they are
// the last word.
func (s *sitting) groups() []group {
	var out []group
	for i, c := range s.final {
		if w := s.says(i); w != Done && w != Partial {
			continue
		}
		at := slices.IndexFunc(out, func(g group) bool { return g.claim == c })
		if at < 0 {
			out = append(out, group{claim: c, covers: s.known(s.ev.Claims[c].Intents)})
			at = len(out) - 1
		}
		out[at].intents = append(out[at].intents, i)
	}
	slices.SortStableFunc(out, func(a, b group) int {
		x, y := s.ev.Claims[a.claim], s.ev.Claims[b.claim]
		return cmp.Or(cmp.Compare(x.Turn, y.Turn), cmp.Compare(x.Call, y.Call), cmp.Compare(x.At, y.At))
	})
	return out
}

func meet(a, b []int) bool {
	return slices.ContainsFunc(a, func(v int) bool { return slices.Contains(b, v) })
}
