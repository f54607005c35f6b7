package fakeproviders

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
)

// upQueues raises a provider with the queues orders.fifo, returns.fifo and orders.
func upQueues(t *testing.T, contract string, change ...func(*bench.Terms)) *rig {
	t.Helper()
	c, ok := contracts.Find(contract)
	if !ok {
		t.Fatalf("contract %q is not there", contract)
	}
	for _, f := range change {
		f(&c.Actual)
	}
	var world []bench.WorldEffect
	for _, name := range []string{"orders.fifo", "returns.fifo", "orders"} {
		world = append(world, bench.WorldEffect{Class: "queue", Attrs: map[string]any{"queue": name}})
	}
	return upWith(t, c, world)
}

// aws sends an operation in AWS JSON.
func (r *rig) aws(target, body string) reply {
	return r.send("POST", "/", body, "X-Amz-Target", target, "Content-Type", "application/x-amz-json-1.0")
}

func (r *rig) sqs(op, queue, more string) reply {
	return r.aws(sqsTarget+op, `{"QueueUrl":"https://sqs.us-east-1.amazonaws.com/123456789012/`+queue+`"`+more+`}`)
}

func (r *rig) put(queue, body, group, id string) reply {
	more := `,"MessageBody":"` + body + `"`
	if group != "" {
		more += `,"MessageGroupId":"` + group + `"`
	}
	if id != "" {
		more += `,"MessageDeduplicationId":"` + id + `"`
	}
	return r.sqs("SendMessage", queue, more)
}

// messages lists what was put into queues, oldest first.
func (r *rig) messages() []string {
	var all []string
	for _, o := range r.effects() {
		if o.Class == "queued-message" {
			all = append(all, o.ID)
		}
	}
	return all
}

func TestMessagesAreDeduplicated(t *testing.T) {
	for name, c := range map[string]struct {
		contract      string
		first, second [4]string // queue, body, group, id
		after         time.Duration
		duplicate     bool
		change        func(*bench.Terms)
	}{
		"same id":                           {"sqs-fifo", [4]string{"orders.fifo", "a", "g", "1"}, [4]string{"orders.fifo", "a", "g", "1"}, 0, true, nil},
		"other body":                        {"sqs-fifo", [4]string{"orders.fifo", "a", "g", "1"}, [4]string{"orders.fifo", "b", "g", "1"}, 0, true, nil},
		"other id":                          {"sqs-fifo", [4]string{"orders.fifo", "a", "g", "1"}, [4]string{"orders.fifo", "a", "g", "2"}, 0, false, nil},
		"other queue":                       {"sqs-fifo", [4]string{"orders.fifo", "a", "g", "1"}, [4]string{"returns.fifo", "a", "g", "1"}, 0, false, nil},
		"other group":                       {"sqs-fifo", [4]string{"orders.fifo", "a", "g", "1"}, [4]string{"orders.fifo", "a", "h", "1"}, 0, true, nil},
		"other group, by group":             {"sqs-fifo-group", [4]string{"orders.fifo", "a", "g", "1"}, [4]string{"orders.fifo", "a", "h", "1"}, 0, false, nil},
		"at 5 min":                          {"sqs-fifo", [4]string{"orders.fifo", "a", "g", "1"}, [4]string{"orders.fifo", "a", "g", "1"}, 5 * time.Minute, true, nil},
		"past 5 min":                        {"sqs-fifo", [4]string{"orders.fifo", "a", "g", "1"}, [4]string{"orders.fifo", "a", "g", "1"}, 5*time.Minute + 1, false, nil},
		"by content":                        {"sqs-fifo-content", [4]string{"orders.fifo", "a", "g", ""}, [4]string{"orders.fifo", "a", "g", ""}, 0, true, nil},
		"by content, other body":            {"sqs-fifo-content", [4]string{"orders.fifo", "a", "g", ""}, [4]string{"orders.fifo", "b", "g", ""}, 0, false, nil},
		"an id wins over the content":       {"sqs-fifo-content", [4]string{"orders.fifo", "a", "g", "1"}, [4]string{"orders.fifo", "a", "g", ""}, 0, false, nil},
		"ids and digests share one space":   {"sqs-fifo-content", [4]string{"orders.fifo", "a", "g", digest("a")}, [4]string{"orders.fifo", "a", "g", ""}, 0, true, nil},
		"a standard queue knows none":       {"sqs-standard", [4]string{"orders", "a", "", ""}, [4]string{"orders", "a", "", ""}, 0, false, nil},
		"a standard queue under a FIFO one": {"sqs-fifo-content", [4]string{"orders", "a", "", ""}, [4]string{"orders", "a", "", ""}, 0, false, nil},
		"shared by all queues": {"sqs-fifo", [4]string{"orders.fifo", "a", "g", "1"}, [4]string{"returns.fifo", "a", "g", "1"}, 0, true,
			func(t *bench.Terms) { t.Key.Scope = "everybody" }},
		"no key at all": {"sqs-fifo", [4]string{"orders.fifo", "a", "g", "1"}, [4]string{"orders.fifo", "a", "g", "1"}, 0, false,
			func(t *bench.Terms) { t.Key = bench.KeyTerms{} }},
	} {
		t.Run(name, func(t *testing.T) {
			change := []func(*bench.Terms){}
			if c.change != nil {
				change = append(change, c.change)
			}
			r := upQueues(t, c.contract, change...)
			a := r.want(r.put(c.first[0], c.first[1], c.first[2], c.first[3]), 200)
			r.clock.pass(c.after)
			b := r.want(r.put(c.second[0], c.second[1], c.second[2], c.second[3]), 200)
			if same := a.field("MessageId") == b.field("MessageId"); same != c.duplicate || len(r.messages()) != map[bool]int{true: 1, false: 2}[c.duplicate] {
				t.Fatalf("%s, then %s; %d messages", a.body, b.body, len(r.messages()))
			}
			if b.field("MD5OfMessageBody") != md5Of(c.second[1]) {
				t.Errorf("the digest is not that of the body that was sent: %s", b.body)
			}
			if c.duplicate {
				r.wantDedup(bench.DedupRecord{By: "provider", Request: "r2", Record: a.field("MessageId").(string)})
				return
			}
			r.wantDedup()
		})
	}
}

