package fakeproviders

import (
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
)

// awsTargets are operations of the services whose operation is in a header.
var awsTargets = []string{"", "nonsense",
	ecsTarget, ecsTarget + "RunTask", ecsTarget + "ListTasks", ecsTarget + "DescribeTasks", ecsTarget + "StopTask", ecsTarget + "CreateService", ecsTarget + "DescribeServices",
	sqsTarget + "CreateQueue", sqsTarget + "GetQueueUrl", sqsTarget + "SendMessage", sqsTarget + "SendMessageBatch", sqsTarget + "ReceiveMessage", sqsTarget + "DeleteMessage", sqsTarget + "GetQueueAttributes",
	dynamoTarget + "TransactWriteItems", dynamoTarget + "CreateTable", dynamoTarget + "GetItem", dynamoTarget + "Query", dynamoTarget + "Scan", dynamoTarget + "DescribeTable"}

// awsBodies are bodies for them.
var awsBodies = []string{`{"QueueName":"q.fifo","Attributes":{"FifoQueue":"true"}}`, `{"QueueName":7,"Attributes":[1]}`, `{"QueueUrl":"http://x/1/q.fifo","MessageBody":"b","MessageGroupId":"g","MessageDeduplicationId":"d"}`,
	`{"QueueUrl":"://","MessageBody":["b"]}`, `{"QueueUrl":"q.fifo","Entries":[{"Id":"1","MessageBody":"b","MessageGroupId":"g","MessageDeduplicationId":"e"},7]}`,
	`{"QueueUrl":"q.fifo","Entries":[{"Id":"1","MessageBody":"b","MessageGroupId":"g","MessageDeduplicationId":"e"},{"Id":"2","MessageBody":null}]}`, `{"QueueUrl":"q.fifo","MaxNumberOfMessages":2,"ReceiptHandle":{}}`,
	`{"TableName":"seats","Key":{"flight":{"S":"f"},"seat":{"S":"s"}},"KeyConditionExpression":"flight=:f","ExpressionAttributeValues":{":f":{"S":"f"}}}`, `{"TableName":"seats","ExclusiveStartKey":{"flight":7}}`,
	`{"TableName":"seats","Key":[],"KeyConditionExpression":7,"ExpressionAttributeNames":[1]}`, `{"TransactItems":[{"Put":{"TableName":"seats","Item":{"flight":{"S":"f"},"seat":{"S":"s"},"x":{"L":[{"N":"z"}]}}}}],"ClientRequestToken":"k"}`,
	`{"TransactItems":[{"Update":{"TableName":"accounts","Key":{"account":{"S":"a"}},"UpdateExpression":"ADD n :n","ExpressionAttributeValues":{":n":{"N":"1"}}}}]}`,
	`{"TransactItems":[{"Delete":{"TableName":"accounts","Key":{"account":{"S":"a"}}}},null]}`, `{"TransactItems":{"Put":1},"ClientRequestToken":{}}`, `{"TableName":"new","KeySchema":[1,{"KeyType":"HASH","AttributeName":{}}]}`}

