package fakeproviders

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// arnsIn lists the ARNs of tasks in an answer.
func arnsIn(t *testing.T, r reply, list string) (arns []string) {
	t.Helper()
	all, ok := r.field(list).([]any)
	if !ok {
		t.Fatalf("no list %s in %s", list, r.body)
	}
	for _, each := range all {
		if m, ok := each.(map[string]any); ok {
			each = m["taskArn"]
		}
		arns = append(arns, fmt.Sprint(each))
	}
	return arns
}

func quoted(arns []string) string {
	b, _ := json.Marshal(arns)
	return string(b)
}

// A token is kept for an hour past the end of the last of its tasks, and for a day at most.
func TestTokenIsKeptPastTheTasksEnd(t *testing.T) {
	body := `{"taskDefinition":"web","clientToken":"t","count":2}`
	for name, c := range map[string]struct {
		contract string
		stop     []int // tasks that are stopped, half an hour apart
		passes   time.Duration
		kept     bool
	}{
		"running, within a day":          {"ecs-run-task", nil, 24 * time.Hour, true},
		"running, past a day":            {"ecs-run-task", nil, 24*time.Hour + time.Second, false},
		"one stopped, the other runs":    {"ecs-run-task", []int{0}, 23 * time.Hour, true},
		"stopped, an hour past the last": {"ecs-run-task", []int{0, 1}, time.Hour, true},
		"stopped, more than that":        {"ecs-run-task", []int{0, 1}, time.Hour + time.Second, false},
		"ended by itself, within":        {"ecs-run-task-short", nil, 90 * time.Minute, true},
		"ended by itself, past":          {"ecs-run-task-short", nil, 90*time.Minute + time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := up(t, c.contract)
			first := arnsIn(t, r.want(r.runTask(body), 200), "tasks")
			for _, n := range c.stop {
				r.clock.pass(30 * time.Minute)
				r.want(r.ecs("StopTask", `{"task":"`+first[n]+`"}`), 200)
			}
			r.clock.pass(c.passes)
			again := arnsIn(t, r.want(r.runTask(body), 200), "tasks")
			if kept := reflect.DeepEqual(again, first); kept != c.kept {
				t.Errorf("first %v, again %v; kept is expected to be %v", first, again, c.kept)
			}
		})
	}
}

// TestTokenIsKeptForADayAtMost: a task that stops within the last hour of it does not make that longer.
func TestTokenIsKeptForADayAtMost(t *testing.T) {
	body := `{"taskDefinition":"web","clientToken":"t"}`
	for past, kept := range map[time.Duration]bool{0: true, time.Second: false} {
		r := up(t, "ecs-run-task")
		first := arnsIn(t, r.want(r.runTask(body), 200), "tasks")
		r.clock.pass(24*time.Hour - 30*time.Minute)
		r.want(r.ecs("StopTask", `{"task":"`+first[0]+`"}`), 200)
		r.clock.pass(30*time.Minute + past)
		if again := arnsIn(t, r.want(r.runTask(body), 200), "tasks"); reflect.DeepEqual(again, first) != kept {
			t.Errorf("%s past a day: first %v, again %v; kept is expected to be %v", past, first, again, kept)
		}
	}
}

// To stop a task is an effect that undoes it, once; the task is then seen as stopped for an hour.
func TestStopTask(t *testing.T) {
	r := up(t, "ecs-run-task")
	arn := arnsIn(t, r.want(r.runTask(`{"taskDefinition":"web","cluster":"c","startedBy":"r/1","clientToken":"t"}`), 200), "tasks")[0]
	r.clock.pass(10 * time.Minute)
	for range 2 {
		got := r.want(r.ecs("StopTask", `{"cluster":"c","task":"`+arn[strings.LastIndex(arn, "/")+1:]+`","reason":"enough"}`), 200)
		if task := got.field("task").(map[string]any); task["lastStatus"] != "STOPPED" || task["stoppedReason"] != "enough" || task["stoppedAt"] != task["createdAt"].(int)+600 {
			t.Errorf("stopped: %s", got.body)
		}
		r.clock.pass(time.Minute)
	}
	if all := r.effects(); len(all) != 2 || all[1].Sign != -1 || all[1].Undoes != arn || all[1].Class != "task" || !reflect.DeepEqual(all[1].Attrs, all[0].Attrs) {
		t.Errorf("effects %+v", all)
	}
	if p := r.gate.points("r3"); p != "received before-response" {
		t.Errorf("a stop of what has stopped passes %q", p)
	}
	replay := r.want(r.runTask(`{"taskDefinition":"web","cluster":"c","startedBy":"r/1","clientToken":"t"}`), 200)
	if want := `{"failures":[],"tasks":[{"desiredStatus":"STOPPED","lastStatus":"STOPPED","taskArn":"` + arn + `"}]}`; replay.body != want {
		t.Errorf("a retry shows %s, want %s", replay.body, want)
	}
	lists := func(filter string, want int) {
		t.Helper()
		if got := arnsIn(t, r.want(r.ecs("ListTasks", `{"cluster":"c"`+filter+`}`), 200), "taskArns"); len(got) != want {
			t.Errorf("list of %s: %v, want %d", filter, got, want)
		}
	}
	lists(``, 0)
	lists(`,"startedBy":"r/1","desiredStatus":"STOPPED"`, 1)
	r.clock.pass(time.Hour)
	lists(`,"desiredStatus":"STOPPED"`, 0)
	got := r.want(r.ecs("DescribeTasks", `{"cluster":"c","tasks":["`+arn+`","x"]}`), 200)
	if want := `{"failures":[{"arn":"` + arn + `","reason":"MISSING"},{"arn":"arn:aws:ecs:us-east-1:123456789012:task/c/x","reason":"MISSING"}],"tasks":[]}`; got.body != want {
		t.Errorf("described %s, want %s", got.body, want)
	}
	if got := r.ecs("StopTask", `{"task":"`+arn+`"}`); got.status != 400 || got.field("__type") != "InvalidParameterException" {
		t.Errorf("a stop in another cluster: %d %s", got.status, got.body)
	}
}

