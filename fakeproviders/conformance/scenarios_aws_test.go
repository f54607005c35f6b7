package conformance

import (
	"fmt"
	"time"
)

// What AWS's clients bring beside their operations, waiters, pages and regions, and what of the rules of ECS, EC2
// and EBS needs them: the life of what was made.

func awsScenarios() []scenario {
	var all []scenario
	add := func(contract, client, name, expected string, run func(*stage) (string, error)) {
		all = append(all, scenario{name: name, contract: contract, client: client, expected: expected, run: run})
	}
	arn, instance, snapshot := []any{"tasks", 0, "taskArn"}, []any{"Instances", 0, "InstanceId"}, "SnapshotId"

	for _, c := range awsSDKs {
		token := runTask("clientToken", "t1")
		add("ecs-run-task-short", c, "same token 89 min after a task of 30 min began", "ok, the same object, 1 effect", twice(token, token, pass(89*time.Minute), arn...))
		add("ecs-run-task-short", c, "same token 91 min after a task of 30 min began", "ok, another object, 2 effects", twice(token, token, pass(91*time.Minute), arn...))
		add("ecs-run-task-short", c, "a task that has ended", "not on the list; on the list of stopped ones; an hour later on none", func(st *stage) (string, error) {
			if _, err := st.succeed(runTask("startedBy", "report-7")); err != nil {
				return "", err
			}
			words := ""
			for _, look := range []struct {
				after  time.Duration
				status string
				words  [2]string
			}{
				{31 * time.Minute, "RUNNING", [2]string{"not on the list", "on the list"}},
				{0, "STOPPED", [2]string{"; not on the list of stopped ones", "; on the list of stopped ones"}},
				{time.Hour, "STOPPED", [2]string{"; an hour later on none", "; an hour later on the list of stopped ones"}},
			} {
				st.clock.pass(look.after)
				l, err := st.succeed(ecsStep("ListTasks", "startedBy", "report-7", "desiredStatus", look.status))
				if err != nil {
					return "", err
				}
				if words += look.words[0]; l.at("taskArns", 0) != nil {
					words = words[:len(words)-len(look.words[0])] + look.words[1]
				}
			}
			return words, nil
		})
	}

	wait := func(first, describe step, waiter string, between ...step) func(*stage) (string, error) {
		return func(st *stage) (string, error) {
			for _, s := range append([]step{first}, between...) {
				if _, err := st.succeed(s); err != nil {
					return "", err
				}
			}
			st.clock.pass(5 * time.Minute)
			describe.options = with{"waiter": waiter}
			waited, err := st.play(describe)
			return waited.String(), err
		}
	}
	add("ecs-create-service", "boto3", "the waiter services_stable", "ok",
		wait(ecsStep("CreateService", "serviceName", "web", "taskDefinition", "web:1", "desiredCount", 2),
			ecsStep("DescribeServices", "services", []any{"web"}), "services_stable"))

	filters := func(name string, values ...any) map[string]any {
		return map[string]any{"Filters": []any{map[string]any{"Name": name, "Values": values}}}
	}
	byToken := step{op: "ec2.DescribeInstances", args: filters("client-token", "t1")}
	launch := runInstances("ClientToken", "t1", "MaxCount", 2)
	add("ec2-run-instances", "boto3", "the waiter instance_running", "ok", wait(launch, byToken, "instance_running"))
	add("ec2-run-instances", "boto3", "the waiter instance_terminated", "ok", func(st *stage) (string, error) {
		made, err := st.succeed(launch)
		if err != nil {
			return "", err
		}
		ids := map[string]any{"InstanceIds": []any{made.at(instance...), made.at("Instances", 1, "InstanceId")}}
		if _, err := st.must("ec2.TerminateInstances", ids); err != nil {
			return "", err
		}
		st.clock.pass(5 * time.Minute)
		waited, err := st.do("ec2.DescribeInstances", ids, with{"waiter": "instance_terminated"})
		return waited.String(), err
	})
	add("ec2-run-instances", "boto3", "a list of 12 by pages of 5", "12 in 3 requests", func(st *stage) (string, error) {
		for range 12 {
			if _, err := st.succeed(runInstances()); err != nil {
				return "", err
			}
		}
		st.clock.pass(5 * time.Minute)
		l, err := st.must("ec2.DescribeInstances", map[string]any{"PaginationConfig": map[string]any{"PageSize": 5}}, with{"pages": true})
		if err != nil {
			return "", err
		}
		launches, _ := l.at("Reservations").([]any)
		return fmt.Sprintf("%d in %d requests", len(launches), len(st.gate.seen())-12), nil
	})
	zone := runInstances("ClientToken", "t1", "Placement", map[string]any{"AvailabilityZone": "us-east-1a"})
	region := runInstances("ClientToken", "t1")
	add("ec2-run-instances", "boto3", "same token, first with a zone, then with none", "ok, another object, 2 effects", twice(zone, region, nil, instance...))
	elsewhere := region
	elsewhere.options = with{"region": "eu-west-1"}
	add("ec2-run-instances", "boto3", "same token in another region", "ok, another object, 2 effects", twice(region, elsewhere, nil, instance...))

	start := func(size int) step {
		return step{op: "ebs.StartSnapshot", args: map[string]any{"VolumeSize": size, "ClientToken": "t1", "Tags": []any{map[string]any{"Key": "reference", "Value": "r1"}}}}
	}
	away := start(8)
	away.options = with{"region": "eu-west-1"}
	add("ebs-start-snapshot", "boto3", "same token in another region", "ok, another object, 2 effects", twice(start(8), away, nil, snapshot))
	add("ebs-start-snapshot", "aws-sdk-go-v2", "same token, same parameters", "ok, the same object, 1 effect", twice(start(8), start(8), nil, snapshot))
	add("ebs-start-snapshot", "aws-sdk-go-v2", "same token, other parameters", "ConflictException 409, 1 effect", twice(start(8), start(9), nil, snapshot))
	described := func(after time.Duration) func(*stage) (string, error) {
		return func(st *stage) (string, error) {
			made, err := st.succeed(start(8))
			if err != nil {
				return "", err
			}
			st.clock.pass(after)
			d, err := st.must("ec2.DescribeSnapshots", filters("tag:reference", "r1"))
			if err != nil || d.at("Snapshots", 0, snapshot) != made.at(snapshot) {
				return "not found", err
			}
			st.clock.pass(time.Hour)
			late, err := st.must("ec2.DescribeSnapshots", filters("tag:reference", "r1"))
			return fmt.Sprintf("found, %v; an hour later %v", d.at("Snapshots", 0, "State"), late.at("Snapshots", 0, "State")), err
		}
	}
	add("ebs-start-snapshot-described", "boto3", "described by its tag at once", "not found", described(0))
	add("ebs-start-snapshot-described", "boto3", "described by its tag after 5 min", "found, pending; an hour later error", described(5*time.Minute))
	add("ebs-start-snapshot-described", "boto3", "completed, and the waiter snapshot_completed", "ok", func(st *stage) (string, error) {
		made, err := st.succeed(start(8))
		if err != nil {
			return "", err
		}
		if _, err := st.must("ebs.CompleteSnapshot", map[string]any{"SnapshotId": made.at(snapshot), "ChangedBlocksCount": 0}); err != nil {
			return "", err
		}
		st.clock.pass(5 * time.Minute)
		waited, err := st.do("ec2.DescribeSnapshots", filters("tag:reference", "r1"), with{"waiter": "snapshot_completed"})
		return waited.String(), err
	})
	return all
}
