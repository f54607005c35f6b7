package tools

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// The tasks family speaks the wire of Amazon ECS, AWS JSON 1.1 (docs/providers.md): the idempotency key
// is clientToken in the body, and a reference travels as startedBy.

var runTask = &Tool{
	name: "run_task", provider: "tasks",
	about: "Start one task, or several alike. A reference of your own lets you find them again.",
	args: []argument{
		{name: "family", kind: text, required: true, about: "Family of the task definition."},
		{name: "cluster", kind: text, about: "Cluster that runs it."},
		{name: "size", kind: scalar, about: "CPU units."},
		{name: "group", kind: text, about: "Task group."},
		{name: "count", kind: number, about: "How many, 1 to 10; 1 unless given."},
		{name: "reference", kind: text, about: "Your own reference; list_tasks finds the tasks by it."},
	},
	lookUp: "list_tasks", lookUpArgument: "reference",
	class: "task",
	effects: func(a arguments) []map[string]any {
		var units []map[string]any
		for range min(max(a.number("count", 1), 1), maxTasks) {
			unit := a.pick("family", "cluster", "group")
			if size := sizeOf(a); size != "" {
				unit["size"] = size
			}
			units = append(units, unit)
		}
		return units
	},
	plan: func(a arguments) []request {
		body := a.pick("cluster", "group")
		body["taskDefinition"] = a.text("family")
		if a.has("count") {
			body["count"] = a.number("count", 1)
		}
		if size := sizeOf(a); size != "" {
			body["overrides"] = map[string]any{"cpu": size}
		}
		if reference := a.text("reference"); reference != "" {
			body["startedBy"] = reference
		}
		return []request{awsRequest("RunTask", "task "+a.text("family"), body)}
	},
	read: func(r response) outcome {
		o, _ := r.object()
		if r.status/100 != 2 {
			return awsFailed(r)
		}
		started, isList := o["tasks"].([]any)
		if !isList {
			return outcome{status: Unknown, message: "the provider's answer has no list of tasks"}
		}
		done := outcome{status: Done, receipts: arns(started)}
		failures, _ := o["failures"].([]any)
		switch {
		case len(failures) > 0 && len(done.receipts) == 0:
			return outcome{status: Refused, message: "no task could be placed"}
		case len(failures) > 0:
			done.status = Partial
			done.message = fmt.Sprintf("%d tasks were started, %d could not be placed", len(done.receipts), len(failures))
		case len(done.receipts) == 0:
			done.status, done.message = Unknown, "the provider's answer names no task"
		}
		return done
	},
}

var listTasks = &Tool{
	name: "list_tasks", provider: "tasks", readOnly: true,
	about: "List the running tasks, oldest first; with a reference those that were started with it.",
	args: []argument{
		{name: "reference", kind: text, about: "The reference given at the start."},
		{name: "cluster", kind: text, about: "Only those of this cluster."},
	},
	plan: func(a arguments) []request {
		body := a.pick("cluster")
		if reference := a.text("reference"); reference != "" {
			body["startedBy"] = reference
		}
		return []request{awsRequest("ListTasks", "list of tasks", body)}
	},
	// ListTasks answers names only, DescribeTasks the rest.
	follow: func(a arguments, r response) (request, bool) {
		o, _ := r.object()
		if list, _ := o["taskArns"].([]any); r.status/100 == 2 && len(list) > 0 {
			body := a.pick("cluster")
			body["tasks"] = list
			return awsRequest("DescribeTasks", "description of tasks", body), true
		}
		return request{}, false
	},
	read: func(r response) outcome {
		if r.status/100 != 2 {
			return awsFailed(r)
		}
		if o, _ := r.object(); o["taskArns"] != nil {
			return outcome{status: Done, found: []map[string]any{}}
		}
		return listed(r, "tasks", func(o map[string]any) map[string]any {
			found := pickGiven(o, "group")
			found["id"] = o["taskArn"]
			if family := familyIn(o["taskDefinitionArn"]); family != "" {
				found["family"] = family
			}
			if cluster := nameIn(o["clusterArn"]); cluster != "" {
				found["cluster"] = cluster
			}
			if reference, _ := o["startedBy"].(string); reference != "" {
				found["reference"] = reference
			}
			if overrides, _ := o["overrides"].(map[string]any); overrides["cpu"] != nil {
				found["size"] = overrides["cpu"]
				if n, ok := whole(overrides["cpu"]); ok {
					found["size"] = n
				}
			}
			return found
		}, oldestFirst)
	},
}

// nameIn is the name at the end of an ARN, empty if it is none.
func nameIn(arn any) string {
	s, _ := arn.(string)
	_, name, _ := strings.Cut(s, "/")
	return name
}

// familyIn is the family in the ARN of a task definition, without the revision.
func familyIn(arn any) string {
	family, _, _ := strings.Cut(nameIn(arn), ":")
	return family
}

// sizeOf is the size as the wire has it: a text, whatever the model wrote (Amazon ECS API reference,
// TaskOverride, cpu).
func sizeOf(a arguments) string {
	if size, given := a["size"]; given {
		return fmt.Sprint(size)
	}
	return ""
}

// maxTasks is the most tasks that one RunTask starts (Amazon ECS API reference, RunTask, count).
const maxTasks = 10

func awsRequest(operation, about string, body map[string]any) request {
	r := request{
		method: http.MethodPost, path: "/", about: about,
		header: http.Header{
			"Content-Type": {"application/x-amz-json-1.1"},
			"X-Amz-Target": {"AmazonEC2ContainerServiceV20141113." + operation},
		},
		keyed: func(r *request, key string) {
			body["clientToken"] = key
			r.body, _ = json.Marshal(body)
		},
	}
	r.body, _ = json.Marshal(body) // texts, numbers and lists of them: it cannot fail
	return r
}

func awsFailed(r response) outcome {
	o, _ := r.object()
	message, _ := o["message"].(string)
	if r.status == http.StatusBadRequest && strings.Contains(message, "not idempotent") { // the name of a service is taken
		return outcome{status: Conflict, message: message}
	}
	if r.status == http.StatusBadRequest && o["__type"] == "ConflictException" {
		existing, _ := o["resourceIds"].([]any)
		conflict := outcome{status: Conflict, message: message}
		for _, id := range existing {
			if s, ok := id.(string); ok {
				conflict.receipts = append(conflict.receipts, s)
			}
		}
		return conflict
	}
	return r.failed(message)
}

func arns(tasks []any) []string {
	var all []string
	for _, each := range tasks {
		task, _ := each.(map[string]any)
		if arn, ok := task["taskArn"].(string); ok {
			all = append(all, arn)
		}
	}
	return all
}
