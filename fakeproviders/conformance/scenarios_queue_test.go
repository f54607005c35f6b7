package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// SQS's rules: docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html.
// SQS's SDKs fill no token in, and send a message again all the same.

func queueScenarios() []scenario {
	return slices.Concat(queueIDs(), queueContents(), queueBatches(), queueSends())
}

var sqsSDKs = []string{"boto3", "aws-sdk-go-v2", "@aws-sdk/client-sqs"}

// queues are those of the world of each scenario.
var queues = []bench.WorldEffect{
	{Class: "queue", Attrs: map[string]any{"queue": "orders.fifo"}},
	{Class: "queue", Attrs: map[string]any{"queue": "returns.fifo"}},
	{Class: "queue", Attrs: map[string]any{"queue": "orders"}},
}

func queueURL(name string) string { return "https://sqs.us-east-1.amazonaws.com/123456789012/" + name }

// sending is a SendMessage to orders.fifo; more are arguments that it has beside, or instead; nil takes one away.
func sending(more ...any) step {
	s := step{op: "sqs.SendMessage", args: map[string]any{"QueueUrl": queueURL("orders.fifo"), "MessageBody": "ship order 4821",
		"MessageGroupId": "berlin", "MessageDeduplicationId": "d-1"}}
	for i := 0; i < len(more); i += 2 {
		if s.args[more[i].(string)] = more[i+1]; more[i+1] == nil {
			delete(s.args, more[i].(string))
		}
	}
	return s
}

// plainly is a SendMessage to a standard queue.
func plainly() step {
	return sending("QueueUrl", queueURL("orders"), "MessageGroupId", nil, "MessageDeduplicationId", nil)
}

// sqsError is how each SDK names an error that a service's model does not have.
func sqsError(client, code string) string {
	if client == "boto3" {
		return "ClientError 400 " + code
	}
	return code + " 400"
}

// queueIDs are the promises of deduplication ids.
func queueIDs() []scenario {
	var all []scenario
	for _, c := range sqsSDKs {
		in := func(contract, name, expected string, run func(*stage) (string, error)) {
			all = append(all, scenario{name: name, contract: contract, client: c, world: queues, expected: expected, run: run})
		}
		add := func(name, expected string, run func(*stage) (string, error)) { in("sqs-fifo", name, expected, run) }
		same, other := "ok, the same object, 1 effect", "ok, another object, 2 effects"
		add("same id, same body", same, twice(sending(), sending(), nil, "MessageId"))
		add("same id, other body", same, twice(sending(), sending("MessageBody", "ship order 4822"), nil, "MessageId"))
		add("another id, same body", other, twice(sending(), sending("MessageDeduplicationId", "d-2"), nil, "MessageId"))
		add("an older id after a newer one", "ok, the same object, 2 effects", twice(sending(), sending(), func(st *stage) error {
			_, err := st.succeed(sending("MessageDeduplicationId", "d-2"))
			return err
		}, "MessageId"))
		add("same id in another queue", other, twice(sending(), sending("QueueUrl", queueURL("returns.fifo")), nil, "MessageId"))
		add("same id in another message group", same, twice(sending(), sending("MessageGroupId", "hamburg"), nil, "MessageId"))
		in("sqs-fifo-group", "same id in another message group", other, twice(sending(), sending("MessageGroupId", "hamburg"), nil, "MessageId"))
		add("same id after 4 min 59 s", same, twice(sending(), sending(), pass(5*time.Minute-time.Second), "MessageId"))
		add("same id after 5 min 1 s", other, twice(sending(), sending(), pass(5*time.Minute+time.Second), "MessageId"))
		add("same id, 5 min 1 s after the first and 1 min after the second", "ok, another object, 2 effects", twice(sending(), sending(), func(st *stage) error {
			st.clock.pass(4*time.Minute + time.Second)
			_, err := st.succeed(sending())
			st.clock.pass(time.Minute)
			return err
		}, "MessageId"))
		add("same id, 6 min after the first came and 2 min after it was taken", other, func(st *stage) (string, error) {
			return heldThen(st, sending(), 4*time.Minute, 2*time.Minute)
		})
		add("the sequence number of a duplicate", "ok, the same object, 1 effect", twice(sending(), sending(), nil, "SequenceNumber"))
		add("same id after the message was received and deleted", "ok, the same object, 2 effects", twice(sending(), sending(), receiveAndDelete, "MessageId"))
		add("no id", sqsError(c, "InvalidParameterValue"), func(st *stage) (string, error) {
			r, err := st.play(sending("MessageDeduplicationId", nil))
			return r.String(), err
		})
		add("an id of 129 characters", sqsError(c, "InvalidParameterValue"), func(st *stage) (string, error) {
			r, err := st.play(sending("MessageDeduplicationId", strings.Repeat("d", 129)))
			return r.String(), err
		})
		add("a queue that is not there", noQueue[c], func(st *stage) (string, error) {
			r, err := st.play(sending("QueueUrl", queueURL("nowhere.fifo")))
			return r.String(), err
		})
		add("the first is in work", "ok; the first: ok, 1 effect", func(st *stage) (string, error) { return st.second(sending(), sending()) })
		add("the provider crashed under the first", "2 sends under 1 key, 1 effect, ok", meets(1, bench.BeforeCommit, bench.Action{Act: bench.CrashAct},
			func(st *stage) (string, error) { return st.tell(sending()) }))
	}
	return all
}