// A call of which a part failed is answered with the same mixture again, and the failures are forgotten
// but for their number.
func TestTasksThatFail(t *testing.T) {
	r := up(t, "ecs-run-task-full")
	body := `{"taskDefinition":"web","clientToken":"t","count":4}`
	first := r.want(r.runTask(body), 200)
	made, failed := arnsIn(t, first, "tasks"), first.field("failures").([]any)
	if len(made) != 2 || len(failed) != 2 || failed[0].(map[string]any)["reason"] != "RESOURCE:MEMORY" {
		t.Fatalf("answer %s", first.body)
	}
	r.clock.pass(time.Hour)
	second := r.want(r.runTask(body), 200)
	if !reflect.DeepEqual(arnsIn(t, second, "tasks"), made) || !reflect.DeepEqual(second.field("failures"), first.field("failures")) {
		t.Errorf("a retry: %s, first %s", second.body, first.body)
	}
	r.clock.pass(time.Second)
	third := r.want(r.runTask(body), 200)
	if !reflect.DeepEqual(third.field("failures"), []any{map[string]any{}, map[string]any{}}) {
		t.Errorf("an hour later: %s", third.body)
	}
	r.wantEffects(2)
	r.wantDedup(record("r2", made[0]), record("r3", made[0]))
}

func TestTokensOfClusters(t *testing.T) {
	r := up(t, "ecs-run-task")
	a := r.want(r.runTask(`{"taskDefinition":"web","clientToken":"t"}`), 200)
	for _, same := range []string{`"default"`, `"arn:aws:ecs:us-east-1:123456789012:cluster/default"`} { // another parameter, but the same cluster
		if got := r.runTask(`{"taskDefinition":"web","clientToken":"t","cluster":` + same + `}`); got.status != 400 || got.field("__type") != "ConflictException" ||
			quoted(arnsIn(t, got, "resourceIds")) != quoted(arnsIn(t, a, "tasks")) {
			t.Errorf("cluster %s: %d %s", same, got.status, got.body)
		}
	}
	r.want(r.runTask(`{"taskDefinition":"web","clientToken":"t","cluster":"other"}`), 200)
	r.want(r.ecs("CreateService", `{"serviceName":"s","taskDefinition":"web","desiredCount":1,"clientToken":"t"}`), 200)
	r.wantEffects(3)
}

func TestListTasksPages(t *testing.T) {
	r := up(t, "ecs-run-task")
	for range 12 {
		r.want(r.runTask(`{"taskDefinition":"web:7","count":10}`), 200)
	}
	r.clock.pass(5 * time.Minute)
	var all []string
	pages, token := 0, ""
	for {
		got := r.want(r.ecs("ListTasks", `{"family":"web"`+token+`}`), 200)
		all = append(all, arnsIn(t, got, "taskArns")...)
		pages++
		next, more := got.field("nextToken").(string)
		if !more {
			break
		}
		token = `,"nextToken":"` + next + `"`
	}
	seen := map[string]bool{}
	for _, arn := range all {
		seen[arn] = true
	}
	if pages != 2 || len(all) != 120 || len(seen) != 120 {
		t.Errorf("%d tasks, %d of them different, on %d pages; want 120 on 2", len(all), len(seen), pages)
	}
}

