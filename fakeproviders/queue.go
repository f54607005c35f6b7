package fakeproviders

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// queue speaks Amazon SQS: AWS JSON 1.0, the operation in X-Amz-Target, errors also under their old query
// names. Keys are deduplication ids, one for each message, so this kind keeps them itself, in the ledger: a
// message is its own record. Shapes: botocore's model sqs 2012-11-05; rules:
// docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/using-messagededuplicationid-property.html.
type queue struct{}

func (queue) Name() string { return "queue" }
func (queue) Summary() string {
	return "messages put into queues over the Amazon SQS wire (AWS JSON 1.0)"
}

const (
	sqsTarget  = "AmazonSQS."
	sqsShape   = "com.amazonaws.sqs#"
	coralShape = "com.amazon.coral.service#"
)

func (queue) Parse(r bench.RawRequest) bench.Call {
	op, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), sqsTarget)
	if !ok || r.Method != http.MethodPost {
		return bench.Call{Op: "unknown"}
	}
	m := fields(r.Body)
	name := queueName(text(m, "QueueUrl"))
	message := func(m map[string]any) map[string]any {
		return pick(map[string]any{"queue": name, "group": m["MessageGroupId"], "body": m["MessageBody"]}, "queue", "group", "body")
	}
	c := bench.Call{Op: op, Mutating: true, Attrs: pick(map[string]any{"queue": name}, "queue")}
	switch op {
	case "SendMessage":
		c.Class, c.Attrs = "queued-message", message(m)
	case "SendMessageBatch":
		c.Class = "queued-message"
		entries, _ := m["Entries"].([]any)
		for _, e := range entries {
			entry, _ := e.(map[string]any)
			c.Units = append(c.Units, message(entry))
		}
		if len(c.Units) > 0 {
			c.Attrs = c.Units[0]
		}
	case "CreateQueue":
		c.Class, c.Attrs = "queue", pick(map[string]any{"queue": m["QueueName"]}, "queue")
	case "ReceiveMessage":
		c.Class = "delivery"
	case "DeleteMessage":
		c.Class = "message-removal"
	default:
		c.Mutating = false
	}
	return c
}

// queueName is the name at the end of a queue's URL; "" without one.
func queueName(address string) string {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return ""
	}
	return path.Base(u.Path)
}

// queueState is a request's view of one queue.
type queueState struct {
	name       string
	made       time.Time
	fifo       bool
	content    bool // deduplicates by the body where the caller gives no id
	byGroup    bool // deduplication ids are unique in a message group, not in the queue
	visibility time.Duration
	delay      time.Duration
	attributes map[string]any // as given to CreateQueue
	ledger     []store.Object // of the whole provider
}

func (q queue) execute(x *exchange) (answer, error) {
	m := fields(x.raw.Body)
	if x.call.Op == "unknown" {
		return sqsError(http.StatusBadRequest, coralShape+"UnknownOperationException", "InvalidAction", "The operation is not valid: POST / with X-Amz-Target AmazonSQS.OPERATION."), nil
	}
	if m == nil {
		return sqsError(http.StatusBadRequest, coralShape+"SerializationException", "MalformedInput", "The body is not a JSON object."), nil
	}
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	switch x.call.Op {
	case "CreateQueue":
		return q.create(x, m, all), nil
	case "GetQueueUrl":
		if _, ok := q.open(x, all, text(m, "QueueName")); !ok {
			return noQueue, nil
		}
		return q.address(x, text(m, "QueueName")), nil
	}
	do := map[string]func(*exchange, queueState, map[string]any) answer{
		"SendMessage": q.send, "SendMessageBatch": q.sendBatch, "ReceiveMessage": q.receive,
		"DeleteMessage": q.delete, "GetQueueAttributes": q.attributes,
	}[x.call.Op]
	switch {
	case do == nil:
		return sqsError(http.StatusBadRequest, sqsShape+"UnsupportedOperation", "AWS.SimpleQueueService.UnsupportedOperation",
			"%s is not supported here.", x.call.Op), nil
	case text(m, "QueueUrl") == "":
		return sqsMissing("QueueUrl"), nil
	}
	s, ok := q.open(x, all, queueName(text(m, "QueueUrl")))
	if !ok {
		return noQueue, nil
	}
	return do(x, s, m), nil
}

