package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sixthcopy/sixthcopy/bench"
)

// Through is a system under test that stands between the agent and what a trial offers: an MCP server that
// calls the provider, or a gateway before the tools. The agent starts it and calls the tools that it lists.
type Through struct {
	Command []string
	Env     []string            // NAME=value, beside the agent's own
	URL     string              // where it speaks streamable HTTP; empty: it speaks on stdin and stdout
	As      map[string]Spelling // by tool, as the trial offers it; one that is not here is spelt alike
	Stderr  io.Writer           // of the command

	tail *lastWords
	mu   sync.Mutex
	cmds []*exec.Cmd // started
}

// Spelling is how a system under test spells a tool.
type Spelling struct {
	Tool    string            `json:"tool,omitempty"`    // its name there; empty: the same
	Args    map[string]string `json:"args,omitempty"`    // names of arguments there, by ours
	Receipt string            `json:"receipt,omitempty"` // where an answer names the object: a field, a dotted path; empty: as our own tools do
}

// overStdio is the transport of tools that a child offers on stdin and stdout. It stands in no workload.
const overStdio bench.Transport = "stdio"

// raiseWithin is how long a system under test may take to list its tools, in real time. It only bounds failure.
const raiseWithin = 50 * time.Second

// raise starts the system under test, and offers the agent what it lists of the trial's tools.
func (a *agent) raise(th *Through) error {
	th.tail = &lastWords{to: th.Stderr}
	a.client.through = th
	ctx, cancel := context.WithTimeout(context.Background(), raiseWithin)
	defer cancel()
	at := bench.OfferedTool{Name: "the tools", Transport: overStdio}
	if th.URL != "" {
		at.Address, at.Transport = th.URL, bench.TransportMCPSessions
		if err := th.serve(ctx); err != nil {
			return err
		}
	}
	session, err := a.client.connect(ctx, at)
	if err != nil {
		return fmt.Errorf("%q did not answer as an MCP server within %s: %w; its last words on stderr: %s", th.Command, raiseWithin, err, th.tail)
	}
	a.client.sessions[at.Address] = session
	var listed []string
	fits := map[string]bench.OfferedTool{}
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("tools of %q: %w; its last words on stderr: %s", th.Command, err, th.tail)
		}
		listed = append(listed, tool.Name)
		for _, offered := range a.tools {
			if spelt, _, _ := th.spell(offered.Name, nil); spelt == tool.Name {
				offered.Address, offered.Transport = at.Address, at.Transport
				fits[offered.Name] = th.terms(offered, tool.InputSchema)
			}
		}
	}
	if len(fits) == 0 {
		slices.Sort(listed)
		var wanted []string
		for name := range a.tools {
			spelt, _, _ := th.spell(name, nil)
			wanted = append(wanted, spelt)
		}
		slices.Sort(wanted)
		return fmt.Errorf("%q lists the tools %s, expected one of %s; `map` in system.yaml says how it spells them", th.Command, strings.Join(listed, ", "), strings.Join(wanted, ", "))
	}
	a.tools = fits
	return nil
}

// terms are what is offered of a tool through the system under test: an identity that its schema has no
// argument for does not get through.
func (th *Through) terms(o bench.OfferedTool, schema any) bench.OfferedTool {
	var shape struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if text, err := json.Marshal(schema); err == nil {
		_ = json.Unmarshal(text, &shape) // a schema of another shape has no argument that we know
	}
	has := func(argument string) bool {
		_, ok := shape.Properties[th.argument(o.Name, argument)]
		return ok
	}
	if o.TakesKey = o.TakesKey && has("idempotency_key"); !o.TakesKey {
		o.Contract.KeyRetentionS, o.Contract.SavesFailures = 0, false
	}
	o.TakesRef = o.TakesRef && has(referenceArgument)
	o.Arguments = slices.DeleteFunc(slices.Clone(o.Arguments), func(name string) bool { return !has(name) })
	return o
}

