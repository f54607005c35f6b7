// Package tools is the catalogue of tools that workloads offer to systems, and the tool server that
// offers them: a child process that speaks MCP and plain JSON to the agent and the provider's own wire
// to the provider.
//
// The catalogue is used on both sides. The harness parses calls with it (Tool.Parse), the child executes
// them. The child's client to the provider never sends a request twice by itself, so whatever arrives
// twice was asked for twice.
package tools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
)

// All lists the catalogue, a family a line. To add a tool: a value in its family's file, its name here.
var All = []*Tool{
	refundOrder, chargeOrder, listRefunds, listCharges,
	createPayout, createTransfer, listPayouts, listTransfers,
	runTask, listTasks, createService, findService,
	runInstances, findInstances,
	startSnapshot, findSnapshots,
	sendPayout, listSentPayouts,
	createTicket, findTicket,
	sendMessage,
	appendLine, readDocument,
	putFile, deleteNewest, listFiles,
	insertRow, findRow,
	createEvent, findEvent, bookAppointment, findAppointment,
	createJob, findJob, startJob, listJobs, applyConfig, readConfig,
	placeOrder, listOrders, payOrder, listOrderPayments, payUnderReference, findPayment,
	createIssue, findIssue, commentIssue, findComment, openPullRequest, findPullRequest,
	createRelease, findRelease, draftRelease, findDraft, createDeployment, findDeployment,
	postMessage, readChannel,
	enqueueMessage, enqueueMessages,
	bookSeats, findSeats, addPoints,
}

// ByName returns the tool of this name, nil if the catalogue has none.
func ByName(name string) *Tool {
	for _, t := range All {
		if t.name == name {
			return t
		}
	}
	return nil
}

// Catalogue is All by name, as the harness takes it.
func Catalogue() map[string]bench.Tool {
	all := make(map[string]bench.Tool, len(All))
	for _, t := range All {
		all[t.name] = t
	}
	return all
}

// Tool is one tool of the catalogue: its arguments, the effects that a call asks for, and the provider
// requests that carry it out.
type Tool struct {
	name     string
	provider string // kind of the provider that it talks to
	about    string // for the model
	args     []argument
	readOnly bool

	lookUp         string // tool that finds an effect of this one again
	lookUpArgument string // its argument that takes a reference; empty: it finds by business attributes only

	class   string                                        // of the effects; empty for reads
	effects func(a arguments) []map[string]any            // business attributes of each effect, at least one
	plan    func(a arguments) []request                   // the provider requests, sent one after another
	follow  func(a arguments, r response) (request, bool) // reads only: a second request that needs the answer to the first
	keep    func(a arguments, found map[string]any) bool  // reads only: what of a list the arguments ask for, where the provider cannot be asked for it; nil: all
	read    func(r response) outcome                      // reads the provider's answer to one request, the last one of a read
}

var _ bench.Tool = (*Tool)(nil)

// Name is the name by which agents call it.
func (t *Tool) Name() string { return t.name }

// Provider is the kind of the provider that it talks to.
func (t *Tool) Provider() string { return t.provider }

// Description is the text that a model is given.
func (t *Tool) Description() string { return t.about }

// ReadOnly says whether it never asks for an effect, whatever its annotations claim.
func (t *Tool) ReadOnly() bool { return t.readOnly }

// Class is the class of the effects that a call makes; "" for reads.
func (t *Tool) Class() string { return t.class }

// TakesRef says whether it has a reference argument that its look-up tool finds again.
func (t *Tool) TakesRef() bool { return t.lookUpArgument != "" }

// Requests is the number of requests that a call with these arguments makes of the provider.
func (t *Tool) Requests(args map[string]any) int { return max(1, len(t.plan(arguments(args)))) }

// LookUp names the tool that finds an effect of this one again and the argument that takes the
// reference. The argument is empty where the look-up goes by business attributes; both are empty where
// there is no look-up.
func (t *Tool) LookUp() (tool, argument string) { return t.lookUp, t.lookUpArgument }

// Parse reads a call in business terms, with the attributes that the oracle reports. It reads what it
// can: an argument of a wrong type is left as it came, an absent one is an absent attribute.
func (t *Tool) Parse(args map[string]any) bench.Call {
	call := bench.Call{Op: t.name, Class: t.class, Mutating: !t.readOnly}
	if key, ok := args[keyArgument].(string); ok {
		call.Key = key
	}
	if t.readOnly {
		return call
	}
	units := t.effects(arguments(args))
	call.Attrs = units[0]
	if len(units) > 1 {
		call.Units = units
	}
	return call
}

// Schema is the JSON Schema of the arguments, as agents are shown it.
func (t *Tool) Schema(use bench.ToolUse) map[string]any {
	properties := map[string]any{}
	required := []string{}
	for _, a := range t.accepted(use) {
		properties[a.name] = a.schema()
		if a.required {
			required = append(required, a.name)
		}
	}
	return map[string]any{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	}
}

// Arguments are the names of the arguments that the tool takes as a workload offers it.
func (t *Tool) Arguments(use bench.ToolUse) []string {
	var all []string
	for _, a := range t.accepted(use) {
		all = append(all, a.name)
	}
	return all
}

// accepted lists the arguments that the tool takes as a workload offers it.
func (t *Tool) accepted(use bench.ToolUse) []argument {
	if use.Key == bench.KeyArgument && !t.readOnly {
		return append(slices.Clone(t.args), argument{
			name: keyArgument, kind: text, about: "The same key again makes the same call again, not another one.",
		})
	}
	return t.args
}

// check says what is wrong with the arguments of a call, all of it at once.
func (t *Tool) check(args arguments, use bench.ToolUse) error {
	accepted := t.accepted(use)
	var problems []string
	for _, a := range accepted {
		value, given := args[a.name]
		if !given {
			if a.required {
				problems = append(problems, fmt.Sprintf("argument %q is missing", a.name))
			}
			continue
		}
		if !a.fits(value) {
			problems = append(problems, fmt.Sprintf("argument %q is %v, expected %s", a.name, value, a.kind))
		}
	}
	for name := range args {
		if !slices.ContainsFunc(accepted, func(a argument) bool { return a.name == name }) {
			problems = append(problems, fmt.Sprintf("argument %q is not one of %s", name, names(accepted)))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	slices.Sort(problems)
	return fmt.Errorf("call of %s: %s", t.name, strings.Join(problems, "; "))
}
