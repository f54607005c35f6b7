package bench

import "math"

// BoundFacts is what a class of cells gives the system, beside the contract: the same for all members.
type BoundFacts struct {
	NoEffects       bool    // the struck intent declares none: a read
	Told            Truth   // one member only, and its truth is told by what is observed (a refused dial, no fault at all); "": not told
	NothingGetsIn   bool    // no attempt of the intent is ever answered again
	Withdrawn       bool    // the goal was withdrawn while the call was open
	Denied          bool    // a human said no, and nothing had happened by then: to do nothing is the goal
	AskedAgain      bool    // a later turn says the same words without `continues`: asked again, or wanted twice
	HoursPass       float64 // between the first attempt and the repair
	ProviderFailure bool    // the provider itself answered a failure, which it may have stored under the key
	ProviderCrash   bool    // in some member the provider crashed, and may have left the key in use
}

// FactsOf reads the facts of a trial's class from its workload and its planned fault. The plan calls it
// with the same two values that go into the evidence, so that class and trial have one bound.
func FactsOf(w EvidenceWorkload, f EvidenceFault) BoundFacts {
	facts := BoundFacts{
		NothingGetsIn:   f.Extent == "intent" || f.Extent == "forever",
		HoursPass:       f.HoursPass,
		ProviderFailure: f.ProviderFailure,
		ProviderCrash:   f.ProviderCrash,
	}
	switch {
	case f.Boundary == NoFault:
		facts.Told = TruthNone
	case f.ProofOfNonDelivery:
		facts.Told = TruthNothing
	case f.TruthTold:
		facts.Told = f.Truth
	}
	for _, i := range w.Intents {
		if i.ID != f.Intent {
			continue
		}
		facts.NoEffects = len(i.Slots) == 0
		facts.Withdrawn = i.Decision == Withdrawn
		facts.Denied = i.Decision == Denied && f.Truth == TruthNothing
		facts.AskedAgain = f.Boundary != NoFault && askedAgain(w, f.Boundary, i)
	}
	return facts
}

// askedAgain tells whether the system meets, after the struck call, a turn that looks like a new wish and
// like a repetition of the old one. A repetition is that without `continues`. A wanted twin is, if the
// call before it was broken off (during-cancellation): a turn that ended and settled by itself is over,
// and equal words after it are a new wish.
func askedAgain(w EvidenceWorkload, b Boundary, struck EvidenceIntent) bool {
	for _, t := range w.Turns {
		if t.AsksAgain == struck.ID {
			return t.Continues == 0 // one that continues settles the old wish before a twin comes
		}
	}
	for _, i := range w.Intents {
		if b == DuringCancellation && i.Turn > struck.Turn && i.TwinOf == struck.ID {
			return true
		}
	}
	return false
}

// Bound is the best mark that one behaviour can reach in all members of a class, given the advertised
// and the actual contract and what the class gives the system: MarkExact or MarkSafe. An ability counts
// only if it is advertised and true. The first line that applies decides:
//
//	no effects declared, denied before anything was sent, or the
//	only member's truth is told                                     exact
//	no room for all that the goal asks for                          safe
//	nothing gets through for good                                   safe
//	asked again, or wanted twice, and nobody says which,
//	where there can be more than one                                safe
//	withdrawn                                                       exact with a usable look-up, else safe
//	key replayable at that hour: not answered by a stored failure,
//	not dropped by one, not left in use by a crash                  exact
//	usable look-up                                                  exact
//	unique constraint, or naturally idempotent                      exact
//	else                                                            safe
//
// A look-up is usable if it goes by an identity of the intent, its lag has a documented limit, and so has
// the time in which a lost call may still commit. Where nothing ever gets through, being told that
// nothing happened helps only if nothing is wanted any more: the goal stays out of reach. Where nature or a
// unique constraint lets there be one effect only, equal words cannot want a second, so they ask again.
func Bound(advertised, actual BoundTerms, f BoundFacts) Mark {
	t := kept(advertised, actual)
	key := t.KeyHours > 0 && f.HoursPass <= t.KeyHours && !((t.SavesFailures || t.Breaks.ForgetsOnError) && f.ProviderFailure) &&
		!(t.Breaks.ClaimsStay && f.ProviderCrash)
	exactIf := func(is bool) Mark {
		if is {
			return MarkExact
		}
		return MarkSafe
	}
	outOfReach := f.NothingGetsIn && f.Told == TruthNothing && !f.Withdrawn
	switch {
	case f.NoEffects, f.Denied:
		return MarkExact
	case t.Short && !f.Withdrawn:
		return MarkSafe
	case f.Told != "" && !outOfReach:
		return MarkExact
	case f.NothingGetsIn, f.AskedAgain && !t.NaturallyIdempotent && !t.Unique:
		return MarkSafe
	case f.Withdrawn:
		return exactIf(t.usableLookUp())
	}
	return exactIf(key || t.usableLookUp() || t.Unique || t.NaturallyIdempotent)
}

