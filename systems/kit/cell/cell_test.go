package cell

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/sixthcopy/sixthcopy/systems/kit"
)

// sends makes calls n times, with a key or without, and says what came of the last.
func sends(n int, key string) kit.Adapter {
	return kit.Adapter{Can: []string{"timeout"}, Call: func(ctx context.Context, c *kit.Call) (claim kit.Claim) {
		client := &http.Client{Transport: c.Trial.Timeout(c.Trial.Transport(&http.Transport{}), 0)}
		for range n {
			request, err := c.Request(ctx, key)
			if err != nil {
				return kit.Failed(err.Error())
			}
			if claim = c.Read(client.Do(request)); claim.Outcome != "unknown" {
				break
			}
		}
		return claim
	}}
}

func TestMain(m *testing.M) {
	Adapter("once", sends(1, ""))
	Adapter("twice", sends(2, ""))
	Adapter("twice-with-key", sends(2, "a key"))
	os.Exit(m.Run())
}

// recorder is a test that keeps what it fails with.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper()           {}
func (r *recorder) Failed() bool      { return r.said != "" }
func (r *recorder) Fatal(args ...any) { r.said = fmt.Sprint(args...); runtime.Goexit() }
func (r *recorder) Fatalf(format string, args ...any) {
	r.Fatal(fmt.Sprintf(format, args...))
}

// outcome is what Run returns, and what it fails with; "" if it does not.
func outcome(t *testing.T, c Cell) (rows []Row, said string) {
	t.Helper()
	r, done := &recorder{TB: t}, make(chan struct{})
	go func() {
		defer close(done)
		rows = Run(r, c)
	}()
	<-done
	return rows, r.said
}

func TestRun(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // the run of a failed test is kept
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		cell Cell
		says string // "" if it passes
	}{
		{"no second attempt is safe", Cell{System: "once"}, ""},
		{"a second attempt without a key is a violation", Cell{System: "twice"}, "violation, expected safe at worst: twice, refund, response-at-tool-server reset"},
		{"the story is told, and how to tell it again", Cell{System: "twice"}, "again: sixthcopy show "},
		{"with a key it is exact", Cell{System: "twice-with-key", Worst: "exact"}, ""},
		{"safe is not exact", Cell{System: "once", Worst: "exact"}, "safe, expected exact at worst: once, refund"},
		{"a system that is not there", Cell{System: here}, "expected the folder of a system.yaml, or the name of an adapter"},
		{"a workload that is not there", Cell{System: "once", Workload: "refnd"}, `did you mean "refund"?`},
		{"a boundary that is not there", Cell{System: "once", Boundary: "crash"}, `unknown boundary "crash"`},
		{"a variant that is not there", Cell{System: "once", Variant: "tuned"}, `unknown system "once/tuned"`},
		{"a cell that does not apply", Cell{System: "once", Workload: "read-only", Boundary: "token-expired"}, "token-expired has no cell with read-only"},
		{"a verdict that nobody gives", Cell{System: "once", Worst: "violation"}, `Cell.Worst is "violation", expected exact or safe`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.cell.Workload == "" {
				c.cell.Workload = "refund"
			}
			if c.cell.Boundary == "" {
				c.cell.Boundary = "response-at-tool-server"
			}
			rows, said := outcome(t, c.cell)
			switch {
			case c.says == "" && (said != "" || len(rows) == 0):
				t.Errorf("%d rows; it fails with: %s", len(rows), said)
			case c.says != "" && !strings.Contains(said, c.says):
				t.Errorf("it says %q, expected ...%s...", said, c.says)
			}
		})
	}
}
