package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one line of `go test -json` (go doc test2json), build events included.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build events
	Test       string
	Output     string
	Elapsed    float64
}

// result is what became of a run of tests.
type result struct {
	Commit  string   `json:"commit"`
	Dirty   bool     `json:"dirty"`
	Started string   `json:"started"`
	Seconds float64  `json:"seconds"`
	Passed  int      `json:"passed"`
	Failed  []string `json:"failed"`
	Skipped []string `json:"skipped"` // "package.Test: reason"
}

// read follows the events and prints what a reader wants at once: a line for each finished package, and
// the output of whatever failed.
func read(in io.Reader, out io.Writer) (*result, error) {
	r := &result{Failed: []string{}, Skipped: []string{}}
	output := map[string][]string{} // by package and test
	failedTests := map[string]int{} // by package
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprintf(out, "%s\n", bytes.TrimRight(line, "\n")) // what go says beside the events
			} else {
				r.take(e, output, failedTests, out)
			}
		}
		if err == io.EOF {
			return r, nil
		}
		if err != nil {
			return r, err
		}
	}
}

func (r *result) take(e event, output map[string][]string, failedTests map[string]int, out io.Writer) {
	name := e.Package + e.ImportPath
	if e.Test != "" {
		name += "." + e.Test
	}
	switch e.Action {
	case "output", "build-output":
		output[name] = append(output[name], e.Output)
		return
	case "build-fail":
		r.Failed = append(r.Failed, name+" (does not build)")
		failedTests[strings.Fields(name)[0]]++
	case "pass":
		if e.Test != "" {
			r.Passed++
		} else {
			fmt.Fprintf(out, "ok    %s  %.1f s\n", name, e.Elapsed)
		}
	case "skip":
		if e.Test != "" {
			r.Skipped = append(r.Skipped, name+": "+reason(output[name]))
		}
	case "fail":
		switch {
		case e.Test != "":
			r.Failed = append(r.Failed, name)
			failedTests[e.Package]++
		case failedTests[name] == 0: // no test of it failed: it does not build, or a test ended the process
			r.Failed = append(r.Failed, name+" (the package itself)")
		}
	default:
		return
	}
	if e.Action == "fail" || e.Action == "build-fail" {
		fmt.Fprintf(out, "FAIL  %s\n", name)
		for _, o := range output[name] {
			fmt.Fprint(out, "      "+o)
		}
	}
	delete(output, name)
}

// reason is what a test said when it skipped itself: its output without the frame that go prints.
func reason(output []string) string {
	var said []string
	for _, o := range output {
		o = strings.TrimSpace(o)
		if o == "" || strings.HasPrefix(o, "=== ") || strings.HasPrefix(o, "--- ") {
			continue
		}
		if place, text, found := strings.Cut(o, ": "); found && strings.Contains(place, ".go:") {
			o = text
		}
		said = append(said, o)
	}
	if len(said) == 0 {
		return "no reason given"
	}
	return strings.Join(said, "; ")
}

// print writes the closing list and says whether all is well. Nothing ran is not well.
func (r *result) print(out io.Writer, noSkip bool) bool {
	slices.Sort(r.Failed)
	slices.Sort(r.Skipped)
	fmt.Fprintln(out)
	for _, name := range r.Failed {
		fmt.Fprintf(out, "failed   %s\n", name)
	}
	for _, name := range r.Skipped {
		fmt.Fprintf(out, "skipped  %s\n", name)
	}
	if noSkip && len(r.Skipped) > 0 {
		fmt.Fprintln(out, "skipping is forbidden here (SIXTHCOPY_NO_SKIP)")
	}
	if r.Passed+len(r.Failed)+len(r.Skipped) == 0 {
		fmt.Fprintln(out, "no test ran")
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", r.Passed, len(r.Failed), len(r.Skipped))
	return len(r.Failed) == 0 && r.Passed > 0 && !(noSkip && len(r.Skipped) > 0)
}
