package workloads

import (
	"fmt"
	"reflect"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/sixthcopy/sixthcopy/bench"
)

// checker checks what the form of a file does not say: that names are known and unique, and that the
// parts of the workload fit each other.
type checker struct {
	*reader
	cat  Catalogue
	root *value
	w    bench.Workload

	intents map[string]intentAt
	order   []intentAt
	slots   map[string]slotAt
}

// intentAt is an intent with its place.
type intentAt struct {
	bench.Intent
	v    *value
	path string
	turn int // index
}

// slotAt is a slot with its place.
type slotAt struct {
	bench.Slot
	v      *value
	path   string
	intent intentAt
}

func (c *checker) check() {
	c.provider()
	if c.cat.External {
		c.external()
	}
	c.gather()
	for _, in := range c.order {
		c.twins(in)
		c.call(in)
		for _, s := range c.slotsOf(in) {
			c.slot(s)
		}
		c.room(in)
	}
	c.turns()
	c.outcomes()
	c.references(c.root.get("ordered"), "ordered", "slot", names(c.slots))
	c.references(c.root.get("inject").get("boundaries"), "inject.boundaries", "boundary", nil)
	c.references(c.root.get("inject").get("intents"), "inject.intents", "intent", names(c.intents))
	c.repair()
	c.drifts()
}

// place of a value that was read, or of the nearest thing around it that was.
func where(first *value, around ...*value) *yaml.Node {
	for _, v := range append([]*value{first}, around...) {
		if v != nil {
			return v.node
		}
	}
	return &yaml.Node{Line: 1, Column: 1}
}

// provider checks that contract, tools and world are those of the provider's kind.
func (c *checker) provider() {
	kind := c.w.Provider.Kind
	if kind == "" {
		return
	}
	if of := c.cat.Contracts[c.w.Provider.Contract]; of != "" && of != kind {
		c.on(c.root.get("provider").get("contract").node, "provider.contract: %s is a contract of provider %s: %s of provider %s",
			c.w.Provider.Contract, of, oneOf("", c.contractsOf(kind)), kind)
	}
	for _, k := range c.root.get("tools").names() {
		t := c.cat.Tools[k.Value]
		if t.Provider != kind {
			c.on(k, "tools: %s is a tool of provider %s: %s of provider %s", k.Value, t.Provider, oneOf("", c.toolsOf(kind)), kind)
		}
		if key := c.root.get("tools").get(k.Value).get("key"); t.ReadOnly() && key != nil && key.text() != string(bench.KeyNone) {
			c.on(key.node, "tools.%s.key: a read-only tool takes no key, got %q", k.Value, key.text())
		}
	}
	for i, v := range c.root.get("world").list() {
		c.class(v.get("class"), fmt.Sprintf("world[%d].class", i))
	}
}

func (c *checker) contractsOf(kind string) []string {
	var all []string
	for _, n := range names(c.cat.Contracts) {
		if c.cat.Contracts[n] == kind {
			all = append(all, n)
		}
	}
	return all
}

func (c *checker) toolsOf(kind string) []string {
	var all []string
	for _, n := range names(c.cat.Tools) {
		if c.cat.Tools[n].Provider == kind {
			all = append(all, n)
		}
	}
	return all
}

// class checks that an effect class is one of the provider's.
func (c *checker) class(v *value, path string) {
	p, ok := c.cat.Providers[c.w.Provider.Kind]
	if v == nil || !ok || p.Classes[v.text()] != nil {
		return
	}
	c.on(v.node, "%s: provider %s makes no %s: %s", path, c.w.Provider.Kind, v.text(), oneOf(v.text(), names(p.Classes)))
}

// gather finds all intents and slots and reports names that come twice.
func (c *checker) gather() {
	c.intents, c.slots = map[string]intentAt{}, map[string]slotAt{}
	for i, t := range c.w.Turns {
		tv := c.root.get("turns").list()[i]
		for j, in := range t.Intents {
			at := intentAt{Intent: in, v: tv.get("intents").list()[j], path: fmt.Sprintf("turns[%d].intents[%d]", i, j), turn: i}
			c.order = append(c.order, at)
			if in.ID == "" {
				continue
			}
			if first, ok := c.intents[in.ID]; ok {
				c.on(at.v.get("id").node, "%s.id: the intent %q comes twice, first in line %d: expected ids that differ",
					at.path, in.ID, first.v.node.Line)
			} else {
				c.intents[in.ID] = at
			}
		}
	}
	for _, in := range c.order {
		for _, s := range c.slotsOf(in) {
			if first, ok := c.slots[s.Name]; ok && c.intents[in.ID].path == in.path {
				c.on(where(s.v.get("slot"), s.v, in.v), "%s: the slot %q comes twice, first in line %d: expected names that differ",
					s.path, s.Name, where(first.v, first.intent.v).Line)
			} else if s.Name == "at_most" {
				c.on(where(s.v.get("slot"), s.v), "%s: at_most is no name of a slot: outcomes use it as a word", s.path)
			}
			if _, ok := c.slots[s.Name]; !ok {
				c.slots[s.Name] = s
			}
		}
	}
}

