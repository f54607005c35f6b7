package systems

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/sixthcopy/sixthcopy/bench"
)

// Manifest is a checked system.yaml. The file's fields are the same words in lower case
// (docs/wire-contract.md has one in full).
type Manifest struct {
	File string // as it was found
	Dir  string // its folder: commands run here

	Name      string            // default: the folder's name
	Kind      string            // policy, client, runtime, gateway, toolserver, engine, ledger
	Summary   string            // one sentence
	Versions  map[string]string // of what is adapted, by name
	Setup     []string          // command that makes the folder ready to run, once; empty: nothing to do
	MadeFrom  []string          // files that setup reads, as patterns; empty: all of the folder
	Needs     map[string]string // program that must be in PATH -> the command that installs it
	Image     string            // container image that the front runs in; empty: it is a process
	Transport string            // stdio (default) or dial
	Roles     []Role            // one front at least
	Services  []Service         // what the roles need beside them
	Clock     string            // protocol, faketime or wall
	Idle      Idle
	AfterKill string    // redeliver or resume
	Providers []string  // kinds of providers that it calls itself, by their own wires; empty: it calls tools
	Tools     []string  // calls that it can make, by the names of the tools; empty: all
	Knobs     []string  // which of the knobs of a trial it has
	Can       []string  // abilities, beside turn and clock
	Driven    *Driven   // instead of roles: an MCP server, a gateway or a command-line agent as it is
	Variants  []Variant // systems that the folder offers; none: one, by the folder's own name
}

// Role is one process of a system.
type Role struct {
	Name    string   // front (speaks the wire contract), worker or server
	Command []string // run in the manifest's folder
	Kill    string   // kill group: roles of one group die together; default the role's name
	Ready   Ready    // the fact that shows that it is up; the front's is its `started`
	Warm    bool     // it imports once, and forks a process for each trial that wants one
}

// Service is something that the roles need, such as a database.
type Service struct {
	Name      string
	Command   []string
	Scope     string // run (raised once) or trial (raised for each)
	Namespace string // environment variable that gets a name of its own for each trial; empty: none
	Exclusive string // "kill": trials that kill it are not run beside others
	Ready     Ready
}

// Ready is a fact to wait for. At most one field is set.
type Ready struct {
	Line string // text of a line on stdout or stderr
	Port int    // on which it accepts connections, 1 to 65535
	File string // that appears in the state folder
}

// Idle says how the harness knows that nothing is under way.
type Idle struct {
	Probe        bool          // the system says `idle`
	LongestTimer time.Duration // else: this long after the last word nothing is going to happen
}

// Variant is one way to run a system.
type Variant struct {
	Name string
	Args []string // appended to the front's command
	Says string   // the line of configuration that makes it, in its library's words; empty: not said
}

// Words that a manifest may use.
var (
	kinds      = []string{"policy", "client", "runtime", "gateway", "toolserver", "engine", "ledger"}
	clocks     = []string{"protocol", "faketime", "wall"}
	afterKills = []string{"redeliver", "resume"}
	transports = []string{"stdio", "dial"}
	roleNames  = []string{"front", "worker", "server"}
	scopes     = []string{"run", "trial"}
	knobs      = []string{"call_timeout_ms", "recovery", "events", "fresh_connections"}
	abilities  = []string{"turn", "repair", "cancel", "decide", "event", "clock", "at", "wait", "reset", "timeout"}
)

// knobNeeds names the ability without which a knob does nothing.
var knobNeeds = map[string]string{"call_timeout_ms": "timeout", "recovery": "repair", "events": "at"}

// Load reads DIR/*/system.yaml, sorted by folder. A folder without one is passed over. The error is a
// *Problems with everything that is wrong in all of them, or says what could not be read.
func Load(dir string) ([]Manifest, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "system.yaml"))
	if err != nil {
		return nil, fmt.Errorf("systems of %s: %w", dir, err)
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("systems: %w", err)
	}
	var all []Manifest
	problems := &Problems{}
	first := map[string]string{} // file by name of system
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("manifest: %w", err)
		}
		m, err := ParseManifest(file, text)
		var found *Problems
		if errors.As(err, &found) {
			problems.List = append(problems.List, found.List...)
			continue
		}
		if other, taken := first[m.Name]; taken {
			problems.add(file, 1, 1, fmt.Sprintf("name %q is taken by %s", m.Name, other))
		}
		first[m.Name] = file
		all = append(all, m)
	}
	if len(problems.List) > 0 {
		return nil, problems
	}
	return all, nil
}

// ParseManifest reads one manifest strictly. The error is a *Problems with everything that is wrong.
func ParseManifest(file string, text []byte) (Manifest, error) {
	r := &reader{file: file}
	m := Manifest{File: file, Dir: filepath.Dir(file), Name: filepath.Base(filepath.Dir(file)), Transport: "stdio"}
	if root := r.document(text); root != nil {
		r.manifest(root, &m)
	}
	if len(r.List) > 0 {
		r.sort()
		return Manifest{}, &r.Problems
	}
	return m, nil
}

