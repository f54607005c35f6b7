package bench

import "fmt"

// Finding is something that Judge can find in a trial.
type Finding string

// The findings in the order in which reports show them. What is counted stands in docs/judging.md.
const (
	FindExtra            Finding = "extra"             // an effect left over
	FindFalseSuccess     Finding = "false_success"     // claimed done, not there
	FindFalseFailure     Finding = "false_failure"     // claimed failed, yet there
	FindWrongObject      Finding = "wrong_object"      // a receipt of something else
	FindUnauthorised     Finding = "unauthorised"      // made after the denial or withdrawal had been received
	FindCollateral       Finding = "collateral"        // an object spoilt that nobody asked to touch
	FindLeak             Finding = "leak"              // another principal's answer
	FindSecondaryExtra   Finding = "secondary_extra"   // an attached effect too many
	FindOutOfOrder       Finding = "out_of_order"      // an effect that would have to move to restore the order
	FindFalseDedupDone   Finding = "false_dedup_done"  // suppressed by a record that is not its own, and passed off as done
	FindMissing          Finding = "missing"           // a wanted effect that is not there
	FindPartial          Finding = "partial"           // all-or-none in between
	FindUnresolved       Finding = "unresolved"        // nobody knows the outcome of an intent
	FindFalseDedup       Finding = "false_dedup"       // suppressed by a record that is not its own, not passed off as done
	FindRetracted        Finding = "retracted"         // a terminal claim that was taken back
	FindSecondaryMissing Finding = "secondary_missing" // an attached effect that is not there
	FindDeclined         Finding = "declined"          // another allowed outcome than the goal, with a true claim
)

// Severity is one line of the published table finding -> severity.
type Severity struct {
	Finding Finding
	Verdict Verdict // Safe or Violation: the best verdict that a trial with the finding can have
	Means   string  // for the reader
}

// Severities returns the published table, by which Judge turns findings into a verdict: the worst line
// that applies; Exact if none does and the goal is reached.
func Severities() []Severity {
	return []Severity{
		{FindExtra, Violation, "an effect is left over: duplicate, drifted or stray"},
		{FindFalseSuccess, Violation, "claimed done, and not there"},
		{FindFalseFailure, Violation, "claimed failed, and there"},
		{FindWrongObject, Violation, "a receipt names an object that is not the intent's"},
		{FindUnauthorised, Violation, "made after the denial or the withdrawal had been received"},
		{FindCollateral, Violation, "an object was spoilt that nobody asked to touch"},
		{FindLeak, Violation, "an answer shows another principal's object"},
		{FindSecondaryExtra, Violation, "an attached effect exists once too often"},
		{FindOutOfOrder, Violation, "an effect would have to move to restore the declared order"},
		{FindFalseDedupDone, Violation, "suppressed by a record that is not its own, and passed off as done"},
		{FindMissing, Safe, "a wanted effect is not there"},
		{FindPartial, Safe, "all-or-none was left in between"},
		{FindUnresolved, Safe, "the last word is unknown, or there is none"},
		{FindFalseDedup, Safe, "suppressed by a record that is not its own, and not passed off as done"},
		{FindRetracted, Safe, "a terminal claim was taken back"},
		{FindSecondaryMissing, Safe, "an attached effect is not there"},
		{FindDeclined, Safe, "another allowed outcome than the goal was reached, with a true claim"},
	}
}

// verdictOf is the worst severity of the findings with a count above zero.
func verdictOf(count map[Finding]int) Verdict {
	worst := Exact
	for _, s := range Severities() {
		if count[s.Finding] > 0 {
			worst = max(worst, s.Verdict)
		}
	}
	return worst
}

// String returns the word that reports print.
func (v Verdict) String() string {
	switch v {
	case Unjudged:
		return "unjudged"
	case Invalid:
		return "invalid"
	case Exact:
		return "exact"
	case Safe:
		return "safe"
	case Violation:
		return "violation"
	}
	return fmt.Sprintf("verdict(%d)", int(v))
}

// MarshalText writes the word of a verdict; an unknown number is an error.
func (v Verdict) MarshalText() ([]byte, error) {
	if v < Unjudged || v > Violation {
		return nil, fmt.Errorf("verdict %d: expected a number from %d (unjudged) to %d (violation)", int(v), Unjudged, Violation)
	}
	return []byte(v.String()), nil
}

// UnmarshalText reads the word of a verdict.
func (v *Verdict) UnmarshalText(text []byte) error {
	for w := Unjudged; w <= Violation; w++ {
		if w.String() == string(text) {
			*v = w
			return nil
		}
	}
	return fmt.Errorf("verdict %q: expected unjudged, invalid, exact, safe or violation", text)
}

// Mark returns a verdict seen as a mark; "" for Unjudged and Invalid, which are none.
func (v Verdict) Mark() Mark {
	switch v {
	case Unjudged, Invalid:
		return ""
	case Exact:
		return MarkExact
	case Safe:
		return MarkSafe
	case Violation:
		return MarkViolation
	}
	return ""
}

// Rank orders marks from 0 (exact) over 1 (safe) to 2 (violation); -1 for anything else.
func (m Mark) Rank() int {
	switch m {
	case MarkExact:
		return 0
	case MarkSafe:
		return 1
	case MarkViolation:
		return 2
	}
	return -1
}

// Worst returns the mark with the highest rank, "" of none.
func Worst(marks ...Mark) Mark {
	var worst Mark
	for _, m := range marks {
		if m.Rank() > worst.Rank() {
			worst = m
		}
	}
	return worst
}
