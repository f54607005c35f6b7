package bench

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// sitting is one trial laid out for judging: the evidence in a canonical order, so that nothing depends
// on the order in which slots or effects were written down.
type sitting struct {
	ev       Evidence
	intentAt map[string]int // position in ev.Workload.Intents
	twins    []int          // of each intent: the lowest position among its twins, itself if it has none
	slots    []judgeSlot    // by name
	effects  []judgeEffect  // by arrival of their request, then commit; under net what stands
	objects  map[string]int // position in effects
	gone     map[string]bool
	world    map[string]ObservedObject
	requests map[string]ObservedRequest
	undoneBy map[int]int // effect -> the first compensation that names it
	carried  map[carrier][]int
	diff     [][]int  // differences of each effect from each slot
	fit      [][]bool // whether each effect may fill each slot
	aside    []bool   // effects that are attached and have a declared place
	outcomes []units  // allowed outcomes, the goal first
	final    []int    // of each intent: the claim that counts, -1 for none
}

// judgeSlot is a slot with its defaults filled in.
type judgeSlot struct {
	Slot
	intent  int
	carrier int // slot whose effects carry this one; -1: none
}

// judgeEffect is an effect with its attempt.
type judgeEffect struct {
	Effect
	arrived    int // tick: of the request, or the commit where no request is known
	dispatched int
}

// carrier is an effect that carries attached ones of a slot.
type carrier struct{ effect, slot int }

// units says what an allowed outcome demands of each slot, and what it permits beyond.
type units struct {
	word string
	must []int
	may  []int
}

func sit(ev Evidence) *sitting {
	s := &sitting{ev: ev, intentAt: map[string]int{}, gone: map[string]bool{}, world: map[string]ObservedObject{}, requests: map[string]ObservedRequest{}}
	for i, in := range ev.Workload.Intents {
		s.intentAt[in.ID] = i
	}
	for _, o := range ev.Observed.World {
		s.world[o.Object] = o
	}
	for _, r := range ev.Observed.Requests {
		s.requests[r.Request] = r
	}
	s.findTwins()
	s.laySlots()
	s.layEffects()
	s.diff = make([][]int, len(s.effects))
	for e := range s.diff {
		s.diff[e] = make([]int, len(s.slots))
		for i := range s.slots {
			s.diff[e][i] = s.compare(e, i)
		}
	}
	s.attach()
	s.fit = make([][]bool, len(s.effects))
	for e := range s.fit {
		s.fit[e] = make([]bool, len(s.slots))
		for i, slot := range s.slots {
			s.fit[e][i] = slot.AttachedTo == "" && !s.aside[e] && s.diff[e][i] == 0 && s.inTurn(e, i) && !s.afterNo(e, i)
		}
	}
	s.layOutcomes()
	s.final = make([]int, len(ev.Workload.Intents))
	for i := range s.final {
		s.final[i] = s.finalClaim(i)
	}
	return s
}

func (s *sitting) findTwins() {
	intents := s.ev.Workload.Intents
	s.twins = make([]int, len(intents))
	for i := range intents {
		s.twins[i] = i
	}
	for i, in := range intents {
		of, known := s.intentAt[in.TwinOf]
		if in.TwinOf == "" || !known {
			continue
		}
		a, b := s.twins[i], s.twins[of]
		for k, g := range s.twins {
			if g == max(a, b) {
				s.twins[k] = min(a, b)
			}
		}
	}
}

func (s *sitting) laySlots() {
	for i, in := range s.ev.Workload.Intents {
		for _, slot := range in.Slots {
			if slot.Count == 0 {
				slot.Count = 1
			}
			if slot.Sign == 0 {
				slot.Sign = 1
			}
			s.slots = append(s.slots, judgeSlot{Slot: slot, intent: i, carrier: -1})
		}
	}
	sort.SliceStable(s.slots, func(a, b int) bool { return s.slots[a].Name < s.slots[b].Name })
	for i := range s.slots {
		if s.slots[i].AttachedTo == "" {
			continue
		}
		s.slots[i].carrier = slices.IndexFunc(s.slots, func(c judgeSlot) bool { return c.Name == s.slots[i].AttachedTo })
	}
}

func (s *sitting) layEffects() {
	for _, e := range s.ev.Observed.Effects {
		if e.Sign == 0 {
			e.Sign = 1
		}
		je := judgeEffect{Effect: e, arrived: e.Committed, dispatched: e.Committed}
		if r, known := s.requests[e.Request]; known {
			je.arrived, je.dispatched = r.Arrived, r.Dispatched
		}
		s.effects = append(s.effects, je)
	}
	sort.SliceStable(s.effects, func(a, b int) bool {
		x, y := s.effects[a], s.effects[b]
		switch {
		case x.arrived != y.arrived:
			return x.arrived < y.arrived
		case x.Committed != y.Committed:
			return x.Committed < y.Committed
		case x.Object != y.Object:
			return x.Object < y.Object
		}
		return fmt.Sprint(x.Effect) < fmt.Sprint(y.Effect)
	})
	s.pairUndone()
	if s.ev.Workload.Net {
		s.net()
	}
}

// pairUndone finds for each effect the first compensation that names it.
func (s *sitting) pairUndone() {
	s.objects, s.undoneBy = map[string]int{}, map[int]int{}
	for e := range s.effects {
		if _, twice := s.objects[s.effects[e].Object]; !twice {
			s.objects[s.effects[e].Object] = e
		}
	}
	undoing := map[int]bool{}
	for u := range s.effects {
		t, known := s.objects[s.effects[u].Undoes]
		if s.effects[u].Undoes == "" || !known || t == u || undoing[t] {
			continue
		}
		_, taken := s.undoneBy[t]
		if _, itself := s.undoneBy[u]; taken || itself {
			continue
		}
		s.undoneBy[t], undoing[u] = u, true
	}
}