func (r *reader) manifest(root *yaml.Node, m *Manifest) {
	r.mapping(root, "a manifest", r.required(root), map[string]func(*yaml.Node){
		"name":       func(n *yaml.Node) { m.Name = r.name(n, "name") },
		"kind":       func(n *yaml.Node) { m.Kind = r.word(n, "kind", kinds) },
		"summary":    func(n *yaml.Node) { m.Summary = r.text(n, "summary") },
		"versions":   func(n *yaml.Node) { m.Versions = r.texts(n, "versions") },
		"setup":      func(n *yaml.Node) { m.Setup = r.command(n, "setup") },
		"made_from":  func(n *yaml.Node) { m.MadeFrom = r.command(n, "made_from") },
		"needs":      func(n *yaml.Node) { m.Needs = r.texts(n, "needs") },
		"image":      func(n *yaml.Node) { m.Image = r.text(n, "image") },
		"transport":  func(n *yaml.Node) { m.Transport = r.word(n, "transport", transports) },
		"clock":      func(n *yaml.Node) { m.Clock = r.word(n, "clock", clocks) },
		"after_kill": func(n *yaml.Node) { m.AfterKill = r.word(n, "after_kill", afterKills) },
		"idle":       func(n *yaml.Node) { m.Idle = r.idle(n) },
		"providers":  func(n *yaml.Node) { m.Providers = r.items(n, "providers") },
		"tools":      func(n *yaml.Node) { m.Tools = r.items(n, "tools") },
		"knobs":      func(n *yaml.Node) { m.Knobs = r.words(n, "knobs", knobs) },
		"can":        func(n *yaml.Node) { m.Can = r.words(n, "can", abilities) },
		"roles": func(n *yaml.Node) {
			r.sequence(n, "roles", func(item *yaml.Node) { m.Roles = append(m.Roles, r.role(item)) })
			r.front(n, m.Roles)
		},
		"services": func(n *yaml.Node) {
			r.sequence(n, "services", func(item *yaml.Node) { m.Services = append(m.Services, r.service(item)) })
		},
		"serves":   func(n *yaml.Node) { m.Driven = r.served(n) },
		"cli":      func(n *yaml.Node) { m.Driven = r.commandLine(n) },
		"variants": func(n *yaml.Node) { m.Variants = r.variants(n) },
	})
	if len(r.List) > 0 {
		return
	}
	if m.Image != "" && len(m.Roles) == 0 {
		m.Roles = []Role{{Name: "front", Kill: "front"}}
	}
	if m.Driven != nil {
		r.sense(root, m)
		m.Driven.fill(m)
	}
	if !slices.Contains(m.Can, "turn") {
		r.fail(root, `can lacks "turn"; every system is handed turns`)
	}
	if m.Transport == "dial" && slices.ContainsFunc(m.Roles, func(role Role) bool { return role.Warm }) {
		r.fail(root, "warm is there for transport stdio only: a forked child is handed its stdin and stdout")
	}
	for _, knob := range m.Knobs {
		if ability := knobNeeds[knob]; ability != "" && !slices.Contains(m.Can, ability) {
			r.fail(root, fmt.Sprintf("knob %q does nothing without the ability %q; add it to can", knob, ability))
		}
	}
}

// front checks that exactly one role speaks the wire contract.
func (r *reader) front(n *yaml.Node, roles []Role) {
	fronts := 0
	for _, role := range roles {
		if role.Name == "front" {
			fronts++
		}
	}
	if fronts != 1 && n.Kind == yaml.SequenceNode {
		r.fail(n, fmt.Sprintf("roles has %d fronts, expected 1: the role that speaks the wire contract", fronts))
	}
}

func (r *reader) role(n *yaml.Node) Role {
	var role Role
	r.mapping(n, "a role", []string{"name", "command"}, map[string]func(*yaml.Node){
		"name":    func(n *yaml.Node) { role.Name = r.word(n, "name of a role", roleNames) },
		"command": func(n *yaml.Node) { role.Command = r.command(n, "command") },
		"kill":    func(n *yaml.Node) { role.Kill = r.name(n, "kill") },
		"ready":   func(n *yaml.Node) { role.Ready = r.ready(n) },
		"warm":    func(n *yaml.Node) { role.Warm = r.flag(n, "warm") },
	})
	if role.Warm && role.Name != "front" {
		r.fail(n, fmt.Sprintf("warm is of role %q, expected it of the front: no other role is forked", role.Name))
	}
	if role.Kill == "" {
		role.Kill = role.Name
	}
	return role
}

