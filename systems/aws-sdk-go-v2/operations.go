package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	items "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/ebs"
	snapshots "github.com/aws/aws-sdk-go-v2/service/ebs/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	instances "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	tasks "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	queue "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sixthcopy/sixthcopy/systems/kit"
)

// operation makes a call by an operation of a client, with a token if there is one, and reads what it answered.
type operation func(ctx context.Context, s *service, c *kit.Call, token string) (kit.Claim, error)

var operations = map[string]operation{
	"run_task":         runTask,
	"create_service":   createService,
	"run_instances":    runInstances,
	"start_snapshot":   startSnapshot,
	"book_seats":       bookSeats,
	"add_points":       addPoints,
	"enqueue_message":  enqueueMessage,
	"enqueue_messages": enqueueMessages,
}

// given is a text, nil if it is empty.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// whole is an argument as a whole number, fallback if it is absent.
func whole(c *kit.Call, name string, fallback int64) (*int32, error) {
	n := fallback
	if c.Has(name) {
		var err error
		if n, err = c.Whole(name); err != nil {
			return nil, err
		}
	}
	return aws.Int32(int32(n)), nil
}

func (s *service) ecs() *ecs.Client {
	return keep(s, func() *ecs.Client {
		return ecs.New(ecs.Options{Region: region, BaseEndpoint: s.endpoint, Credentials: credentials, HTTPClient: s.http},
			func(o *ecs.Options) { o.Retryer = s.patient(o.Retryer) })
	})
}

func runTask(ctx context.Context, s *service, c *kit.Call, token string) (kit.Claim, error) {
	in := &ecs.RunTaskInput{TaskDefinition: given(c.Text("family")), Cluster: given(c.Text("cluster")), Group: given(c.Text("group")), ClientToken: given(token)}
	if c.Has("count") {
		n, err := whole(c, "count", 1)
		if err != nil {
			return kit.Claim{}, err
		}
		in.Count = n
	}
	if size := c.Text("size"); size != "" {
		in.Overrides = &tasks.TaskOverride{Cpu: &size}
	}
	out, err := s.ecs().RunTask(ctx, in)
	if err != nil {
		return kit.Claim{}, err
	}
	var ids []string
	for _, task := range out.Tasks {
		ids = append(ids, aws.ToString(task.TaskArn))
	}
	switch failures := len(out.Failures); {
	case failures > 0 && len(ids) > 0:
		return kit.Claim{Outcome: "partial", Receipts: ids, Detail: fmt.Sprintf("%d tasks could not be placed", failures)}, nil
	case failures > 0:
		return kit.Failed("no task could be placed"), nil
	}
	return named(ids), nil
}

// named is done with these ids; an answer that names nothing says nothing.
func named(ids []string) kit.Claim {
	if len(ids) == 0 || ids[0] == "" {
		return kit.Unknown("the answer names nothing that was made")
	}
	return kit.Done(ids...)
}

func createService(ctx context.Context, s *service, c *kit.Call, token string) (kit.Claim, error) {
	desired, err := whole(c, "desired", 1)
	if err != nil {
		return kit.Claim{}, err
	}
	out, err := s.ecs().CreateService(ctx, &ecs.CreateServiceInput{ServiceName: given(c.Text("name")), TaskDefinition: given(c.Text("family")),
		Cluster: given(c.Text("cluster")), DesiredCount: desired, ClientToken: given(token)})
	if err != nil {
		return kit.Claim{}, err
	}
	if out.Service == nil {
		return named(nil), nil
	}
	return named([]string{aws.ToString(out.Service.ServiceArn)}), nil
}

func runInstances(ctx context.Context, s *service, c *kit.Call, token string) (kit.Claim, error) {
	most, err := whole(c, "count", 1)
	if err != nil {
		return kit.Claim{}, err
	}
	least, err := whole(c, "minimum", int64(*most))
	if err != nil {
		return kit.Claim{}, err
	}
	in := &ec2.RunInstancesInput{ImageId: given(c.Text("image")), MaxCount: most, MinCount: least, InstanceType: instances.InstanceType(c.Text("type")), ClientToken: given(token)}
	if zone := c.Text("zone"); zone != "" {
		in.Placement = &instances.Placement{AvailabilityZone: &zone}
	}
	if name := c.Text("name"); name != "" {
		in.TagSpecifications = []instances.TagSpecification{{ResourceType: instances.ResourceTypeInstance, Tags: []instances.Tag{{Key: aws.String("Name"), Value: &name}}}}
	}
	client := keep(s, func() *ec2.Client {
		return ec2.New(ec2.Options{Region: region, BaseEndpoint: s.endpoint, Credentials: credentials, HTTPClient: s.http},
			func(o *ec2.Options) { o.Retryer = s.patient(o.Retryer) })
	})
	out, err := client.RunInstances(ctx, in)
	if err != nil {
		return kit.Claim{}, err
	}
	var ids []string
	for _, instance := range out.Instances {
		ids = append(ids, aws.ToString(instance.InstanceId))
	}
	if claim := named(ids); len(ids) == 0 || len(ids) >= int(*most) {
		return claim, nil
	}
	return kit.Claim{Outcome: "partial", Receipts: ids, Detail: fmt.Sprintf("%d instances of %d", len(ids), *most)}, nil
}

