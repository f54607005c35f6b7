package tools

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
)

// Each mutating call: what it looks like on the provider's wire with a key, what it is in business
// terms, and what its answers mean. The shapes are those of docs/providers.md.
func TestMutations(t *testing.T) {
	arn := "arn:aws:ecs:us-east-1:123456789012:task/default/0123"
	const target = "AmazonEC2ContainerServiceV20141113.RunTask"
	cases := []struct {
		tool     string
		args     string
		wire     seen
		attrs    map[string]any
		units    int
		status   int
		answer   string
		receipts []string
	}{
		{"refund_order", `{"order":"order_4821","amount":"2500.00","reason":"charged twice"}`,
			seen{"POST", "/v1/refunds", "amount=2500&metadata%5Breason%5D=charged+twice&payment_intent=order_4821", "k", ""},
			map[string]any{"order": "order_4821", "amount": int64(2500), "reason": "charged twice"}, 1,
			200, `{"id":"re_1","object":"refund"}`, []string{"re_1"}},
		{"refund_order", `{"order":"order_4821","amount":2500.0,"reason":""}`,
			seen{"POST", "/v1/refunds", "amount=2500&payment_intent=order_4821", "k", ""},
			map[string]any{"order": "order_4821", "amount": int64(2500)}, 1, 200, `{"id":"re_1"}`, []string{"re_1"}},
		{"charge_order", `{"order":"o","amount":1,"currency":"usd","description":"D"}`,
			seen{"POST", "/v1/charges", "amount=1&currency=usd&description=D&metadata%5Border%5D=o", "k", ""},
			map[string]any{"order": "o", "amount": int64(1), "currency": "usd", "description": "D"}, 1, 200, `{"id":"ch_1"}`, []string{"ch_1"}},
		{"create_payout", `{"amount":"2500.00","currency":"usd","description":"week 31","account":"acct_1"}`,
			seen{"POST", "/v1/payouts", "amount=2500&currency=usd&description=week+31", "k", ""},
			map[string]any{"account": "acct_1", "amount": int64(2500), "currency": "usd", "description": "week 31"}, 1, 200, `{"id":"po_1"}`, []string{"po_1"}},
		{"send_payout", `{"recipient":"acct_2","amount":7,"currency":"usd"}`,
			seen{"POST", "/v2/money_management/outbound_payments", `{"amount":{"currency":"usd","value":7},"from":{"currency":"usd","financial_account":"fa_sixthcopy"},"to":{"recipient":"acct_2"}}`, "k", ""},
			map[string]any{"recipient": "acct_2", "amount": int64(7), "currency": "usd"}, 1, 200, `{"id":"obp_1"}`, []string{"obp_1"}},
		{"create_transfer", `{"amount":7,"currency":"usd","destination":"acct_2"}`,
			seen{"POST", "/v1/transfers", "amount=7&currency=usd&destination=acct_2", "k", ""},
			map[string]any{"amount": int64(7), "currency": "usd", "destination": "acct_2"}, 1, 200, `{"id":"tr_1"}`, []string{"tr_1"}},
		{"run_task", `{"family":"f","cluster":"c","size":256,"group":"g","count":"2.0","reference":"r"}`,
			seen{"POST", "/", `{"clientToken":"k","cluster":"c","count":2,"group":"g","overrides":{"cpu":"256"},"startedBy":"r","taskDefinition":"f"}`, "", target},
			map[string]any{"family": "f", "cluster": "c", "size": "256", "group": "g"}, 2,
			200, `{"tasks":[{"taskArn":"` + arn + `1"},{"taskArn":"` + arn + `2"}],"failures":[]}`, []string{arn + "1", arn + "2"}},
		{"create_service", `{"name":"n","family":"f","cluster":"c","desired":"2.0"}`,
			seen{"POST", "/", `{"clientToken":"k","cluster":"c","desiredCount":2,"serviceName":"n","taskDefinition":"f"}`, "", "AmazonEC2ContainerServiceV20141113.CreateService"},
			map[string]any{"name": "n", "family": "f", "cluster": "c", "desired": int64(2)}, 1,
			200, `{"service":{"serviceArn":"` + arn + `"}}`, []string{arn}},
		{"run_instances", `{"image":"ami-1","type":"t3.small","zone":"us-east-1b","name":"n","count":"2.0","minimum":1,"reference":"r"}`,
			seen{"POST", "/", "Action=RunInstances&ClientToken=k&ImageId=ami-1&InstanceType=t3.small&MaxCount=2&MinCount=1&Placement.AvailabilityZone=us-east-1b" +
				"&TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Key=Name&TagSpecification.1.Tag.1.Value=n" +
				"&TagSpecification.1.Tag.2.Key=reference&TagSpecification.1.Tag.2.Value=r&Version=2016-11-15", "", ""},
			map[string]any{"image": "ami-1", "type": "t3.small", "zone": "us-east-1b", "name": "n"}, 2,
			200, `<RunInstancesResponse><instancesSet><item><instanceId>i-1</instanceId></item><item><instanceId>i-2</instanceId></item></instancesSet></RunInstancesResponse>`,
			[]string{"i-1", "i-2"}},
		{"start_snapshot", `{"size":"100.0","description":"d","parent":"snap-0","reference":"r"}`,
			seen{"POST", "/snapshots", `{"ClientToken":"k","Description":"d","ParentSnapshotId":"snap-0","Tags":[{"Key":"reference","Value":"r"}],"VolumeSize":100}`, "", ""},
			map[string]any{"size": int64(100), "description": "d", "parent": "snap-0"}, 1, 201, `{"SnapshotId":"snap-1"}`, []string{"snap-1"}},
		{"run_task", `{"family":"f"}`, seen{"POST", "/", `{"clientToken":"k","taskDefinition":"f"}`, "", target},
			map[string]any{"family": "f"}, 1, 200, `{"tasks":[{"taskArn":"` + arn + `"}]}`, []string{arn}},
		{"create_ticket", `{"title":"T","queue":"q","priority":2,"body":"b","reference":"r"}`,
			seen{"POST", "/tickets", `{"body":"b","priority":2,"queue":"q","reference":"r","title":"T"}`, "k", ""},
			map[string]any{"title": "T", "queue": "q", "priority": 2.0, "body": "b", "reference": "r"}, 1, 201, `{"id":"tk_1"}`, []string{"tk_1"}},
		{"send_message", `{"to":"a@x","subject":"S"}`, seen{"POST", "/messages", `{"subject":"S","to":"a@x"}`, "k", ""},
			map[string]any{"to": "a@x", "subject": "S"}, 1, 202, `{"id":"msg_1"}`, []string{"msg_1"}},
		{"append_line", `{"document":"a/b c","text":"x"}`, seen{"POST", "/documents/a%2Fb%20c/lines", `{"text":"x"}`, "k", ""},
			map[string]any{"document": "a/b c", "text": "x"}, 1, 201, `{"id":"ln_1"}`, []string{"ln_1"}},
		{"put_file", `{"path":"d/a b.txt","content":"x"}`, seen{"PUT", "/files/d/a%20b.txt", `{"content":"x"}`, "k", ""},
			map[string]any{"path": "d/a b.txt", "content": "x"}, 1, 200, `{"id":"d/a b.txt@1"}`, []string{"d/a b.txt@1"}},
		{"delete_newest", `{"prefix":"d/"}`, seen{"DELETE", "/files?newest_under=d%2F", "", "k", ""},
			map[string]any{}, 1, 200, `{"id":"del_1"}`, []string{"del_1"}},
		{"insert_row", `{"table":"t","key":"m","value":5}`, seen{"POST", "/tables/t/rows", `{"key":"m","value":5}`, "k", ""},
			map[string]any{"table": "t", "key": "m", "value": 5.0}, 1, 201, `{"id":"rw_1"}`, []string{"rw_1"}},
		{"create_event", `{"event_id":"plan2026","calendar":"team@example.com","summary":"S","start":"2026-01-12T09:00:00Z","end":"2026-01-12T10:00:00Z","location":"L"}`,
			seen{"POST", "/calendar/v3/calendars/team@example.com/events", `{"end":{"dateTime":"2026-01-12T10:00:00Z"},"id":"plan2026","location":"L","start":{"dateTime":"2026-01-12T09:00:00Z"},"summary":"S"}`, "", ""},
			map[string]any{"event_id": "plan2026", "calendar": "team@example.com", "summary": "S", "start": "2026-01-12T09:00:00Z", "end": "2026-01-12T10:00:00Z", "location": "L"}, 1,
			200, `{"id":"plan2026","organizer":{"email":"team@example.com","self":true}}`, []string{"team@example.com/plan2026"}},
		{"book_appointment", `{"calendar":"primary","summary":"S","start":"2026-01-12T09:00:00Z","end":"2026-01-12T10:00:00Z","reference":"r"}`,
			seen{"POST", "/calendar/v3/calendars/primary/events", `{"end":{"dateTime":"2026-01-12T10:00:00Z"},"extendedProperties":{"private":{"reference":"r"}},"start":{"dateTime":"2026-01-12T09:00:00Z"},"summary":"S"}`, "", ""},
			map[string]any{"calendar": "primary", "summary": "S", "start": "2026-01-12T09:00:00Z", "end": "2026-01-12T10:00:00Z"}, 1,
			200, `{"id":"abcde","organizer":{"email":"user@example.com","self":true}}`, []string{"user@example.com/abcde"}},
		{"create_job", `{"name":"report","namespace":"ops","image":"busybox","command":"echo hi"}`,
			seen{"POST", "/apis/batch/v1/namespaces/ops/jobs", `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"report"},"spec":{"template":{"spec":{"containers":[{"command":["/bin/sh","-c","echo hi"],"image":"busybox","name":"main"}],"restartPolicy":"Never"}}}}`, "", ""},
			map[string]any{"name": "report", "namespace": "ops", "image": "busybox", "command": "echo hi"}, 1,
			201, `{"metadata":{"uid":"u","resourceVersion":"7"}}`, []string{"u@7"}},
		{"start_job", `{"generate_name":"report-","namespace":"ops","image":"busybox","reference":"r"}`,
			seen{"POST", "/apis/batch/v1/namespaces/ops/jobs", `{"apiVersion":"batch/v1","kind":"Job","metadata":{"generateName":"report-","labels":{"reference":"r"}},"spec":{"template":{"spec":{"containers":[{"image":"busybox","name":"main"}],"restartPolicy":"Never"}}}}`, "", ""},
			map[string]any{"generate_name": "report-", "namespace": "ops", "image": "busybox"}, 1,
			201, `{"metadata":{"uid":"u","resourceVersion":"7"}}`, []string{"u@7"}},
		{"apply_config", `{"namespace":"ops","name":"web","data":"b=2\na=1\n"}`,
			seen{"PATCH", "/api/v1/namespaces/ops/configmaps/web?fieldManager=settings", `{"apiVersion":"v1","data":{"a":"1","b":"2"},"kind":"ConfigMap","metadata":{"name":"web"}}`, "", ""},
			map[string]any{"namespace": "ops", "name": "web", "data": "a=1\nb=2"}, 1,
			201, `{"metadata":{"uid":"u","resourceVersion":"7"}}`, []string{"u@7"}},
		{"place_order", `{"customer":"c","item":"i","quantity":"3.0","note":"n","region":"eu"}`,
			seen{"POST", "/orders", `{"customer":"c","item":"i","note":"n","quantity":3,"region":"eu"}`, "k", ""},
			map[string]any{"customer": "c", "item": "i", "quantity": int64(3), "note": "n", "region": "eu"}, 1, 201, `{"id":"or_1"}`, []string{"or_1"}},
		{"pay_order", `{"order":"o","amount":"2500.00","currency":"EUR"}`, seen{"POST", "/payments", `{"amount":2500,"currency":"EUR","order":"o"}`, "k", ""},
			map[string]any{"order": "o", "amount": int64(2500), "currency": "EUR"}, 1, 201, `{"id":"py_1"}`, []string{"py_1"}},
		{"pay_under_reference", `{"order":"o","amount":1,"reference":"r"}`, seen{"POST", "/payments", `{"amount":1,"order":"o"}`, "r", ""},
			map[string]any{"order": "o", "amount": int64(1)}, 1, 201, `{"id":"py_1"}`, []string{"py_1"}},
		{"pay_under_reference", `{"order":"o","amount":1}`, seen{"POST", "/payments", `{"amount":1,"order":"o"}`, "k", ""},
			map[string]any{"order": "o", "amount": int64(1)}, 1, 201, `{"id":"py_1"}`, []string{"py_1"}},
		{"enqueue_message", `{"queue":"q.fifo","body":"b","group":"g"}`,
			seen{"POST", "/", `{"MessageBody":"b","MessageDeduplicationId":"k","MessageGroupId":"g","QueueUrl":"https://sqs.us-east-1.amazonaws.com/123456789012/q.fifo"}`, "", "AmazonSQS.SendMessage"},
			map[string]any{"queue": "q.fifo", "body": "b", "group": "g"}, 1, 200, `{"MessageId":"m1","MD5OfMessageBody":"x"}`, []string{"m1"}},
		{"enqueue_messages", `{"queue":"q.fifo","body":["b","c"],"group":"g"}`,
			seen{"POST", "/", `{"Entries":[{"Id":"1","MessageBody":"b","MessageDeduplicationId":"k/1","MessageGroupId":"g"},{"Id":"2","MessageBody":"c","MessageDeduplicationId":"k/2","MessageGroupId":"g"}],` +
				`"QueueUrl":"https://sqs.us-east-1.amazonaws.com/123456789012/q.fifo"}`, "", "AmazonSQS.SendMessageBatch"},
			map[string]any{"queue": "q.fifo", "body": "b", "group": "g"}, 2, 200, `{"Successful":[{"Id":"1","MessageId":"m1"},{"Id":"2","MessageId":"m2"}],"Failed":[]}`, []string{"m1", "m2"}},
		{"book_seats", `{"flight":"f","seat":["1A","1B"],"guest":"g","note":"n"}`,
			seen{"POST", "/", `{"ClientRequestToken":"k","TransactItems":[` + seatPut("1A") + `,` + seatPut("1B") + `]}`, "", "DynamoDB_20120810.TransactWriteItems"},
			map[string]any{"flight": "f", "seat": "1A", "guest": "g", "note": "n"}, 2, 200, `{}`, nil},
		{"add_points", `{"account":"a","points":"5.0","reason":"r"}`,
			seen{"POST", "/", `{"ClientRequestToken":"k","TransactItems":[{"Update":{"ExpressionAttributeValues":{":points":{"N":"5"},":reason":{"S":"r"}},"Key":{"account":{"S":"a"}},` +
				`"TableName":"accounts","UpdateExpression":"ADD points :points SET reason = :reason"}}]}`, "", "DynamoDB_20120810.TransactWriteItems"},
			map[string]any{"account": "a", "points": int64(5), "reason": "r"}, 1, 200, `{}`, nil},
		{"create_issue", `{"repository":"Octo/Widgets","title":"T","body":"B","labels":"bug,loud","reference":"r"}`,
			seen{"POST", "/repos/Octo/Widgets/issues", `{"body":"B\n\n\u003c!-- reference: r --\u003e","labels":["bug","loud"],"title":"T"}`, "", ""},
			map[string]any{"repository": "octo/widgets", "title": "T", "body": "B", "labels": "bug,loud"}, 1, 201, `{"id":1987654321}`, []string{"1987654321"}},
		{"comment_issue", `{"repository":"octo/widgets","issue":"7.0","body":"B"}`, seen{"POST", "/repos/octo/widgets/issues/7/comments", `{"body":"B"}`, "", ""},
			map[string]any{"repository": "octo/widgets", "issue": int64(7), "body": "B"}, 1, 201, `{"id":2}`, []string{"2"}},
		{"open_pull_request", `{"repository":"octo/widgets","head":"fix","base":"main","title":"T"}`,
			seen{"POST", "/repos/octo/widgets/pulls", `{"base":"main","head":"fix","title":"T"}`, "", ""},
			map[string]any{"repository": "octo/widgets", "head": "fix", "base": "main", "title": "T"}, 1, 201, `{"id":3,"number":1}`, []string{"3"}},
		{"create_release", `{"repository":"octo/widgets","tag":"v1","name":"N","body":"B"}`,
			seen{"POST", "/repos/octo/widgets/releases", `{"body":"B","name":"N","tag_name":"v1"}`, "", ""},
			map[string]any{"repository": "octo/widgets", "tag": "v1", "name": "N", "body": "B"}, 1, 201, `{"id":4}`, []string{"4"}},
		{"draft_release", `{"repository":"octo/widgets","tag":"v1","reference":"r"}`,
			seen{"POST", "/repos/octo/widgets/releases", `{"body":"\u003c!-- reference: r --\u003e","draft":true,"tag_name":"v1"}`, "", ""},
			map[string]any{"repository": "octo/widgets", "tag": "v1"}, 1, 201, `{"id":5}`, []string{"5"}},
		{"create_deployment", `{"repository":"octo/widgets","ref":"v1","environment":"e","reference":"r"}`,
			seen{"POST", "/repos/octo/widgets/deployments", `{"auto_merge":false,"environment":"e","payload":{"reference":"r"},"ref":"v1","required_contexts":[]}`, "", ""},
			map[string]any{"repository": "octo/widgets", "ref": "v1", "environment": "e"}, 1, 201, `{"id":6}`, []string{"6"}},
		{"post_message", `{"channel":"#deploys","text":"T","thread":"1.000001","reference":"r"}`,
			seen{"POST", "/api/chat.postMessage", `{"channel":"#deploys","client_msg_id":"k","metadata":{"event_payload":{"reference":"r"},"event_type":"sixthcopy"},"text":"T","thread_ts":"1.000001"}`, "", ""},
			map[string]any{"channel": "deploys", "text": "T", "thread": "1.000001"}, 1, 200, `{"ok":true,"channel":"C0DEPLOYS","ts":"2.000001"}`, []string{"2.000001"}},
	}
	covered := map[string]bool{}
	pool := newTestPool(t)
	for _, c := range cases {
		t.Run(c.tool, func(t *testing.T) {
			covered[c.tool] = true
			tool := ByName(c.tool)
			p := newProvider(t, func(_ int, _ seen, w http.ResponseWriter, _ *http.Request) { answerJSON(w, c.status, c.answer) })
			s := raise(t, pool, bench.ToolServerConfig{ProviderKind: tool.Provider(), Provider: p.address,
				Tools: map[string]bench.ToolUse{c.tool: {Key: bench.KeyArgument, Errors: bench.ErrorsTyped}}})
			defer s.Release()
			var args map[string]any
			if err := json.Unmarshal([]byte(c.args), &args); err != nil {
				t.Fatal(err)
			}
			args[keyArgument] = "k"
			if _, a := post(t, s, c.tool, args, "", ""); a.Status != Done || !slices.Equal(a.Receipts, c.receipts) {
				t.Errorf("answer %+v, expected receipts %v", a, c.receipts)
			}
			if got := p.requests(); len(got) != 1 || got[0] != c.wire {
				t.Errorf("wire\n%+v, expected\n%+v", got, c.wire)
			}
			call := tool.Parse(args)
			if !reflect.DeepEqual(call.Attrs, c.attrs) || max(len(call.Units), 1) != c.units || call.Key != "k" || !call.Mutating {
				t.Errorf("parsed %+v, expected attributes %v in %d units", call, c.attrs, c.units)
			}
		})
	}
	for _, tool := range All {
		if !tool.ReadOnly() && !covered[tool.Name()] {
			t.Errorf("no case for %s", tool.Name())
		}
	}
}

