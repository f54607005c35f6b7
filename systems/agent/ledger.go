package agent

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/systems/kit"
)

// margin is added to a documented lag before an absence is believed: limits are met, not beaten.
const margin = time.Second

// record makes the effect record of the call; it is not written yet.
func (t *task) record(generation int) *effect {
	c := t.call
	id := identity("effect", c.Turn.Conversation, c.Turn.ID, strconv.Itoa(c.Given.Ordinal), strconv.Itoa(generation))
	e := &effect{
		ID: id, Workflow: c.Turn.Conversation, Turn: c.Ref().Turn, Ordinal: c.Ref().Ordinal, Generation: generation,
		IntentHash: intentHash(t.tool.Name, c.Given.Args), Tool: t.tool.Name, Contract: contractVersion(t.tool),
		Authority: "user, approved", Target: canonical(c.Given.Args), Args: c.Given.Args, State: notStarted,
		CallIDs: []string{c.Given.ID},
	}
	if t.tool.TakesKey {
		e.ProviderKey = id
	}
	if given, ok := c.Given.Args[referenceArgument].(string); ok {
		e.Reference = given // the user's own
	} else if t.tool.TakesRef {
		e.Reference = id
	}
	return e
}

const referenceArgument = "reference"

// contractVersion names the contract that a tool advertises by its content.
func contractVersion(tool bench.OfferedTool) string {
	return identity("contract", fmt.Sprintf("%+v", tool.Contract))[:8]
}

// writeAhead makes the next attempt durable before it is dispatched. The second result is true if it
// cannot: then nothing was sent, and the claim says what is known.
func (t *task) writeAhead(e *effect) (kit.Claim, bool) {
	if e.State == notStarted && len(e.Attempts) == 0 {
		if err := t.state.put(e); err != nil {
			return kit.Failed("nothing was sent: " + err.Error()), true
		}
		t.call.At("state-written", "intent")
	}
	before, doubt := *e, e.State == unknownAfter
	now := t.call.Now()
	if len(e.Attempts) == 0 && t.keyHolds() {
		e.KeyDeadline = now.Add(time.Duration(t.tool.Contract.KeyRetentionS * float64(time.Second)))
	}
	e.Attempts = append(slices.Clone(e.Attempts), try{ID: "a" + strconv.Itoa(len(e.Attempts)+1), Begun: now})
	if !doubt { // one attempt in doubt is not cleared by another
		e.State = inProgress
	}
	if err := t.state.put(e); err != nil {
		*e = before
		return e.claim("nothing more was sent: " + err.Error()), true
	}
	return kit.Claim{}, false
}

// note makes durable what came of the last attempt. What was in doubt before stays in doubt unless the
// attempt is answered with done: an attempt that proves its own failure says nothing of another.
func (t *task) note(e *effect, o observation) {
	e.Attempts[len(e.Attempts)-1].Saw = o.saw
	doubt := e.State == unknownAfter
	switch {
	case o.saw == sawDone:
		e.State, e.Receipts, e.Part = committed, o.receipts, o.part
	case t.proves(o) && !doubt:
		e.State = failedBefore
		e.Refused = o.saw == sawRefused
	case t.proves(o):
	default:
		e.State, e.LostAt = unknownAfter, t.call.Now()
	}
	if o.saw == sawCancelled {
		e.Cancelled = true
	}
	// A result that could not be written is looked for again after a restart; the claim stands on what is known now.
	if t.state.put(e) == nil {
		t.call.At("state-written", "result")
	}
}

// adopt makes an object that was found the receipt of the effect.
func (t *task) adopt(e *effect, found []map[string]any) kit.Claim {
	e.State, e.Receipts, e.Part = committed, ids(found), len(found) < asked(e.Args)
	detail := "found by look-up"
	if err := t.state.put(e); err != nil {
		detail += "; " + err.Error()
	}
	return e.claim(detail)
}

// asked is how many objects a call asks for, where its arguments say so by a count.
func asked(args map[string]any) int {
	n, err := strconv.ParseFloat(fmt.Sprint(args["count"]), 64)
	if err != nil {
		return 1
	}
	return int(n)
}

