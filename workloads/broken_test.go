package workloads

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
)

var update = flag.Bool("update", false, "write the messages of testdata/broken anew")

// Files are named for what finds them: text-* the YAML reader, shape-* the form of the file (so the JSON
// Schema refuses them too), sense-* the checks between places.
func TestBrokenFiles(t *testing.T) {
	files := glob(t, "testdata/broken/*.yaml")
	if len(files) < 40 {
		t.Fatalf("%d broken files, expected at least 40", len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data := read(t, file)
			_, err := Parse(filepath.Base(file), data, Known())
			var problems *Problems
			if !errors.As(err, &problems) {
				t.Fatalf("got %v, expected problems", err)
			}
			wantFile := strings.TrimSuffix(file, ".yaml") + ".want"
			got := err.Error() + "\n"
			if *update {
				if err := os.WriteFile(wantFile, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(read(t, wantFile)); got != want {
				t.Errorf("got\n%swant\n%s(-update writes them anew)", got, want)
			}
		})
	}
}

// The schema refuses every file whose form is wrong, and takes the suite and the files that are wrong in
// sense only: it is printed from the form by which the loader reads.
func TestSchema(t *testing.T) {
	schema := compile(t, Schema(Known()))
	for _, file := range append(glob(t, "*.yaml"), glob(t, "testdata/broken/s*.yaml")...) {
		var content any
		if err := yaml.Unmarshal(read(t, file), &content); err != nil {
			t.Fatal(err)
		}
		err := schema.Validate(asJSON(t, content))
		if wrong := strings.HasPrefix(filepath.Base(file), "shape-"); wrong != (err != nil) {
			t.Errorf("%s: refused %t, expected %t: %v", file, err != nil, wrong, err)
		}
	}
}

func compile(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft4) // the file itself must say that it is 2020-12
	if err := c.AddResource("workload.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("workload.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON returns the value as encoding/json decodes it.
func asJSON(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return files
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
