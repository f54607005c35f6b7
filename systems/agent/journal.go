package agent

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// state is how much is known of an effect.
type state string

const (
	notStarted   state = "not_started"            // recorded, never dispatched
	inProgress   state = "in_progress"            // dispatched, or about to be
	committed    state = "committed"              // it exists, with its receipts
	failedBefore state = "failed_before_effect"   // proved not to exist
	unknownAfter state = "unknown_after_dispatch" // a pending fact
)

// effect is the durable record of one effect that the user asked for. Retries add attempts, never effects.
type effect struct {
	ID          string         `json:"effect_id"`
	Workflow    string         `json:"workflow_id"` // the conversation
	Turn        string         `json:"turn"`
	Ordinal     int            `json:"call"`
	Generation  int            `json:"generation"`       // raised when a refused call is replaced by a repaired one
	IntentHash  string         `json:"intent_hash"`      // of tool and canonical arguments
	Tool        string         `json:"tool"`             // its name
	Contract    string         `json:"contract_version"` // of the contract that the tool advertised
	Authority   string         `json:"authority"`        // who asked, and the decision in force
	Target      string         `json:"target"`           // canonical arguments
	Args        map[string]any `json:"args"`             // as first given
	Attempts    []try          `json:"attempts"`
	State       state          `json:"state"`
	ProviderKey string         `json:"provider_key,omitempty"`
	Reference   string         `json:"reference,omitempty"`
	Receipts    []string       `json:"receipt,omitempty"`
	Part        bool           `json:"part,omitempty"`              // committed, in part only: the receipts say which
	KeyDeadline time.Time      `json:"retention_deadline,omitzero"` // virtual; the provider may forget the key from then on
	LostAt      time.Time      `json:"lost_at,omitzero"`            // virtual; the last ambiguous attempt was over by then
	Refused     bool           `json:"refused,omitempty"`           // the provider will never take these arguments
	Cancelled   bool           `json:"cancelled,omitempty"`
	Withdrawn   bool           `json:"withdrawn,omitempty"`
	Conflicts   int            `json:"conflicts,omitempty"` // repairs with other arguments that were turned down
	CallIDs     []string       `json:"call_ids"`            // under which it was asked for
}

// try is one attempt.
type try struct {
	ID    string    `json:"id"`
	Begun time.Time `json:"begun"` // virtual
	Saw   sight     `json:"saw,omitempty"`
}

// journal holds effect records. Each change is appended and synced before anything rests on it; the last
// line of an id counts. It is used by one goroutine.
type journal struct {
	file    *os.File
	effects []*effect // in the order of their first record
	bytes   int64
	runs    int // processes that have opened it
}

// line is one line of the journal: a process's start, or a state of an effect.
type line struct {
	Opened int     `json:"opened,omitempty"`
	Effect *effect `json:"effect,omitempty"`
}

// openJournal reads the journal of a state folder, or makes one. A line cut short by a kill is dropped. An
// effect found in progress was dispatched by a process that is dead: nobody knows what became of it.
func openJournal(dir string, now time.Time) (*journal, error) {
	path := filepath.Join(dir, "effects.jsonl")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j := &journal{file: f}
	if err := j.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", path, err), f.Close())
	}
	for _, e := range j.effects {
		if e.State == inProgress {
			e.State, e.LostAt = unknownAfter, now
		}
	}
	j.runs++
	if err := j.append(line{Opened: j.runs}); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if j.runs == 1 {
		if err := syncDir(dir); err != nil {
			return nil, errors.Join(fmt.Errorf("journal folder: %w", err), f.Close())
		}
	}
	return j, nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// load reads whole lines and cuts off what follows the last one.
func (j *journal) load() error {
	r := bufio.NewReader(j.file)
	for {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		var l line
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&l); err != nil {
			return fmt.Errorf("line at byte %d: %w", j.bytes, err)
		}
		j.bytes += int64(len(text))
		if l.Effect != nil {
			j.remember(l.Effect)
		}
		j.runs = max(j.runs, l.Opened)
	}
	if err := j.file.Truncate(j.bytes); err != nil {
		return err
	}
	_, err := j.file.Seek(j.bytes, io.SeekStart)
	return err
}

func (j *journal) remember(e *effect) {
	if i := slices.IndexFunc(j.effects, func(o *effect) bool { return o.ID == e.ID }); i >= 0 {
		j.effects[i] = e
		return
	}
	j.effects = append(j.effects, e)
}

// put makes the state of an effect durable. Nothing that rests on it may happen if it fails.
func (j *journal) put(e *effect) error {
	if err := j.append(line{Effect: e}); err != nil {
		return err
	}
	j.remember(e)
	return nil
}

func (j *journal) append(l line) error {
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	text = append(text, '\n')
	if _, err := j.file.Write(text); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	j.bytes += int64(len(text))
	return nil
}

func (j *journal) close() { _ = j.file.Close() } // every line was synced when it was written

// find returns the effect of a call in its latest generation, nil if there is none.
func (j *journal) find(ref bench.CallRef) *effect {
	var last *effect
	for _, e := range j.effects {
		if e.Turn == ref.Turn && e.Ordinal == ref.Ordinal {
			last = e
		}
	}
	return last
}

// identity is a stable id made of parts. The effect id of the ledger is made of conversation, turn and
// ordinal, so that the same call has the same one in every run; it stays unique as long as they are.
func identity(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	h := hex.EncodeToString(sum[:16])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// canonical writes arguments so that equal values read the same: sorted names, 5 as 5.00.
func canonical(args map[string]any) string {
	var b strings.Builder
	writeCanonical(&b, args)
	return b.String()
}

func writeCanonical(b *strings.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		b.WriteByte('{')
		for i, name := range names {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.Quote(name) + ":")
			writeCanonical(b, v[name])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeCanonical(b, item)
		}
		b.WriteByte(']')
	case string:
		b.WriteString(strconv.Quote(v))
	default:
		b.WriteString(canonicalNumber(fmt.Sprint(v)))
	}
}

// intentHash names what a call asks for: the tool and its canonical arguments.
func intentHash(tool string, args map[string]any) string {
	sum := sha256.Sum256([]byte(tool + "\x00" + canonical(args)))
	return hex.EncodeToString(sum[:])
}

// canonicalNumber writes equal numbers alike: 5, 5.00, 5e0. What is no number, or one of a size that no
// amount has, stays as it is.
func canonicalNumber(text string) string {
	if mantissa, exponent, found := strings.Cut(strings.ToLower(text), "e"); found {
		if n, err := strconv.Atoi(exponent); err != nil || n < -64 || n > 64 || mantissa == "" {
			return text
		}
	}
	if len(text) > 64 {
		return text
	}
	if r, ok := new(big.Rat).SetString(text); ok {
		return r.RatString()
	}
	return text
}