func (r *reader) service(n *yaml.Node) Service {
	var s Service
	r.mapping(n, "a service", []string{"name", "command", "scope"}, map[string]func(*yaml.Node){
		"name":      func(n *yaml.Node) { s.Name = r.name(n, "name of a service") },
		"command":   func(n *yaml.Node) { s.Command = r.command(n, "command") },
		"scope":     func(n *yaml.Node) { s.Scope = r.word(n, "scope", scopes) },
		"namespace": func(n *yaml.Node) { s.Namespace = r.text(n, "namespace") },
		"exclusive": func(n *yaml.Node) { s.Exclusive = r.word(n, "exclusive", []string{"kill"}) },
		"ready":     func(n *yaml.Node) { s.Ready = r.ready(n) },
	})
	return s
}

func (r *reader) ready(n *yaml.Node) Ready {
	var ready Ready
	r.mapping(n, "ready", nil, map[string]func(*yaml.Node){
		"line": func(n *yaml.Node) { ready.Line = r.text(n, "line") },
		"port": func(n *yaml.Node) { ready.Port = r.number(n, "port", 1, 65535) },
		"file": func(n *yaml.Node) { ready.File = r.text(n, "file") },
	})
	if n.Kind == yaml.MappingNode && len(n.Content) != 2 {
		r.fail(n, "ready is one fact, expected one of line, port, file")
	}
	return ready
}

func (r *reader) idle(n *yaml.Node) Idle {
	if n.Kind == yaml.ScalarNode {
		return Idle{Probe: r.word(n, "idle", []string{"probe"}) != ""}
	}
	var idle Idle
	r.mapping(n, "idle", []string{"longest_timer"}, map[string]func(*yaml.Node){
		"longest_timer": func(n *yaml.Node) {
			d, err := time.ParseDuration(r.text(n, "longest_timer"))
			if n.Kind == yaml.ScalarNode && n.Value != "" && (err != nil || d <= 0) {
				r.fail(n, fmt.Sprintf("longest_timer is %q, expected a duration above zero such as 30s", n.Value))
			}
			idle.LongestTimer = d
		},
	})
	return idle
}

func (r *reader) variants(n *yaml.Node) []Variant {
	var all []Variant
	r.pairs(n, "variants", func(key, value *yaml.Node) {
		v := Variant{Name: r.name(key, "name of a variant")}
		arguments := func(n *yaml.Node) {
			if r.is(n, yaml.SequenceNode, "arguments of variant "+key.Value) { // none is fine
				for _, item := range n.Content {
					v.Args = append(v.Args, r.text(item, "an argument"))
				}
			}
		}
		if value.Kind == yaml.MappingNode {
			r.mapping(value, "variant "+key.Value, nil, map[string]func(*yaml.Node){
				"args": arguments,
				"says": func(n *yaml.Node) { v.Says = r.text(n, "says of variant "+key.Value) },
			})
		} else {
			arguments(value)
		}
		all = append(all, v)
	})
	return all
}

// Systems returns the systems that the manifest offers, one for each variant: NAME, or NAME/VARIANT; behind a
// policy NAME+POLICY. Each is an io.Closer. It refuses what this driver does not raise: services, and roles
// beside the front.
func (m Manifest) Systems() ([]bench.System, error) {
	variants := m.Variants
	if len(variants) == 0 {
		variants = []Variant{{}}
	}
	var all []bench.System
	for _, v := range variants {
		fronts, err := m.fronts(v.Args)
		if err != nil {
			return nil, err
		}
		for _, f := range fronts {
			s := &System{
				name: m.Name, kind: m.Kind, summary: m.Summary, says: v.Says, clock: m.Clock, afterKill: m.AfterKill,
				providers: m.Providers, tools: m.Tools, can: m.Can, variant: v.Name, patience: f.patience, manifest: &m,
				command: command{argv: f.argv, dir: m.Dir, dial: m.Transport == "dial", image: m.Image},
			}
			if v.Name != "" {
				s.name += "/" + v.Name
			}
			s.name += f.suffix
			if f.warm {
				s.command.warm = &warm{system: s.name}
			}
			all = append(all, s)
		}
	}
	return all, nil
}

// fronts are the ways to run the front with a variant's arguments.
func (m Manifest) fronts(args []string) ([]front, error) {
	if m.Driven != nil {
		return m.driven(args)
	}
	if len(m.Services) > 0 || len(m.Roles) != 1 {
		return nil, fmt.Errorf("%s: services and roles beside the front are not raised by the process driver", m.File)
	}
	role := m.Roles[0]
	if m.Image != "" { // the command is one of the image's; without one, its entry point
		return []front{{argv: append(slices.Clone(role.Command), args...), patience: drivenPatience}}, nil
	}
	argv, err := m.found(role.Command)
	if err != nil {
		return nil, err
	}
	return []front{{argv: append(slices.Clone(argv), args...), warm: role.Warm, patience: Patience}}, nil
}
