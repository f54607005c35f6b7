package main

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
)

// dimensions are the columns of docs/contracts.md.
var dimensions = []struct {
	name string
	cell func(bench.Terms) string
}{
	{"key", func(t bench.Terms) string {
		k := t.Key
		return clauses(code(k.Location), k.Syntax, when(k.MaxLength > 0, fmt.Sprintf("at most %d", k.MaxLength)), when(k.Required, "required"), when(k.FromContent, "without one a digest of the content"))
	}},
	{"unique in", func(t bench.Terms) string { return t.Key.Scope }},
	{"kept for", func(t bench.Terms) string {
		k := t.Key
		return clauses(hours(k.Retention), when(k.ClockStart != "", "from "+k.ClockStart), when(k.AfterEnd > 0, hours(k.AfterEnd)+" past the end"),
			when(k.FailedFor > 0, "failures "+hours(k.FailedFor)), when(k.ClaimFor > 0, "claims "+hours(k.ClaimFor)), when(k.LatestOnly, "the latest key only"))
	}},
	{"bound to, else", func(t bench.Terms) string {
		k := t.Key
		return clauses(k.Fingerprint, when(len(k.Ignores) > 0, "without "+strings.Join(k.Ignores, " ")), when(k.Mismatch != "", "else "+k.Mismatch))
	}},
	{"while in work", func(t bench.Terms) string {
		return clauses(t.Key.Concurrent, when(t.Key.InFlight != "", t.Key.InFlight+" note"))
	}},
	{"failures", func(t bench.Terms) string {
		return clauses(t.Key.Saves, when(t.Key.ForgetsOnError, "an error drops the record"))
	}},
	{"replay, marker", func(t bench.Terms) string { return clauses(t.Key.Replay, code(t.Key.Marker)) }},
	{"look-up", func(t bench.Terms) string {
		l := t.LookUp
		return clauses(l.Kind, when(l.By != "", "by "+l.By), when(l.Lag > 0, "lag "+hours(l.Lag)), when(l.LagReads > 0, fmt.Sprintf("not by the first %d", l.LagReads)),
			when(l.Forgets > 0, "forgets after "+hours(l.Forgets)))
	}},
	{"natural", func(t bench.Terms) string {
		var all []string
		for class, attrs := range t.Unique {
			all = append(all, class+" unique by "+strings.Join(attrs, ", "))
		}
		sort.Strings(all)
		return clauses(append(all, when(t.UniqueLag > 0, "not against one younger than "+hours(t.UniqueLag)), when(t.NaturallyIdempotent, "idempotent"))...)
	}},
	{"commits within", func(t bench.Terms) string {
		if t.CommitsWithin == nil {
			return ""
		}
		return hours(*t.CommitsWithin)
	}},
	{"objects", func(t bench.Terms) string {
		return clauses(when(t.Closes > 0, "end after "+hours(t.Closes)), when(t.Capacity > 0, fmt.Sprintf("room for %d", t.Capacity)))
	}},
}

func clauses(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), ", ")
}

func when(is bool, s string) string {
	if !is {
		return ""
	}
	return s
}

func code(s string) string { return when(s != "", "`"+s+"`") }

// hours writes a duration in its largest whole unit.
func hours(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d%(24*time.Hour) == 0 && d > 24*time.Hour:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return d.String()
}

// rowOf is a contract's terms, a cell for each dimension that the section shows; other is compared with: equal
// cells are empty.
func rowOf(name string, shown []int, t bench.Terms, other *bench.Terms) string {
	var cells []string
	for _, i := range shown {
		c := dimensions[i].cell(t)
		switch {
		case other != nil && c == dimensions[i].cell(*other):
			c = ""
		case other != nil && c == "":
			c = "none"
		}
		cells = append(cells, c)
	}
	return "| " + name + " | " + strings.Join(cells, " | ") + " |\n"
}

func contractsDocument() string {
	var out strings.Builder
	out.WriteString(`# What providers promise, dimension by dimension

Made from the contract data in fakeproviders/contracts by ` + "`go test ./cmd/sixthcopy -run TestContractsDocument -update`" + `. A row is a
contract as it is advertised; a row "does" under it says where what is done differs. What the words mean is said by the fields of
Terms in [bench/contract.go](../bench/contract.go); an empty cell is "not there". Columns that no contract of a provider fills are left out.
What the official clients see of it: [conformance](conformance.md). The wire of each provider: [providers](providers.md).
`)
	for _, k := range fakeproviders.All {
		fmt.Fprintf(&out, "\n## %s\n\n%s.\n", k.Name(), strings.ToUpper(k.Summary()[:1])+strings.TrimSuffix(k.Summary()[1:], "."))
		var own []bench.Contract
		for _, c := range contracts.All {
			if c.Provider == k.Name() {
				own = append(own, c)
			}
		}
		var shown []int
		head, line := "\n| contract |", "|---|"
		for i, d := range dimensions {
			if slices.ContainsFunc(own, func(c bench.Contract) bool { return d.cell(c.Advertised) != "" || d.cell(c.Actual) != "" }) {
				shown = append(shown, i)
				head, line = head+" "+d.name+" |", line+"---|"
			}
		}
		if len(shown) > 0 {
			out.WriteString(head + "\n" + line + "\n")
		}
		for _, c := range own {
			if len(shown) == 0 {
				break
			}
			out.WriteString(rowOf("`"+c.Name+"`", shown, c.Advertised, nil))
			if !reflect.DeepEqual(c.Advertised, c.Actual) {
				out.WriteString(rowOf("does", shown, c.Actual, &c.Advertised))
			}
		}
		out.WriteString("\n")
		for _, c := range own {
			fmt.Fprintf(&out, "- `%s`: %s Source: %s.\n", c.Name, c.Summary, strings.TrimSuffix(c.Source, "."))
		}
	}
	return out.String()
}

// TestContractsDocument keeps docs/contracts.md what the data says.
func TestContractsDocument(t *testing.T) {
	same(t, filepath.Join("..", "..", "docs", "contracts.md"), contractsDocument())
}

// TestContractsDocumentShowsEveryDimension changes one field of the terms after another: each must show in a cell.
func TestContractsDocumentShowsEveryDimension(t *testing.T) {
	row := func(terms bench.Terms) string {
		var all []int
		for i := range dimensions {
			all = append(all, i)
		}
		return rowOf("c", all, terms, nil)
	}
	var walk func(path string, field func(*bench.Terms) reflect.Value)
	walk = func(path string, field func(*bench.Terms) reflect.Value) {
		var changed bench.Terms
		v := field(&changed)
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				walk(path+"."+v.Type().Field(i).Name, func(t *bench.Terms) reflect.Value { return field(t).Field(i) })
			}
			return
		case reflect.String:
			v.SetString("x")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int, reflect.Int64:
			v.SetInt(int64(time.Hour))
		case reflect.Map:
			v.Set(reflect.ValueOf(map[string][]string{"class": {"attribute"}}))
		case reflect.Slice:
			v.Set(reflect.ValueOf([]string{"x"}))
		case reflect.Pointer:
			hour := time.Hour
			v.Set(reflect.ValueOf(&hour))
		default:
			t.Fatalf("%s: a field of kind %s: say here how it is changed", path, v.Kind())
		}
		if row(changed) == row(bench.Terms{}) {
			t.Errorf("%s: a change does not show in docs/contracts.md: give it a place in dimensions", path)
		}
	}
	walk("Terms", func(t *bench.Terms) reflect.Value { return reflect.ValueOf(t).Elem() })
}