// What is wrong with a request is answered in ECS's own shape, and nothing happens.
func TestECSRefuses(t *testing.T) {
	long := strings.Repeat("x", 65)
	for name, c := range map[string]struct{ op, body, kind string }{
		"no JSON":                    {"RunTask", `{`, "InvalidParameterException"},
		"a list":                     {"RunTask", `[]`, "InvalidParameterException"},
		"no definition":              {"RunTask", `{}`, "InvalidParameterException"},
		"a definition of wrong type": {"RunTask", `{"taskDefinition":{"a":1}}`, "InvalidParameterException"},
		"too many":                   {"RunTask", `{"taskDefinition":"w","count":11}`, "InvalidParameterException"},
		"none":                       {"RunTask", `{"taskDefinition":"w","count":0}`, "InvalidParameterException"},
		"half a task":                {"RunTask", `{"taskDefinition":"w","count":1.5}`, "InvalidParameterException"},
		"a long token":               {"RunTask", `{"taskDefinition":"w","clientToken":"` + long + `"}`, "InvalidParameterException"},
		"a token with a blank":       {"RunTask", `{"taskDefinition":"w","clientToken":"a b"}`, "InvalidParameterException"},
		"a marker with a blank":      {"RunTask", `{"taskDefinition":"w","startedBy":"a b"}`, "InvalidParameterException"},
		"two filters":                {"ListTasks", `{"startedBy":"r","family":"w"}`, "InvalidParameterException"},
		"filter and service":         {"ListTasks", `{"startedBy":"r","serviceName":"w"}`, "InvalidParameterException"},
		"no such service":            {"ListTasks", `{"serviceName":"w"}`, "ServiceNotFoundException"},
		"a strange status":           {"ListTasks", `{"desiredStatus":"DEAD"}`, "InvalidParameterException"},
		"a made-up page":             {"ListTasks", `{"nextToken":"7"}`, "InvalidParameterException"},
		"a page of none":             {"ListTasks", `{"maxResults":0}`, "InvalidParameterException"},
		"tasks that are no texts":    {"DescribeTasks", `{"tasks":[7]}`, "InvalidParameterException"},
		"no tasks":                   {"DescribeTasks", `{}`, "InvalidParameterException"},
		"a service without a name":   {"CreateService", `{"taskDefinition":"w","desiredCount":1}`, "InvalidParameterException"},
		"a name with a slash":        {"CreateService", `{"serviceName":"a/b","taskDefinition":"w","desiredCount":1}`, "InvalidParameterException"},
		"no count":                   {"CreateService", `{"serviceName":"s","taskDefinition":"w"}`, "InvalidParameterException"},
		"a service's long token":     {"CreateService", `{"serviceName":"s","taskDefinition":"w","desiredCount":1,"clientToken":"` + long[:37] + `"}`, "InvalidParameterException"},
		"an operation that is none":  {"DropTasks", `{}`, "ClientException"},
	} {
		t.Run(name, func(t *testing.T) {
			r := up(t, "ecs-run-task")
			got := r.ecs(c.op, c.body)
			if got.status != 400 || got.field("__type") != c.kind || got.field("message") == nil || got.header.Get("X-Amzn-Requestid") == "" {
				t.Errorf("%d %s, want 400 %s", got.status, got.body, c.kind)
			}
			r.wantEffects(0)
		})
	}
}

// A name is unique in its cluster, whatever the token, and a token of another request is turned down alike.
func TestServices(t *testing.T) {
	r := up(t, "ecs-create-service")
	create := func(name, cluster, token string, desired int) reply {
		body := fmt.Sprintf(`{"serviceName":%q,"taskDefinition":"web","desiredCount":%d`, name, desired)
		if cluster != "" {
			body += fmt.Sprintf(`,"cluster":%q`, cluster)
		}
		if token != "" {
			body += fmt.Sprintf(`,"clientToken":%q`, token)
		}
		return r.ecs("CreateService", body+"}")
	}
	first := r.want(create("shop", "", "t", 2), 200)
	if again := r.want(create("shop", "", "t", 2), 200); again.field("service").(map[string]any)["serviceArn"] != first.field("service").(map[string]any)["serviceArn"] {
		t.Errorf("under the token: %s, first %s", again.body, first.body)
	}
	for name, got := range map[string]reply{
		"the same without a token":     create("shop", "", "", 2),
		"the default cluster by name":  create("shop", "default", "", 2),
		"the token of another service": create("other", "", "t", 2),
	} {
		if got.status != 400 || got.field("__type") != "InvalidParameterException" || got.field("message") != "Creation of service was not idempotent." {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	r.want(create("shop", "main", "t", 0), 200)
	r.wantEffects(2)
	r.clock.pass(5 * time.Minute)
	got := r.want(r.ecs("DescribeServices", `{"services":["shop","none"]}`), 200)
	services := got.field("services").([]any)
	if len(services) != 1 || services[0].(map[string]any)["runningCount"] != 2 || len(got.field("failures").([]any)) != 1 {
		t.Errorf("described: %s", got.body)
	}

	loose := up(t, "ecs-create-service", func(c *bench.Contract) { c.Actual.Unique = nil })
	loose.want(loose.ecs("CreateService", `{"serviceName":"s","taskDefinition":"w","desiredCount":1}`), 200)
	loose.want(loose.ecs("CreateService", `{"serviceName":"s","taskDefinition":"w","desiredCount":1}`), 200)
	loose.wantEffects(2)
}
