// Command client carries out operations with real SDKs: one JSON line each on stdin, one JSON line each on
// stdout. Operations run at the same time. A family of SDKs is one file with a line in families.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
)

// call is an operation: the client is the SDK's name, the base the provider's URL.
type call struct {
	ID      int             `json:"id"`
	Client  string          `json:"client"`
	Family  string          `json:"family"`
	Base    string          `json:"base"`
	Op      string          `json:"op"`
	Args    json.RawMessage `json:"args"`
	Options map[string]any  `json:"options"`
	Session string          `json:"session"`
}

// answer is what came of an operation.
type answer struct {
	ID      int               `json:"id"`
	OK      any               `json:"ok,omitempty"`
	Headers map[string]string `json:"headers,omitempty"` // lower case names
	Error   *failure          `json:"error,omitempty"`
}

// failure is an error in the SDK's own words.
type failure struct {
	Type    string            `json:"type"`
	Status  int               `json:"status,omitempty"`
	Code    string            `json:"code,omitempty"`
	Message string            `json:"message"`
	Headers map[string]string `json:"headers,omitempty"`
	More    any               `json:"more,omitempty"`
}

// families lists what carries out the operations of each family. To add one: a file beside this, a line here.
var families = map[string]func(call) answer{
	"aws":    aws,
	"http":   plainHTTP,
	"stripe": stripes,
}

// sessions keeps the SDKs' client objects of sessions.
var sessions sync.Map

// keep gives the SDK's client object: one for each operation, or one for all operations of a session.
func keep[T any](c call, make func() T) T {
	if c.Session == "" {
		return make()
	}
	once, _ := sessions.LoadOrStore([3]string{c.Client, c.Base, c.Session}, sync.OnceValue(make))
	return once.(func() T)()
}

func version(c call) answer {
	var args struct{ Package string }
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return wrong(err)
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return wrong(fmt.Errorf("this program has no build information"))
	}
	if args.Package == "net/http" {
		return answer{OK: info.GoVersion}
	}
	for _, d := range info.Deps {
		if d.Path == args.Package {
			return answer{OK: d.Version}
		}
	}
	return wrong(fmt.Errorf("module %s is not in this program", args.Package))
}

// wrong is the answer to a line that this program cannot read.
func wrong(err error) answer {
	return answer{Error: &failure{Type: "harness", Message: err.Error()}}
}

func carryOut(c call) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			a = answer{Error: &failure{Type: "harness", Message: fmt.Sprintf("panic: %v", p)}}
		}
	}()
	if c.Op == "version" {
		return version(c)
	}
	run := families[c.Family]
	if run == nil {
		return wrong(fmt.Errorf("family %q is not known", c.Family))
	}
	return run(c)
}

func main() {
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var c call
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			fmt.Fprintf(os.Stderr, "not a call: %s: %v\n", in.Bytes(), err)
			os.Exit(2)
		}
		go func() {
			a := carryOut(c)
			a.ID = c.ID
			mu.Lock()
			defer mu.Unlock()
			if err := out.Encode(a); err != nil {
				fmt.Fprintf(os.Stderr, "answer: %v\n", err)
				os.Exit(2)
			}
		}()
	}
}
