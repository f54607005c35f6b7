package systems

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Each broken manifest has exactly the problems in NAME.want.
func TestBrokenManifests(t *testing.T) {
	files, err := filepath.Glob("testdata/manifests/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d broken manifests, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = ParseManifest("system.yaml", text)
			if err == nil {
				t.Fatal("no problem was found")
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".want", err.Error()+"\n")
		})
	}
}

func TestExampleManifest(t *testing.T) {
	all, err := Load("testdata/systems")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 {
		t.Fatalf("%d manifests, expected 1", len(all))
	}
	m := all[0]
	if m.Name != "example" || len(m.Roles) != 2 || m.Roles[1].Ready.Line != "worker is ready" || m.Services[0].Ready.Port != 5432 || !m.Idle.Probe || len(m.Variants) != 2 {
		t.Errorf("got %+v", m)
	}
	if _, err := m.Systems(); err == nil {
		t.Error("roles that are not raised were not refused")
	}
	doc, err := os.ReadFile("../docs/wire-contract.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile(m.File)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), "```yaml\n"+string(example)+"```") {
		t.Errorf("docs/wire-contract.md does not show %s as it is", m.File)
	}
}

func TestLoadFindsNamesThatAreTaken(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"a", "b"} {
		writeManifest(t, filepath.Join(dir, folder), "name: one\n")
	}
	_, err := Load(dir)
	var problems *Problems
	if !errors.As(err, &problems) || !strings.Contains(err.Error(), `b/system.yaml:1:1: name "one" is taken by `) {
		t.Errorf("got %v", err)
	}
	if _, err := Load(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a folder that is not there was loaded")
	}
}

func writeManifest(t *testing.T, dir, more string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text := more + "kind: client\nsummary: One.\nroles: [{name: front, command: [" + os.Args[0] + ", misbehave, well]}]\nclock: wall\nidle: {longest_timer: 2s}\nafter_kill: redeliver\ncan: [turn, reset]\n"
	if err := os.WriteFile(filepath.Join(dir, "system.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestManifestBecomesSystems(t *testing.T) {
	dir := t.TempDir()
	writeManifest(t, filepath.Join(dir, "one"), "variants: {plain: [], loud: [--loud]}\n")
	all, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if all[0].Idle.LongestTimer != 2*time.Second {
		t.Errorf("idle is %+v", all[0].Idle)
	}
	offered, err := all[0].Systems()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range offered {
		names = append(names, s.Name())
		trial(t, s.(*System))
		if err := s.(*System).Close(); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(names, " "); got != "one/plain one/loud" {
		t.Errorf("systems are %q", got)
	}
}

// Each broken line has exactly the message in testdata/lines.want, in order.
func TestBrokenLines(t *testing.T) {
	text, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) < 10 {
		t.Fatalf("%d broken lines", len(lines))
	}
	var b strings.Builder
	for _, line := range lines {
		_, problem := parseWord([]byte(line))
		if problem == "" {
			t.Errorf("%s: no problem was found", line)
		}
		b.WriteString(problem + "\n")
	}
	golden(t, "testdata/lines.want", b.String())
}
