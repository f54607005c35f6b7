package workloads

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// limit is the size of the largest file that is read, in bytes.
const limit = 1 << 20

// reader reads one file and gathers what is wrong in it.
type reader struct {
	file     string
	problems []Problem

	// incomplete says that a place which defines names could not be read: references to unknown names are
	// then not reported, since the name may be there.
	incomplete bool
}

// value is a place of a file that was read: a YAML node with its checked content. A nil value is a place
// that is absent or could not be read; all methods take it.
type value struct {
	node   *yaml.Node
	data   any               // text: string; number: int64 or float64; truth: bool
	keys   []*yaml.Node      // mapping and table: keys in the file's order
	fields map[string]*value // mapping and table
	items  []*value          // list
}

func (r *reader) at(line, column int, format string, args ...any) {
	r.problems = append(r.problems, Problem{File: r.file, Line: line, Column: column, Text: fmt.Sprintf(format, args...)})
}

func (r *reader) on(n *yaml.Node, format string, args ...any) {
	r.at(n.Line, n.Column, format, args...)
}

// document returns the root of the file's one YAML document, nil if there is none.
func (r *reader) document(data []byte) *yaml.Node {
	if len(data) > limit {
		r.at(1, 1, "the file has %d bytes: expected at most %d", len(data), limit)
		return nil
	}
	if !r.clean(data) {
		return nil
	}
	in := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	switch err := in.Decode(&doc); {
	case err == io.EOF || err == nil && len(doc.Content) == 1 && doc.Content[0].Tag == "!!null" && doc.Content[0].Value == "":
		r.at(1, 1, "the file is empty: expected a workload (name, summary, provider, tools, turns, outcomes)")
		return nil
	case err != nil:
		r.notYAML(data, err)
		return nil
	}
	switch err := in.Decode(&next); {
	case err == io.EOF:
	case err != nil:
		r.notYAML(data, err)
	default:
		r.on(&next, "a second document begins: expected one workload a file")
	}
	return doc.Content[0]
}

