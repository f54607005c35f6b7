package tools

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// The queue family speaks the wire of Amazon SQS, AWS JSON 1.0 (docs/providers/queue.md): the idempotency
// key is the message's deduplication id.

var enqueueMessage = &Tool{
	name: "enqueue_message", provider: "queue",
	about: "Put a message into a queue.",
	args: []argument{
		{name: "queue", kind: text, required: true, about: "Name of the queue; that of a FIFO queue ends in .fifo."},
		{name: "body", kind: text, required: true, about: "Text of the message."},
		{name: "group", kind: text, about: "Message group, within which a FIFO queue keeps the order."},
	},
	class:   "queued-message",
	effects: one("queue", "body", "group"),
	plan: func(a arguments) []request {
		body := queueMessage(a, a.text("body"))
		body["QueueUrl"] = queueURL(a)
		return []request{sqsRequest("SendMessage", "message to "+a.text("queue"), body,
			func(key string) { body["MessageDeduplicationId"] = key })}
	},
	read: func(r response) outcome {
		o, _ := r.object()
		if r.status/100 == 2 {
			return created(o, "MessageId")
		}
		return sqsFailed(r)
	},
}

var enqueueMessages = &Tool{
	name: "enqueue_messages", provider: "queue",
	about: "Put several messages into a queue by one batch. Each is accepted or refused for itself.",
	args: []argument{
		{name: "queue", kind: text, required: true, about: "Name of the queue; that of a FIFO queue ends in .fifo."},
		{name: "body", kind: texts, required: true, about: "Texts of the messages, ten at most."},
		{name: "group", kind: text, about: "Message group, within which a FIFO queue keeps the order."},
	},
	class: "queued-message",
	effects: func(a arguments) []map[string]any {
		units := []map[string]any{}
		for _, body := range a.list("body") {
			unit := a.pick("queue", "group")
			unit["body"] = body
			units = append(units, unit)
		}
		if len(units) == 0 {
			return []map[string]any{a.pick("queue", "group", "body")}
		}
		return units
	},
	plan: func(a arguments) []request {
		var entries []map[string]any
		for i, text := range a.list("body") {
			entry := queueMessage(a, text)
			entry["Id"] = fmt.Sprint(i + 1)
			entries = append(entries, entry)
		}
		body := map[string]any{"QueueUrl": queueURL(a), "Entries": entries}
		return []request{sqsRequest("SendMessageBatch", "messages to "+a.text("queue"), body, func(key string) {
			for i, entry := range entries {
				entry["MessageDeduplicationId"] = fmt.Sprintf("%s/%d", key, i+1)
			}
		})}
	},
	read: func(r response) outcome {
		if r.status/100 != 2 {
			return sqsFailed(r)
		}
		o, _ := r.object()
		accepted, isList := o["Successful"].([]any)
		if !isList {
			return outcome{status: Unknown, message: "the provider's answer has no list of messages"}
		}
		done := outcome{status: Done}
		for _, each := range accepted {
			entry, _ := each.(map[string]any)
			if id, ok := entry["MessageId"].(string); ok {
				done.receipts = append(done.receipts, id)
			}
		}
		failures, _ := o["Failed"].([]any)
		ours := 0
		for _, each := range failures {
			if failure, _ := each.(map[string]any); failure["SenderFault"] == true {
				ours++
			}
		}
		switch {
		case len(failures) > 0 && len(done.receipts) == 0 && ours < len(failures):
			return outcome{status: NotExecuted, message: "no message was accepted this time"}
		case len(failures) > 0 && len(done.receipts) == 0:
			return outcome{status: Refused, message: "no message was accepted"}
		case len(failures) > 0 || len(done.receipts) == 0:
			done.status, done.message = Unknown, fmt.Sprintf("%d of %d messages were not accepted", len(failures), len(failures)+len(done.receipts))
		}
		return done
	},
}

func queueMessage(a arguments, text string) map[string]any {
	m := map[string]any{"MessageBody": text}
	if group := a.text("group"); group != "" {
		m["MessageGroupId"] = group
	}
	return m
}

// queueURL names a queue as Amazon SQS does; the service reads the path only.
func queueURL(a arguments) string {
	return "https://sqs.us-east-1.amazonaws.com/123456789012/" + a.text("queue")
}

func sqsRequest(operation, about string, body map[string]any, keyed func(key string)) request {
	r := request{
		method: http.MethodPost, path: "/", about: about,
		header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Target": {"AmazonSQS." + operation}},
		keyed: func(r *request, key string) {
			keyed(key)
			r.body, _ = json.Marshal(body) // texts and lists of them: it cannot fail
		},
	}
	r.body, _ = json.Marshal(body)
	return r
}

func sqsFailed(r response) outcome {
	o, _ := r.object()
	message, _ := o["message"].(string)
	return r.failed(message)
}
