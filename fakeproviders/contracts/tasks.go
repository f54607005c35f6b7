package contracts

import (
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

const (
	ecsSource = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/ECS_Idempotency.html and " +
		"https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html (eventual consistency)"
	ecsServiceSource = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html, " +
		"https://docs.aws.amazon.com/AmazonECS/latest/APIReference/ECS_Idempotency.html and, for the refusal, " +
		"https://github.com/hashicorp/terraform-provider-aws/issues/2283"
)

// tasks are the contracts of ECS. Not documented, and therefore chosen here: what answers a token in work
// (ecs-run-task: a conflict, ecs-run-task-waits: it waits), and how long CreateService keeps its token (24 h
// from the first request, as RunTask at most).
func tasks() []bench.Contract {
	startedBy := bench.LookUpTerms{Kind: "bounded", By: "identity", Lag: 5 * time.Minute}
	names := map[string][]string{"service": {"cluster", "name"}}
	ecs := bench.Terms{
		Key: bench.KeyTerms{
			Location: "body:clientToken", MaxLength: 64, Scope: "account+cluster",
			Retention: 24 * time.Hour, ClockStart: "resource-end", AfterEnd: time.Hour,
			Fingerprint: "params", Mismatch: "conflict", Concurrent: "conflict",
			Saves: "success", Replay: "current",
		},
		LookUp: startedBy,
		Unique: names,
	}
	waits := ecs
	waits.Key.Concurrent = "wait"
	full := ecs
	full.Capacity = 2
	short := ecs
	short.Closes = 30 * time.Minute
	short.LookUp.Kind = "lags" // the list of running tasks: one that has ended is not on it
	service := ecs
	service.Key.MaxLength, service.Key.ClockStart, service.Key.AfterEnd = 36, "first-seen", 0
	service.LookUp.By = "attributes"
	return []bench.Contract{
		honest("ecs-run-task", "tasks", "A token per cluster, kept until 1 h after its last task stopped and for 24 h at most; success only; found by startedBy within 5 min. The answer to a token in work is not documented: here a conflict.", ecsSource, ecs),
		honest("ecs-run-task-waits", "tasks", "As ecs-run-task, but a token in work makes the second call wait.", ecsSource, waits),
		honest("ecs-run-task-short", "tasks", "As ecs-run-task, with tasks that end by themselves after 30 min: the token is kept for 90 min, and a list of running tasks shows them no more.", ecsSource, short),
		honest("ecs-run-task-full", "tasks", "As ecs-run-task, with room for two tasks of a call: the others fail, and a retry answers the same mixture.", ecsSource, full),
		honest("ecs-create-service", "tasks", "A name is unique in its cluster, whatever the token; a token per cluster, of which no lifetime is documented: here 24 h.", ecsServiceSource, service),
		honest("ecs-no-token", "tasks", "A resource without a token and without a look-up.", "planted", bench.Terms{}),
		honest("ecs-started-by", "tasks", "No token; found by startedBy within 5 min; a call commits within 15 min or not at all.", "planted",
			bench.Terms{LookUp: startedBy, CommitsWithin: within(15 * time.Minute)}),
	}
}
