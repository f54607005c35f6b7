package workloads

import (
	"maps"
	"slices"

	"github.com/sixthcopy/sixthcopy/bench"
)

// Catalogue holds the words that a workload file may use: what the providers, contracts and tools that
// exist are called, and of what type their values are.
type Catalogue struct {
	Providers  map[string]Provider // by kind
	Contracts  map[string]string   // name of a contract -> kind of the provider that can keep it
	Tools      map[string]Tool
	Boundaries []bench.Boundary
	External   bool // the file declares its provider and tools itself
}

// Provider is a kind of provider: its effect classes with their attributes.
type Provider struct {
	Classes map[string][]Value
}

// Tool is a tool of the catalogue. Args do not name idempotency_key, nor the reference of a tool that
// takes one for the effect that it makes: these are the system's to fill.
type Tool struct {
	Provider       string // kind
	Makes          string // class of the effects that a call makes; empty: a read-only tool
	TakesReference bool
	Times          string // argument that says how many effects a call makes; empty: one, or one for each element of a list
	Args           []Value
}

// ReadOnly says that a call of the tool changes nothing.
func (t Tool) ReadOnly() bool { return t.Makes == "" }

// Value is an argument of a tool or an attribute of an effect.
type Value struct {
	Name     string
	Type     Type
	Required bool  // arguments: a call without it is refused
	Free     bool  // free text: what a model may put in other words
	Min, Max int64 // numbers: range; both 0: any that a float64 holds exactly
}

// Type is the type of a value.
type Type int

const (
	Text   Type = iota
	Number      // a whole number
	TextOrNumber
	TextOrMany // one text, or a list of texts
)

// Arguments that no file fills.
const (
	keyArgument       = "idempotency_key"
	referenceArgument = "reference"
)

