package fakeproviders

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
)

func (r *rig) dynamo(op, body string) reply { return r.aws(dynamoTarget+op, body) }

// add sends a transaction that adds points to an account, under a token unless it is "".
func (r *rig) add(account string, points int, token string) reply {
	more := ""
	if token != "" {
		more = `,"ClientRequestToken":"` + token + `"`
	}
	return r.dynamo("TransactWriteItems", fmt.Sprintf(`{"ReturnConsumedCapacity":"TOTAL","TransactItems":[{"Update":{"TableName":"accounts","Key":{"account":{"S":%q}},`+
		`"UpdateExpression":"ADD points :p","ExpressionAttributeValues":{":p":{"N":"%d"}}}}]%s}`, account, points, more))
}

// balance reads an account.
func (r *rig) balance(account string) string {
	r.Helper()
	got := r.want(r.dynamo("GetItem", `{"TableName":"accounts","ConsistentRead":true,"Key":{"account":{"S":"`+account+`"}}}`), 200)
	item, _ := got.field("Item").(map[string]any)
	points, _ := item["points"].(map[string]any)
	return text(points, "N")
}

func TestTransactionsUnderAToken(t *testing.T) {
	r := up(t, "dynamodb-transact-write")
	if a := r.want(r.add("a", 250, "t"), 200); a.body != `{"ConsumedCapacity":[{"CapacityUnits":2,"TableName":"accounts","WriteCapacityUnits":2}]}` {
		t.Errorf("first: %s", a.body)
	}
	if b := r.want(r.add("a", 250, "t"), 200); b.body != `{"ConsumedCapacity":[{"CapacityUnits":2,"ReadCapacityUnits":2,"TableName":"accounts"}]}` || r.balance("a") != "250" {
		t.Errorf("again: %s, %s points", b.body, r.balance("a"))
	}
	if c := r.want(r.add("a", 300, "t"), 400); c.field("__type") != dynamoShape+"IdempotentParameterMismatchException" {
		t.Errorf("other parameters: %s", c.body)
	}
	if c := r.want(r.add("a", 300, strings.Repeat("t", 37)), 400); c.field("__type") != dynamoValidate {
		t.Errorf("a long token: %s", c.body)
	}
	r.clock.pass(10 * time.Minute)
	r.want(r.add("a", 250, "t"), 200)
	if r.balance("a") != "250" {
		t.Errorf("at 10 min: %s points", r.balance("a"))
	}
	r.clock.pass(1)
	r.want(r.add("a", 250, "t"), 200)
	if r.balance("a") != "500" {
		t.Errorf("past 10 min: %s points", r.balance("a"))
	}
	r.wantDedup(bench.DedupRecord{By: "provider", Request: "r2", Record: "accounts/a"}, bench.DedupRecord{By: "provider", Request: "r4", Record: "accounts/a"},
		bench.DedupRecord{By: "provider", Request: "r6", Record: "accounts/a"})
}

func TestTransactionInProgress(t *testing.T) {
	r := up(t, "dynamodb-transact-write")
	p := r.gate.park(bench.BeforeCommit, "r1")
	first := r.async(func() reply { return r.add("a", 250, "t") })
	<-p.arrived
	if got := r.want(r.add("a", 250, "t"), 400); got.field("__type") != dynamoShape+"TransactionInProgressException" {
		t.Errorf("in work: %s", got.body)
	}
	p.goOn <- pass()
	r.want(<-first, 200)
}

// TestIncrementsAreSerial holds an increment while another commits: it is computed anew.
func TestIncrementsAreSerial(t *testing.T) {
	r := up(t, "dynamodb-transact-write")
	p := r.gate.park(bench.BeforeCommit, "r1")
	first := r.async(func() reply { return r.add("a", 250, "") })
	<-p.arrived
	r.want(r.add("a", 5, ""), 200)
	p.goOn <- pass()
	r.want(<-first, 200)
	if r.balance("a") != "255" {
		t.Errorf("%s points, want 255", r.balance("a"))
	}
}

