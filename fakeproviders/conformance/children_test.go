package conformance

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// client is an official SDK.
type client struct {
	name     string // in scenarios and in the report
	language string // environment that holds it: a folder of .cache/clients
	family   string // its operations: FAMILY_ops.py, FAMILY_ops.mjs, a line in clients/go/main.go
	pkg      string // its package, for its version
	alone    bool   // it keeps its address in a global: each scenario has a process of its own
}

// environments are where the SDKs live, with the files that each is made from (clients/install).
var environments = map[string][]string{
	"python":            {"python/requirements.txt"},
	"python-kubernetes": {"python/requirements-kubernetes.txt"},
	"node":              {"node/package.json", "node/package-lock.json"},
	"go":                {"go/go.mod", "go/go.sum", "go/*.go"},
}

const installed = "../../.cache/clients"

// missing says why an environment cannot be used, "" if it can. What it is made from must not have changed since.
func missing(language string) string {
	sum := sha256.New()
	for _, pattern := range environments[language] {
		files, err := filepath.Glob(filepath.Join("clients", pattern))
		if err != nil {
			return err.Error()
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				return err.Error()
			}
			sum.Write(text)
		}
	}
	stamp, err := os.ReadFile(filepath.Join(installed, language, "stamp"))
	switch {
	case err != nil:
		return "the clients in " + language + " are not installed: run make clients"
	case strings.TrimSpace(string(stamp)) != hex.EncodeToString(sum.Sum(nil)):
		return "the clients in " + language + " were installed from other manifests: run make clients"
	}
	return ""
}

// order is an operation for a child (clients/python/main.py).
type order struct {
	ID      int            `json:"id"`
	Client  string         `json:"client"`
	Family  string         `json:"family"`
	Base    string         `json:"base"`
	Op      string         `json:"op"`
	Args    map[string]any `json:"args"`
	Options map[string]any `json:"options,omitempty"`
	Session string         `json:"session,omitempty"`
}

// result is what an SDK gave its caller.
type result struct {
	ID      int               `json:"id"`
	OK      any               `json:"ok"`
	Headers map[string]string `json:"headers"` // names in lower case
	Error   *failure          `json:"error"`
}

// failure is an exception in the SDK's own words.
type failure struct {
	Type    string            `json:"type"`
	Status  int               `json:"status"`
	Code    any               `json:"code"`
	Message string            `json:"message"`
	Headers map[string]string `json:"headers"`
	More    any               `json:"more"`
}

// children are the processes that hold the SDKs, one a language.
type children struct {
	home string
	mu   sync.Mutex
	all  map[string]*child
}

func newChildren(t *testing.T) *children {
	c := &children{home: t.TempDir(), all: map[string]*child{}}
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, k := range c.all {
			k.end()
		}
	})
	return c
}

// of returns the process that all clients of a language share.
func (c *children) of(language string) (*child, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.all[language]; k != nil {
		return k, nil
	}
	k, err := start(language, c.home)
	if err != nil {
		return nil, fmt.Errorf("process for the clients in %s: %w", language, err)
	}
	c.all[language] = k
	return k, nil
}

// child is a process that carries out operations.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	gone chan struct{} // closed when its output ended

	mu      sync.Mutex
	last    int
	waiting map[int]chan result
	stderr  bytes.Buffer
	broken  string // what it said instead of an answer
}

func start(language, home string) (*child, error) {
	dir, err := filepath.Abs(filepath.Join(installed, language))
	if err != nil {
		return nil, err
	}
	var cmd *exec.Cmd
	switch {
	case language == "go":
		cmd = exec.Command(filepath.Join(dir, "client"))
	case language == "node":
		if err := nodeModules(dir, home); err != nil {
			return nil, err
		}
		cmd = exec.Command(filepath.Join(dir, "node"), "main.mjs")
		cmd.Dir = home
	default:
		cmd = exec.Command(filepath.Join(dir, "bin", "python"), "-B", "clients/python/main.py")
	}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8", "AWS_EC2_METADATA_DISABLED=true"}
	k := &child{cmd: cmd, gone: make(chan struct{}), waiting: map[int]chan result{}}
	cmd.Stderr = lockedWriter{k}
	if k.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go k.read(out)
	return k, nil
}

// nodeModules lays the programs beside the installed packages, for Node looks for packages from where a program lies.
func nodeModules(dir, home string) error {
	programs, err := filepath.Glob("clients/node/*.mjs")
	if err != nil {
		return err
	}
	for _, p := range programs {
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(home, filepath.Base(p)), text, 0o600); err != nil {
			return err
		}
	}
	if err := os.Symlink(filepath.Join(dir, "node_modules"), filepath.Join(home, "node_modules")); err != nil && !os.IsExist(err) {
		return err
	}
	return nil
}

type lockedWriter struct{ k *child }

func (w lockedWriter) Write(b []byte) (int, error) {
	w.k.mu.Lock()
	defer w.k.mu.Unlock()
	return w.k.stderr.Write(b)
}

func (k *child) read(out io.Reader) {
	defer close(k.gone)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var r result
		k.mu.Lock()
		if err := json.Unmarshal(line, &r); err != nil {
			k.broken = fmt.Sprintf("a line that is no answer: %q", line)
			k.mu.Unlock()
			return
		}
		if c := k.waiting[r.ID]; c != nil {
			c <- r
			delete(k.waiting, r.ID)
		}
		k.mu.Unlock()
	}
}

// carryOut sends an operation and waits for its answer. An error is one of the harness, never the SDK's.
func (k *child) carryOut(ctx context.Context, o order) (result, error) {
	c := make(chan result, 1)
	k.mu.Lock()
	k.last++
	o.ID = k.last
	k.waiting[o.ID] = c
	text, err := json.Marshal(o)
	if err == nil {
		_, err = k.in.Write(append(text, '\n'))
	}
	k.mu.Unlock()
	if err != nil {
		return result{}, broken{fmt.Errorf("%s to %s: %w; it said: %s", o.Op, o.Client, err, k.said())}
	}
	select {
	case r := <-c:
		if r.Error != nil && r.Error.Type == "harness" {
			return r, broken{fmt.Errorf("%s by %s: %s", o.Op, o.Client, r.Error.Message)}
		}
		return r, nil
	case <-k.gone:
		return result{}, broken{fmt.Errorf("%s by %s: its process ended; it said: %s", o.Op, o.Client, k.said())}
	case <-ctx.Done():
		return result{}, errNoAnswer
	}
}

func (k *child) said() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return strings.TrimSpace(k.broken + "\n" + k.stderr.String())
}

// end closes its input, upon which it leaves; a process that does not is killed.
func (k *child) end() {
	k.in.Close()
	stop := time.AfterFunc(2*time.Second, func() { k.cmd.Process.Kill() })
	defer stop.Stop()
	<-k.gone
	k.cmd.Wait() // how it ended tells nothing: operations may be open
}

// broken is an error of this harness, not of a provider or an SDK.
type broken struct{ error }

func (b broken) Unwrap() error { return b.error }

// errNoAnswer says that an operation got no answer in the time that a scenario gives it.
var errNoAnswer = fmt.Errorf("no answer in time")