var noQueue = sqsError(http.StatusBadRequest, sqsShape+"QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.")

// open finds a queue. One of the world has the nature that the contract tells: FIFO by its name, and
// deduplication by content where the contract demands no id.
func (queue) open(x *exchange, all []store.Object, name string) (queueState, bool) {
	i := slices.IndexFunc(all, func(o store.Object) bool { return o.Class == "queue" && o.Attrs["queue"] == name })
	if i < 0 {
		return queueState{}, false
	}
	given, created := all[i].Detail["attributes"].(map[string]any)
	k := x.p.terms.Key
	s := queueState{name: name, made: all[i].At, fifo: strings.HasSuffix(name, ".fifo"), attributes: given, ledger: all,
		content: k.FromContent, byGroup: strings.Contains(k.Scope, "+group")}
	if created {
		s.content = given["ContentBasedDeduplication"] == "true"
		s.byGroup = s.byGroup || given["DeduplicationScope"] == "messageGroup"
	}
	s.visibility = secondsOf(given, "VisibilityTimeout", 30*time.Second)
	s.delay = secondsOf(given, "DelaySeconds", 0)
	return s, true
}

func secondsOf(attributes map[string]any, name string, fallback time.Duration) time.Duration {
	if n, err := strconv.Atoi(text(attributes, name)); err == nil {
		return time.Duration(n) * time.Second
	}
	return fallback
}

var queueNames = regexp.MustCompile(`^[A-Za-z0-9_-]{1,75}(\.fifo)?$`)

// queueLimits are the attributes of CreateQueue that are numbers, each with its least and greatest value.
var queueLimits = map[string][2]int{"DelaySeconds": {0, 900}, "MaximumMessageSize": {1024, maxMessage}, "MessageRetentionPeriod": {60, 1209600},
	"ReceiveMessageWaitTimeSeconds": {0, 20}, "VisibilityTimeout": {0, 43200}}

// queueWords are those that are words.
var queueWords = map[string][]string{"FifoQueue": {"true"}, "ContentBasedDeduplication": {"true", "false"},
	"DeduplicationScope": {"queue", "messageGroup"}, "FifoThroughputLimit": {"perQueue", "perMessageGroupId"}}

func (q queue) create(x *exchange, m map[string]any, all []store.Object) answer {
	name := text(m, "QueueName")
	attributes, _ := m["Attributes"].(map[string]any)
	if attributes == nil {
		attributes = map[string]any{}
	}
	if !queueNames.MatchString(name) || strings.HasSuffix(name, ".fifo") != (attributes["FifoQueue"] == "true") {
		return sqsInvalid("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length; the name of a FIFO queue, and no other, ends in .fifo")
	}
	for k, v := range attributes {
		value, _ := v.(string)
		n, err := strconv.Atoi(value)
		limits, number := queueLimits[k]
		switch words := queueWords[k]; {
		case !number && words == nil, words != nil && k != "FifoQueue" && attributes["FifoQueue"] != "true":
			return sqsError(http.StatusBadRequest, sqsShape+"InvalidAttributeName", "InvalidAttributeName", "Unknown Attribute %s.", k)
		case number && (err != nil || n < limits[0] || n > limits[1]), words != nil && !slices.Contains(words, value):
			return sqsError(http.StatusBadRequest, sqsShape+"InvalidAttributeValue", "InvalidAttributeValue", "Invalid value for the parameter %s.", k)
		}
	}
	i := slices.IndexFunc(all, func(o store.Object) bool { return o.Class == "queue" && o.Attrs["queue"] == name })
	if i < 0 {
		x.add("", store.Object{ID: sqsARN + name, Class: "queue", Attrs: x.call.Attrs, Detail: map[string]any{"attributes": attributes}})
		return q.address(x, name)
	}
	there, _ := all[i].Detail["attributes"].(map[string]any)
	for k, v := range attributes {
		if there[k] != v {
			return sqsError(http.StatusBadRequest, sqsShape+"QueueNameExists", "QueueAlreadyExists",
				"A queue already exists with the same name and a different value for attribute %s", k)
		}
	}
	a := q.address(x, name)
	a.existing, a.dedup = all[i].ID, true
	return a
}

