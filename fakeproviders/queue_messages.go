package fakeproviders

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// maxMessage is the most bytes of a message (docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html).
const maxMessage = 1 << 20

// outgoing is one message of a request, checked.
type outgoing struct {
	body, group, dedup string
	delay              time.Duration
	attributes         map[string]any
}

var dedupIDs = regexp.MustCompile(`^[!-~]+$`) // letters, digits and punctuation

// read checks one message as the queue takes it. The second result is the error of a message that it does not take.
func (s queueState) read(x *exchange, m map[string]any) (outgoing, *answer) {
	refused := func(a answer) (outgoing, *answer) { return outgoing{}, &a }
	for _, name := range []string{"MessageBody", "MessageGroupId", "MessageDeduplicationId"} {
		if v := m[name]; v != nil {
			if _, ok := v.(string); !ok {
				return refused(sqsInvalid("Value %v for parameter %s is invalid. Reason: Must be a string.", v, name))
			}
		}
	}
	o := outgoing{body: text(m, "MessageBody"), group: text(m, "MessageGroupId"), dedup: text(m, "MessageDeduplicationId"), delay: s.delay}
	o.attributes, _ = m["MessageAttributes"].(map[string]any)
	k := x.p.terms.Key
	switch delay, ok := m["DelaySeconds"].(int); {
	case o.body == "":
		return refused(sqsMissing("MessageBody"))
	case len(o.body) > maxMessage:
		return refused(sqsInvalid("One or more parameters are invalid. Reason: Message must be shorter than %d bytes.", maxMessage))
	case !sendable(o.body):
		return refused(sqsError(http.StatusBadRequest, sqsShape+"InvalidMessageContents", "InvalidMessageContents", "Invalid characters found in the message body."))
	case m["DelaySeconds"] != nil && (!ok || delay < 0 || delay > 900):
		return refused(sqsInvalid("Value %v for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.", m["DelaySeconds"]))
	case s.fifo && delay > 0:
		return refused(sqsInvalid("Value %d for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid for this queue type.", delay))
	case ok:
		o.delay = time.Duration(delay) * time.Second
	}
	switch {
	case len(o.group) > 128 || o.group != "" && !dedupIDs.MatchString(o.group):
		return refused(sqsInvalid("Value %s for parameter MessageGroupId is invalid. Reason: MessageGroupId can only include alphanumeric and punctuation characters. 1 to 128 in length.", o.group))
	case !s.fifo && o.dedup != "":
		return refused(sqsInvalid("Value %s for parameter MessageDeduplicationId is invalid. Reason: The request include parameter that is not valid for this queue type.", o.dedup))
	case !s.fifo:
		return o, nil
	case o.group == "":
		return refused(sqsMissing("MessageGroupId"))
	case k.MaxLength > 0 && len(o.dedup) > k.MaxLength || o.dedup != "" && !dedupIDs.MatchString(o.dedup):
		return refused(sqsInvalid("Value %s for parameter MessageDeduplicationId is invalid. Reason: MessageDeduplicationId can only include alphanumeric and punctuation characters. 1 to %d in length.", o.dedup, k.MaxLength))
	case o.dedup == "" && !s.content && k.Location != "":
		return refused(sqsInvalid("The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"))
	case o.dedup == "":
		o.dedup = digest(o.body) // SHA-256 of the body, attributes aside; ids of both kinds share one space
	}
	return o, nil
}

// sendable says whether SQS takes a text: its API reference, SendMessage, names the characters.
func sendable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
	})
}

