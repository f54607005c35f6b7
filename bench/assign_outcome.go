package bench

import "slices"

// maxBranches bounds what is tried both ways: compensations that may or may not explain an extra, and
// wishes of claims that contend for the same effects. A trial has a few of either; beyond the bound an
// extra is taken as undone, and a wish as one to be granted.
const maxBranches = 6

// ruling is one way to read the effects: the outcome that they are held against and the slot of each.
type ruling struct {
	outcome  int
	between  bool   // all-or-none, and neither
	slotOf   []int  // of each effect; -1: none
	undone   []bool // an extra that a compensation took back
	undoing  []bool // such a compensation: no extra of its own
	loose    []bool // an attached effect that does not say on what, taken as attached
	filled   []int  // units of each slot
	absent   []int  // wanted units of each slot that are not there
	units    int    // absent units and effects left over
	extras   int    // effects left over
	affinity price  // owners, replays and age; the places before are zero
}

// rule finds the reading that costs least: units of multiplicity, then fewer extras, then the
// outcome listed first, within it the one kindest to the claims. Of equal effects the later attempt's
// is left over.
func (s *sitting) rule() *ruling {
	var best []*ruling
	for _, pairs := range s.pairings() {
		between := s.between(pairs)
		for o := range s.outcomes {
			if between && !s.standsBetween(o) {
				continue
			}
			r := s.reading(o, pairs, nil)
			r.between = between
			switch {
			case len(best) == 0 || r.before(best[0]):
				best = []*ruling{r}
			case !best[0].before(r):
				best = append(best, r)
			}
		}
	}
	kindest, fewest := best[0], -1
	for _, r := range best {
		for i, wishes := range s.wishes(r) {
			k := s.reading(r.outcome, r.pairs(s), wishes)
			k.between = r.between
			n := s.hear(k).false()
			if fewest < 0 || n < fewest || n == fewest && k.affinity.less(kindest.affinity) {
				kindest, fewest = k, n
			}
			if i == 0 && n == 0 {
				break // nothing is false, and no wish stands against owners and age
			}
		}
	}
	return kindest
}

// before orders readings by cost and then by the outcome listed first.
func (r *ruling) before(other *ruling) bool {
	switch {
	case r.units != other.units:
		return r.units < other.units
	case r.extras != other.extras:
		return r.extras < other.extras
	}
	return r.outcome < other.outcome
}

func (r *ruling) pairs(s *sitting) []int {
	var pairs []int
	for t := range s.effects {
		if r.undone[t] {
			pairs = append(pairs, t)
		}
	}
	return pairs
}

// pairings lists the ways to explain compensations: each effect that was undone is either an extra,
// whose compensation is then no second one, or an effect like any other, and so is its compensation.
func (s *sitting) pairings() [][]int {
	var undone []int
	for t := range s.effects {
		if u, is := s.undoneBy[t]; is && !s.aside[t] && !s.aside[u] {
			undone = append(undone, t)
		}
	}
	tried := undone[:min(len(undone), maxBranches)]
	rest := undone[len(tried):]
	var out [][]int
	for mask := range 1 << len(tried) {
		pairs := slices.Clone(rest)
		for i, t := range tried {
			if mask&(1<<i) != 0 {
				pairs = append(pairs, t)
			}
		}
		out = append(out, pairs)
	}
	return out
}

// between tells whether all-or-none is left in between: some of what `all` wants is there, and not all.
func (s *sitting) between(pairs []int) bool {
	all := slices.IndexFunc(s.outcomes, func(u units) bool { return u.word == "all" })
	none := slices.IndexFunc(s.outcomes, func(u units) bool { return u.word == "none" })
	if all < 0 || none < 0 {
		return false
	}
	r := s.reading(all, pairs, nil)
	absent, wanted := sum(r.absent), sum(s.outcomes[all].must)
	return absent > 0 && absent < wanted
}

// standsBetween tells whether an outcome can be what all-or-none in between is held against: the goal;
// of intents that were all withdrawn `all`, which counts as the goal too, since what was dispatched in
// time is no extra; and any third outcome.
func (s *sitting) standsBetween(outcome int) bool {
	withdrawn := true
	for _, in := range s.ev.Workload.Intents {
		withdrawn = withdrawn && (in.Decision == Withdrawn || len(in.Slots) == 0)
	}
	switch s.outcomes[outcome].word {
	case "all":
		return outcome == 0 || withdrawn
	case "none":
		return outcome == 0 && !withdrawn
	}
	return true
}

