package bench

import (
	"fmt"
	"sort"
	"strings"
)

// classesOf computes the classes of a workload over all faults that apply to it, and their bounds.
// The key is the name of a member.
func classesOf(w Workload, c Contract, faults []Fault, tools map[string]Tool) map[string]Class {
	byKey := map[string]*Class{}
	first := map[string]Fault{}
	for _, f := range faults {
		placed, _, reason := place(f, w, c, tools)
		if reason != "" {
			continue
		}
		key := classKey(placed, w)
		class := byKey[key]
		if class == nil {
			class = &Class{Name: w.Name + ": " + key, Workload: w.Name, Contract: c.Name, Shows: key, Direct: w.Direct}
			byKey[key], first[key] = class, placed
		}
		class.Members = append(class.Members, f.name())
		class.Truths = append(class.Truths, placed.truthKind(c))
		class.Shown.ProviderFailure = class.Shown.ProviderFailure || placed.ProviderFailure
		class.Shown.ProviderCrash = class.Shown.ProviderCrash || placed.crashes()
		class.Shown.Told = len(class.Members) == 1 && (placed.NonDelivery || placed.Tells)
	}
	terms := offered(w, c, tools)
	actual := terms.Advertised
	if terms.Actual != nil {
		actual = *terms.Actual
	}
	out := map[string]Class{}
	for key, class := range byKey {
		f := first[key]
		struck := struckIntents(w)[0]
		t := Trial{Workload: reshape(w, struck, f), Contract: c, Fault: f, Struck: struck, Shown: class.Shown}
		var decisions []ObservedDecision
		if f.Withdrawn {
			decisions = []ObservedDecision{{Intent: struck, Decision: Withdrawn}}
		}
		class.Bound = Bound(terms.Advertised, actual, FactsOf(workloadEvidence(t.Workload, decisions), evidenceFault(t)))
		class.Provider, class.Owes = ProviderFault(terms.Advertised, actual), LedgerOwesBound(terms.Advertised, actual)
		for _, m := range class.Members {
			out[m] = *class
		}
	}
	return out
}

// sortedClasses lists each class once, by name.
func sortedClasses(by map[string]Class) []Class {
	seen := map[string]bool{}
	var out []Class
	for _, c := range by {
		if !seen[c.Name] {
			seen[c.Name] = true
			out = append(out, c)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// classKey says in words what a system is shown, for how long, how much time passes, and what it is asked
// to do next. Equal keys are one class.
func classKey(f Fault, w Workload) string {
	parts := []string{string(shown(f, w))}
	if w.Direct {
		parts = append(parts, "of the provider itself")
	}
	switch f.Extent {
	case ExtentIntent:
		parts = append(parts, "at every attempt")
	case ExtentForever:
		parts = append(parts, "for good")
	}
	if f.Pass != "" {
		parts = append(parts, string(f.Pass)+" the retention")
	}
	if f.Times > 1 {
		parts = append(parts, fmt.Sprintf("%d times", f.Times))
	}
	if f.Withdrawn {
		parts = append(parts, "then withdrawn")
	}
	switch f.Reissued {
	case "":
	case "continues":
		parts = append(parts, "then issued again, continues")
	default: // whether it is asked again or wanted twice, nobody says
		parts = append(parts, "then issued again, silent")
	}
	if f.Drift != "" {
		parts = append(parts, "then repaired with "+f.Drift)
	}
	return strings.Join(parts, ", ")
}

// shown is what the fault shows through a tool's error wording: vague and lying wording make one text of
// everything that happens on the provider link.
func shown(f Fault, w Workload) Shows {
	if !strings.HasPrefix(string(f.Shows), "tool error") {
		return f.Shows
	}
	use := w.Tools[w.intent(struckIntents(w)[0]).Call.Tool]
	if use.Errors == ErrorsTyped {
		return f.Shows
	}
	return "tool error"
}

// disagreements is the number of matched attributes in which a unit differs from a slot.
func disagreements(match, unit map[string]any) int {
	n := 0
	for name, want := range match {
		if got, ok := unit[name]; !ok || !sameValue(want, got) {
			n++
		}
	}
	return n
}

// offered is a contract as far as the tools of a workload let it through to the system.
func offered(w Workload, c Contract, tools map[string]Tool) EvidenceContract {
	call := w.intent(struckIntents(w)[0]).Call
	reaches, tool := false, tools[call.Tool]
	if tool != nil {
		name, argument := tool.LookUp()
		_, has := w.Tools[name]
		reaches = has && argument != "" && tool.TakesRef()
	}
	terms := contractFor(c, tool, w.Tools[call.Tool], w.Tools[call.Tool].Key == KeyArgument, reaches)
	goesOn := c.Actual.Key.Saves == "resumes" && w.Tools[call.Tool].Key == KeyArgument // a repetition asks for the rest only
	terms.Advertised.Short = c.Actual.Capacity > 0 && !goesOn && wanted(w) > c.Actual.Capacity
	if terms.Actual != nil {
		terms.Actual.Short = terms.Advertised.Short
	}
	return terms
}

// wanted is how many effects of the struck intent the goal asks for.
func wanted(w Workload) int {
	n := 0
	for _, s := range w.intent(struckIntents(w)[0]).Slots {
		if count, ok := w.Outcomes[0].Counts[s.Name]; ok {
			n += count
		} else if w.Outcomes[0].Word == "all" {
			n += s.Count
		}
	}
	return n
}
