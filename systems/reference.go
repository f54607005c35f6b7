package systems

import (
	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/systems/agent"
)

// agentCan lists what the reference agent can do, under every policy.
var agentCan = []string{"at", "cancel", "clock", "decide", "repair", "reset", "timeout", "turn", "wait"}

// Reference returns the reference agent as one system for each of its policies, in the order in which
// reports show them. Their heaps are so small that collecting them less often costs nothing. exe is the binary that runs `agent --policy NAME` through agent.Main. Each system is
// an io.Closer, to be closed when the run is over.
func Reference(exe string) []bench.System {
	var all []bench.System
	for _, p := range agent.Policies {
		all = append(all, &System{
			name: p.Name, kind: p.Kind, summary: p.Summary, clock: "protocol", afterKill: "redeliver",
			can: agentCan, variant: p.Name, patience: Patience,
			command: command{argv: []string{exe, "agent", "--policy", p.Name}, env: []string{"GOMAXPROCS=1", "GOGC=400"}},
		})
	}
	return all
}
