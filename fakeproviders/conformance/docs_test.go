package conformance

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is seen into docs/conformance.md instead of comparing it")

const page = "../../docs/conformance.md"

// section compares what stands between the marks of a name in the page with text, or writes it there.
func section(t *testing.T, name, text string) {
	t.Helper()
	whole, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	open, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, ok := strings.Cut(string(whole), open)
	there, after, closed := strings.Cut(rest, end)
	switch {
	case !ok || !closed:
		t.Fatalf("%s has no %q ... %q", page, strings.TrimSpace(open), strings.TrimSpace(end))
	case there == text:
	case *update:
		if err := os.WriteFile(page, []byte(before+open+text+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("docs/conformance.md says otherwise than what is seen (go test ./fakeproviders/conformance -update writes it):\n%s", difference(there, text))
	}
}

// difference shows the lines that two texts do not share.
func difference(old, new string) string {
	was, is := strings.Split(old, "\n"), strings.Split(new, "\n")
	var b strings.Builder
	for _, l := range was {
		if !slices.Contains(is, l) {
			fmt.Fprintln(&b, "-", l)
		}
	}
	for _, l := range is {
		if !slices.Contains(was, l) {
			fmt.Fprintln(&b, "+", l)
		}
	}
	return b.String()
}

// installedVersions asks each client for the version of its package, and checks that it is the pinned one.
func installedVersions(kids *children) (map[string]string, error) {
	versions := map[string]string{}
	for _, c := range clients {
		kid, err := kids.of(c.language)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		r, err := kid.carryOut(ctx, order{Client: c.name, Family: c.family, Op: "version", Args: map[string]any{"package": c.pkg}})
		cancel()
		if err != nil {
			return nil, err
		}
		version, ok := r.OK.(string)
		if !ok {
			return nil, fmt.Errorf("version of %s: %v", c.name, r)
		}
		if c.pkg == "net/http" { // the standard library is of no manifest, and of many versions
			versions[c.name] = "Go's own"
			continue
		}
		if !pinned(c, version) {
			return nil, fmt.Errorf("%s is installed as %s; the manifest of %s pins another: run make clients", c.name, version, c.language)
		}
		versions[c.name] = strings.TrimPrefix(version, "v")
	}
	return versions, nil
}

// pinned says whether a manifest of the client's language has this version of its package.
func pinned(c client, version string) bool {
	for _, pattern := range environments[c.language] {
		files, _ := filepath.Glob(filepath.Join("clients", pattern)) // the patterns are ours
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err == nil && slices.ContainsFunc([]string{
				"\n" + c.pkg + "==" + version + "\n", `"` + c.pkg + `": "` + version + `"`, c.pkg + " " + version + "\n",
			}, func(line string) bool { return strings.Contains("\n"+string(text), line) }) {
				return true
			}
		}
	}
	return false
}

// table renders what is expected and what is seen, a table for each contract.
func table(all []scenario, outcomes []outcome, versions map[string]string) string {
	var names []string
	for _, s := range all {
		if !slices.Contains(names, s.contract) {
			names = append(names, s.contract)
		}
	}
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "\n### %s\n\n| what happens | SDK | version | expected | seen |\n|---|---|---|---|---|\n", name)
		var rows []int
		for i, s := range all {
			if s.contract == name {
				rows = append(rows, i)
			}
		}
		slices.SortStableFunc(rows, func(i, j int) int { return cmp.Compare(first(all, all[i].name), first(all, all[j].name)) })
		for _, i := range rows {
			s, seen := all[i], "as expected"
			if s.here != "" {
				seen = outcomes[i].seen + ": " + s.why
			}
			if err := s.wrong(outcomes[i]); err != nil {
				seen = "WRONG: " + err.Error()
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", cell(s.name), s.client, versions[s.client], cell(s.expected), cell(seen))
		}
	}
	return b.String() + "\n"
}

// first is the place of the first scenario of a name.
func first(all []scenario, name string) int {
	return slices.IndexFunc(all, func(s scenario) bool { return s.name == name })
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