func booked(seat, guest string) string {
	return `{"Put":{"TableName":"seats","Item":{"flight":{"S":"f/1"},"seat":{"S":"` + seat + `"},"guest":{"S":"` + guest +
		`"}},"ConditionExpression":"attribute_not_exists(seat)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}}`
}

func TestAllWritesOrNone(t *testing.T) {
	c, _ := contracts.Find("dynamodb-transact-write-condition")
	r := upWith(t, c, []bench.WorldEffect{{Class: "item", Attrs: map[string]any{"table": "seats", "flight": "f/1", "seat": "2", "guest": "omar"}}})
	r.want(r.dynamo("TransactWriteItems", `{"TransactItems":[`+booked("1", "ines")+`]}`), 200)
	got := r.want(r.dynamo("TransactWriteItems", `{"TransactItems":[`+booked("3", "zoe")+`,`+booked("2", "zoe")+`]}`), 400)
	want := `{"CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Item":{"flight":{"S":"f/1"},"guest":{"S":"omar"},"seat":{"S":"2"}},"Message":"The conditional request failed"}],` +
		`"Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [None, ConditionalCheckFailed]","__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException"}`
	if got.body != want {
		t.Errorf("got\n%s, want\n%s", got.body, want)
	}
	if all := r.effects(); len(all) != 2 || all[0].ID != "seats/f%2F1/2" || all[1].ID != "seats/f%2F1/1" {
		t.Errorf("effects %+v; want the world's seat and the first", all)
	}
	r.wantDedup(bench.DedupRecord{By: "provider", Request: "r2", Record: "seats/f%2F1/2"})
	r.want(r.dynamo("TransactWriteItems", `{"TransactItems":[{"Delete":{"TableName":"seats","Key":{"flight":{"S":"f/1"},"seat":{"S":"2"}}}},`+booked("3", "zoe")+`]}`), 200)
	all := r.effects()
	if removal := all[2]; removal.Class != "item-removal" || removal.Undoes != "seats/f%2F1/2" || removal.ID != "seats/f%2F1/2@2" {
		t.Errorf("removal %+v", removal)
	}
	r.want(r.dynamo("TransactWriteItems", `{"TransactItems":[`+booked("2", "zoe")+`]}`), 200)
	found := r.want(r.dynamo("Query", `{"TableName":"seats","KeyConditionExpression":"flight = :f","FilterExpression":"guest = :g","ExpressionAttributeValues":{":f":{"S":"f/1"},":g":{"S":"zoe"}}}`), 200)
	if len(found.field("Items").([]any)) != 2 || found.field("ScannedCount") != 3 {
		t.Errorf("found %s", found.body)
	}
	if sum := fmt.Sprint(crc32.ChecksumIEEE([]byte(found.body))); found.header.Get("X-Amz-Crc32") != sum {
		t.Errorf("checksum %s, want %s", found.header.Get("X-Amz-Crc32"), sum)
	}
}

func TestPagesOfAQuery(t *testing.T) {
	r := up(t, "dynamodb-transact-write")
	for _, seat := range []string{"3", "1", "2"} {
		r.want(r.dynamo("TransactWriteItems", `{"TransactItems":[`+booked(seat, "g")+`]}`), 200)
	}
	pages, start := "", ""
	for range 5 {
		got := r.want(r.dynamo("Query", `{"TableName":"seats","KeyConditionExpression":"flight = :f","ProjectionExpression":"seat","Limit":2,"ExpressionAttributeValues":{":f":{"S":"f/1"}}`+start+`}`), 200)
		for _, item := range got.field("Items").([]any) {
			pages += text(item.(map[string]any)["seat"].(map[string]any), "S")
		}
		last := got.field("LastEvaluatedKey")
		if last == nil {
			break
		}
		key, _ := json.Marshal(last)
		start, pages = `,"ExclusiveStartKey":`+string(key), pages+" "
	}
	if pages != "12 3" {
		t.Errorf("pages %q, want \"12 3\"", pages)
	}
}

