package agent

import (
	"strconv"
	"strings"

	"github.com/sixthcopy/sixthcopy/systems/kit"
)

// blind sends the same request again after any error.
func blind(t *task) kit.Claim {
	return t.resendWith(func(int) string { return "" })
}

// resendWith is blind with a key for each attempt; "" is none.
func (t *task) resendWith(key func(n int) string) kit.Claim {
	if claim, stopped := t.neverBegun(); stopped {
		return claim
	}
	return t.plainly(t.insist(usualBudget, func(n int) map[string]any {
		if k := key(n); k != "" {
			return t.keyed(t.call.Given.Args, k)
		}
		return t.call.Given.Args
	}, goOn))
}

// keyPerAttempt gives every attempt a key of its own, in every process.
func keyPerAttempt(t *task) kit.Claim {
	return t.resendWith(func(n int) string {
		return identity("attempt", t.call.Turn.Conversation, t.call.Given.ID, strconv.Itoa(t.run), strconv.Itoa(n))
	})
}

// keyByCallID takes the tool-call id for the key. The model gives a repair a new one.
func keyByCallID(t *task) kit.Claim {
	return t.resendWith(func(int) string { return t.call.Given.ID })
}

// keyByArguments takes a hash of tool and arguments for the key, as they are spelt.
func keyByArguments(t *task) kit.Claim {
	return t.resendWith(func(int) string { return argumentsKey(t) })
}

// hintTrusting believes the annotations: what they call idempotent or read-only is sent like blind does.
func hintTrusting(t *task) kit.Claim {
	hints := t.tool.Annotations
	if hints.Idempotent != nil && *hints.Idempotent || hints.ReadOnly != nil && *hints.ReadOnly {
		return blind(t)
	}
	return never(t)
}

// scriptsMinimal is the MCP Scripts retry policy without its safeguards: three attempts, back-off from
// 250 ms doubled up to 5 s, for what is recoverable: time-outs and all that is not known to be permanent.
func scriptsMinimal(t *task) kit.Claim {
	if claim, stopped := t.neverBegun(); stopped {
		return claim
	}
	return t.plainly(t.insist(scriptsBudget, func(int) map[string]any { return t.call.Given.Args }, permanent))
}

// permanent reports whether the same attempt would fail again.
func permanent(o observation) bool { return o.saw == sawRefused || o.saw == sawConflict }

// modelGuess stands for a model that reads the error and infers what happened.
func modelGuess(t *task) kit.Claim {
	if claim, stopped := t.neverBegun(); stopped {
		return claim
	}
	o := t.insist(usualBudget, func(int) map[string]any { return t.call.Given.Args }, func(o observation) bool {
		return guess(o.text) != guessAgain
	})
	if o.saw == sawDone || o.saw == sawCancelled {
		return t.plainly(o)
	}
	switch guess(o.text) {
	case guessDone:
		return kit.Claim{Outcome: "done", Receipts: o.receipts, Detail: "guessed from: " + o.text}
	default:
		return kit.Failed("guessed from: " + o.text)
	}
}

// guessed is what a model infers from an error text.
type guessed int

const (
	guessFailed guessed = iota
	guessAgain
	guessDone
)

// guesses are the words that decide, first match first.
var guesses = []struct {
	word string
	is   guessed
}{
	{"not executed", guessAgain}, {"try again", guessAgain}, {"refused", guessAgain}, {"no session", guessAgain},
	{"already", guessDone}, {"exists", guessDone}, {"in use", guessDone}, {"duplicate", guessDone}, {"done", guessDone},
	{"timed out", guessAgain}, {"reset", guessAgain}, {"http 5", guessAgain}, {"http 429", guessAgain}, {"no answer", guessAgain},
	{"eof", guessDone}, {"cut short", guessDone}, {"http 200", guessDone}, // there was an answer: it must have worked
}

func guess(text string) guessed {
	text = strings.ToLower(text)
	for _, g := range guesses {
		if strings.Contains(text, g.word) {
			return g.is
		}
	}
	return guessFailed
}

// doNothing is a control: it sends nothing.
func doNothing(*task) kit.Claim { return kit.Failed("nothing was sent") }

// dedupeEverything is a control: whatever looks like something that was sent before is answered from
// memory, in every turn and after every restart.
func dedupeEverything(t *task) kit.Claim {
	key := argumentsKey(t)
	for _, e := range t.state.effects {
		if e.ID == key {
			return kit.Claim{Outcome: "done", Receipts: e.Receipts, Detail: "from memory"}
		}
	}
	if claim, stopped := t.neverBegun(); stopped {
		return claim
	}
	e := &effect{ID: key, Workflow: t.call.Turn.Conversation, Turn: t.call.Turn.ID, Ordinal: t.call.Given.Ordinal, Tool: t.tool.Name, State: inProgress}
	if err := t.state.put(e); err != nil {
		return kit.Failed(err.Error())
	}
	o := t.send(t.tool, t.call.Given.Args)
	e.Receipts = o.receipts
	if err := t.state.put(e); err != nil {
		return kit.Unknown(err.Error())
	}
	return t.plainly(o)
}

func argumentsKey(t *task) string {
	return identity("arguments", t.tool.Name, spelt(t.call.Given.Args))
}
