package bench

import (
	"fmt"
	"slices"
	"strings"
)

// This file is the topology of systems that call the provider themselves, as SDKs do: no tool server stands in
// between, and the agent link leads to the provider.
//
//	system -> [agent link] -> provider

// TransportProvider is the provider's own wire: no tool server, the plan gives it to every tool of a system that
// calls the provider itself. No workload file says it.
const TransportProvider Transport = "provider"

// directly is a workload as a system meets it that calls the provider itself: it may use the provider's key
// wherever there is one, and is told what the provider says.
func directly(w Workload, c Contract) Workload {
	tools := map[string]ToolUse{}
	for name, offered := range w.Tools {
		use := ToolUse{Transport: TransportProvider, Errors: ErrorsTyped, Key: KeyNone, External: offered.External}
		if c.Advertised.Key.Location != "" {
			use.Key = KeyArgument
		}
		tools[name] = use
	}
	w.Tools, w.Direct = tools, true
	return w
}

// unmediated is a fault where nothing stands between the system and the provider: what would happen at the
// provider link happens at the system's own, and is shown as what it is. Or it says why it has no place there.
func unmediated(f Fault) (Fault, string) {
	const noServer = "the system calls the provider itself: there is no tool server"
	switch {
	case f.Boundary == OtherInstance || f.Memory || f.Sessions || f.OnlyMCP || f.Owner == "toolserver":
		return f, noServer
	case slices.Contains(f.Levers, KillToolServer) || slices.Contains(f.Levers, RestartTool):
		return f, noServer
	case slices.Contains(f.Levers, RefuseProvider):
		return f, "the system calls the provider itself: its own dial is refused in refused/agent-link"
	case f.Reused:
		return f, "the system calls the provider itself: whether it uses a connection twice is its own affair"
	case f.Park == ProviderRequest:
		return f, "the system calls the provider itself: there is one link, and its cut is the variant without provider-link"
	}
	switch f.Shows {
	case ShowsToolLost:
		f.Shows = ShowsReset
		if f.Meets[ProviderResponse].Act == Close {
			f.Shows = ShowsClosed
		}
	case ShowsToolEmpty:
		f.Shows = "unreadable answer"
		if f.Meets[ProviderResponse].Act == Truncate {
			f.Shows = "answer cut inside its body"
		}
	}
	if status, ok := strings.CutPrefix(string(f.Shows), string(ShowsToolStatus)); ok {
		f.Shows = Shows("status " + status)
	}
	meets := map[Point]Action{}
	for p, a := range f.Meets {
		if p == ProviderResponse {
			p = AgentResponse
		}
		meets[p] = a
	}
	f.Meets = meets
	return f, ""
}

// shuns says why no trial of a workload can be had with a system that makes only some calls, or makes them of
// the provider itself; "": it fits.
func (sys SystemFacts) shuns(w Workload, tools map[string]Tool) string {
	if len(sys.Providers) > 0 && !slices.Contains(sys.Providers, w.Provider.Kind) {
		return "it calls providers of its own: " + strings.Join(sys.Providers, ", ")
	}
	for _, turn := range w.Turns {
		for _, in := range turn.Intents {
			if len(sys.Tools) > 0 && !slices.Contains(sys.Tools, in.Call.Tool) {
				return "system.yaml does not list " + in.Call.Tool + " in `tools`"
			}
			if tool := tools[in.Call.Tool]; len(sys.Providers) > 0 && tool != nil && tool.Requests(in.Call.Args) > 1 {
				return fmt.Sprintf("%s makes %d requests of its provider, and a system that calls it itself is given calls of one", in.Call.Tool, tool.Requests(in.Call.Args))
			}
		}
	}
	return ""
}

// raiseDirect brings up the path from the system straight to the provider.
func (st *stage) raiseDirect() error {
	kind := st.trial.Workload.Provider.Kind
	front, err := st.provider.Listen("agent")
	if err != nil {
		return fmt.Errorf("front of provider %s: %w", kind, err)
	}
	told := func(status int, body []byte) string { return st.runner.World.Told(TransportProvider, status, body) }
	st.agent, err = st.runner.World.Links.Raise(LinkSpec{Name: "agent", Upstream: front, Request: AgentRequest,
		Response: AgentResponse, Parse: st.provider.Parse, Told: told, Gate: st.gate})
	if err != nil {
		return fmt.Errorf("agent link to provider %s: %w", kind, err)
	}
	return nil
}
