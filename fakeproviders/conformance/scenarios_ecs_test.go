package conformance

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// ECS's rules: docs.aws.amazon.com/AmazonECS/latest/APIReference/ECS_Idempotency.html. How often an SDK sends
// is measured: all three send three times in all, each with the token of the first.

func ecsScenarios() []scenario {
	return slices.Concat(ecsTokens(), ecsSends(), ecsLookUps())
}

// awsSDKs have a client for every service.
var awsSDKs = []string{"boto3", "aws-sdk-go-v2", "@aws-sdk/client-ecs"}

func runTask(more ...any) step {
	return ecsStep("RunTask", append([]any{"taskDefinition", "nightly-report:3"}, more...)...)
}

func ecsStep(op string, args ...any) step {
	s := step{op: "ecs." + op, args: map[string]any{"cluster": "main"}}
	for i := 0; i < len(args); i += 2 {
		s.args[args[i].(string)] = args[i+1]
	}
	return s
}

// ecsTokens are the promises of RunTask's clientToken.
func ecsTokens() []scenario {
	var all []scenario
	for _, c := range awsSDKs {
		add := func(name, expected string, run func(*stage) (string, error)) {
			all = append(all, scenario{name: name, contract: "ecs-run-task", client: c, expected: expected, run: run})
		}
		arn := []any{"tasks", 0, "taskArn"}
		token := runTask("clientToken", "t1")
		again := "ok, the same object, 1 effect"
		add("same token, same parameters", again, twice(token, token, nil, arn...))
		add("same token, other parameters", "ConflictException 400, naming the first task, 1 effect", conflict(token, runTask("clientToken", "t1", "count", 2)))
		add("same token in another cluster", "ok, another object, 2 effects", twice(token, runTask("clientToken", "t1", "cluster", "other"), nil, arn...))
		add("another token, same parameters", "ok, another object, 2 effects", twice(token, runTask("clientToken", "t2"), nil, arn...))
		add("an older token after a newer one", "ok, the same object, 2 effects", twice(token, token, func(st *stage) error {
			_, err := st.succeed(runTask("clientToken", "t2"))
			return err
		}, arn...))
		add("the caller gives no token, twice", "ok, another object, 2 effects; tokens that the SDK made, UUIDs", func(st *stage) (string, error) {
			seen, err := twice(runTask(), runTask(), nil, arn...)(st)
			return seen + "; " + madeTokens(st), err
		})
		add("same token after 23 h 59 min", again, twice(token, token, pass(24*time.Hour-time.Minute), arn...))
		add("same token after 24 h 1 min", "ok, another object, 2 effects", twice(token, token, pass(24*time.Hour+time.Minute), arn...))
		add("same token 59 min after the task was stopped (an effect too)", "ok, the same object, 2 effects", twice(token, token, stopAnd(59*time.Minute), arn...))
		add("same token 61 min after the task was stopped (an effect too)", "ok, another object, 3 effects", twice(token, token, stopAnd(61*time.Minute), arn...))
		add("a retry shows the task as it is now", "PENDING; then STOPPED, without startedBy", func(st *stage) (string, error) {
			return nowShown(st, runTask("clientToken", "t1", "startedBy", "report-7"))
		})
		add("the first is in work", "ConflictException 400; the first: ok, 1 effect", func(st *stage) (string, error) { return st.second(token, token) })
		add("the provider crashed under the first", "2 sends under 1 key, 1 effect, ok", meets(1, bench.BeforeCommit, bench.Action{Act: bench.CrashAct},
			func(st *stage) (string, error) { return st.tell(token) }))
		add("the first failed (500) at all its sends", serverError[c]+"; then ok, 1 effect", func(st *stage) (string, error) {
			st.gate.meet(bench.BeforeCommit, bench.Action{Act: bench.Fail, Status: 500}, 1, 2, 3)
			return twice(token, token, nil, arn...)(st)
		})
		add("a token of 300 characters with blanks", "1 send under 1 key, 0 effects, InvalidParameterException 400", func(st *stage) (string, error) {
			return st.tell(runTask("clientToken", strings.Repeat("a b", 100)))
		})
		add("a token of 65 characters", "1 send under 1 key, 0 effects, InvalidParameterException 400", func(st *stage) (string, error) {
			return st.tell(runTask("clientToken", strings.Repeat("t", 65)))
		})
	}
	return all
}

// serverError is how each SDK names a 500 of ECS.
var serverError = map[string]string{"boto3": "ServerException 500", "aws-sdk-go-v2": "ServerException 500", "@aws-sdk/client-ecs": "ServerException 500"}

