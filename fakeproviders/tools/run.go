package tools

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"syscall"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// trial is what a tool server holds for one trial: the configuration, the client to the provider, the
// virtual clock, and the memory if it has one.
type trial struct {
	config bench.ToolServerConfig
	client *client
	clock  *clock
	memory *memory // nil: none
	note   func(bench.ToolServerNote)

	began, ended func() // around a call, which can outlive its exchange
}

func newTrial(config bench.ToolServerConfig, note func(bench.ToolServerNote)) (*trial, error) {
	for name, use := range config.Tools {
		t := find(name, use)
		if t == nil {
			return nil, fmt.Errorf("tool %q is not in the catalogue", name)
		}
		if t.provider != config.ProviderKind {
			return nil, fmt.Errorf("tool %s talks to %s, the provider is %q", name, t.provider, config.ProviderKind)
		}
	}
	t := &trial{
		config: config, note: note,
		client: newClient(config.Provider, config.Fresh), clock: newClock(config.Now),
	}
	if config.Memory {
		t.memory = newMemory()
	}
	return t, nil
}

// callIDs are the names that a call comes with.
type callIDs struct {
	call    string // the agent's tool-call id
	request string // JSON-RPC id, or the request id of plain JSON
}

// call carries out a call of a tool and words the answer in the tool's error style. It ends early with
// ctx only where the trial says that a disconnect stops the call.
func (t *trial) call(ctx context.Context, tool *Tool, args arguments, ids callIDs) Answer {
	t.began()
	defer t.ended()
	if !t.config.CancelStops {
		ctx = context.WithoutCancel(ctx)
	}
	use := t.config.Tools[tool.name]
	answer := func() Answer {
		if err := tool.check(args, use); err != nil {
			return Answer{Status: Refused, Message: err.Error()}
		}
		if tool.readOnly {
			return t.read(ctx, tool, args)
		}
		id := ""
		switch {
		case args.text(keyArgument) != "":
			id = tool.name + " key " + args.text(keyArgument)
		case ids.call != "":
			id = tool.name + " call " + ids.call
		}
		if t.memory == nil || id == "" {
			return t.mutate(ctx, tool, args, t.keyOf(use, args, ids))
		}
		answer, repeated := t.memory.once(ctx, id, func() Answer {
			return t.mutate(ctx, tool, args, t.keyOf(use, args, ids))
		})
		if repeated {
			note := bench.ToolServerNote{Kind: "dedup", Key: args.text(keyArgument), Detail: id}
			if len(answer.Receipts) > 0 {
				note.Object = answer.Receipts[0]
			}
			t.note(note)
		}
		return answer
	}()
	return answer.styled(use.Errors)
}

// keyOf is the idempotency key of a call towards the provider, empty for none. Where the provider demands one
// and the caller has none, one is minted, as the official clients of such providers do.
func (t *trial) keyOf(use bench.ToolUse, args arguments, ids callIDs) string {
	if key := t.givenKey(use, args, ids); key != "" || !t.config.Key.Required {
		return key
	}
	return t.mint(ids.call)
}

func (t *trial) givenKey(use bench.ToolUse, args arguments, ids callIDs) string {
	switch use.Key {
	case bench.KeyArgument:
		return args.text(keyArgument)
	case bench.KeyMinted:
		return t.mint(ids.call)
	case bench.KeyRequest:
		if ids.request != "" {
			return "request-" + ids.request
		}
	case bench.KeyMeta:
		if ids.call != "" {
			return "call-" + ids.call
		}
	}
	return ""
}

// mint makes a key of the server's own. With memory the same call id gets the same key again from this
// instance; another instance, or this one after a restart, mints another.
func (t *trial) mint(callID string) string {
	key, isNew := "", true
	if t.memory != nil && callID != "" {
		key, isNew = t.memory.mint(callID, rand.Text)
	} else {
		key = rand.Text()
	}
	if isNew {
		t.note(bench.ToolServerNote{Kind: "minted", Key: key, Detail: "for call " + callID})
	}
	return key
}

// read carries out a look-up.
func (t *trial) read(ctx context.Context, tool *Tool, args arguments) Answer {
	r := tool.plan(args)[0]
	response, err := t.exchange(ctx, r)
	if err == nil && tool.follow != nil {
		if next, more := tool.follow(args, response); more {
			r = next
			response, err = t.exchange(ctx, r)
		}
	}
	if err != nil {
		return lostAnswer(r, err)
	}
	o := tool.read(response)
	if tool.keep != nil {
		o.found = slices.DeleteFunc(o.found, func(found map[string]any) bool { return !tool.keep(args, found) })
	}
	return Answer{Status: o.status, Message: worded(r, response, o), Found: o.found}
}

