package typescript_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// dist/ is committed: sums holds what it was made of, and what was made.
func TestBuiltFromTheSources(t *testing.T) {
	text, err := os.ReadFile("sums")
	if err != nil {
		t.Fatal(err)
	}
	noted := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		noted[file] = sum
	}
	files := []string{"package.json", "tsconfig.json"}
	for _, pattern := range []string{"src/*", "dist/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(noted) != len(files) {
		t.Errorf("sums has %d files, there are %d: sh build.sh", len(noted), len(files))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(text)); noted[file] != got {
			t.Errorf("%s is not as it was when dist/ was built: sh build.sh", file)
		}
	}
}

// A start costs Node itself and the imports; a reset costs next to nothing.
func BenchmarkStart(b *testing.B) {
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			c := raise(b)
			c.start(bench.Knobs{})
			c.orders.Close()
			c.cmd.Wait()
		}
	})
	b.Run("reset", func(b *testing.B) {
		c := raise(b)
		c.start(bench.Knobs{})
		begun := time.Now()
		for b.Loop() {
			c.send(0, bench.Order{Type: "reset"})
			c.expect("ack")
			c.start(bench.Knobs{})
		}
		b.ReportMetric(float64(b.N)/time.Since(begun).Seconds(), "resets/s")
	})
}