// TestLaterOfTwoIsTheDuplicate holds the first of two before its commit: the second becomes the message.
func TestLaterOfTwoIsTheDuplicate(t *testing.T) {
	r := upQueues(t, "sqs-fifo")
	p := r.gate.park(bench.BeforeCommit, "r1")
	first := r.async(func() reply { return r.put("orders.fifo", "a", "g", "1") })
	<-p.arrived
	second := r.want(r.put("orders.fifo", "a", "g", "1"), 200)
	p.goOn <- pass()
	if got := r.want(<-first, 200); got.field("MessageId") != second.field("MessageId") || len(r.messages()) != 1 {
		t.Fatalf("%s, then %s; %d messages", second.body, got.body, len(r.messages()))
	}
	r.wantDedup(bench.DedupRecord{By: "provider", Request: "r1", Record: second.field("MessageId").(string)})
}

func TestSequenceNumberOfADuplicate(t *testing.T) {
	for replay, same := range map[string]bool{"stored": true, "current": false} {
		r := upQueues(t, "sqs-fifo", func(t *bench.Terms) { t.Key.Replay = replay })
		a, b := r.put("orders.fifo", "a", "g", "1"), r.want(r.put("orders.fifo", "a", "g", "1"), 200)
		if got := a.field("SequenceNumber") == b.field("SequenceNumber"); got != same || a.field("SequenceNumber") == nil {
			t.Errorf("%s: %s, then %s", replay, a.body, b.body)
		}
	}
}