// net leaves only what stands: an effect and the compensation that undid it are both gone.
func (s *sitting) net() {
	drop := map[int]bool{}
	for t, u := range s.undoneBy {
		drop[t], drop[u] = true, true
	}
	var stands []judgeEffect
	for e, effect := range s.effects {
		if drop[e] {
			s.gone[effect.Object] = true
			continue
		}
		stands = append(stands, effect)
	}
	s.effects = stands
	s.pairUndone()
}

// attach sets effects aside that hang on another effect and match a slot declared for that.
func (s *sitting) attach() {
	s.carried, s.aside = map[carrier][]int{}, make([]bool, len(s.effects))
	for e, effect := range s.effects {
		by, known := s.objects[effect.CarriedBy]
		if effect.CarriedBy == "" || !known || by == e {
			continue
		}
		for a, slot := range s.slots {
			if slot.carrier < 0 || !s.carries(by, a) || s.differences(e, a) != 0 {
				continue
			}
			s.aside[e] = true
			s.carried[carrier{by, a}] = append(s.carried[carrier{by, a}], e)
			break
		}
	}
}

// carries tells whether effect e is of the kind that carries attached slot a.
func (s *sitting) carries(e, a int) bool {
	c := s.slots[a].carrier
	return c >= 0 && s.effects[e].Class == s.slots[c].Class && s.effects[e].Sign == s.slots[c].Sign
}

func (s *sitting) layOutcomes() {
	allowed := s.ev.Workload.Outcomes
	if len(allowed) == 0 {
		allowed = []Outcome{{Word: "all"}}
	}
	for _, o := range allowed {
		u := units{word: o.Word, must: make([]int, len(s.slots)), may: make([]int, len(s.slots))}
		for i, slot := range s.slots {
			switch {
			case slot.AttachedTo != "" || o.Word == "none":
			case o.Word == "all":
				u.must[i] = max(0, slot.Count)
			default:
				u.must[i] = max(0, o.Counts[slot.Name])
				u.may[i] = max(0, o.AtMost[slot.Name]-u.must[i])
			}
		}
		s.outcomes = append(s.outcomes, u)
	}
}

// compare counts the matched attributes in which an effect differs from a slot; -1 if it is of
// another kind (class, sign). The principal counts as one more attribute where both sides name one.
func (s *sitting) compare(e, slot int) int {
	effect, want := s.effects[e], s.slots[slot]
	if effect.Class != want.Class || effect.Sign != want.Sign {
		return -1
	}
	n := 0
	for k, v := range want.Match {
		got, there := effect.Attrs[k]
		if !there || !sameValue(v, got) {
			n++
		}
	}
	if p := s.ev.Workload.Intents[want.intent].Principal; p != "" && effect.Principal != "" && p != effect.Principal {
		n++
	}
	return n
}

// drifts tells whether an effect matches a slot but for one attribute, and at least one that is matched
// on agrees.
func (s *sitting) drifts(e, slot int) bool {
	if s.differences(e, slot) != 1 {
		return false
	}
	for k, v := range s.slots[slot].Match {
		if got, there := s.effects[e].Attrs[k]; there && sameValue(v, got) {
			return true
		}
	}
	return false
}

// inTurn tells whether the attempt that made an effect arrived after the slot's turn was handed over.
func (s *sitting) inTurn(e, slot int) bool {
	turn := s.ev.Workload.Intents[s.slots[slot].intent].Turn
	for _, t := range s.ev.Observed.Turns {
		if t.Turn == turn {
			return s.effects[e].arrived > t.HandedOver
		}
	}
	return false
}

// afterNo tells whether the attempt that made an effect was dispatched after the system had received the
// denial or the withdrawal of the slot's intent.
func (s *sitting) afterNo(e, slot int) bool {
	in := s.ev.Workload.Intents[s.slots[slot].intent]
	if in.Decision != Denied && in.Decision != Withdrawn {
		return false
	}
	for _, d := range s.ev.Observed.Decisions {
		if d.Intent == in.ID && d.Decision == in.Decision && s.effects[e].dispatched >= d.Received {
			return true
		}
	}
	return false
}

// differences counts the attributes in which an effect differs from a slot; -1: it is of another kind.
func (s *sitting) differences(e, slot int) int { return s.diff[e][slot] }

// fills tells whether an effect may fill a slot: it matches, its attempt arrived after the turn was handed
// over, and had left before the system received a denial or a withdrawal.
func (s *sitting) fills(e, slot int) bool { return s.fit[e][slot] }

// asserted is how many units of each slot a claim of done speaks of: what the goal gives the intent; if
// the goal gives it nothing, what the first outcome that does gives it; else all its slots.
func (s *sitting) asserted(intent int) map[int]int {
	for _, o := range s.outcomes {
		want := map[int]int{}
		for i, slot := range s.slots {
			if slot.intent == intent && o.must[i] > 0 {
				want[i] = o.must[i]
			}
		}
		if len(want) > 0 {
			return want
		}
	}
	want := map[int]int{}
	for i, slot := range s.slots {
		if slot.intent == intent && slot.AttachedTo == "" {
			want[i] = max(0, slot.Count)
		}
	}
	return want
}

// signature tells slots of twins of one turn alike.
func (s *sitting) signature(slot int) string {
	sl := s.slots[slot]
	in := s.ev.Workload.Intents[sl.intent]
	return strings.Join([]string{fmt.Sprint(s.twins[sl.intent]), fmt.Sprint(in.Turn), sl.Class, fmt.Sprint(sl.Sign), fmt.Sprint(sl.Match), in.Principal}, "\x00")
}
