package report

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
)

// Normalise renders a history so that two runs of the same seed and versions give the same bytes: no
// times, events ordered by actor, and every name that is made anew in each run replaced by a number in
// the order of first appearance. What is left is what happened: a changed, added or missing event changes
// the bytes.
//
// Within an actor events stay in the order in which they came, but for links and providers, which serve
// connections at the same time: there the events of one connection stand together. How the late end of
// one falls between the events of another is chance.
//
// Names made anew are the values of the fields in idFields and receipts, whatever they look like, and,
// inside any other text, those same values (if long enough to be no ordinary word or number), loopback
// addresses, UUIDs, long hexadecimal strings and temporary folders. Business values stay.
func Normalise(events []bench.Event) []byte {
	byActor := slices.Clone(events)
	slices.SortStableFunc(byActor, func(a, b bench.Event) int {
		return cmp.Or(strings.Compare(a.Actor, b.Actor), strings.Compare(a.Link, b.Link), a.Conn-b.Conn)
	})
	n := &normaliser{ids: map[string]bool{}, numbers: map[string]int{}, next: map[string]int{}}
	plain := make([]any, len(byActor))
	for i, e := range byActor {
		e.Tick, e.Virtual, e.Micros = 0, "", 0
		plain[i] = decoded(e)
		n.collect("", plain[i])
	}
	var out bytes.Buffer
	for i := range plain {
		n.write(&out, "", plain[i])
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// HashHistories hashes the normalised histories of a cell's trials, given in the order of seed and
// repetition.
func HashHistories(normalised [][]byte) string {
	h := sha256.New()
	for _, b := range normalised {
		fmt.Fprintf(h, "%d\n", len(b))
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Fields that are times, or whose length hangs on one, or a place in this machine: left out.
var timeFields = map[string]bool{"tick": true, "virtual": true, "us": true, "now": true, "until": true, "ledger_bytes": true}

// Fields whose whole value is a name made anew in each run. The same value is the same name wherever
// it appears, so that an id that is used as a receipt keeps its number.
var idFields = map[string]bool{
	"id": true, "key": true, "request": true, "idempotency_key": true, "reference": true, "call_id": true,
	"request_id": true, "conversation": true, "state_dir": true, "token": true, "address": true, "model": true,
	"receipts": true, "object": true, "record": true, "providers": true,
}

// name is what may be a generated name inside a text; anewName is what certainly is one.
var (
	name     = regexp.MustCompile(`(?:/[\w.\-]+)+|(?:\[::1\]|[A-Za-z0-9][\w.\-]*):\d+|[A-Za-z0-9_][\w.\-]*`)
	anewName = regexp.MustCompile(`^(?:(?:\[::1\]|localhost|127\.\d+\.\d+\.\d+):\d+|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{16,}|/(?:tmp|var/folders)/.*)$`)
	moment   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`)
)

type normaliser struct {
	ids     map[string]bool // values of id fields that are told apart inside texts
	numbers map[string]int
	next    map[string]int
}

// collect finds the names that fields declare, so that texts before them are renamed too.
func (n *normaliser) collect(field string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			inner := k
			if field == "providers" { // address by kind
				inner = field
			}
			n.collect(inner, e)
		}
	case []any:
		for _, e := range v {
			n.collect(field, e)
		}
	case string:
		if idFields[field] && distinct(v) {
			n.ids[v] = true
		}
	}
}

// distinct says whether a name can be told from ordinary words and numbers inside a text.
func distinct(s string) bool {
	return len(s) >= 4 && strings.ContainsAny(s, "0123456789") && strings.Trim(s, "0123456789.") != ""
}

func (n *normaliser) write(out *bytes.Buffer, field string, v any) {
	switch v := v.(type) {
	case map[string]any:
		out.WriteByte('{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if timeFields[k] {
				continue
			}
			out.WriteString(strconv.Quote(k))
			out.WriteByte(':')
			inner := k
			if field == "providers" {
				inner = field
			}
			if k == "conn" || k == "exchange" {
				n.ordinal(out, k, v)
			} else {
				n.write(out, inner, v[k])
			}
			out.WriteByte(',')
		}
		out.WriteByte('}')
	case []any:
		out.WriteByte('[')
		for _, e := range v {
			n.write(out, field, e)
			out.WriteByte(',')
		}
		out.WriteByte(']')
	case string:
		out.WriteString(strconv.Quote(n.text(field, v)))
	case json.Number:
		if idFields[field] {
			out.WriteString(strconv.Quote(n.numbered(v.String())))
			return
		}
		out.WriteString(v.String())
	case bool:
		out.WriteString(strconv.FormatBool(v))
	case nil:
		out.WriteString("null")
	}
}

// ordinal writes the number of a connection on its link by first appearance: which of two connections
// was accepted first is chance. The number of an exchange on its connection is what it is.
func (n *normaliser) ordinal(out *bytes.Buffer, field string, event map[string]any) {
	number, _ := event[field].(json.Number)
	if field == "exchange" {
		out.WriteString(number.String())
		return
	}
	space := fmt.Sprintf("conn of %v", event["link"])
	out.WriteString(strconv.Itoa(n.number(space, space+" "+number.String())))
}

func (n *normaliser) text(field, s string) string {
	if s == "" {
		return s
	}
	if idFields[field] {
		return n.numbered(s)
	}
	if !strings.ContainsAny(s, "0123456789/") {
		return s // no generated name and no time is without one of these
	}
	s = moment.ReplaceAllString(s, "TIME")
	return name.ReplaceAllStringFunc(s, func(word string) string {
		trimmed := strings.TrimRight(word, ".-")
		if n.ids[trimmed] || anewName.MatchString(trimmed) {
			return n.numbered(trimmed) + word[len(trimmed):]
		}
		return word
	})
}

func (n *normaliser) numbered(s string) string { return "#" + strconv.Itoa(n.number("", "id "+s)) }

// number returns the number of s in its space, from 1 in the order of first appearance.
func (n *normaliser) number(space, s string) int {
	if n.numbers[s] == 0 {
		n.next[space]++
		n.numbers[s] = n.next[space]
	}
	return n.numbers[s]
}

// decoded is v as JSON has it, with numbers as they are written.
func decoded(v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		// An event holds only what came from JSON. Say so in the bytes rather than lose the event.
		return "unmarshalled event: " + err.Error()
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var out any
	if err := d.Decode(&out); err != nil {
		return "undecoded event: " + err.Error()
	}
	return out
}
