package workloads

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// longestLag is the longest lag of an oracle: a trial waits for it in real time.
const longestLag = 10 * time.Second

// placeholder is a place in a template where something goes.
var placeholder = regexp.MustCompile(`\$\{([^}]*)\}`)

var environment = regexp.MustCompile(`^env\.[A-Za-z_][A-Za-z0-9_]*$`)

// external checks that what a file declares of its provider and tools fits together.
func (c *checker) external() {
	p := c.root.get("provider")
	o := p.get("oracle")
	if given := keys(o); o != nil {
		given = slices.DeleteFunc(given, func(k string) bool { return k == "lag" })
		if len(given) != 1 && len(o.keys) == len(o.node.Content)/2 {
			c.on(o.node, "provider.oracle: expected one of sql, http and command, got %d of them", len(given))
		}
		if lag := o.get("lag"); lag != nil && lag.time() > longestLag {
			c.on(lag.node, "provider.oracle.lag: %s is too long to wait for in a trial: expected at most %v", lag.text(), longestLag)
		}
	}
	classes := c.cat.Providers[bench.KindExternal].Classes
	for i, l := range o.get("http").list() {
		path := fmt.Sprintf("provider.oracle.http[%d]", i)
		class := l.get("class")
		if class == nil {
			continue
		}
		if classes[class.text()] == nil {
			c.on(class.node, "%s.class: no tool makes %s: %s", path, class.text(), oneOf(class.text(), names(classes)))
			continue
		}
		c.attributes(l.get("attributes"), path+".attributes", "no tool that makes a "+class.text(), classes[class.text()])
	}
	for _, k := range p.get("contract").get("unique").names() {
		if classes[k.Value] == nil {
			c.on(k, "provider.contract.unique: no tool makes %s: %s", k.Value, oneOf(k.Value, names(classes)))
		}
	}
	for _, k := range c.root.get("tools").names() {
		if t := c.root.get("tools").get(k.Value); t != nil {
			c.declared(k.Value, t)
		}
	}
}

// attributes checks that a table names attributes that there are.
func (c *checker) attributes(v *value, path, what string, known []Value) {
	for _, k := range v.names() {
		if _, ok := find(known, k.Value); !ok {
			var all []string
			for _, a := range known {
				all = append(all, a.Name)
			}
			c.on(k, "%s: %s has an argument %q: %s", path, what, k.Value, oneOf(k.Value, all))
		}
	}
}

// declared checks one tool.
func (c *checker) declared(name string, v *value) {
	path := "tools." + name
	r, args, found := v.get("request"), v.get("arguments"), v.get("answer").get("found")
	makes := v.get("makes") != nil
	switch {
	case makes && found != nil:
		c.on(found.node, "%s.answer.found: the tool makes a %s: expected receipt instead of found", path, v.get("makes").text())
	case !makes && found == nil && v.fields["makes"] == nil && r != nil:
		c.on(v.node, "%s: the tool only reads: expected answer.found, or makes with the class of what it makes", path)
	}
	if key := v.get("key"); key != nil && makes && key.text() != string(bench.KeyNone) && c.root.get("provider").get("contract").get("key") == nil {
		c.on(key.node, "%s.key: the contract has no key: expected provider.contract.key, or none", path)
	}
	c.finds(path, v)
	if r == nil || args == nil {
		return
	}
	var bodies []string
	for _, b := range []string{"json", "form", "text"} {
		if r.get(b) != nil {
			bodies = append(bodies, b)
		}
	}
	if len(bodies) > 1 {
		c.on(r.node, "%s.request: it has %s: expected one body", path, strings.Join(bodies, " and "))
	}
	if r.get("method").text() == "GET" && len(bodies) > 0 {
		c.on(r.get(bodies[0]).node, "%s.request.%s: a GET has no body", path, bodies[0])
	}
	placed := map[string]bool{}
	for _, part := range []string{"path", "query", "json", "form", "text", "headers"} {
		c.holes(path+".request."+part, part, r.get(part), args, placed)
	}
	for _, k := range args.names() {
		if k.Value == "trial" || k.Value == keyArgument {
			c.on(k, "%s.arguments: %s is a word of the harness: expected another name", path, k.Value)
		} else if !placed[k.Value] && r.whole() {
			c.on(k, "%s.arguments: %s goes nowhere: expected ${%s} in the request's path, query or body", path, k.Value, k.Value)
		}
	}
}

// finds checks that the look-up of a tool is one, and takes the reference if the tool does.
func (c *checker) finds(path string, v *value) {
	look := v.get("look_up")
	reference := v.get("arguments").get(referenceArgument)
	if look == nil {
		if reference != nil && v.get("makes") != nil && v.fields["look_up"] == nil {
			c.on(reference.node, "%s.arguments.reference: a reference is for a look-up: expected look_up with the tool that finds it again", path)
		}
		return
	}
	if v.get("makes") == nil {
		c.on(look.node, "%s.look_up: the tool makes nothing that could be found again", path)
		return
	}
	t, ok := c.cat.Tools[look.text()]
	switch _, takes := find(t.Args, referenceArgument); {
	case !ok:
		c.unknown(look, path+".look_up", "tool", names(c.cat.Tools))
	case !t.ReadOnly():
		c.on(look.node, "%s.look_up: %s makes a %s: expected a tool that only reads", path, look.text(), t.Makes)
	case reference != nil && !takes:
		c.on(look.node, "%s.look_up: %s takes no reference, which this tool gives: expected an argument reference there", path, look.text())
	}
}

// holes checks what goes into a template, and notes which arguments are placed where they can be read back.
func (c *checker) holes(path, part string, v *value, args *value, placed map[string]bool) {
	if v == nil {
		return
	}
	for name, x := range v.fields {
		c.holes(join(path, name), part, x, args, placed)
	}
	for i, x := range v.items {
		c.holes(fmt.Sprintf("%s[%d]", path, i), part, x, args, placed)
	}
	for _, m := range placeholder.FindAllStringSubmatch(v.text(), -1) {
		name := m[1]
		a, given := args.fields[name]
		switch {
		case name == "trial" || environment.MatchString(name) && part != "path":
		case environment.MatchString(name):
			c.on(v.node, "%s: ${%s} in a path: expected the path written out", path, name)
		case !given:
			c.on(v.node, "%s: ${%s} is no argument: %s, or env.NAME, or trial", path, name, oneOf(name, keys(args)))
		case part == "path" && a.get("optional").truth():
			c.on(v.node, "%s: ${%s} is optional: expected an argument that is always given", path, name)
		default:
			placed[name] = placed[name] || part != "headers"
		}
	}
}