func TestConditions(t *testing.T) {
	item := map[string]any{"n": map[string]any{"N": "10"}, "s": map[string]any{"S": "abc"}, "set": map[string]any{"SS": []any{"x", "y"}}}
	values := map[string]any{":one": map[string]any{"N": "1.0"}, ":ten": map[string]any{"N": "10.00"}, ":big": map[string]any{"N": "1e2"}, ":ab": map[string]any{"S": "ab"},
		":abc": map[string]any{"S": "abc"}, ":x": map[string]any{"S": "x"}, ":type": map[string]any{"S": "N"}, ":bad": map[string]any{"N": "1/3"}}
	for expression, want := range map[string]string{
		"n = :ten":                                  "true",
		"n <> :ten":                                 "false",
		"n > :one AND n < :big":                     "true",
		"n BETWEEN :one AND :ten":                   "true",
		"n BETWEEN :one AND :ten AND s = :ab":       "false",
		"n IN (:one, :ten)":                         "true",
		"none <> :one":                              "true", // what is not there differs from everything
		"none = :one or none < :one":                "false",
		"attribute_exists(n) and not (n = :one)":    "true",
		"attribute_not_exists(#alias)":              "false",
		"attribute_type(n, :type)":                  "true",
		"begins_with(s, :ab)":                       "true",
		"contains(set, :x) AND NOT contains(s, :x)": "true",
		"size(s) > :one":                            "true",
		"s > :ab":                                   "true",
		"s < :one":                                  "false", // of another type
		"n = :one OR n = :one AND n = :ten":         "false",
		"(n = :ten OR n = :one) AND s = :abc":       "true",
		"n":                                         "Invalid expression: Syntax error; token: \"\", expected a comparison",
		"n = :ten)":                                 "Invalid expression: Syntax error; token: \")\"",
		"(n = :ten":                                 "Invalid expression: Syntax error; token: \"\", expected \")\"",
		"":                                          "Invalid expression: The expression can not be empty;",
		"n = :none":                                 "An expression attribute value used in expression is not defined; attribute value: :none",
		"#none = :ten":                              "An expression attribute name used in the document path is not defined; attribute name: #none",
		"n = :bad":                                  "An expression attribute value used in expression is not defined; attribute value: :bad",
		"a.b = :ten":                                "Invalid expression: paths into an attribute are not supported here; token: \".\"",
		"nonsense(n)":                               "Invalid expression: Syntax error; token: \")\", expected \",\"",
		strings.Repeat("(", 4097):                   "Invalid expression: Expression size has exceeded the maximum allowed size;",
		strings.Repeat("(", 4000):                   "Invalid expression: Syntax error; token: \"\", expected the name of an attribute",
		"NOT " + strings.Repeat("NOT ", 1000) + "n=": "Invalid expression: Syntax error; token: \"\", expected the name of an attribute",
	} {
		e := newExpression(map[string]any{"ExpressionAttributeNames": map[string]any{"#alias": "s"}, "ExpressionAttributeValues": values}, item)
		got := fmt.Sprint(e.condition(expression))
		if e.problem != "" {
			got = e.problem
		}
		if got != want {
			t.Errorf("%.60s: %s, want %s", expression, got, want)
		}
	}
}

