// Package drive is the front of systems that speak no wire contract but something of their own: an MCP server
// or a gateway, which an agent of ours calls under one of its policies, and a command-line agent, which is run
// once for every turn. The front is a child of the harness: `EXE drive SPEC`, the spec in JSON.
package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/systems/agent"
	"github.com/sixthcopy/sixthcopy/systems/kit"
)

// Spec is what the front drives, and how. Command, Env, URL and Files may hold placeholders.
type Spec struct {
	Policy  string                    `json:"policy,omitempty"` // of the agent in front of a server or gateway; empty: a command-line agent
	Command []string                  `json:"command"`
	Env     map[string]string         `json:"env,omitempty"`
	URL     string                    `json:"url,omitempty"` // of a server or gateway that speaks HTTP; empty: it speaks on stdin and stdout
	As      map[string]agent.Spelling `json:"as,omitempty"`
	Files   map[string]string         `json:"files,omitempty"` // of a command-line agent: written into the state folder before each turn
}

// Policies are those that stand in front of servers and gateways, unless a manifest names others.
var Policies = []string{"never", "blind", "key-by-call-id"}

// Placeholders, and what stands for them. The first four are a trial's, the rest a turn's.
var Placeholders = map[string]string{
	"provider": "address of the provider, for systems with `providers`",
	"tools":    "address of the tools over MCP, streamable HTTP",
	"port":     "a free port of 127.0.0.1",
	"state":    "the folder that survives a kill",

	"say":          "the user's words",
	"turn":         "the turn's id, the same when it is handed over again",
	"conversation": "the conversation's id",
	"calls":        "the calls to make, as JSON",
}

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

// ofTurn are the placeholders that a thing which is started before any turn cannot have.
var ofTurn = []string{"say", "turn", "conversation", "calls"}

// UnknownToServed lists the placeholders in a text of a server or gateway that nothing stands for.
func UnknownToServed(text string) []string { return Unknown(text, ofTurn) }

// Unknown lists the placeholders in a text that nothing stands for, or whose values there are not.
func Unknown(text string, not []string) []string {
	var all []string
	for _, p := range placeholder.FindAllString(text, -1) {
		if name := strings.Trim(p, "{}"); Placeholders[name] == "" || slices.Contains(not, name) {
			all = append(all, p)
		}
	}
	return all
}

// fill puts values in place of the placeholders of a text.
func fill(text string, values map[string]string) string {
	return placeholder.ReplaceAllStringFunc(text, func(p string) string {
		if v, given := values[strings.Trim(p, "{}")]; given {
			return v
		}
		return p
	})
}

func fillAll(texts []string, values map[string]string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = fill(text, values)
	}
	return all
}

// environment is the spec's own variables, NAME=value.
func (s Spec) environment(values map[string]string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		all = append(all, name+"="+fill(s.Env[name], values))
	}
	return all
}

// Main is the front's process. It returns the exit status.
func Main(_ context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var s Spec
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &s) != nil || len(s.Command) == 0 {
		fmt.Fprintf(stderr, "drive: arguments are %q, expected one: a spec in JSON, as the harness makes it from system.yaml\n", args)
		return 2
	}
	if s.Policy == "" {
		return runTurns(s, stdin, stdout, stderr)
	}
	policy, known := agent.ByName(s.Policy)
	if !known {
		fmt.Fprintf(stderr, "drive: policy %q is not known\n", s.Policy)
		return 2
	}
	return agent.Run(policy, s.through, stdin, stdout, stderr)
}

// through is the server or gateway of a trial.
func (s Spec) through(t *kit.Trial) (*agent.Through, error) {
	values, err := trialValues(t)
	if err != nil {
		return nil, err
	}
	return &agent.Through{Command: fillAll(s.Command, values), Env: s.environment(values), URL: fill(s.URL, values), As: s.As}, nil
}

// trialValues are the values of a trial's placeholders.
func trialValues(t *kit.Trial) (map[string]string, error) {
	values := map[string]string{"state": t.Start.StateDir}
	for _, address := range t.Start.Providers {
		values["provider"] = address
	}
	for _, tool := range t.Start.Tools {
		if values["tools"] = mcpAddress(tool); tool.Transport == bench.TransportProvider {
			delete(values, "tools")
		}
	}
	port, err := freePort()
	values["port"] = strconv.Itoa(port)
	return values, err
}

// mcpAddress is where a tool is reached over MCP. A tool server speaks it beside plain JSON at one address.
func mcpAddress(tool bench.OfferedTool) string {
	if tool.Transport == bench.TransportJSON {
		return strings.TrimSuffix(tool.Address, "/") + "/mcp"
	}
	return tool.Address
}

// freePort is a port that nobody listened on a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, errors.Join(l.Close())
}