// heldThen holds a call before its commit for a time, lets another time pass, and makes it again.
func heldThen(st *stage, s step, held, after time.Duration) (string, error) {
	h := st.gate.hold(bench.BeforeCommit, 1)
	work := st.begin(s)
	if err := st.reached(h); err != nil {
		return "", err
	}
	st.clock.pass(held)
	h.release(bench.Action{Act: bench.Pass})
	a, err := work.end()
	if err != nil {
		return "", err
	}
	st.clock.pass(after)
	b, err := st.play(s)
	if err != nil {
		return "", err
	}
	return st.compare(a, b, "MessageId")
}

// noQueue is how each SDK names a queue that is not there.
var noQueue = map[string]string{"boto3": "QueueDoesNotExist 400 AWS.SimpleQueueService.NonExistentQueue",
	"aws-sdk-go-v2": "AWS.SimpleQueueService.NonExistentQueue 400", "@aws-sdk/client-sqs": "QueueDoesNotExist 400"}

func receiveAndDelete(st *stage) error {
	got, err := st.succeed(step{op: "sqs.ReceiveMessage", args: map[string]any{"QueueUrl": queueURL("orders.fifo")}})
	if err != nil {
		return err
	}
	handle := got.at("Messages", 0, "ReceiptHandle")
	if got.at("Messages", 0, "Body") != "ship order 4821" {
		return fmt.Errorf("received %v", got.OK)
	}
	_, err = st.succeed(step{op: "sqs.DeleteMessage", args: map[string]any{"QueueUrl": queueURL("orders.fifo"), "ReceiptHandle": handle}})
	return err
}

// queueContents are the promises of deduplication by content.
func queueContents() []scenario {
	var all []scenario
	sum := sha256.Sum256([]byte("ship order 4821"))
	digest := hex.EncodeToString(sum[:])
	bare := sending("MessageDeduplicationId", nil)
	for _, c := range sqsSDKs {
		for _, e := range []struct {
			name          string
			first, second step
			expected      string
		}{
			{"no id, same body", bare, bare, "ok, the same object, 1 effect"},
			{"no id, other body", bare, sending("MessageDeduplicationId", nil, "MessageBody", "ship order 4822"), "ok, another object, 2 effects"},
			{"no id, same body, other attributes", bare, sending("MessageDeduplicationId", nil, "MessageAttributes",
				map[string]any{"from": map[string]any{"DataType": "String", "StringValue": "shop"}}), "ok, the same object, 1 effect"},
			{"an id, then the same body without one", sending(), bare, "ok, another object, 2 effects"},
			{"the body's SHA-256 as the id, then the body without one", sending("MessageDeduplicationId", digest), bare, "ok, the same object, 1 effect"},
		} {
			all = append(all, scenario{name: e.name, contract: "sqs-fifo-content", client: c, world: queues, expected: e.expected,
				run: twice(e.first, e.second, nil, "MessageId")})
		}
	}
	return all
}

// batch is a SendMessageBatch to orders.fifo: of each entry the body and the id, "" for none.
func batch(entries ...[2]string) step {
	var list []any
	for i, e := range entries {
		entry := map[string]any{"Id": fmt.Sprint(i + 1), "MessageBody": e[0], "MessageGroupId": "berlin"}
		if e[1] != "" {
			entry["MessageDeduplicationId"] = e[1]
		}
		list = append(list, entry)
	}
	return step{op: "sqs.SendMessageBatch", args: map[string]any{"QueueUrl": queueURL("orders.fifo"), "Entries": list}}
}

// told tells what became of a batch.
func told(r result) string {
	accepted, _ := r.at("Successful").([]any)
	failed, _ := r.at("Failed").([]any)
	words := fmt.Sprintf("%s: %d accepted, %d not", r, len(accepted), len(failed))
	for i := range failed {
		words += fmt.Sprintf(" (%v)", r.at("Failed", i, "Code"))
	}
	return words
}

