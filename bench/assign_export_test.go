package bench

// Cost is what a ruling costs, in the order in which it is decided.
type Cost struct {
	Units, Extras, Outcome int
	False                  int // claims that are false under it
}

func (c Cost) less(d Cost) bool {
	for i, pair := range [][2]int{{c.Units, d.Units}, {c.Extras, d.Extras}, {c.Outcome, d.Outcome}, {c.False, d.False}} {
		if pair[0] != pair[1] || i == 3 {
			return pair[0] < pair[1]
		}
	}
	return false
}

// RuledCost is the cost of the ruling that Judge takes.
func RuledCost(ev Evidence) Cost {
	s := sit(ev)
	r := s.rule()
	return Cost{r.units, r.extras, r.outcome, s.hear(r).false()}
}

// LeastCost is the least cost of any ruling, by trying all: every effect in every slot, or left over, or
// an extra that was undone.
func LeastCost(ev Evidence) Cost {
	s := sit(ev)
	best := Cost{Units: 1 << 30}
	for o := range s.outcomes {
		r := &ruling{outcome: o, slotOf: make([]int, len(s.effects)), undone: make([]bool, len(s.effects)), undoing: make([]bool, len(s.effects)),
			loose: make([]bool, len(s.effects)), filled: make([]int, len(s.slots)), absent: make([]int, len(s.slots))}
		s.tryAll(r, 0, &best)
	}
	return best
}

func (s *sitting) tryAll(r *ruling, e int, best *Cost) {
	o := s.outcomes[r.outcome]
	if e == len(s.effects) {
		if s.between(r.pairs(s)) && !s.standsBetween(r.outcome) {
			return
		}
		c := Cost{Outcome: r.outcome}
		for i := range r.absent {
			r.absent[i] = max(0, o.must[i]-r.filled[i])
			c.Units += r.absent[i]
		}
		for e, slot := range r.slotOf {
			if slot < 0 && !s.aside[e] && !r.undoing[e] {
				c.Extras++
			}
		}
		c.Units += c.Extras
		c.False = s.hear(r).false()
		if c.less(*best) {
			*best = c
		}
		return
	}
	r.slotOf[e] = -1
	s.tryAll(r, e+1, best)
	if u, is := s.undoneBy[e]; is && !s.aside[e] && !s.aside[u] && r.slotOf[e] < 0 && (u > e || r.slotOf[u] < 0) && !r.undone[u] && !r.undoing[e] {
		r.undone[e], r.undoing[u] = true, true
		s.tryAll(r, e+1, best)
		r.undone[e], r.undoing[u] = false, false
	}
	if r.undoing[e] {
		return
	}
	for i := range s.slots {
		if s.fills(e, i) && r.filled[i] < o.must[i]+o.may[i] {
			r.slotOf[e] = i
			r.filled[i]++
			s.tryAll(r, e+1, best)
			r.filled[i]--
			r.slotOf[e] = -1
		}
	}
}
