package conformance

import (
	"fmt"
	"maps"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

func message(more ...any) map[string]any {
	m := map[string]any{"channel": "C0DEPLOYS", "text": "Version 2.1.0 is live."}
	for i := 0; i < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	return m
}

// slackClients are the two clients: how often each sends a message that is never answered, and one that is
// answered with a 500. slack_sdk has one retry, of connection errors; @slack/web-api has ten, of everything.
var slackClients = []struct {
	name          string
	lost, failed  int
	raised, error string
	platform      string
}{
	{"slack_sdk", 2, 1, "RemoteDisconnected", "SlackApiError 500 internal_error", "SlackApiError 200"},
	{"@slack/web-api", 11, 11, "WebAPIRequestError", "WebAPIHTTPError 500", "WebAPIPlatformError"},
}

func slackScenarios() []scenario {
	var all []scenario
	for _, c := range slackClients {
		on := func(contract, name, expected string, run func(*stage) (string, error)) {
			all = append(all, scenario{name: name, contract: contract, client: c.name, expected: expected, run: run})
		}
		counted := func(contract, name, expected string, args map[string]any, strike func(*stage)) {
			on(contract, name, expected, func(st *stage) (string, error) {
				strike(st)
				r, err := st.do("chat.postMessage", maps.Clone(args))
				if err != nil {
					return "", err
				}
				return st.account(r)
			})
		}
		keyed := message("client_msg_id", "m-1")
		every := func(act bench.Action) func(*stage) {
			return func(st *stage) {
				st.gate.meet(bench.Committed, act)
				st.gate.meet(bench.BeforeResponse, act)
			}
		}
		counted("slack-post-message", "every answer is lost", fmt.Sprintf("%s, %s, %s", plural(c.lost, "send"), plural(c.lost, "effect"), c.raised),
			message(), every(bench.Action{Act: bench.Close}))
		counted("slack-post-message", "every answer is a 500 after the commit", fmt.Sprintf("%s, %s, %s", plural(c.failed, "send"), plural(c.failed, "effect"), c.error),
			message(), every(bench.Action{Act: bench.Fail, Status: 500}))
		counted("slack-post-message", "the first answer is lost", "2 sends, 2 effects, ok", message(),
			func(st *stage) { st.gate.meet(bench.Committed, bench.Action{Act: bench.Close}, 1) })
		limited := map[string]string{"slack_sdk": "1 send, 0 effects, SlackApiError 429 ratelimited", "@slack/web-api": "2 sends, 1 effect, ok"}[c.name]
		counted("slack-post-message", "the first answer is a 429", limited, message(),
			func(st *stage) { st.gate.meet(bench.Received, bench.Action{Act: bench.Fail, Status: 429}, 1) })
		counted("slack-post-message", "no such channel", fmt.Sprintf("1 send, 0 effects, %s channel_not_found", c.platform),
			message("channel", ""), func(*stage) {})
		on("slack-post-message", "without a token", c.platform+" not_authed", func(st *stage) (string, error) {
			r, err := st.do("chat.postMessage", message(), with{"token": ""})
			return r.String(), err
		})
		on("slack-post-message", "the same message twice", "ok, another object, 2 effects", again(posted(message()), posted(message())))
		on("slack-post-message", "a client_msg_id twice", "ok, another object, 2 effects", again(posted(keyed), posted(keyed)))
		on("slack-post-message", "metadata in the history", "0 messages, then r-1; nothing where it is not asked for", metadataRead)
		on("slack-post-message", "a history in pages of two", "5 messages, the newest first", historyRead)
		on("slack-post-message", "a message taken away twice", "ok, then "+c.platform+" message_not_found", takenAway)

		counted("slack-client-msg-id", "every answer is lost", fmt.Sprintf("%s under 1 key, 1 effect, %s", plural(c.lost, "send"), c.raised),
			keyed, every(bench.Action{Act: bench.Close}))
		on("slack-client-msg-id", "a client_msg_id twice", "ok, the same object, 1 effect", again(posted(keyed), posted(keyed)))
		on("slack-client-msg-id", "with another text", "ok, the same object, 1 effect", again(posted(keyed), posted(message("client_msg_id", "m-1", "text", "Else."))))
		on("slack-client-msg-id", "another client_msg_id", "ok, another object, 2 effects", again(posted(keyed), posted(message("client_msg_id", "m-2"))))
		on("slack-client-msg-id", "of another account", "ok, another object, 2 effects", again(posted(keyed), posted(keyed, with{"on_behalf_of": "someone else"})))
		on("slack-client-msg-id", "a minute before it is forgotten", "ok, the same object, 1 effect", twice(posted(keyed), posted(keyed), pass(24*time.Hour-time.Minute), "ts"))
		on("slack-client-msg-id", "a minute after it is forgotten", "ok, another object, 2 effects", twice(posted(keyed), posted(keyed), pass(24*time.Hour+time.Minute), "ts"))
		on("slack-client-msg-id", "a day after the first, which took an hour", "ok, another object, 2 effects", keptFromFirstSight)
		on("slack-client-msg-id", "after the text was corrected", "the text as it is now, 1 effect", corrected)
		on("slack-client-msg-id", "after the message was taken away", c.platform+" duplicate_message_not_found", gone)
		on("slack-client-msg-id", "while the first is in work", "it waits, ok, the same object, 1 effect", meanwhile)
		on("slack-client-msg-id", "after a 500 that made nothing", "2 sends under 1 key, 1 effect, ok", func(st *stage) (string, error) {
			st.gate.meet(bench.BeforeCommit, bench.Action{Act: bench.Fail, Status: 500}, 1)
			r, err := st.do("chat.postMessage", maps.Clone(keyed))
			if err == nil && r.Error != nil { // the SDK did not send it again: the caller does
				r, err = st.do("chat.postMessage", maps.Clone(keyed))
			}
			if err != nil {
				return "", err
			}
			return st.account(r)
		})
	}
	return all
}

// posted is a step that posts a message.
func posted(args map[string]any, options ...with) step {
	s := step{op: "chat.postMessage", args: args}
	for _, w := range options {
		s.options = w
	}
	return s
}

// again posts one message and then another.
func again(first, second step) func(*stage) (string, error) { return twice(first, second, nil, "ts") }

// keptFromFirstSight lets the first message take an hour, so that its clock tells when it began.
func keptFromFirstSight(st *stage) (string, error) {
	keyed := message("client_msg_id", "m-1")
	h := st.gate.hold(bench.BeforeCommit, 1)
	p := st.begin(posted(keyed))
	if err := st.reached(h); err != nil {
		return "", err
	}
	st.clock.pass(time.Hour)
	h.release(bench.Action{Act: bench.Pass})
	a, err := p.end()
	if err != nil {
		return "", err
	}
	st.clock.pass(23*time.Hour + time.Minute)
	b, err := st.do("chat.postMessage", keyed)
	if err != nil {
		return "", err
	}
	return st.compare(a, b, "ts")
}

func corrected(st *stage) (string, error) {
	keyed := message("client_msg_id", "m-1")
	a, err := st.must("chat.postMessage", keyed)
	if err != nil {
		return "", err
	}
	if _, err := st.must("chat.update", map[string]any{"channel": "C0DEPLOYS", "ts": a.at("ts"), "text": "Now."}); err != nil {
		return "", err
	}
	b, err := st.must("chat.postMessage", keyed)
	if err != nil {
		return "", err
	}
	shows := "the text as it was"
	if b.at("message", "text") == "Now." && b.at("ts") == a.at("ts") {
		shows = "the text as it is now"
	}
	made, err := st.effects("post")
	return fmt.Sprintf("%s, %s", shows, plural(len(made), "effect")), err
}

func gone(st *stage) (string, error) {
	keyed := message("client_msg_id", "m-1")
	a, err := st.must("chat.postMessage", keyed)
	if err != nil {
		return "", err
	}
	if _, err := st.must("chat.delete", map[string]any{"channel": "C0DEPLOYS", "ts": a.at("ts")}); err != nil {
		return "", err
	}
	r, err := st.do("chat.postMessage", keyed)
	return r.String(), err
}

// meanwhile posts the same id while the first is held before its commit. A second one that waits is at the
// provider when the first goes on; one that does not has ended by then.
func meanwhile(st *stage) (string, error) {
	keyed := message("client_msg_id", "m-1")
	h, second := st.gate.hold(bench.BeforeCommit, 1), st.gate.hold(bench.Received, 2)
	p := st.begin(posted(keyed))
	if err := st.reached(h); err != nil {
		return "", err
	}
	q := st.begin(posted(keyed))
	if err := st.reached(second); err != nil {
		return "", err
	}
	second.release(bench.Action{Act: bench.Pass})
	how := "it waits"
	select {
	case x := <-q:
		how = "it is answered at once"
		q <- x
	case <-time.After(300 * time.Millisecond): // a bound on how long an answer at once may take; one that waits takes it whole
	}
	h.release(bench.Action{Act: bench.Pass})
	a, err := p.end()
	if err != nil {
		return "", err
	}
	b, err := q.end()
	if err != nil {
		return "", err
	}
	words, err := st.compare(a, b, "ts")
	return how + ", " + words, err
}

func metadataRead(st *stage) (string, error) {
	if _, err := st.must("chat.postMessage", message("metadata", map[string]any{"event_type": "deployed", "event_payload": map[string]any{"reference": "r-1"}})); err != nil {
		return "", err
	}
	asked := map[string]any{"channel": "C0DEPLOYS", "include_all_metadata": true}
	early, err := st.must("conversations.history", asked)
	if err != nil {
		return "", err
	}
	list, _ := early.at("messages").([]any)
	now, err := st.must("conversations.history", asked)
	if err != nil {
		return "", err
	}
	bare, err := st.must("conversations.history", map[string]any{"channel": "C0DEPLOYS"})
	if err != nil {
		return "", err
	}
	else_ := "nothing"
	if bare.at("messages", 0, "metadata") != nil {
		else_ = "it too"
	}
	return fmt.Sprintf("%s, then %v; %s where it is not asked for", plural(len(list), "message"),
		now.at("messages", 0, "metadata", "event_payload", "reference"), else_), nil
}

func historyRead(st *stage) (string, error) {
	for i := range 5 {
		if _, err := st.must("chat.postMessage", message("text", fmt.Sprint(5-i))); err != nil {
			return "", err
		}
	}
	if _, err := st.must("conversations.history", map[string]any{"channel": "C0DEPLOYS"}); err != nil { // the first look
		return "", err
	}
	r, err := st.must("conversations.history", map[string]any{"channel": "C0DEPLOYS", "limit": 2}, with{"pages": true})
	if err != nil {
		return "", err
	}
	list, _ := r.at("messages").([]any)
	order := "the newest first"
	for i := range list {
		if at(list, i, "text") != fmt.Sprint(i+1) {
			order = "in another order"
		}
	}
	return fmt.Sprintf("%s, %s", plural(len(list), "message"), order), nil
}

func takenAway(st *stage) (string, error) {
	a, err := st.must("chat.postMessage", message())
	if err != nil {
		return "", err
	}
	args := map[string]any{"channel": "C0DEPLOYS", "ts": a.at("ts")}
	first, err := st.do("chat.delete", args)
	if err != nil {
		return "", err
	}
	second, err := st.do("chat.delete", args)
	return fmt.Sprintf("%s, then %s", first, second), err
}