func queueBatches() []scenario {
	var all []scenario
	for _, c := range sqsSDKs {
		all = append(all, scenario{name: "a batch of a duplicate, a new message and one without an id", contract: "sqs-fifo", client: c, world: queues,
			expected: "ok: 2 accepted, 1 not (InvalidParameterValue); the duplicate is the first message; 2 effects",
			run: func(st *stage) (string, error) {
				first, err := st.succeed(sending())
				if err != nil {
					return "", err
				}
				r, err := st.play(batch([2]string{"other text", "d-1"}, [2]string{"ship order 4822", "d-2"}, [2]string{"ship order 4823", ""}))
				if err != nil {
					return "", err
				}
				words := told(r)
				if r.at("Successful", 0, "MessageId") == first.at("MessageId") {
					words += "; the duplicate is the first message"
				}
				made, err := st.effects()
				return words + "; " + plural(len(made), "effect"), err
			}}, scenario{name: "a batch of three of which two are taken at a time, then again", contract: "sqs-fifo-throttled", client: c, world: queues,
			expected: "ok: 2 accepted, 1 not (InternalError); then ok: 3 accepted, 0 not; 3 effects",
			run: func(st *stage) (string, error) {
				three := batch([2]string{"a", "d-1"}, [2]string{"b", "d-2"}, [2]string{"c", "d-3"})
				a, err := st.play(three)
				if err != nil {
					return "", err
				}
				b, err := st.play(three)
				if err != nil {
					return "", err
				}
				made, err := st.effects()
				return told(a) + "; then " + told(b) + "; " + plural(len(made), "effect"), err
			}})
	}
	return all
}

// queueSends are the requests that the SDKs send on their own: a message to a standard queue too.
func queueSends() []scenario {
	closed := map[string]string{"boto3": "ConnectionClosedError", "aws-sdk-go-v2": "*smithy.OperationError", "@aws-sdk/client-sqs": "TimeoutError ECONNRESET"}
	lost := bench.Action{Act: bench.Close}
	var all []scenario
	for _, c := range sqsSDKs {
		for _, e := range []struct {
			name, contract string
			at             bench.Point
			act            bench.Action
			send           step
			expected       string
		}{
			{"no answer comes back", "sqs-fifo", bench.Committed, lost, sending(), "3 sends under 1 key, 1 effect, " + closed[c]},
			{"no answer comes back", "sqs-standard", bench.Committed, lost, plainly(), "3 sends, 3 effects, " + closed[c]},
			{"every answer is a 503, after the message was taken", "sqs-standard", bench.Committed, bench.Action{Act: bench.Fail, Status: 503}, plainly(),
				"3 sends, 3 effects, " + unavailable[c]},
		} {
			all = append(all, scenario{name: e.name, contract: e.contract, client: c, world: queues, expected: e.expected, slow: true,
				run: func(st *stage) (string, error) {
					st.gate.meet(e.at, e.act)
					st.gate.meet(bench.BeforeResponse, e.act) // duplicates too
					return st.tell(e.send)
				}})
		}
		all = append(all, marked("sqs-standard", c, plainly(), 3))
	}
	return all
}

// unavailable is how each SDK names SQS's own failure.
var unavailable = map[string]string{"boto3": "ClientError 503 InternalFailure", "aws-sdk-go-v2": "InternalFailure 503", "@aws-sdk/client-sqs": "InternalFailure 503"}

// marked tells what marks the attempts of one call: all have one invocation id, and count up.
func marked(contract, client string, s step, sends int) scenario {
	var attempts []string
	for n := range sends {
		attempts = append(attempts, fmt.Sprintf("attempt=%d; max=%d", n+1, sends))
	}
	return scenario{name: "what marks attempts", contract: contract, client: client, world: queues, slow: true,
		expected: "amz-sdk-invocation-id: 1 value; amz-sdk-request: " + strings.Join(attempts, ", "),
		run: func(st *stage) (string, error) {
			st.gate.meet(bench.Received, bench.Action{Act: bench.Close})
			if _, err := st.play(s); err != nil {
				return "", err
			}
			ids, attempts := map[string]bool{}, []string{}
			for _, r := range st.tap.requests() {
				ids[r.header.Get("Amz-Sdk-Invocation-Id")] = true
				attempts = append(attempts, regexp.MustCompile(`ttl=[^;]*; `).ReplaceAllString(r.header.Get("Amz-Sdk-Request"), ""))
			}
			return fmt.Sprintf("amz-sdk-invocation-id: %s; amz-sdk-request: %s", plural(len(ids), "value"), strings.Join(attempts, ", ")), nil
		}}
}
