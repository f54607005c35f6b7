package fakeproviders

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
)

// slack calls a method with a token and JSON arguments.
func (r *rig) slack(method, args string, header ...string) reply {
	return r.send("POST", "/api/"+method, args, append([]string{"Authorization", "Bearer xoxb-x", "Content-Type", "application/json"}, header...)...)
}

// TestSlackBodies: JSON, a form and a query say the same.
func TestSlackBodies(t *testing.T) {
	r := up(t, "slack-post-message")
	metadata := `{"event_type":"deployed","event_payload":{"reference":"r-1"}}`
	form := url.Values{"channel": {"#deploys"}, "text": {"hi"}, "metadata": {metadata}, "token": {"xoxb-x"}}
	for _, got := range []reply{
		r.slack("chat.postMessage", `{"channel":"C0DEPLOYS","text":"hi","metadata":`+metadata+`}`),
		r.send("POST", "/api/chat.postMessage", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Authorization", ""),
		r.send("GET", "/api/chat.postMessage?"+form.Encode(), "", "Authorization", ""),
	} {
		if r.want(got, 200).field("ok") != true || got.field("channel") != "C0DEPLOYS" {
			t.Errorf("%s", got.body)
		}
	}
	for _, o := range r.effects() {
		if o.Attrs["channel"] != "C0DEPLOYS" || o.Attrs["text"] != "hi" || o.Reference != "r-1" || len(o.Attrs) != 2 {
			t.Errorf("effect %+v", o)
		}
	}
	r.wantEffects(3)
}

// TestSlackRefuses: every error comes with status 200, in Slack's words, and makes nothing.
func TestSlackRefuses(t *testing.T) {
	r := up(t, "slack-post-message")
	for _, c := range []struct{ method, args, code string }{
		{"chat.postMessage", `{"channel":"C0A"}`, "no_text"},
		{"chat.postMessage", `{"text":"t"}`, "channel_not_found"},
		{"chat.postMessage", `{"channel":7,"text":["t"]}`, "channel_not_found"},
		{"chat.postMessage", `{"channel":"C0A","text":"t","metadata":"x"}`, "invalid_metadata_format"},
		{"chat.postMessage", `{"channel":"C0A","text":"t","metadata":{"event_payload":{}}}`, "invalid_metadata_format"},
		{"chat.postMessage", `{"channel":"C0A","text":"t","thread_ts":"1.000001"}`, "thread_not_found"},
		{"chat.postMessage", `{"channel":"C0A","text":"` + strings.Repeat("x", 40_001) + `"}`, "msg_too_long"},
		{"chat.postMessage", `{"channel":`, "invalid_json"},
		{"chat.postMessage", `["x"]`, "json_not_object"},
		{"chat.update", `{"channel":"C0A","ts":"1.000001","text":"t"}`, "message_not_found"},
		{"chat.delete", `{"channel":"C0A","ts":"1.000001"}`, "message_not_found"},
		{"conversations.history", `{"channel":"#deploys"}`, "channel_not_found"},
		{"conversations.history", `{"channel":"C0A","limit":1000}`, "invalid_limit"},
		{"conversations.history", `{"channel":"C0A","limit":{}}`, "invalid_limit"},
		{"conversations.history", `{"channel":"C0A","cursor":"x"}`, "invalid_cursor"},
		{"conversations.history", `{"channel":"C0A","oldest":"yesterday"}`, "invalid_ts_oldest"},
		{"conversations.replies", `{"channel":"C0A","ts":"1.000001"}`, "thread_not_found"},
		{"api.test", `{"error":"my_error"}`, "my_error"},
		{"users.list", `{}`, "unknown_method"},
	} {
		if got := r.want(r.slack(c.method, c.args), 200); got.field("ok") != false || got.field("error") != c.code {
			t.Errorf("%s %.60s: %.200s, expected %s", c.method, c.args, got.body, c.code)
		}
	}
	for token, code := range map[string]string{"": "not_authed", "Bearer hello": "invalid_auth"} {
		if got := r.send("POST", "/api/chat.postMessage", `{"channel":"C0A","text":"t"}`, "Authorization", token); got.field("error") != code {
			t.Errorf("token %q: %s, expected %s", token, got.body, code)
		}
	}
	if got := r.send("POST", "/api/api.test", "", "Authorization", ""); got.field("ok") != true {
		t.Errorf("api.test without a token: %s", got.body)
	}
	r.wantEffects(0)
}

// TestSlackHistory: the newest first, in pages, without replies and without what was taken away; threads oldest first.
func TestSlackHistory(t *testing.T) {
	r := up(t, "slack-post-message", func(c *bench.Contract) { c.Actual.LookUp.LagReads = 0 })
	var ts []string
	post := func(args string) {
		t.Helper()
		s, _ := r.want(r.slack("chat.postMessage", `{"channel":"C0A",`+args+`}`), 200).field("ts").(string)
		r.clock.pass(time.Second)
		ts = append(ts, s)
	}
	for _, text := range []string{"a", "b", "c"} {
		post(`"text":"` + text + `"`)
	}
	post(`"text":"d","thread_ts":"` + ts[0] + `"`)
	post(`"text":"e","thread_ts":"` + ts[0] + `","reply_broadcast":true`)
	see := func(method, args, want string) reply {
		t.Helper()
		got := r.want(r.slack(method, `{"channel":"C0A"`+args+`}`), 200)
		var texts []string
		list, _ := got.field("messages").([]any)
		for _, m := range list {
			texts = append(texts, text(m.(map[string]any), "text"))
		}
		if strings.Join(texts, "") != want {
			t.Errorf("%s %s: %s, expected %s", method, args, strings.Join(texts, ""), want)
		}
		return got
	}
	see("conversations.history", "", "ecba")
	page := see("conversations.history", `,"limit":3`, "ecb")
	cursor := text(page.field("response_metadata").(map[string]any), "next_cursor")
	if last := see("conversations.history", `,"limit":3,"cursor":"`+cursor+`"`, "a"); last.field("has_more") != false || page.field("has_more") != true {
		t.Errorf("has_more %v, then %v", page.field("has_more"), last.field("has_more"))
	}
	see("conversations.history", `,"oldest":"`+ts[1]+`"`, "ec")
	see("conversations.history", `,"oldest":"`+ts[1]+`","latest":"`+ts[2]+`","inclusive":true`, "cb")
	see("conversations.replies", `,"ts":"`+ts[0]+`"`, "ade")
	r.want(r.slack("chat.update", `{"channel":"C0A","ts":"`+ts[1]+`","text":"B"}`), 200)
	r.want(r.slack("chat.update", `{"channel":"C0A","ts":"`+ts[1]+`","text":"B"}`), 200) // equal over equal
	r.want(r.slack("chat.delete", `{"channel":"C0A","ts":"`+ts[2]+`"}`), 200)
	see("conversations.history", "", "eBa")
	all := r.effects()
	if len(all) != 7 || all[5].Class != "correction" || all[6].Class != "removal" || all[6].Undoes != ts[2] || all[6].Sign != -1 {
		t.Errorf("effects %+v", all)
	}
}

// TestSlackClientMsgID goes through the dimensions of the contract that third parties report.
func TestSlackClientMsgID(t *testing.T) {
	r := up(t, "slack-client-msg-id")
	post := func(id, text string, header ...string) reply {
		t.Helper()
		return r.want(r.slack("chat.postMessage", `{"channel":"C0A","text":"`+text+`","client_msg_id":"`+id+`"}`, header...), 200)
	}
	first := post("m-1", "a")
	for _, again := range []reply{post("m-1", "a"), post("m-1", "else"),
		r.send("POST", "/api/chat.postMessage", "channel=C0A&text=a&client_msg_id=m-1&token=xoxb-x", "Authorization", "")} {
		if again.field("ts") != first.field("ts") || text(again.field("message").(map[string]any), "text") != "a" {
			t.Errorf("again: %s, expected the message %s", again.body, first.body)
		}
	}
	r.wantEffects(1)
	post("m-1", "a", "X-On-Behalf-Of", "someone else")
	r.wantEffects(2)
	r.want(r.slack("chat.delete", fmt.Sprintf(`{"channel":"C0A","ts":"%v"}`, first.field("ts"))), 200)
	if got := post("m-1", "a"); got.field("error") != "duplicate_message_not_found" {
		t.Errorf("after it was taken away: %s", got.body)
	}
	r.clock.pass(24*time.Hour + time.Second)
	if got := post("m-1", "a"); got.field("ok") != true || got.field("ts") == first.field("ts") {
		t.Errorf("a day later: %s", got.body)
	}
	plain := up(t, "slack-post-message")
	for range 2 {
		plain.want(plain.slack("chat.postMessage", `{"channel":"C0A","text":"a","client_msg_id":"m-1"}`), 200)
	}
	plain.wantEffects(2)
}

// TestSlackFails: a rate limit has its status and Retry-After, a failure of Slack's own its status.
func TestSlackFails(t *testing.T) {
	r := up(t, "slack-post-message")
	for i, c := range []struct {
		status      int
		code, after string
	}{{429, "ratelimited", "1"}, {500, "internal_error", ""}, {503, "internal_error", ""}} {
		r.gate.order(bench.Received, fmt.Sprint("r", i+1), bench.Action{Act: bench.Fail, Status: c.status})
		got := r.want(r.slack("chat.postMessage", `{"channel":"C0A","text":"t"}`), c.status)
		if got.field("error") != c.code || got.header.Get("Retry-After") != c.after {
			t.Errorf("%d: %s, Retry-After %q", c.status, got.body, got.header.Get("Retry-After"))
		}
	}
	r.wantEffects(0)
}

// TestSlackWorld: a message that was there before the trial is older than all others.
func TestSlackWorld(t *testing.T) {
	c, _ := contracts.Find("slack-post-message")
	r := upWith(t, c, []bench.WorldEffect{{Class: "post", Attrs: map[string]any{"channel": "C0A", "text": "old"}}})
	got := r.want(r.slack("conversations.history", `{"channel":"C0A"}`), 200)
	list, _ := got.field("messages").([]any)
	if len(list) != 1 {
		t.Fatal(got.body)
	}
	if ts := text(list[0].(map[string]any), "ts"); seconds(ts) >= bench.Epoch.UnixMicro() {
		t.Errorf("ts %s is not before the trial", ts)
	}
}