// claim says what the record knows.
func (e *effect) claim(detail string) kit.Claim {
	switch e.State {
	case committed:
		outcome := bench.Done
		if e.Part {
			outcome = bench.Partial
		}
		return kit.Claim{Outcome: outcome, Receipts: e.Receipts, Detail: detail}
	case failedBefore, notStarted:
		return kit.Failed(detail)
	}
	return kit.Unknown(detail)
}

// spent reports whether the provider may have forgotten the key.
func (e *effect) spent(now time.Time) bool {
	return !e.KeyDeadline.IsZero() && !now.Before(e.KeyDeadline)
}

// identified returns arguments with the identities of the effect that the tool takes.
func (t *task) identified(e *effect, args map[string]any) map[string]any {
	more := map[string]any{}
	if t.tool.TakesKey {
		more["idempotency_key"] = e.ProviderKey
	}
	if t.tool.TakesRef {
		more[referenceArgument] = e.Reference
	}
	return with(args, more)
}

// continued is the effect that the call of a continuing turn asks for again, nil if there is none: an
// equal one of the turn that is continued, at the same place in it if several are equal.
func (t *task) continued() *effect {
	turn := t.call.Turn
	if turn.Continues == "" {
		return nil
	}
	hash := intentHash(t.tool.Name, t.call.Given.Args)
	var equal *effect
	for _, e := range t.state.effects {
		if e.Turn != turn.Continues || e.Workflow != turn.Conversation || e.IntentHash != hash {
			continue
		}
		if equal == nil || e.Ordinal == t.call.Ref().Ordinal {
			equal = e
		}
	}
	return equal
}

// unresolvedTwin is an equal effect of an earlier turn whose truth is unknown, nil if there is none. Whether
// the call asks for it again or wants a second one cannot be told.
func (t *task) unresolvedTwin() *effect {
	if t.tool.Contract.NaturallyIdempotent {
		return nil // doing it again is right in either case
	}
	hash := intentHash(t.tool.Name, t.call.Given.Args)
	for _, e := range t.state.effects {
		if e.Turn != t.call.Ref().Turn && e.Workflow == t.call.Turn.Conversation && e.IntentHash == hash &&
			(e.State == unknownAfter || e.State == inProgress || e.Cancelled && e.State == committed) {
			return e
		}
	}
	return nil
}

// ledger is the reference policy.
func ledger(t *task) kit.Claim { return t.ledger(true) }

// ledgerNoReconcile keeps the same record but leaves what is ambiguous as it is.
func ledgerNoReconcile(t *task) kit.Claim { return t.ledger(false) }

func (t *task) ledger(reconcile bool) kit.Claim {
	if t.tool.ReadOnly {
		return t.read()
	}
	e := t.state.find(t.call.Ref())
	asked := "" // what the reader should know of how the call relates to the effect
	switch hash := intentHash(t.tool.Name, t.call.Given.Args); {
	case e == nil:
		if e = t.continued(); e != nil {
			asked = "the turn continues " + e.Turn + "; "
			break
		}
		if twin := t.unresolvedTwin(); twin != nil {
			if t.tool.Contract.Unique { // there can be one only: it is asked for again
				e, asked = twin, "an equal effect of turn "+twin.Turn+" is unresolved, and there can be one only; "
				break
			}
			return kit.Unknown(fmt.Sprintf("an equal effect of turn %s is unresolved: asked again or wanted twice?", twin.Turn))
		}
		if t.ctx.Err() != nil {
			return kit.Failed("stopped before it was sent")
		}
		e = t.record(0)
	case e.IntentHash == hash:
	case e.State == failedBefore && e.Refused:
		e = t.record(e.Generation + 1) // nothing exists and nothing will: the repair is a new effect in its place
	default:
		e.Conflicts++
		asked = "the repair asks for something else and was turned down; "
		if own, offered := t.tools[e.Tool]; offered {
			t.tool = own // it may have named another tool
		}
	}
	if !slices.Contains(e.CallIDs, t.call.Given.ID) && t.call.Given.ID != "" {
		e.CallIDs = append(e.CallIDs, t.call.Given.ID)
	}
	e.Cancelled = e.Cancelled && t.ctx.Err() != nil
	claim := t.resolve(e, reconcile)
	claim.Detail = asked + claim.Detail
	return claim
}