// clean reports bytes that are no text.
func (r *reader) clean(data []byte) bool {
	line, column := 1, 1
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		switch {
		case c == utf8.RuneError && size == 1:
			r.at(line, column, "byte 0x%02x is not UTF-8: save the file as UTF-8", data[i])
			return false
		case c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f:
			r.at(line, column, "control character 0x%02x: expected text", c)
			return false
		case c == '\r' && !bytes.HasPrefix(data[i:], []byte("\r\n")) || c == 0x85 || c == 0x2028 || c == 0x2029:
			r.at(line, column, "line break %U: expected \\n or \\r\\n", c) // YAML counts it as a line, editors may not
			return false
		case c == '\n':
			line, column = line+1, 0
		}
		i, column = i+size, column+1
	}
	return true
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): (.*)$`)

// notYAML reports why data is no YAML. Tabs are named first: the library's words for them help nobody.
func (r *reader) notYAML(data []byte, err error) {
	for i, line := range strings.Split(string(data), "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if tab := strings.IndexByte(indent, '\t'); tab >= 0 {
			r.at(i+1, tab+1, "a tab in the indentation: YAML takes spaces only")
			return
		}
	}
	line, text := 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = m[2]
	}
	r.at(line, 1, "this is not YAML: %s", text)
}

// read returns what stands at node if it has form f. path names the place in messages.
func (r *reader) read(f *form, n *yaml.Node, path string) *value {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		mark := "&" + n.Anchor
		if n.Kind == yaml.AliasNode {
			mark = "*" + n.Value
		}
		r.on(n, "%s: %s is an anchor or alias, which are not read: write the value out", place(path), mark)
		return nil
	}
	if n.Style&yaml.TaggedStyle != 0 {
		r.on(n, "%s: the tag %s is not read: write the plain value", place(path), n.Tag)
		return nil
	}
	if f.kind == either {
		for _, a := range f.alts {
			if a.takes(n.Kind) {
				return r.read(a, n, path)
			}
		}
	}
	if !f.takes(n.Kind) {
		r.on(n, "%s: expected %s, got %s", place(path), f.expected(), came(n))
		return nil
	}
	switch f.kind {
	case data:
		return r.data(f, n, path)
	case mapping, table:
		return r.mapping(f, n, path)
	case list:
		return r.list(f, n, path)
	default:
		return r.scalar(f, n, path)
	}
}

func (f *form) takes(k yaml.Kind) bool {
	switch f.kind {
	case data:
		return true
	case mapping, table:
		return k == yaml.MappingNode
	case list:
		return k == yaml.SequenceNode
	case either:
		return slices.ContainsFunc(f.alts, func(a *form) bool { return a.takes(k) })
	}
	return k == yaml.ScalarNode
}

func (r *reader) list(f *form, n *yaml.Node, path string) *value {
	v := &value{node: n}
	for i, c := range n.Content {
		v.items = append(v.items, r.read(f.of, c, fmt.Sprintf("%s[%d]", path, i)))
	}
	if f.max != 0 && (len(v.items) < int(f.min) || len(v.items) > int(f.max)) {
		r.on(n, "%s: expected a list of %d to %d, got %d", path, f.min, f.max, len(v.items))
	}
	return v
}

// mapping reads the fields of a mapping or table. Fields that cannot be read are left out.
func (r *reader) mapping(f *form, n *yaml.Node, path string) *value {
	v := &value{node: n, fields: map[string]*value{}}
	nodes := map[string]*yaml.Node{} // first value of each key
	var missing []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind == yaml.ScalarNode && nodes[k.Value] == nil {
			nodes[k.Value] = n.Content[i+1]
		}
	}
	for _, x := range f.fields {
		if x.required && nodes[x.name] == nil {
			missing = append(missing, x.name)
		}
		if x.defines && x.required && nodes[x.name] == nil {
			r.incomplete = true
		}
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, c := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" || k.Style&yaml.TaggedStyle != 0 || k.Anchor != "" {
			r.on(k, "%s: expected a plain name as key, got %s", place(path), came(k))
			continue
		}
		if line := lines[k.Value]; line != 0 {
			r.on(k, "%s: the key %q comes twice, first in line %d: expected it once", place(path), short(k.Value), line)
			continue
		}
		lines[k.Value] = k.Line
		of, ok := r.fieldForm(f, k, nodes, path, &missing)
		if !ok {
			continue
		}
		here := r.read(of, c, join(path, k.Value))
		if slices.ContainsFunc(f.fields, func(x field) bool { return x.name == k.Value && x.defines }) &&
			(here == nil || slices.Contains(here.items, nil)) {
			r.incomplete = true
		}
		v.keys = append(v.keys, k)
		v.fields[k.Value] = here
	}
	for _, m := range missing {
		r.on(n, "%s: the field %q is missing", place(path), m)
	}
	if f.min > 0 && len(lines) == 0 {
		r.on(n, "%s: expected at least %d, got an empty mapping", place(path), f.min)
	} else if f.max != 0 && len(lines) > int(f.max) {
		r.on(n, "%s: expected at most %d, got %d", place(path), f.max, len(lines))
	}
	return v
}

// fieldForm returns the form of the value under key k of a mapping, false if there is nothing to read:
// the key is unknown, which is reported, or what it depends on is. A missing field of which k is a
// misspelling is struck from missing: one problem is enough.
func (r *reader) fieldForm(f *form, k *yaml.Node, nodes map[string]*yaml.Node, path string, missing *[]string) (*form, bool) {
	if f.kind == mapping && f.decides == k.Value {
		by := nodes[f.by]
		if by == nil || f.choices[by.Value] == nil {
			return nil, false
		}
		return f.choices[by.Value], true
	}
	known := f.keys
	for _, x := range f.fields {
		if x.name == k.Value {
			return x.form, true
		}
		known = append(known, x.name)
	}
	if f.of != nil && (len(f.keys) == 0 || slices.Contains(f.keys, k.Value)) {
		if f.match != nil && !f.match.expr.MatchString(k.Value) {
			r.on(k, "%s: %q is no key: expected %s", place(path), short(k.Value), f.match.says)
			return nil, false
		}
		return f.of, true
	}
	if k.Value == keyArgument || k.Value == referenceArgument {
		r.on(k, "%s: %s is the system's to fill: leave it out", place(path), k.Value)
		return nil, false
	}
	what := "field"
	if len(f.keys) > 0 {
		what = "name"
	}
	r.on(k, "%s: unknown %s %q: %s", place(path), what, short(k.Value), oneOf(k.Value, known))
	*missing = slices.DeleteFunc(*missing, func(m string) bool { return m == nearest(k.Value, known) })
	return nil, false
}

var (
	wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	looseTruth  = regexp.MustCompile(`^(?i:y|yes|n|no|on|off)$`)
)

func (r *reader) scalar(f *form, n *yaml.Node, path string) *value {
	quoted := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	v := &value{node: n}
	switch {
	case !quoted && looseTruth.MatchString(n.Value):
		write := fmt.Sprintf("write %q in quotes", n.Value)
		if f.kind == truth {
			write = "write true or false"
		}
		r.on(n, "%s: %s without quotes is true or false to other YAML readers: %s", path, n.Value, write)
		return nil
	case f.kind == text && n.Tag == "!!str":
		return r.text(f, v, path)
	case f.kind == scalar && n.Tag == "!!str":
		v.data = n.Value
		return v
	case f.kind == truth && n.Tag == "!!bool":
		v.data = strings.EqualFold(n.Value, "true")
		return v
	case (f.kind == number || f.kind == scalar) && (n.Tag == "!!int" || n.Tag == "!!float") && wholeNumber.MatchString(n.Value):
		i, err := strconv.ParseInt(n.Value, 10, 64)
		low, high := f.min, f.max
		if f.kind == scalar {
			low, high = -exact, exact
		}
		if err != nil || i < low || i > high {
			r.on(n, "%s: %s is out of range: expected a whole number from %d to %d", path, short(n.Value), low, high)
			return nil
		}
		v.data = i
		return v
	case (f.kind == number || f.kind == scalar) && n.Tag == "!!int":
		r.on(n, "%s: %s can be read in two ways: write a whole number in plain digits", path, short(n.Value))
		return nil
	case f.kind == scalar && n.Tag == "!!float":
		if x, err := strconv.ParseFloat(n.Value, 64); err == nil && x-x == 0 {
			v.data = x
			return v
		}
	}
	hint := ""
	if f.kind == text && !quoted && n.Tag != "!!null" && len(f.words) == 0 {
		hint = ": put it in quotes"
	}
	r.on(n, "%s: expected %s, got %s%s", path, f.expected(), came(n), hint)
	return nil
}

func (r *reader) text(f *form, v *value, path string) *value {
	n := v.node
	switch {
	case len(f.words) > 0 && !slices.Contains(f.words, n.Value):
		r.on(n, "%s: unknown %q: %s", path, short(n.Value), oneOf(n.Value, f.words))
		return nil
	case int64(utf8.RuneCountInString(n.Value)) < f.min:
		r.on(n, "%s: expected %s, got an empty text", path, f.expected())
		return nil
	case f.max != 0 && int64(utf8.RuneCountInString(n.Value)) > f.max:
		r.on(n, "%s: expected at most %d characters, got %d", path, f.max, utf8.RuneCountInString(n.Value))
		return nil
	case f.match != nil && !f.match.expr.MatchString(n.Value):
		r.on(n, "%s: expected %s, got %q", path, f.match.says, short(n.Value))
		return nil
	}
	v.data = n.Value
	return v
}

// came says what stands at a node, for messages.
func came(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "the alias *" + short(n.Value)
	}
	switch n.Tag {
	case "!!null":
		return "nothing"
	case "!!bool":
		return short(n.Value) + ", a boolean"
	case "!!int", "!!float":
		return short(n.Value) + ", a number"
	case "!!timestamp":
		return short(n.Value) + ", a date"
	case "!!merge":
		return "the merge key <<"
	}
	return fmt.Sprintf("the text %q", short(n.Value))
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func place(path string) string {
	if path == "" {
		return "workload"
	}
	return path
}

// get returns the field of that name, nil if there is none.
func (v *value) get(name string) *value {
	if v == nil {
		return nil
	}
	return v.fields[name]
}

// whole says that all of a place could be read.
func (v *value) whole() bool {
	if v == nil {
		return false
	}
	for _, x := range v.fields {
		if !x.whole() {
			return false
		}
	}
	return !slices.ContainsFunc(v.items, func(x *value) bool { return !x.whole() })
}

// list returns the elements; those that could not be read are nil.
func (v *value) list() []*value {
	if v == nil {
		return nil
	}
	return v.items
}

// names returns the keys of a mapping that were read, in the file's order.
func (v *value) names() []*yaml.Node {
	if v == nil {
		return nil
	}
	return v.keys
}

func (v *value) text() string {
	if v == nil {
		return ""
	}
	s, _ := v.data.(string)
	return s
}

func (v *value) truth() bool {
	if v == nil {
		return false
	}
	b, _ := v.data.(bool)
	return b
}

// number returns the number read, or otherwise if there is none.
func (v *value) number(otherwise int) int {
	if v == nil {
		return otherwise
	}
	if i, ok := v.data.(int64); ok {
		return int(i)
	}
	return otherwise
}

// plain returns the value as encoding/json would decode it, so that a stored workload reads back equal.
func (v *value) plain() any {
	switch {
	case v == nil:
		return nil
	case v.fields != nil:
		return v.plainMap()
	case v.node.Kind == yaml.SequenceNode:
		all := make([]any, 0, len(v.items))
		for _, x := range v.items {
			all = append(all, x.plain())
		}
		return all
	}
	if i, ok := v.data.(int64); ok {
		return float64(i)
	}
	return v.data
}

// plainMap returns the fields that could be read.
func (v *value) plainMap() map[string]any {
	if v == nil {
		return nil
	}
	all := map[string]any{}
	for name, x := range v.fields {
		if x != nil {
			all[name] = x.plain()
		}
	}
	return all
}
