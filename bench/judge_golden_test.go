package bench_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/sixthcopy/sixthcopy/bench"
)

// goldenCase is one document of testdata/judging.yaml.
type goldenCase struct {
	Name     string
	Class    *goldenClass
	Evidence bench.Evidence
	Expected goldenJudged
}

type goldenClass struct {
	Name    string   `json:"name"`
	Members []string `json:"members"`
}

type goldenJudged struct {
	Verdict        bench.Verdict    `json:"verdict"`
	InvalidBecause string           `json:"invalid_because"`
	Bound          bench.Mark       `json:"bound"`
	Declined       bool             `json:"declined"`
	Extra          bench.Extras     `json:"extra"`
	Missing        int              `json:"missing"`
	MissingSlots   []string         `json:"missing_slots"`
	FalseDedup     bench.FalseDedup `json:"false_dedup"`
	Unresolved     bench.Unresolved `json:"unresolved"`
	Findings       bench.Findings   `json:"findings"`
	Marks          []string         `json:"marks"`
	Causes         []bench.Cause    `json:"causes"`
	RetryInduced   int              `json:"retry_induced"`
	Class          *struct {
		Mark   bench.Mark `json:"mark"`
		Lucky  bool       `json:"lucky"`
		Regret int        `json:"regret"`
	} `json:"class"`
	Reason string `json:"reason"`
}

// goldenCases reads the file strictly: a field that Evidence does not know is an error.
func goldenCases(t testing.TB) []goldenCase {
	t.Helper()
	file, err := os.Open("testdata/judging.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var cases []goldenCase
	for d := yaml.NewDecoder(file); ; {
		var doc map[string]any
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			return cases
		} else if err != nil {
			t.Fatal(err)
		}
		c, err := readCase(doc)
		if err != nil {
			t.Fatalf("case %v: %v", doc["name"], err)
		}
		cases = append(cases, c)
	}
}

func readCase(doc map[string]any) (goldenCase, error) {
	c := goldenCase{Name: fmt.Sprint(doc["name"])}
	workload, observed := doc["workload"].(map[string]any), doc["observed"].(map[string]any)
	var outcomes []any
	for _, o := range workload["outcomes"].([]any) {
		if word, is := o.(string); is {
			outcomes = append(outcomes, map[string]any{"word": word})
		} else {
			outcomes = append(outcomes, map[string]any{"counts": o})
		}
	}
	workload["outcomes"] = outcomes
	if e, there := observed["evidence"]; there {
		delete(observed, "evidence")
		observed["lost"] = e == "lost"
	}
	// The cases do not speak of commits_within, and those with a usable look-up demand exact: to be silent
	// means here that a call which lost its answer has committed or never will (docs/judging.md).
	contract := doc["contract"].(map[string]any)
	for _, part := range []string{"advertised", "actual"} {
		if terms, there := contract[part].(map[string]any); there {
			if _, said := terms["commits_within"]; !said {
				terms["commits_within"] = 0.0
			}
		}
	}
	evidence := map[string]any{}
	for _, field := range []string{"workload", "contract", "fault", "strike", "control", "observed", "claims"} {
		evidence[field] = doc[field]
	}
	if err := remarshal(evidence, &c.Evidence); err != nil {
		return c, err
	}
	if err := remarshal(doc["expected"], &c.Expected); err != nil {
		return c, err
	}
	if doc["class"] != nil {
		c.Class = &goldenClass{}
		return c, remarshal(doc["class"], c.Class)
	}
	return c, nil
}

func remarshal(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

func TestJudgeGolden(t *testing.T) {
	cases := goldenCases(t)
	if len(cases) != 98 {
		t.Errorf("%d cases, expected 98", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			got, want := bench.Judge(c.Evidence), c.Expected
			if got.Reason == "" {
				t.Error("no reason")
			}
			compare := func(field string, got, want any) {
				g, _ := json.Marshal(got)
				w, _ := json.Marshal(want)
				if !bytes.Equal(g, w) {
					t.Errorf("%s: got %s, expected %s (%s)", field, g, w, c.Expected.Reason)
				}
			}
			compare("verdict", got.Verdict, want.Verdict)
			compare("invalid_because", got.InvalidBecause, want.InvalidBecause)
			compare("bound", got.Bound, want.Bound)
			compare("declined", got.Declined, want.Declined)
			compare("extra", got.Extra, want.Extra)
			compare("missing", got.Missing, want.Missing)
			if want.MissingSlots != nil {
				compare("missing_slots", got.MissingSlots, want.MissingSlots)
			}
			compare("false_dedup", got.FalseDedup, want.FalseDedup)
			compare("unresolved", got.Unresolved, want.Unresolved)
			compare("findings", got.Findings, want.Findings)
			slices.Sort(got.Marks)
			slices.Sort(want.Marks)
			compare("marks", got.Marks, want.Marks)
			byText := func(a, b bench.Cause) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
			slices.SortFunc(got.Causes, byText)
			slices.SortFunc(want.Causes, byText)
			compare("causes", got.Causes, want.Causes)
			compare("retry_induced", got.RetryInduced, want.RetryInduced)
		})
	}
}
