package systems

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/sixthcopy/sixthcopy/systems/agent"
	"github.com/sixthcopy/sixthcopy/systems/drive"
)

// This file reads manifests of things that speak no wire contract (`serves`, `cli`) and makes systems of them:
// the front is a child of this program (package drive).

// Driven is a thing that speaks something of its own, and how it is started and called.
type Driven struct {
	drive.Spec          // but for its policy
	Cancels    bool     // a server or gateway gives up its own request when its caller gives up
	Behind     []string // policies of the agent in front of a server or gateway; a command-line agent has none
}

// What a front of ours can do. Each trial has a process of its own, which takes the thing with it when it is
// killed. A call that is given up in front of a server or gateway ends there only where that one passes it on.
var (
	servedCan = []string{"at", "clock", "decide", "repair", "turn", "wait"}
	cliCan    = []string{"cancel", "clock", "decide", "turn"}
)

// ofFront are the fields that an adapter says of itself. For what is driven the driver knows them.
var ofFront = []string{"image", "roles", "services", "transport", "idle", "after_kill", "knobs", "can"}

// required lists the fields that a manifest must have, and refuses those that have no place beside others.
func (r *reader) required(root *yaml.Node) []string {
	given := map[string]*yaml.Node{}
	for i := 0; root.Kind == yaml.MappingNode && i+1 < len(root.Content); i += 2 {
		given[root.Content[i].Value] = root.Content[i]
	}
	how := "serves"
	if given["cli"] != nil {
		how = "cli"
	}
	if given[how] == nil && given["image"] != nil { // its entry point will do
		return []string{"kind", "summary", "clock", "idle", "after_kill", "can"}
	}
	if given[how] == nil {
		return []string{"kind", "summary", "roles", "clock", "idle", "after_kill", "can"}
	}
	if how == "cli" && given["serves"] != nil {
		r.fail(given["serves"], "serves stands beside cli, expected one of roles, serves and cli")
	}
	for _, name := range ofFront {
		if given[name] != nil {
			r.fail(given[name], fmt.Sprintf("%s stands beside %s: the driver of a thing that is no adapter knows it; leave it out", name, how))
		}
	}
	return []string{"kind", "summary"}
}

// served reads how an MCP server or a gateway is started.
func (r *reader) served(n *yaml.Node) *Driven {
	d := &Driven{Behind: drive.Policies}
	over := 0
	r.mapping(n, "serves", nil, map[string]func(*yaml.Node){
		"stdio": func(n *yaml.Node) { d.Command, over = r.filled(n, "stdio", drive.UnknownToServed), over+1 },
		"http": func(n *yaml.Node) {
			d.Command, over = r.filled(n, "http", drive.UnknownToServed), over+1
			if d.URL == "" {
				d.URL = "http://127.0.0.1:{port}/mcp"
			}
		},
		"url":     func(n *yaml.Node) { d.URL = r.placeheld(n, r.text(n, "url"), drive.UnknownToServed) },
		"env":     func(n *yaml.Node) { d.Env = r.filledTexts(n, "env", drive.UnknownToServed) },
		"map":     func(n *yaml.Node) { d.As = r.spellings(n) },
		"cancels": func(n *yaml.Node) { d.Cancels = r.flag(n, "cancels") },
		"behind":  func(n *yaml.Node) { d.Behind = r.words(n, "behind", policyNames()) },
	})
	if n.Kind == yaml.MappingNode && over != 1 {
		r.fail(n, "serves has the command in one of stdio and http")
	}
	return d
}

// commandLine reads how a command-line agent is run.
func (r *reader) commandLine(n *yaml.Node) *Driven {
	d := &Driven{}
	r.mapping(n, "cli", []string{"command"}, map[string]func(*yaml.Node){
		"command": func(n *yaml.Node) { d.Command = r.filled(n, "command", ofCLI) },
		"env":     func(n *yaml.Node) { d.Env = r.filledTexts(n, "env", ofCLI) },
		"files": func(n *yaml.Node) {
			d.Files = r.filledTexts(n, "files", ofCLI)
			for name := range d.Files {
				if strings.Contains(name, "/") {
					r.fail(n, fmt.Sprintf("files has %q, expected a name without a folder: files lie in {state}", name))
				}
			}
		},
	})
	return d
}