func TestUpdates(t *testing.T) {
	for expression, want := range map[string]string{
		"SET s = :s":                           `item map[s:new]; {"n":{"N":"10"},"s":{"S":"new"}}`,
		"SET s = s2":                           "The provided expression refers to an attribute that does not exist in the item",
		"SET n = n + :d":                       `increment map[n:2.5]; {"n":{"N":"12.5"},"s":{"S":"old"}}`,
		"SET n = n - :d, s = :s":               `increment map[n:-2.5 s:new]; {"n":{"N":"7.5"},"s":{"S":"new"}}`,
		"SET m = if_not_exists(m, :zero) + :d": `increment map[m:2.5]; {"m":{"N":"2.5"},"n":{"N":"10"},"s":{"S":"old"}}`,
		"SET m = n + :d":                       `item map[m:12.5]; {"m":{"N":"12.5"},"n":{"N":"10"},"s":{"S":"old"}}`,
		"ADD m :d":                             `increment map[m:2.5]; {"m":{"N":"2.5"},"n":{"N":"10"},"s":{"S":"old"}}`,
		"add n :d set s = :s remove none":      `increment map[n:2.5 s:new]; {"n":{"N":"12.5"},"s":{"S":"new"}}`,
		"REMOVE s":                             `item map[]; {"n":{"N":"10"}}`,
		"SET s = s + :d":                       "An operand in the update expression has an incorrect data type, or is an attribute that does not exist in the item",
		"ADD s :d":                             "An operand in the update expression has an incorrect data type",
		"ADD n :s":                             "Invalid UpdateExpression: ADD takes a number here, as an expression attribute value; attribute: n",
		"SET n = :d SET s = :s":                `Invalid UpdateExpression: The "SET" section can only be used once in an update expression;`,
		"SET n = :d, n = :zero":                "Invalid UpdateExpression: Two document paths overlap with each other; path: [n]",
		"DELETE n :d":                          `Invalid UpdateExpression: Syntax error; token: "DELETE", expected SET, ADD or REMOVE`,
		"SET n":                                `Invalid expression: Syntax error; token: "", expected "="`,
	} {
		m := map[string]any{"TableName": "t", "UpdateExpression": expression, "ExpressionAttributeValues": map[string]any{
			":s": map[string]any{"S": "new"}, ":d": map[string]any{"N": "2.50"}, ":zero": map[string]any{"N": "0"}}}
		item := map[string]any{"n": map[string]any{"N": "10"}, "s": map[string]any{"S": "old"}}
		e := newExpression(m, item)
		u := e.update(expression)
		class, attrs := write{"Update", m}.business(item)
		delete(attrs, "table")
		u.apply(item)
		after, _ := json.Marshal(item)
		got := fmt.Sprintf("%s %v; %s", class, attrs, after)
		if e.problem != "" {
			got = e.problem
		}
		if got != want {
			t.Errorf("%s: %s, want %s", expression, got, want)
		}
	}
}

