package fakeproviders

import (
	"maps"
	"math/big"
	"strings"
)

// update is what an UpdateExpression changes: attributes that get a value, numbers that something is added to,
// and attributes that go.
type update struct {
	set, added map[string]any
	removed    []string
	values     map[string]any // what the attributes of added have afterwards
}

// update reads an update expression: SET, ADD of numbers, REMOVE. Without one nothing is changed.
func (e *expression) update(s string) update {
	u := update{set: map[string]any{}, added: map[string]any{}, values: map[string]any{}}
	e.read(s)
	sections := map[string]func(update) update{"SET": e.setOne, "ADD": e.addOne, "REMOVE": e.removeOne}
	seen := map[string]bool{}
	for len(e.tokens) > 0 && e.problem == "" {
		section := strings.ToUpper(e.next())
		one := sections[section]
		switch {
		case one == nil:
			e.fail("Invalid UpdateExpression: Syntax error; token: %q, expected SET, ADD or REMOVE", section)
			return u
		case seen[section]:
			e.fail("Invalid UpdateExpression: The %q section can only be used once in an update expression;", section)
			return u
		}
		seen[section] = true
		for first := true; first || e.word(","); first = false {
			u = one(u)
		}
	}
	return u
}

func (u update) touches(name string) bool {
	for _, r := range u.removed {
		if r == name {
			return true
		}
	}
	return u.set[name] != nil || u.added[name] != nil
}

// apply changes an item.
func (u update) apply(item map[string]any) {
	maps.Copy(item, u.set)
	maps.Copy(item, u.values)
	for _, name := range u.removed {
		delete(item, name)
	}
}

// target takes the attribute that is changed. One may be changed once only.
func (e *expression) target(u update) string {
	name := e.path()
	if u.touches(name) {
		e.fail("Invalid UpdateExpression: Two document paths overlap with each other; path: [%s]", name)
	}
	return name
}

// setOne reads NAME = OPERAND [+ or - OPERAND]. NAME = NAME + VALUE adds to what is there, as ADD does.
func (e *expression) setOne(u update) update {
	name := e.target(u)
	e.want("=")
	value, of := e.term()
	op := e.peek()
	if op != "+" && op != "-" {
		switch {
		case value == nil && e.problem == "":
			e.failOn("The provided expression refers to an attribute that does not exist in the item")
		default:
			u.set[name] = value
		}
		return u
	}
	e.next()
	delta, other := e.term()
	if e.problem != "" {
		return u
	}
	if op == "-" {
		delta = negated(delta)
	}
	sum, ok := sum(value, delta)
	if !ok {
		e.failOn("An operand in the update expression has an incorrect data type, or is an attribute that does not exist in the item")
	}
	if of == name && other == "" && delta != nil {
		u.added[name] = delta
		u.values[name] = sum
		return u
	}
	u.set[name] = sum
	return u
}

// term takes an operand of SET; of is the attribute that it is, or has a fall-back for.
func (e *expression) term() (value map[string]any, of string) {
	if !strings.EqualFold(e.peek(), "if_not_exists") {
		return e.operand()
	}
	e.next()
	e.want("(")
	of = e.path()
	e.want(",")
	fallback, _ := e.operand()
	e.want(")")
	if there, ok := e.item[of].(map[string]any); ok {
		return there, of
	}
	return fallback, of
}

// addOne reads NAME VALUE. What is not there counts as 0. Sets are not supported.
func (e *expression) addOne(u update) update {
	name := e.target(u)
	delta, attribute := e.operand()
	if e.problem != "" {
		return u
	}
	if attribute != "" || delta["N"] == nil {
		e.fail("Invalid UpdateExpression: ADD takes a number here, as an expression attribute value; attribute: %s", name)
		return u
	}
	there, ok := e.item[name].(map[string]any)
	if !ok {
		there = map[string]any{"N": "0"}
	}
	sum, ok := sum(there, delta)
	if !ok {
		e.failOn("An operand in the update expression has an incorrect data type")
	}
	u.added[name], u.values[name] = delta, sum
	return u
}

func (e *expression) removeOne(u update) update {
	u.removed = append(u.removed, e.target(u))
	return u
}

// sum adds two numbers; false if one is none.
func sum(a, b map[string]any) (map[string]any, bool) {
	x, okX := new(big.Rat).SetString(text(a, "N"))
	y, okY := new(big.Rat).SetString(text(b, "N"))
	if !okX || !okY {
		return nil, false
	}
	return map[string]any{"N": decimal(x.Add(x, y))}, true
}

func negated(v map[string]any) map[string]any {
	n, ok := new(big.Rat).SetString(text(v, "N"))
	if !ok {
		return v
	}
	return map[string]any{"N": decimal(n.Neg(n))}
}

// decimal writes a number out. Sums of decimals are decimals of no more than these places.
func decimal(n *big.Rat) string {
	s := n.FloatString(130)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
