package contracts

import (
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

const sqsSource = "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html"

// queue has the contracts of Amazon SQS. A duplicate is accepted, whatever its body says, and answered
// with the first message's id; whether it has a sequence number of its own is not documented: Replay "stored"
// is the first one's, "current" a new one.
func queue() []bench.Contract {
	fifo := bench.Terms{Key: bench.KeyTerms{
		Location: "entry:MessageDeduplicationId", MaxLength: 128, Required: true, Scope: "account+queue",
		Retention: 5 * time.Minute, ClockStart: "first-seen",
		Fingerprint: "none", Mismatch: "silent", Concurrent: "wait",
		Saves: "success", Replay: "stored",
	}}
	content, group := fifo, fifo
	content.Key.Required, content.Key.FromContent = false, true
	group.Key.Scope = "account+queue+group"
	throttled := content
	throttled.Capacity, throttled.Key.Saves = 2, "resumes" // what was accepted is a duplicate, the rest is taken now
	return []bench.Contract{
		honest("sqs-fifo", "queue", "A deduplication id per message, kept 5 min in its queue; a duplicate is accepted and dropped, whatever its body. Not documented: the sequence number of a duplicate (here the first one's).", sqsSource, fifo),
		honest("sqs-fifo-content", "queue", "As sqs-fifo; a message without an id is known by its body, so an equal message within 5 min is dropped too.", sqsSource, content),
		honest("sqs-fifo-group", "queue", "As sqs-fifo, in high-throughput mode: the same id in another message group is another message.", sqsSource, group),
		honest("sqs-fifo-throttled", "queue", "As sqs-fifo-content; of a batch two messages are accepted, and the answer names those that were not.", "planted", throttled),
		honest("sqs-standard", "queue", "Every accepted message is a message; no key, no look-up.",
			"https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/standard-queues.html", bench.Terms{}),
	}
}
