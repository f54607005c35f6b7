package drive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/systems/kit"
)

// grace is how long a cancelled command may take to end after SIGTERM, in real time.
const grace = 2 * time.Second

// maxOutput is the most of a command's output that is read, in bytes.
const maxOutput = 1 << 20

// runTurns speaks the wire contract for a command-line agent.
func runTurns(s Spec, stdin io.Reader, stdout, stderr io.Writer) int {
	adapter := kit.Adapter{
		Can:  []string{"decide"}, // a turn that is withdrawn ends
		Kill: "the process group of the agent",
		Turn: func(ctx context.Context, t *kit.Trial, o bench.TurnOrder) {
			claims := s.turn(ctx, t, o, stderr)
			for i, c := range o.Calls {
				t.Claim(o.ID, c.Ordinal, claims[i])
			}
		},
	}
	return kit.Main(adapter, stdin, stdout, stderr)
}

// turn runs the command for one turn and reads what it claims of each call.
func (s Spec) turn(ctx context.Context, t *kit.Trial, o bench.TurnOrder, stderr io.Writer) []kit.Claim {
	values, err := turnValues(t, o)
	if err == nil {
		err = s.writeFiles(t.Start.StateDir, values)
	}
	if err != nil {
		return same(o, kit.Failed("the command was not started: "+err.Error()))
	}
	argv := fillAll(s.Command, values)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), s.environment(values)...)
	cmd.Stderr = stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = grace
	var out bytes.Buffer
	cmd.Stdout = &limited{to: &out, left: maxOutput}
	err = cmd.Run()
	if cmd.Process == nil {
		return same(o, kit.Failed(fmt.Sprintf("the command was not started: %q: %v", argv, err)))
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left behind does not act after the claim
	return claims(o, err, out.Bytes())
}

func turnValues(t *kit.Trial, o bench.TurnOrder) (map[string]string, error) {
	values, err := trialValues(t)
	if err != nil {
		return nil, err
	}
	calls, err := json.Marshal(o.Calls)
	if err != nil {
		return nil, fmt.Errorf("calls of the turn: %w", err)
	}
	values["say"], values["turn"], values["conversation"], values["calls"] = o.Say, o.ID, o.Conversation, string(calls)
	return values, nil
}

func (s Spec) writeFiles(dir string, values map[string]string) error {
	for name, text := range s.Files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(fill(text, values)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// said is the object that a command may print as the last line of its output. Without `calls` it speaks of all
// calls of the turn.
type said struct {
	Call     int      `json:"call"`
	Outcome  string   `json:"outcome"`
	Receipts []string `json:"receipts"`
	Detail   string   `json:"detail"`
	Calls    []said   `json:"calls"`
}

// claims reads what a command says of the calls of a turn: its object, or its exit status alone. Status 0 says
// that all of it is done. Any other status, a signal among them, says nothing of what had happened by then.
func claims(o bench.TurnOrder, err error, out []byte) []kit.Claim {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var object said
	spoken := json.Unmarshal([]byte(lines[len(lines)-1]), &object) == nil && (known(object.Outcome) || len(object.Calls) > 0)
	var exit *exec.ExitError
	all := same(o, kit.Done())
	switch {
	case spoken && len(object.Calls) == 0:
		all = same(o, object.claim())
	case spoken:
		all = same(o, kit.Unknown("the command says nothing of this call"))
		for i, c := range o.Calls {
			for _, of := range object.Calls {
				if of.Call == c.Ordinal && known(of.Outcome) {
					all[i] = of.claim()
				}
			}
		}
	case errors.As(err, &exit):
		all = same(o, kit.Unknown("the command ended with "+exit.Error()))
	case err != nil:
		all = same(o, kit.Unknown("the command: "+err.Error()))
	}
	return all
}

func (s said) claim() kit.Claim {
	return kit.Claim{Outcome: s.Outcome, Receipts: s.Receipts, Detail: s.Detail}
}

func known(outcome string) bool {
	return slices.Contains([]string{bench.Done, bench.Failed, bench.Unknown, bench.Partial}, outcome)
}

// same is one claim for every call of a turn.
func same(o bench.TurnOrder, c kit.Claim) []kit.Claim {
	all := make([]kit.Claim, len(o.Calls))
	for i := range all {
		all[i] = c
	}
	return all
}

// limited keeps the first bytes that are written to it and drops the rest.
type limited struct {
	to   io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	part := p[:min(len(p), l.left)]
	l.left -= len(part)
	_, err := l.to.Write(part)
	return len(p), err
}