func (c *checker) slotsOf(in intentAt) []slotAt {
	var all []slotAt
	for k, s := range in.Slots {
		all = append(all, slotAt{Slot: s, v: in.v.get("effects").list()[k], path: fmt.Sprintf("%s.effects[%d]", in.path, k), intent: in})
	}
	return all
}

// twins checks twin_of: a known other intent, no cycle, equal business attributes.
func (c *checker) twins(in intentAt) {
	v := in.v.get("twin_of")
	if v == nil {
		c.undeclared(in)
		return
	}
	other, ok := c.intents[in.TwinOf]
	if !ok {
		c.unknown(v, in.path+".twin_of", "intent", names(c.intents))
		return
	}
	seen := map[string]bool{in.ID: true}
	for id := in.TwinOf; id != ""; id = c.intents[id].TwinOf {
		if seen[id] {
			if id == in.ID {
				c.on(v.node, "%s.twin_of: %q leads back to itself: expected an intent that is not its twin already", in.path, in.TwinOf)
			}
			return
		}
		seen[id] = true
	}
	if in.Call.Tool != other.Call.Tool || !reflect.DeepEqual(business(in), business(other)) {
		c.on(v.node, "%s.twin_of: %s and %s differ in tool or effects: twins have equal ones", in.path, in.ID, in.TwinOf)
	}
}

// undeclared reports an intent that equals an earlier one without saying so: calls are attributed to
// intents by business attributes, so an equal intent must be a twin.
func (c *checker) undeclared(in intentAt) {
	for _, first := range c.order {
		switch {
		case first.path == in.path:
			return
		case len(in.Slots) == 0 || c.incomplete || first.Call.Tool != in.Call.Tool || !reflect.DeepEqual(business(first), business(in)):
		case !c.leads(first, in.ID):
			c.on(in.v.node, "%s: %s wants the same effects as %s: expected twin_of: %s", in.path, in.ID, first.ID, first.ID)
			return
		}
	}
}

// leads says whether the twins of an intent lead to id.
func (c *checker) leads(in intentAt, id string) bool {
	for range c.order {
		if in.TwinOf == "" || in.TwinOf == id {
			return in.TwinOf == id
		}
		in = c.intents[in.TwinOf]
	}
	return false
}

// business returns what twins have in common: their slots without the names.
func business(in intentAt) []bench.Slot {
	all := slices.Clone(in.Slots)
	for i := range all {
		all[i].Name, all[i].AttachedTo = "", ""
	}
	return all
}

// call checks a call against the tools that the workload offers and the effects that it declares.
func (c *checker) call(in intentAt) {
	tool := in.v.get("call").get("tool")
	if tool == nil {
		return
	}
	c.offered(tool, in.path+".call.tool")
	made := slices.ContainsFunc(in.Slots, func(s bench.Slot) bool { return s.AttachedTo == "" })
	if t := c.cat.Tools[tool.text()]; t.ReadOnly() && len(in.Slots) > 0 {
		c.on(in.v.get("effects").node, "%s.effects: %s only reads: expected no effects", in.path, tool.text())
	} else if !t.ReadOnly() && in.v.get("effects") != nil && len(in.v.get("effects").items) == 0 && !made {
		c.on(in.v.get("effects").node, "%s.effects: %s makes a %s: expected a slot for it", in.path, tool.text(), t.Makes)
	}
}

// offered checks that a tool is among those of the file.
func (c *checker) offered(tool *value, path string) {
	if tool == nil || c.root.get("tools") == nil || c.root.get("tools").fields[tool.text()] != nil {
		return
	}
	if slices.ContainsFunc(c.root.get("tools").names(), func(k *yaml.Node) bool { return k.Value == tool.text() }) {
		return // offered, but what it says there cannot be read
	}
	c.on(tool.node, "%s: %s is not offered: %s, or add it to tools", path, tool.text(), oneOf(tool.text(), keys(c.root.get("tools"))))
}

