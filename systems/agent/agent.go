// Package agent is the reference agent: a process without a model that makes the tool calls it is given,
// under one of several retry policies. It serves trial after trial; what must outlive a kill lies in the
// trial's state folder and nowhere else. docs/policies.md tabulates what each policy does.
package agent

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/systems/kit"
)

// Policy is a way to deal with a call whose answer is lost.
type Policy struct {
	Name    string
	Kind    string // "policy", or "ledger" for the reference
	Summary string

	handle func(t *task) kit.Claim                   // one call: given, redelivered, repaired
	decide func(t *task, d bench.Decision) kit.Claim // a decision on a call; nil: it says nothing new
	keeps  bool                                      // effect records over a kill
}

// Policies lists them all, in the order in which reports show them. To add one: a function and a line.
var Policies = []Policy{
	{Name: "blind", Kind: "policy", Summary: "The same request again after any error, up to four times, with no identity.", handle: blind},
	{Name: "never", Kind: "policy", Summary: "Marks a call before it dispatches it and never sends a mutation twice.", handle: never, keeps: true},
	{Name: "native-token", Kind: "policy", Summary: "A stable key made before the first attempt where the tool takes one, else no retry.", handle: nativeToken, keeps: true},
	{Name: "hint-trusting", Kind: "policy", Summary: "Retries like blind where the tool's hints call it idempotent or read-only, else never.", handle: hintTrusting, keeps: true},
	{Name: "key-per-attempt", Kind: "policy", Summary: "Retries like blind with a fresh key for each attempt.", handle: keyPerAttempt, keeps: true},
	{Name: "key-by-call-id", Kind: "policy", Summary: "Retries like blind with the tool-call id as the key.", handle: keyByCallID},
	{Name: "key-by-arguments", Kind: "policy", Summary: "Retries like blind with a hash of tool and arguments as the key.", handle: keyByArguments},
	{Name: "ledger-no-reconcile", Kind: "policy", Summary: "A write-ahead effect record, but no reconciliation: what is ambiguous stays unknown.", handle: ledgerNoReconcile, decide: settleNoReconcile, keeps: true},
	{Name: "ledger", Kind: "ledger", Summary: "The reference: a write-ahead effect record, replay within its horizon, look-up, escalation.", handle: ledger, decide: settle, keeps: true},
	{Name: "decision-model", Kind: "policy", Summary: "CONFIRMED replays, ABSENT executes, UNKNOWN looks once or blocks; knows no lags and no horizons.", handle: decisionModel, keeps: true},
	{Name: "mcp-scripts-minimal", Kind: "policy", Summary: "MCP Scripts retry policy, budget and back-off only: three attempts in all.", handle: scriptsMinimal},
	{Name: "mcp-scripts-guarded", Kind: "policy", Summary: "MCP Scripts retry policy with its safeguards: a stable key, else a check before each retry.", handle: scriptsGuarded, keeps: true},
	{Name: "model-guess", Kind: "policy", Summary: "Lets the words of the error decide whether it happened.", handle: modelGuess},
	{Name: "do-nothing", Kind: "policy", Summary: "Control: sends nothing and says that it failed.", handle: doNothing},
	{Name: "dedupe-everything", Kind: "policy", Summary: "Control: answers any repeated tool and arguments from memory.", handle: dedupeEverything, keeps: true},
}

// agent is the agent during one trial.
type agent struct {
	policy Policy
	client *client
	state  *journal // nil where the policy keeps nothing
	tools  map[string]bench.OfferedTool
	claims map[bench.CallRef]string // outcome said last
	run    int                      // process of this trial, from 1; known to policies that keep state
}

// Main is the agent's process: `EXE agent --policy NAME`. It returns the exit status.
func Main(_ context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) != 2 || args[0] != "--policy" {
		fmt.Fprintf(stderr, "agent: arguments are %q, expected --policy NAME with one of %s\n", args, names())
		return 2
	}
	policy, known := ByName(args[1])
	if !known {
		fmt.Fprintf(stderr, "agent: policy %q is not known; known: %s\n", args[1], names())
		return 2
	}
	return Run(policy, nil, stdin, stdout, stderr)
}

