package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/results/report"
)

// hotel is a staging API of bookings over SQLite, with the wire of the page's service: it keeps keys, and can be
// made to fail.
type hotel struct {
	*httptest.Server
	file string

	mu     sync.Mutex
	db     *sql.DB
	keys   map[string]int64
	posts  int
	diesAt int           // the post with which it ends, having carried it out; 0: none
	shows  time.Duration // how long after its answer a booking shows in the table
	late   sync.WaitGroup
}

func openHotel(t *testing.T) *hotel {
	t.Helper()
	h := &hotel{file: filepath.Join(t.TempDir(), "staging.db"), keys: map[string]int64{}}
	var err error
	if h.db, err = sql.Open("sqlite3", h.file); err != nil { // the driver that package oracles brings
		t.Fatal(err)
	}
	if _, err := h.db.Exec("CREATE TABLE bookings (id INTEGER PRIMARY KEY, guest TEXT, room TEXT, nights INTEGER, note TEXT)"); err != nil {
		t.Fatal(err)
	}
	h.Server = httptest.NewServer(http.HandlerFunc(h.serve))
	t.Cleanup(func() {
		h.Close()
		h.late.Wait()
		if err := h.db.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *hotel) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.Method == http.MethodGet {
		fmt.Fprint(w, "[]")
		return
	}
	var body struct{ Row map[string]any }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.posts++
	id := h.keys[r.Header.Get("Idempotency-Key")]
	if id == 0 {
		id = int64(h.posts)
		insert := func() {
			_, err := h.db.Exec("INSERT INTO bookings VALUES (?, ?, ?, ?, ?)", id, body.Row["guest"], body.Row["room"], body.Row["nights"], body.Row["note"])
			if err != nil {
				panic(err) // the trial then has no effect, and the test fails
			}
		}
		if h.shows > 0 {
			h.late.Add(1)
			time.AfterFunc(h.shows, func() { defer h.late.Done(); insert() })
		} else {
			insert()
		}
		if key := r.Header.Get("Idempotency-Key"); key != "" {
			h.keys[key] = id
		}
	}
	if h.posts == h.diesAt {
		_ = h.Listener.Close() // nobody can reach it any more
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"rows": [{"id": %d}]}`, id)
}

// workload writes the page's first workload for this API, with more changed in it, and returns the file.
func (h *hotel) workload(t *testing.T, changes ...string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/bring-your-own-provider.md")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile("(?s)# booking.yaml\n(.*?)```").FindStringSubmatch(string(page))[1]
	changes = append([]string{"http://127.0.0.1:8441", h.URL, "sqlite:staging.db", "sqlite:" + h.file}, changes...)
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			t.Fatalf("the page's workload has no %q", changes[i])
		}
		text = strings.Replace(text, changes[i], changes[i+1], 1)
	}
	file := filepath.Join(t.TempDir(), "booking.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// keyed is the contract of an API that keeps keys.
var keyed = []string{"contract: none", `contract:
    key: {location: "header:Idempotency-Key", retention: 24h}`, "    errors: typed", "    errors: typed\n    key: argument"}

// TestExternalPlan: at a provider that the harness did not make, seven boundaries have cells, each other one has
// its reason, and nothing is asked of the provider that only a fake can do.
func TestExternalPlan(t *testing.T) {
	h := openHotel(t)
	spec, _, err := runOptions{suite: "full", repeat: 1, parallel: 1, workloads: []string{h.workload(t)}}.spec()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := bench.MakePlan(spec)
	if err != nil {
		t.Fatal(err)
	}
	want := []bench.Boundary{bench.BeforeDispatch, bench.CommittedBeforeResponse, bench.ResponseAtToolServer, bench.TimeoutBeforeCompletion,
		bench.CrashRestart, bench.OtherInstance, bench.ParameterDrift}
	var got []bench.Boundary
	inside := []bench.Point{bench.Received, bench.BeforeCommit, bench.Committed, bench.BeforeResponse}
	mirrors := 0
	for _, trial := range plan.Trials {
		f := trial.Fault
		if f.Boundary != bench.NoFault && !slices.Contains(got, f.Boundary) {
			got = append(got, f.Boundary)
		}
		if f.Park == bench.BeforeCommit || f.Pass != "" {
			t.Errorf("%s %s: parked at %q, passes %q", f.Boundary, f.Variant, f.Park, f.Pass)
		}
		for p, a := range f.Meets {
			if slices.Contains(inside, p) && (p != bench.Received || a.Act != bench.Reset) {
				t.Errorf("%s %s: meets %s at %s", f.Boundary, f.Variant, a.Act, p)
			}
			if p == bench.Received {
				mirrors++
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("boundaries with cells: %v, expected %v", got, want)
	}
	if mirrors == 0 {
		t.Error("no mirror is placed at the door")
	}
	for _, b := range []bench.Boundary{bench.ReceivedBeforeCommit, bench.DuringCancellation, bench.TokenExpired} {
		n := 0
		for _, na := range plan.NotApplicable {
			if na.Boundary == b {
				n++
				if !strings.Contains(na.Reason, "external provider") {
					t.Errorf("%s %s: %q", b, na.Variant, na.Reason)
				}
			}
		}
		if n == 0 {
			t.Errorf("%s: no reason is given", b)
		}
	}
}

// TestExternalMarks: who repeats without a key makes a second booking wherever an answer is lost, and who
// repeats under one that the API keeps makes none. Nothing is invalid in any variant.
func TestExternalMarks(t *testing.T) {
	h := openHotel(t)
	run, err := runOnce(t.TempDir(), 1, "--suite", "full", "--system", "blind", "--workload", h.workload(t, keyed...))
	if err != nil {
		t.Fatal(err)
	}
	cells := 0
	for _, c := range run.Cells {
		cells++
		if c.Invalid > 0 || c.Unjudged > 0 {
			t.Errorf("%s at %s %s proves nothing (trial %s)", c.System, c.Boundary, c.Variant, c.Trial)
		}
		lost := c.Boundary == bench.CommittedBeforeResponse && c.Variant == "reset"
		if worst := worstOf([]report.Cell{c}); c.System == "ledger" && worst != bench.MarkExact && c.Variant != "reset/every-attempt" && c.Variant != "refused/agent-link" && c.Variant != "close/every-attempt" ||
			lost && c.System == "blind" && worst != bench.MarkViolation || lost && c.System == "native-token" && worst != bench.MarkExact {
			t.Errorf("%s at %s %s: %v", c.System, c.Boundary, c.Variant, worst)
		}
	}
	if cells < 200 {
		t.Errorf("%d cells, expected some hundreds", cells)
	}
}

// invalidBy runs one boundary and returns what is shown of the trials that prove nothing.
func invalidBy(t *testing.T, status int, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	file, err := runIn(dir, status, append([]string{"--system", "blind", "--boundary", "committed-before-response"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	text, err := reported(file)
	if err != nil {
		t.Fatal(err)
	}
	run, err := parsed(file, text)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range run.Cells {
		if c.Invalid == 0 {
			continue
		}
		told, err := exec.Command("sixthcopy", "show", c.Trial, "--run", file).CombinedOutput()
		if err != nil {
			t.Fatalf("show %s: %v: %s", c.Trial, err, told)
		}
		all = append(all, strings.Fields(string(told))...)
	}
	return strings.Join(all, " ")
}

// TestExternalProvesNothing: what the harness cannot know makes a trial invalid, with its reason, and the run
// ends with status 3.
func TestExternalProvesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		hotel   func(*hotel)
		changes []string
		want    string
	}{
		"the upstream dies in mid-trial": {hotel: func(h *hotel) { h.diesAt = 3 }, want: "did not answer: it ended the connection"},
		"the oracle reads nothing":       {changes: []string{"FROM bookings", "FROM bookings WHERE id < 0"}, want: "the oracle reads something else than the tool makes"},
		"it reads another class":         {changes: []string{"'booking' AS class", "'invoice' AS class", "{receipt: rows.0.id, ", "{"}, want: "the oracle shows no booking that fits it"},
		"its ids are no receipts":        {changes: []string{"SELECT id,", "SELECT 'b-' || id AS id,"}, want: "the oracle does not show its object"},
		"the oracle shows it late":       {hotel: func(h *hotel) { h.shows = 300 * time.Millisecond }, want: "if it takes longer to show, say so in oracle.lag"},
	} {
		t.Run(name, func(t *testing.T) {
			h := openHotel(t)
			if c.hotel != nil {
				c.hotel(h)
			}
			if told := invalidBy(t, int(inconclusive), "--workload", h.workload(t, c.changes...)); !strings.Contains(told, c.want) {
				t.Errorf("shown is\n%s\nexpected %q in it", told, c.want)
			}
		})
	}
}

// TestExternalLag: with its lag declared, an oracle that shows a commit late is waited for.
func TestExternalLag(t *testing.T) {
	h := openHotel(t)
	h.shows = 150 * time.Millisecond
	if told := invalidBy(t, int(violated), "--workload", h.workload(t, "    sql:", "    lag: 8s\n    sql:")); told != "" {
		t.Errorf("a trial proves nothing: %s", told)
	}
}

// TestExternalIsNotRun: what cannot work, or must not be reached, is told before anything is sent.
func TestExternalIsNotRun(t *testing.T) {
	down := httptest.NewServer(nil)
	down.Close()
	for name, c := range map[string]struct {
		changes []string
		args    []string
		want    string
	}{
		"another host": {changes: []string{`upstream: http://`, `upstream: http://api.example.com # `},
			want: `api.example.com is not on this machine: trials would make effects there, repeated and unwanted ones too.*hint: .*--allow-host api.example.com`},
		"another host than allowed": {changes: []string{`upstream: http://`, `upstream: http://api.example.com # `}, args: []string{"--allow-host", "example.com"}, want: "api.example.com is not on this machine"},
		"the oracle at another host": {changes: []string{"sql:\n", "http: [{url: \"https://api.example.com/b\", class: booking, id: id, attributes: {guest: guest}}]\n", "      database: sqlite", "#", "      query", "#"},
			want: "api.example.com is not on this machine"},
		"nobody there":       {changes: []string{"upstream: http://", "upstream: " + down.URL + " # "}, want: "booking: provider: upstream .* cannot be reached"},
		"no table":           {changes: []string{"FROM bookings", "FROM booking"}, want: "booking: oracle: database .*: no such table: booking"},
		"a missing variable": {changes: []string{"      method: POST", "      method: POST\n      headers: {Authorization: \"Bearer ${env.SIXTHCOPY_NOT_SET}\"}"}, want: "the environment has no SIXTHCOPY_NOT_SET: export it before the run"},
		"requests look alike": {changes: []string{"  find_bookings:\n", "  book_suite:\n    makes: booking\n    arguments: {guest: {}, room: {}, nights: {type: number}, note: {optional: true}}\n    request: {method: POST, path: /staging/bookings/-/insert, json: {row: {guest: \"${guest}\", room: \"${room}\", nights: \"${nights}\", note: \"${note}\"}}}\n  find_bookings:\n"},
			want: "the request of book_room reads as one of book_suite too: expected requests that differ"},
	} {
		t.Run(name, func(t *testing.T) {
			h := openHotel(t)
			dir := t.TempDir()
			cmd := exec.Command("sixthcopy", append([]string{"run", "--out", "run.db", "--workload", h.workload(t, c.changes...)}, c.args...)...)
			cmd.Dir = dir
			said, err := cmd.CombinedOutput()
			if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != int(misused) {
				t.Fatalf("%v: %s", err, said)
			}
			if line := strings.Join(strings.Fields(string(said)), " "); !regexp.MustCompile(c.want).MatchString(line) {
				t.Errorf("got %s\nexpected %s", line, c.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "run.db")); err == nil || h.posts > 0 {
				t.Errorf("a run was begun, %d requests were sent", h.posts)
			}
		})
	}
}