// resolve brings an effect to an end: it executes what is proved not to exist, and finds out about what may.
// In order: replay under the key within its horizon, or a repetition that cannot make a second effect;
// then a look-up by identity; then the question to the human.
func (t *task) resolve(e *effect, reconcile bool) kit.Claim {
	// Where the model recovers, a call that is still in doubt is claimed and the repair resolves it.
	budget := t.budget(usualBudget)
	if !reconcile {
		budget = 1
	}
	fruitless := false // repetition did not help
	for sends := 0; ; {
		switch {
		case e.State == committed:
			return e.claim("committed")
		case t.ctx.Err() != nil:
			return t.stopped(e)
		case e.State == failedBefore && e.Refused:
			return e.claim("refused by the provider")
		case e.State == notStarted, e.State == failedBefore:
			if sends >= budget {
				return e.claim(fmt.Sprintf("%d attempts, none of which did anything", len(e.Attempts)))
			}
		case !reconcile:
			return e.claim("not reconciled")
		case sends > 0 && !fruitless && t.call.Trial.Start.Knobs.Recovery == "model":
			return e.claim("in doubt; the model recovers")
		case t.repeatable(e) && sends < budget && !fruitless:
		default:
			claim, again := t.reconcile(e, fruitless)
			if !again || sends >= budget {
				return claim
			}
			fruitless = false
		}
		if sends > 0 && t.backOff(sends) != nil {
			continue // stopped
		}
		if e.State == unknownAfter && !t.repeatable(e) {
			continue // the horizon passed meanwhile
		}
		doubt := e.State == unknownAfter
		if claim, bad := t.writeAhead(e); bad {
			return claim
		}
		o := t.send(t.tool, t.identified(e, e.Args))
		sends++
		if o.saw == sawConflict && t.taken(e, o, doubt) {
			continue
		}
		t.note(e, o)
		// A repetition that the tool answers with an error may be refused because the effect exists.
		fruitless = doubt && t.tool.Contract.Unique && o.answered()
	}
}

// repeatable reports whether sending again cannot make a second effect.
func (t *task) repeatable(e *effect) bool {
	c := t.tool.Contract
	return t.keyHolds() && !e.spent(t.call.Now()) || c.NaturallyIdempotent || c.Unique
}

// taken settles a refusal by a unique constraint that the tool spelt out, and reports whether it was one.
// After an attempt in doubt the existing object is ours if it agrees; before any, it is another's.
func (t *task) taken(e *effect, o observation, doubt bool) bool {
	if !t.tool.Contract.Unique || !t.tool.Contract.ErrorsTyped {
		return false
	}
	if !doubt {
		e.Attempts[len(e.Attempts)-1].Saw = o.saw
		e.State, e.Refused = failedBefore, true
		_ = t.state.put(e) // as in note
		return true
	}
	if _, offered := t.lookUpTool(); offered || len(o.receipts) == 0 {
		return false // the look-up shows whether it agrees
	}
	e.Attempts[len(e.Attempts)-1].Saw = o.saw
	e.State, e.Receipts = committed, o.receipts
	_ = t.state.put(e) // as in note
	return true
}