// conflict plays two steps and tells whether the second one's exception names what the first one made.
func conflict(first, second step) func(*stage) (string, error) {
	return func(st *stage) (string, error) {
		a, err := st.succeed(first)
		if err != nil {
			return "", err
		}
		b, err := st.play(second)
		if err != nil {
			return "", err
		}
		made, err := st.effects()
		words := b.String()
		if b.Error != nil && at(b.Error.More, "resourceIds", 0) == a.at("tasks", 0, "taskArn") {
			words += ", naming the first task"
		}
		return words + ", " + plural(len(made), "effect"), err
	}
}

// madeTokens tells whose tokens were sent.
func madeTokens(st *stage) string {
	seen := map[string]bool{}
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	for _, a := range st.gate.seen() {
		seen[a.Call.Key] = true
		if !uuid.MatchString(a.Call.Key) {
			return fmt.Sprintf("a token %q", a.Call.Key)
		}
	}
	if len(seen) != len(st.gate.seen()) {
		return fmt.Sprintf("tokens %v", slices.Sorted(maps.Keys(seen)))
	}
	return "tokens that the SDK made, UUIDs"
}

// stopAnd stops the task that was run, and lets time pass.
func stopAnd(d time.Duration) func(*stage) error {
	return func(st *stage) error {
		made, err := st.effects()
		if err != nil {
			return err
		}
		_, err = st.succeed(ecsStep("StopTask", "task", made[0].ID))
		st.clock.pass(d)
		return err
	}
}

func nowShown(st *stage, s step) (string, error) {
	a, err := st.succeed(s)
	if err != nil {
		return "", err
	}
	if err := stopAnd(time.Minute)(st); err != nil {
		return "", err
	}
	b, err := st.succeed(s)
	if err != nil {
		return "", err
	}
	words := fmt.Sprintf("%v; then %v", a.at("tasks", 0, "lastStatus"), b.at("tasks", 0, "lastStatus"))
	if b.at("tasks", 0, "startedBy") == nil && a.at("tasks", 0, "startedBy") != nil {
		words += ", without startedBy"
	}
	return words, nil
}

// ecsSends are the requests that the SDKs send on their own.
func ecsSends() []scenario {
	closed := map[string]string{"boto3": "ConnectionClosedError", "aws-sdk-go-v2": "*smithy.OperationError", "@aws-sdk/client-ecs": "TimeoutError ECONNRESET"}
	lost := bench.Action{Act: bench.Close}
	fail := func(status int) bench.Action { return bench.Action{Act: bench.Fail, Status: status} }
	edge := func(status int) bench.Action {
		return bench.Action{Act: bench.Replace, Status: status, Body: "upstream"}
	}
	var all []scenario
	for _, c := range awsSDKs {
		for _, e := range []struct {
			name     string
			at       bench.Point
			act      bench.Action
			n        int
			options  with
			expected string
		}{
			{"no request is read to", bench.Received, lost, 0, nil, "3 sends under 1 key, 0 effects, " + closed[c]},
			{"no answer comes back", bench.Committed, lost, 0, nil, "3 sends under 1 key, 1 effect, " + closed[c]},
			{"the first answer does not come back", bench.Committed, lost, 1, nil, "2 sends under 1 key, 1 effect, ok"},
			{"every answer is a 500", bench.Received, fail(500), 0, nil, "3 sends under 1 key, 0 effects, " + serverError[c]},
			{"every answer is a 502 of an edge's", bench.Received, edge(502), 0, nil, "3 sends under 1 key, 0 effects, " + edgeError(c, 502)},
			{"every answer is a 504 of an edge's", bench.Received, edge(504), 0, nil, "3 sends under 1 key, 0 effects, " + edgeError(c, 504)},
			{"every answer is a 429 (ThrottlingException)", bench.Received, fail(429), 0, nil, "3 sends under 1 key, 0 effects, " + throttled[c]},
			{"every answer is a 429 of an edge's", bench.Received, edge(429), 0, nil, "3 sends under 1 key, 0 effects, " + edgeError(c, 429)},
			{"no answer comes back, retry mode legacy", bench.Committed, lost, 0, with{"retry_mode": "legacy"}, "5 sends under 1 key, 1 effect, ConnectionClosedError"},
		} {
			if e.options != nil && c != "boto3" {
				continue // others have no such mode
			}
			all = append(all, scenario{name: e.name, contract: "ecs-run-task", client: c, expected: e.expected, slow: true,
				run: func(st *stage) (string, error) {
					st.gate.meet(e.at, e.act, e.n)
					if e.at == bench.Committed && e.n == 0 {
						st.gate.meet(bench.BeforeResponse, e.act) // replays are lost too
					}
					s := runTask()
					s.options = e.options
					return st.tell(s)
				}})
		}
		all = append(all, scenario{name: "what marks attempts", contract: "ecs-run-task", client: c, slow: true,
			expected: "amz-sdk-invocation-id: 1 value; amz-sdk-request: attempt=1; max=3, attempt=2; max=3, attempt=3; max=3",
			run: func(st *stage) (string, error) {
				st.gate.meet(bench.Received, lost)
				if _, err := st.play(runTask()); err != nil {
					return "", err
				}
				ids, attempts := map[string]bool{}, []string{}
				for _, r := range st.tap.requests() {
					ids[r.header.Get("Amz-Sdk-Invocation-Id")] = true
					attempts = append(attempts, regexp.MustCompile(`ttl=[^;]*; `).ReplaceAllString(r.header.Get("Amz-Sdk-Request"), ""))
				}
				return fmt.Sprintf("amz-sdk-invocation-id: %s; amz-sdk-request: %s", plural(len(ids), "value"), strings.Join(attempts, ", ")), nil
			}})
	}
	return all
}