// Known returns the catalogue of the providers and tools that come with the harness.
func Known() Catalogue {
	order := Value{Name: "order", Required: true}
	amount := Value{Name: "amount", Type: Number, Required: true, Min: 1, Max: 99_999_999}
	reference := Value{Name: referenceArgument}
	document := Value{Name: "document", Required: true}
	table := Value{Name: "table", Required: true}
	key := Value{Name: "key", Required: true}
	rowValue := Value{Name: "value", Type: TextOrNumber, Required: true, Free: true}
	path := Value{Name: "path", Required: true}
	repository := Value{Name: "repository", Required: true}
	issue := Value{Name: "issue", Type: Number, Required: true, Min: 1, Max: 1 << 31}
	either := func(name string) Value { return Value{Name: name, Type: TextOrNumber} }
	text := func(name string) Value { return Value{Name: name} }
	number := func(name string, least, most int64) Value {
		return Value{Name: name, Type: Number, Min: least, Max: most}
	}
	free := func(name string) Value { return Value{Name: name, Free: true} }
	needed := func(v Value) Value { v.Required = true; return v }

	all := Catalogue{
		Providers: map[string]Provider{
			"payments": {Classes: map[string][]Value{
				"refund":   {order, amount, free("reason")},
				"charge":   {order, amount, text("currency"), free("description")},
				"payout":   {text("account"), amount, text("currency"), text("destination"), free("description")},
				"transfer": {text("account"), amount, text("currency"), text("destination"), free("description")},
			}},
			"outbound": {Classes: map[string][]Value{
				"outbound_payment":  {text("account"), text("recipient"), amount, text("currency"), text("from"), free("description")},
				"event_destination": {text("account"), text("name"), text("type"), text("url")},
			}},
			"tasks": {Classes: map[string][]Value{
				"task":    {text("family"), text("cluster"), either("size"), text("group")},
				"service": {text("name"), text("family"), text("cluster"), number("desired", 0, 10_000)},
			}},
			"instances": {Classes: map[string][]Value{
				"instance": {text("image"), text("type"), text("zone"), text("name")},
			}},
			"snapshots": {Classes: map[string][]Value{
				"snapshot":   {number("size", 1, 65_536), free("description"), text("parent")},
				"completion": {text("snapshot")},
			}},
			"tickets": {Classes: map[string][]Value{
				"ticket": {reference, free("title"), text("queue"), either("priority"), free("body")},
			}},
			"mail":  {Classes: map[string][]Value{"message": {text("to"), free("subject"), free("body")}}},
			"lines": {Classes: map[string][]Value{"line": {document, free("text")}}},
			"files": {Classes: map[string][]Value{
				"file":     {path, free("content")},
				"deletion": {path},
			}},
			"rows": {Classes: map[string][]Value{"row": {table, key, rowValue}}},
			"calendar": {Classes: map[string][]Value{
				"event": {text("calendar"), text("event_id"), free("summary"), text("start"), text("end"),
					free("location"), free("description"), text("ical_uid")},
				"cancellation": {text("calendar"), text("event_id")},
			}},
			"cluster": {Classes: map[string][]Value{
				"config":   {text("namespace"), text("name"), free("data")},
				"pod":      {text("namespace"), text("name"), text("generate_name"), text("image"), free("command")},
				"job":      {text("namespace"), text("name"), text("generate_name"), text("image"), free("command")},
				"app":      {text("namespace"), text("name"), text("generate_name"), text("image"), {Name: "replicas", Type: Number}},
				"teardown": {text("namespace"), text("name"), text("kind")},
			}},
			"orders": {Classes: map[string][]Value{
				"order":   {text("customer"), text("item"), {Name: "quantity", Type: Number}, free("note"), text("region")},
				"payment": {order, amount, text("currency"), free("note"), text("region")},
			}},
			"chat": {Classes: map[string][]Value{
				"post":       {text("channel"), free("text"), text("thread")},
				"correction": {text("channel"), text("post"), free("text")},
				"removal":    {text("channel"), text("post")},
			}},
			"repository": {Classes: map[string][]Value{
				"issue":        {repository, free("title"), free("body"), text("labels")},
				"comment":      {repository, issue, free("body")},
				"pull_request": {repository, text("head"), text("base"), free("title"), free("body")},
				"release":      {repository, text("tag"), free("name"), free("body")},
				"draft":        {repository, text("tag"), free("name"), free("body")},
				"deployment":   {repository, text("ref"), text("environment"), free("description")},
				"ref":          {repository, text("ref"), text("sha")},
				"change":       {repository, {Name: "number", Type: Number}, text("state"), free("title"), free("body"), text("labels")},
			}},
		},
		Contracts: map[string]string{
			"stripe-v1":               "payments",
			"payments-no-key":         "payments",
			"stripe-v1-unenforced":    "payments",
			"stripe-v1-forgets-early": "payments",
			"ecs-run-task":            "tasks",
			"ecs-run-task-waits":      "tasks",
			"ecs-no-token":            "tasks",
			"ecs-started-by":          "tasks",
			"tickets-authoritative":   "tickets",
			"tickets-stale":           "tickets",
			"tickets-lags":            "tickets",
			"tickets-lags-reads":      "tickets",
			"tickets-open-only":       "tickets",
			"tickets-no-look-up":      "tickets",
			"tickets-stale-unbounded": "tickets",
			"mail-no-key":             "mail",
			"lines-no-key":            "lines",
			"lines-keyed":             "lines",
			"files-put":               "files",
			"files-delete-newest":     "files",
			"rows-unique":             "rows",
			"rows-unenforced":         "rows",
			"ietf-idempotency-key":    "orders",
			"paypal-orders":           "orders",
			"paypal-orders-waits":     "orders",
			"square-payments":         "orders",
			"adyen-payments":          "orders",
			"gocardless-payments":     "orders",
			"azure-repeatable":        "orders",
			"increase-transfers":      "orders",
			"github":                  "repository",
			"github-lagging-lists":    "repository",
			"slack-post-message":      "chat",
			"slack-client-msg-id":     "chat",

			"stripe-v1-claim-left":       "payments",
			"stripe-v1-forgets-on-error": "payments",
			"stripe-v1-shared-keys":      "payments",
			"stripe-v1-latest-only":      "payments",
			"stripe-v1-failure-cached":   "payments",
			"stripe-v2":                  "outbound",

			"google-calendar-own-id":       "calendar",
			"google-calendar":              "calendar",
			"google-calendar-own-id-slips": "calendar",
			"kubernetes-by-name":           "cluster",
			"kubernetes-generate-name":     "cluster",
			"kubernetes-apply":             "cluster",

			"ecs-run-task-short":           "tasks",
			"ecs-run-task-full":            "tasks",
			"ecs-create-service":           "tasks",
			"ec2-run-instances":            "instances",
			"ec2-run-instances-silent":     "instances",
			"ec2-run-instances-full":       "instances",
			"ebs-start-snapshot":           "snapshots",
			"ebs-start-snapshot-described": "snapshots",
		},
		Tools: map[string]Tool{
			"refund_order": {Provider: "payments", Makes: "refund", Args: []Value{order, amount, free("reason")}},
			"charge_order": {Provider: "payments", Makes: "charge",
				Args: []Value{order, amount, text("currency"), free("description")}},
			"list_refunds": {Provider: "payments", Args: []Value{order}},
			"list_charges": {Provider: "payments", Args: []Value{order}},
			"create_payout": {Provider: "payments", Makes: "payout",
				Args: []Value{amount, needed(text("currency")), free("description"), text("account")}},
			"create_transfer": {Provider: "payments", Makes: "transfer",
				Args: []Value{amount, needed(text("currency")), needed(text("destination")), free("description"), text("account")}},
			"send_payout": {Provider: "outbound", Makes: "outbound_payment",
				Args: []Value{needed(text("recipient")), amount, needed(text("currency")), free("description")}},
			"list_sent_payouts": {Provider: "outbound", Args: []Value{needed(text("recipient"))}},
			"list_payouts":      {Provider: "payments", Args: []Value{text("account")}},
			"list_transfers":    {Provider: "payments", Args: []Value{needed(text("destination")), text("account")}},
			"run_task": {Provider: "tasks", Makes: "task", TakesReference: true, Times: "count", Args: []Value{
				needed(text("family")), text("cluster"), either("size"), text("group"),
				{Name: "count", Type: Number, Min: 1, Max: 10}}}, // ECS RunTask takes at most ten at a time
			"list_tasks": {Provider: "tasks", Args: []Value{reference, text("cluster")}},
			"create_service": {Provider: "tasks", Makes: "service", Args: []Value{
				needed(text("name")), needed(text("family")), text("cluster"), number("desired", 0, 10_000)}},
			"find_service": {Provider: "tasks", Args: []Value{needed(text("name")), text("cluster")}},
			"run_instances": {Provider: "instances", Makes: "instance", TakesReference: true, Times: "count", Args: []Value{
				needed(text("image")), text("type"), text("zone"), text("name"), number("count", 1, 20), number("minimum", 1, 20)}},
			"find_instances": {Provider: "instances", Args: []Value{needed(reference)}},
			"start_snapshot": {Provider: "snapshots", Makes: "snapshot", TakesReference: true, Args: []Value{
				needed(number("size", 1, 65_536)), free("description"), text("parent")}},
			"find_snapshots": {Provider: "snapshots", Args: []Value{needed(reference)}},
			"create_ticket": {Provider: "tickets", Makes: "ticket", TakesReference: true,
				Args: []Value{needed(free("title")), text("queue"), either("priority"), free("body")}},
			"find_ticket": {Provider: "tickets", Args: []Value{needed(reference)}},
			"send_message": {Provider: "mail", Makes: "message", Args: []Value{
				{Name: "to", Type: TextOrMany, Required: true}, needed(free("subject")), free("body")}},
			"append_line":   {Provider: "lines", Makes: "line", Args: []Value{document, needed(free("text"))}},
			"read_document": {Provider: "lines", Args: []Value{document}},
			"put_file":      {Provider: "files", Makes: "file", Args: []Value{path, needed(free("content"))}},
			"delete_newest": {Provider: "files", Makes: "deletion", Args: []Value{needed(text("prefix"))}},
			"list_files":    {Provider: "files", Args: []Value{needed(text("prefix"))}},
			"insert_row":    {Provider: "rows", Makes: "row", Args: []Value{table, key, rowValue}},
			"find_row":      {Provider: "rows", Args: []Value{table, key}},
			"create_event": {Provider: "calendar", Makes: "event", Args: []Value{needed(text("event_id")), needed(text("calendar")),
				needed(free("summary")), needed(text("start")), needed(text("end")), free("location"), free("description")}},
			"find_event": {Provider: "calendar", Args: []Value{needed(text("calendar")), needed(text("event_id"))}},
			"book_appointment": {Provider: "calendar", Makes: "event", TakesReference: true, Args: []Value{needed(text("calendar")),
				needed(free("summary")), needed(text("start")), needed(text("end")), free("location"), free("description")}},
			"find_appointment": {Provider: "calendar", Args: []Value{needed(text("calendar")), needed(reference)}},
			"create_job": {Provider: "cluster", Makes: "job",
				Args: []Value{needed(text("name")), needed(text("namespace")), needed(text("image")), free("command")}},
			"find_job": {Provider: "cluster", Args: []Value{needed(text("namespace")), needed(text("name"))}},
			"start_job": {Provider: "cluster", Makes: "job", TakesReference: true,
				Args: []Value{needed(text("generate_name")), needed(text("namespace")), needed(text("image")), free("command")}},
			"list_jobs": {Provider: "cluster", Args: []Value{needed(text("namespace")), needed(reference)}},
			"apply_config": {Provider: "cluster", Makes: "config",
				Args: []Value{needed(text("namespace")), needed(text("name")), needed(free("data"))}},
			"read_config": {Provider: "cluster", Args: []Value{needed(text("namespace")), needed(text("name"))}},
			"place_order": {Provider: "orders", Makes: "order", Args: []Value{needed(text("customer")), needed(text("item")),
				{Name: "quantity", Type: Number, Min: 1, Max: 99_999_999}, free("note"), text("region")}},
			"list_orders":         {Provider: "orders", Args: []Value{needed(text("customer"))}},
			"pay_order":           {Provider: "orders", Makes: "payment", Args: []Value{order, amount, text("currency"), free("note"), text("region")}},
			"list_payments":       {Provider: "orders", Args: []Value{order}},
			"pay_under_reference": {Provider: "orders", Makes: "payment", TakesReference: true, Args: []Value{order, amount, free("note")}},
			"find_payment":        {Provider: "orders", Args: []Value{needed(reference)}},
			"create_issue": {Provider: "repository", Makes: "issue", TakesReference: true,
				Args: []Value{repository, needed(free("title")), free("body"), text("labels")}},
			"find_issue": {Provider: "repository", Args: []Value{repository, reference}},
			"comment_issue": {Provider: "repository", Makes: "comment", TakesReference: true,
				Args: []Value{repository, issue, needed(free("body"))}},
			"find_comment": {Provider: "repository", Args: []Value{repository, issue, reference}},
			"open_pull_request": {Provider: "repository", Makes: "pull_request", Args: []Value{repository, needed(text("head")),
				needed(text("base")), needed(free("title")), free("body")}},
			"find_pull_request": {Provider: "repository", Args: []Value{repository, needed(text("head")), text("base")}},
			"create_release": {Provider: "repository", Makes: "release",
				Args: []Value{repository, needed(text("tag")), free("name"), free("body")}},
			"find_release": {Provider: "repository", Args: []Value{repository, needed(text("tag"))}},
			"draft_release": {Provider: "repository", Makes: "draft", TakesReference: true,
				Args: []Value{repository, needed(text("tag")), free("name"), free("body")}},
			"find_draft": {Provider: "repository", Args: []Value{repository, reference}},
			"create_deployment": {Provider: "repository", Makes: "deployment", TakesReference: true,
				Args: []Value{repository, needed(text("ref")), text("environment"), free("description")}},
			"find_deployment": {Provider: "repository", Args: []Value{repository, reference}},
			"post_message": {Provider: "chat", Makes: "post", TakesReference: true,
				Args: []Value{needed(text("channel")), needed(free("text")), text("thread")}},
			"read_channel": {Provider: "chat", Args: []Value{needed(text("channel")), reference}},
		},
		Boundaries: bench.Boundaries,
	}
	all.addQueue()
	all.addItems()
	return all
}

// names returns the sorted keys of m.
func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// classes returns every effect class of every provider.
func (c Catalogue) classes() map[string][]Value {
	all := map[string][]Value{}
	for _, p := range c.Providers {
		maps.Copy(all, p.Classes)
	}
	return all
}

// find returns the value of that name.
func find(values []Value, name string) (Value, bool) {
	i := slices.IndexFunc(values, func(v Value) bool { return v.Name == name })
	if i < 0 {
		return Value{}, false
	}
	return values[i], true
}
