package faults

import "github.com/sixthcopy/sixthcopy/bench"

// beforeDispatch: the request is held at a link and nothing has been forwarded.
func beforeDispatch() []bench.Fault {
	at := func(p bench.Point, variant, summary string, shows bench.Shows) bench.Fault {
		return bench.Fault{Boundary: bench.BeforeDispatch, Variant: variant, Summary: summary,
			Park: p, Truth: bench.TruthNothing, Shows: shows}
	}
	refused := at(bench.AgentRequest, "refused", "the provider's address refuses the tool server's connection", bench.ShowsToolRefused)
	refused.Levers, refused.NonDelivery, refused.Quick = []bench.Lever{bench.RefuseProvider}, true, true

	shut := at("", "refused/agent-link", "the tool server's address refuses the agent's connections until the agent is idle", bench.ShowsRefused)
	shut.Window, shut.NonDelivery, shut.Extent = true, true, bench.ExtentForever

	cut := at(bench.AgentRequest, "cut", "the agent's connection is reset with its request unsent", bench.ShowsReset)
	cut.Meets = meets(bench.AgentRequest, bench.Action{Act: bench.Reset})
	cutProvider := at(bench.ProviderRequest, "cut/provider-link", "the tool server's connection is reset with its request unsent", bench.ShowsToolLost)
	cutProvider.Meets = meets(bench.ProviderRequest, bench.Action{Act: bench.Reset})

	server := at(bench.ProviderRequest, "kill-tool-server", "the tool server is killed with its request to the provider unsent", bench.ShowsClosed)
	server.Levers = []bench.Lever{bench.KillToolServer}
	server.Meets = meets(bench.ProviderRequest, bench.Action{Act: bench.Reset})

	agent := at(bench.AgentRequest, "kill-agent", "the agent is killed with its request held at the first link", bench.ShowsOwnDeath)
	agent.Levers = []bench.Lever{bench.KillAgent, bench.RestartAgent}
	agent.Meets = meets(bench.AgentRequest, bench.Action{Act: bench.Reset})
	return []bench.Fault{refused, shut, cut, cutProvider, server, agent}
}
