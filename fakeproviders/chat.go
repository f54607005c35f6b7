package fakeproviders

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// chat speaks Slack's web API: every answer has status 200 and "ok", but for rate limits and failures of its own.
// All channels exist. Shapes: docs.slack.dev/reference/methods; what is chosen: docs/providers/chat.md.
type chat struct{}

func (chat) Name() string    { return "chat" }
func (chat) Summary() string { return "messages in channels over the Slack web API" }

// slackClasses are the methods that change something, with the class of their effect.
var slackClasses = map[string]string{"chat.postMessage": "post", "chat.update": "correction", "chat.delete": "removal"}

// slackReads are the methods that change nothing.
var slackReads = []string{"api.test", "auth.test", "conversations.history", "conversations.replies"}

// slackMethod is the method that a path names, "" if there is none.
func slackMethod(r bench.RawRequest) string {
	path, _, _ := strings.Cut(r.Path, "?")
	method, ok := strings.CutPrefix(path, "/api/")
	if !ok || slackClasses[method] == "" && !slices.Contains(slackReads, method) {
		return ""
	}
	return method
}

// slackArguments reads a method's arguments from the query and the body, which is JSON or a form; in a form what
// is not a text is JSON. The second result is Slack's word for a body that cannot be read.
func slackArguments(r bench.RawRequest) (map[string]any, string) {
	args := map[string]any{}
	take := func(f url.Values) {
		for name := range f {
			args[name] = f.Get(name)
			var m any
			if slices.Contains([]string{"metadata", "blocks", "attachments"}, name) && json.Unmarshal([]byte(f.Get(name)), &m) == nil {
				args[name] = m
			}
		}
	}
	_, query := target(r)
	take(query)
	if strings.Contains(r.Header.Get("Content-Type"), "json") || strings.HasPrefix(string(r.Body), "{") {
		m := fields(r.Body)
		switch {
		case m == nil && json.Valid(r.Body):
			return args, "json_not_object"
		case m == nil:
			return args, "invalid_json"
		}
		for k, v := range m {
			args[k] = v
		}
		return args, ""
	}
	form, err := url.ParseQuery(string(r.Body))
	if err != nil {
		return args, "invalid_form_data"
	}
	take(form)
	return args, ""
}

var (
	slackID   = regexp.MustCompile(`^[CDG][A-Z0-9]{2,}$`)
	plainName = regexp.MustCompile(`^[A-Za-z0-9]+$`)
)

// channelID is the id of the channel that is named by its id or by its name, with # or without: of the channel
// "deploys" it is C0DEPLOYS.
func channelID(name string) string {
	name = strings.TrimPrefix(name, "#")
	switch {
	case name == "", slackID.MatchString(name):
		return name
	case plainName.MatchString(name):
		return "C0" + strings.ToUpper(name)
	}
	return "C0" + strings.ToUpper(digest("channel " + name)[:9])
}

func (chat) Parse(r bench.RawRequest) bench.Call {
	method := slackMethod(r)
	if method == "" {
		return bench.Call{Op: "unknown"}
	}
	args, _ := slackArguments(r)
	c := bench.Call{Op: method, Class: slackClasses[method], Mutating: slackClasses[method] != ""}
	attrs := map[string]any{"channel": channelID(text(args, "channel"))}
	switch method {
	case "chat.postMessage":
		attrs["text"], attrs["thread"] = firstText(text(args, "text"), text(args, "markdown_text")), text(args, "thread_ts")
	case "chat.update":
		attrs["post"], attrs["text"] = text(args, "ts"), text(args, "text")
	case "chat.delete":
		attrs["post"] = text(args, "ts")
	}
	c.Attrs = pick(attrs, "channel", "text", "thread", "post")
	return c
}