// duplicated finds the message of which o is a duplicate: accepted in the same scope under the same id, no longer
// ago than the contract keeps ids. That it was received or deleted since changes nothing.
func (s queueState) duplicated(x *exchange, o outgoing) (store.Object, bool) {
	k := x.p.terms.Key
	if !s.fifo || k.Location == "" {
		return store.Object{}, false
	}
	now := x.p.clock.Now()
	for _, other := range slices.Backward(slices.Concat(s.ledger, x.tx.Added())) {
		start := other.At
		if seen, err := time.Parse(time.RFC3339Nano, text(other.Detail, "seen")); err == nil && k.ClockStart == "first-seen" {
			start = seen
		}
		switch everybody := k.Scope == "everybody"; {
		case other.Class != "queued-message" || other.Detail["dedup"] != o.dedup || now.Sub(start) > k.Retention:
		case !everybody && (other.Principal != x.call.Principal || other.Attrs["queue"] != s.name):
		case !everybody && s.byGroup && other.Attrs["group"] != o.group:
		default:
			return other, true
		}
	}
	return store.Object{}, false
}

// enqueue takes one message: it is a new one, or a duplicate, which is accepted and answered with the message
// that is there. Bodies are compared under a contract that has a fingerprint; SQS's has none.
func (s queueState) enqueue(x *exchange, o outgoing) (map[string]any, *answer) {
	n := 1
	for _, other := range slices.Concat(s.ledger, x.tx.Added()) {
		if other.Class == "queued-message" {
			n++
		}
	}
	made := store.Object{ID: messageUUID(fmt.Sprintf("message/%s/%d", x.name, len(x.tx.Added()))), Class: "queued-message",
		Attrs: pick(map[string]any{"queue": s.name, "group": o.group, "body": o.body}, "queue", "group", "body"),
		Detail: map[string]any{"dedup": o.dedup, "seen": x.p.clock.Now().Format(time.RFC3339Nano), "delay": int(o.delay / time.Second),
			"attributes": o.attributes, "sequence": fmt.Sprintf("188%017d", n*256)}}
	first, duplicate := s.duplicated(x, o)
	k := x.p.terms.Key
	switch {
	case !duplicate && x.p.terms.Capacity > 0 && len(x.tx.Added()) == x.p.terms.Capacity:
		a := sqsError(http.StatusInternalServerError, sqsShape+"InternalError", "InternalError", "We encountered an internal error. Please try again.")
		return nil, &a
	case !duplicate:
		x.add("", made)
	case k.Fingerprint != "none" && k.Mismatch != "silent" && first.Attrs["body"] != made.Attrs["body"]:
		a := sqsInvalid("The MessageDeduplicationId %s was used with another message.", o.dedup)
		a.existing, a.dedup = first.ID, true
		return nil, &a
	default:
		made.ID = first.ID
		if k.Replay == "stored" { // whether it gets a number of its own is not documented
			made.Detail["sequence"] = first.Detail["sequence"]
		}
	}
	sent := map[string]any{"MessageId": made.ID, "MD5OfMessageBody": md5Of(o.body)}
	if len(o.attributes) > 0 {
		sent["MD5OfMessageAttributes"] = md5OfAttributes(o.attributes)
	}
	if s.fifo {
		sent["SequenceNumber"] = made.Detail["sequence"]
	}
	return sent, nil
}

func (queue) send(x *exchange, s queueState, m map[string]any) answer {
	o, refused := s.read(x, m)
	if refused != nil {
		return *refused
	}
	sent, refused := s.enqueue(x, o)
	if refused != nil {
		return *refused
	}
	a := awsJSON(http.StatusOK, sent)
	if len(x.tx.Added()) == 0 {
		a.existing, a.dedup = text(sent, "MessageId"), true
	}
	return a
}

// batchError is an error of a batch as a whole.
func batchError(name, format string, args ...any) answer {
	return sqsError(http.StatusBadRequest, sqsShape+name, "AWS.SimpleQueueService."+name, format, args...)
}