func keys(v *value) []string {
	var all []string
	for _, k := range v.names() {
		all = append(all, k.Value)
	}
	return all
}

// slot checks that a slot can be filled by the call of its intent.
func (c *checker) slot(s slotAt) {
	c.class(s.v.get("class"), s.path+".class")
	if v := s.v.get("sign"); v != nil && s.Sign == 0 {
		c.on(v.node, "%s.sign: expected 1 (an effect) or -1 (a compensation), got 0", s.path)
	}
	if v := s.v.get("attached_to"); v != nil {
		if _, ok := c.slots[s.AttachedTo]; !ok {
			c.unknown(v, s.path+".attached_to", "slot", names(c.slots))
		} else if s.AttachedTo == s.Name {
			c.on(v.node, "%s.attached_to: %q is the slot itself: expected another one", s.path, s.Name)
		}
		return
	}
	if v := s.v.get("match").get(referenceArgument); v != nil {
		c.on(v.node, "%s.match.reference: the system fills references: no slot can match on one", s.path)
	}
	tool := c.cat.Tools[s.intent.Call.Tool]
	if tool.Makes == "" || s.Class == "" || s.Sign != 1 {
		return
	}
	if s.Class != tool.Makes {
		c.on(s.v.get("class").node, "%s.class: %s makes a %s, got %s", s.path, s.intent.Call.Tool, tool.Makes, s.Class)
		return
	}
	c.fits(s, tool)
}

// fits checks that the call gives what the slot matches on. Attributes that are no arguments (the path of
// what a deletion hits) are the provider's to choose.
func (c *checker) fits(s slotAt, tool Tool) {
	args := s.intent.v.get("call").get("args")
	if args == nil {
		return
	}
	for _, k := range s.v.get("match").names() {
		want := s.v.get("match").get(k.Value)
		if _, ok := find(tool.Args, k.Value); !ok || want == nil {
			continue
		}
		given, ok := args.fields[k.Value]
		switch {
		case !ok && len(args.keys) == len(args.node.Content)/2: // else it may be one that could not be read
			c.on(k, "%s.match: the call gives no %s: no effect of it fills this slot", s.path, k.Value)
		case ok && given != nil && !gives(given.plain(), want.plain()):
			c.on(want.node, "%s.match.%s: expected %v as in the call, got %v", s.path, k.Value, given.plain(), want.plain())
		}
	}
}

// gives says whether an argument makes an effect with that attribute: a list makes one for each element.
func gives(argument, attribute any) bool {
	if many, ok := argument.([]any); ok {
		return slices.ContainsFunc(many, func(one any) bool { return reflect.DeepEqual(one, attribute) })
	}
	return reflect.DeepEqual(argument, attribute)
}

// room checks that a call makes as many effects as its slots have room for: with fewer the goal is out of
// reach, and with more even a system without fault leaves an extra.
func (c *checker) room(in intentAt) {
	tool, args, effects := c.cat.Tools[in.Call.Tool], in.v.get("call").get("args"), in.v.get("effects")
	if tool.Makes == "" || !effects.whole() || !args.whole() || len(args.keys) != len(args.node.Content)/2 {
		return
	}
	var filled []slotAt // by the call itself
	wanted := 0
	for _, s := range c.slotsOf(in) {
		if s.AttachedTo != "" || s.Sign != 1 {
			continue
		}
		made := tool.units(in.Call.Args, s.Match)
		if s.Class != tool.Makes || made == 0 {
			return // said already: no effect fits
		}
		together, want := "the slot wants", s.Count
		for _, other := range filled {
			if tool.units(in.Call.Args, s.Match, other.Match) > 0 {
				together, want = "the slots want", want+other.Count
			}
		}
		if want > made {
			such := ""
			if made < tool.units(in.Call.Args) {
				such = " that fits"
			}
			c.on(where(s.v.get("count"), s.v), "%s.count: %s makes %d%s, %s %d", s.path, in.Call.Tool, made, such, together, want)
			return
		}
		filled, wanted = append(filled, s), wanted+s.Count
	}
	if made := tool.units(in.Call.Args); len(filled) > 0 && wanted < made {
		c.on(effects.node, "%s.effects: %s makes %d, the slots want %d: the rest would be extra", in.path, in.Call.Tool, made, wanted)
	}
}

