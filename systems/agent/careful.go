package agent

import (
	"encoding/json"
	"fmt"

	"github.com/sixthcopy/sixthcopy/systems/kit"
)

// spelt writes arguments as they came: 5 and 5.00 differ.
func spelt(args map[string]any) string {
	text, err := json.Marshal(args) // sorted names; what was read as JSON can be written as JSON
	if err != nil {
		return fmt.Sprint(args)
	}
	return string(text)
}

// mark returns the record of the call, or makes one. The second result is false for a call that is new.
func (t *task) mark() (*effect, bool) {
	if e := t.state.find(t.call.Ref()); e != nil {
		return e, true
	}
	return t.record(0), false
}

// never marks a call before it dispatches it and sends nothing that is marked.
func never(t *task) kit.Claim {
	if t.tool.ReadOnly {
		return t.read()
	}
	e, marked := t.mark()
	if marked && (e.State != failedBefore || !t.call.Repair) {
		return e.claim("not sent again")
	}
	if claim, stopped := t.neverBegun(); stopped {
		return claim
	}
	if claim, bad := t.writeAhead(e); bad {
		return claim
	}
	o := t.send(t.tool, t.call.Given.Args)
	t.note(e, o)
	return e.claim(t.told(o))
}

// nativeToken sends again under the key that it made before the first attempt, as long as the provider
// remembers it, and never without one. A turn that continues another keeps that one's keys.
func nativeToken(t *task) kit.Claim {
	if t.tool.ReadOnly {
		return t.read()
	}
	if !t.keyHolds() {
		return never(t)
	}
	e, known := t.mark()
	if prior := t.continued(); !known && prior != nil {
		e, known = prior, true
	}
	if e.State == committed {
		return e.claim("known from the first attempt")
	}
	if !known {
		if claim, stopped := t.neverBegun(); stopped {
			return claim
		}
	}
	budget := t.budget(usualBudget)
	for n := 1; ; n++ {
		if t.ctx.Err() != nil {
			return e.claim("stopped")
		}
		if e.spent(t.call.Now()) {
			return kit.Unknown("the provider may have forgotten the key")
		}
		if claim, bad := t.writeAhead(e); bad {
			return claim
		}
		o := t.send(t.tool, t.keyed(t.call.Given.Args, e.ProviderKey))
		t.note(e, o)
		if o.saw == sawDone || o.saw == sawCancelled || n >= budget || e.Refused || t.backOff(n) != nil {
			return e.claim(t.told(o))
		}
	}
}

// scriptsGuarded is the MCP Scripts retry policy with its safeguards before every retry: the key where the
// tool takes one, else a check of the external system, else none. It knows no horizons, lags or twins.
func scriptsGuarded(t *task) kit.Claim {
	if t.tool.ReadOnly {
		return t.read()
	}
	e, known := t.mark()
	if e.State == committed {
		return e.claim("known from the first attempt")
	}
	if claim, stopped := t.neverBegun(); stopped {
		return claim
	}
	args := t.call.Given.Args
	budget := t.budget(scriptsBudget)
	for n := 1; ; n++ {
		if known && !t.tool.TakesKey && e.State != failedBefore {
			found, err := t.lookUp(args, "")
			switch {
			case err != nil:
				return kit.Unknown("no safeguard: " + err.Error())
			case len(found) > 0:
				return t.adopt(e, found[len(found)-1:])
			}
		}
		if claim, bad := t.writeAhead(e); bad {
			return claim
		}
		o := t.send(t.tool, t.keyed(args, e.ProviderKey))
		t.note(e, o)
		if o.saw == sawDone || o.saw == sawCancelled || n >= budget || permanent(o) || t.backOff(n) != nil {
			return e.claim(t.told(o))
		}
		known = true
	}
}

// decisionModel tracks CONFIRMED, ABSENT and UNKNOWN under a stable identity. UNKNOWN is looked up once,
// where anything can be looked up, and the answer believed; else it blocks.
func decisionModel(t *task) kit.Claim {
	if t.tool.ReadOnly {
		return t.read()
	}
	e, known := t.mark()
	if !known {
		if claim, stopped := t.neverBegun(); stopped {
			return claim
		}
	}
	budget := t.budget(usualBudget)
	for n := 1; ; n++ {
		if e.State == committed {
			return e.claim("CONFIRMED: not sent again")
		}
		if e.State == unknownAfter || e.State == inProgress {
			found, err := t.lookUp(t.call.Given.Args, e.Reference)
			switch {
			case err != nil:
				return kit.Unknown("UNKNOWN: blocked: " + err.Error())
			case len(found) > 0:
				return t.adopt(e, found)
			}
			e.State = failedBefore // ABSENT, it believes
		}
		if t.ctx.Err() != nil || e.Refused && !t.call.Repair {
			return e.claim("stopped")
		}
		if claim, bad := t.writeAhead(e); bad {
			return claim
		}
		o := t.send(t.tool, t.identified(e, t.call.Given.Args))
		t.note(e, o)
		if o.saw == sawDone || o.saw == sawCancelled || n >= budget || t.backOff(n) != nil {
			return e.claim(t.told(o))
		}
	}
}
