package systems

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// wordTypes lists what a system may say, with the fields that each type must have.
var wordTypes = map[string][]string{
	"ack": {"seq"}, "started": {"wire"}, "claim": {"turn", "call", "outcome"}, "ask": {"turn", "call"},
	"wait": {"turn", "call"}, "at": {"event"}, "idle": nil, "finished": nil, "error": {"detail"},
}

var outcomes = []string{bench.Done, bench.Failed, bench.Unknown, bench.Partial, bench.Deferred}

// parseWord reads one line of a system strictly. The problem says what came, what was expected and what
// to do; it is empty if there is none.
func parseWord(line []byte) (w bench.Word, problem string) {
	quoted := quote(line)
	if len(line) == 0 {
		return w, "an empty line; stdout carries one JSON object a line"
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return w, quoted + ": " + explain(err) + "; log to stderr, stdout carries one JSON object a line (docs/wire-contract.md)"
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return w, quoted + ": more than one JSON value on a line"
	}
	required, known := wordTypes[w.Type]
	if !known {
		return w, fmt.Sprintf("%s: type %q is not known%s; expected one of %s", quoted, w.Type, meant(w.Type, sortedKeys(wordTypes)), strings.Join(sortedKeys(wordTypes), ", "))
	}
	given := map[string]bool{
		"seq": w.Seq > 0, "wire": w.Wire > 0, "turn": w.Turn != "", "call": w.Ordinal > 0, "outcome": w.Outcome != "",
		"event": w.Event != "", "detail": w.Detail != "",
	}
	for _, field := range required {
		if !given[field] {
			return w, fmt.Sprintf("%s: %s without %q; it has %s", quoted, w.Type, field, strings.Join(required, ", "))
		}
	}
	if w.Type == "claim" && !slices.Contains(outcomes, w.Outcome) {
		return w, fmt.Sprintf("%s: outcome %q is not known%s; expected one of %s", quoted, w.Outcome, meant(w.Outcome, outcomes), strings.Join(outcomes, ", "))
	}
	if w.Until != "" {
		if _, err := time.Parse(time.RFC3339Nano, w.Until); err != nil {
			return w, fmt.Sprintf("%s: until is %q, expected a virtual time by RFC 3339, or nothing to withdraw the wait", quoted, w.Until)
		}
	}
	return w, ""
}

// quote shows the start of a line as it came, in back quotes where it has double ones.
func quote(line []byte) string {
	text := string(line)
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "..."
	}
	if strings.Contains(text, `"`) && strconv.CanBackquote(text) {
		return "`" + text + "`"
	}
	return strconv.Quote(text)
}

// explain says what the JSON decoder found, in terms of the contract.
func explain(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		if wrong.Field == "" {
			return fmt.Sprintf("a JSON %s, expected an object", wrong.Value)
		}
		return fmt.Sprintf("field %q is a JSON %s, expected %s", wrong.Field, wrong.Value, jsonKind(wrong.Type.Kind().String()))
	}
	if name, found := strings.CutPrefix(err.Error(), "json: unknown field "); found {
		name = strings.Trim(name, `"`)
		return fmt.Sprintf("unknown field %q%s", name, meant(name, wordFields))
	}
	return "not JSON"
}

// wordFields lists the fields of all words.
var wordFields = []string{
	"type", "seq", "wire", "versions", "can", "kill", "turn", "call", "outcome", "receipts", "detail", "until", "why",
	"event", "escalations", "ledger_bytes", "tokens",
}

// jsonKind names a Go kind as JSON does.
func jsonKind(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"):
		return "a whole number"
	case kind == "slice":
		return "an array"
	case kind == "map", kind == "struct":
		return "an object"
	}
	return "a " + kind
}

// isHello reports whether the first line of a connection carries the token.
func isHello(line []byte, token string) bool {
	var hello struct {
		Type  string `json:"type"`
		Token string `json:"token"`
	}
	return json.Unmarshal(line, &hello) == nil && hello.Type == "hello" && hello.Token == token
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// meant suggests the nearest known name: ` (did you mean "claim"?)`, or nothing if none is near.
func meant(name string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if d := distance(name, k); d < least {
			best, least = k, d
		}
	}
	if best == "" || name == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// distance is the least number of single-character insertions, deletions and replacements from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