func TestQueueErrors(t *testing.T) {
	long := strings.Repeat("x", 129)
	for name, c := range map[string]struct {
		op, queue, more, shape, code string
		status                       int
	}{
		"no such queue":            {"SendMessage", "nowhere.fifo", `,"MessageBody":"a"`, "com.amazonaws.sqs#QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue;Sender", 400},
		"no body":                  {"SendMessage", "orders", ``, "com.amazon.coral.service#MissingRequiredParameterException", "MissingParameter;Sender", 400},
		"no group":                 {"SendMessage", "orders.fifo", `,"MessageBody":"a"`, "com.amazon.coral.service#MissingRequiredParameterException", "MissingParameter;Sender", 400},
		"no id":                    {"SendMessage", "orders.fifo", `,"MessageBody":"a","MessageGroupId":"g"`, "com.amazon.coral.service#InvalidParameterValueException", "InvalidParameterValue;Sender", 400},
		"a long id":                {"SendMessage", "orders.fifo", `,"MessageBody":"a","MessageGroupId":"g","MessageDeduplicationId":"` + long + `"`, "com.amazon.coral.service#InvalidParameterValueException", "InvalidParameterValue;Sender", 400},
		"an id with a blank":       {"SendMessage", "orders.fifo", `,"MessageBody":"a","MessageGroupId":"g","MessageDeduplicationId":"a b"`, "com.amazon.coral.service#InvalidParameterValueException", "InvalidParameterValue;Sender", 400},
		"an id that is a number":   {"SendMessage", "orders.fifo", `,"MessageBody":"a","MessageGroupId":"g","MessageDeduplicationId":7`, "com.amazon.coral.service#InvalidParameterValueException", "InvalidParameterValue;Sender", 400},
		"an id, standard queue":    {"SendMessage", "orders", `,"MessageBody":"a","MessageDeduplicationId":"1"`, "com.amazon.coral.service#InvalidParameterValueException", "InvalidParameterValue;Sender", 400},
		"a delay, FIFO queue":      {"SendMessage", "orders.fifo", `,"MessageBody":"a","MessageGroupId":"g","MessageDeduplicationId":"1","DelaySeconds":3`, "com.amazon.coral.service#InvalidParameterValueException", "InvalidParameterValue;Sender", 400},
		"a character":              {"SendMessage", "orders", `,"MessageBody":"\u0001"`, "com.amazonaws.sqs#InvalidMessageContents", "InvalidMessageContents;Sender", 400},
		"no entries":               {"SendMessageBatch", "orders", `,"Entries":[]`, "com.amazonaws.sqs#EmptyBatchRequest", "AWS.SimpleQueueService.EmptyBatchRequest;Sender", 400},
		"entries that are none":    {"SendMessageBatch", "orders", `,"Entries":[7]`, "com.amazonaws.sqs#InvalidBatchEntryId", "AWS.SimpleQueueService.InvalidBatchEntryId;Sender", 400},
		"an entry twice":           {"SendMessageBatch", "orders", `,"Entries":[{"Id":"a","MessageBody":"a"},{"Id":"a","MessageBody":"b"}]`, "com.amazonaws.sqs#BatchEntryIdsNotDistinct", "AWS.SimpleQueueService.BatchEntryIdsNotDistinct;Sender", 400},
		"a handle that is none":    {"DeleteMessage", "orders", `,"ReceiptHandle":"x"`, "com.amazonaws.sqs#ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid;Sender", 404},
		"eleven messages":          {"ReceiveMessage", "orders", `,"MaxNumberOfMessages":11`, "com.amazon.coral.service#InvalidParameterValueException", "InvalidParameterValue;Sender", 400},
		"an attribute":             {"GetQueueAttributes", "orders", `,"AttributeNames":["Nonsense"]`, "com.amazonaws.sqs#InvalidAttributeName", "InvalidAttributeName;Sender", 400},
		"another operation":        {"PurgeQueue", "orders", ``, "com.amazonaws.sqs#UnsupportedOperation", "AWS.SimpleQueueService.UnsupportedOperation;Sender", 400},
		"a queue, other attribute": {"CreateQueue", "orders", `,"QueueName":"orders","Attributes":{"DelaySeconds":"5"}`, "com.amazonaws.sqs#QueueNameExists", "QueueAlreadyExists;Sender", 400},
		"a FIFO queue, by name":    {"CreateQueue", "orders", `,"QueueName":"x.fifo"`, "com.amazon.coral.service#InvalidParameterValueException", "InvalidParameterValue;Sender", 400},
	} {
		t.Run(name, func(t *testing.T) {
			r := upQueues(t, "sqs-fifo")
			got := r.want(r.sqs(c.op, c.queue, c.more), c.status)
			if got.field("__type") != c.shape || got.header.Get("X-Amzn-Query-Error") != c.code || got.field("message") == "" || got.header.Get("X-Amzn-Requestid") == "" {
				t.Errorf("%s %v; want %s, %s", got.body, got.header, c.shape, c.code)
			}
			r.wantEffects(3) // the queues
		})
	}
}

func TestBatchesAreTakenInParts(t *testing.T) {
	r := upQueues(t, "sqs-fifo-throttled")
	three := `,"Entries":[{"Id":"a","MessageBody":"1","MessageGroupId":"g"},{"Id":"b","MessageBody":"2","MessageGroupId":"g"},{"Id":"c","MessageBody":"3","MessageGroupId":"g"}]`
	short := func(got reply) string {
		words := ""
		for _, e := range got.field("Successful").([]any) {
			words += fmt.Sprint(e.(map[string]any)["Id"], " ")
		}
		for _, e := range got.field("Failed").([]any) {
			words += fmt.Sprint("not ", e.(map[string]any)["Id"], " ", e.(map[string]any)["Code"], " ", e.(map[string]any)["SenderFault"])
		}
		return words
	}
	if got := short(r.want(r.sqs("SendMessageBatch", "orders.fifo", three), 200)); got != "a b not c InternalError false" {
		t.Errorf("first: %s", got)
	}
	if got := short(r.want(r.sqs("SendMessageBatch", "orders.fifo", three), 200)); got != "a b c " || len(r.messages()) != 3 {
		t.Errorf("again: %s, %d messages", got, len(r.messages()))
	}
}

