package conformance

import (
	"fmt"

	"github.com/sixthcopy/sixthcopy/bench"
)

func task(more ...any) map[string]any {
	m := map[string]any{"taskDefinition": "nightly-report:3", "cluster": "main"}
	for i := 0; i < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	return m
}

func ecsScenarios() []scenario {
	var all []scenario
	for _, c := range []string{"boto3", "aws-sdk-go-v2", "@aws-sdk/client-ecs"} {
		all = append(all,
			scenario{name: "same token, same parameters", contract: "ecs-run-task", client: c,
				expected: "the same task ARN, 1 effect",
				run: func(st *stage) (string, error) {
					first, err := st.must("ecs.RunTask", task("clientToken", "t1"))
					if err != nil {
						return "", err
					}
					second, err := st.must("ecs.RunTask", task("clientToken", "t1"))
					if err != nil {
						return "", err
					}
					made, err := st.effects()
					return fmt.Sprintf("%s task ARN, %s", same(first, second, "tasks", 0, "taskArn"), plural(len(made), "effect")), err
				}},
			scenario{name: "every answer is lost", contract: "ecs-run-task", client: c, slow: true,
				expected: "3 sends under 1 key, 1 effect, " + map[string]string{"boto3": "ConnectionClosedError",
					"aws-sdk-go-v2": "*smithy.OperationError", "@aws-sdk/client-ecs": "TimeoutError ECONNRESET"}[c],
				run: func(st *stage) (string, error) {
					st.gate.meet(bench.Committed, bench.Action{Act: bench.Close})
					st.gate.meet(bench.BeforeResponse, bench.Action{Act: bench.Close})
					r, err := st.do("ecs.RunTask", task())
					if err != nil {
						return "", err
					}
					return st.account(r)
				}},
		)
	}
	return all
}