// admit asks who is there. A token is one by its looks: xoxb-..., xoxp-...
func (chat) admit(r bench.RawRequest) *refusal {
	method := slackMethod(r)
	if method == "" || method == "api.test" {
		return nil
	}
	args, broken := slackArguments(r)
	token := firstText(strings.TrimSpace(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")), text(args, "token"))
	code := broken
	switch {
	case token == "":
		code = "not_authed"
	case !strings.HasPrefix(token, "xox"):
		code = "invalid_auth"
	}
	if code == "" {
		return nil
	}
	return &refusal{status: http.StatusOK, code: code}
}

func (c chat) execute(x *exchange) (answer, error) {
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	args, _ := slackArguments(x.raw)
	view := slackView{all: all, metadata: true}
	channel := channelID(text(args, "channel"))
	switch x.call.Op {
	case "unknown":
		return slackError("unknown_method"), nil
	case "api.test":
		if code := text(args, "error"); code != "" {
			return slackError(code), nil
		}
		return jsonAnswer(http.StatusOK, map[string]any{"ok": true, "args": args}), nil
	case "auth.test":
		return jsonAnswer(http.StatusOK, map[string]any{"ok": true, "url": "https://sixthcopy.slack.com/", "team": "sixthcopy", "team_id": slackTeam,
			"user": "sixthcopy", "user_id": slackUser, "bot_id": slackBot, "is_enterprise_install": false}), nil
	}
	named := text(args, "channel")
	if channel == "" || !slackID.MatchString(channel) || x.call.Op != "chat.postMessage" && named != channel { // only that one knows names
		return slackError("channel_not_found"), nil
	}
	switch x.call.Op {
	case "conversations.history", "conversations.replies":
		return c.history(x, args, view)
	case "chat.postMessage":
		return c.post(x, args, view), nil
	}
	return c.amend(x, args, view), nil
}

// slackError is the answer that says what went wrong; its status is 200.
func slackError(code string) answer {
	return jsonAnswer(http.StatusOK, map[string]any{"ok": false, "error": code})
}

// post makes a message. Its ts, which is its id, is the time and the number of messages so far.
func (c chat) post(x *exchange, args map[string]any, view slackView) answer {
	thread := text(args, "thread_ts")
	words, shows := x.call.Attrs["text"], args["blocks"] != nil || args["attachments"] != nil
	metadata, isObject := args["metadata"].(map[string]any)
	switch {
	case words == nil && !shows:
		return slackError("no_text")
	case len(text(x.call.Attrs, "text")) > 40_000:
		return slackError("msg_too_long")
	case args["metadata"] != nil && (!isObject || text(metadata, "event_type") == ""):
		return slackError("invalid_metadata_format")
	case thread != "" && view.find(x.call.Attrs["channel"], thread) == nil:
		return slackError("thread_not_found")
	}
	n := 0
	for _, o := range view.all {
		if o.Class == "post" {
			n++
		}
	}
	detail := map[string]any{}
	for _, name := range []string{"metadata", "blocks", "attachments", "client_msg_id", "reply_broadcast"} {
		if v := args[name]; v != nil && v != "" {
			detail[name] = v
		}
	}
	payload, _ := metadata["event_payload"].(map[string]any)
	x.add("", store.Object{ID: slackTS(x.p.clock.Now(), n+1), Class: "post", Attrs: x.call.Attrs, Detail: detail, Reference: text(payload, "reference")})
	return view.posted(x.tx.Added()[0])
}

// slackTS is a message's ts: seconds, and six digits that tell messages of one second apart.
func slackTS(at time.Time, n int) string { return fmt.Sprintf("%d.%06d", at.Unix(), n) }

// amend corrects a message or takes it away. What changes nothing leaves no effect.
func (chat) amend(x *exchange, args map[string]any, view slackView) answer {
	o := view.find(x.call.Attrs["channel"], text(args, "ts"))
	if o == nil {
		return slackError("message_not_found")
	}
	if x.call.Class == "removal" {
		x.add("rm_", store.Object{Class: "removal", Attrs: x.call.Attrs, Sign: -1, Undoes: o.ID})
		return jsonAnswer(http.StatusOK, map[string]any{"ok": true, "channel": o.Attrs["channel"], "ts": o.ID})
	}
	words := text(args, "text")
	if words == "" {
		return slackError("no_text")
	}
	if is, _ := view.words(*o); is != words {
		x.add("ed_", store.Object{Class: "correction", Attrs: x.call.Attrs})
		view.all = append(slices.Clone(view.all), x.tx.Added()...)
	}
	a := view.message(*o)
	return jsonAnswer(http.StatusOK, map[string]any{"ok": true, "channel": o.Attrs["channel"], "ts": o.ID, "text": words, "message": a})
}

// history answers conversations.history, newest first and without replies, and conversations.replies, oldest first.
func (chat) history(x *exchange, args map[string]any, view slackView) (answer, error) {
	number := func(name string) (float64, bool) {
		v, err := strconv.ParseFloat(firstText(fmt.Sprint(args[name])), 64)
		return v, err == nil
	}
	limit := 100
	if args["limit"] != nil && args["limit"] != "" {
		n, ok := number("limit")
		if !ok || n < 1 || n > 999 {
			return slackError("invalid_limit"), nil
		}
		limit = int(n)
	}
	for _, name := range []string{"oldest", "latest"} {
		if v := text(args, name); v != "" && v != "now" {
			if _, ok := number(name); !ok {
				return slackError("invalid_ts_" + name), nil
			}
		}
	}
	before := "" // with a cursor: the page begins here
	if cursor := text(args, "cursor"); cursor != "" {
		b, err := base64.StdEncoding.DecodeString(cursor)
		at, ok := strings.CutPrefix(string(b), "next_ts:")
		if err != nil || !ok {
			return slackError("invalid_cursor"), nil
		}
		before = at
	}
	thread := ""
	if x.call.Op == "conversations.replies" {
		if thread = text(args, "ts"); view.find(x.call.Attrs["channel"], thread) == nil {
			return slackError("thread_not_found"), nil
		}
	}
	inclusive := fmt.Sprint(args["inclusive"]) == "true" || fmt.Sprint(args["inclusive"]) == "1"
	found, err := x.look(func(o store.Object) bool {
		reply := text(o.Attrs, "thread")
		switch {
		case o.Class != "post" || o.Attrs["channel"] != x.call.Attrs["channel"] || view.removed(o):
			return false
		case thread != "" && o.ID != thread && reply != thread:
			return false
		case thread == "" && reply != "" && fmt.Sprint(o.Detail["reply_broadcast"]) != "true":
			return false
		}
		at := seconds(o.ID)
		if oldest := text(args, "oldest"); oldest != "" && (at < seconds(oldest) || at == seconds(oldest) && !inclusive) {
			return false
		}
		latest := text(args, "latest")
		return latest == "" || latest == "now" || at < seconds(latest) || at == seconds(latest) && inclusive
	})
	if err != nil {
		return answer{}, err
	}
	if thread == "" {
		slices.Reverse(found)
	}
	from := slices.IndexFunc(found, func(o store.Object) bool { return o.ID == before })
	from = max(from, 0)
	to := min(from+limit, len(found))
	view.metadata = fmt.Sprint(args["include_all_metadata"]) == "true" || fmt.Sprint(args["include_all_metadata"]) == "1"
	messages := []any{}
	for _, o := range found[from:to] {
		messages = append(messages, view.message(o))
	}
	body := map[string]any{"ok": true, "messages": messages, "has_more": to < len(found), "pin_count": 0}
	if to < len(found) {
		next := base64.StdEncoding.EncodeToString([]byte("next_ts:" + found[to].ID))
		body["response_metadata"] = map[string]any{"next_cursor": next}
	}
	return jsonAnswer(http.StatusOK, body), nil
}

// seconds reads a ts as a number of microseconds: it compares as Slack's do.
func seconds(ts string) int64 {
	whole, part, _ := strings.Cut(ts, ".")
	s, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return 0
	}
	micro, err := strconv.ParseInt((part + "000000")[:6], 10, 64)
	if err != nil {
		return 0
	}
	return s*1_000_000 + micro
}

// refuse renders an error that the shared server asks for.
func (chat) refuse(r refusal) answer {
	switch {
	case r.status == http.StatusTooManyRequests:
		a := slackError("ratelimited")
		a.status, a.header = r.status, http.Header{"Retry-After": {"1"}}
		return a
	case r.status >= 500:
		a := slackError("internal_error")
		a.status = r.status
		return a
	case strings.HasPrefix(r.code, "idempotency_"), r.code == "invalid_request":
		return slackError("invalid_arguments")
	}
	return slackError(r.code)
}

// decorate adds the headers that Slack's clients read.
func (chat) decorate(x *exchange, a *answer) {
	if a.header == nil {
		a.header = http.Header{}
	}
	a.kind = "application/json; charset=utf-8"
	a.header.Set("X-Slack-Req-Id", digest(x.name)[:32])
	a.header.Set("X-OAuth-Scopes", "chat:write,channels:history")
	a.header.Set("X-Accepted-OAuth-Scopes", "chat:write")
}

func (chat) current(objects []store.Object) answer {
	return slackView{metadata: true}.posted(objects[0])
}

// again answers a client_msg_id that was posted before: by the message as it is now, or by the error that Slack
// documents for one that is gone.
func (chat) again(x *exchange, stored answer, made []store.Object) answer {
	all, err := x.p.store.Objects()
	if err != nil {
		x.p.fault(err)
		return stored
	}
	view := slackView{all: all, metadata: true}
	if len(made) == 0 || view.removed(made[0]) {
		return slackError("duplicate_message_not_found")
	}
	return view.posted(made[0])
}

func (chat) world(w bench.WorldEffect, n int) store.Object {
	o := worldObject("", w, n)
	o.ID = slackTS(bench.Epoch.Add(-time.Hour), n+1)
	return o
}

// The one workspace with its app.
const slackTeam, slackUser, slackBot, slackApp = "T0SIXTHCOPY", "U0SIXTHCOPY", "B0SIXTHCOPY", "A0SIXTHCOPY"

// slackView renders messages as they are after all corrections.
type slackView struct {
	all      []store.Object
	metadata bool // shown
}

// find is the message of a ts that is there, nil if there is none.
func (v slackView) find(channel any, ts string) *store.Object {
	for i, o := range v.all {
		if o.Class == "post" && o.ID == ts && o.Attrs["channel"] == channel && !v.removed(o) {
			return &v.all[i]
		}
	}
	return nil
}

func (v slackView) removed(o store.Object) bool {
	return slices.ContainsFunc(v.all, func(other store.Object) bool { return other.Undoes == o.ID })
}

// words is a message's text and the time of its last correction, which is zero if there is none.
func (v slackView) words(o store.Object) (words string, corrected time.Time) {
	words = text(o.Attrs, "text")
	for _, c := range v.all {
		if c.Class == "correction" && c.Attrs["post"] == o.ID {
			words, corrected = text(c.Attrs, "text"), c.At
		}
	}
	return words, corrected
}

func (v slackView) message(o store.Object) map[string]any {
	words, corrected := v.words(o)
	m := map[string]any{"type": "message", "user": slackUser, "bot_id": slackBot, "app_id": slackApp, "team": slackTeam, "ts": o.ID, "text": words}
	if !corrected.IsZero() {
		m["edited"] = map[string]any{"user": slackUser, "ts": slackTS(corrected, 0)}
	}
	if thread := text(o.Attrs, "thread"); thread != "" {
		m["thread_ts"] = thread
	}
	for _, name := range []string{"blocks", "attachments", "client_msg_id", "metadata"} {
		if shown := o.Detail[name]; shown != nil && (name != "metadata" || v.metadata) {
			m[name] = shown
		}
	}
	return m
}

// posted is the answer to chat.postMessage.
func (v slackView) posted(o store.Object) answer {
	return jsonAnswer(http.StatusOK, map[string]any{"ok": true, "channel": o.Attrs["channel"], "ts": o.ID, "message": v.message(o)})
}
