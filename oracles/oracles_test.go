package oracles

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
)

// ledger makes a store in a new folder, as a provider would, and returns the folder and the provider's handle.
func ledger(t *testing.T, effects ...bench.Effect) (string, *sql.DB) {
	t.Helper()
	schema, err := os.ReadFile("testdata/store.sql")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "store.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	if _, err := db.Exec(string(schema)); err != nil {
		t.Fatal(err)
	}
	for _, e := range effects {
		insert(t, db, e)
	}
	return dir, db
}

func insert(t *testing.T, db interface {
	Exec(string, ...any) (sql.Result, error)
}, e bench.Effect) {
	t.Helper()
	attrs, err := json.Marshal(e.Attrs)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(`INSERT INTO effects (object, class, attrs, sign, principal, request, undoes, carried_by, harms, reference, detail, committed_at)
		VALUES (?,?,?,1,?,?,'','','','','null',0)`, e.Object, e.Class, string(attrs), e.Principal, e.Request)
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, kind, dir string) ([]bench.Effect, error) {
	t.Helper()
	o, ok := Find(kind)
	if !ok {
		t.Fatalf("no oracle reads %s", kind)
	}
	return o.Read(context.Background(), dir)
}

// classes are those that each oracle reads.
var classes = map[string][]string{
	"items": {"item", "table", "increment", "item-removal"},
	"queue": {"queued-message", "queue", "message-removal"},
	"files": {"file", "deletion"}, "lines": {"line"}, "mail": {"message"}, "payments": {"refund", "charge", "payout", "transfer", "reversal", "intent", "capture", "cancellation"},
	"outbound": {"outbound_payment", "event_destination", "cancellation", "removal", "change"},
	"chat":     {"post", "correction", "removal"}, "repository": {"issue", "comment", "pull_request", "release", "draft", "deployment", "ref", "change"},
	"calendar": {"event", "cancellation"}, "cluster": {"config", "pod", "job", "app", "teardown"},
	"orders": {"order", "payment"},
	"rows":   {"row"}, "tasks": {"task", "service"}, "tickets": {"ticket"},
	"instances": {"instance"}, "snapshots": {"snapshot", "completion"},
}

func TestEachOracleReadsItsClassesAndNoOther(t *testing.T) {
	if len(classes) != len(All) {
		t.Fatalf("%d oracles, %d in the table", len(All), len(classes))
	}
	for kind, own := range classes {
		t.Run(kind, func(t *testing.T) {
			var want []bench.Effect
			for i, c := range slices.Concat([]string{own[0]}, own) {
				want = append(want, bench.Effect{Object: fmt.Sprint("o", i), Class: c, Request: strings.Repeat(fmt.Sprint("r", i), min(i, 1)),
					Sign: 1, Committed: i + 1, Principal: "p", Attrs: map[string]any{"path": "p", "n": 2500, "f": 2.5, "s": "x"}})
			}
			dir, db := ledger(t, want...)
			if kind == "files" && want[len(want)-1].Class != "deletion" {
				t.Fatal("the last write must be a deletion for an empty folder")
			}
			got, err := read(t, kind, dir)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
				t.Errorf("read\n%#v, want\n%#v", got, want)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if again, err := read(t, kind, dir); err != nil || len(again) != len(want) {
				t.Errorf("after the provider has closed: %d effects, %v", len(again), err)
			}
			other, _ := ledger(t, bench.Effect{Object: "x", Class: "strange"})
			if _, err := read(t, kind, other); err == nil || !strings.Contains(err.Error(), `class "strange"`) {
				t.Errorf("a strange class: %v", err)
			}
			if _, err := read(t, kind, t.TempDir()); err == nil {
				t.Error("no store, and no error")
			}
		})
	}
}

// TestUncommittedIsNotRead reads while the provider has a transaction open.
func TestUncommittedIsNotRead(t *testing.T) {
	dir, db := ledger(t, bench.Effect{Object: "a", Class: "message", Attrs: map[string]any{"to": "x"}})
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	insert(t, tx, bench.Effect{Object: "b", Class: "message", Attrs: map[string]any{"to": "x"}})
	if got, err := read(t, "mail", dir); err != nil || len(got) != 1 {
		t.Errorf("with an open transaction: %d effects, %v; want 1", len(got), err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if got, err := read(t, "mail", dir); err != nil || len(got) != 2 {
		t.Errorf("after its commit: %d effects, %v; want 2", len(got), err)
	}
}

// TestOracleWritesNothing: the store's bytes are the same after a reading.
func TestOracleWritesNothing(t *testing.T) {
	dir, db := ledger(t, bench.Effect{Object: "a", Class: "row", Attrs: map[string]any{}})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "store.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, "rows", dir); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(filepath.Join(dir, "store.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(before, after) {
		t.Error("the store has changed")
	}
}

func TestFilesAreHeldAgainstTheLedger(t *testing.T) {
	put := func(object, path, content string) bench.Effect {
		return bench.Effect{Object: object, Class: "file", Attrs: map[string]any{"path": path, "content": content}}
	}
	history := []bench.Effect{put("a@1", "d/a", "old"), put("a@2", "d/a", "new"), put("b@1", "b", ""),
		put("c@1", "c", "x"), {Object: "del", Class: "deletion", Attrs: map[string]any{"path": "c"}}}
	for name, c := range map[string]struct {
		files map[string]string
		err   string
	}{
		"as the ledger says":        {map[string]string{"f-d%2Fa": "new", "f-b": ""}, ""},
		"an old content":            {map[string]string{"f-d%2Fa": "old", "f-b": ""}, `holds "old", the ledger has "new"`},
		"a file is missing":         {map[string]string{"f-d%2Fa": "new"}, "1 are there, the ledger has 2"},
		"a deleted one is there":    {map[string]string{"f-d%2Fa": "new", "f-b": "", "f-c": "x"}, "3 are there, the ledger has 2"},
		"one that no ledger knows":  {map[string]string{"f-d%2Fa": "new", "f-z": ""}, `file z in`},
		"one of a foreign name":     {map[string]string{"f-d%2Fa": "new", "x": ""}, `file x in`},
		"one whose name is no path": {map[string]string{"f-d%2Fa": "new", "f-%zz": ""}, `invalid URL escape`},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := ledger(t, history...)
			if err := os.Mkdir(filepath.Join(dir, "files"), 0o755); err != nil {
				t.Fatal(err)
			}
			for n, content := range c.files {
				if err := os.WriteFile(filepath.Join(dir, "files", n), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := read(t, "files", dir)
			switch {
			case c.err == "" && (err != nil || len(got) != len(history)):
				t.Errorf("%d effects, %v; want %d", len(got), err, len(history))
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("error %v, want one with %q", err, c.err)
			}
		})
	}
}
