package fakeproviders

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// tasks speaks ECS: AWS JSON 1.1, the operation in X-Amz-Target, the token in the body.
// Rules: docs.aws.amazon.com/AmazonECS/latest/APIReference/ECS_Idempotency.html.
type tasks struct{}

func (tasks) Name() string    { return "tasks" }
func (tasks) Summary() string { return "cloud tasks over the ECS wire (AWS JSON 1.1)" }

const (
	ecsTarget = "AmazonEC2ContainerServiceV20141113."
	arnPrefix = "arn:aws:ecs:us-east-1:123456789012:"
)

func (tasks) Parse(r bench.RawRequest) bench.Call {
	op, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), ecsTarget)
	if !ok || r.Method != http.MethodPost {
		return bench.Call{Op: "unknown"}
	}
	m := fields(r.Body)
	if op != "RunTask" {
		return bench.Call{Op: op}
	}
	overrides, _ := m["overrides"].(map[string]any)
	attrs := pick(map[string]any{"family": m["taskDefinition"], "cluster": clusterName(m), "group": m["group"], "size": overrides["cpu"]},
		"family", "cluster", "group", "size")
	c := bench.Call{Op: op, Class: "task", Mutating: true, Attrs: attrs}
	if n, ok := m["count"].(int); ok && n > 1 && n <= 10 {
		for range n {
			c.Units = append(c.Units, attrs)
		}
	}
	return c
}

// scoped: a token is unique in its cluster, and the cluster that is not named is the one called default.
func (tasks) scoped(_ string, r bench.RawRequest, _ bench.Call) string {
	return firstText(clusterName(fields(r.Body)), "default")
}

func (t tasks) execute(x *exchange) (answer, error) {
	m := fields(x.raw.Body)
	if m == nil && len(x.raw.Body) > 0 {
		return t.refuse(invalid("", "The body is not a JSON object.")), nil
	}
	switch x.call.Op {
	case "RunTask":
		return t.run(x, m), nil
	case "ListTasks":
		return t.list(x, m)
	case "DescribeTasks":
		return t.describe(x, m)
	}
	return t.refuse(refusal{status: http.StatusBadRequest, code: "unknown_operation", message: "Unknown operation " + x.call.Op + "."}), nil
}

func (t tasks) run(x *exchange, m map[string]any) answer {
	if r := texts(m, []string{"taskDefinition"}, "cluster", "group", "startedBy", "clientToken"); r != nil {
		return t.refuse(*r)
	}
	count := 1
	if v, ok := m["count"]; ok && v != nil {
		n, ok := v.(int)
		if !ok || n < 1 || n > 10 {
			return t.refuse(invalid("count", "count must be a number from 1 to 10, not %v.", v))
		}
		count = n
	}
	cluster := firstText(clusterName(m), "default")
	for n := range count {
		x.add("", store.Object{ID: arnPrefix + "task/" + cluster + "/" + digest(x.name + "/" + string(rune('0'+n)))[:32],
			Class: "task", Attrs: x.call.Attrs, Reference: text(m, "startedBy")})
	}
	return t.current(x.tx.Added())
}

func inCluster(o store.Object, m map[string]any) bool {
	return strings.HasPrefix(o.ID, arnPrefix+"task/"+firstText(clusterName(m), "default")+"/")
}

// clusterName is the short name of the cluster that a body names by its name or by its ARN; "": the default one.
func clusterName(m map[string]any) string {
	return strings.TrimPrefix(text(m, "cluster"), arnPrefix+"cluster/")
}

func (t tasks) list(x *exchange, m map[string]any) (answer, error) {
	startedBy, family := text(m, "startedBy"), text(m, "family")
	if startedBy != "" && family != "" {
		return t.refuse(invalid("startedBy", "startedBy must be the only filter.")), nil
	}
	if startedBy != "" && !x.findsByReference() {
		return t.refuse(noLookUp), nil
	}
	found, err := x.look(func(o store.Object) bool {
		return inCluster(o, m) && (startedBy == "" || o.Reference == startedBy) && (family == "" || o.Attrs["family"] == family)
	})
	if err != nil {
		return answer{}, err
	}
	arns := []string{}
	for _, o := range found {
		arns = append(arns, o.ID)
	}
	return awsAnswer(http.StatusOK, map[string]any{"taskArns": arns}), nil
}

func (t tasks) describe(x *exchange, m map[string]any) (answer, error) {
	asked, _ := m["tasks"].([]any)
	if len(asked) == 0 {
		return t.refuse(invalid("tasks", "Tasks cannot be empty.")), nil
	}
	found, err := x.look(func(o store.Object) bool { return inCluster(o, m) })
	if err != nil {
		return answer{}, err
	}
	shown, failures := []any{}, []any{}
	for _, arn := range asked {
		i := slices.IndexFunc(found, func(o store.Object) bool { return o.ID == arn })
		if i < 0 {
			failures = append(failures, map[string]any{"arn": arn, "reason": "MISSING"})
			continue
		}
		shown = append(shown, taskShown(found[i]))
	}
	return awsAnswer(http.StatusOK, map[string]any{"tasks": shown, "failures": failures}), nil
}

func (tasks) current(objects []store.Object) answer {
	all := []any{}
	for _, o := range objects {
		all = append(all, taskShown(o))
	}
	return awsAnswer(http.StatusOK, map[string]any{"tasks": all, "failures": []any{}})
}

func taskShown(o store.Object) map[string]any {
	path := strings.Split(strings.TrimPrefix(o.ID, arnPrefix+"task/"), "/")
	m := map[string]any{
		"taskArn": o.ID, "clusterArn": arnPrefix + "cluster/" + path[0],
		"taskDefinitionArn": arnPrefix + "task-definition/" + text(o.Attrs, "family"),
		"lastStatus":        "RUNNING", "desiredStatus": "RUNNING", "createdAt": o.At.Unix(),
	}
	for name, v := range map[string]any{"group": o.Attrs["group"], "startedBy": o.Reference} {
		if v != nil && v != "" {
			m[name] = v
		}
	}
	if size := o.Attrs["size"]; size != nil {
		m["overrides"] = map[string]any{"cpu": size}
	}
	return m
}

func awsAnswer(status int, v any) answer {
	a := jsonAnswer(status, v)
	a.kind = "application/x-amz-json-1.1"
	return a
}

// refuse renders AWS's error shape; its SDKs read the name from __type in the body.
func (tasks) refuse(r refusal) answer {
	body := map[string]any{"__type": "ClientException", "message": r.message}
	status := http.StatusBadRequest
	switch {
	case r.code == "idempotency_conflict", r.code == "idempotency_key_in_use":
		body["__type"], body["resourceIds"] = "ConflictException", append([]string{}, r.existing...)
	case r.code == "provider_failure" && r.status >= 500:
		body["__type"], status = "ServerException", r.status
	case r.code == "provider_failure":
		body["__type"], status = "ThrottlingException", r.status
	case r.code == "invalid_request", r.code == "look_up_not_supported":
		body["__type"] = "InvalidParameterException"
	}
	return awsAnswer(status, body)
}

// decorate adds the request id that AWS's SDKs show in errors.
func (tasks) decorate(x *exchange, a *answer) {
	if a.header == nil {
		a.header = http.Header{}
	}
	a.header.Set("X-Amzn-Requestid", digest(x.name)[:32])
}

func (tasks) world(w bench.WorldEffect, n int) store.Object {
	o := worldObject("", w, n)
	o.ID = arnPrefix + "task/" + firstText(text(w.Attrs, "cluster"), "default") + "/" + digest(o.ID)[:32]
	return o
}
