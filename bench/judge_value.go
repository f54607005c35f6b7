package bench

import (
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"strconv"
)

// sameValue compares a value of a slot with one that an oracle read, as typed business values. The slot
// says the type: where it has a number, 5, 5.00 and "5.00" are one value; where it has text, only the
// very same text will do. Lists compare by position, maps by key, both wholly.
func sameValue(want, got any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for k := range w {
			v, there := g[k]
			if !there || !sameValue(w[k], v) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !sameValue(w[i], g[i]) {
				return false
			}
		}
		return true
	case string:
		g, ok := got.(string)
		return ok && g == w
	}
	if a, ok := decimalOf(want); ok {
		b, ok := number(got)
		return ok && a.Cmp(b) == 0
	}
	return reflect.DeepEqual(want, got)
}

// number reads a number, or a text that spells one.
func number(v any) (*big.Rat, bool) {
	if s, ok := v.(string); ok {
		return parseDecimal(s)
	}
	return decimalOf(v)
}

// decimalOf returns the exact value of a number of any type; a float counts as the shortest decimal
// that spells it, so that 25.1 is 25.10.
func decimalOf(v any) (*big.Rat, bool) {
	if n, ok := v.(json.Number); ok {
		return parseDecimal(n.String())
	}
	r := reflect.ValueOf(v)
	switch {
	case r.CanInt():
		return new(big.Rat).SetInt64(r.Int()), true
	case r.CanUint():
		return new(big.Rat).SetUint64(r.Uint()), true
	case r.CanFloat():
		f := r.Float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, false
		}
		return new(big.Rat).SetString(strconv.FormatFloat(f, 'f', -1, 64))
	}
	return nil, false
}

// parseDecimal reads digits with at most one sign and one point. Fractions, exponents and anything
// longer than 64 characters are text: no business value is written so.
func parseDecimal(s string) (*big.Rat, bool) {
	if len(s) == 0 || len(s) > 64 {
		return nil, false
	}
	digits, points := 0, 0
	for i, c := range s {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c == '.':
			points++
		case (c == '-' || c == '+') && i == 0:
		default:
			return nil, false
		}
	}
	if digits == 0 || points > 1 {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}