// throttled is how each SDK names an exception that ECS's model does not have.
var throttled = map[string]string{"boto3": "ClientError 429 ThrottlingException", "aws-sdk-go-v2": "ThrottlingException 429", "@aws-sdk/client-ecs": "ThrottlingException 429"}

// edgeError is how each SDK names an answer that is not JSON.
func edgeError(client string, status int) string {
	switch client {
	case "boto3":
		return fmt.Sprintf("ClientError %d %d", status, status)
	case "aws-sdk-go-v2":
		return fmt.Sprintf("*smithy.OperationError %d", status)
	}
	return fmt.Sprintf("SyntaxError %d", status)
}

// ecsLookUps are what a caller can find out by startedBy.
func ecsLookUps() []scenario {
	var all []scenario
	for _, c := range awsSDKs {
		add := func(name, expected string, run func(*stage) (string, error)) {
			all = append(all, scenario{name: name, contract: "ecs-run-task", client: c, expected: expected, run: run})
		}
		found := func(after time.Duration, args ...any) func(*stage) (string, error) {
			return func(st *stage) (string, error) {
				r, err := st.succeed(runTask("startedBy", "report-7"))
				if err != nil {
					return "", err
				}
				st.clock.pass(after)
				l, err := st.play(ecsStep("ListTasks", args...))
				if err != nil || l.Error != nil {
					return l.String(), err
				}
				if l.at("taskArns", 0) == r.at("tasks", 0, "taskArn") {
					return "found", nil
				}
				return "not found", nil
			}
		}
		add("listed by startedBy at once", "not found", found(0, "startedBy", "report-7"))
		add("listed by startedBy after 5 min", "found", found(5*time.Minute, "startedBy", "report-7"))
		add("listed by startedBy and family", "InvalidParameterException 400", found(5*time.Minute, "startedBy", "report-7", "family", "nightly-report"))
		add("listed by startedBy after 30 days", "found", found(30*24*time.Hour, "startedBy", "report-7"))
		add("described", "RUNNING, and MISSING for one that is not there; no clientToken in the answer", func(st *stage) (string, error) {
			r, err := st.succeed(runTask("clientToken", "t1"))
			if err != nil {
				return "", err
			}
			st.clock.pass(5 * time.Minute)
			d, err := st.succeed(ecsStep("DescribeTasks", "tasks", []any{r.at("tasks", 0, "taskArn"), "0123456789abcdef0123456789abcdef"}))
			if err != nil {
				return "", err
			}
			words := fmt.Sprintf("%v, and %v for one that is not there", d.at("tasks", 0, "lastStatus"), d.at("failures", 0, "reason"))
			if d.at("tasks", 0, "clientToken") == nil {
				words += "; no clientToken in the answer"
			}
			return words, nil
		})
	}
	return append(all,
		scenario{name: "the waiter tasks_running", contract: "ecs-run-task", client: "boto3", expected: "ok", run: func(st *stage) (string, error) {
			r, err := st.succeed(runTask())
			if err != nil {
				return "", err
			}
			st.clock.pass(5 * time.Minute)
			w := ecsStep("DescribeTasks", "tasks", []any{r.at("tasks", 0, "taskArn")})
			w.options = with{"waiter": "tasks_running"}
			waited, err := st.play(w)
			return waited.String(), err
		}},
		scenario{name: "a list of 5 by pages of 2", contract: "ecs-run-task", client: "boto3", expected: "5 in 3 requests", run: func(st *stage) (string, error) {
			if _, err := st.succeed(runTask("count", 5)); err != nil {
				return "", err
			}
			st.clock.pass(5 * time.Minute)
			l := ecsStep("ListTasks", "PaginationConfig", map[string]any{"PageSize": 2})
			l.options = with{"pages": true}
			all, err := st.succeed(l)
			if err != nil {
				return "", err
			}
			arns, _ := all.at("taskArns").([]any)
			return fmt.Sprintf("%d in %d requests", len(arns), len(st.gate.seen())-1), nil
		}},
	)
}
