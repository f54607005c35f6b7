package provide

import (
	"database/sql"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

func TestWithoutTheToken(t *testing.T) {
	r := up(t, "stripe-v1", "")
	for _, with := range []string{"", "secret", "Bearer", "Bearer ", "Bearer secre", "Bearer secret2", "Basic secret"} {
		for _, path := range []string{"/", "/effects", "/nowhere"} {
			req, err := http.NewRequest("GET", r.control.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", with)
			res, err := r.control.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s with %q: status %d, expected 401", path, with, res.StatusCode)
			}
		}
	}
	if _, err := r.fake.Handler(""); err == nil {
		t.Error("an empty token is taken")
	}
}

// TestWrongOrders: each is turned down with what came and what was expected, and changes nothing.
func TestWrongOrders(t *testing.T) {
	r := up(t, "stripe-v1", "")
	long := strings.Repeat("x", maxOrder)
	for _, c := range []struct{ method, path, body, says string }{
		{"POST", "/gate", ``, "the body is empty; expected an order"},
		{"POST", "/gate", `[]`, "a JSON array"},
		{"POST", "/gate", `{"at":"committed"`, "expected an order"},
		{"POST", "/gate", `{"at":"committed","act":"reset"} {}`, "more than one value"},
		{"POST", "/gate", `{"at":"committed","act":"reset","who":1}`, `unknown field \"who\"`},
		{"POST", "/gate", `{"at":"commited","act":"reset"}`, `\"at\" is \"commited\", expected received`},
		{"POST", "/gate", `{"act":"reset"}`, `\"at\" is \"\"`},
		{"POST", "/gate", `{"at":"committed"}`, `\"act\" is \"\", expected close, crash`},
		{"POST", "/gate", `{"at":"committed","act":"explode"}`, `\"act\" is \"explode\"`},
		{"POST", "/gate", `{"at":"committed","act":"rollback"}`, "nothing is open any more"},
		{"POST", "/gate", `{"at":"committed","act":"reset","nth":-1}`, `\"nth\" is -1`},
		{"POST", "/gate", `{"at":"committed","act":"reset","nth":"2"}`, `\"nth\" is a string, not a int`},
		{"POST", "/gate", `{"at":"committed","act":"reset","nth":1e99}`, `\"nth\" is a number`},
		{"POST", "/gate", `{"at":"committed","act":"reset","status":500}`, "with replace or fail only"},
		{"POST", "/gate", `{"at":"committed","act":"fail","status":200}`, "expected 400 to 599"},
		{"POST", "/gate", `{"at":"committed","act":"replace","status":99999}`, "expected 400 to 599"},
		{"POST", "/gate", `{"at":"committed","act":"fail","body":"x"}`, "with replace only"},
		{"POST", "/gate", `{"at":"committed","act":"reset","bytes":1}`, "with truncate only"},
		{"POST", "/gate", `{"at":"committed","act":"truncate","bytes":-1}`, `\"bytes\" is -1`},
		{"POST", "/gate", `{"at":"` + long + `"}`, "longer than 1048576 bytes"},
		{"POST", "/clock", `{}`, "nothing to do"},
		{"POST", "/clock", `{"pass":"a day"}`, `\"pass\" is \"a day\"`},
		{"POST", "/clock", `{"pass":"-1h"}`, `\"pass\" is \"-1h\"`},
		{"POST", "/clock", `{"pass":25}`, `\"pass\" is a number, not a string`},
		{"POST", "/clock", `{"pass":"2000000h"}`, "past 2200-01-01"},
		{"POST", "/clock", `{"set":"yesterday"}`, "expected {"},
		{"POST", "/clock", `{"set":"1999-01-01T00:00:00Z"}`, "does not run back"},
		{"POST", "/clock", `{"set":"2300-01-01T00:00:00Z"}`, "past 2200-01-01"},
		{"POST", "/clock", `{"set":"2199-01-01T00:00:00Z","pass":"1h"}`, "one of them"},
		{"POST", "/clock", `{"runs":"no"}`, `\"runs\" is a string`},
		{"GET", "/gate/o1?wait=long", ``, "wait is"},
		{"GET", "/gate/o1?wait=11m", ``, "wait is"},
		{"GET", "/requests?last=0", ``, "last is"},
		{"GET", "/requests?last=1%20--", ``, "last is"},
	} {
		status, text := r.ask(c.method, c.path, c.body)
		if status != http.StatusBadRequest || !strings.Contains(text, c.says) {
			t.Errorf("%s %s %.80s: status %d, %s; expected 400 and %s", c.method, c.path, c.body, status, text, c.says)
		}
	}
	for _, c := range []struct{ method, path string }{
		{"GET", "/gate/o1"}, {"DELETE", "/gate/o1"}, {"POST", "/gate/o1/release"}, {"GET", "/nowhere"}, {"PUT", "/clock"}, {"DELETE", "/gate"}, {"GET", "/gate/o1/o2/o3"},
	} {
		if status, text := r.ask(c.method, c.path, `{}`); status != http.StatusNotFound {
			t.Errorf("%s %s: status %d %s, expected 404", c.method, c.path, status, text)
		}
	}
	var s []Standing
	r.want(&s, "GET", "/gate", "")
	var now Reading
	r.want(&now, "GET", "/clock", "")
	if len(s) != 0 || now.Ahead != "0s" || !now.Runs {
		t.Errorf("after nothing but wrong orders: %+v, %+v", s, now)
	}
}

// TestFiles: which files are taken up, and which are left alone.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	foreign := filepath.Join(dir, "foreign.db")
	db, err := sql.Open("sqlite3", "file:"+foreign)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE mine (x); INSERT INTO mine VALUES (1)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(foreign)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raise(t, "stripe-v1", foreign); err == nil || !strings.Contains(err.Error(), "no store of `sixthcopy provide`") {
		t.Errorf("another program's database: %v", err)
	}
	if after, err := os.ReadFile(foreign); err != nil || string(after) != string(before) {
		t.Errorf("another program's database has changed (%v)", err)
	}
	empty := filepath.Join(dir, "empty.db") // as mktemp leaves it
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := up(t, "stripe-v1", empty); r.refund("o1", "k").status != 200 || r.effects() != 1 {
		t.Error("an empty file is not taken")
	}
	if _, err := raise(t, "stripe-v1", empty); err == nil || !strings.Contains(err.Error(), "served by another") {
		t.Errorf("a file in use: %v", err)
	}
	beside := filepath.Join(dir, "new.db")
	if err := os.MkdirAll(filepath.Join(beside+".files", "mine"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := raise(t, "files-put", beside); err == nil || !strings.Contains(err.Error(), "move that away") {
		t.Errorf("a folder of somebody else's: %v", err)
	}
}

// TestJournalOfARemovedFile: who removes the file of a killed process, and not its journal, starts anew.
func TestJournalOfARemovedFile(t *testing.T) {
	killed, fresh := filepath.Join(t.TempDir(), "f.db"), filepath.Join(t.TempDir(), "f.db")
	r := up(t, "stripe-v1", killed)
	if r.refund("o1", "k").status != 200 {
		t.Fatal("no refund")
	}
	journal, err := os.ReadFile(killed + "-wal") // of a store that is open, as a killed process leaves it
	if err != nil || len(journal) == 0 {
		t.Fatalf("journal: %d bytes, %v", len(journal), err)
	}
	if err := os.WriteFile(fresh+"-wal", journal, 0o600); err != nil {
		t.Fatal(err)
	}
	again := up(t, "stripe-v1", fresh)
	if n := again.effects(); n != 0 {
		t.Errorf("%d effects in a new file", n)
	}
	if got := again.refund("o1", "k"); got.status != 200 || got.header.Get("Idempotent-Replayed") != "" || again.effects() != 1 {
		t.Errorf("the first refund: %+v, %d effects", got, again.effects())
	}
}

// TestFilesAreKept: a provider that keeps files beside its store finds them again, and loses them in a reset.
func TestFilesAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.db")
	content := func() string {
		text, _ := os.ReadFile(filepath.Join(path+".files", "files", "f-a.txt"))
		return string(text)
	}
	put := func(r *rig) {
		req, err := http.NewRequest("PUT", r.base+"/files/a.txt", strings.NewReader(`{"content":"hello"}`))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.StatusCode != 200 {
			t.Fatalf("put: %v %v", res, err)
		}
		res.Body.Close()
	}
	t.Run("first", func(t *testing.T) {
		put(up(t, "files-put", path))
	})
	t.Run("second", func(t *testing.T) {
		r := up(t, "files-put", path)
		if n := r.effects(); n != 1 || content() != "hello" {
			t.Errorf("%d effects and content %q after a restart", n, content())
		}
		r.want(nil, "POST", "/reset", "")
		if n := r.effects(); n != 0 || content() != "" {
			t.Errorf("%d effects and content %q after a reset", n, content())
		}
		put(r)
	})
}

// TestClockOverARestart: a clock that ran has run on, one that stood still stands, and none runs back.
func TestClockOverARestart(t *testing.T) {
	for _, c := range []struct {
		motion string
		later  time.Duration // on the machine's clock
		want   time.Duration // past the epoch
		runs   bool
	}{
		{`{"pass":"25h"}`, time.Hour, 26 * time.Hour, true},
		{`{"pass":"25h","runs":false}`, time.Hour, 25 * time.Hour, false},
		{`{"pass":"25h"}`, -48 * time.Hour, 25 * time.Hour, true}, // the machine's clock was set back
	} {
		m := &machine{now: bench.Epoch}
		clock := NewClock(m.read)
		var motion Motion
		req, err := http.NewRequest("POST", "/", strings.NewReader(c.motion))
		if err != nil {
			t.Fatal(err)
		}
		if err := decode(req, &motion, ""); err != nil {
			t.Fatal(err)
		}
		kept, err := clock.Move(motion)
		if err != nil {
			t.Fatal(err)
		}
		m.pass(c.later)
		again := NewClock(m.read)
		if err := again.restore(kept); err != nil {
			t.Fatal(err)
		}
		if got := again.Read(); got.Now.Sub(bench.Epoch) != c.want || got.Runs != c.runs {
			t.Errorf("%s, %s later: %+v, expected %s past the epoch, runs %v", c.motion, c.later, got, c.want, c.runs)
		}
	}
}

// TestManyAtOnce has clients, orders, holds, lists and resets run into each other.
func TestManyAtOnce(t *testing.T) {
	r := up(t, "stripe-v1", filepath.Join(t.TempDir(), "s.db"))
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 20 {
				r.refund("o1", "k"+string(rune('a'+i)))
			}
		})
		all.Go(func() {
			for range 10 {
				r.ask("POST", "/gate", `{"at":"committed","act":"crash"}`)
				r.ask("POST", "/gate", `{"at":"before-commit","act":"hold"}`)
				r.ask("GET", "/gate", "")
				r.ask("POST", "/clock", `{"pass":"1h"}`)
				r.ask("GET", "/requests", "")
				r.ask("POST", "/reset", "")
			}
		})
	}
	all.Wait()
	r.want(nil, "POST", "/reset", "")
	if got := r.refund("o1", "k"); got.status != 200 || r.effects() != 1 {
		t.Errorf("afterwards: %d %s (%v), %d effects", got.status, got.body, got.err, r.effects())
	}
	var a about
	r.want(&a, "GET", "/", "")
	if strings.Contains(a.Busy, "broken") {
		t.Error(a.Busy)
	}
}
