package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/systems/kit"
)

// Budgets: attempts in all, for one handing over of a call.
const (
	usualBudget   = 4
	scriptsBudget = 3
	lookUpBudget  = 3
)

// Back-off, in virtual time: doubled from the first to the longest.
const (
	firstBackOff   = 250 * time.Millisecond
	longestBackOff = 5 * time.Second
)

// task is a policy's work on one call.
type task struct {
	*agent
	call *kit.Call
	ctx  context.Context
	tool bench.OfferedTool
	made int // attempts so far
}

// budget is how many attempts are left to a policy whose own is n. Where the model recovers, the policy
// makes one attempt and claims; the model's repair is the next.
func (t *task) budget(n int) int {
	if t.call.Trial.Start.Knobs.Recovery == "model" {
		return 1
	}
	return n
}

// with returns the given arguments with more.
func with(args map[string]any, more map[string]any) map[string]any {
	all := maps.Clone(args)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, more)
	return all
}

// keyed returns the given arguments with an idempotency key, where the tool takes one.
func (t *task) keyed(args map[string]any, key string) map[string]any {
	if !t.tool.TakesKey {
		return args
	}
	return with(args, map[string]any{"idempotency_key": key})
}

// send makes one attempt of the call.
func (t *task) send(tool bench.OfferedTool, args map[string]any) observation {
	t.call.At("dispatching", "")
	if t.ctx.Err() != nil {
		return observation{saw: sawCancelled, text: context.Cause(t.ctx).Error()}
	}
	o := t.exchange(tool, args)
	if o.answered() {
		t.call.At("result-delivered", string(o.saw))
	}
	return o
}

// exchange makes one call of any tool, under the call's time-out.
func (t *task) exchange(tool bench.OfferedTool, args map[string]any) observation {
	t.made++
	ms := t.call.Trial.Start.Knobs.CallTimeoutMS
	ctx, stop := t.call.Deadline(t.ctx, time.Duration(ms)*time.Millisecond)
	defer stop()
	id := t.call.Given.ID
	return t.client.call(ctx, tool, args, id, id+"/"+strconv.Itoa(t.run)+"/"+strconv.Itoa(t.made))
}

// backOff waits before attempt n+1, in virtual time.
func (t *task) backOff(n int) error {
	d := firstBackOff << (n - 1)
	return t.call.Wait(t.ctx, t.call.Now().Add(min(d, longestBackOff)), "back-off")
}

// insist sends until the tool says done, a policy's stop holds, or the budget is spent. args gives the
// arguments of attempt n, from 1.
func (t *task) insist(budget int, args func(n int) map[string]any, stop func(observation) bool) observation {
	budget = t.budget(budget)
	for n := 1; ; n++ {
		o := t.send(t.tool, args(n))
		if o.saw == sawDone || o.saw == sawCancelled || n >= budget || stop(o) {
			return o
		}
		if t.backOff(n) != nil {
			return o
		}
	}
}

// goOn is the stop of a policy that stops at nothing.
func goOn(observation) bool { return false }

// plainly claims by the last observation alone, as a client without a memory does. A refused dial and a
// tool's word that nothing happened are taken for proof, whatever went before.
func (t *task) plainly(o observation) kit.Claim {
	switch {
	case o.saw == sawDone:
		claim := kit.Done(o.receipts...)
		if o.part {
			claim.Outcome, claim.Detail = bench.Partial, o.text
		}
		return claim
	case t.tool.ReadOnly, !o.sent, o.saw == sawNotExecuted, o.saw == sawRefused:
		return kit.Failed(t.told(o))
	}
	return kit.Unknown(t.told(o))
}

// told words an observation for the reader of a claim.
func (t *task) told(o observation) string {
	return fmt.Sprintf("after %d attempts: %s: %.200s", t.made, o.saw, o.text)
}