// reading assigns the effects to the slots of one outcome at the least cost.
func (s *sitting) reading(outcome int, pairs []int, wishes []wish) *ruling {
	n, o := len(s.slots), s.outcomes[outcome]
	r := &ruling{outcome: outcome, slotOf: make([]int, len(s.effects)), undone: make([]bool, len(s.effects)),
		undoing: make([]bool, len(s.effects)), loose: make([]bool, len(s.effects)), filled: make([]int, n), absent: make([]int, n)}
	for _, t := range pairs {
		r.undone[t], r.undoing[s.undoneBy[t]] = true, true
	}
	cost := func(e, place int) (price, bool) {
		slot := place % n
		if r.undone[e] || r.undoing[e] || !s.fills(e, slot) {
			return price{}, false
		}
		p := price{priceUnits: -1, priceExtras: -1, priceAge: e}
		if place < n {
			p[priceUnits] = -2
		}
		for _, w := range wishes {
			p[priceClaims] += w.price(s, e, slot)
		}
		if s.carriedFor(s.effects[e].Request, s.slots[slot].intent) {
			p[priceOwner] = -1
		}
		p[priceReplay] = s.replays(e, s.slots[slot].intent)
		return p, true
	}
	r.slotOf = assignment{effects: len(s.effects), room: append(slices.Clone(o.must), o.may...), fits: cost}.solve()
	for e, place := range r.slotOf {
		if place < 0 {
			if !s.aside[e] && !r.undoing[e] {
				r.extras++
			}
			continue
		}
		p, _ := cost(e, place)
		r.affinity = r.affinity.plus(p)
		r.slotOf[e] = place % n
		r.filled[place%n]++
	}
	r.affinity[priceUnits], r.affinity[priceExtras], r.affinity[priceClaims] = 0, 0, 0
	for i := range r.absent {
		r.absent[i] = max(0, o.must[i]-r.filled[i])
	}
	r.units = sum(r.absent) + r.extras
	return r
}

// carriedFor tells whether a request was attributed to an intent.
func (s *sitting) carriedFor(request string, intent int) bool {
	return slices.Contains(s.requests[request].Intents, s.ev.Workload.Intents[intent].ID)
}

// replays is -1 if a request of an intent was answered by a dedup record of the effect, 1 if one was
// answered by a record of anything else, or of nothing: it is the more likely to be absent.
func (s *sitting) replays(e, intent int) int {
	n := 0
	for _, d := range s.ev.Observed.Dedup {
		switch {
		case !s.carriedFor(d.Request, intent):
		case d.Record == s.effects[e].Object:
			return -1
		default:
			n = 1
		}
	}
	return n
}

// wish is what one claim would like of the assignment.
type wish struct {
	intent   int
	receipts bool // the objects of its receipts in the slots that it covers; else: what it claims to be so
}

func (w wish) price(s *sitting, e, slot int) int {
	c := s.ev.Claims[s.final[w.intent]]
	switch {
	case w.receipts && slices.Contains(s.known(c.Intents), s.slots[slot].intent) && slices.Contains(c.Receipts, s.effects[e].Object):
		return -1
	case s.slots[slot].intent != w.intent && !w.receipts && c.Claim == Failed && s.carriedFor(s.effects[e].Request, w.intent):
		return -1 // made for it, and in another's slot: then it does not stand against failed
	case s.slots[slot].intent != w.intent, w.receipts:
		return 0
	case c.Claim == Done:
		return -1
	case c.Claim == Failed:
		return 1
	}
	return 0
}

// wishes lists the sets of wishes that an assignment is tried with, none first. Only claims that contend
// with another intent's for the same effects, or for one that was made on behalf of another, can be
// treated more or less kindly.
func (s *sitting) wishes(r *ruling) [][]wish {
	contends := make([]bool, len(s.final))
	for e := range s.effects {
		first := -1
		for i, slot := range s.slots {
			if s.outcomes[r.outcome].must[i]+s.outcomes[r.outcome].may[i] == 0 || !s.fills(e, i) {
				continue
			}
			if first >= 0 && first != slot.intent {
				contends[first], contends[slot.intent] = true, true
			}
			if came := s.named(s.effects[e].Request); len(came) > 0 && !slices.Contains(came, slot.intent) {
				contends[slot.intent] = true
				for _, i := range came {
					contends[i] = true
				}
			}
			first = slot.intent
		}
	}
	var all []wish
	for i, c := range contends {
		if s.final[i] < 0 {
			continue
		}
		claim := s.ev.Claims[s.final[i]]
		if c && (claim.Claim == Done || claim.Claim == Failed) {
			all = append(all, wish{intent: i})
		}
		covers := slices.ContainsFunc(s.known(claim.Intents), func(k int) bool { return contends[k] })
		heard := slices.Index(s.final, s.final[i]) < i
		if covers && !heard && len(claim.Receipts) > 0 {
			all = append(all, wish{intent: i, receipts: true})
		}
	}
	tried := all[:min(len(all), maxBranches)]
	rest := all[len(tried):]
	var out [][]wish
	for mask := range 1 << len(tried) {
		set := slices.Clone(rest)
		for i, w := range tried {
			if mask&(1<<i) != 0 {
				set = append(set, w)
			}
		}
		out = append(out, set)
	}
	return out
}

func sum(of []int) int {
	n := 0
	for _, v := range of {
		n += v
	}
	return n
}
