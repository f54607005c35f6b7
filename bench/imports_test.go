package bench_test

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/sixthcopy/sixthcopy"

// siblings are the folders between bench and cmd. They import bench and never each other.
var siblings = []string{"fakeproviders", "faults", "oracles", "results", "systems", "workloads"}

// importers lists who may import a third-party module: in code, and in tests only. A module that is not
// here may be imported by nobody; adding one is a decision that shows in review.
var importers = map[string]struct{ code, tests []string }{
	"github.com/Shopify/toxiproxy/v2":          {code: []string{"faults"}},
	"github.com/mattn/go-sqlite3":              {code: []string{"fakeproviders", "oracles", "results"}},
	"github.com/modelcontextprotocol/go-sdk":   {code: []string{"fakeproviders", "systems"}, tests: []string{"cmd", "faults"}},
	"github.com/olekukonko/tablewriter":        {code: []string{"results"}},
	"github.com/rogpeppe/go-internal":          {tests: []string{"cmd", "systems"}},
	"github.com/rs/zerolog":                    {code: []string{"faults"}},
	"github.com/santhosh-tekuri/jsonschema/v6": {tests: []string{"cmd", "results", "workloads"}},
	"github.com/schollz/progressbar/v3":        {code: []string{"cmd"}},
	"github.com/spf13/cobra":                   {code: []string{"cmd"}},
	"golang.org/x/sys":                         {code: []string{"cmd", "fakeproviders", "faults", "systems"}},
	"gonum.org/v1/gonum":                       {code: []string{"results"}},
	"gopkg.in/yaml.v3":                         {code: []string{"results", "systems", "workloads"}, tests: []string{"bench", "cmd"}},
	"pgregory.net/rapid":                       {tests: []string{"bench", "fakeproviders", "faults", "oracles", "results", "systems", "workloads"}},
}

// source is one Go file of the module.
type source struct {
	path   string // below the module's root
	folder string // first element of path
	test   bool
	file   *ast.File
}

func sources(t *testing.T) []source {
	t.Helper()
	root := os.DirFS("..")
	var all []source
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" || name == "bin") {
				return fs.SkipDir
			}
			if _, err := fs.Stat(root, filepath.ToSlash(filepath.Join(path, "go.mod"))); err == nil && path != "." {
				return fs.SkipDir // a module of its own
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, _, _ := strings.Cut(path, "/")
		all = append(all, source{path, folder, strings.HasSuffix(path, "_test.go"), file})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("only %d Go files found", len(all))
	}
	return all
}

func TestWhoImportsWhom(t *testing.T) {
	for _, s := range sources(t) {
		for _, i := range s.file.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if wrong := whyNot(s.folder, s.test, path); wrong != "" {
				t.Errorf("%s imports %s: %s", s.path, path, wrong)
			}
		}
	}
}

// whyNot says why a file of a folder may not import path, "" if it may.
func whyNot(folder string, test bool, path string) string {
	if folder != "bench" && folder != "cmd" && !slices.Contains(siblings, folder) {
		return folder + " is no folder of the layout (README.md, where things live)"
	}
	if inner, ok := strings.CutPrefix(path, module+"/"); ok {
		of, _, _ := strings.Cut(inner, "/")
		switch {
		case of == folder || folder == "cmd" || of == "bench" && folder != "bench":
			return ""
		case folder == "bench" && test:
			return "" // bench_test may drive the whole
		case folder == "bench":
			return "bench imports the standard library only"
		}
		return "siblings do not import each other; shared words live in bench"
	}
	if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
		return "" // standard library
	}
	for m, may := range importers {
		if path != m && !strings.HasPrefix(path, m+"/") {
			continue
		}
		if slices.Contains(may.code, folder) || test && slices.Contains(may.tests, folder) {
			return ""
		}
		return "importers of " + m + " are " + strings.Join(may.code, ", ") + "; in tests also " + strings.Join(may.tests, ", ")
	}
	return "it has no named importer (bench/imports_test.go)"
}

// TestTheRuleBites plants the imports that the rule is there to refuse.
func TestTheRuleBites(t *testing.T) {
	for _, c := range []struct {
		folder string
		test   bool
		path   string
		ok     bool
	}{
		{"bench", false, "encoding/json", true},
		{"bench", false, "gopkg.in/yaml.v3", false},
		{"bench", true, "gopkg.in/yaml.v3", true},
		{"bench", false, module + "/faults", false},
		{"bench", true, module + "/faults", true},
		{"faults", false, module + "/bench", true},
		{"faults", false, module + "/faults/links", true},
		{"faults", false, module + "/oracles", false},
		{"faults", true, module + "/oracles", false},
		{"cmd", false, module + "/oracles", true},
		{"cmd", false, "github.com/mattn/go-sqlite3", false},
		{"results", false, "github.com/mattn/go-sqlite3", true},
		{"results", false, "github.com/santhosh-tekuri/jsonschema/v6", false},
		{"results", true, "github.com/santhosh-tekuri/jsonschema/v6", true},
		{"results", false, "gonum.org/v1/gonum/stat/distuv", true},
		{"cmd", false, "example.com/new", false},
		{"util", false, "encoding/json", false},
	} {
		if got := whyNot(c.folder, c.test, c.path) == ""; got != c.ok {
			t.Errorf("%s (test %v) imports %s: allowed %v, expected %v", c.folder, c.test, c.path, got, c.ok)
		}
	}
}

// TestLists keeps exported lists unique and explained, and sorted where their comment says so.
func TestLists(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, d := range s.file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				for i, name := range v.Names {
					if !name.IsExported() || i >= len(v.Values) {
						continue
					}
					list, ok := v.Values[i].(*ast.CompositeLit)
					if !ok {
						continue
					}
					if _, isSlice := list.Type.(*ast.ArrayType); isSlice {
						checkList(t, s.path+": "+name.Name, g.Doc.Text()+v.Doc.Text(), list)
					}
				}
			}
		}
	}
}

func checkList(t *testing.T, name, comment string, list *ast.CompositeLit) {
	t.Helper()
	var items []string
	for _, e := range list.Elts {
		var b bytes.Buffer
		if err := format.Node(&b, token.NewFileSet(), e); err != nil {
			t.Fatal(err)
		}
		items = append(items, b.String())
	}
	seen := map[string]bool{}
	for _, item := range items {
		if seen[item] {
			t.Errorf("%s lists %s twice", name, item)
		}
		seen[item] = true
	}
	if comment == "" {
		t.Errorf("%s has no comment: say what it lists and how to add one", name)
	}
	if strings.Contains(comment, "sorted") && !sort.StringsAreSorted(items) {
		t.Errorf("%s is not sorted, and its comment says so", name)
	}
}

// TestEveryPackageTellsItsStory wants a package comment in every package.
func TestEveryPackageTellsItsStory(t *testing.T) {
	told := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test {
			dir := filepath.Dir(s.path)
			told[dir] = told[dir] || s.file.Doc.Text() != ""
		}
	}
	for dir, ok := range told {
		if !ok {
			t.Errorf("package in %s has no package comment", dir)
		}
	}
}
