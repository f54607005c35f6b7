package tools

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// keyArgument is the argument that carries the provider's idempotency key where a workload says so.
const keyArgument = "idempotency_key"

// kind is what an argument holds.
type kind string

const (
	text   kind = "a text"
	number kind = "a whole number"
	texts  kind = "a text or a list of texts"
	scalar kind = "a text or a number"
)

// argument describes one argument of a tool.
type argument struct {
	name     string
	kind     kind
	required bool
	about    string
}

func (a argument) schema() map[string]any {
	s := map[string]any{"description": a.about}
	switch a.kind {
	case text:
		s["type"] = "string"
	case number:
		s["type"] = "integer"
	case scalar:
		s["type"] = []any{"string", "number"}
	case texts:
		s["anyOf"] = []any{
			map[string]any{"type": "string"},
			map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "minItems": 1},
		}
	}
	return s
}

func (a argument) fits(v any) bool {
	switch a.kind {
	case scalar:
		if _, ok := v.(float64); ok {
			return true
		}
	case number:
		_, ok := whole(v)
		return ok
	case texts:
		if list, ok := v.([]any); ok {
			for _, each := range list {
				if _, ok := each.(string); !ok {
					return false
				}
			}
			return len(list) > 0
		}
	}
	s, ok := v.(string)
	return ok && (s != "" || !a.required)
}

func names(args []argument) string {
	all := make([]string, len(args))
	for i, a := range args {
		all[i] = a.name
	}
	return strings.Join(all, ", ")
}

// arguments are the arguments of one call.
type arguments map[string]any

func (a arguments) text(name string) string {
	s, _ := a[name].(string)
	return s
}

func (a arguments) has(name string) bool {
	_, ok := a[name]
	return ok
}

// list reads a text or a list of texts as a list.
func (a arguments) list(name string) []string {
	switch v := a[name].(type) {
	case string:
		return []string{v}
	case []string:
		return v
	case []any:
		list := make([]string, 0, len(v))
		for _, each := range v {
			if s, ok := each.(string); ok {
				list = append(list, s)
			}
		}
		return list
	}
	return nil
}

// number reads a whole number; absent or another thing is fallback.
func (a arguments) number(name string, fallback int64) int64 {
	if n, ok := whole(a[name]); ok {
		return n
	}
	return fallback
}

// pick copies the arguments of these names that are given; an empty text counts as not given. The
// amount, however it is written (2500, 2500.0, "2500.00"), becomes an int64.
func (a arguments) pick(names ...string) map[string]any {
	picked := map[string]any{}
	for _, name := range names {
		v, ok := a[name]
		if !ok || v == "" {
			continue
		}
		if n, ok := whole(v); ok && name == "amount" {
			v = n
		}
		picked[name] = v
	}
	return picked
}

// one is the effects of a call that asks for one effect with the arguments of these names.
func one(names ...string) func(arguments) []map[string]any {
	return func(a arguments) []map[string]any { return []map[string]any{a.pick(names...)} }
}

// whole reads a whole number however a model writes it.
func whole(v any) (int64, bool) {
	switch n := v.(type) {
	case int:
		return int64(n), true
	case int64:
		return n, true
	case float64:
		if n != math.Trunc(n) || math.Abs(n) > 1<<53 {
			return 0, false
		}
		return int64(n), true
	case json.Number:
		return whole(n.String())
	case string:
		n = strings.TrimSpace(n)
		if i, err := strconv.ParseInt(n, 10, 64); err == nil {
			return i, true
		}
		f, err := strconv.ParseFloat(n, 64)
		if err != nil {
			return 0, false
		}
		return whole(f)
	}
	return 0, false
}
