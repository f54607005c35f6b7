package fakeproviders

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// tasks speaks ECS: AWS JSON 1.1, the operation in X-Amz-Target, the token in the body.
// Rules: docs.aws.amazon.com/AmazonECS/latest/APIReference/ECS_Idempotency.html, shapes: the service model
// 2014-11-13 of botocore. Services (CreateService) are in services.go.
type tasks struct{}

func (tasks) Name() string    { return "tasks" }
func (tasks) Summary() string { return "cloud tasks and services over the ECS wire (AWS JSON 1.1)" }

const (
	ecsTarget = "AmazonEC2ContainerServiceV20141113."
	arnPrefix = "arn:aws:ecs:" + awsRegion + ":" + awsAccount + ":"

	maxRunTask  = 10        // tasks of one RunTask
	maxPerPage  = 100       // ARNs that one ListTasks answers
	stoppedSeen = time.Hour // how long a stopped task is still described (DescribeTasks: at least an hour)
)

func (tasks) Parse(r bench.RawRequest) bench.Call {
	op, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), ecsTarget)
	if !ok || r.Method != http.MethodPost {
		return bench.Call{Op: "unknown"}
	}
	m := fields(r.Body)
	switch op {
	case "CreateService":
		return bench.Call{Op: op, Class: "service", Mutating: true, Attrs: serviceAttrs(m)}
	case "StopTask":
		return bench.Call{Op: op, Class: "task", Mutating: true, Attrs: pick(map[string]any{"cluster": clusterName(m)}, "cluster")}
	case "RunTask":
	default:
		return bench.Call{Op: op}
	}
	overrides, _ := m["overrides"].(map[string]any)
	attrs := pick(map[string]any{"family": m["taskDefinition"], "cluster": clusterName(m), "group": m["group"], "size": overrides["cpu"]},
		"family", "cluster", "group", "size")
	c := bench.Call{Op: op, Class: "task", Mutating: true, Attrs: attrs}
	if n, ok := m["count"].(int); ok && n > 1 && n <= maxRunTask {
		for range n {
			c.Units = append(c.Units, attrs)
		}
	}
	return c
}

// scoped: a token is unique in its cluster, and the cluster that is not named is the one called default.
// Whether RunTask and CreateService share their tokens is not said: here they do not.
func (tasks) scoped(_ string, r bench.RawRequest, c bench.Call) string {
	return firstText(clusterName(fields(r.Body)), "default") + " " + c.Op
}

func (t tasks) execute(x *exchange) (answer, error) {
	m := fields(x.raw.Body)
	if m == nil && len(x.raw.Body) > 0 {
		return t.refuse(invalid("", "The body is not a JSON object.")), nil
	}
	switch x.call.Op {
	case "RunTask":
		return t.run(x, m), nil
	case "StopTask":
		return t.stop(x, m)
	case "ListTasks":
		return t.list(x, m)
	case "DescribeTasks":
		return t.describe(x, m)
	case "CreateService":
		return t.createService(x, m)
	case "DescribeServices":
		return t.describeServices(x, m)
	}
	return t.refuse(refusal{status: http.StatusBadRequest, code: "unknown_operation", message: "Unknown operation " + x.call.Op + "."}), nil
}

// run starts tasks. Where there is room for a part of them only, the others fail, which the answer says
// beside those that were started.
func (t tasks) run(x *exchange, m map[string]any) answer {
	if r := texts(m, []string{"taskDefinition"}, "cluster", "group", "startedBy", "clientToken"); r != nil {
		return t.refuse(*r)
	}
	if problem := asciiKey(text(m, "clientToken"), 64); problem != "" {
		return t.refuse(invalid("clientToken", "%s", problem))
	}
	if s := text(m, "startedBy"); len(s) > 128 || strings.ContainsFunc(s, notStartedBy) {
		return t.refuse(invalid("startedBy", "startedBy must have up to 128 letters, numbers, hyphens, slashes and underscores."))
	}
	count := 1
	if v, ok := m["count"]; ok && v != nil {
		n, ok := v.(int)
		if !ok || n < 1 || n > maxRunTask {
			return t.refuse(invalid("count", "count must be a number from 1 to %d, not %v.", maxRunTask, v))
		}
		count = n
	}
	made := count
	if room := x.p.terms.Capacity; room > 0 {
		made = min(count, room)
	}
	cluster := firstText(clusterName(m), "default")
	for n := range made {
		x.add("", store.Object{ID: arnPrefix + "task/" + cluster + "/" + digest(x.name + "/" + string(rune('0'+n)))[:32],
			Class: "task", Attrs: x.call.Attrs, Reference: text(m, "startedBy")})
	}
	started := []any{}
	for _, o := range x.tx.Added() {
		s := taskShown(o)
		s["lastStatus"] = "PENDING" // running is what a later look shows
		started = append(started, s)
	}
	failures := []any{}
	for n := range count - made {
		instance := arnPrefix + "container-instance/" + cluster + "/" + digest(x.name + "/instance/" + string(rune('0'+n)))[:32]
		failures = append(failures, map[string]any{"arn": instance, "reason": "RESOURCE:MEMORY"})
	}
	a := awsAnswer(http.StatusOK, map[string]any{"tasks": started, "failures": failures})
	a.partly = len(failures) > 0
	return a
}

