package contracts

import (
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

const slackSource = "https://docs.slack.dev/reference/methods/chat.postMessage and https://docs.slack.dev/reference/methods/conversations.history"

// chat is Slack. Its documentation has no key among the arguments of chat.postMessage, and yet errors that speak
// of a client_msg_id; that such an id makes a message be posted once is told by third parties only.
func chat() []bench.Contract {
	metadata := bench.LookUpTerms{Kind: "lags", By: "identity", LagReads: 1}
	return []bench.Contract{
		honest("slack-post-message", "chat", "No key; a reference in a message's metadata is found in the history; how soon is not documented: here by the second look (a choice).",
			slackSource, bench.Terms{LookUp: metadata}),
		honest("slack-client-msg-id", "chat", "A client_msg_id is posted once, which third parties report; choices of this project: "+
			"24 h, in a workspace, whatever else the message says, and a message in work makes the second wait.",
			slackSource+" (errors duplicate_message_not_found and duplicate_channel_not_found)",
			bench.Terms{LookUp: metadata, Key: bench.KeyTerms{
				Location: "body:client_msg_id", Scope: "account", Retention: 24 * time.Hour, ClockStart: "first-seen",
				Fingerprint: "none", Mismatch: "silent", Concurrent: "wait", Saves: "success", Replay: "current",
			}}),
	}
}