// seatPut is the write of one seat as book_seats sends it.
func seatPut(seat string) string {
	return `{"Put":{"ConditionExpression":"attribute_not_exists(seat)","Item":{"flight":{"S":"f"},"guest":{"S":"g"},"note":{"S":"n"},"seat":{"S":"` + seat +
		`"}},"ReturnValuesOnConditionCheckFailure":"ALL_OLD","TableName":"seats"}}`
}

func TestReads(t *testing.T) {
	none := []map[string]any{}
	cases := []struct {
		tool, args, path, answer string
		found                    []map[string]any
	}{
		{"list_refunds", `{"order":"o"}`, "/v1/refunds?limit=100&payment_intent=o",
			`{"object":"list","data":[
				{"id":"re_2","amount":7,"payment_intent":"o","charge":null,"reason":"duplicate","metadata":{}},
				{"id":"re_1","amount":2500,"payment_intent":"o","charge":null,"reason":null,"metadata":{"reason":"late"}}]}`,
			[]map[string]any{{"id": "re_1", "amount": 2500.0, "order": "o", "reason": "late"}, {"id": "re_2", "amount": 7.0, "order": "o", "reason": "duplicate"}}},
		{"list_charges", `{"order":"o"}`, "/v1/charges?limit=100&payment_intent=o",
			`{"data":[{"id":"ch_1","amount":5,"currency":"usd","description":null,"payment_intent":"o","metadata":{"order":"o"}}]}`,
			[]map[string]any{{"id": "ch_1", "amount": 5.0, "order": "o", "currency": "usd"}}},
		{"list_payouts", `{"account":"acct_1"}`, "/v1/payouts?limit=100",
			`{"data":[{"id":"po_1","amount":5,"currency":"usd","description":"week 31","metadata":{}}]}`,
			[]map[string]any{{"id": "po_1", "amount": 5.0, "currency": "usd", "description": "week 31"}}},
		{"list_sent_payouts", `{"recipient":"acct_2"}`, "/v2/money_management/outbound_payments?limit=100&recipient=acct_2",
			`{"data":[{"id":"obp_1","amount":{"value":5,"currency":"usd"},"to":{"recipient":"acct_2"},"description":null}],"next_page_url":null}`,
			[]map[string]any{{"id": "obp_1", "amount": 5.0, "currency": "usd", "recipient": "acct_2"}}},
		{"list_transfers", `{"destination":"acct_2"}`, "/v1/transfers?destination=acct_2&limit=100",
			`{"data":[{"id":"tr_1","amount":5,"currency":"usd","destination":"acct_2","description":null,"metadata":{}}]}`,
			[]map[string]any{{"id": "tr_1", "amount": 5.0, "currency": "usd", "destination": "acct_2"}}},
		{"find_ticket", `{"reference":"r/1"}`, "/tickets?reference=r%2F1", `{"tickets":[{"id":"tk_1","title":"T","queue":null,"reference":"r/1"}]}`,
			[]map[string]any{{"id": "tk_1", "title": "T", "reference": "r/1"}}},
		{"find_ticket", `{"reference":"r"}`, "/tickets?reference=r", `{"tickets":[]}`, none},
		{"read_document", `{"document":"d"}`, "/documents/d", `{"document":"d","lines":[{"id":"ln_1","document":"d","text":"x","position":1}]}`,
			[]map[string]any{{"id": "ln_1", "document": "d", "text": "x", "position": 1.0}}},
		{"list_files", `{"prefix":"p"}`, "/files?prefix=p", `{"files":[{"id":"p@1","path":"p","version":1}]}`,
			[]map[string]any{{"id": "p@1", "path": "p", "version": 1.0}}},
		{"find_row", `{"table":"t","key":"k"}`, "/tables/t/rows?key=k", `{"rows":[{"id":"rw_1","table":"t","key":"k","value":5}]}`,
			[]map[string]any{{"id": "rw_1", "table": "t", "key": "k", "value": 5.0}}},
		{"find_event", `{"calendar":"team@example.com","event_id":"plan2026"}`, "/calendar/v3/calendars/team@example.com/events/plan2026",
			`{"id":"plan2026","status":"confirmed","summary":"S","start":{"dateTime":"2026-01-12T09:00:00Z"},"organizer":{"email":"team@example.com","self":true},"creator":{"email":"user@example.com"}}`,
			[]map[string]any{{"id": "team@example.com/plan2026", "event_id": "plan2026", "calendar": "team@example.com", "summary": "S", "start": "2026-01-12T09:00:00Z"}}},
		{"find_event", `{"calendar":"c","event_id":"plan2026"}`, "/calendar/v3/calendars/c/events/plan2026", `{"id":"plan2026","status":"cancelled"}`, none},
		{"find_appointment", `{"calendar":"c","reference":"r"}`, "/calendar/v3/calendars/c/events?maxResults=2500&privateExtendedProperty=reference%3Dr", `{"items":[]}`, none},
		{"find_job", `{"namespace":"ops","name":"report"}`, "/apis/batch/v1/namespaces/ops/jobs/report",
			`{"metadata":{"uid":"u","resourceVersion":"7","namespace":"ops","name":"report"},"spec":{"template":{"spec":{"containers":[{"image":"busybox","command":["/bin/sh","-c","echo hi"]}]}}}}`,
			[]map[string]any{{"id": "u@7", "namespace": "ops", "name": "report", "image": "busybox", "command": "echo hi"}}},
		{"list_jobs", `{"namespace":"ops","reference":"r"}`, "/apis/batch/v1/namespaces/ops/jobs?labelSelector=reference%3Dr",
			`{"items":[{"metadata":{"uid":"u","resourceVersion":"7","namespace":"ops","name":"report-x","generateName":"report-"}}]}`,
			[]map[string]any{{"id": "u@7", "namespace": "ops", "name": "report-x", "generate_name": "report-"}}},
		{"read_config", `{"namespace":"ops","name":"web"}`, "/api/v1/namespaces/ops/configmaps/web",
			`{"metadata":{"uid":"u","resourceVersion":"8","namespace":"ops","name":"web"},"data":{"b":"2","a":"1"}}`,
			[]map[string]any{{"id": "u@8", "namespace": "ops", "name": "web", "data": "a=1\nb=2"}}},
		{"list_orders", `{"customer":"c d"}`, "/orders?customer=c+d", `{"orders":[{"id":"or_1","customer":"c d","item":"i","quantity":null,"status":"accepted"}]}`,
			[]map[string]any{{"id": "or_1", "customer": "c d", "item": "i", "status": "accepted"}}},
		{"list_payments", `{"order":"o"}`, "/payments?order=o", `{"payments":[{"id":"py_1","order":"o","amount":5}]}`,
			[]map[string]any{{"id": "py_1", "order": "o", "amount": 5.0}}},
		{"find_payment", `{"reference":"r/1"}`, "/payments?idempotency_key=r%2F1", `{"payments":[]}`, none},
		{"find_issue", `{"repository":"octo/widgets","reference":"r"}`, "/repos/octo/widgets/issues?per_page=100&state=all",
			`[{"id":2,"url":"http://x/repos/octo/widgets/issues/2","title":"T2","labels":[],"body":"<!-- reference: other -->"},
			{"id":1,"url":"http://x/repos/octo/widgets/issues/1","title":"T","labels":[{"name":"a"},{"name":"b"}],"body":"B\n\n<!-- reference: r -->"}]`,
			[]map[string]any{{"id": "1", "repository": "octo/widgets", "title": "T", "labels": "a,b", "body": "B", "reference": "r"}}},
		{"find_comment", `{"repository":"octo/widgets","issue":7}`, "/repos/octo/widgets/issues/7/comments?per_page=100",
			`[{"id":3,"url":"http://x/repos/octo/widgets/issues/comments/3","issue_url":"http://x/repos/octo/widgets/issues/7","body":"/retest"}]`,
			[]map[string]any{{"id": "3", "repository": "octo/widgets", "issue": 7.0, "body": "/retest"}}},
		{"find_pull_request", `{"repository":"octo/widgets","head":"fix","base":"main"}`, "/repos/octo/widgets/pulls?base=main&head=octo%3Afix&per_page=100&state=open",
			`[{"id":4,"url":"http://x/repos/octo/widgets/pulls/4","title":"T","head":{"ref":"fix"},"base":{"ref":"main"},"body":null}]`,
			[]map[string]any{{"id": "4", "repository": "octo/widgets", "title": "T", "head": "fix", "base": "main"}}},
		{"find_release", `{"repository":"octo/widgets","tag":"v1"}`, "/repos/octo/widgets/releases?per_page=100",
			`[{"id":7,"url":"http://x/repos/octo/widgets/releases/7","tag_name":"v1","draft":true},{"id":6,"url":"http://x/repos/octo/widgets/releases/6","tag_name":"v2"},
			{"id":5,"url":"http://x/repos/octo/widgets/releases/5","tag_name":"v1","name":"N","draft":false}]`,
			[]map[string]any{{"id": "5", "repository": "octo/widgets", "tag": "v1", "name": "N"}}},
		{"find_draft", `{"repository":"octo/widgets"}`, "/repos/octo/widgets/releases?per_page=100",
			`[{"id":7,"url":"http://x/repos/octo/widgets/releases/7","tag_name":"v1","draft":true},{"id":6,"url":"http://x/repos/octo/widgets/releases/6","tag_name":"v1"}]`,
			[]map[string]any{{"id": "7", "repository": "octo/widgets", "tag": "v1", "draft": true}}},
		{"find_deployment", `{"repository":"octo/widgets","reference":"r"}`, "/repos/octo/widgets/deployments?per_page=100",
			`[{"id":9,"url":"http://x/repos/octo/widgets/deployments/9","ref":"v1","payload":{"reference":"r"},"environment":"e"},{"id":8,"url":"x","ref":"v1","payload":"r"}]`,
			[]map[string]any{{"id": "9", "repository": "octo/widgets", "ref": "v1", "environment": "e", "reference": "r"}}},
		{"read_channel", `{"channel":"C0A","reference":"r"}`, "/api/conversations.history?channel=C0A&include_all_metadata=true&limit=100",
			`{"ok":true,"messages":[{"ts":"2.000002","text":"U"},{"ts":"1.000001","text":"T","thread_ts":"0.000001","metadata":{"event_payload":{"reference":"r"}}}]}`,
			[]map[string]any{{"id": "1.000001", "text": "T", "thread": "0.000001", "reference": "r"}}},
	}
	pool := newTestPool(t)
	for _, c := range cases {
		t.Run(c.tool, func(t *testing.T) {
			tool := ByName(c.tool)
			p := newProvider(t, func(_ int, _ seen, w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, c.answer) })
			// A key use on a read does nothing.
			s := raise(t, pool, bench.ToolServerConfig{ProviderKind: tool.Provider(), Provider: p.address,
				Tools: map[string]bench.ToolUse{c.tool: {Key: bench.KeyMinted, Errors: bench.ErrorsTyped}}})
			defer s.Release()
			var args map[string]any
			if err := json.Unmarshal([]byte(c.args), &args); err != nil {
				t.Fatal(err)
			}
			_, a := post(t, s, c.tool, args, "", "")
			if a.Status != Done || a.Found == nil || !reflect.DeepEqual(a.Found, c.found) {
				t.Errorf("answer %+v, expected %v", a, c.found)
			}
			if got := p.requests(); len(got) != 1 || got[0] != (seen{"GET", c.path, "", "", ""}) {
				t.Errorf("wire %+v, expected GET %s", got, c.path)
			}
			if call := tool.Parse(args); call.Mutating || call.Class != "" || call.Attrs != nil {
				t.Errorf("a read parsed as %+v", call)
			}
		})
	}
}

