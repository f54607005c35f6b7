//go:build deep

package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
)

// surprising says why a cell comes out as nobody would think who knows the policy in one sentence; "": it does not.
func surprising(p sighting) string {
	careful := p.is("ledger", "ledger-no-reconcile", "native-token", "never")
	bold := p.is("blind", "key-per-attempt", "mcp-scripts-minimal") // send again without an identity
	happened := p.truth == bench.TruthCommitted || p.truth == bench.TruthInFlight
	switch {
	case p.Boundary == bench.NoFault, p.is("do-nothing", "dedupe-everything"): // controls are checked by their own table
		return ""
	case careful && p.Violation > 0:
		return "a careful policy violates"
	case p.Violation > 0 && p.nothing() && p.Boundary != bench.ParameterDrift:
		return "a violation, though nothing had happened"
	case bold && happened && p.Violation == 0 && !p.at(bench.DuringCancellation) && !p.at(bench.ParameterDrift):
		return "sent again without an identity, and no harm"
	case p.FalseDedup > 0 && !p.is("key-by-arguments"):
		return "a wanted effect suppressed by a memory"
	}
	return ""
}

// surprise is a reason for surprising cells.
type surprise struct {
	title string
	fits  func(sighting) bool
	why   string
}

// surprises explains every surprising cell. The first that fits is the reason. To add one: a line here, in the order in
// which docs/surprises.md shows them.
var surprises = []surprise{
	{"Two calls of equal arguments under one key", func(p sighting) bool { return p.is("key-by-arguments") },
		"The second, wanted call hashes to the key of the first and is answered with it. No fault is needed for that."},
	{"Equal words are one message", func(p sighting) bool {
		return p.contract.Actual.Key.FromContent && (p.FalseDedup > 0 || p.Violation == 0)
	}, "A queue that knows a message without an id by its body drops an equal one within five minutes, and answers as if it had taken it. That saves the " +
		"blind from their retries, and loses a wanted second message for every policy that sends no id of its own, never among them, without any fault. " +
		"native-token and the ledger send an id with each message, and lose none."},
	{"A batch that is taken in part, under fresh ids", func(p sighting) bool { return p.is("key-per-attempt") && p.contract.Actual.Capacity > 0 },
		"The queue takes two of three and says so. Each further attempt asks for all three under ids that it has never seen: the first two are taken again, and the " +
			"third never. No fault is needed for that; with ids that stay, what was taken is a duplicate, and the rest gets its turn."},
	{"Asked again after a cancellation that came too late", func(p sighting) bool {
		return p.at(bench.DuringCancellation, "continues", "silent") && p.is("never", "native-token", "mcp-scripts-guarded")
	}, "The goal comes again in a new turn. A key of native-token belongs to turn and call: it goes with a turn that says that it continues, and with " +
		"no other, and without a key there is nothing that goes along. never remembers calls, and the new turn brings a new one. Only the ledger asks itself whether " +
		"an equal effect may be there already, and says `unknown` rather than make a second."},
	{"A repair with other arguments, where the first had come to nothing", func(p sighting) bool {
		return p.at(bench.ParameterDrift) && p.nothing() && p.is("native-token")
	}, "The key of the first call is sent with the repaired arguments. The provider has rolled the first back, key and all, and so carries the repair out: " +
		"something else than was wanted is made, and reported as done. A key protects the call that it was first seen with, not the wish. " +
		"The ledger sends the original arguments."},
	{"A repair that moves the key to another scope", func(p sighting) bool {
		return p.at(bench.ParameterDrift) && strings.Contains(p.contract.Actual.Key.Scope, "+") && p.Extra > 0 && p.Missing == 0 && p.is("native-token")
	}, "The key holds in a region or a zone, and the repair names that in other words, or for the first time. To the provider it is another one, in which the key is " +
		"new: the same key makes a second effect. The contract is kept; a scope that is part of the arguments is only as stable as they are."},
	{"A failure that is kept under the key", func(p sighting) bool {
		return p.FalseDedup > 0 && strings.HasPrefix(p.Variant, "provider-") && p.contract.Actual.Key.Saves == "executed"
	}, "The provider fails by itself, keeps the failure, and answers every retry under the key with it, though nothing is there and a fresh key would do. The " +
		"wanted effect is suppressed by a record with nothing behind it. Nobody can do better under the contract: whether a fresh key is safe is just what the " +
		"failure does not say."},
	{"Half an answer is no answer", func(p sighting) bool { return p.is("model-guess") },
		"The words of the error speak of an answer that had begun (\"EOF\", \"cut short\"), and the model takes it for a success that was only badly delivered. " +
			"The bytes are the same whether anything was committed or not."},
	{"A server that numbers its requests anew", func(p sighting) bool { return p.keyed == bench.KeyRequest && p.Violation == 0 },
		"The tool server makes the key of the number of the JSON-RPC request. After a kill, or in a new session, the client counts from the start: the repetition has the " +
			"number of the first, and so its key. It is saved by an accident, which on another day gives another call that number."},
	{"A unique constraint saves the bold", func(p sighting) bool { return len(p.contract.Actual.Unique) > 0 && p.Violation == 0 },
		"A second one of the name, of the tag, of the branches is refused by nature of the thing. Where the tool spells the refusal out it is taken for what it is, " +
			"else the policy ends in `unknown` over an effect that is there once: safe, and no merit of the policy."},
	{"The same again changes nothing", func(p sighting) bool { return p.contract.Actual.NaturallyIdempotent && p.Violation == 0 },
		"To put, or apply, the same over the same leaves the state as it is, however often it is sent."},
}

