package workloads

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Problem is one thing that is wrong in a workload file.
type Problem struct {
	File   string
	Line   int // from 1
	Column int // from 1, in characters
	Text   string
}

func (p Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Text)
}

// Problems is the error of a workload file that cannot be used: everything that is wrong in it, sorted by
// position.
type Problems struct{ List []Problem }

func (p *Problems) Error() string {
	lines := make([]string, len(p.List))
	for i, one := range p.List {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// sorted returns list as an error, nil if it is empty.
func sorted(list []Problem) error {
	if len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Text, b.Text))
	})
	return &Problems{List: slices.Compact(list)}
}

// mostNamed is how many words a message names before it sends the reader to the schema.
const mostNamed = 16

// oneOf says which words are expected where word came, with the nearest of them if one is near.
func oneOf(word string, known []string) string {
	text := "expected one of " + strings.Join(known, ", ")
	if len(known) > mostNamed {
		text = "expected one of those that `sixthcopy schema` names"
	}
	if len(known) == 0 {
		text = "expected none"
	}
	if len(known) == 1 {
		text = "expected " + known[0]
	}
	if near := nearest(word, known); near != "" {
		text += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return text
}

// nearest returns the known word with the fewest edits from word, "" if none is near: more than a third
// of its letters would have to change. Words too long to be misspelt names are near to nothing.
func nearest(word string, known []string) string {
	if len(word) > 80 {
		return ""
	}
	best, least := "", 0
	for _, k := range known {
		d := edits(strings.ToLower(word), strings.ToLower(k))
		if d <= max(1, max(len(word), len(k))/3) && (best == "" || d < least) {
			best, least = k, d
		}
	}
	return best
}

// short is text for a message: its beginning if it is long.
func short(text string) string {
	if utf8.RuneCountInString(text) <= 80 {
		return text
	}
	return string([]rune(text)[:80]) + "..."
}

// edits counts the letters to insert, delete, replace or swap with their neighbour to make b of a.
func edits(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
