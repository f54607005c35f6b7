package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// EC2's, EBS's and ECS's service rules: docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html,
// /ebs/latest/userguide/ebs-direct-api-idempotency.html, /AmazonECS/latest/APIReference/API_CreateService.html.

func ec2Scenarios() []scenario { return slices.Concat(ec2Tokens(), ebsTokens(), ecsServices()) }

// runInstances launches what the arguments say beside an image and one instance.
func runInstances(args ...any) step {
	s := step{op: "ec2.RunInstances", args: map[string]any{"ImageId": "ami-0123456789abcdef0", "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1}}
	for i := 0; i < len(args); i += 2 {
		s.args[args[i].(string)] = args[i+1]
	}
	return s
}

func ec2Tokens() []scenario {
	var all []scenario
	add := func(contract, name, expected string, run func(*stage) (string, error)) {
		all = append(all, scenario{name: name, contract: contract, client: "boto3", expected: expected, run: run})
	}
	id := []any{"Instances", 0, "InstanceId"}
	token, other := runInstances("ClientToken", "t1"), runInstances("ClientToken", "t1", "InstanceType", "t3.large")
	zone := func(z string) step {
		return runInstances("ClientToken", "t1", "Placement", map[string]any{"AvailabilityZone": "us-east-1" + z})
	}
	const ec2 = "ec2-run-instances"
	add(ec2, "same token, same parameters", "ok, the same object, 1 effect", twice(token, token, nil, id...))
	add(ec2, "same token, other parameters", "ClientError 400 IdempotentParameterMismatch, 1 effect", twice(token, other, nil, id...))
	add(ec2+"-silent", "same token, other parameters", "ok, the same object, 1 effect", twice(token, other, nil, id...))
	add(ec2, "same token in another zone", "ok, another object, 2 effects", twice(zone("a"), zone("b"), nil, id...))
	add(ec2, "the caller gives no token, twice", "ok, another object, 2 effects; tokens that the SDK made, UUIDs", func(st *stage) (string, error) {
		seen, err := twice(runInstances(), runInstances(), nil, id...)(st)
		return seen + "; " + madeTokens(st), err
	})
	add(ec2, "same token after 29 days", "ok, the same object, 1 effect", twice(token, token, pass(29*24*time.Hour), id...))
	add(ec2, "same token after 31 days", "ok, another object, 2 effects", twice(token, token, pass(31*24*time.Hour), id...))
	terminated := func(after time.Duration) func(*stage) error {
		return func(st *stage) error {
			made, err := st.effects()
			if err != nil {
				return err
			}
			st.clock.pass(5 * time.Minute)
			_, err = st.must("ec2.TerminateInstances", map[string]any{"InstanceIds": []any{made[0].ID}})
			st.clock.pass(after)
			return err
		}
	}
	add(ec2, "same token 1 h after the instance was terminated (an effect too)", "ClientError 400 IdempotentInstanceTerminated, 2 effects",
		twice(token, token, terminated(time.Hour), id...))
	add(ec2, "same token 25 h after the instance was terminated (an effect too)", "ok, another object, 3 effects", twice(token, token, terminated(25*time.Hour), id...))
	add(ec2, "the first is in work", "ClientError 400 ResourceInUse; the first: ok, 1 effect", func(st *stage) (string, error) { return st.second(token, token) })
	found := func(after time.Duration) func(*stage) (string, error) {
		return func(st *stage) (string, error) {
			made, err := st.succeed(token)
			if err != nil {
				return "", err
			}
			st.clock.pass(after)
			d, err := st.must("ec2.DescribeInstances", map[string]any{"Filters": []any{map[string]any{"Name": "client-token", "Values": []any{"t1"}}}})
			if err != nil {
				return "", err
			}
			if d.at("Reservations", 0, "Instances", 0, "InstanceId") != made.at(id...) {
				return "not found", nil
			}
			return fmt.Sprintf("found, clientToken %v", d.at("Reservations", 0, "Instances", 0, "ClientToken")), nil
		}
	}
	add(ec2, "described by client-token at once", "not found", found(0))
	add(ec2, "described by client-token after 5 min", "found, clientToken t1", found(5*time.Minute))
	room := func(least int) func(*stage) (string, error) {
		return func(st *stage) (string, error) { return st.tell(runInstances("MinCount", least, "MaxCount", 3)) }
	}
	add(ec2+"-full", "2 to 3 instances where 2 have room", "1 send under 1 key, 2 effects, ok", room(2))
	all = append(all, scenario{name: "3 instances where 2 have room", contract: ec2 + "-full", client: "boto3", slow: true,
		expected: "3 sends under 1 key, 0 effects, ClientError 500 InsufficientInstanceCapacity", run: room(3)},
		scenario{name: "no answer comes back", contract: ec2, client: "boto3", slow: true,
			expected: "3 sends under 1 key, 1 effect, ConnectionClosedError", run: func(st *stage) (string, error) {
				st.gate.meet(bench.Committed, bench.Action{Act: bench.Close})
				st.gate.meet(bench.BeforeResponse, bench.Action{Act: bench.Close})
				return st.tell(runInstances())
			}})
	return all
}

func ebsTokens() []scenario {
	var all []scenario
	add := func(name, expected string, run func(*stage) (string, error)) {
		all = append(all, scenario{name: name, contract: "ebs-start-snapshot", client: "boto3", expected: expected, run: run})
	}
	snapshot := func(size int, token string) step {
		s := step{op: "ebs.StartSnapshot", args: map[string]any{"VolumeSize": size}}
		if token != "" {
			s.args["ClientToken"] = token
		}
		return s
	}
	token, id := snapshot(8, "t1"), "SnapshotId"
	add("same token, same parameters", "ok, the same object, 1 effect", twice(token, token, nil, id))
	add("same token, other parameters", "ConflictException 409, 1 effect", twice(token, snapshot(16, "t1"), nil, id))
	add("the caller gives no token, twice", "ok, another object, 2 effects; tokens that the SDK made, UUIDs", func(st *stage) (string, error) {
		seen, err := twice(snapshot(8, ""), snapshot(8, ""), nil, id)(st)
		return seen + "; " + madeTokens(st), err
	})
	add("same token after 23 h 59 min", "ok, the same object, 1 effect", twice(token, token, pass(24*time.Hour-time.Minute), id))
	add("same token after 24 h 1 min", "ok, another object, 2 effects", twice(token, token, pass(24*time.Hour+time.Minute), id))
	add("a token of 256 characters", "ValidationException 400; then ok, 1 effect", twice(snapshot(8, strings.Repeat("t", 256)), token, nil, id))
	return all
}

// ecsServices are the promises of CreateService, whose token no SDK makes, and RunTask where there is not room for all.
func ecsServices() []scenario {
	var all []scenario
	service := func(args ...any) step {
		return ecsStep("CreateService", append([]any{"serviceName", "web", "taskDefinition", "web:1", "desiredCount", 2}, args...)...)
	}
	arn := []any{"service", "serviceArn"}
	for _, c := range awsSDKs {
		add := func(contract, name, expected string, run func(*stage) (string, error)) {
			all = append(all, scenario{name: name, contract: contract, client: c, expected: expected, run: run})
		}
		add("ecs-create-service", "the caller gives no token", "1 send, 1 effect, ok", func(st *stage) (string, error) { return st.tell(service()) })
		add("ecs-create-service", "same token, same parameters", "ok, the same object, 1 effect",
			twice(service("clientToken", "t1"), service("clientToken", "t1"), nil, arn...))
		add("ecs-create-service", "no token, a name that is taken", "InvalidParameterException 400, 1 effect", twice(service(), service("desiredCount", 3), nil, arn...))
		add("ecs-run-task-full", "3 tasks where 2 have room, then a retry", "2 tasks and 1 failure, RESOURCE:MEMORY; the same again; 2 effects", func(st *stage) (string, error) {
			three := runTask("count", 3, "clientToken", "t1")
			a, err := st.succeed(three)
			if err != nil {
				return "", err
			}
			b, err := st.succeed(three)
			if err != nil {
				return "", err
			}
			tasks, _ := a.at("tasks").([]any)
			failures, _ := a.at("failures").([]any)
			words := fmt.Sprintf("%s and %s, %v; ", plural(len(tasks), "task"), plural(len(failures), "failure"), a.at("failures", 0, "reason"))
			if same(a, b, "tasks", 1, "taskArn") == "the same" && same(a, b, "failures") == "the same" && b.at("tasks", 2) == nil {
				words += "the same again; "
			}
			made, err := st.effects()
			return words + plural(len(made), "effect"), err
		})
	}
	return all
}