// proves reports whether an observation proves that its attempt made no effect. The agent's own refused
// dial does. What a tool says does only where its contract says that its errors can be believed.
func (t *task) proves(o observation) bool {
	switch o.saw {
	case sawNotSent:
		return true
	case sawCancelled:
		return !o.sent
	case sawNotExecuted, sawRefused:
		return t.tool.Contract.ErrorsTyped
	}
	return false
}

// neverBegun claims for a call that was cancelled, withdrawn or denied before anything of it was sent. The
// second result is false for any other call.
func (t *task) neverBegun() (kit.Claim, bool) {
	if t.ctx.Err() == nil {
		return kit.Claim{}, false
	}
	if t.call.Redelivered || t.call.Repair {
		return kit.Unknown("stopped; an earlier attempt may have been made"), true
	}
	return kit.Failed("stopped before it was sent"), true
}

// read carries out a read-only call: it may be repeated, and without an answer nothing has happened. Where
// the model recovers, the last word is left to its repair.
func (t *task) read() kit.Claim {
	o := t.insist(usualBudget, func(int) map[string]any { return t.call.Given.Args }, goOn)
	if o.saw != sawDone && t.call.Trial.Start.Knobs.Recovery == "model" && !t.call.Repair {
		return kit.Unknown("no answer; the model recovers")
	}
	return t.plainly(o)
}

// keyHolds reports whether the tool takes a key that its provider remembers for a known time.
func (t *task) keyHolds() bool { return t.tool.TakesKey && t.tool.Contract.KeyRetentionS > 0 }

// lookUpTool is the tool that finds the effects of this call's tool again, if it is offered.
func (t *task) lookUpTool() (bench.OfferedTool, bool) {
	tool, offered := t.tools[t.tool.Contract.LookUpTool]
	return tool, offered
}

// byIdentity reports whether a look-up finds an effect by the reference that the agent gave it.
func (t *task) byIdentity() bool {
	_, offered := t.lookUpTool()
	c := t.tool.Contract
	return offered && t.tool.TakesRef && c.LookUpArgument != "" && c.LookUpBy == "identity" && c.LookUpKind != "none"
}

var errNoLookUp = errors.New("the look-up was not answered")

// lookUp asks what effects of the call exist: by reference where that is an identity, else by those of the
// call's arguments that the look-up takes; what it finds then agrees with the call in all that it shows.
func (t *task) lookUp(args map[string]any, reference string) ([]map[string]any, error) {
	tool, offered := t.lookUpTool()
	if !offered {
		return nil, errNoLookUp
	}
	identity := t.byIdentity() && reference != ""
	asked := map[string]any{}
	for name, value := range args { // a look-up may see one cluster, queue or table only
		if slices.Contains(tool.Arguments, name) || len(tool.Arguments) == 0 && !identity {
			asked[name] = value
		}
	}
	if identity {
		asked[t.tool.Contract.LookUpArgument] = reference
	}
	for n := 1; ; n++ {
		o := t.exchange(tool, asked)
		if o.saw == sawDone {
			if identity {
				return o.found, nil
			}
			return slices.DeleteFunc(o.found, func(f map[string]any) bool { return !agrees(f, args) }), nil
		}
		if o.saw == sawCancelled || n >= lookUpBudget {
			return nil, fmt.Errorf("%w: %s", errNoLookUp, o.text)
		}
		if err := t.backOff(n); err != nil {
			return nil, err
		}
	}
}

// agrees reports whether an object that was found has the value of every argument that it shows, or one of a
// list of them: a call may make several.
func agrees(found, args map[string]any) bool {
	for name, value := range args {
		shown, has := found[name]
		alike := func(v any) bool { return canonical(map[string]any{"": shown}) == canonical(map[string]any{"": v}) }
		if many, list := value.([]any); has && !alike(value) && (!list || !slices.ContainsFunc(many, alike)) {
			return false
		}
	}
	return true
}

// ids are the object ids of what was found.
func ids(found []map[string]any) []string {
	var all []string
	for _, f := range found {
		if id, ok := f["id"].(string); ok {
			all = append(all, id)
		}
	}
	return all
}
