package tools

import (
	"encoding/json"
	"net/http"

	"github.com/sixthcopy/sixthcopy/bench"
)

// Status is what an answer of a tool says of the call.
type Status string

const (
	Done        Status = "done"         // it happened, or the read was answered
	Partial     Status = "partial"      // a part of it happened and the receipts name that; the rest did not and will not
	NotExecuted Status = "not_executed" // nothing was sent: the same call may be made again
	Refused     Status = "refused"      // the arguments were refused, nothing happened: the same call will be refused again
	Unknown     Status = "unknown"      // it may have happened, in part too: the receipts say what certainly did
	Conflict    Status = "conflict"     // another call stands in the way: its key is in use or bound to other arguments, or a unique value is taken
)

// VagueText is all that a tool with vague errors says of any error.
const VagueText = "The operation failed. Please try again."

// lyingText is what a tool with lying errors says of any error.
const lyingText = "The operation was not executed."

// Answer is a tool's answer to a call: the structured content over MCP, the body over plain JSON.
type Answer struct {
	Status   Status           `json:"status,omitempty"`
	Receipts []string         `json:"receipts,omitempty"` // ids of objects: made by this call, or in its way (conflict)
	Message  string           `json:"message,omitempty"`
	Found    []map[string]any `json:"found,omitzero"` // reads: id and business attributes of each object, oldest first
}

// styled words an answer in the error style of a tool.
func (a Answer) styled(style bench.ErrorStyle) Answer {
	switch {
	case a.Status == Done || a.Status == Partial && style != bench.ErrorsLying || style == bench.ErrorsTyped:
		return a
	case style == bench.ErrorsLying:
		return Answer{Status: NotExecuted, Message: lyingText}
	default:
		return Answer{Message: VagueText}
	}
}

// settled says that the call had its effect, in whole or in part, and that nothing of it is open.
func (a Answer) settled() bool { return a.Status == Done || a.Status == Partial }

// httpStatus is the status of a styled answer over plain JSON.
func (a Answer) httpStatus() int {
	switch a.Status {
	case Done, Partial:
		return http.StatusOK
	case Conflict:
		return http.StatusConflict
	case NotExecuted, Refused:
		return http.StatusUnprocessableEntity
	}
	return http.StatusBadGateway
}

// outcome is what the provider's answer to one request says.
type outcome struct {
	status   Status
	receipts []string
	message  string
	found    []map[string]any
}

// response is an answer of the provider, read to its end.
type response struct {
	status int
	header http.Header
	body   []byte
}

// object reads the body as a JSON object.
func (r response) object() (map[string]any, bool) {
	var o map[string]any
	if json.Unmarshal(r.body, &o) != nil || o == nil {
		return nil, false
	}
	return o, true
}

// list reads the body as a JSON list; nil: it is none.
func (r response) list() []any {
	var all []any
	if json.Unmarshal(r.body, &all) != nil {
		return nil
	}
	return all
}

// failed reads an answer that is no success, as far as HTTP goes. Only a refusal that the provider
// itself worded, a JSON object with a 4xx status, says that nothing happened. An edge in between can
// answer 408 and 429, and anything unreadable, for a call that went through.
func (r response) failed(message string) outcome {
	_, worded := r.object()
	switch {
	case r.status == http.StatusConflict && worded:
		return outcome{status: Conflict, message: message}
	case r.status >= 400 && r.status < 500 && worded &&
		r.status != http.StatusRequestTimeout && r.status != http.StatusTooManyRequests:
		return outcome{status: Refused, message: message}
	}
	return outcome{status: Unknown, message: message}
}
