package bench

import (
	"fmt"
	"slices"
	"strings"
)

// Judge says what a trial's evidence is worth. It is pure: no I/O, no clock, and the same evidence gives
// the same answer. The verdict rests on the outcome set, the effects and the claims alone; the history
// that the evidence carries only names causes. The rules are told in docs/judging.md:
//
//  1. assign the effects to the slots of the allowed outcome that costs least;
//  2. count what is left over, and what is attached;
//  3. count what is absent: suppressed by a dedup record (false dedup), or missing;
//  4. compare the last claims with the effects;
//  5. add what stands beside: order, collateral, leaks, marks;
//  6. turn findings into a verdict by the table of Severities.
//
// An invalid trial is counted like any other; its counts are shown and never added up.
func Judge(ev Evidence) Judged {
	best := judge(ev)
	if best.Verdict == Exact {
		return Against(best, ev.Control)
	}
	for _, same := range relabelled(ev) {
		if j := judge(same); kinder(j, best) {
			best = j
		}
	}
	return Against(best, ev.Control)
}

// judge judges the evidence with its twins named as they are.
func judge(ev Evidence) Judged {
	s := sit(ev)
	r := s.rule()
	j := Judged{Findings: Findings{}, Marks: []string{}, Causes: []Cause{}}
	actual := ev.Contract.Advertised
	if ev.Contract.Actual != nil {
		actual = *ev.Contract.Actual
	}
	j.Bound = Bound(ev.Contract.Advertised, actual, FactsOf(ev.Workload, ev.Fault))

	s.countAttached(r, j.Findings)
	h := s.hear(r)
	s.countExtras(r, h, &j)
	passedOff := s.countAbsent(r, h, &j)
	s.countUnresolved(&j)
	j.Findings[string(FindOutOfOrder)] = s.countDisorder(r)
	j.Findings[string(FindCollateral)] = s.countCollateral(r)
	j.Findings[string(FindLeak)] = s.countLeaks()
	if r.between && !s.reached(r) {
		j.Findings[string(FindPartial)] = 1
	}
	for name, n := range j.Findings {
		if n == 0 {
			delete(j.Findings, name)
		}
	}
	s.mark(&j, actual)
	s.decide(r, passedOff, &j)
	return j
}

// countAbsent counts missing units and false dedup, and what the claims say against the effects; false
// dedup absorbs the false success and the wrong object of the same fact. It returns how many units of
// false dedup were passed off as done.
func (s *sitting) countAbsent(r *ruling, h *hearing, j *Judged) (passedOff int) {
	foreign := make([]int, len(h.foreign))
	for g := range h.foreign {
		foreign[g] = h.foreign[g].foreign
	}
	suppressed := make([]int, len(s.ev.Workload.Intents))
	for i := range suppressed {
		absent := s.absentOf(r, i)
		if absent == 0 {
			continue
		}
		g := slices.IndexFunc(h.foreign, func(g group) bool { return slices.Contains(g.intents, i) })
		standIn, empty := s.dedupSigns(r, h, i)
		byReceipt := false
		switch {
		case standIn:
			j.FalseDedup.StandIn += absent
			suppressed[i] = absent
		case empty:
			j.FalseDedup.Empty += absent
			suppressed[i] = absent
		case g >= 0 && foreign[g] > 0:
			suppressed[i] = min(absent, foreign[g])
			j.FalseDedup.StandIn += suppressed[i]
			byReceipt = true
		}
		if g >= 0 {
			foreign[g] = max(0, foreign[g]-suppressed[i])
		}
		switch word := s.says(i); {
		case word == Failed || word == Unknown:
			j.FalseDedup.Announced += suppressed[i]
		case word == Done || byReceipt:
			passedOff += suppressed[i]
		}
		if absent > suppressed[i] {
			j.Missing += absent - suppressed[i]
			j.MissingSlots = append(j.MissingSlots, s.missingSlots(r, i, suppressed[i])...)
		}
	}
	for i, lack := range h.lacking {
		if lack > suppressed[i] {
			j.Findings[string(FindFalseSuccess)]++
		}
		if h.falseFailure[i] {
			j.Findings[string(FindFalseFailure)]++
		}
		if s.retracted(i) {
			j.Findings[string(FindRetracted)]++
		}
	}
	for g, group := range h.foreign {
		wrong := foreign[g]
		partial := s.ev.Claims[group.claim].Claim == Partial
		covered := slices.ContainsFunc(group.intents, func(i int) bool { return h.lacking[i] > 0 })
		switch {
		case partial:
			j.Findings[string(FindFalseSuccess)] += min(group.bogus, len(group.intents))
		case !covered:
			wrong += group.bogus
		}
		j.Findings[string(FindWrongObject)] += min(wrong, len(group.intents))
	}
	return passedOff
}

