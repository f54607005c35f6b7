package systems

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Problem is one thing that is wrong in a file, at a place.
type Problem struct {
	File         string
	Line, Column int // from 1
	Text         string
}

func (p Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Text)
}

// Problems are all things that are wrong.
type Problems struct{ List []Problem }

func (p *Problems) Error() string {
	var lines []string
	for _, problem := range p.List {
		lines = append(lines, problem.String())
	}
	return strings.Join(lines, "\n")
}

func (p *Problems) add(file string, line, column int, text string) {
	p.List = append(p.List, Problem{File: file, Line: line, Column: column, Text: text})
}

func (p *Problems) sort() {
	slices.SortStableFunc(p.List, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// reader reads a YAML tree strictly and goes on after a problem.
type reader struct {
	Problems
	file string
}

func (r *reader) fail(n *yaml.Node, text string) { r.add(r.file, n.Line, n.Column, text) }

// document returns the root of the only document, nil if there is none.
func (r *reader) document(text []byte) *yaml.Node {
	if !utf8.Valid(text) {
		r.add(r.file, 1, 1, "the file is not UTF-8 text")
		return nil
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		r.add(r.file, 1, 1, "the file is empty, expected a manifest")
		return nil
	case err != nil:
		r.syntax(err)
		return nil
	}
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			r.syntax(err)
		} else {
			r.fail(&second, "a second document, expected one")
		}
		return nil
	}
	return doc.Content[0]
}

// yamlLine finds the line in an error text of the YAML library, which offers it in no other way.
var yamlLine = regexp.MustCompile(`^yaml: line (\d+): (.*)$`)

func (r *reader) syntax(err error) {
	line, text := 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = m[2]
	}
	r.add(r.file, line, 1, "not YAML: "+text)
}

// pairs calls each for the pairs of a mapping.
func (r *reader) pairs(n *yaml.Node, what string, each func(key, value *yaml.Node)) {
	if !r.is(n, yaml.MappingNode, what) {
		return
	}
	seen := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if line, twice := seen[key.Value]; twice {
			r.fail(key, fmt.Sprintf("field %q stands twice, first in line %d", key.Value, line))
			continue
		}
		seen[key.Value] = key.Line
		each(key, value)
	}
}

// mapping reads the fields of a mapping.
func (r *reader) mapping(n *yaml.Node, what string, required []string, fields map[string]func(*yaml.Node)) {
	given := map[string]bool{}
	r.pairs(n, what, func(key, value *yaml.Node) {
		read, known := fields[key.Value]
		if !known {
			names := sortedKeys(fields)
			r.fail(key, fmt.Sprintf("unknown field %q in %s%s; expected one of %s", key.Value, what, meant(key.Value, names), strings.Join(names, ", ")))
			return
		}
		given[key.Value] = true
		read(value)
	})
	for _, name := range required {
		if n.Kind == yaml.MappingNode && !given[name] {
			r.fail(n, fmt.Sprintf("%s has no %q", what, name))
		}
	}
}

// sequence calls each for the items of a list, which has one at least.
func (r *reader) sequence(n *yaml.Node, what string, each func(*yaml.Node)) {
	if !r.is(n, yaml.SequenceNode, what) {
		return
	}
	if len(n.Content) == 0 {
		r.fail(n, what+" is an empty list, expected at least one item")
	}
	for _, item := range n.Content {
		each(item)
	}
}

// is checks the kind of a node.
func (r *reader) is(n *yaml.Node, kind yaml.Kind, what string) bool {
	if n.Kind == kind {
		return true
	}
	names := map[yaml.Kind]string{yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list", yaml.ScalarNode: "text"}
	r.fail(n, fmt.Sprintf("%s is %s, expected %s", what, shape(n), names[kind]))
	return false
}

// shape names what a node is.
func shape(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.AliasNode:
		return "an alias (they are not read)"
	case n.Tag == "!!null":
		return "empty"
	case n.Tag == "!!bool":
		return fmt.Sprintf("the truth value %s (quote it to make it text)", n.Value)
	case n.Tag == "!!int", n.Tag == "!!float":
		return fmt.Sprintf("the number %s (quote it to make it text)", n.Value)
	}
	return fmt.Sprintf("%q", n.Value)
}

// text reads text that is not empty.
func (r *reader) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		r.fail(n, fmt.Sprintf("%s is %s, expected text", what, shape(n)))
		return ""
	}
	if n.Value == "" {
		r.fail(n, what+" is empty, expected text")
	}
	return n.Value
}

var namePattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// name reads a name for the command line.
func (r *reader) name(n *yaml.Node, what string) string {
	name := r.text(n, what)
	if name != "" && !namePattern.MatchString(name) {
		r.fail(n, fmt.Sprintf("%s is %q, expected lower-case letters, digits and single hyphens", what, name))
	}
	return name
}

// word reads one of the known words.
func (r *reader) word(n *yaml.Node, what string, known []string) string {
	word := r.text(n, what)
	if word == "" || slices.Contains(known, word) {
		return word
	}
	r.fail(n, fmt.Sprintf("%s is %q%s; expected one of %s", what, word, meant(word, known), strings.Join(known, ", ")))
	return ""
}

// words reads a list of known words, each once.
func (r *reader) words(n *yaml.Node, what string, known []string) []string {
	var all []string
	r.sequence(n, what, func(item *yaml.Node) {
		word := r.word(item, "an item of "+what, known)
		if word != "" && slices.Contains(all, word) {
			r.fail(item, fmt.Sprintf("%s has %q twice", what, word))
		}
		all = append(all, word)
	})
	return all
}

// items reads a list of names that the harness checks where it knows them, each once.
func (r *reader) items(n *yaml.Node, what string) []string {
	var all []string
	r.sequence(n, what, func(item *yaml.Node) {
		word := r.text(item, "an item of "+what)
		if word != "" && slices.Contains(all, word) {
			r.fail(item, fmt.Sprintf("%s has %q twice", what, word))
		}
		all = append(all, word)
	})
	return all
}

// command reads a program and its arguments.
func (r *reader) command(n *yaml.Node, what string) []string {
	var all []string
	r.sequence(n, what, func(item *yaml.Node) { all = append(all, r.text(item, "an item of "+what)) })
	return all
}

// texts reads a mapping of text to text.
func (r *reader) texts(n *yaml.Node, what string) map[string]string {
	all := map[string]string{}
	r.pairs(n, what, func(key, value *yaml.Node) { all[key.Value] = r.text(value, what+" of "+key.Value) })
	return all
}

// flag reads true or false.
func (r *reader) flag(n *yaml.Node, what string) bool {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		r.fail(n, fmt.Sprintf("%s is %s, expected true or false", what, shape(n)))
	}
	return n.Value == "true"
}

// number reads a whole number.
func (r *reader) number(n *yaml.Node, what string, low, high int) int {
	value, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || err != nil || value < low || value > high {
		r.fail(n, fmt.Sprintf("%s is %s, expected a whole number from %d to %d", what, strings.TrimSuffix(shape(n), " (quote it to make it text)"), low, high))
		return 0
	}
	return value
}
