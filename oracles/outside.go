package oracles

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// This file and its neighbours outside_sql.go and outside_http.go read providers that the harness did not make,
// as a workload declares it. Nothing that they read is believed to be complete unless it says so.

// outsideWithin bounds one reading, in real time.
const outsideWithin = 10 * time.Second

// Outside opens the oracle that a workload declares. expand fills in variables of the environment.
func Outside(o bench.ExternalOracle, expand func(string) (string, error)) (func(context.Context) ([]bench.Effect, error), error) {
	var read func(context.Context) ([]bench.Effect, error)
	switch {
	case o.SQL != nil:
		database, err := expand(o.SQL.Database)
		if err != nil {
			return nil, err
		}
		read = func(ctx context.Context) ([]bench.Effect, error) { return selected(ctx, database, o.SQL.Query) }
	case len(o.HTTP) > 0:
		lists, err := expanded(o.HTTP, expand)
		if err != nil {
			return nil, err
		}
		read = func(ctx context.Context) ([]bench.Effect, error) { return listed(ctx, lists) }
	case len(o.Command) > 0:
		argv := slices.Clone(o.Command)
		for i := range argv {
			var err error
			if argv[i], err = expand(argv[i]); err != nil {
				return nil, err
			}
		}
		read = func(ctx context.Context) ([]bench.Effect, error) { return printed(ctx, argv) }
	default:
		return nil, errors.New("the oracle says neither sql, http nor command")
	}
	return func(ctx context.Context) ([]bench.Effect, error) {
		ctx, cancel := context.WithTimeout(ctx, outsideWithin)
		defer cancel()
		effects, err := read(ctx)
		if err != nil && ctx.Err() != nil {
			return nil, fmt.Errorf("no answer within %v: %w", outsideWithin, err)
		}
		return effects, err
	}, nil
}

// printed runs a command that prints a JSON list of objects: id, class, and every other member an attribute.
func printed(ctx context.Context, argv []string) ([]bench.Effect, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that what it starts ends with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("command %s: %w; stderr: %q", argv[0], err, short(stderr.String()))
	}
	var objects []map[string]any
	d := json.NewDecoder(bytes.NewReader(out))
	d.UseNumber()
	if err := d.Decode(&objects); err != nil {
		return nil, fmt.Errorf(`command %s: it printed %q, expected a JSON list like [{"id": "7", "class": "refund", "amount": 2500}]: %w`, argv[0], short(string(out)), err)
	}
	var effects []bench.Effect
	for i, o := range objects {
		id, class := idOf(o["id"]), o["class"]
		text, _ := class.(string)
		if id == "" || text == "" {
			return nil, fmt.Errorf("command %s: object %d has id %v and class %v: expected both", argv[0], i+1, o["id"], class)
		}
		delete(o, "id")
		delete(o, "class")
		effects = append(effects, bench.Effect{Object: id, Class: text, Attrs: values(o), Sign: 1})
	}
	return effects, nil
}

// values are attributes with whole numbers as int, as in a workload file; what is null is absent.
func values(o map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range o {
		if v == nil {
			continue
		}
		if n, ok := v.(json.Number); ok {
			if i, err := n.Int64(); err == nil {
				v = int(i)
			} else if f, err := n.Float64(); err == nil {
				v = f
			}
		}
		out[name] = v
	}
	return out
}

// idOf is an id as text: some providers have numbers.
func idOf(v any) string {
	switch n := v.(type) {
	case string:
		return n
	case json.Number:
		return n.String()
	}
	return ""
}

func short(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 200 {
		return s[:200] + "..."
	}
	return s
}