func (r *reader) spellings(n *yaml.Node) map[string]agent.Spelling {
	all := map[string]agent.Spelling{}
	r.pairs(n, "map", func(key, value *yaml.Node) {
		var s agent.Spelling
		r.mapping(value, "map of "+key.Value, nil, map[string]func(*yaml.Node){
			"tool":    func(n *yaml.Node) { s.Tool = r.text(n, "tool") },
			"args":    func(n *yaml.Node) { s.Args = r.texts(n, "args") },
			"receipt": func(n *yaml.Node) { s.Receipt = r.text(n, "receipt") },
		})
		all[key.Value] = s
	})
	return all
}

// ofCLI lists the placeholders in a text of a command-line agent that nothing stands for.
func ofCLI(text string) []string { return drive.Unknown(text, nil) }

// filled reads a command, which may hold placeholders.
func (r *reader) filled(n *yaml.Node, what string, unknown func(string) []string) []string {
	argv := r.command(n, what)
	for i, text := range argv {
		r.placeheld(n.Content[i], text, unknown)
	}
	return argv
}

// filledTexts reads texts that may hold placeholders.
func (r *reader) filledTexts(n *yaml.Node, what string, unknown func(string) []string) map[string]string {
	all := r.texts(n, what)
	for _, text := range all {
		r.placeheld(n, text, unknown)
	}
	return all
}

func (r *reader) placeheld(n *yaml.Node, text string, unknown func(string) []string) string {
	known := slices.DeleteFunc(sortedKeys(drive.Placeholders), func(name string) bool { return len(unknown("{"+name+"}")) > 0 })
	for _, p := range unknown(text) {
		r.fail(n, fmt.Sprintf("nothing stands for %s%s; known: {%s}", p, meant(strings.Trim(p, "{}"), known), strings.Join(known, "}, {")))
	}
	return text
}

func policyNames() []string {
	var all []string
	for _, p := range agent.Policies {
		all = append(all, p.Name)
	}
	slices.Sort(all)
	return all
}

// sense checks that what is driven fits its kind.
func (r *reader) sense(root *yaml.Node, m *Manifest) {
	switch {
	case len(m.Driven.Behind) > 0 && m.Kind != "toolserver" && m.Kind != "gateway":
		r.fail(root, fmt.Sprintf("kind is %q, expected toolserver or gateway: serves says how such a one is started", m.Kind))
	case m.Kind == "toolserver" && len(m.Providers) == 0:
		r.fail(root, `a toolserver has no "providers": the kind of provider that it calls, whose address it gets by {provider}`)
	case m.Kind == "gateway" && len(m.Providers) > 0:
		r.fail(root, "a gateway has providers: it stands before our tools, whose address it gets by {tools}; leave them out")
	}
}

// fill gives what is driven the fields that adapters say of themselves.
func (d *Driven) fill(m *Manifest) {
	m.AfterKill, m.Can = "redeliver", cliCan
	if m.Clock == "" {
		m.Clock = "wall"
	}
	if len(d.Behind) > 0 {
		m.Can = servedCan
		if d.Cancels {
			m.Can = slices.Concat(servedCan, []string{"cancel", "timeout"})
		}
	}
	if len(m.Tools) == 0 && len(d.As) > 0 {
		m.Tools = sortedKeys(d.As)
	}
}

// front is one way to run a system.
type front struct {
	suffix   string // of its name
	argv     []string
	warm     bool
	patience time.Duration // for each acknowledgement
}

// drivenPatience is how long the front of a thing that is no adapter may take to acknowledge an order, in real
// time: `start` raises the thing.
const drivenPatience = time.Minute

// driven are the ways in which a thing is driven: behind each policy, if policies stand in front of it.
func (m Manifest) driven(args []string) ([]front, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("path of this program: %w", err)
	}
	argv, err := m.found(m.Driven.Command)
	if err != nil {
		return nil, err
	}
	behind := m.Driven.Behind
	if len(behind) == 0 {
		behind = []string{""}
	}
	var all []front
	for _, policy := range behind {
		spec := m.Driven.Spec
		spec.Policy, spec.Command = policy, append(slices.Clone(argv), args...)
		text, err := json.Marshal(spec)
		if err != nil {
			return nil, fmt.Errorf("spec of the driver: %w", err)
		}
		f := front{argv: []string{exe, "drive", string(text)}, patience: drivenPatience}
		if policy != "" {
			f.suffix = "+" + policy
		}
		all = append(all, f)
	}
	return all, nil
}
