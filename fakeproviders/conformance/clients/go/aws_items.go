package main

import (
	"context"
	"encoding/json"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func sqsClient(c call) *sqs.Client {
	return sqs.New(sqs.Options{Region: "us-east-1", BaseEndpoint: &c.Base, Credentials: credentials})
}

func dynamoClient(c call) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{Region: "us-east-1", BaseEndpoint: &c.Base, Credentials: credentials})
}

// values reads attribute values that are texts or numbers: the SDK has a type for each.
type values map[string]types.AttributeValue

func (v *values) UnmarshalJSON(b []byte) error {
	var plain map[string]struct{ S, N *string }
	if err := json.Unmarshal(b, &plain); err != nil {
		return err
	}
	*v = values{}
	for name, p := range plain {
		if p.S != nil {
			(*v)[name] = &types.AttributeValueMemberS{Value: *p.S}
		} else if p.N != nil {
			(*v)[name] = &types.AttributeValueMemberN{Value: *p.N}
		}
	}
	return nil
}

// transactWriteItems takes puts and updates.
func transactWriteItems(c call) (any, error) {
	var in struct {
		ClientRequestToken     *string
		ReturnConsumedCapacity types.ReturnConsumedCapacity
		TransactItems          []struct {
			Put *struct {
				TableName, ConditionExpression      *string
				Item                                values
				ReturnValuesOnConditionCheckFailure types.ReturnValuesOnConditionCheckFailure
			}
			Update *struct {
				TableName, UpdateExpression    *string
				Key, ExpressionAttributeValues values
			}
		}
	}
	if err := json.Unmarshal(c.Args, &in); err != nil {
		return nil, err
	}
	out := &dynamodb.TransactWriteItemsInput{ClientRequestToken: in.ClientRequestToken, ReturnConsumedCapacity: in.ReturnConsumedCapacity}
	for _, w := range in.TransactItems {
		var item types.TransactWriteItem
		if p := w.Put; p != nil {
			item.Put = &types.Put{TableName: p.TableName, ConditionExpression: p.ConditionExpression, Item: p.Item,
				ReturnValuesOnConditionCheckFailure: p.ReturnValuesOnConditionCheckFailure}
		}
		if u := w.Update; u != nil {
			item.Update = &types.Update{TableName: u.TableName, UpdateExpression: u.UpdateExpression, Key: u.Key,
				ExpressionAttributeValues: u.ExpressionAttributeValues}
		}
		out.TransactItems = append(out.TransactItems, item)
	}
	return keep(c, func() *dynamodb.Client { return dynamoClient(c) }).TransactWriteItems(context.Background(), out)
}
