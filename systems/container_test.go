package systems

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// listed is what the engine still knows of our containers of this process, or of another.
func listed(t *testing.T, pid int) string {
	t.Helper()
	out, err := exec.Command(engine(), "ps", "-a", "--filter", fmt.Sprintf("name=^%s-%d-", containerLabel, pid), "--format", "{{.Names}}").Output()
	if err != nil {
		t.Fatal(explained(err))
	}
	return strings.TrimSpace(string(out))
}

// image builds an image of one static program, and removes it at the end of the test.
func image(t *testing.T) string {
	t.Helper()
	if engine() == "" {
		t.Skipf("there is no %s: %s", engineNeed.Program, engineNeed.Install)
	}
	dir, name := t.TempDir(), "localhost/sixthcopy-test:1"
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "adapter"), ".")
	build.Dir, build.Env = "net-http", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte("FROM scratch\nCOPY adapter /adapter\nENTRYPOINT [\"/adapter\"]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(engine(), "build", "-q", "-t", name, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command(engine(), "rmi", name).Run() })
	return name
}

// A kill of a system in a container leaves nothing of it, also where it comes while the container is on its
// way, and the system can be started again on the same state folder.
func TestKillOfAContainer(t *testing.T) {
	m, err := ParseManifest("box/system.yaml", []byte("kind: client\nsummary: In a container.\nimage: "+image(t)+"\nclock: protocol\nidle: probe\nafter_kill: redeliver\ncan: [turn, reset]\n"))
	if err != nil {
		t.Fatal(err)
	}
	m.Dir = t.TempDir()
	all, err := m.Systems()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s, err := all[0].Begin(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if err := s.Kill(); err != nil { // nothing was waited for
		t.Fatal(err)
	}
	if left := listed(t, os.Getpid()); left != "" {
		t.Fatalf("after a kill on the way the engine lists %s", left)
	}
	for range 2 {
		if err := s.Restart(ctx); err != nil {
			t.Fatal(err)
		}
		if err := s.Send(ctx, bench.Order{Type: "start", Now: bench.Epoch.Format(time.RFC3339), Start: &bench.StartOrder{}}); err != nil {
			t.Fatal(err)
		}
		if left := listed(t, os.Getpid()); left == "" {
			t.Fatal("the engine lists no container of a system that has answered")
		}
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		if left := listed(t, os.Getpid()); left != "" {
			t.Fatalf("after a kill the engine lists %s", left)
		}
	}
}

// What a dead harness left behind is removed, what belongs to a living one is not.
func TestContainersOfADeadHarness(t *testing.T) {
	name := image(t)
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	dead, alive := gone.Process.Pid, os.Getpid()
	for _, pid := range []int{dead, alive} {
		box := container{engine(), fmt.Sprintf("%s-%d-test", containerLabel, pid)}
		if out, err := exec.Command(engine(), "create", "--name", box.name, "--label", containerLabel+"=1", name).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		t.Cleanup(func() { _ = box.gone(dieWithin) })
	}
	if err := sweepContainers(); err != nil {
		t.Fatal(err)
	}
	if left := listed(t, dead); left != "" {
		t.Errorf("the dead harness's %s is still there", left)
	}
	if left := listed(t, alive); left == "" {
		t.Error("a living harness's container was removed")
	}
}