// lying explains what the careful come to under each contract that lies.
var lying = map[string]string{
	"google-calendar-own-id-slips": "The id of the event is unique only some time later: a second insert within that time goes through. Everybody who relies on the refusal makes two, the ledger too.",
	"rows-unenforced":              "The constraint that is promised is not there. The ledger sends again, trusting that a second row would be refused.",
	"stripe-v1-claim-left": "A crash leaves the key in use for its whole retention. Nothing is made twice: every retry is told that the first is in work, until the budget ends. " +
		"What was exact becomes `unknown`, for the key bars the way that it was to open.",
	"stripe-v1-failure-cached": "Kept failures are not announced. No cell differs from those under the honest contract: the policies that repeat under a key do so in both, and none takes " +
		"the repeated failure for a proof that nothing happened.",
	"stripe-v1-forgets-early": "After an hour instead of a day the key is forgotten, and the replay within the promised day executes anew. Just inside the true retention all is well.",
	"stripe-v1-forgets-on-error": "The provider commits, fails, and drops the key with the failure. The replay under the key, which the contract promises to be answered with " +
		"the kept failure, executes again. Without the commit the same forgetting is a blessing: the retry succeeds, where under the honest contract the kept failure bars it.",
	"stripe-v1-latest-only": "Each key drives the one before it out. A retry that comes before anybody uses another key meets its own, so one caller who makes one call after another " +
		"does not notice; only a key that comes back after another was used is new to the provider. No cell of the careful differs from the honest contract's.",
	"stripe-v1-shared-keys": "One key space for all accounts. Keys that are made of conversation, turn and call never meet. Those that a server makes of the number of a request do as " +
		"soon as the agent has been restarted and counts anew: the second account's payout is answered with the first one's, and nothing in the answer but the account " +
		"tells. The ledger, which takes a `done` for a `done`, is deceived like everybody.",
	"stripe-v1-unenforced":    "The key is taken and ignored: every retry under it is another effect, as many as the budget allows (three more where every attempt is struck, two where the agent is killed twice). The ledger has no look-up to know better.",
	"tickets-stale-unbounded": "The look-up is said to see everything after 10 minutes, and does after 30 days. The ledger waits the 10 minutes, finds nothing, believes it, and opens the ticket again; of a withdrawn goal it says that nothing was done. never and native-token look nothing up and come to no more harm than elsewhere.",
}

