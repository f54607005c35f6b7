package bench

import (
	"slices"
	"sort"
	"time"
)

// offers are the workload's tools as the system is given them: each with its address, and with as much of
// the advertised contract as the tool lets through.
func (st *stage) offers() []OfferedTool {
	terms := st.trial.Contract.Advertised
	var out []OfferedTool
	for name, use := range st.tools() {
		tool := st.known[name]
		if tool == nil {
			continue
		}
		o := OfferedTool{Name: name, Address: address(use.Transport, st.agent.Address()), Transport: use.Transport,
			TakesKey: use.Key == KeyArgument, TakesRef: tool.TakesRef(), ReadOnly: tool.ReadOnly(), Annotations: use.Annotations,
			Arguments: tool.Arguments(use)}
		if !tool.ReadOnly() {
			o.Contract = OfferedContract{Unique: terms.guards(tool, use), NaturallyIdempotent: terms.NaturallyIdempotent}
			if use.Key == KeyArgument {
				o.Contract.KeyRetentionS = terms.Promises().Seconds()
				o.Contract.SavesFailures = terms.Key.Saves == "executed"
			}
			if look, argument := tool.LookUp(); look != "" && terms.LookUp.Kind != "" {
				if _, offered := st.trial.Workload.Tools[look]; offered {
					o.Contract.LookUpTool, o.Contract.LookUpArgument = look, argument
					o.Contract.LookUpBy, o.Contract.LookUpKind = terms.LookUp.By, terms.LookUp.Kind
					o.Contract.LookUpLagS = terms.LookUp.Lag.Seconds()
				}
			}
			if terms.CommitsWithin != nil {
				o.Contract.CommitsWithinS, o.Contract.CommitsWithinKnown = terms.CommitsWithin.Seconds(), true
			}
		}
		o.Contract.ErrorsTyped = use.Errors == ErrorsTyped
		out = append(out, o)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// address is where a tool is reached behind the agent link.
func address(t Transport, link string) string {
	switch t {
	case TransportJSON, TransportProvider:
		return "http://" + link
	case TransportMCPSessions:
		return "http://" + link + "/mcp-sessions"
	}
	return "http://" + link + "/mcp"
}

// guards says whether a unique constraint lets equal calls of a tool make one effect only: the tool takes all
// attributes under the constraint, which overlooks nothing. A name that the provider makes guards nobody.
func (t Terms) guards(tool Tool, use ToolUse) bool {
	if tool == nil {
		return false
	}
	names, given := t.Unique[tool.Class()], tool.Arguments(use)
	return len(names) > 0 && t.UniqueLag == 0 && !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(given, n) })
}

// contractFor condenses a contract to what judging needs for calls of a tool, as the system is given it. keyReaches is false
// where the system cannot repeat the key (the tool sends none, or its server mints one for each call),
// lookUpReaches where no look-up tool is offered that takes the intent's reference.
func contractFor(c Contract, tool Tool, use ToolUse, keyReaches, lookUpReaches bool) EvidenceContract {
	said, is := boundTerms(c.Advertised, c.Advertised.guards(tool, use), c.Advertised.Promises()), boundTerms(c.Actual, c.Actual.guards(tool, use), c.Actual.Keeps())
	if is.KeyHours > said.KeyHours {
		is.KeyHours = said.KeyHours // kept for longer than promised: no promise is broken
	}
	if c.Actual.LookUp.Lag > c.Advertised.LookUp.Lag && is.LookUp == "bounded" {
		is.LookUp = "lags" // later than documented: a negative answer proves nothing
	}
	for _, t := range []*BoundTerms{&said, &is} {
		if !keyReaches {
			t.KeyHours, t.SavesFailures = 0, false
			if use.Key != KeyRequest && use.Key != KeyMeta { // keys of a server's that come again do harm where they are mistreated
				t.Breaks = KeyBreaks{}
			}
		}
		if !lookUpReaches {
			t.LookUp, t.LookUpBy = "none", ""
		}
	}
	ec := EvidenceContract{Says: c.Summary, Advertised: said}
	if ProviderFault(said, is) {
		ec.Actual = &is
	}
	return ec
}

func boundTerms(t Terms, unique bool, holds time.Duration) BoundTerms {
	b := BoundTerms{Unique: unique, LookUp: t.LookUp.Kind, LookUpBy: t.LookUp.By, NaturallyIdempotent: t.NaturallyIdempotent}
	if t.Key.Location != "" {
		b.KeyHours, b.SavesFailures = holds.Hours(), t.Key.Saves == "executed"
		b.Breaks = KeyBreaks{ClaimsStay: t.Key.InFlight == "durable", ForgetsOnError: t.Key.ForgetsOnError,
			Shared: t.Key.Scope == "everybody", LatestOnly: t.Key.LatestOnly}
	}
	if b.LookUp == "" {
		b.LookUp = "none"
	}
	if t.CommitsWithin != nil {
		limit := t.CommitsWithin.Hours()
		b.CommitsWithin = &limit
	}
	return b
}