func TestMessagesAreReceived(t *testing.T) {
	r := upQueues(t, "sqs-fifo")
	for i, group := range []string{"g", "g", "h"} {
		r.want(r.put("orders.fifo", fmt.Sprint(i), group, fmt.Sprint(i)), 200)
	}
	receive := func(more string) (bodies string, handles []string) {
		list, _ := r.want(r.sqs("ReceiveMessage", "orders.fifo", more), 200).field("Messages").([]any)
		for _, m := range list {
			bodies += m.(map[string]any)["Body"].(string)
			handles = append(handles, m.(map[string]any)["ReceiptHandle"].(string))
		}
		return bodies, handles
	}
	one, handles := receive("")
	if one != "0" {
		t.Fatalf("received %q, want the oldest", one)
	}
	if rest, _ := receive(`,"MaxNumberOfMessages":10`); rest != "2" {
		t.Errorf("received %q, want 2 only: its group is barred for 1", rest)
	}
	r.want(r.sqs("DeleteMessage", "orders.fifo", `,"ReceiptHandle":"`+handles[0]+`"`), 200)
	r.want(r.sqs("DeleteMessage", "orders.fifo", `,"ReceiptHandle":"`+handles[0]+`"`), 200) // changes nothing
	if next, _ := receive(`,"VisibilityTimeout":5`); next != "1" {
		t.Errorf("received %q, want 1", next)
	}
	r.clock.pass(5 * time.Second)
	if again, _ := receive(""); again != "1" {
		t.Errorf("received %q after its time, want 1 again", again)
	}
	counts := r.want(r.sqs("GetQueueAttributes", "orders.fifo", `,"AttributeNames":["All"]`), 200).field("Attributes").(map[string]any)
	if counts["ApproximateNumberOfMessages"] != "0" || counts["ApproximateNumberOfMessagesNotVisible"] != "2" || counts["FifoQueue"] != "true" {
		t.Errorf("attributes %v", counts)
	}
	removals := 0
	for _, o := range r.effects() {
		if o.Class == "message-removal" {
			removals++
			if o.Undoes != r.messages()[0] {
				t.Errorf("the removal undoes %s", o.Undoes)
			}
		}
	}
	if removals != 1 {
		t.Errorf("%d removals, want 1", removals)
	}
	r.want(r.sqs("SendMessage", "orders", `,"MessageBody":"later","DelaySeconds":60`), 200)
	if early := r.want(r.sqs("ReceiveMessage", "orders", ""), 200); early.body != "{}" {
		t.Errorf("received %s before its delay was over", early.body)
	}
	r.clock.pass(time.Minute)
	if list, _ := r.want(r.sqs("ReceiveMessage", "orders", ""), 200).field("Messages").([]any); len(list) != 1 {
		t.Errorf("%d messages after the delay", len(list))
	}
}

// TestQueueIsMade makes queues by the API, whose attributes then rule.
func TestQueueIsMade(t *testing.T) {
	r := upQueues(t, "sqs-fifo")
	made := r.want(r.aws(sqsTarget+"CreateQueue", `{"QueueName":"own.fifo","Attributes":{"FifoQueue":"true","ContentBasedDeduplication":"true","DeduplicationScope":"messageGroup"}}`), 200)
	if url := made.field("QueueUrl"); url != r.base+"/123456789012/own.fifo" {
		t.Errorf("URL %v, want one at %s", url, r.base)
	}
	if again := r.want(r.aws(sqsTarget+"CreateQueue", `{"QueueName":"own.fifo","Attributes":{"FifoQueue":"true"}}`), 200); again.field("QueueUrl") != made.field("QueueUrl") {
		t.Errorf("again: %s", again.body)
	}
	for _, group := range []string{"g", "g", "h"} {
		r.want(r.put("own.fifo", "a", group, ""), 200)
	}
	if n := len(r.messages()); n != 2 {
		t.Errorf("%d messages, want one a group", n)
	}
}

// TestDigestOfAttributes compares with digests that the service gave, as moto's tests have recorded them.
func TestDigestOfAttributes(t *testing.T) {
	for text, want := range map[string]string{
		`{"timestamp":{"DataType":"Number","StringValue":"1493147359900"}}`: "235c5c510d26fb653d073faed50ae77c",
	} {
		var attributes map[string]any
		if err := json.Unmarshal([]byte(text), &attributes); err != nil {
			t.Fatal(err)
		}
		if got := md5OfAttributes(attributes); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