// reconcile looks an effect in doubt up. again is true if it may be executed: it is proved not to exist,
// and the record says so, or a unique constraint guards it. Such a constraint makes its attributes an
// identity; where it may be what turned a repetition down (barred), a look-up that shows nothing is behind.
func (t *task) reconcile(e *effect, barred bool) (claim kit.Claim, again bool) {
	c := t.tool.Contract
	_, offered := t.lookUpTool()
	if !offered || !t.byIdentity() && !c.Unique {
		return e.claim("in doubt, and nothing to look it up by"), false
	}
	limited := c.CommitsWithinKnown && (c.LookUpKind == "authoritative" || c.LookUpKind == "bounded")
	known := e.LostAt.Add(time.Duration((c.CommitsWithinS+c.LookUpLagS)*float64(time.Second)) + margin)
	shown := t.call.Now().Add(time.Duration(c.LookUpLagS*float64(time.Second)) + margin) // by then what bars it, where its lag has a limit
	for looks := 1; ; looks++ {
		late := !t.call.Now().Before(known)
		found, err := t.lookUp(e.Args, e.Reference)
		switch {
		case err != nil && t.ctx.Err() != nil:
			return t.stopped(e), false
		case err != nil:
			return e.claim("in doubt: " + err.Error()), false
		case len(t.unbound(e, found)) > 0:
			return t.adopt(e, t.unbound(e, found)), false
		case !limited && c.Unique && barred && c.LookUpKind == "bounded" && t.call.Now().Before(shown):
			if t.call.Wait(t.ctx, shown, "look-up lag") != nil {
				return t.stopped(e), false
			}
			continue
		case !limited && c.Unique && barred && looks < lookUpBudget:
			if t.backOff(looks) != nil {
				return t.stopped(e), false
			}
			continue
		case !limited && c.Unique:
			return e.claim("in doubt; the constraint lets it be sent again"), true
		case !limited:
			return e.claim("in doubt: a look-up shows nothing, but its lag has no limit"), false
		case late:
			e.State = failedBefore
			if err := t.state.put(e); err != nil {
				return kit.Failed("absent by look-up; " + err.Error()), false
			}
			return e.claim("absent by look-up"), true
		}
		if t.call.Wait(t.ctx, known, "look-up lag") != nil {
			return t.stopped(e), false
		}
	}
}

// unbound leaves out what is the receipt of another effect.
func (t *task) unbound(e *effect, found []map[string]any) []map[string]any {
	return slices.DeleteFunc(slices.Clone(found), func(f map[string]any) bool {
		return slices.ContainsFunc(t.state.effects, func(o *effect) bool {
			id, _ := f["id"].(string)
			return o.ID != e.ID && slices.Contains(o.Receipts, id)
		})
	})
}

// stopped claims for an effect whose call was cancelled or withdrawn. Its end comes with a decision, or
// with a turn that continues this one.
func (t *task) stopped(e *effect) kit.Claim {
	e.Cancelled = true
	if err := t.state.put(e); err != nil {
		return kit.Unknown("stopped; " + err.Error())
	}
	return e.claim("stopped")
}

// settle hears that the goal of a call was withdrawn or denied. Nothing is sent any more: a replay could
// execute. Only a look-up by identity tells the truth.
func settle(t *task, d bench.Decision) kit.Claim {
	e := t.effectOf()
	if e == nil {
		return t.unheardOf(d)
	}
	e.Withdrawn, e.Authority = true, "user, "+string(d)
	if e.State == unknownAfter && t.byIdentity() {
		claim, _ := t.reconcile(e, false)
		return claim
	}
	if err := t.state.put(e); err != nil {
		return kit.Unknown(err.Error())
	}
	return e.claim(string(d))
}

// settleNoReconcile says what the record knows, and asks nobody.
func settleNoReconcile(t *task, d bench.Decision) kit.Claim {
	e := t.effectOf()
	if e == nil {
		return t.unheardOf(d)
	}
	return e.claim(string(d))
}

// effectOf is the effect that the call stands for, nil if there is none.
func (t *task) effectOf() *effect {
	if e := t.state.find(t.call.Ref()); e != nil {
		return e
	}
	return t.continued()
}

// unheardOf claims for a decision on a call without a record: nothing was sent for it. After a restart the
// call itself is not known, and it may have continued another.
func (t *task) unheardOf(d bench.Decision) kit.Claim {
	if t.call.Given.Tool == "" {
		return kit.Unknown(fmt.Sprintf("%s, of a call that was not handed over since the restart", d))
	}
	return kit.Failed(fmt.Sprintf("%s before anything was sent", d))
}
