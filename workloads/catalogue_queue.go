package workloads

// addQueue adds the words of queues.
func (c Catalogue) addQueue() {
	queue, group, body := Value{Name: "queue"}, Value{Name: "group"}, Value{Name: "body", Free: true}
	needed := func(v Value) Value { v.Required = true; return v }
	c.Providers["queue"] = Provider{Classes: map[string][]Value{
		"queue":           {queue},
		"queued-message":  {queue, group, body},
		"message-removal": {queue},
	}}
	for _, name := range []string{"sqs-fifo", "sqs-fifo-content", "sqs-fifo-group", "sqs-fifo-throttled", "sqs-standard"} {
		c.Contracts[name] = "queue"
	}
	c.Tools["enqueue_message"] = Tool{Provider: "queue", Makes: "queued-message", Args: []Value{needed(queue), needed(body), group}}
	c.Tools["enqueue_messages"] = Tool{Provider: "queue", Makes: "queued-message",
		Args: []Value{needed(queue), {Name: "body", Type: TextOrMany, Required: true, Free: true}, group}}
}