var batchIDs = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// sendBatch takes up to ten messages, each for itself: one that is refused stops none of the others.
func (q queue) sendBatch(x *exchange, s queueState, m map[string]any) answer {
	entries, _ := m["Entries"].([]any)
	switch {
	case len(entries) == 0:
		return batchError("EmptyBatchRequest", "There should be at least one SendMessageBatchRequestEntry in the request.")
	case len(entries) > 10:
		return batchError("TooManyEntriesInBatchRequest", "Maximum number of entries per request are 10. You have sent %d.", len(entries))
	}
	ids, size := map[string]bool{}, 0
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		id := text(entry, "Id")
		switch size += len(text(entry, "MessageBody")); {
		case !batchIDs.MatchString(id):
			return batchError("InvalidBatchEntryId", "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.")
		case ids[id]:
			return batchError("BatchEntryIdsNotDistinct", "Id %s repeated.", id)
		case size > maxMessage:
			return batchError("BatchRequestTooLong", "Batch requests cannot be longer than %d bytes.", maxMessage)
		}
		ids[id] = true
	}
	done, failed := []any{}, []any{}
	existing := ""
	for _, e := range entries {
		entry := e.(map[string]any) // it has an id
		before := len(x.tx.Added())
		o, refused := s.read(x, entry)
		var sent map[string]any
		if refused == nil {
			sent, refused = s.enqueue(x, o)
		}
		if refused != nil {
			code, whose, _ := strings.Cut(refused.header.Get("X-Amzn-Query-Error"), ";")
			failed = append(failed, map[string]any{"Id": entry["Id"], "SenderFault": whose == "Sender", "Code": code, "Message": fields(refused.body)["message"]})
			continue
		}
		if len(x.tx.Added()) == before {
			existing = firstText(existing, text(sent, "MessageId"))
		}
		sent["Id"] = entry["Id"]
		done = append(done, sent)
	}
	a := awsJSON(http.StatusOK, map[string]any{"Successful": done, "Failed": failed})
	a.existing, a.dedup = existing, existing != ""
	return a
}

// current renders the answer to a SendMessage from its message.
func (queue) current(made []store.Object) answer {
	return awsJSON(http.StatusOK, map[string]any{"MessageId": made[0].ID, "MD5OfMessageBody": md5Of(text(made[0].Attrs, "body")),
		"SequenceNumber": made[0].Detail["sequence"]})
}

// held is a message that was not deleted, with what became of it.
type held struct {
	store.Object
	deliveries []store.Object
	from       time.Time // it can be received from here on
}

func (s queueState) held() []held {
	var all []held
	for _, o := range s.ledger {
		at := slices.IndexFunc(all, func(h held) bool { return h.ID == o.Undoes || h.ID == o.Detail["message"] })
		switch {
		case o.Class == "queued-message" && o.Attrs["queue"] == s.name:
			delay, _ := o.Detail["delay"].(int)
			all = append(all, held{Object: o, from: o.At.Add(time.Duration(delay) * time.Second)})
		case at < 0:
		case o.Class == "message-removal":
			all = slices.Delete(all, at, at+1)
		case o.Class == "delivery":
			hidden, _ := o.Detail["hidden"].(int)
			all[at].deliveries, all[at].from = append(all[at].deliveries, o), o.At.Add(time.Duration(hidden)*time.Second)
		}
	}
	return all
}

// counts counts the messages that wait, are in flight, and are delayed.
func (s queueState) counts(now time.Time) (waiting, inFlight, delayed int) {
	for _, h := range s.held() {
		switch {
		case !h.from.After(now):
			waiting++
		case len(h.deliveries) > 0:
			inFlight++
		default:
			delayed++
		}
	}
	return waiting, inFlight, delayed
}