// notStartedBy are the characters that startedBy must not have.
func notStartedBy(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_/", r))
}

// stop stops a task: an effect that undoes it. A task that has stopped is answered as it is, and nothing is done.
func (t tasks) stop(x *exchange, m map[string]any) (answer, error) {
	if r := texts(m, []string{"task"}, "cluster", "reason"); r != nil {
		return t.refuse(*r), nil
	}
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	i := slices.IndexFunc(all, func(o store.Object) bool { return started(o) && inCluster(o, m) && isTask(o, text(m, "task")) })
	if i < 0 {
		return t.refuse(invalid("task", "The referenced task was not found.")), nil
	}
	o, now := all[i], x.p.clock.Now()
	end, ended := x.p.endOf(o, all)
	if !ended || end.After(now) {
		end, ended = now, true
		x.add("stop_", store.Object{Class: "task", Attrs: o.Attrs, Sign: -1, Undoes: o.ID,
			Detail: map[string]any{"reason": text(m, "reason")}})
	}
	s := stopped(taskShown(o), end)
	s["stopCode"], s["stoppedReason"] = "UserInitiated", firstText(text(m, "reason"), "Task stopped by user")
	return awsAnswer(http.StatusOK, map[string]any{"task": s}), nil
}

// started says whether an object is a task, and not the end of one.
func started(o store.Object) bool { return o.Class == "task" && o.Sign > 0 }

// isTask says whether a request names the task by its ARN, or by the id at the end of it.
func isTask(o store.Object, name string) bool {
	return o.ID == name || strings.HasSuffix(o.ID, "/"+name) && !strings.Contains(name, "/")
}

func inCluster(o store.Object, m map[string]any) bool {
	_, rest, _ := strings.Cut(o.ID, "/") // task/CLUSTER/ID, service/CLUSTER/NAME
	cluster, _, _ := strings.Cut(rest, "/")
	return cluster == firstText(clusterName(m), "default")
}

// clusterName is the short name of the cluster that a body names by its name or by its ARN; "": the default one.
func clusterName(m map[string]any) string {
	return strings.TrimPrefix(text(m, "cluster"), arnPrefix+"cluster/")
}