// The list of tasks takes two requests: names first, then what they are.
func TestListTasks(t *testing.T) {
	arn := "arn:aws:ecs:us-east-1:123456789012:task/c/01"
	for _, known := range []bool{true, false} {
		p := newProvider(t, func(n int, s seen, w http.ResponseWriter, _ *http.Request) {
			switch {
			case n == 1 && known:
				answerJSON(w, 200, `{"taskArns":["`+arn+`"]}`)
			case n == 1:
				answerJSON(w, 200, `{"taskArns":[]}`)
			default:
				answerJSON(w, 200, `{"tasks":[{"taskArn":"`+arn+`","clusterArn":"arn:aws:ecs:us-east-1:123456789012:cluster/c","taskDefinitionArn":"arn:aws:ecs:us-east-1:123456789012:task-definition/f:1",`+
					`"group":"g","startedBy":"r","overrides":{"cpu":"256"}}],"failures":[]}`)
			}
		})
		s := raise(t, newTestPool(t), bench.ToolServerConfig{ProviderKind: "tasks", Provider: p.address,
			Tools: map[string]bench.ToolUse{"list_tasks": {Errors: bench.ErrorsTyped}}})
		_, a := post(t, s, "list_tasks", map[string]any{"reference": "r"}, "", "")
		const target = "AmazonEC2ContainerServiceV20141113."
		wire := []seen{{"POST", "/", `{"startedBy":"r"}`, "", target + "ListTasks"}}
		found := []map[string]any{}
		if known {
			wire = append(wire, seen{"POST", "/", `{"tasks":["` + arn + `"]}`, "", target + "DescribeTasks"})
			found = []map[string]any{{"id": arn, "family": "f", "cluster": "c", "group": "g", "reference": "r", "size": 256.0}}
		}
		if a.Status != Done || !reflect.DeepEqual(a.Found, found) {
			t.Errorf("answer %+v, expected %v", a, found)
		}
		if got := p.requests(); !slices.Equal(got, wire) {
			t.Errorf("wire %+v, expected %+v", got, wire)
		}
	}
}