// units says how many effects of a call fit all of the matches, as far as an argument with many elements
// tells them apart.
func (t Tool) units(args map[string]any, matches ...map[string]any) int {
	n := 1
	if count, ok := args[t.Times].(float64); ok {
		n = int(count)
	}
	for _, a := range t.Args {
		each, ok := args[a.Name].([]any)
		if a.Type != TextOrMany || !ok {
			continue
		}
		n = 0
		for _, one := range each {
			if !slices.ContainsFunc(matches, func(m map[string]any) bool {
				want, matched := m[a.Name]
				return matched && !reflect.DeepEqual(one, want)
			}) {
				n++
			}
		}
	}
	return n
}

// turns checks the names of turns and what they refer to.
func (c *checker) turns() {
	first := map[string]int{}
	for i, t := range c.w.Turns {
		v := c.root.get("turns").list()[i]
		path := fmt.Sprintf("turns[%d]", i)
		if v == nil {
			continue
		}
		if _, ok := first[t.ID]; ok {
			c.on(where(v.get("id"), v), "%s.id: the turn %q comes twice: expected ids that differ", path, t.ID)
		}
		if again := v.get("asks_again"); again != nil {
			if in, ok := c.intents[t.AsksAgain]; !ok {
				c.unknown(again, path+".asks_again", "intent", names(c.intents))
			} else if in.turn >= i {
				c.on(again.node, "%s.asks_again: %s is not of an earlier turn", path, t.AsksAgain)
			}
		}
		if on := v.get("continues"); on != nil {
			if _, ok := first[t.Continues]; !ok {
				c.unknown(on, path+".continues", "earlier turn", names(first))
			}
		}
		if len(t.Intents) == 0 && t.AsksAgain == "" && v.get("intents") == nil && v.get("asks_again") == nil && !c.incomplete {
			c.on(v.node, "%s: the turn asks for nothing: expected intents or asks_again", path)
		}
		first[t.ID] = i
	}
}

// unknown reports a name that nothing in the file has, unless a place that may define it cannot be read.
func (c *checker) unknown(v *value, path, what string, known []string) {
	if !c.incomplete {
		c.on(v.node, "%s: unknown %s %q: %s", path, what, v.text(), oneOf(v.text(), known))
	}
}

// references checks a list of names: each known (known nil: not looked at), none twice.
func (c *checker) references(v *value, path, what string, known []string) {
	seen := map[string]bool{}
	for i, x := range v.list() {
		if x == nil {
			continue
		}
		here := fmt.Sprintf("%s[%d]", path, i)
		if seen[x.text()] {
			c.on(x.node, "%s: the %s %q comes twice: expected it once", here, what, x.text())
		} else if known != nil && !slices.Contains(known, x.text()) {
			c.unknown(x, here, what, known)
		}
		seen[x.text()] = true
	}
}

// outcomes checks O(I): known slots with room for what is said, no outcome twice.
func (c *checker) outcomes() {
	for i, o := range c.w.Outcomes {
		v := c.root.get("outcomes").list()[i]
		if v == nil {
			continue
		}
		path := fmt.Sprintf("outcomes[%d]", i)
		for j, other := range c.w.Outcomes[:i] {
			if reflect.DeepEqual(o, other) && v.whole() && c.root.get("outcomes").list()[j].whole() {
				c.on(v.node, "%s: the same as outcomes[%d]: expected outcomes that differ", path, j)
				break
			}
		}
		if o.Word == "all" && len(c.slots) == 0 && !c.incomplete {
			c.on(v.node, "%s: no intent has effects: expected none", path)
		}
		counts := v
		if most := v.get("at_most"); most != nil {
			if len(v.keys) > 1 {
				c.on(v.node, "%s: at_most stands beside counts: expected at_most alone", path)
			}
			counts, path = most, path+".at_most"
		}
		for _, k := range counts.names() {
			if s, ok := c.slots[k.Value]; !ok && k.Value != "at_most" {
				c.unknown(&value{node: k, data: k.Value}, path, "slot", names(c.slots))
			} else if n := counts.fields[k.Value]; ok && n != nil && n.number(0) > s.Count {
				c.on(n.node, "%s.%s: %d units, but the slot has room for %d", path, k.Value, n.number(0), s.Count)
			} else if ok && s.AttachedTo != "" {
				c.on(k, "%s: %s is attached to %s and follows it: it is not listed", path, k.Value, s.AttachedTo)
			}
		}
	}
}

// struck returns the intents that faults may strike.
func (c *checker) struck() []intentAt {
	var all []intentAt
	for _, id := range c.w.Inject.Intents {
		if in, ok := c.intents[id]; ok {
			all = append(all, in)
		}
	}
	return all
}