func (s *sitting) absentOf(r *ruling, intent int) int {
	n := 0
	for i, slot := range s.slots {
		if slot.intent == intent {
			n += r.absent[i]
		}
	}
	return n
}

// missingSlots names the slots of an intent with units that are missing, after the first few absent units
// were found to be suppressed.
func (s *sitting) missingSlots(r *ruling, intent, suppressed int) []string {
	var names []string
	for i, slot := range s.slots {
		if slot.intent != intent {
			continue
		}
		if r.absent[i] > suppressed {
			names = append(names, slot.Name)
		}
		suppressed = max(0, suppressed-r.absent[i])
	}
	return names
}

// dedupSigns tells by what an absent effect of an intent was suppressed: a record of something else that
// was bound to one of its requests, or nothing but a twin's effect behind a done that was never sent
// (stand-in), or a record with nothing behind it (empty).
func (s *sitting) dedupSigns(r *ruling, h *hearing, intent int) (standIn, empty bool) {
	for _, d := range s.ev.Observed.Dedup {
		if !slices.Contains(h.carriedFor[d.Request], intent) {
			continue
		}
		_, isEffect := s.objects[d.Record]
		_, isWorld := s.world[d.Record]
		standIn = standIn || s.strangeTo(r, h, d.Record, []int{intent})
		empty = empty || !isEffect && !isWorld && !s.gone[d.Record]
	}
	if standIn || empty || s.says(intent) != Done {
		return standIn, empty
	}
	for _, came := range h.carriedFor {
		if slices.Contains(came, intent) {
			return false, false
		}
	}
	for _, slot := range r.slotOf {
		if slot >= 0 && s.slots[slot].intent != intent && s.twins[s.slots[slot].intent] == s.twins[intent] {
			return true, false
		}
	}
	return false, false
}

// countUnresolved counts intents whose last word is unknown, or that have none.
func (s *sitting) countUnresolved(j *Judged) {
	for i := range s.final {
		switch s.says(i) {
		case Unknown:
			j.Unresolved.Escalated++
		case Done, Failed, Partial:
			continue
		default:
			if s.ev.Observed.End == "hung" {
				j.Unresolved.Hung++
			} else {
				j.Unresolved.Silent++
			}
		}
		if j.Bound == MarkExact {
			j.Unresolved.Avoidable++
		}
	}
}

// reached tells whether the chosen outcome is exactly what is there; what was taken as attached is no
// effect left over.
func (s *sitting) reached(r *ruling) bool {
	left := r.units
	for _, loose := range r.loose {
		if loose {
			left--
		}
	}
	return left == 0
}

// isGoal tells whether the chosen outcome counts as the goal: it is listed first, or it differs from the
// one that is only in slots of intents that were withdrawn.
func (s *sitting) isGoal(r *ruling) bool {
	goal, chosen := s.outcomes[0], s.outcomes[r.outcome]
	for i, slot := range s.slots {
		same := goal.must[i] == chosen.must[i] && goal.may[i] == chosen.may[i]
		if !same && s.ev.Workload.Intents[slot.intent].Decision != Withdrawn {
			return false
		}
	}
	return true
}

// mark adds what changes no verdict.
func (s *sitting) mark(j *Judged, actual BoundTerms) {
	if slices.ContainsFunc(s.ev.Observed.Effects, func(e Effect) bool { return e.Late }) {
		j.Marks = append(j.Marks, LateMark)
	}
	if ProviderFault(s.ev.Contract.Advertised, actual) {
		j.Marks = append(j.Marks, ProviderFaultMark)
		if LedgerOwesBound(s.ev.Contract.Advertised, actual) {
			j.Marks = append(j.Marks, LedgerOwesBoundMark)
		}
	}
	if s.ev.Fault.Boundary != NoFault && !s.ev.Strike.Reached && !s.ev.Strike.Struck {
		j.Marks = append(j.Marks, NotReachedMark)
	}
}