func ec2Refusal(code string) string {
	return "<Response><Errors><Error><Code>" + code + "</Code><Message>m</Message></Error></Errors><RequestID>r</RequestID></Response>"
}

// Refusals in the words of each provider.
func TestProviderErrors(t *testing.T) {
	for _, c := range []struct {
		tool     string
		status   int
		answer   string
		want     Status
		receipts []string
	}{
		{"refund_order", 400, `{"error":{"type":"idempotency_error","message":"m"}}`, Conflict, nil},
		{"refund_order", 400, `{"error":{"type":"invalid_request_error","code":"parameter_missing","message":"m"}}`, Refused, nil},
		{"refund_order", 404, `{"error":{"type":"invalid_request_error","code":"resource_missing"}}`, Refused, nil},
		{"refund_order", 409, `{"error":{"type":"idempotency_error","code":"idempotency_key_in_use"}}`, Conflict, nil},
		{"refund_order", 500, `{"error":{"type":"api_error"}}`, Unknown, nil},
		{"refund_order", 200, `{"object":"refund"}`, Unknown, nil},
		{"run_task", 400, `{"__type":"ConflictException","message":"m","resourceIds":["arn:1"]}`, Conflict, []string{"arn:1"}},
		{"run_task", 400, `{"__type":"ConflictException","message":"m","resourceIds":[]}`, Conflict, nil},
		{"run_task", 400, `{"__type":"InvalidParameterException","message":"m"}`, Refused, nil},
		{"run_task", 500, `{"__type":"ServerException"}`, Unknown, nil},
		{"run_task", 200, `{"tasks":[],"failures":[{"reason":"RESOURCE:CPU"}]}`, Refused, nil},
		{"run_task", 200, `{"tasks":[{"taskArn":"arn:1"}],"failures":[{"reason":"RESOURCE:CPU"}]}`, Partial, []string{"arn:1"}},
		{"create_service", 400, `{"__type":"InvalidParameterException","message":"Creation of service was not idempotent."}`, Conflict, nil},
		{"create_service", 400, `{"__type":"InvalidParameterException","message":"m"}`, Refused, nil},
		{"create_service", 200, `{"service":{}}`, Unknown, nil},
		{"run_instances", 400, ec2Refusal("IdempotentParameterMismatch"), Conflict, nil},
		{"run_instances", 400, ec2Refusal("IdempotentInstanceTerminated"), Conflict, nil},
		{"run_instances", 400, ec2Refusal("InvalidParameterValue"), Refused, nil},
		{"run_instances", 500, ec2Refusal("InsufficientInstanceCapacity"), Refused, nil},
		{"run_instances", 500, ec2Refusal("InternalError"), Unknown, nil},
		{"run_instances", 503, ec2Refusal("RequestLimitExceeded"), Unknown, nil},
		{"run_instances", 429, ec2Refusal("RequestLimitExceeded"), Unknown, nil},
		{"run_instances", 400, `<html>`, Unknown, nil},
		{"run_instances", 200, `<RunInstancesResponse/>`, Unknown, nil},
		{"start_snapshot", 409, `{"__type":"ConflictException","Message":"m"}`, Conflict, nil},
		{"start_snapshot", 400, `{"__type":"ValidationException","Message":"m"}`, Refused, nil},
		{"start_snapshot", 500, `{"__type":"InternalServerException"}`, Unknown, nil},
		{"run_task", 200, `{}`, Unknown, nil},
		{"insert_row", 409, `{"error":{"code":"already_exists","message":"m"},"existing":"rw_1"}`, Conflict, []string{"rw_1"}},
		{"delete_newest", 404, `{"error":{"code":"not_found"}}`, Refused, nil},
		{"pay_order", 409, `{"error":{"code":"idempotent_creation_conflict"},"existing":"py_1"}`, Done, []string{"py_1"}},
		{"pay_order", 409, `{"error":{"code":"idempotent_creation_conflict"}}`, Unknown, nil},
		{"pay_order", 409, `{"error":{"code":"idempotency_conflict"},"existing":"py_1"}`, Conflict, []string{"py_1"}},
		{"pay_order", 422, `{"error":{"code":"idempotency_key_reused"}}`, Conflict, nil},
		{"pay_order", 422, `{"error":{"code":"idempotency_key_other_endpoint"}}`, Conflict, nil},
		{"pay_order", 400, `{"error":{"code":"idempotency_key_missing"}}`, Refused, nil},
		{"pay_order", 409, `{"error":{"code":"idempotency_key_in_use"}}`, Conflict, nil},
		{"put_file", 408, `{"error":{"code":"time-out of an edge"}}`, Unknown, nil},
	} {
		got := ByName(c.tool).read(response{status: c.status, body: []byte(c.answer)})
		if got.status != c.want || !slices.Equal(got.receipts, c.receipts) {
			t.Errorf("%s, %d %s: %+v, expected %s %v", c.tool, c.status, c.answer, got, c.want, c.receipts)
		}
	}
}

