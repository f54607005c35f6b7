package workloads

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
)

// form describes what may stand at one place of a workload file. The loader reads files by it and Schema
// is printed from it, so that they cannot differ.
type form struct {
	kind   formKind
	doc    string
	fields []field  // mapping
	of     *form    // list and table: each element; mapping: fields of other names, if they may come
	keys   []string // table: the known keys; empty: any that look like match
	words  []string // text: the known ones; empty: any
	match  *pattern // text, and keys of a table: what they look like
	alts   []*form  // either: told apart by the kind of YAML node

	// List and table: number of elements; mapping: number of fields given; text: of characters; number: its
	// value. Both 0: no limit.
	min, max int64

	// Mapping: the form of the field named by decides is chosen by the word in the field named by.
	by, decides string
	choices     map[string]*form
}

type formKind int

const (
	mapping formKind = iota // known fields
	table                   // keys of the file's own choice, or of a list
	list
	text
	number // whole
	truth  // true or false
	scalar // text or any number
	data   // anything that JSON can hold
	either
)

type field struct {
	name     string
	form     *form
	required bool
	defines  bool // other places of the file refer to what is named in here
}

// pattern is a regular expression with the words by which messages name it.
type pattern struct {
	expr *regexp.Regexp
	says string
}

var (
	plainName = &pattern{regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`), "a name of small letters, digits and single hyphens"}
	slotName  = &pattern{regexp.MustCompile(`^[a-z0-9]+([-_/][a-z0-9]+)*$`), "a name of small letters, digits and single - _ or /"}
)

// exact is the largest whole number up to which a float64 holds all: 2^53.
const exact = 1 << 53

func words[W ~string](list ...W) *form {
	f := &form{kind: text}
	for _, w := range list {
		f.words = append(f.words, string(w))
	}
	return f
}

func anyText() *form            { return &form{kind: text} }
func someText(doc string) *form { return &form{kind: text, doc: doc, min: 1, max: 4000} }
func name(doc string) *form     { return &form{kind: text, doc: doc, match: slotName, min: 1, max: 64} }
func listOf(f *form, doc string) *form {
	return &form{kind: list, of: f, doc: doc}
}
func trueOrFalse(doc string) *form {
	return &form{kind: truth, doc: doc}
}
func between(low, high int64, doc string) *form {
	return &form{kind: number, min: low, max: high, doc: doc}
}
func oneForm(doc string, alts ...*form) *form { return &form{kind: either, doc: doc, alts: alts} }

func (f *form) said(doc string) *form { f.doc = doc; return f }

// form returns the form of a value of the catalogue.
func (v Value) form() *form {
	switch v.Type {
	case Number:
		if v.Min == 0 && v.Max == 0 {
			return between(-exact, exact, "")
		}
		return between(v.Min, v.Max, "")
	case TextOrNumber:
		return &form{kind: scalar}
	case TextOrMany:
		return oneForm("", anyText(), &form{kind: list, of: anyText(), min: 1, max: 100})
	default:
		return anyText()
	}
}

// valuesForm returns the form of a mapping of values. Slots and objects of the world name at least one;
// arguments name those that are required.
func valuesForm(values []Value, arguments bool) *form {
	f := &form{kind: mapping}
	if !arguments {
		f.min = 1
	}
	for _, v := range values {
		f.fields = append(f.fields, field{name: v.Name, form: v.form(), required: arguments && v.Required})
	}
	return f
}

// fileForm describes a whole workload file.
func fileForm(cat Catalogue) *form {
	calls := map[string]*form{}
	for n, t := range cat.Tools {
		calls[n] = valuesForm(t.Args, true)
	}
	attributes := map[string]*form{}
	for n, c := range cat.classes() {
		attributes[n] = valuesForm(c, false)
	}
	class := func() *form { return words(names(attributes)...).said("Effect class of the provider.") }
	tool := func(doc string) *form { return words(names(cat.Tools)...).said(doc) }
	units := &form{kind: table, match: slotName, of: between(0, 1000, "Units."), min: 1, max: 1000}
	changed := &form{kind: table, min: 1, max: 100, match: slotName, doc: "Arguments by name.",
		of: oneForm("", &form{kind: scalar}, &form{kind: list, of: anyText(), min: 1, max: 100})}

	call := &form{kind: mapping, doc: "The call that a system without a model is given to make.", fields: []field{
		{name: "tool", form: tool("One of the tools offered above."), required: true},
		{name: "args", form: &form{kind: table, of: &form{kind: scalar}, doc: "Arguments of the tool, but for idempotency_key and reference: these are the system's to fill."}, required: true},
	}, by: "tool", decides: "args", choices: calls}

	slot := &form{kind: mapping, fields: []field{
		{name: "slot", form: name("Unique in the file. Default: the intent's id, with /1, /2 and so on where the intent has several."), defines: true},
		{name: "class", form: class(), required: true},
		{name: "match", form: &form{kind: table, of: &form{kind: scalar}, doc: "Attributes that an effect must have to fill the slot. Name those that matter."}, required: true},
		{name: "count", form: between(1, 1000, "Units. Default 1.")},
		{name: "sign", form: between(-1, 1, "1 (default), or -1: a compensation.")},
		{name: "attached_to", form: name("Slot whose effects carry this one.")},
	}, by: "class", decides: "match", choices: attributes}

	intent := &form{kind: mapping, fields: []field{
		{name: "id", form: name("Unique in the file; known to the harness only."), required: true, defines: true},
		{name: "twin_of", form: name("Another intent with equal business attributes, wanted beside this one.")},
		{name: "principal", form: someText("For whom it is done, where that matters.")},
		{name: "decision", form: words(bench.Approved, bench.Denied, bench.Withdrawn).said("What a human said of it. Default approved.")},
		{name: "call", form: call, required: true},
		{name: "effects", form: listOf(slot, "Slots: one for each effect that is wanted. [] for a read-only call."), required: true, defines: true},
	}}

	turn := &form{kind: mapping, fields: []field{
		{name: "id", form: name("Default t1, t2 and so on."), defines: true},
		{name: "say", form: someText("The user's words."), required: true},
		{name: "intents", form: listOf(intent, "What the user asks for in this turn."), defines: true},
		{name: "asks_again", form: name("Intent of an earlier turn that this one asks for again.")},
		{name: "continues", form: name("Earlier turn that this one continues; the system is told.")},
		{name: "overlap", form: trueOrFalse("Hand the turn over while the one before is still in work.")},
	}}

	annotations := &form{kind: mapping, doc: "MCP hints. They need not be true.", fields: []field{
		{name: "readOnlyHint", form: trueOrFalse("")}, {name: "destructiveHint", form: trueOrFalse("")}, {name: "idempotentHint", form: trueOrFalse("")},
	}}
	use := &form{kind: mapping, fields: []field{
		{name: "key", form: words(bench.KeyNone, bench.KeyArgument, bench.KeyMinted, bench.KeyRequest, bench.KeyMeta).said(
			"Who fills the provider's idempotency key: nobody (none, the default), the system by an idempotency_key argument, the tool server with a new one for each call (minted), or from the JSON-RPC id (request) or _meta (meta).")},
		{name: "transport", form: words(bench.TransportMCP, bench.TransportMCPSessions, bench.TransportJSON).said("Default mcp.")},
		{name: "annotations", form: annotations},
		{name: "errors", form: words(bench.ErrorsTyped, bench.ErrorsVague, bench.ErrorsLying).said("Wording of errors: typed says what is known, vague (default) has one text for all, lying always says that nothing was done.")},
		{name: "memory", form: trueOrFalse("The tool's servers remember what they answered, each for itself, and the balancer is sticky. Default false.")},
	}}

	drift := &form{kind: mapping, fields: []field{
		{name: "args", form: changed.said("The one argument that the model changes or adds; with tool, all arguments of the other call."), required: true},
		{name: "tool", form: tool("With other-tool: the other tool.")},
	}}
	repairKinds := []string{"give-up", "same", "drift", "rephrase", "other-tool", "ask", "fresh-key", "keep-key"}

	provider := &form{kind: mapping, fields: []field{
		{name: "kind", form: words(names(cat.Providers)...).said("Kind of provider."), required: true},
		{name: "contract", form: words(names(cat.Contracts)...).said("Contract that it keeps."), required: true},
	}}
	tools := &form{kind: table, keys: names(cat.Tools), of: use, min: 1, max: 100, doc: "Tools that the system is offered."}
	if cat.External {
		provider = externalProvider()
		tools.keys, tools.match, tools.of = nil, argumentName, externalTool(use)
	}

	boundaries := words(cat.Boundaries...)
	file := &form{kind: mapping, doc: "A workload of sixthcopy: what a user asks for, in turns, and what may come of it.", fields: []field{
		{name: "name", form: &form{kind: text, match: plainName, min: 1, max: 64, doc: "Name of the workload."}, required: true},
		{name: "summary", form: someText("One sentence for the reader of a list."), required: true},
		{name: "provider", required: true, form: provider},
		{name: "world", form: listOf(&form{kind: mapping, fields: []field{
			{name: "class", form: class(), required: true},
			{name: "attributes", form: &form{kind: table, of: &form{kind: scalar}}, required: true},
			{name: "principal", form: someText("Whose it is.")},
		}, by: "class", decides: "attributes", choices: attributes}, "Objects that are there before the first turn, oldest first.")},
		{name: "tools", form: tools, required: true, defines: true},
		{name: "turns", form: &form{kind: list, of: turn, min: 1, max: 100, doc: "Messages of the user, in order."}, required: true, defines: true},
		{name: "outcomes", required: true, form: &form{kind: list, min: 1, max: 100, doc: "What may come of it; the first is the goal.",
			of: oneForm("", words("all", "none").said("Every slot full, or none."),
				&form{kind: mapping, doc: "Units by slot; slots that are not named have none.", min: 1, fields: []field{
					{name: "at_most", form: units.said("Any number of units up to these.")},
				}, of: between(0, 1000, "Units."), match: slotName})}},
		{name: "ordered", form: listOf(name("Slot."), "Slots whose effects must commit in this order.")},
		{name: "net", form: trueOrFalse("Count in the present state and not in history.")},
		{name: "inject", form: &form{kind: mapping, doc: "Where faults may strike.", fields: []field{
			{name: "boundaries", form: oneForm("Default all.", words("all"), &form{kind: list, of: boundaries, min: 1, max: 100})},
			{name: "intents", form: &form{kind: list, of: name("Intent."), min: 1, max: 100, doc: "Intents to strike. Default: the first."}},
		}}},
		{name: "repair", form: oneForm("What the scripted model does after an error. Default give-up.",
			words(repairKinds...),
			&form{kind: mapping, fields: []field{
				{name: "kind", form: words(repairKinds...), required: true},
				{name: "drift", form: changed.said("With kind drift: the arguments that it changes.")},
				{name: "tool", form: tool("With kind other-tool: the other tool.")},
			}})},
		{name: "drifts", form: &form{kind: table, keys: bench.DriftNames, of: drift, min: 1, max: 5,
			doc: "Ways in which a model may change the struck call when it makes it again: what boundary parameter-drift injects."}},
	}}
	if cat.External { // what is there is there
		file.fields = slices.DeleteFunc(file.fields, func(x field) bool { return x.name == "world" })
	}
	return file
}

// expected says what may stand there, in words.
func (f *form) expected() string {
	switch f.kind {
	case mapping, table:
		return "a mapping"
	case list:
		return "a list"
	case number:
		if f.max == exact {
			return "a whole number"
		}
		return fmt.Sprintf("a whole number from %d to %d", f.min, f.max)
	case truth:
		return "true or false"
	case scalar:
		return "text or a number"
	case data:
		return "any JSON"
	case either:
		all := make([]string, len(f.alts))
		for i, a := range f.alts {
			all[i] = a.expected()
		}
		return strings.Join(all, " or ")
	}
	if len(f.words) == 1 {
		return f.words[0]
	}
	if len(f.words) > 0 {
		return "one of " + strings.Join(f.words, ", ")
	}
	if f.match != nil {
		return f.match.says
	}
	return "text"
}