// TestRubbish sends requests put together from fragments: each is answered, none breaks the provider, and an
// effect has the attributes that the request was parsed to have.
func TestRubbish(t *testing.T) {
	fragments := []string{"v1", "refunds", "charges", "payment_intents", "tickets", "messages", "documents", "lines", "files", "tables", "rows",
		"repos", "o", "r", "issues", "1", "comments", "pulls", "releases", "deployments", "git", "api", "chat.postMessage", "chat.update", "conversations.history",
		"payouts", "transfers", "confirm", "cancel", "reversals", "v2", "money_management", "outbound_payments", "core", "event_destinations", "enable",
		"a", "", "..", "%2F", "%00", "x?newest_under=", "x?prefix=a", "?reference=r", "x?limit=-1", "snapshots", "completion"}
	bodies := []string{"amount=1&currency=eur&destination=acct_1&confirm=true&payment_method=pm_card_visa", "amount[a]=1&expand[]=charge&metadata=x",
		`{"from":{"financial_account":"fa","currency":"usd"},"to":{"recipient":"a"},"amount":{"value":1,"currency":"usd"}}`, `{"from":[1],"to":7,"amount":{"value":"x"}}`,
		`{"name":"n","type":"webhook_endpoint","event_payload":"thin","enabled_events":["a"],"webhook_endpoint":{"url":"u"}}`, "", "{}", "[]", "null", "amount=1&payment_intent=o", "amount=%zz", `{"title":"t"}`, `{"title":"t","priority":{"a":1}}`,
		`{"to":"a","subject":"s"}`, `{"text":"x"}`, `{"content":"x"}`, `{"content":""}`, `{"key":"k","value":1e999}`, `{"key":"k","value":[1,{"a":2}]}`,
		`{"title":"t","body":7,"labels":[1,{"name":2}],"state":"closed"}`, `{"tag_name":"v","ref":"refs/heads/a","sha":"s","head":"h","base":"b","title":"t","payload":[]}`,
		`{"channel":"C0A","text":"t","metadata":{"event_type":"e","event_payload":7},"client_msg_id":"m"}`, `{"channel":"C0A","ts":"1","limit":-1,"cursor":7}`,
		`{"taskDefinition":"f","count":3}`, `{"taskDefinition":"f","count":1.5}`, `{"taskDefinition":"f","overrides":7}`, `{"tasks":[1]}`, `{"clientToken":7}`,
		"{\"text\":\"\x00\xff\"}", "amount=99999999999999999999&charge=o",
		"Action=RunInstances&ImageId=a&MinCount=1&MaxCount=3&ClientToken=k", "Action=DescribeInstances&Filter.1.Name=tag:&Filter.1.Value.1=**", "Action=DescribeSnapshots",
		"Action=TerminateInstances&InstanceId.1=", "Action=%00", `{"VolumeSize":8,"ClientToken":"k"}`, `{"serviceName":"s","taskDefinition":"w","desiredCount":1,"services":["s"]}`}
	bodies = append(bodies, awsBodies...)
	for _, kind := range All {
		t.Run(kind.Name(), func(t *testing.T) {
			var names []string
			for _, c := range contracts.All {
				if c.Provider == kind.Name() {
					names = append(names, c.Name)
				}
			}
			rigs := map[string]*rig{}
			for _, n := range names {
				rigs[n] = up(t, n)
			}
			rapid.Check(t, func(rt *rapid.T) {
				r := rigs[rapid.SampledFrom(names).Draw(rt, "contract")]
				method := rapid.SampledFrom([]string{"GET", "POST", "PUT", "DELETE", "PATCH"}).Draw(rt, "method")
				path := "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 4).Draw(rt, "path"), "/")
				body := rapid.SampledFrom(bodies).Draw(rt, "body")
				header := []string{"X-Amz-Target", rapid.SampledFrom(awsTargets).Draw(rt, "target"),
					"Authorization", "Bearer xoxb-x", "Idempotency-Key", rapid.SampledFrom([]string{"k", "k2", ""}).Draw(rt, "key")}
				before := len(r.effects())
				got := r.send(method, path, body, header...)
				if got.err != nil || got.status >= 500 {
					rt.Fatalf("status %d %s (%v)", got.status, got.body, got.err)
				}
				if b := r.Busy(); strings.Contains(b, "broken") {
					rt.Fatal(b)
				}
				h := http.Header{}
				for i := 0; i < len(header); i += 2 {
					h.Set(header[i], header[i+1])
				}
				call := r.Parse(bench.RawRequest{Method: method, Path: path, Header: h, Body: []byte(body)})
				for _, o := range r.effects()[before:] {
					if o.Class != call.Class || !call.Mutating {
						rt.Fatalf("effect %+v of a request parsed as %+v", o, call)
					}
				}
			})
		})
	}
}