func startSnapshot(ctx context.Context, s *service, c *kit.Call, token string) (kit.Claim, error) {
	size, err := c.Whole("size")
	if err != nil {
		return kit.Claim{}, err
	}
	in := &ebs.StartSnapshotInput{VolumeSize: &size, Description: given(c.Text("description")), ParentSnapshotId: given(c.Text("parent")), ClientToken: given(token)}
	if reference := c.Text("reference"); reference != "" {
		in.Tags = []snapshots.Tag{{Key: aws.String("reference"), Value: &reference}}
	}
	client := keep(s, func() *ebs.Client {
		return ebs.New(ebs.Options{Region: region, BaseEndpoint: s.endpoint, Credentials: credentials, HTTPClient: s.http},
			func(o *ebs.Options) { o.Retryer = s.patient(o.Retryer) })
	})
	out, err := client.StartSnapshot(ctx, in)
	if err != nil {
		return kit.Claim{}, err
	}
	return named([]string{aws.ToString(out.SnapshotId)}), nil
}

func text(s string) items.AttributeValue { return &items.AttributeValueMemberS{Value: s} }

func bookSeats(ctx context.Context, s *service, c *kit.Call, token string) (kit.Claim, error) {
	var writes []items.TransactWriteItem
	for _, seat := range c.Texts("seat") {
		item := map[string]items.AttributeValue{"flight": text(c.Text("flight")), "seat": text(seat), "guest": text(c.Text("guest"))}
		if note := c.Text("note"); note != "" {
			item["note"] = text(note)
		}
		writes = append(writes, items.TransactWriteItem{Put: &items.Put{TableName: aws.String("seats"), Item: item,
			ConditionExpression: aws.String("attribute_not_exists(seat)")}})
	}
	return transact(ctx, s, writes, token)
}

func addPoints(ctx context.Context, s *service, c *kit.Call, token string) (kit.Claim, error) {
	points, err := c.Whole("points")
	if err != nil {
		return kit.Claim{}, err
	}
	var writes []items.TransactWriteItem
	for _, account := range c.Texts("account") {
		change := &items.Update{TableName: aws.String("accounts"), Key: map[string]items.AttributeValue{"account": text(account)},
			UpdateExpression:          aws.String("ADD points :points"),
			ExpressionAttributeValues: map[string]items.AttributeValue{":points": &items.AttributeValueMemberN{Value: strconv.FormatInt(points, 10)}}}
		if reason := c.Text("reason"); reason != "" {
			change.UpdateExpression = aws.String("ADD points :points SET reason = :reason")
			change.ExpressionAttributeValues[":reason"] = text(reason)
		}
		writes = append(writes, items.TransactWriteItem{Update: change})
	}
	return transact(ctx, s, writes, token)
}

// transact writes all or nothing. The answer names nothing, so there are no receipts.
func transact(ctx context.Context, s *service, writes []items.TransactWriteItem, token string) (kit.Claim, error) {
	client := keep(s, func() *dynamodb.Client {
		return dynamodb.New(dynamodb.Options{Region: region, BaseEndpoint: s.endpoint, Credentials: credentials, HTTPClient: s.http},
			func(o *dynamodb.Options) { o.Retryer = s.patient(o.Retryer) })
	})
	if _, err := client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes, ClientRequestToken: given(token)}); err != nil {
		return kit.Claim{}, err
	}
	return kit.Done(), nil
}

func (s *service) sqs() *sqs.Client {
	return keep(s, func() *sqs.Client {
		return sqs.New(sqs.Options{Region: region, BaseEndpoint: s.endpoint, Credentials: credentials, HTTPClient: s.http},
			func(o *sqs.Options) { o.Retryer = s.patient(o.Retryer) })
	})
}

// queueURL names a queue as the service does; the SDK sends to its endpoint.
func queueURL(c *kit.Call) *string {
	return aws.String("https://sqs." + region + ".amazonaws.com/123456789012/" + c.Text("queue"))
}

func enqueueMessage(ctx context.Context, s *service, c *kit.Call, token string) (kit.Claim, error) {
	out, err := s.sqs().SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: queueURL(c), MessageBody: given(c.Text("body")),
		MessageGroupId: given(c.Text("group")), MessageDeduplicationId: given(token)})
	if err != nil {
		return kit.Claim{}, err
	}
	return named([]string{aws.ToString(out.MessageId)}), nil
}

func enqueueMessages(ctx context.Context, s *service, c *kit.Call, token string) (kit.Claim, error) {
	in := &sqs.SendMessageBatchInput{QueueUrl: queueURL(c)}
	for i, body := range c.Texts("body") {
		entry := queue.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i + 1)), MessageBody: &body, MessageGroupId: given(c.Text("group"))}
		if token != "" {
			entry.MessageDeduplicationId = aws.String(fmt.Sprintf("%s/%d", token, i+1))
		}
		in.Entries = append(in.Entries, entry)
	}
	out, err := s.sqs().SendMessageBatch(ctx, in)
	if err != nil {
		return kit.Claim{}, err
	}
	var ids, reasons []string
	for _, sent := range out.Successful {
		ids = append(ids, aws.ToString(sent.MessageId))
	}
	for _, failure := range out.Failed {
		reasons = append(reasons, aws.ToString(failure.Code))
	}
	switch {
	case len(reasons) > 0 && len(ids) > 0:
		return kit.Claim{Outcome: "partial", Receipts: ids, Detail: "not accepted: " + strings.Join(reasons, ", ")}, nil
	case len(reasons) > 0:
		return kit.Failed("no message was accepted: " + strings.Join(reasons, ", ")), nil
	}
	return named(ids), nil
}
