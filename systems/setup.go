package systems

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stampFile says, in a system's folder, of what the folder was made ready.
const stampFile = ".ready"

// Need is a program that a system needs in PATH.
type Need struct {
	Program string
	Install string // the command that installs it
}

// Readiness says whether a system's folder can be run.
type Readiness struct {
	Lacks []Need // programs that are not in PATH, sorted
	Why   string // why it is to be set up: "it was never set up"; empty: it is
}

// Ready reports whether nothing is missing.
func (r Readiness) Ready() bool { return len(r.Lacks) == 0 && r.Why == "" }

// String is the readiness in few words: "ready", "not set up", "lacks cargo".
func (r Readiness) String() string {
	switch {
	case len(r.Lacks) > 0:
		var programs []string
		for _, n := range r.Lacks {
			programs = append(programs, n.Program)
		}
		return "lacks " + strings.Join(programs, ", ")
	case r.Why != "":
		return "not set up"
	}
	return "ready"
}

// Readiness looks whether the folder can be run: every needed program is in PATH, and if there is a setup
// command its stamp names what the folder is made of as it is now. The error says what cannot be read.
func (m Manifest) Readiness() (Readiness, error) {
	var r Readiness
	for _, program := range sortedKeys(m.Needs) {
		if _, err := exec.LookPath(program); err != nil {
			r.Lacks = append(r.Lacks, Need{program, m.Needs[program]})
		}
	}
	if m.Image != "" && engine() == "" {
		r.Lacks = append(r.Lacks, engineNeed)
	}
	if len(m.Setup) == 0 {
		return r, nil
	}
	old, err := os.ReadFile(filepath.Join(m.Dir, stampFile))
	if errors.Is(err, fs.ErrNotExist) {
		r.Why = "it was never set up"
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("stamp of %s: %w", m.Name, err)
	}
	now, err := m.stamp()
	if err != nil {
		return r, err
	}
	if changed := differ(string(old), now); len(changed) > 0 {
		r.Why = strings.Join(changed, ", ") + " changed since it was set up"
	}
	return r, nil
}

// SetUp runs the setup command in the folder and stamps it. The end of ctx ends the command and all that is
// in its process group. said is what it printed last, for the reader of an error.
func (m Manifest) SetUp(ctx context.Context) (said string, err error) {
	stamp := filepath.Join(m.Dir, stampFile)
	if err := os.Remove(stamp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("old stamp of %s: %w", m.Name, err)
	}
	argv, err := m.found(m.Setup)
	if err != nil {
		return "", err
	}
	var last lastWords
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = m.Dir, &last, &last
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return last.String(), fmt.Errorf("%s: %w", strings.Join(m.Setup, " "), err)
	}
	text, err := m.stamp()
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(stamp, []byte(text), 0o644); err != nil {
		return "", fmt.Errorf("stamp of %s: %w", m.Name, err)
	}
	return "", nil
}

// found is a command of the manifest whose program is looked for in its folder if it begins with a point.
func (m Manifest) found(command []string) ([]string, error) {
	argv := slices.Clone(command)
	if strings.HasPrefix(argv[0], ".") { // relative to the folder, not to the harness
		abs, err := filepath.Abs(filepath.Join(m.Dir, argv[0]))
		if err != nil {
			return nil, fmt.Errorf("command of %s: %w", m.File, err)
		}
		argv[0] = abs
	}
	return argv, nil
}

// made are names of what a setup makes: no part of what it is made from. So is whatever begins with a point.
var made = []string{"bin", "build", "dist", "node_modules", "target", "__pycache__"}

// stamp lists what the folder is made ready from, one a line with its hash: the setup command; the manifest's
// made_from, or all files of the folder but for texts and what setups make; and the folder of each file
// outside that the setup command names, which is where a kit lies.
func (m Manifest) stamp() (string, error) {
	files := map[string]string{} // path by how the stamp names it
	add := func(path string) error {
		return filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
			name := filepath.Base(path)
			rel, relErr := filepath.Rel(m.Dir, path)
			switch {
			case errors.Join(err, relErr) != nil:
				return errors.Join(err, relErr)
			case rel != "." && (strings.HasPrefix(name, ".") && name != ".." || strings.HasSuffix(name, ".egg-info") || slices.Contains(made, name) && d.IsDir()):
				if d.IsDir() {
					return filepath.SkipDir
				}
			case d.Type().IsRegular() && filepath.Ext(name) != ".md" && name != "system.yaml":
				files[filepath.ToSlash(rel)] = path
			}
			return nil
		})
	}
	var sources []string
	for _, pattern := range m.MadeFrom {
		some, err := filepath.Glob(filepath.Join(m.Dir, pattern))
		if err == nil && len(some) == 0 {
			err = errors.New("there is no such file")
		}
		if err != nil {
			return "", fmt.Errorf("made_from %s of %s: %w", pattern, m.File, err)
		}
		sources = append(sources, some...)
	}
	if len(m.MadeFrom) == 0 {
		sources = append(sources, m.Dir)
	}
	for _, word := range m.Setup {
		path := filepath.Join(m.Dir, word)
		info, err := os.Stat(path)
		if !strings.HasPrefix(word, "../") || err != nil || !info.Mode().IsRegular() {
			continue
		}
		if kit := filepath.Dir(path); kit != filepath.Clean(filepath.Join(m.Dir, "..")) { // all systems lie there
			path = kit
		}
		sources = append(sources, path)
	}
	for _, path := range sources {
		if err := add(path); err != nil {
			return "", fmt.Errorf("what %s is made from: %w", m.Name, err)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s setup command\n", hashOf([]byte(strings.Join(m.Setup, "\x00"))))
	for _, name := range sortedKeys(files) {
		text, err := os.ReadFile(files[name])
		if err != nil {
			return "", fmt.Errorf("what %s is made from: %w", m.Name, err)
		}
		fmt.Fprintf(&b, "%s %s\n", hashOf(text), name)
	}
	return b.String(), nil
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// differ names what differs between two stamps, sorted; of many the first three.
func differ(old, now string) []string {
	count := map[string]int{} // lines by text
	for line := range strings.Lines(old) {
		count[line]++
	}
	for line := range strings.Lines(now) {
		count[line]--
	}
	var names []string
	for line, n := range count {
		if _, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); n != 0 && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if n := len(names); n > 3 {
		names = append(names[:3], fmt.Sprintf("%d more", n-3))
	}
	return names
}

// lastWords keeps the end of what is written.
type lastWords struct{ kept []byte }

func (l *lastWords) Write(p []byte) (int, error) {
	const most = 16 << 10
	l.kept = append(l.kept, p...)
	if n := len(l.kept); n > 4*most { // moved seldom, for what floods
		l.kept = append(l.kept[:0], l.kept[n-most:]...)
	}
	return len(p), nil
}

// String is the last twenty lines.
func (l *lastWords) String() string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(l.kept), "?")), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
