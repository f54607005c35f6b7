package workloads

import (
	"regexp"
	"strings"
	"testing"
)

var block = regexp.MustCompile("(?ms)^```(yaml|text)\n(.*?)^```$")

// Each YAML block of the documentation is a workload that can be read; one with a text block after it is a
// broken one with just these messages.
func TestDocumentation(t *testing.T) {
	blocks := block.FindAllStringSubmatch(string(read(t, "../docs/workloads.md")), -1)
	good, broken := 0, 0
	for i, b := range blocks {
		if b[1] != "yaml" {
			continue
		}
		_, err := Parse("file.yaml", []byte(b[2]), Known())
		if i+1 == len(blocks) || blocks[i+1][1] == "yaml" {
			good++
			if err != nil {
				t.Errorf("block %d: %v", i+1, err)
			}
			continue
		}
		broken++
		if got := err.Error() + "\n"; got != blocks[i+1][2] {
			t.Errorf("block %d: got\n%sthe text says\n%s", i+1, got, blocks[i+1][2])
		}
	}
	if good < 2 || broken < 1 {
		t.Errorf("%d good and %d broken blocks found, expected 2 and 1", good, broken)
	}
}

// Every field and every word of the format is explained.
func TestDocumentationIsComplete(t *testing.T) {
	text := string(read(t, "../docs/workloads.md"))
	seen := map[*form]bool{}
	var walk func(f *form)
	walk = func(f *form) {
		if f == nil || seen[f] {
			return
		}
		seen[f] = true
		said := f.names()
		if len(f.words) < 9 { // longer lists are the catalogue's
			said = append(said, f.words...)
		}
		for _, word := range said {
			if !strings.Contains(text, "`"+word) {
				t.Errorf("docs/workloads.md does not explain `%s`", word)
			}
		}
		for _, x := range f.fields {
			walk(x.form)
		}
		for _, a := range f.alts {
			walk(a)
		}
		walk(f.of)
	}
	cat := Known()
	cat.Providers, cat.Contracts, cat.Tools = map[string]Provider{}, map[string]string{}, map[string]Tool{}
	walk(fileForm(cat))
}
