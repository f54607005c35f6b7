package workloads

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"
)

// repair checks that a repair says what its kind needs, and that it fits every call that may be struck.
func (c *checker) repair() {
	v := c.root.get("repair")
	kind := c.w.Repair.Kind
	if v == nil || kind == "" {
		return
	}
	drift, tool := v.get("drift"), v.get("tool")
	has := func(name string) bool { _, ok := v.fields[name]; return ok }
	if kind == "drift" && !has("drift") {
		c.on(v.node, "repair: a drift needs the arguments that it changes: {kind: drift, drift: {...}}")
	}
	if kind != "drift" && drift != nil {
		c.on(drift.node, "repair.drift: %s changes no arguments: expected kind drift", kind)
	}
	if kind == "other-tool" && !has("tool") {
		c.on(v.node, "repair: other-tool needs the tool: {kind: other-tool, tool: ...}")
	}
	if kind != "other-tool" && tool != nil {
		c.on(tool.node, "repair.tool: %s takes no other tool: expected kind other-tool", kind)
	}
	c.offered(tool, "repair.tool")
	for _, in := range c.struck() {
		c.known(drift, "repair.drift", in.Call.Tool)
	}
}

// known checks that the changed arguments are arguments of the tool.
func (c *checker) known(args *value, path, tool string) bool {
	t, ok := c.cat.Tools[tool]
	if !ok {
		return false
	}
	var all []string
	for _, a := range t.Args {
		all = append(all, a.Name)
	}
	good := true
	for _, k := range args.names() {
		if !slices.Contains(all, k.Value) {
			c.on(k, "%s: the call of %s has no argument %q: %s", path, tool, k.Value, oneOf(k.Value, all))
			good = false
		}
	}
	return good
}

// drifts checks that each drift changes one thing, of the kind that its name says, in every call that may
// be struck.
func (c *checker) drifts() {
	for _, k := range c.root.get("drifts").names() {
		v := c.root.get("drifts").get(k.Value)
		if v == nil {
			continue
		}
		path := "drifts." + k.Value
		tool, args := v.get("tool"), v.get("args")
		if k.Value == "other-tool" {
			c.otherTool(v, path)
			continue
		}
		if tool != nil {
			c.on(tool.node, "%s.tool: %s keeps the tool: expected other-tool for another one", path, k.Value)
		}
		if args == nil {
			continue
		}
		if len(args.keys) > 1 {
			c.on(args.node, "%s.args: %d arguments: a drift changes one thing", path, len(args.keys))
			continue
		}
		for _, in := range c.struck() {
			for _, key := range args.names() {
				if arg := args.get(key.Value); arg != nil && c.known(args, path+".args", in.Call.Tool) {
					c.drift(k.Value, in, key, arg, path+".args."+key.Value)
				}
			}
		}
	}
}

// drift checks one changed argument of one call by the rule of the drift's name.
func (c *checker) drift(name string, in intentAt, key *yaml.Node, arg *value, path string) {
	about, _ := find(c.cat.Tools[in.Call.Tool].Args, key.Value)
	now, given := in.Call.Args[key.Value]
	want := ""
	switch name {
	case "optional-field":
		if about.Required {
			want = "an optional argument"
		} else {
			c.read(about.form(), arg.node, path)
		}
	case "number-format":
		n, isNumber := now.(float64)
		if x, err := strconv.ParseFloat(arg.text(), 64); !isNumber {
			want = "a number of the call"
		} else if err != nil || x != n {
			want = fmt.Sprintf("the number of the call into text, like \"%s.00\"", strconv.FormatFloat(n, 'f', -1, 64))
		}
	case "free-text":
		if !about.Free || !given {
			want = "a free text of the call"
		} else {
			c.read(about.form(), arg.node, path)
		}
	case "target-alias":
		if about.Free || about.Type == Number || about.Type == TextOrNumber || !given {
			want = "a target of the call, no free text"
		} else {
			c.read(about.form(), arg.node, path)
		}
	}
	if want != "" {
		c.on(key, "%s: %s changes %s", path, name, want)
	} else if reflect.DeepEqual(arg.plain(), now) {
		c.on(arg.node, "%s: the same as in the call of %s: expected another value", path, in.ID)
	}
}

// otherTool checks a drift to another tool: offered, with all its arguments, and near enough to the struck
// call: of what a slot matches on at most one may differ, else no harness could tell whose it is.
func (c *checker) otherTool(v *value, path string) {
	tool, args := v.get("tool"), v.get("args")
	if tool == nil {
		if _, ok := v.fields["tool"]; !ok {
			c.on(v.node, "%s: the field \"tool\" is missing", path)
		}
		return
	}
	c.offered(tool, path+".tool")
	if args == nil {
		return
	}
	before := len(c.problems)
	c.read(valuesForm(c.cat.Tools[tool.text()].Args, true), args.node, path+".args")
	for _, in := range c.struck() {
		if in.Call.Tool == tool.text() {
			c.on(tool.node, "%s.tool: %s is the tool of %s: expected another one", path, tool.text(), in.ID)
		}
		for _, s := range c.slotsOf(in) {
			differ := 0
			for name, want := range s.Match {
				if !gives(args.plainMap()[name], want) {
					differ++
				}
			}
			if differ > 1 && len(c.problems) == before {
				c.on(args.node, "%s.args: %d of the attributes that slot %s matches differ: expected one at most", path, differ, s.Name)
			}
		}
	}
}