// list names tasks, oldest first. startedBy must be the only filter (ListTasks); whether the desired status
// counts as one is not said: here it does not, since stopped tasks could not be found again otherwise.
func (t tasks) list(x *exchange, m map[string]any) (answer, error) {
	filters := []string{"startedBy", "family", "serviceName", "containerInstance", "launchType", "daemonName"}
	if r := texts(m, nil, slices.Concat(filters, []string{"cluster", "desiredStatus", "nextToken"})...); m != nil && r != nil {
		return t.refuse(*r), nil
	}
	startedBy, family, service := text(m, "startedBy"), text(m, "family"), text(m, "serviceName")
	status := firstText(text(m, "desiredStatus"), "RUNNING")
	switch {
	case startedBy != "" && slices.ContainsFunc(filters[1:], func(f string) bool { return text(m, f) != "" }):
		return t.refuse(invalid("startedBy", "startedBy must be the only filter.")), nil
	case startedBy != "" && !x.findsByReference():
		return t.refuse(noLookUp), nil
	case !slices.Contains([]string{"RUNNING", "STOPPED", "PENDING"}, status):
		return t.refuse(invalid("desiredStatus", "desiredStatus must be RUNNING, PENDING or STOPPED, not %q.", status)), nil
	}
	size := maxPerPage
	if v, ok := m["maxResults"]; ok && v != nil {
		if size, ok = v.(int); !ok || size < 1 || size > maxPerPage {
			return t.refuse(invalid("maxResults", "maxResults must be a number from 1 to %d, not %v.", maxPerPage, v)), nil
		}
	}
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	if service != "" && !slices.ContainsFunc(all, func(o store.Object) bool { return inCluster(o, m) && isService(o, service) }) {
		return t.refuse(refusal{code: "service_not_found", message: "Service not found."}), nil
	}
	found, err := x.look(func(o store.Object) bool {
		end, ended := x.p.endOf(o, all)
		ended = ended && !end.After(x.p.clock.Now())
		return started(o) && inCluster(o, m) && (status == "RUNNING" && !ended || status == "STOPPED" && ended && x.p.clock.Now().Sub(end) <= stoppedSeen) &&
			(startedBy == "" || o.Reference == startedBy) && (family == "" || familyOf(o) == family) &&
			service == "" && text(m, "containerInstance") == "" && text(m, "daemonName") == "" // of which there are none
	})
	if err != nil {
		return answer{}, err
	}
	from, to, next, ok := cutPage(len(found), size, text(m, "nextToken"))
	if !ok {
		return t.refuse(invalid("nextToken", "Invalid token.")), nil
	}
	arns := []string{}
	for _, o := range found[from:to] {
		arns = append(arns, o.ID)
	}
	a := map[string]any{"taskArns": arns}
	if next != "" {
		a["nextToken"] = next
	}
	return awsAnswer(http.StatusOK, a), nil
}

func (t tasks) describe(x *exchange, m map[string]any) (answer, error) {
	asked, _ := m["tasks"].([]any)
	if len(asked) == 0 {
		return t.refuse(invalid("tasks", "Tasks cannot be empty.")), nil
	}
	if len(asked) > 100 {
		return t.refuse(invalid("tasks", "At most 100 tasks can be described at once, not %d.", len(asked))), nil
	}
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	found, err := x.look(func(o store.Object) bool { return started(o) && inCluster(o, m) })
	if err != nil {
		return answer{}, err
	}
	shown, failures := []any{}, []any{}
	for _, each := range asked {
		name, ok := each.(string)
		if !ok {
			return t.refuse(invalid("tasks", "A task is named by a text, not by %v.", each)), nil
		}
		i := slices.IndexFunc(found, func(o store.Object) bool { return isTask(o, name) })
		now := x.p.clock.Now()
		if i >= 0 {
			s := taskShown(found[i])
			end, ended := x.p.endOf(found[i], all)
			if ended && !end.After(now) {
				s = stopped(s, end)
			}
			if !ended || now.Sub(end) <= stoppedSeen {
				shown = append(shown, s)
				continue
			}
		}
		if !strings.HasPrefix(name, "arn:") {
			name = arnPrefix + "task/" + firstText(clusterName(m), "default") + "/" + name
		}
		failures = append(failures, map[string]any{"arn": name, "reason": "MISSING"})
	}
	return awsAnswer(http.StatusOK, map[string]any{"tasks": shown, "failures": failures}), nil
}

// again answers a retry: the tasks as they are now, a stopped one by its ARN and its statuses alone, and the
// failures of the first answer; of failures more than an hour old only that there were so many.
func (t tasks) again(x *exchange, was answer, made []store.Object) answer {
	all, err := x.p.store.Objects()
	if err != nil || len(made) == 0 {
		return was
	}
	if made[0].Class == "service" {
		return awsAnswer(http.StatusOK, map[string]any{"service": serviceShown(made[0])})
	}
	now, shown := x.p.clock.Now(), []any{}
	for _, o := range made {
		s := taskShown(o)
		if end, ended := x.p.endOf(o, all); ended && !end.After(now) {
			s = map[string]any{"taskArn": o.ID, "lastStatus": "STOPPED", "desiredStatus": "STOPPED"}
		}
		shown = append(shown, s)
	}
	failures, _ := fields(was.body)["failures"].([]any)
	if now.Sub(made[0].At) > time.Hour {
		for i := range failures {
			failures[i] = map[string]any{}
		}
	}
	return awsAnswer(http.StatusOK, map[string]any{"tasks": shown, "failures": append([]any{}, failures...)})
}

