package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ebs"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// aws is the AWS SDK for Go v2. An operation is a service and an operation of its API, "ecs.RunTask", with
// the API's own arguments.
func aws(c call) answer {
	run := awsOps[c.Op]
	if run == nil {
		return wrong(fmt.Errorf("operation %s is not known", c.Op))
	}
	out, err := run(c)
	if err == nil {
		return answer{OK: out}
	}
	f := &failure{Type: fmt.Sprintf("%T", err), Message: err.Error()}
	var api smithy.APIError
	if errors.As(err, &api) {
		f.Type, f.Code, f.Message, f.More = api.ErrorCode(), api.ErrorCode(), api.ErrorMessage(), api
	}
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) {
		f.Status = response.HTTPStatusCode()
	}
	return answer{Error: f}
}

var awsOps = map[string]func(call) (any, error){
	"ebs.StartSnapshot":    awsOp(ebsClient, (*ebs.Client).StartSnapshot),
	"ecs.CreateService":    awsOp(ecsClient, (*ecs.Client).CreateService),
	"ecs.DescribeServices": awsOp(ecsClient, (*ecs.Client).DescribeServices),
	"ecs.DescribeTasks":    awsOp(ecsClient, (*ecs.Client).DescribeTasks),
	"ecs.ListTasks":        awsOp(ecsClient, (*ecs.Client).ListTasks),
	"ecs.RunTask":          awsOp(ecsClient, (*ecs.Client).RunTask),
	"ecs.StopTask":         awsOp(ecsClient, (*ecs.Client).StopTask),

	"dynamodb.TransactWriteItems": transactWriteItems,

	"sqs.CreateQueue":        awsOp(sqsClient, (*sqs.Client).CreateQueue),
	"sqs.DeleteMessage":      awsOp(sqsClient, (*sqs.Client).DeleteMessage),
	"sqs.GetQueueAttributes": awsOp(sqsClient, (*sqs.Client).GetQueueAttributes),
	"sqs.GetQueueUrl":        awsOp(sqsClient, (*sqs.Client).GetQueueUrl),
	"sqs.ReceiveMessage":     awsOp(sqsClient, (*sqs.Client).ReceiveMessage),
	"sqs.SendMessage":        awsOp(sqsClient, (*sqs.Client).SendMessage),
	"sqs.SendMessageBatch":   awsOp(sqsClient, (*sqs.Client).SendMessageBatch),
}

var credentials = sdk.CredentialsProviderFunc(func(context.Context) (sdk.Credentials, error) {
	return sdk.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret"}, nil
})

func ebsClient(c call) *ebs.Client {
	return ebs.New(ebs.Options{Region: "us-east-1", BaseEndpoint: &c.Base, Credentials: credentials})
}

func ecsClient(c call) *ecs.Client {
	return ecs.New(ecs.Options{Region: "us-east-1", BaseEndpoint: &c.Base, Credentials: credentials})
}

// awsOp fills an operation's input by the names of the API: taskDefinition is TaskDefinition.
func awsOp[C, I, O, P any](client func(call) C, op func(C, context.Context, *I, ...func(*P)) (*O, error)) func(call) (any, error) {
	return func(c call) (any, error) {
		in := new(I)
		if err := json.Unmarshal(c.Args, in); err != nil {
			return nil, err
		}
		return op(keep(c, func() C { return client(c) }), context.Background(), in)
	}
}