// TestDeepSurprises keeps docs/surprises.md: every surprising cell of the providers suite, and of the runs under contracts
// that lie, has its reason there, and every reason a cell.
func TestDeepSurprises(t *testing.T) {
	suite, err := providersRun()
	if err != nil {
		t.Fatal(err)
	}
	broken, err := brokenRuns()
	if err != nil {
		t.Fatal(err)
	}
	told := make([]map[string][]sighting, len(surprises)) // by reason, then by the row that shows them
	lied := map[string]map[string][]sighting{}            // by contract, likewise
	for _, run := range append([]*ran{suite}, broken...) {
		for _, p := range run.sightings() {
			what := surprising(p)
			if what == "" {
				continue
			}
			row := fmt.Sprintf("%s | %s | %s", p.System, p.Boundary, found(p))
			i := slices.IndexFunc(surprises, func(s surprise) bool { return s.fits(p) })
			switch {
			case i >= 0 && lies(p.contract): // shown where the promise is kept
			case i >= 0:
				if told[i] == nil {
					told[i] = map[string][]sighting{}
				}
				told[i][row] = append(told[i][row], p)
			case lies(p.contract):
				if lied[p.contract.Name] == nil {
					lied[p.contract.Name] = map[string][]sighting{}
				}
				lied[p.contract.Name][row] = append(lied[p.contract.Name][row], p)
			default:
				t.Errorf("%s, %s at %s %s: %s (%s), and surprises has no reason: sixthcopy show %s", p.System, p.Workload, p.Boundary, p.Variant, what, found(p), p.Trial)
			}
		}
	}
	var b strings.Builder
	b.WriteString(surprisesHead)
	for i, s := range surprises {
		if len(told[i]) == 0 {
			t.Errorf("%q explains no cell", s.title)
		}
		fmt.Fprintf(&b, "\n### %s\n%s\n\n%s", s.title, s.why, table(told[i]))
	}
	b.WriteString("\n## Under contracts that lie\nWhat is said above happens here too; the tables have what comes on top of it.\n")
	for _, name := range slices.Sorted(maps.Keys(lying)) {
		fmt.Fprintf(&b, "\n### %s\n%s\n", name, lying[name])
		if len(lied[name]) > 0 {
			fmt.Fprintf(&b, "\n%s", table(lied[name]))
		}
		delete(lied, name)
	}
	for name := range lied {
		t.Errorf("contract %s lies, and lying has no reason for what comes of it", name)
	}
	same(t, filepath.Join("..", "..", "docs", "surprises.md"), b.String())
}

const surprisesHead = `# Cells that surprise, and why

From the providers suite on all policies, and from a workload in every variant under each contract that lies, on
` + "`ledger`, `native-token` and `never`" + `. A cell is here if a careful policy (` + "`ledger`, `ledger-no-reconcile`, `native-token`, `never`" + `) violates; if
anybody violates though nothing had happened; if a policy that sends again without an identity does no harm over something that had
happened; or if a memory other than that of the policies which are made to show it suppressed a wanted effect. A test finds these
cells, wants a reason for each, and prints this page. What a control must show is no surprise.

## Under contracts that keep their promise
`

// found is what came out of a cell.
func found(p sighting) string {
	var s []string
	for _, f := range []struct {
		what string
		n    int
	}{{"extra", p.Extra}, {"missing", p.Missing}, {"false dedup", p.FalseDedup}, {"unresolved", p.Unresolved}} {
		if f.n > 0 {
			s = append(s, fmt.Sprintf("%s %d", f.what, f.n))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Findings)) {
		s = append(s, fmt.Sprintf("%s %d", strings.ReplaceAll(name, "_", " "), p.Findings[name]))
	}
	if len(s) == 0 {
		return "exact"
	}
	return strings.Join(s, ", ")
}

// table shows cells by row: the variants, and the workloads in which they are. Systems with the same share a row.
func table(rows map[string][]sighting) string {
	systems := map[string][]string{} // by the rest of the row
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		variants, where := map[string]bool{}, map[string]bool{}
		for _, p := range rows[row] {
			variants[p.Variant], where[p.Workload] = true, true
		}
		system, rest, _ := strings.Cut(row, " | ")
		rest = fmt.Sprintf("%s | %s | %s", rest, strings.Join(slices.Sorted(maps.Keys(variants)), ", "), strings.Join(slices.Sorted(maps.Keys(where)), ", "))
		systems[rest] = append(systems[rest], system)
	}
	var b strings.Builder
	b.WriteString("| boundary | what | variants | workloads | systems |\n|---|---|---|---|---|\n")
	for _, rest := range slices.Sorted(maps.Keys(systems)) {
		fmt.Fprintf(&b, "| %s | %s |\n", rest, strings.Join(systems[rest], ", "))
	}
	return b.String()
}