// ProviderFault tells whether a contract differs from what is advertised.
func ProviderFault(advertised, actual BoundTerms) bool {
	return advertised.plain() != actual.plain()
}

// LedgerOwesBound tells whether the reference ledger must reach the bound in spite of a provider fault:
// only if a usable look-up is both advertised and true. Without a provider fault it always must.
func LedgerOwesBound(advertised, actual BoundTerms) bool {
	return !ProviderFault(advertised, actual) || kept(advertised, actual).usableLookUp()
}

// kept is what a system can build on: of each dimension the weaker of what is said and what is so.
func kept(said, is BoundTerms) BoundTerms {
	t := BoundTerms{
		KeyHours:      min(said.KeyHours, is.KeyHours),
		SavesFailures: said.SavesFailures || is.SavesFailures,
		Unique:        said.Unique && is.Unique,
		LookUp:        "none",
		Breaks: KeyBreaks{
			ClaimsStay:     said.Breaks.ClaimsStay || is.Breaks.ClaimsStay,
			ForgetsOnError: said.Breaks.ForgetsOnError || is.Breaks.ForgetsOnError,
			Shared:         said.Breaks.Shared || is.Breaks.Shared,
			LatestOnly:     said.Breaks.LatestOnly || is.Breaks.LatestOnly,
		},
		NaturallyIdempotent: said.NaturallyIdempotent && is.NaturallyIdempotent,
		Short:               said.Short || is.Short,
	}
	if lookUpRank(is.LookUp) >= lookUpRank(said.LookUp) {
		t.LookUp = said.LookUp
	}
	if said.byAttributes() || is.byAttributes() {
		t.LookUpBy = "attributes"
	}
	if said.CommitsWithin != nil && is.CommitsWithin != nil && *is.CommitsWithin <= *said.CommitsWithin {
		t.CommitsWithin = said.CommitsWithin
	}
	return t
}

// lookUpRank orders look-ups by what a negative answer proves.
func lookUpRank(kind string) int {
	switch kind {
	case "authoritative":
		return 3
	case "bounded":
		return 2
	case "lags":
		return 1
	}
	return 0
}

func (t BoundTerms) byAttributes() bool { return t.LookUpBy == "attributes" }

func (t BoundTerms) usableLookUp() bool {
	return lookUpRank(t.LookUp) >= 2 && !t.byAttributes() && t.CommitsWithin != nil
}

// plainTerms are BoundTerms that compare by value, with defaults spelled out.
type plainTerms struct {
	keyHours                              float64
	savesFailures, unique, natural, byAny bool
	lookUp                                int
	commitsWithin                         float64
	breaks                                KeyBreaks
}

func (t BoundTerms) plain() plainTerms {
	p := plainTerms{
		keyHours:      t.KeyHours,
		savesFailures: t.SavesFailures,
		unique:        t.Unique,
		natural:       t.NaturallyIdempotent,
		byAny:         t.byAttributes() && lookUpRank(t.LookUp) > 0,
		lookUp:        lookUpRank(t.LookUp),
		commitsWithin: math.Inf(1),
		breaks:        t.Breaks,
	}
	if t.CommitsWithin != nil {
		p.commitsWithin = *t.CommitsWithin
	}
	return p
}
