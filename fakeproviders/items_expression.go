package fakeproviders

import (
	"encoding/base64"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// expression evaluates DynamoDB's condition, key condition, filter, update and projection expressions against
// one item, whose top-level attributes they may name
// (docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html). Reserved
// words are not told from other names. Everything is read, whatever the outcome, so that a mistake shows at once.
type expression struct {
	m             map[string]any // the request's part with the expressions
	item          map[string]any // nil: there is none
	names, values map[string]any
	used          map[string]bool
	tokens        []string
	equal         map[string]bool // attributes that were compared by =
	problem       string          // what is wrong, in DynamoDB's way
	dataProblem   bool            // it is wrong because of the item
}

func newExpression(m, item map[string]any) *expression {
	e := &expression{m: m, item: item, used: map[string]bool{}, equal: map[string]bool{}}
	e.names, _ = m["ExpressionAttributeNames"].(map[string]any)
	e.values, _ = m["ExpressionAttributeValues"].(map[string]any)
	return e
}

// wellFormed says whether a value is of a known type, as far as one of its parts.
func wellFormed(v map[string]any) bool {
	if n, ok := v["N"].(string); ok {
		return len(n) <= 60 && numbers.MatchString(n)
	}
	for kind, inner := range v {
		switch kind {
		case "S":
			_, ok := inner.(string)
			return ok
		case "B":
			s, ok := inner.(string)
			_, err := base64.StdEncoding.DecodeString(s)
			return ok && err == nil
		case "BOOL":
			_, ok := inner.(bool)
			return ok
		case "NULL":
			return inner == true
		case "M":
			_, ok := inner.(map[string]any)
			return ok
		case "L", "SS", "NS", "BS":
			_, ok := inner.([]any)
			return ok
		}
	}
	return false
}

// numbers are those that are written out, or have an exponent of three digits at most: DynamoDB's go from 1E-130 to 9.9E+125.
var numbers = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$`)

// fail notes what is wrong; the first is kept.
func (e *expression) fail(format string, args ...any) {
	if e.problem == "" {
		e.problem = fmt.Sprintf(format, args...)
	}
}

// failOn notes what is wrong because of the item.
func (e *expression) failOn(format string, args ...any) {
	if e.problem == "" {
		e.fail(format, args...)
		e.dataProblem = true
	}
}

// unused notes names and values that no expression used: DynamoDB refuses them.
func (e *expression) unused() {
	for what, all := range map[string]map[string]any{"ExpressionAttributeNames": e.names, "ExpressionAttributeValues": e.values} {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if !e.used[name] {
				e.fail("Value provided in %s unused in expressions: keys: {%s}", what, name)
			}
		}
	}
}

var tokens = regexp.MustCompile(`[#:]?[A-Za-z_0-9]+|<=|>=|<>|\S`)

// read takes an expression apart. DynamoDB's have 4 KB at most.
func (e *expression) read(s string) {
	if e.tokens = nil; len(s) > 4<<10 {
		e.fail("Invalid expression: Expression size has exceeded the maximum allowed size;")
		return
	}
	e.tokens = tokens.FindAllString(s, -1)
}

func (e *expression) peek() string {
	if len(e.tokens) == 0 {
		return ""
	}
	return e.tokens[0]
}

func (e *expression) next() string {
	t := e.peek()
	if t != "" {
		e.tokens = e.tokens[1:]
	}
	return t
}

// word takes the next token if it is that word, in any case.
func (e *expression) word(w string) bool {
	if strings.EqualFold(e.peek(), w) {
		e.next()
		return true
	}
	return false
}

func (e *expression) want(w string) {
	if !e.word(w) {
		e.fail("Invalid expression: Syntax error; token: %q, expected %q", e.peek(), w)
	}
}

// end notes what stands behind the end.
func (e *expression) end() {
	if len(e.tokens) > 0 {
		e.fail("Invalid expression: Syntax error; token: %q", e.peek())
	}
}

var attributeNames = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9]*$`)

// path takes the name of a top-level attribute.
func (e *expression) path() string {
	t := e.next()
	switch {
	case strings.HasPrefix(t, "#"):
		e.used[t] = true
		name, ok := e.names[t].(string)
		if !ok {
			e.fail("An expression attribute name used in the document path is not defined; attribute name: %s", t)
		}
		t = name
	case !attributeNames.MatchString(t):
		e.fail("Invalid expression: Syntax error; token: %q, expected the name of an attribute", t)
	}
	if p := e.peek(); p == "." || p == "[" {
		e.fail("Invalid expression: paths into an attribute are not supported here; token: %q", p)
	}
	return t
}

// operand takes a value or an attribute; the value is nil for an attribute that is not there.
func (e *expression) operand() (value map[string]any, name string) {
	if t := e.peek(); strings.HasPrefix(t, ":") {
		e.next()
		e.used[t] = true
		value, ok := e.values[t].(map[string]any)
		if !ok || len(value) != 1 || !wellFormed(value) {
			e.fail("An expression attribute value used in expression is not defined; attribute value: %s", t)
		}
		return value, ""
	}
	if strings.EqualFold(e.peek(), "size") && len(e.tokens) > 1 && e.tokens[1] == "(" {
		e.next()
		e.next()
		v, _ := e.item[e.path()].(map[string]any)
		e.want(")")
		if v == nil {
			return nil, ""
		}
		for _, inner := range v {
			switch inner := inner.(type) {
			case string:
				return map[string]any{"N": fmt.Sprint(len(inner))}, ""
			case []any:
				return map[string]any{"N": fmt.Sprint(len(inner))}, ""
			case map[string]any:
				return map[string]any{"N": fmt.Sprint(len(inner))}, ""
			}
		}
		return nil, ""
	}
	name = e.path()
	value, _ = e.item[name].(map[string]any)
	return value, name
}

// condition reads a whole condition and says whether it holds.
func (e *expression) condition(s string) bool {
	e.read(s)
	if len(e.tokens) == 0 {
		e.fail("Invalid expression: The expression can not be empty;")
	}
	holds := e.or()
	e.end()
	return holds
}

// keyCondition reads the condition of a Query, which names the hash key by =.
func (e *expression) keyCondition(s string, t table) bool {
	holds := e.condition(s)
	if !e.equal[t.hash] {
		e.fail("Query condition missed key schema element: %s", t.hash)
	}
	return holds
}

// selects applies the key condition, the filter and the projection of a Query or Scan.
func (e *expression) selects(isQuery bool, t table) (shown map[string]any, selected bool) {
	selected = true
	if isQuery {
		selected = e.keyCondition(text(e.m, "KeyConditionExpression"), t)
	}
	if filter := text(e.m, "FilterExpression"); filter != "" {
		selected = e.condition(filter) && selected
	}
	return e.projection(e.item), selected
}

func (e *expression) or() bool {
	holds := e.and()
	for e.word("OR") {
		right := e.and()
		holds = holds || right
	}
	return holds
}

func (e *expression) and() bool {
	holds := e.not()
	for e.word("AND") {
		right := e.not()
		holds = holds && right
	}
	return holds
}

func (e *expression) not() bool {
	if e.problem != "" {
		e.tokens = nil // nothing more to learn, and nesting ends
		return false
	}
	if e.word("NOT") {
		return !e.not()
	}
	if e.word("(") {
		holds := e.or()
		e.want(")")
		return holds
	}
	if len(e.tokens) > 1 && e.tokens[1] == "(" && !strings.EqualFold(e.peek(), "size") {
		return e.function()
	}
	return e.comparison()
}

func (e *expression) function() bool {
	name := e.next()
	e.next()
	attribute := e.path()
	there, _ := e.item[attribute].(map[string]any)
	var argument map[string]any
	if name != "attribute_exists" && name != "attribute_not_exists" {
		e.want(",")
		argument, _ = e.operand()
	}
	e.want(")")
	switch name {
	case "attribute_exists":
		return there != nil
	case "attribute_not_exists":
		return there == nil
	case "attribute_type":
		return there[text(argument, "S")] != nil
	case "begins_with":
		_, isText := there["S"].(string)
		return isText && strings.HasPrefix(text(there, "S"), text(argument, "S"))
	case "contains":
		if s, ok := there["S"].(string); ok {
			return strings.Contains(s, text(argument, "S"))
		}
		for _, set := range []string{"SS", "NS", "BS", "L"} {
			members, _ := there[set].([]any)
			if slices.ContainsFunc(members, func(v any) bool {
				return reflect.DeepEqual(v, any(argument)) || len(set) == 2 && v == argument[set[:1]]
			}) {
				return true
			}
		}
		return false
	}
	e.fail("Invalid expression: Invalid function name; function: %s", name)
	return false
}

func (e *expression) comparison() bool {
	left, name := e.operand()
	op := strings.ToUpper(e.next())
	switch op {
	case "BETWEEN":
		low, _ := e.operand()
		e.want("AND")
		high, _ := e.operand()
		a, comparable := orderValues(left, low)
		b, too := orderValues(left, high)
		return comparable && too && a >= 0 && b <= 0
	case "IN":
		e.want("(")
		found := false
		for first := true; first || e.word(","); first = false {
			right, _ := e.operand()
			found = found || left != nil && sameValues(left, right)
		}
		e.want(")")
		return found
	case "=", "<>", "<", "<=", ">", ">=":
	default:
		e.fail("Invalid expression: Syntax error; token: %q, expected a comparison", op)
		return false
	}
	right, other := e.operand()
	if op == "=" {
		e.equal[firstText(name, other)] = true
		return left != nil && right != nil && sameValues(left, right)
	}
	if op == "<>" {
		return left == nil || right == nil || !sameValues(left, right)
	}
	c, comparable := orderValues(left, right)
	return comparable && (op == "<" && c < 0 || op == "<=" && c <= 0 || op == ">" && c > 0 || op == ">=" && c >= 0)
}

// sameValues compares two values: numbers by value.
func sameValues(a, b map[string]any) bool {
	if c, comparable := orderValues(a, b); comparable {
		return c == 0
	}
	return reflect.DeepEqual(a, b)
}

// orderValues orders two values of one ordered type; the second result is false for others.
func orderValues(a, b map[string]any) (int, bool) {
	for _, kind := range []string{"S", "N", "B"} {
		if a[kind] != nil && b[kind] != nil {
			return compareValues(a, b), true
		}
	}
	return 0, false
}

// projection reads a ProjectionExpression and applies it to an item; without one the whole item is shown.
func (e *expression) projection(item map[string]any) map[string]any {
	s := text(e.m, "ProjectionExpression")
	if s == "" {
		return item
	}
	e.read(s)
	shown := map[string]any{}
	for first := true; first || e.word(","); first = false {
		name := e.path()
		if v, ok := item[name]; ok {
			shown[name] = v
		}
	}
	e.end()
	return shown
}