// Run speaks the wire contract for an agent of one policy until stdin ends. Where through is not nil, what it
// returns for a trial stands between the agent and the addresses that the trial offers: the system under test.
// It returns the exit status.
func Run(policy Policy, through func(t *kit.Trial) (*Through, error), stdin io.Reader, stdout, stderr io.Writer) int {
	adapter := kit.Adapter{
		Versions: map[string]string{"sixthcopy-agent": "1"},
		Can:      []string{"at", "timeout", "wait"},
		Open: func(t *kit.Trial) error {
			a, err := open(policy, t)
			if err != nil || through == nil {
				return err
			}
			thing, err := through(t)
			if err != nil {
				return err
			}
			thing.Stderr = stderr
			return a.raise(thing)
		},
		Call: func(ctx context.Context, c *kit.Call) kit.Claim {
			claim := of(c).handle(ctx, c, policy.handle)
			c.At("next-model-call", "")
			return claim
		},
		Decide: func(ctx context.Context, c *kit.Call, d bench.Decision) kit.Claim {
			if policy.decide == nil || d == bench.Approved {
				return kit.Claim{}
			}
			return of(c).handle(ctx, c, func(t *task) kit.Claim { return policy.decide(t, d) })
		},
		Totals: func(t *kit.Trial) kit.Totals { return t.Value.(*agent).totals() },
		Close:  func(t *kit.Trial) { t.Value.(*agent).close() },
	}
	return kit.Main(adapter, stdin, stdout, stderr)
}

func names() string {
	var all []string
	for _, p := range Policies {
		all = append(all, p.Name)
	}
	return strings.Join(all, ", ")
}

// ByName returns the policy of a name.
func ByName(name string) (Policy, bool) {
	for _, p := range Policies {
		if p.Name == name {
			return p, true
		}
	}
	return Policy{}, false
}

// of returns the agent of a call's trial.
func of(c *kit.Call) *agent { return c.Trial.Value.(*agent) }

// open prepares the agent for a trial; what an earlier process of the trial wrote is read again.
func open(p Policy, t *kit.Trial) (*agent, error) {
	a := &agent{
		policy: p, client: newClient(t.Start.Knobs.FreshConns),
		tools: map[string]bench.OfferedTool{}, claims: map[bench.CallRef]string{},
	}
	for _, tool := range t.Start.Tools {
		a.tools[tool.Name] = tool
	}
	if p.keeps {
		var err error
		if a.state, err = openJournal(t.Start.StateDir, t.Now()); err != nil {
			return nil, err
		}
		a.run = a.state.runs
	}
	t.Value = a
	return a, nil
}

// handle lets do carry out what concerns a call and remembers the outcome.
func (a *agent) handle(ctx context.Context, c *kit.Call, do func(*task) kit.Claim) kit.Claim {
	if c.Given.Tool == "" && a.state != nil { // a decision on a call that an earlier process was given
		if e := a.state.find(c.Ref()); e != nil {
			c.Given.Tool = e.Tool
		}
	}
	tool, offered := a.tools[c.Given.Tool]
	if !offered && c.Given.Tool != "" {
		return kit.Failed(fmt.Sprintf("tool %q is not offered: nothing was sent", c.Given.Tool))
	}
	claim := do(&task{agent: a, call: c, ctx: ctx, tool: tool})
	if claim.Outcome != "" {
		a.claims[c.Ref()] = claim.Outcome
	}
	return claim
}

func (a *agent) totals() kit.Totals {
	var sum kit.Totals
	for _, outcome := range a.claims {
		if outcome == bench.Unknown {
			sum.Escalations++
		}
	}
	if a.state != nil {
		sum.LedgerBytes = a.state.bytes
	}
	return sum
}

func (a *agent) close() {
	a.client.close()
	if a.state != nil {
		a.state.close()
	}
}