func TestItemErrors(t *testing.T) {
	put := func(item string) string {
		return `{"TransactItems":[{"Put":{"TableName":"accounts","Item":` + item + `}}]}`
	}
	for name, c := range map[string]struct{ op, body, shape, message string }{
		"no body":                 {"GetItem", ``, coralShape + "SerializationException", "not a JSON object"},
		"another operation":       {"PutItem", `{}`, coralShape + "UnknownOperationException", "PutItem is not supported"},
		"no actions":              {"TransactWriteItems", `{"TransactItems":[]}`, dynamoValidate, "length"},
		"actions that are none":   {"TransactWriteItems", `{"TransactItems":[7]}`, dynamoValidate, "can only contain one of"},
		"two in one":              {"TransactWriteItems", `{"TransactItems":[{"Put":{},"Delete":{}}]}`, dynamoValidate, "can only contain one of"},
		"no such table":           {"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"none","Item":{}}}]}`, dynamoShape + "ResourceNotFoundException", "not found"},
		"no key":                  {"TransactWriteItems", put(`{"points":{"N":"1"}}`), dynamoValidate, "required keys"},
		"a key of another type":   {"TransactWriteItems", put(`{"account":{"N":"1"}}`), dynamoValidate, "expected: S"},
		"an empty key":            {"TransactWriteItems", put(`{"account":{"S":""}}`), dynamoValidate, "empty string"},
		"a value of two types":    {"TransactWriteItems", put(`{"account":{"S":"a","N":"1"}}`), dynamoValidate, "exactly one"},
		"a number without end":    {"TransactWriteItems", put(`{"account":{"S":"a"},"n":{"N":"1e99999999"}}`), dynamoValidate, "exactly one"},
		"an item twice":           {"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"accounts","Item":{"account":{"S":"a"}}}},{"Delete":{"TableName":"accounts","Key":{"account":{"S":"a"}}}}]}`, dynamoValidate, "multiple operations on one item"},
		"an empty token":          {"TransactWriteItems", `{"ClientRequestToken":"","TransactItems":[{"Put":{"TableName":"accounts","Item":{"account":{"S":"a"}}}}]}`, dynamoValidate, "clientRequestToken"},
		"a key in an update":      {"TransactWriteItems", `{"TransactItems":[{"Update":{"TableName":"accounts","Key":{"account":{"S":"a"}},"UpdateExpression":"SET account = :b","ExpressionAttributeValues":{":b":{"S":"b"}}}}]}`, dynamoValidate, "part of the key"},
		"a value that is unused":  {"TransactWriteItems", `{"TransactItems":[{"Update":{"TableName":"accounts","Key":{"account":{"S":"a"}},"UpdateExpression":"REMOVE points","ExpressionAttributeValues":{":b":{"S":"b"}}}}]}`, dynamoValidate, "unused in expressions: keys: {:b}"},
		"a check of nothing":      {"TransactWriteItems", `{"TransactItems":[{"ConditionCheck":{"TableName":"accounts","Key":{"account":{"S":"a"}}}}]}`, dynamoValidate, "can not be empty"},
		"a key with more":         {"GetItem", `{"TableName":"accounts","Key":{"account":{"S":"a"},"x":{"S":"b"}}}`, dynamoValidate, "does not match the schema"},
		"a query by the sort key": {"Query", `{"TableName":"seats","KeyConditionExpression":"seat = :s","ExpressionAttributeValues":{":s":{"S":"1"}}}`, dynamoValidate, "missed key schema element: flight"},
		"a query by an index":     {"Query", `{"TableName":"seats","IndexName":"i","KeyConditionExpression":"x"}`, dynamoValidate, "IndexName is not supported"},
		"a limit of 0":            {"Scan", `{"TableName":"seats","Limit":0}`, dynamoValidate, "limit"},
		"a table twice":           {"CreateTable", `{"TableName":"seats","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}]}`, dynamoShape + "ResourceInUseException", "already exists"},
		"a table without types":   {"CreateTable", `{"TableName":"new","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}]}`, dynamoValidate, "AttributeDefinitions"},
	} {
		t.Run(name, func(t *testing.T) {
			r := up(t, "dynamodb-transact-write")
			got := r.want(r.dynamo(c.op, c.body), 400)
			if message, _ := got.field("message").(string); got.field("__type") != c.shape || !strings.Contains(message, c.message) || got.header.Get("X-Amzn-Requestid") == "" {
				t.Errorf("%s; want %s and %q", got.body, c.shape, c.message)
			}
			r.wantEffects(0)
		})
	}
}

// TestReadsLag reads with and without ConsistentRead while a look-up does not see the item yet.
func TestReadsLag(t *testing.T) {
	r := up(t, "dynamodb-transact-write", func(c *bench.Contract) { c.Actual.LookUp.Lag = time.Second })
	r.want(r.add("a", 250, ""), 200)
	eventually := func() reply {
		return r.want(r.dynamo("GetItem", `{"TableName":"accounts","Key":{"account":{"S":"a"}}}`), 200)
	}
	if got := eventually(); got.body != "{}" || r.balance("a") != "250" {
		t.Errorf("at once: %s, consistently %s", got.body, r.balance("a"))
	}
	r.clock.pass(time.Second)
	if got := eventually(); got.field("Item") == nil {
		t.Errorf("after its lag: %s", got.body)
	}
}
