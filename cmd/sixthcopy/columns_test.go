package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"unicode/utf8"
)

// What is printed fits a terminal of 80 columns.
func TestHelpAndListsAreNarrow(t *testing.T) {
	for _, args := range []string{"--help", "run --help", "report --help", "show --help", "judge --help", "list --help", "schema --help", "provide --help",
		"list boundaries", "list contracts", "list providers", "list systems", "list workloads"} {
		var out, errw bytes.Buffer
		if got := sixthcopy(context.Background(), strings.Fields(args), nil, &out, &errw); got != 0 || out.Len() == 0 {
			t.Errorf("%s: exit status %d, %d bytes: %s", args, got, out.Len(), errw.String())
		}
		checkColumns(t, args, out.String())
	}
}

func TestShowIsNarrow(t *testing.T) {
	rec := smallTrial("10ffee", "committed-before-response")
	rec.History[1].Call.Attrs = map[string]any{"body": strings.Repeat("long words ", 40), "hash": strings.Repeat("0", 200)}
	rec.History[1].Actor = "a link with a rather long name"
	rec.History = append(rec.History, rec.History[1])
	rec.History[len(rec.History)-1].Tick = 5
	var b strings.Builder
	if err := showTrial(&b, rec, ""); err != nil {
		t.Fatal(err)
	}
	checkColumns(t, "show", b.String())
	if strings.Count(b.String(), "{as at 2}") != 1 || !strings.Contains(strings.Join(strings.Fields(b.String()), ""), strings.Repeat("longwords", 40)) {
		t.Errorf("arguments are not shown once:\n%s", b.String())
	}
}

func checkColumns(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%s: %d columns: %s", what, n, line)
		}
	}
}
