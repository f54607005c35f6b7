package oracles

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
)

func same(text string) (string, error) { return text, nil }

// readBy opens an oracle and reads once.
func readBy(t *testing.T, o bench.ExternalOracle) ([]bench.Effect, error) {
	t.Helper()
	read, err := Outside(o, same)
	if err != nil {
		return nil, err
	}
	return read(t.Context())
}

// bookings is what each of the ways has to read.
var bookings = []bench.Effect{
	{Object: "1", Class: "booking", Sign: 1, Attrs: map[string]any{"guest": "ann", "nights": 2}},
	{Object: "2", Class: "booking", Sign: 1, Attrs: map[string]any{"guest": "bob", "price": 12.5}},
}

func staging(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "staging.db")
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(`CREATE TABLE bookings (id INTEGER PRIMARY KEY, guest TEXT, nights INTEGER, price REAL);
		INSERT INTO bookings VALUES (1, 'ann', 2, NULL), (2, 'bob', NULL, 12.5)`)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSQLOracle(t *testing.T) {
	path := staging(t)
	ask := func(database, query string) ([]bench.Effect, error) {
		return readBy(t, bench.ExternalOracle{SQL: &bench.SQLOracle{Database: database, Query: query}})
	}
	got, err := ask("sqlite:"+path, "SELECT id, 'booking' AS class, guest, nights, price FROM bookings ORDER BY id")
	if err != nil || !reflect.DeepEqual(got, bookings) {
		t.Errorf("got %v, %v", got, err)
	}
	for query, want := range map[string]string{
		"SELECT id, guest FROM bookings":                                                "has the columns id, guest: expected id and class among them",
		"SELECT id, 'booking' AS class FROM booking":                                    "no such table: booking",
		"SELECT NULL AS id, 'booking' AS class FROM bookings":                           `row 1 has id "" and class "booking": expected both`,
		"INSERT INTO bookings VALUES (3, 'eve', 1, 1) RETURNING id, 'booking' AS class": "readonly",
	} {
		if got, err := ask("sqlite:"+path, query); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v; expected %q", query, got, err, want)
		}
	}
	missing := filepath.Join(t.TempDir(), "none.db")
	if _, err := ask("sqlite:"+missing, "SELECT 1"); err == nil {
		t.Error("a file that is not there was read")
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("reading made the file")
	}
	if _, err := ask("postgres://127.0.0.1/staging", "SELECT 1"); err == nil || !strings.Contains(err.Error(), "read another database by a command") {
		t.Errorf("another database: %v", err)
	}
}

func TestHTTPOracle(t *testing.T) {
	followed := false
	mux := http.NewServeMux()
	answer := func(path, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, body) })
	}
	answer("/page", `{"data": {"rows": [{"n": 2, "who": {"name": "bob"}, "price": 12.5}, {"n": 1, "who": {"name": "ann"}, "nights": 2, "price": null}]}, "more": false}`)
	answer("/cut", `{"data": {"rows": []}, "more": "cursor_2"}`)
	answer("/other", `{"rows": {}}`)
	answer("/text", `<html>`)
	answer("/nameless", `{"data": {"rows": [{"who": {}}]}}`)
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/production", http.StatusFound) })
	mux.HandleFunc("/production", func(http.ResponseWriter, *http.Request) { followed = true })
	mux.HandleFunc("/locked", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"data": {"rows": []}}`)
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	ask := func(path string, headers map[string]string) ([]bench.Effect, error) {
		return readBy(t, bench.ExternalOracle{HTTP: []bench.HTTPOracle{{URL: srv.URL + path, Headers: headers, Class: "booking", List: "data.rows", ID: "n",
			Attributes: map[string]string{"guest": "who.name", "nights": "nights", "price": "price"}, More: "more", Newest: true}}})
	}
	got, err := ask("/page?limit=100", nil)
	if err != nil || !reflect.DeepEqual(got, bookings) {
		t.Errorf("got %v, %v", got, err)
	}
	for path, want := range map[string]string{
		"/cut":      "the list is not complete (more is cursor_2)",
		"/other":    `there is no list at "data.rows"`,
		"/text":     "is no JSON",
		"/nameless": `expected its id, a text or a number`,
		"/moved":    "status 302, expected 200",
		"/locked":   "status 401, expected 200",
	} {
		if got, err := ask(path, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v; expected %q", path, got, err, want)
		}
	}
	if followed {
		t.Error("a redirection was followed")
	}
	if _, err := ask("/locked", map[string]string{"Authorization": "Bearer s"}); err != nil {
		t.Error(err)
	}
	srv.Close()
	if _, err := ask("/page?token=secret", nil); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a service that is down: %v", err)
	}
}

func TestCommandOracle(t *testing.T) {
	ask := func(argv ...string) ([]bench.Effect, error) { return readBy(t, bench.ExternalOracle{Command: argv}) }
	got, err := ask("printf", "%s", `[{"id": 1, "class": "booking", "guest": "ann", "nights": 2, "price": null}, {"id": "2", "class": "booking", "guest": "bob", "price": 12.5}]`)
	if err != nil || !reflect.DeepEqual(got, bookings) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, c := range []struct{ argv, want string }{
		{"echo never mind", "expected a JSON list like"},
		{"printf %s {}", "expected a JSON list like"},
		{`printf %s [{"id":1}]`, "object 1 has id 1 and class <nil>: expected both"},
		{"sh -c echo_is_not_there", "command sh: exit status 127"},
		{"/not/there", "command /not/there: "},
	} {
		if got, err := ask(strings.Fields(c.argv)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, %v; expected %q", c.argv, got, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	read, err := Outside(bench.ExternalOracle{Command: []string{"sleep", "60"}}, same)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(ctx); err == nil {
		t.Error("a reading that was given up ended well")
	}
}

// Variables of the environment are filled in when an oracle is opened; one that is missing is named then.
func TestOracleVariables(t *testing.T) {
	lacks := func(text string) (string, error) {
		if strings.Contains(text, "${env.URL}") {
			return "", fmt.Errorf("the environment has no URL")
		}
		return text, nil
	}
	for _, o := range []bench.ExternalOracle{
		{SQL: &bench.SQLOracle{Database: "sqlite:${env.URL}"}},
		{HTTP: []bench.HTTPOracle{{URL: "http://127.0.0.1/${env.URL}"}}},
		{HTTP: []bench.HTTPOracle{{URL: "http://127.0.0.1/", Headers: map[string]string{"Authorization": "${env.URL}"}}}},
		{Command: []string{"psql", "${env.URL}"}},
	} {
		if _, err := Outside(o, lacks); err == nil || !strings.Contains(err.Error(), "no URL") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := Outside(bench.ExternalOracle{}, same); err == nil {
		t.Error("an oracle that says nothing was opened")
	}
}
