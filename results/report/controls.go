package report

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/sixthcopy/sixthcopy/bench"
)

// Control is what a system whose faults are known made of a run: the proof that the harness sees
// the kind of finding that the system is there to show. A run in which one of them looks better, or
// worse, than it is known to be proves nothing.
type Control struct {
	System   string   `json:"system"`
	Expected string   `json:"expected"`
	Looked   int      `json:"looked"` // trials, or workloads, in which it could show; 0: the run had no place for it
	OK       bool     `json:"ok"`
	Amiss    []string `json:"amiss"` // where it did not come out as known
}

// Names of the systems that serve as controls.
const (
	doNothing        = "do-nothing"
	dedupeEverything = "dedupe-everything"
	blind            = "blind"
	keyedControl     = "native-token"
)

// controls gathers what the four controls did.
type controls struct {
	nothing  map[string]bool // trial -> came out as known
	dedup    map[string]bool // twin workload -> false dedup seen
	blind    map[string]bool // workload where nothing saves a blind retry -> extra seen
	keyed    map[string]bool // trial that a key must make exact -> it is
	unharmed map[string]bool // trial of the keyed control in which nobody calls again -> no extra
}

func newControls() *controls {
	return &controls{nothing: map[string]bool{}, dedup: map[string]bool{}, blind: map[string]bool{},
		keyed: map[string]bool{}, unharmed: map[string]bool{}}
}

func (c *controls) add(rec bench.Record) {
	j := rec.Judged
	if j.Verdict == bench.Unjudged || j.Verdict == bench.Invalid {
		return
	}
	t := rec.Trial
	where := fmt.Sprintf("%s, %s, %s (%s)", t.Workload.Name, t.Fault.Boundary, t.Fault.Variant, t.ID)
	extra := j.Extra.Duplicate+j.Extra.Drifted+j.Extra.Stray > 0
	switch t.System {
	case doNothing:
		if !goalIsNone(t.Workload) {
			unresolved := j.Unresolved.Escalated + j.Unresolved.Silent + j.Unresolved.Hung
			c.nothing[where] = j.Verdict != bench.Exact && (j.Missing > 0 || j.Declined || unresolved > 0)
		}
	case dedupeEverything:
		if hasTwins(t.Workload) {
			w := t.Workload.Name
			c.dedup[w] = c.dedup[w] || j.FalseDedup.StandIn+j.FalseDedup.Empty > 0
		}
	case blind:
		if t.Fault.Boundary == bench.CommittedBeforeResponse && rec.Evidence.Strike.Truth == bench.TruthCommitted && !saved(rec) {
			w := t.Workload.Name
			c.blind[w] = c.blind[w] || extra
		}
	case keyedControl:
		if t.Fault.Reissued == "" && t.Fault.Drift == "" && rec.Evidence.Contract.Actual == nil { // a key that is not kept as promised proves nothing
			c.unharmed[where] = !extra
		}
		if keyMakesExact(rec) {
			c.keyed[where] = j.Verdict == bench.Exact
		}
	}
}

// goalIsNone says whether a workload asks for no effect at all.
func goalIsNone(w bench.Workload) bool {
	if len(w.Outcomes) > 0 {
		switch g := w.Outcomes[0]; g.Word {
		case "none":
			return true
		case "":
			for _, n := range g.Counts {
				if n > 0 {
					return false
				}
			}
			return true
		}
	}
	for _, turn := range w.Turns {
		for _, i := range turn.Intents {
			if len(i.Slots) > 0 && i.Decision != bench.Denied && i.Decision != bench.Withdrawn {
				return false
			}
		}
	}
	return true
}

func hasTwins(w bench.Workload) bool {
	for _, turn := range w.Turns {
		for _, i := range turn.Intents {
			if i.TwinOf != "" {
				return true
			}
		}
	}
	return false
}

// struckUse is how the tool of the struck intent is offered.
func struckUse(t bench.Trial) (intent bench.Intent, use bench.ToolUse) {
	for _, turn := range t.Workload.Turns {
		for _, i := range turn.Intents {
			if i.ID == t.Struck {
				return i, t.Workload.Tools[i.Call.Tool]
			}
		}
	}
	return bench.Intent{}, bench.ToolUse{}
}

// saved says whether something other than the system keeps a blind retry from doing harm: a unique
// constraint, natural idempotence, or a provider or tool server that derives the key from the call. A call without
// effects has nothing to repeat, and a retry that lies is no retry of the same.
func saved(rec bench.Record) bool {
	intent, use := struckUse(rec.Trial)
	actual := rec.Trial.Offered.Advertised
	if rec.Trial.Offered.Actual != nil {
		actual = *rec.Trial.Offered.Actual
	}
	return len(intent.Slots) == 0 || actual.Unique || actual.NaturallyIdempotent ||
		rec.Trial.Contract.Actual.Key.FromContent || use.Key == bench.KeyMeta || use.Key == bench.KeyRequest
}

// keyMakesExact says whether a stable key, replayed at once, leaves nothing to chance in a trial.
func keyMakesExact(rec bench.Record) bool {
	_, use := struckUse(rec.Trial)
	terms := rec.Trial.Contract
	f := rec.Evidence.Fault
	return rec.Trial.Fault.Boundary == bench.CommittedBeforeResponse && use.Key == bench.KeyArgument &&
		terms.Advertised.Key.Location != "" && reflect.DeepEqual(terms.Actual.Key, terms.Advertised.Key) && !rec.Evidence.Contract.Advertised.Short &&
		!f.ProviderFailure && (f.Extent == "" || f.Extent == "exchange")
}

func (c *controls) result() ([]Control, bool) {
	all := []Control{
		control(blind, "an extra after a lost answer, if unsaved", c.blind),
		control(dedupeEverything, "false dedup in every workload with twins", c.dedup),
		control(doNothing, "never exact where something is wanted", c.nothing),
		control(keyedControl, "exact after a lost answer, if key replays", c.keyed),
		control(keyedControl, "never an extra where it is asked once", c.unharmed),
	}
	ok := true
	for _, one := range all {
		ok = ok && one.OK
	}
	return all, ok
}

func control(system, expected string, came map[string]bool) Control {
	c := Control{System: system, Expected: expected, Looked: len(came), Amiss: []string{}}
	for _, where := range slices.Sorted(maps.Keys(came)) {
		if !came[where] {
			c.Amiss = append(c.Amiss, where)
		}
	}
	c.OK = len(c.Amiss) == 0
	return c
}

// short is how it came out, in a few words.
func (c Control) short() string {
	switch {
	case !c.OK:
		return fmt.Sprintf("NOT in %d of %d", len(c.Amiss), c.Looked)
	case c.Looked == 0:
		return "not in this run"
	}
	return fmt.Sprintf("as known (%d)", c.Looked)
}