func (tasks) current(objects []store.Object) answer {
	if objects[0].Class == "service" {
		return awsAnswer(http.StatusOK, map[string]any{"service": serviceShown(objects[0])})
	}
	all := []any{}
	for _, o := range objects {
		all = append(all, taskShown(o))
	}
	return awsAnswer(http.StatusOK, map[string]any{"tasks": all, "failures": []any{}})
}

// taskShown is a task that runs.
func taskShown(o store.Object) map[string]any {
	path := strings.Split(strings.TrimPrefix(o.ID, arnPrefix+"task/"), "/")
	m := map[string]any{
		"taskArn": o.ID, "clusterArn": arnPrefix + "cluster/" + path[0],
		"taskDefinitionArn": definitionARN(text(o.Attrs, "family")),
		"lastStatus":        "RUNNING", "desiredStatus": "RUNNING", "createdAt": o.At.Unix(),
		"group": firstText(text(o.Attrs, "group"), "family:"+familyOf(o)), "overrides": map[string]any{},
		"containers": []any{}, "version": 1,
	}
	if o.Reference != "" {
		m["startedBy"] = o.Reference
	}
	if size := o.Attrs["size"]; size != nil {
		m["overrides"] = map[string]any{"cpu": size}
	}
	return m
}

// stopped is a task as it is shown after its end.
func stopped(task map[string]any, end time.Time) map[string]any {
	task["lastStatus"], task["desiredStatus"], task["stoppedAt"] = "STOPPED", "STOPPED", end.Unix()
	return task
}

// familyOf is the family of a task or service, however its definition was named.
func familyOf(o store.Object) string {
	_, name, _ := strings.Cut(definitionARN(text(o.Attrs, "family")), "/")
	family, _, _ := strings.Cut(name, ":")
	return family
}

// definitionARN names a task definition that was named by its family, by family and revision, or by its ARN.
func definitionARN(name string) string {
	name = strings.TrimPrefix(name, arnPrefix+"task-definition/")
	if !strings.Contains(name, ":") {
		name += ":1"
	}
	return arnPrefix + "task-definition/" + name
}

// refuse renders AWS's error shape; its SDKs read the name from __type in the body. A service that is in the
// way is refused by the name and the text that clients match on (github.com/hashicorp/terraform-provider-aws,
// issue 2283).
func (tasks) refuse(r refusal) answer {
	body := map[string]any{"__type": "ClientException", "message": r.message}
	status := http.StatusBadRequest
	switch {
	case r.code == "already_exists":
		body["__type"] = "InvalidParameterException"
	case r.code == "service_not_found":
		body["__type"] = "ServiceNotFoundException"
	case r.code == "provider_failure" && r.status >= 500:
		body["__type"], status = "ServerException", r.status
	case r.code == "provider_failure":
		body["__type"], status = "ThrottlingException", r.status
	case r.code == "invalid_request", r.code == "look_up_not_supported", r.code == "idempotency_key_missing", r.code == "idempotency_key_invalid":
		body["__type"] = "InvalidParameterException"
	case strings.HasPrefix(r.code, "idempot"):
		body["message"] = "The clientToken is already in use with a different RunTask request."
		body["__type"], body["resourceIds"] = "ConflictException", append([]string{}, r.existing...)
	}
	a := awsAnswer(status, body)
	if r.code == "already_exists" {
		a.existing, a.dedup = first(r.existing), true
	}
	return a
}

// refuseTo: CreateService has no ConflictException (service model). A token of another request is answered as
// a name that is taken is.
func (t tasks) refuseTo(x *exchange, r refusal) answer {
	if x.call.Op == "CreateService" && (r.code == "idempotency_conflict" || r.code == "idempotency_key_reused" || r.code == "idempotency_key_in_use") {
		return t.refuse(refusal{code: "invalid_request", message: notIdempotent})
	}
	return t.refuse(r)
}

func (tasks) decorate(x *exchange, a *answer) { awsRequestID(x, a) }

func (tasks) world(w bench.WorldEffect, n int) store.Object {
	o := worldObject("", w, n)
	cluster := firstText(text(w.Attrs, "cluster"), "default")
	if o.ID = arnPrefix + "task/" + cluster + "/" + digest(o.ID)[:32]; w.Class == "service" {
		o.ID = serviceARN(cluster, text(w.Attrs, "name"))
	}
	return o
}