const sqsARN = "arn:aws:sqs:us-east-1:" + awsAccount + ":"

// address names a queue by a URL at the address that the caller used.
func (queue) address(x *exchange, name string) answer {
	return awsJSON(http.StatusOK, map[string]any{"QueueUrl": "http://" + x.host + "/" + awsAccount + "/" + name})
}

func (queue) attributes(x *exchange, s queueState, m map[string]any) answer {
	all := map[string]any{
		"QueueArn": sqsARN + s.name, "CreatedTimestamp": fmt.Sprint(s.made.Unix()), "LastModifiedTimestamp": fmt.Sprint(s.made.Unix()),
		"VisibilityTimeout": "30", "DelaySeconds": "0", "MaximumMessageSize": fmt.Sprint(maxMessage), "MessageRetentionPeriod": "345600",
		"ReceiveMessageWaitTimeSeconds": "0",
	}
	if s.fifo {
		all["FifoQueue"], all["DeduplicationScope"], all["FifoThroughputLimit"] = "true", "queue", "perQueue"
		if s.byGroup {
			all["DeduplicationScope"] = "messageGroup"
		}
		all["ContentBasedDeduplication"] = strconv.FormatBool(s.content)
	}
	for k, v := range s.attributes {
		all[k] = v
	}
	waiting, inFlight, delayed := s.counts(x.p.clock.Now())
	all["ApproximateNumberOfMessages"], all["ApproximateNumberOfMessagesNotVisible"] = fmt.Sprint(waiting), fmt.Sprint(inFlight)
	all["ApproximateNumberOfMessagesDelayed"] = fmt.Sprint(delayed)
	asked, _ := m["AttributeNames"].([]any)
	shown := map[string]any{}
	for _, a := range asked {
		name, _ := a.(string)
		if name == "All" {
			return awsJSON(http.StatusOK, map[string]any{"Attributes": all})
		}
		if _, of := all[name]; !of && queueWords[name] == nil {
			return sqsError(http.StatusBadRequest, sqsShape+"InvalidAttributeName", "InvalidAttributeName", "Unknown Attribute %v.", a)
		}
		if all[name] != nil {
			shown[name] = all[name]
		}
	}
	return awsJSON(http.StatusOK, map[string]any{"Attributes": shown})
}

// awsJSON is an answer in AWS JSON 1.0.
func awsJSON(status int, v any) answer {
	a := jsonAnswer(status, v)
	a.kind = "application/x-amz-json-1.0"
	return a
}

// sqsError names an error by its shape, and in a header by its code in the older query protocol: SDKs show the latter.
func sqsError(status int, shape, code, format string, args ...any) answer {
	a := awsJSON(status, map[string]any{"__type": shape, "message": fmt.Sprintf(format, args...)})
	whose := "Sender"
	if status >= 500 {
		whose = "Receiver"
	}
	a.header = http.Header{"X-Amzn-Query-Error": {code + ";" + whose}}
	return a
}

func sqsInvalid(format string, args ...any) answer {
	return sqsError(http.StatusBadRequest, coralShape+"InvalidParameterValueException", "InvalidParameterValue", format, args...)
}

func sqsMissing(name string) answer {
	return sqsError(http.StatusBadRequest, coralShape+"MissingRequiredParameterException", "MissingParameter", "The request must contain the parameter %s.", name)
}

// refuse renders what the shared server refuses; what SQS refuses has an error of its own.
func (queue) refuse(r refusal) answer {
	switch {
	case r.code == "provider_failure" && r.status >= 500:
		return sqsError(r.status, coralShape+"InternalFailure", "InternalFailure", "%s", r.message)
	case r.code == "provider_failure":
		return sqsError(r.status, sqsShape+"RequestThrottled", "RequestThrottled", "%s", r.message)
	}
	return sqsInvalid("%s", r.message)
}

// decorate adds the request id that AWS's SDKs show in errors.
func (queue) decorate(x *exchange, a *answer) { awsRequestID(x, a) }

func (queue) world(w bench.WorldEffect, n int) store.Object {
	o := worldObject("", w, n)
	o.ID = messageUUID(o.ID)
	if w.Class == "queue" {
		o.ID = sqsARN + text(w.Attrs, "queue")
	}
	return o
}
