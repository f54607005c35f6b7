package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// block is a fenced block of a page: a file, or commands each with what the page shows of its output.
type block struct {
	line     int
	file     string // empty: commands
	text     string
	commands []shown
}

type shown struct {
	line    int
	command string
	output  []string // "..." stands for any lines
}

// section is a heading of a page with its blocks.
type section struct {
	name   string
	blocks []block
}

// sectionsOf reads a page. A block that follows a line such as "`a/b.py`:" is that file, one that begins with
// "$ " is of commands, and any other is wrong.
func sectionsOf(t *testing.T, page string) []section {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var all []section
	lines := strings.Split(string(text), "\n")
	before := ""
	for i := 0; i < len(lines); i++ {
		if name, is := strings.CutPrefix(lines[i], "## "); is {
			all = append(all, section{name: name})
		}
		if !strings.HasPrefix(lines[i], "```") {
			if lines[i] != "" {
				before = lines[i]
			}
			continue
		}
		b := block{line: i + 1}
		begin := i + 1
		for i++; i < len(lines) && lines[i] != "```"; i++ {
		}
		body := lines[begin:i]
		switch name, named := strings.CutSuffix(before, "`:"); {
		case len(all) == 0 || len(body) == 0:
			t.Fatalf("%s:%d: a block outside of a section, or an empty one", page, b.line)
		case named && strings.Count(name, "`") > 0:
			b.file, b.text = name[strings.LastIndex(name, "`")+1:], strings.Join(body, "\n")+"\n"
		case strings.HasPrefix(body[0], "$ "):
			b.commands = commandsOf(body, begin+1)
		default:
			t.Fatalf("%s:%d: a block that is neither a file (a line such as \"`a/b.py`:\" before it) nor a command ($ first)", page, b.line)
		}
		s := &all[len(all)-1]
		s.blocks = append(s.blocks, b)
		before = ""
	}
	return all
}

func commandsOf(body []string, line int) []shown {
	var all []shown
	for n, text := range body {
		if command, is := strings.CutPrefix(text, "$ "); is {
			all = append(all, shown{line: line + n, command: command})
		} else {
			last := &all[len(all)-1]
			last.output = append(last.output, text)
		}
	}
	return all
}

// shows reports whether output has the lines of want, in order; between two of them there is nothing else
// unless "..." stands there. If not, it says which line was looked for.
func shows(output string, want []string) (missing string, ok bool) {
	var got []string
	for line := range strings.SplitSeq(strings.TrimRight(output, "\n"), "\n") {
		got = append(got, strings.TrimRight(line, " "))
	}
	at, anywhere := 0, false
	for _, line := range want {
		if strings.TrimSpace(line) == "..." {
			anywhere = true
			continue
		}
		found := slices.Index(got[at:], line)
		if found < 0 || found > 0 && !anywhere {
			return line, false
		}
		at, anywhere = at+found+1, false
	}
	if at < len(got) && !anywhere && len(want) > 0 {
		return "(the end; then came: " + got[at] + ")", false
	}
	return "", true
}

// bringYourOwnNeeds lists, by a word of a section's heading, what its commands need beside the program.
var bringYourOwnNeeds = map[string][2]string{
	"Go":           {"go", "apt-get install -y golang-go"},
	"Python":       {"python3", "apt-get install -y python3 python3-venv"},
	"MCP":          {"python3", "apt-get install -y python3 python3-venv"},
	"command-line": {"python3", "apt-get install -y python3"},
	"container":    {"docker", "apt-get install -y podman"},
}

// TestBringYourOwn does what docs/bring-your-own.md says, section by section, each in a folder of its own with a
// clone beside it, and compares what comes with what the page shows.
func TestBringYourOwn(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sectionsOf(t, filepath.Join(root, "docs", "bring-your-own.md")) {
		if len(s.blocks) == 0 {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			dir := t.TempDir()
			bin := filepath.Join(dir, ".bin")
			if err := os.Mkdir(bin, 0o755); err != nil {
				t.Fatal(err)
			}
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			link(t, exe, filepath.Join(bin, "sixthcopy")) // by this name the test binary is the program
			link(t, root, filepath.Join(dir, "sixthcopy"))
			for word, need := range bringYourOwnNeeds {
				if strings.Contains(s.name, word) {
					lookFor(t, need, bin)
				}
			}
			env := append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			for _, b := range s.blocks {
				b.run(t, dir, env)
			}
		})
	}
}

func link(t *testing.T, to, from string) {
	t.Helper()
	if err := os.Symlink(to, from); err != nil {
		t.Fatal(err)
	}
}

// lookFor skips the test where a program is not there. Podman does for docker.
func lookFor(t *testing.T, need [2]string, bin string) {
	t.Helper()
	path, err := exec.LookPath(need[0])
	if need[0] == "docker" && (err != nil || exec.Command(path, "info").Run() != nil) {
		podman, err := exec.LookPath("podman")
		if err != nil || exec.Command(podman, "info").Run() != nil {
			t.Skipf("no container engine answers (docker, podman): %s", need[1])
		}
		link(t, podman, filepath.Join(bin, "docker"))
		return
	}
	if err != nil {
		t.Skipf("%v: %s", err, need[1])
	}
}

func (b block) run(t *testing.T, dir string, env []string) {
	t.Helper()
	if b.file != "" {
		path := filepath.Join(dir, filepath.FromSlash(b.file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, c := range b.commands {
		cmd := exec.Command("sh", "-c", c.command)
		cmd.Dir, cmd.Env = dir, env
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		all := out.String() + errs.String()
		fails := slices.ContainsFunc(c.output, func(line string) bool { return strings.HasPrefix(line, "sixthcopy: error") })
		if (err != nil) != fails {
			t.Fatalf("docs/bring-your-own.md:%d: $ %s\nended with %v, the page shows an error: %v; it said:\n%s", c.line, c.command, err, fails, all)
		}
		if missing, ok := shows(all, c.output); !ok {
			t.Errorf("docs/bring-your-own.md:%d: $ %s\nthe page shows %s\nwhich did not come there; it said:\n%s", c.line, c.command, fmt.Sprintf("%q", missing), all)
		}
	}
}

// TestShows holds the comparison of TestBringYourOwn: it must be able to fail.
func TestShows(t *testing.T) {
	for _, c := range []struct {
		name, output string
		want         []string
		ok           bool
	}{
		{"equal", "a\nb\n", []string{"a", "b"}, true},
		{"nothing is shown", "a\n", nil, true},
		{"another line", "a\nc\n", []string{"a", "b"}, false},
		{"a line between", "a\nx\nb\n", []string{"a", "b"}, false},
		{"lines left out", "a\nx\ny\nb\n", []string{"a", "...", "b"}, true},
		{"other order", "b\na\n", []string{"...", "a", "...", "b", "..."}, false},
		{"more at the end", "a\nb\n", []string{"a"}, false},
		{"more at the end, left out", "a\nb\n", []string{"a", "..."}, true},
		{"the beginning is left out", "x\na\n", []string{"...", "a"}, true},
		{"the beginning is not left out", "x\na\n", []string{"a"}, false},
	} {
		if missing, ok := shows(c.output, c.want); ok != c.ok {
			t.Errorf("%s: %v, expected %v (%s)", c.name, ok, c.ok, missing)
		}
	}
}