// spell gives the name and the arguments of a call as the system under test spells them, and where its answer
// names the object.
func (th *Through) spell(name string, args map[string]any) (string, map[string]any, string) {
	if th == nil {
		return name, args, ""
	}
	as := th.As[name]
	if len(as.Args) > 0 {
		renamed := map[string]any{}
		for ours, value := range args {
			renamed[th.argument(name, ours)] = value
		}
		args = renamed
	}
	if as.Tool != "" {
		name = as.Tool
	}
	return name, args, as.Receipt
}

func (th *Through) argument(tool, name string) string {
	if there := th.As[tool].Args[name]; there != "" {
		return there
	}
	return name
}

// command makes the system's process, a member of the agent's own group, so that a kill hits both at once.
func (th *Through) command() *exec.Cmd {
	cmd := exec.Command(th.Command[0], th.Command[1:]...)
	cmd.Env = append(os.Environ(), th.Env...)
	cmd.Stderr = th.tail
	th.mu.Lock()
	defer th.mu.Unlock()
	th.cmds = append(th.cmds, cmd)
	return cmd
}

// serve starts a system that speaks HTTP and returns when it accepts connections.
func (th *Through) serve(ctx context.Context) error {
	cmd := th.command()
	cmd.Stdout = th.tail // free text there
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start of %q: %w", th.Command, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	address := strings.TrimPrefix(th.URL, "http://")
	address, _, _ = strings.Cut(address, "/")
	for look := time.NewTicker(10 * time.Millisecond); ; {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-look.C:
		case err := <-ended:
			return fmt.Errorf("%q ended before it listened on %s: %v; its last words: %s", th.Command, address, err, th.tail)
		case <-ctx.Done():
			return fmt.Errorf("%q did not listen on %s within %s; its last words: %s", th.Command, address, raiseWithin, th.tail)
		}
	}
}

// stop kills what was started, for a trial that ends. What it started in turn ends with the agent's group.
func (th *Through) stop() {
	if th == nil {
		return
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	for _, cmd := range th.cmds {
		if cmd.Process != nil {
			_ = cmd.Process.Kill() // it may be over already
		}
	}
}

// child is a transport that starts the system and speaks on its stdin and stdout. A call that was written
// counts as sent.
func (th *Through) child() mcp.Transport {
	return marking{&mcp.CommandTransport{Command: th.command(), TerminateDuration: time.Millisecond}}
}

type marking struct{ mcp.Transport }

func (m marking) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := m.Transport.Connect(ctx)
	return markingConn{conn}, err
}

type markingConn struct{ mcp.Connection }

// Write notes for the call that a message belongs to that it has left.
func (m markingConn) Write(ctx context.Context, message jsonrpc.Message) error {
	if request, is := message.(*jsonrpc.Request); is && request.Method == "tools/call" {
		if a, ok := ctx.Value(attemptKey{}).(*attempt); ok && a != nil {
			a.mu.Lock()
			a.tried, a.why = true, "the server ended without an answer"
			a.mu.Unlock()
		}
	}
	return m.Connection.Write(ctx, message)
}

// pick finds the object that an answer names: by a dotted path in its structured content, or in a text that is
// JSON.
func pick(result *mcp.CallToolResult, path string) string {
	var roots []any
	if result.StructuredContent != nil {
		roots = append(roots, result.StructuredContent)
	}
	for _, part := range result.Content {
		var v any
		if text, ok := part.(*mcp.TextContent); ok && json.Unmarshal([]byte(text.Text), &v) == nil {
			roots = append(roots, v)
		}
	}
	for _, v := range roots {
		for field := range strings.SplitSeq(path, ".") {
			object, _ := v.(map[string]any)
			v = object[field]
		}
		if text, ok := v.(string); ok && text != "" {
			return text
		}
	}
	return ""
}

// lastWords passes on what a command says and keeps the end of it, for a message.
type lastWords struct {
	to   io.Writer
	mu   sync.Mutex
	kept []byte
}

func (l *lastWords) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, p...)
	if len(l.kept) > 1024 {
		l.kept = slices.Clone(l.kept[len(l.kept)-1024:])
	}
	return l.to.Write(p)
}

func (l *lastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.kept) == 0 {
		return "none"
	}
	return fmt.Sprintf("%q", l.kept)
}