// The catalogue is whole: every tool has what the server and the harness need of it.
func TestCatalogue(t *testing.T) {
	known := map[string]bool{}
	for _, tool := range All {
		if known[tool.name] {
			t.Errorf("%s is there twice", tool.name)
		}
		known[tool.name] = true
		if tool.about == "" || tool.provider == "" || tool.plan == nil || tool.read == nil {
			t.Errorf("%s lacks a description, provider, plan or read", tool.name)
		}
		if tool.readOnly != (tool.class == "") || tool.readOnly != (tool.effects == nil) {
			t.Errorf("%s: only a tool that is not read-only has a class and effects", tool.name)
		}
		for _, a := range tool.args {
			if a.about == "" {
				t.Errorf("%s: argument %s has no description", tool.name, a.name)
			}
		}
		lookUp, argument := tool.LookUp()
		if lookUp == "" {
			continue
		}
		finder := ByName(lookUp)
		if finder == nil || !finder.readOnly {
			t.Errorf("%s: its look-up %q is no read-only tool of the catalogue", tool.name, lookUp)
			continue
		}
		if argument != "" && (!slices.Contains(tool.Arguments(bench.ToolUse{}), argument) || !slices.Contains(finder.Arguments(bench.ToolUse{}), argument)) {
			t.Errorf("%s and %s do not both take %s", tool.name, lookUp, argument)
		}
	}
	if len(Catalogue()) != len(All) {
		t.Errorf("Catalogue has %d tools, All %d", len(Catalogue()), len(All))
	}
}

func TestWhole(t *testing.T) {
	for _, c := range []struct {
		in   any
		want int64
		ok   bool
	}{
		{2500, 2500, true}, {2500.0, 2500, true}, {"2500.00", 2500, true}, {" 2500 ", 2500, true}, {int64(7), 7, true},
		{json.Number("2500.0"), 2500, true}, {25.5, 0, false}, {"25.50", 0, false}, {"ten", 0, false}, {nil, 0, false},
		{true, 0, false}, {1e300, 0, false}, {"Inf", 0, false}, {"NaN", 0, false},
	} {
		if got, ok := whole(c.in); got != c.want || ok != c.ok {
			t.Errorf("whole(%v) = %d, %t, expected %d, %t", c.in, got, ok, c.want, c.ok)
		}
	}
}