// mutate sends the requests of a call one after another and stops at the first that is not done. Of a
// call that is done in part it says unknown, with the receipts of the part that is done: every other
// word would claim that the whole did, or did not, happen.
func (t *trial) mutate(ctx context.Context, tool *Tool, args arguments, key string) Answer {
	requests := tool.plan(args)
	all := Answer{Status: Done}
	for i, r := range requests {
		if key != "" {
			each := key
			if len(requests) > 1 {
				each = fmt.Sprintf("%s/%d", key, i+1)
			}
			switch {
			case r.placed:
				place(&r, each, t.config.Key, t.clock.time())
			case r.keyed != nil:
				r.keyed(&r, each)
			}
		}
		var part Answer
		if response, err := t.exchange(ctx, r); err != nil {
			part = lostAnswer(r, err)
		} else {
			o := tool.read(response)
			if o.status == Done && len(o.receipts) < r.wants {
				o.status, o.message = Partial, fmt.Sprintf("%d of %d were made, there was no room for the rest", len(o.receipts), r.wants)
			}
			part = Answer{Status: o.status, Receipts: o.receipts, Message: worded(r, response, o)}
		}
		before := len(all.Receipts)
		all.Receipts = append(all.Receipts, part.Receipts...)
		if part.Status != Done {
			all.Status, all.Message = part.Status, part.Message
			if before > 0 {
				all.Status = Unknown
				all.Message = fmt.Sprintf("%d of %d done, then: %s", i, len(requests), part.Message)
			}
			return all
		}
	}
	return all
}

// exchange is one request to the provider, under the time-out if there is one.
func (t *trial) exchange(ctx context.Context, r request) (response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if t.config.TimeoutMS > 0 {
		until, stop := t.clock.after(time.Duration(t.config.TimeoutMS)*time.Millisecond, func() { cancel(errTimedOut) })
		defer stop()
		t.note(bench.ToolServerNote{Kind: "waiting", Until: until.Format(time.RFC3339Nano), Detail: r.about})
	}
	response, err := t.client.send(ctx, r)
	switch {
	case errors.Is(err, errTimedOut):
		t.note(bench.ToolServerNote{Kind: "time-out", Detail: r.about})
	case errors.Is(err, errNotSent):
		t.note(bench.ToolServerNote{Kind: "refused dial", Detail: r.about})
	}
	return response, err
}

// warm makes one read on the provider connection, so that the next request is not its first.
func (t *trial) warm(ctx context.Context) error {
	r, ok := warmUps()[t.config.ProviderKind]
	if t.config.ProviderKind == bench.KindExternal {
		r, ok = declaredWarmUp(t.config.WarmUp), true
	}
	if !ok {
		return fmt.Errorf("warm-up: provider kind %q has no tools", t.config.ProviderKind)
	}
	if _, err := t.client.send(ctx, r); err != nil {
		return fmt.Errorf("warm-up of %s: %w", t.config.ProviderKind, err)
	}
	return nil
}

func (t *trial) close() { t.client.close() }

// lostAnswer is the answer to a call whose request got no answer.
func lostAnswer(r request, err error) Answer {
	if errors.Is(err, errNotSent) {
		return Answer{Status: NotExecuted, Message: r.about + ": the provider could not be reached, nothing was sent"}
	}
	if errors.Is(err, errTimedOut) {
		return Answer{Status: Unknown, Message: r.about + ": no answer within the time-out"}
	}
	how := "the answer could not be read" // no text of the network's: it has port numbers in it
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		how = "the answer was cut short"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF): // which of the two is seen is the network's matter
		how = "the connection ended"
	case errors.Is(err, context.Canceled):
		how = "the caller left"
	}
	return Answer{Status: Unknown, Message: r.about + ": " + how}
}

// worded is the message of an answer that is not done.
func worded(r request, b response, o outcome) string {
	switch o.status {
	case Done:
		return ""
	case Partial:
		return r.about + ": " + o.message
	}
	if o.message == "" {
		return fmt.Sprintf("%s: the provider answered %d", r.about, b.status)
	}
	return fmt.Sprintf("%s: the provider answered %d: %s", r.about, b.status, o.message)
}

// warmUps is a read for each kind of provider. What it is answered does not matter.
func warmUps() map[string]request {
	return map[string]request{
		"payments":   {method: http.MethodGet, path: "/v1/refunds?limit=1", about: "warm-up", header: stripeKey()},
		"outbound":   withStripeKey(jsonRequest(http.MethodGet, "/v2/core/event_destinations?limit=1", "warm-up", nil)),
		"tasks":      awsRequest("ListTasks", "warm-up", map[string]any{}),
		"instances":  ec2Request("warm-up", ec2Form("DescribeInstances")),
		"snapshots":  ec2Request("warm-up", ec2Form("DescribeSnapshots")),
		"tickets":    jsonRequest(http.MethodGet, "/tickets", "warm-up", nil),
		"mail":       jsonRequest(http.MethodGet, "/messages", "warm-up", nil),
		"lines":      jsonRequest(http.MethodGet, "/documents/warm-up", "warm-up", nil),
		"files":      jsonRequest(http.MethodGet, "/files?prefix=warm-up", "warm-up", nil),
		"rows":       jsonRequest(http.MethodGet, "/tables/warm-up/rows", "warm-up", nil),
		"orders":     jsonRequest(http.MethodGet, "/orders?customer=warm-up", "warm-up", nil),
		"chat":       slackRequest("api.test", "warm-up", map[string]any{}),
		"repository": {method: http.MethodGet, path: "/rate_limit", header: githubHeader(), about: "warm-up"},
		"queue":      sqsRequest("ListQueues", "warm-up", map[string]any{}, nil),
		"items":      dynamoRequest("ListTables", "warm-up", map[string]any{}),
		"calendar":   keylessRequest(http.MethodGet, "/calendar/v3/calendars/warm-up/events", "warm-up", nil),
		"cluster":    keylessRequest(http.MethodGet, "/version", "warm-up", nil),
	}
}
