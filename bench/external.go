package bench

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// This file says what a provider is that the harness did not make: a staging API, say. The workload declares
// where it is, the tools that reach it, and how what exists there is read from outside. Nothing can be done
// inside such a provider, so faults that need that are placed before or behind it, or do not apply.

// KindExternal is the kind of such a provider.
const KindExternal = "external"

// TrialWord stands in the texts of an external workload for a word that no other trial has, nor any run.
const TrialWord = "${trial}"

// External is a provider that is there already.
type External struct {
	Upstream string         `json:"upstream"`          // its base URL
	WarmUp   string         `json:"warm_up,omitempty"` // path of a read that changes nothing, for the first exchange of a connection
	Terms    Terms          `json:"terms"`             // what it promises, as the workload declares it
	Oracle   ExternalOracle `json:"oracle"`
}

// ExternalOracle says how what exists is read, past the API's own tools: by one of three ways.
type ExternalOracle struct {
	SQL     *SQLOracle   `json:"sql,omitempty"`
	HTTP    []HTTPOracle `json:"http,omitempty"`
	Command []string     `json:"command,omitempty"` // argv of a program that prints a JSON list of objects
	LagMS   int          `json:"lag_ms,omitempty"`  // how long after an answer its effect may take to show, in real time
}

// SQLOracle is a query with the columns id and class; every other column is an attribute of its name.
type SQLOracle struct {
	Database string `json:"database"` // sqlite:PATH
	Query    string `json:"query"`
}

// HTTPOracle is a GET whose JSON answer lists the objects of one class.
type HTTPOracle struct {
	URL        string            `json:"url"`
	Headers    map[string]string `json:"headers,omitempty"`
	Class      string            `json:"class"`
	List       string            `json:"list,omitempty"` // JSON path of the list; empty: the whole answer
	ID         string            `json:"id"`             // JSON path in an object
	Attributes map[string]string `json:"attributes"`     // attribute -> JSON path in an object
	More       string            `json:"more,omitempty"` // JSON path of what says that the list is not complete, which is an error
	Newest     bool              `json:"newest_first,omitempty"`
}

// ExternalTool is a tool that a workload declares itself: its arguments, and the one request that each call
// makes of the provider. Texts hold ${ARGUMENT} where an argument goes.
type ExternalTool struct {
	About     string             `json:"about,omitempty"`
	Makes     string             `json:"makes,omitempty"` // class of the effect of a call; empty: a read
	Arguments []ExternalArgument `json:"arguments"`
	LookUp    string             `json:"look_up,omitempty"` // tool that finds an effect of this one again
	Request   ExternalRequest    `json:"request"`
	Answer    ExternalAnswer     `json:"answer"`
}

// Types of a declared argument.
const (
	ArgumentText   = "text"
	ArgumentNumber = "number"
	ArgumentEither = "text-or-number"
)

// ExternalArgument is one argument, and the attribute of the same name of what a call makes.
type ExternalArgument struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	About    string `json:"about,omitempty"`
	Required bool   `json:"required,omitempty"`
	Free     bool   `json:"free,omitempty"` // free text
}

// ExternalRequest is the template of a request; at most one of JSON, Form and Text is its body.
type ExternalRequest struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Query   map[string]string `json:"query,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	JSON    any               `json:"json,omitempty"`
	Form    map[string]string `json:"form,omitempty"`
	Text    string            `json:"text,omitempty"`
}

// ExternalAnswer says how an answer is read. Statuses that it does not name are read as HTTP has them.
type ExternalAnswer struct {
	Done     []int          `json:"done,omitempty"`
	Refused  []int          `json:"refused,omitempty"`
	Conflict []int          `json:"conflict,omitempty"`
	Receipt  string         `json:"receipt,omitempty"` // JSON path of the object's id
	Message  string         `json:"message,omitempty"` // JSON path of an error's text
	Found    *ExternalFound `json:"found,omitempty"`   // reads
}

// ExternalFound says how a read's answer lists objects.
type ExternalFound struct {
	List       string            `json:"list,omitempty"`
	ID         string            `json:"id"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Newest     bool              `json:"newest_first,omitempty"`
}

// toolsOf are the tools that a workload may name: those of the catalogue and its own, which declare makes.
func toolsOf(w Workload, catalogue map[string]Tool, declare func(string, ExternalTool) Tool) map[string]Tool {
	if w.Provider.External == nil || declare == nil {
		return catalogue
	}
	all := maps.Clone(catalogue)
	for name, use := range w.Tools {
		if use.External != nil {
			all[name] = declare(name, *use.External)
		}
	}
	return all
}

// inTrial is an external workload with a word of the trial's own in the place of ${trial}.
func (w Workload) inTrial(word string) (Workload, error) {
	if w.Provider.External == nil {
		return w, nil
	}
	text, err := json.Marshal(w)
	if err != nil {
		return w, fmt.Errorf("workload %s as JSON: %w", w.Name, err)
	}
	var own Workload
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), TrialWord, word)), &own); err != nil {
		return w, fmt.Errorf("workload %s with %s filled in: %w", w.Name, TrialWord, err)
	}
	return own, nil
}

// outside fits a fault to a provider that cannot be made to do anything: "" or the reason why it does not
// apply. What is held inside a fake is held at its door here; a mirror is a request that never gets in, where
// nobody can see the difference.
func outside(f Fault) (Fault, string) {
	switch f.Boundary {
	case ReceivedBeforeCommit:
		return f, "an external provider cannot be held between receipt and commit, nor made to roll back"
	case DuringCancellation:
		return f, "what an external provider makes of a cancelled request, between receipt and commit, is its own and cannot be placed"
	case TokenExpired:
		return f, "an external provider's clock is its own: no retention can be made to pass"
	}
	for _, a := range f.Meets {
		switch a.Act {
		case Fail:
			return f, "the failure would have to be the external provider's own"
		case CrashAct:
			return f, "an external provider is not the harness's to crash"
		}
	}
	never := f.Meets[BeforeCommit].Act == Rollback
	if never && f.Meets[AgentResponse].Act == Truncate {
		return f, "the mirror needs a part of an answer to what an external provider has not done"
	}
	if f.Park == BeforeCommit {
		f.Park = Received
	}
	if never {
		f.Meets = maps.Clone(f.Meets)
		delete(f.Meets, BeforeCommit)
		f.Meets[Received] = Action{Act: Reset}
	}
	return f, ""
}

// own are the parts of an id. What an external provider keeps outlives the trial, so ids that keys and references
// may come of are no other trial's there.
func (st *stage) own(parts ...any) []any {
	if st.trial.Workload.Provider.External != nil {
		parts = append(parts, st.word)
	}
	return parts
}

// conversation is the conversation's id, likewise.
func (st *stage) conversation() string {
	if st.trial.Workload.Provider.External != nil {
		return "conversation-" + st.word
	}
	return "conversation-1"
}

// warmUp is the path of a read at an external provider.
func (st *stage) warmUp() string {
	if x := st.trial.Workload.Provider.External; x != nil {
		return x.WarmUp
	}
	return ""
}

// At reads the value at a JSON path, members and indexes of lists joined by points; the empty path is the
// whole.
func At(v any, path string) (any, bool) {
	if path == "" {
		return v, true
	}
	for _, name := range strings.Split(path, ".") {
		switch t := v.(type) {
		case map[string]any:
			next, ok := t[name]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(t) {
				return nil, false
			}
			v = t[i]
		default:
			return nil, false
		}
	}
	return v, true
}
