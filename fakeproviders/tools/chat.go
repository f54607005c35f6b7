package tools

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// The chat family speaks the Slack web API (docs/providers/chat.md). A reference travels in the message's
// metadata, which the history shows; a key is the client_msg_id.

var postMessage = &Tool{
	name: "post_message", provider: "chat",
	about: "Post a message to a channel. A reference of your own lets you find it again.",
	args: []argument{
		{name: "channel", kind: text, required: true, about: "Id of the channel, or its name."},
		{name: "text", kind: text, required: true, about: "The message."},
		{name: "thread", kind: text, about: "Id of the message that it replies to."},
		{name: "reference", kind: text, about: "Your own reference; read_channel finds the message by it."},
	},
	lookUp: "read_channel", lookUpArgument: "reference",
	class: "post",
	effects: func(a arguments) []map[string]any {
		attrs := a.pick("channel", "text", "thread")
		if name := strings.TrimPrefix(a.text("channel"), "#"); name != "" {
			attrs["channel"] = name
		}
		return []map[string]any{attrs}
	},
	plan: func(a arguments) []request {
		body := a.pick("channel", "text")
		if thread := a.text("thread"); thread != "" {
			body["thread_ts"] = thread
		}
		if reference := a.text("reference"); reference != "" {
			body["metadata"] = map[string]any{"event_type": "sixthcopy", "event_payload": map[string]any{"reference": reference}}
		}
		return []request{slackRequest("chat.postMessage", "message to "+a.text("channel"), body)}
	},
	read: func(r response) outcome {
		o, ok := r.object()
		if r.status == http.StatusOK && ok && o["ok"] == true {
			return created(o, "ts")
		}
		return slackFailed(r)
	},
}

var readChannel = &Tool{
	name: "read_channel", provider: "chat", readOnly: true,
	about: "Read the newest hundred messages of a channel, oldest first; with a reference those that carry it.",
	args: []argument{
		{name: "channel", kind: text, required: true, about: "Id of the channel."},
		{name: "reference", kind: text, about: "The reference given at the start."},
	},
	plan: func(a arguments) []request {
		query := url.Values{"channel": {a.text("channel")}, "limit": {"100"}, "include_all_metadata": {"true"}}
		return []request{{method: http.MethodGet, path: "/api/conversations.history?" + query.Encode(), about: "messages in " + a.text("channel"),
			header: http.Header{"Authorization": {slackToken}}}}
	},
	keep: ofReference,
	read: func(r response) outcome {
		if o, ok := r.object(); r.status != http.StatusOK || !ok || o["ok"] != true {
			return slackFailed(r)
		}
		return listed(r, "messages", func(o map[string]any) map[string]any {
			found := pickGiven(o, "text")
			found["id"] = o["ts"]
			if thread, ok := o["thread_ts"].(string); ok {
				found["thread"] = thread
			}
			metadata, _ := o["metadata"].(map[string]any)
			payload, _ := metadata["event_payload"].(map[string]any)
			if reference, ok := payload["reference"].(string); ok {
				found["reference"] = reference
			}
			return found
		}, newestFirst)
	},
}

// slackToken is any: Slack knows a token by its looks, and what it is for is the trial's to say.
const slackToken = "Bearer xoxb-sixthcopy"

func slackRequest(method, about string, body map[string]any) request {
	r := request{method: http.MethodPost, path: "/api/" + method, about: about, header: http.Header{
		"Authorization": {slackToken}, "Content-Type": {"application/json; charset=utf-8"}}}
	r.keyed = func(r *request, key string) {
		body["client_msg_id"] = key
		r.body, _ = json.Marshal(body)
	}
	r.body, _ = json.Marshal(body) // texts, numbers and booleans: it cannot fail
	return r
}

// slackFailed reads an answer that is no success. Its errors come with status 200; some of them are failures of
// Slack's own, after which it does not know itself what happened
// (https://docs.slack.dev/reference/methods/chat.postMessage, errors).
func slackFailed(r response) outcome {
	o, ok := r.object()
	code, _ := o["error"].(string)
	if r.status != http.StatusOK {
		return r.failed(code)
	}
	switch code {
	case "", "fatal_error", "internal_error", "request_timeout", "service_unavailable", "team_added_to_org":
		if !ok {
			code = ""
		}
		return outcome{status: Unknown, message: code}
	}
	return outcome{status: Refused, message: code}
}