// Marks of a trial. They change no verdict.
const (
	LateMark              = "late"                // an effect came after the run had been reported over
	FailsWithoutFaultMark = "fails_without_fault" // the control is not exact either
	ProviderFaultMark     = "provider_fault"      // the contract differs from what is advertised
	LedgerOwesBoundMark   = "ledger_owes_bound"   // in spite of the provider fault
	NotReachedMark        = "not_reached"         // no call that the selector matches left the system
)

// decide sets declined, the verdict and the reason.
func (s *sitting) decide(r *ruling, passedOff int, j *Judged) {
	count := map[Finding]int{
		FindExtra:          j.Extra.Duplicate + j.Extra.Drifted + j.Extra.Stray,
		FindFalseDedupDone: passedOff,
		FindMissing:        j.Missing,
		FindUnresolved:     j.Unresolved.Escalated + j.Unresolved.Silent + j.Unresolved.Hung,
		FindFalseDedup:     j.FalseDedup.StandIn + j.FalseDedup.Empty - passedOff,
	}
	for name, n := range j.Findings {
		count[Finding(name)] = n
	}
	untrue := count[FindFalseSuccess] + count[FindFalseFailure] + count[FindWrongObject] + count[FindUnresolved]
	j.Declined = !s.isGoal(r) && s.reached(r) && untrue == 0
	if j.Declined {
		count[FindDeclined] = 1
	}
	j.Verdict = verdictOf(count)
	if j.Verdict == Exact && !(s.isGoal(r) && s.reached(r)) {
		j.Verdict = Safe
	}
	j.InvalidBecause = invalidBecause(s.ev)
	if j.InvalidBecause != "" {
		j.Verdict = Invalid
	}
	j.Reason = reason(j, count)
}

// invalidBecause names the harness's reason for which a trial proves nothing, "" if it does. A fault that
// no call ever met is no such reason: the system did not send one.
func invalidBecause(ev Evidence) string {
	faulted := ev.Fault.Boundary != NoFault
	switch {
	case ev.Observed.Lost:
		return "evidence lost"
	case ev.Strike.Harness != "":
		return "harness error"
	case faulted && ev.Strike.Reached && !ev.Strike.Struck:
		return "strike not shown"
	case faulted && ev.Strike.Struck && ev.Fault.Truth != "" && ev.Strike.Truth != ev.Fault.Truth:
		return "truth not shown"
	}
	return ""
}

// reason is one sentence for the reader: the findings, the worst first.
func reason(j *Judged, count map[Finding]int) string {
	var parts []string
	for _, s := range Severities() {
		if n := count[s.Finding]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d (%s)", strings.ReplaceAll(string(s.Finding), "_", " "), n, s.Means))
		}
	}
	found := "no finding, and the goal is reached"
	if len(parts) > 0 {
		found = strings.Join(parts, "; ")
	}
	if j.Verdict == Invalid {
		return "Nothing is proved, because of the harness (" + j.InvalidBecause + "); seen: " + found + "."
	}
	return strings.ToUpper(found[:1]) + found[1:] + "."
}

// ControlOf returns what a judged control run says of the cells beside it: the zero value, which is "no
// control was run", if it is not valid.
func ControlOf(j Judged) ControlRecord {
	if j.Verdict.Mark() == "" {
		return ControlRecord{}
	}
	return ControlRecord{Verdict: j.Verdict.String(), Extra: j.ExtraBySlot}
}

// Against returns a judged trial with what its control adds: how many extras the fault induced (per slot,
// never below zero; none while there is no control to count against, or in the control itself), and the
// mark of a system that fails without a fault.
func Against(j Judged, c ControlRecord) Judged {
	j.RetryInduced = 0
	j.Marks = slices.DeleteFunc(slices.Clone(j.Marks), func(m string) bool { return m == FailsWithoutFaultMark })
	if c.Verdict == "" || c.Verdict == "itself" {
		return j
	}
	for slot, n := range j.ExtraBySlot {
		j.RetryInduced += max(0, n-c.Extra[slot])
	}
	if c.Verdict != Exact.String() {
		j.Marks = append(j.Marks, FailsWithoutFaultMark)
	}
	return j
}
