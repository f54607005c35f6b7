package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const events = `{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestGood"}
{"Action":"pass","Package":"m/a","Test":"TestGood","Elapsed":0.1}
{"Action":"output","Package":"m/a","Test":"TestDocker","Output":"=== RUN   TestDocker\n"}
{"Action":"output","Package":"m/a","Test":"TestDocker","Output":"    a_test.go:7: no container engine: set one up\n"}
{"Action":"output","Package":"m/a","Test":"TestDocker","Output":"--- SKIP: TestDocker (0.00s)\n"}
{"Action":"skip","Package":"m/a","Test":"TestDocker"}
{"Action":"pass","Package":"m/a","Elapsed":0.2}
{"Action":"skip","Package":"m/no-tests"}
`

const failing = `{"Action":"output","Package":"m/b","Test":"TestBad","Output":"    b_test.go:1: 2 copies, expected 1\n"}
{"Action":"fail","Package":"m/b","Test":"TestBad"}
{"Action":"fail","Package":"m/b"}
`

func TestClosing(t *testing.T) {
	for _, c := range []struct {
		name, in string
		args     []string
		want     int
		says     []string
	}{
		{"a skip is named", events, nil, 0, []string{"ok    m/a  0.2 s\n", "\nskipped  m/a.TestDocker: no container engine: set one up\n1 passed, 0 failed, 1 skipped\n"}},
		{"a skip is forbidden", events, []string{"-no-skip"}, 1, []string{"skipping is forbidden here"}},
		{"a failure", events + failing, nil, 1, []string{"FAIL  m/b.TestBad\n          b_test.go:1: 2 copies, expected 1\n", "failed   m/b.TestBad\n", "1 passed, 1 failed, 1 skipped\n"}},
		{"a process that ended", events + `{"Action":"output","Package":"m/c","Output":"panic: boom\n"}` + "\n" + `{"Action":"fail","Package":"m/c"}` + "\n", nil, 1,
			[]string{"FAIL  m/c\n      panic: boom\n", "failed   m/c (the package itself)\n"}},
		{"what does not build", events + `{"ImportPath":"m/d [m/d.test]","Action":"build-output","Output":"d.go:1: undefined: x\n"}` + "\n" +
			`{"ImportPath":"m/d [m/d.test]","Action":"build-fail"}` + "\n" + `{"Action":"fail","Package":"m/d"}` + "\n", nil, 1,
			[]string{"d.go:1: undefined: x\n", "failed   m/d [m/d.test] (does not build)\n", "1 passed, 1 failed, 1 skipped\n"}},
		{"nothing", "", nil, 1, []string{"no test ran\n0 passed, 0 failed, 0 skipped\n"}},
		{"words beside the events", "go: downloading x\n" + events, nil, 0, []string{"go: downloading x\n"}},
		{"a flag that is none", "", []string{"-what"}, 2, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			if got := closing(c.args, strings.NewReader(c.in), &out); got != c.want {
				t.Errorf("exit status %d, expected %d", got, c.want)
			}
			for _, s := range c.says {
				if !strings.Contains(out.String(), s) {
					t.Errorf("it does not say %q:\n%s", s, out.String())
				}
			}
		})
	}
}

// TestDeepResultsGrowStale makes a repository, stores a result in it and changes code.
func TestDeepResultsGrowStale(t *testing.T) {
	t.Chdir(t.TempDir())
	do := func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"}, args...)
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want string) {
		t.Helper()
		if got := staleness("deep"); !strings.Contains(got, want) {
			t.Errorf("staleness %q, expected %q in it", got, want)
		}
	}
	do("init", "-q")
	write("a.go", "package a\n")
	do("add", ".")
	do("commit", "-qm", "one")
	expect("never run")
	if got := closing([]string{"-record", "deep"}, strings.NewReader(events), &bytes.Buffer{}); got != 0 {
		t.Fatalf("exit status %d", got)
	}
	expect("has not changed")
	write("a.md", "words\n")
	do("add", ".")
	do("commit", "-qm", "words and the result")
	expect("has not changed")
	write("a.go", "package a // changed\n")
	do("commit", "-qam", "code")
	expect("STALE: 1 commits")
	write("a.go", "package a // not committed\n")
	files, err := filepath.Glob("deep/*.json")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	closing([]string{"-record", "deep"}, strings.NewReader(events), &bytes.Buffer{})
	expect("STALE: it ran on changes")
	body, err := os.ReadFile(must(filepath.Glob("deep/*.json"))[0])
	if err != nil {
		t.Fatal(err)
	}
	var r result
	if err := json.Unmarshal(body, &r); err != nil || r.Passed != 1 || len(r.Skipped) != 1 || !r.Dirty {
		t.Errorf("stored %+v, %v", r, err)
	}
}

func must(files []string, err error) []string {
	if err != nil {
		panic(err)
	}
	return files
}