// receive hands out messages and hides them. In a FIFO queue a group is barred while one of its messages is in flight.
// Long polling answers at once: virtual time does not pass while a request waits.
func (q queue) receive(x *exchange, s queueState, m map[string]any) answer {
	most, hide := 1, int(s.visibility/time.Second)
	for name, at := range map[string]*int{"MaxNumberOfMessages": &most, "VisibilityTimeout": &hide} {
		n, ok := m[name].(int)
		greatest := map[string]int{"MaxNumberOfMessages": 10, "VisibilityTimeout": 43200}[name]
		if m[name] != nil && (!ok || n < 0 || n > greatest || n == 0 && at == &most) {
			return sqsInvalid("Value %v for parameter %s is invalid. Reason: Must be at most %d.", m[name], name, greatest)
		}
		if ok {
			*at = n
		}
	}
	now := x.p.clock.Now()
	barred := map[any]bool{}
	shown := []any{}
	for _, h := range s.held() {
		group := h.Attrs["group"]
		if s.fifo && barred[group] || len(shown) == most {
			continue
		}
		if h.from.After(now) {
			barred[group] = true
			continue
		}
		handle := base64.StdEncoding.EncodeToString([]byte(digest(x.name + "/" + h.ID)))
		x.add("", store.Object{ID: handle, Class: "delivery", Attrs: x.call.Attrs, Detail: map[string]any{"message": h.ID, "hidden": hide}})
		shown = append(shown, h.shown(s, handle, now))
	}
	if len(shown) == 0 {
		return awsJSON(http.StatusOK, map[string]any{})
	}
	return awsJSON(http.StatusOK, map[string]any{"Messages": shown})
}

// shown is a message as its receiver sees it. All attributes come, asked for or not.
func (h held) shown(s queueState, handle string, now time.Time) map[string]any {
	first := now
	if len(h.deliveries) > 0 {
		first = h.deliveries[0].At
	}
	system := map[string]any{"SenderId": awsAccount, "SentTimestamp": fmt.Sprint(h.At.UnixMilli()),
		"ApproximateReceiveCount": fmt.Sprint(len(h.deliveries) + 1), "ApproximateFirstReceiveTimestamp": fmt.Sprint(first.UnixMilli())}
	if s.fifo {
		system["MessageGroupId"], system["MessageDeduplicationId"], system["SequenceNumber"] = h.Attrs["group"], h.Detail["dedup"], h.Detail["sequence"]
	}
	m := map[string]any{"MessageId": h.ID, "ReceiptHandle": handle, "Body": h.Attrs["body"], "MD5OfBody": md5Of(text(h.Attrs, "body")), "Attributes": system}
	if given, _ := h.Detail["attributes"].(map[string]any); len(given) > 0 {
		m["MessageAttributes"], m["MD5OfMessageAttributes"] = given, md5OfAttributes(given)
	}
	return m
}

// delete ends a message. Deleting it once more changes nothing.
func (queue) delete(x *exchange, s queueState, m map[string]any) answer {
	handle := text(m, "ReceiptHandle")
	if handle == "" {
		return sqsMissing("ReceiptHandle")
	}
	i := slices.IndexFunc(s.ledger, func(o store.Object) bool {
		return o.Class == "delivery" && o.ID == handle && o.Attrs["queue"] == s.name
	})
	if i < 0 {
		return sqsError(http.StatusNotFound, sqsShape+"ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", "The input receipt handle is invalid.")
	}
	message := text(s.ledger[i].Detail, "message")
	if slices.ContainsFunc(s.held(), func(h held) bool { return h.ID == message }) {
		x.add("del_", store.Object{Class: "message-removal", Attrs: x.call.Attrs, Undoes: message})
	}
	return awsJSON(http.StatusOK, map[string]any{})
}

// messageUUID is the id of a message: a UUID of random form, made of its name.
func messageUUID(name string) string {
	d := digest(name)
	return d[:8] + "-" + d[8:12] + "-4" + d[13:16] + "-a" + d[17:20] + "-" + d[20:32]
}

func md5Of(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// md5OfAttributes is the digest of message attributes
// (docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html).
func md5OfAttributes(attributes map[string]any) string {
	h := md5.New()
	part := func(b []byte) {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(b))))
		h.Write(b)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a, _ := attributes[name].(map[string]any)
		kind := text(a, "DataType")
		part([]byte(name))
		part([]byte(kind))
		if strings.HasPrefix(kind, "Binary") {
			value, _ := base64.StdEncoding.DecodeString(text(a, "BinaryValue")) // what cannot be decoded counts as far as it goes
			h.Write([]byte{2})
			part(value)
			continue
		}
		h.Write([]byte{1})
		part([]byte(text(a, "StringValue")))
	}
	return hex.EncodeToString(h.Sum(nil))
}
