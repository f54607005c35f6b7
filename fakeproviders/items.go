package fakeproviders

import (
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// items speaks Amazon DynamoDB: AWS JSON 1.0, the operation in X-Amz-Target. All writing goes by
// TransactWriteItems, all of it or nothing. Shapes: botocore's model dynamodb 2012-08-10; rules:
// docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html.
type items struct{}

func (items) Name() string { return "items" }
func (items) Summary() string {
	return "items of tables, written by transactions over the Amazon DynamoDB wire (AWS JSON 1.0)"
}

const (
	dynamoTarget   = "DynamoDB_20120810."
	dynamoShape    = "com.amazonaws.dynamodb.v20120810#"
	dynamoValidate = "com.amazon.coral.validate#ValidationException"
)

func (items) Parse(r bench.RawRequest) bench.Call {
	op, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), dynamoTarget)
	if !ok || r.Method != http.MethodPost {
		return bench.Call{Op: "unknown"}
	}
	m := fields(r.Body)
	switch op {
	case "CreateTable":
		t, _ := readTable(m)
		return bench.Call{Op: op, Class: "table", Mutating: true, Attrs: t.attrs()}
	case "TransactWriteItems":
		c := bench.Call{Op: op, Class: "item", Mutating: true, Attrs: map[string]any{}}
		var units []map[string]any
		for _, w := range readWrites(m) {
			class, attrs := w.business(nil)
			if class == "" {
				continue
			}
			if len(units) == 0 {
				c.Class, c.Attrs = class, attrs
			}
			if class == c.Class {
				units = append(units, attrs)
			}
		}
		if len(units) > 1 {
			c.Units = units
		}
		return c
	}
	return bench.Call{Op: op, Attrs: pick(map[string]any{"table": m["TableName"]}, "table")}
}

func (d items) execute(x *exchange) (answer, error) {
	m := fields(x.raw.Body)
	switch {
	case x.call.Op == "unknown":
		return dynamoError(http.StatusBadRequest, coralShape+"UnknownOperationException", "The operation is not valid: POST / with X-Amz-Target DynamoDB_20120810.OPERATION."), nil
	case m == nil:
		return dynamoError(http.StatusBadRequest, coralShape+"SerializationException", "The body is not a JSON object."), nil
	}
	do := map[string]func(*exchange, tables, map[string]any) (answer, error){
		"CreateTable": d.createTable, "DescribeTable": d.describeTable, "ListTables": d.listTables,
		"TransactWriteItems": d.transact, "GetItem": d.get, "Query": d.query, "Scan": d.query,
	}[x.call.Op]
	if do == nil {
		return dynamoError(http.StatusBadRequest, coralShape+"UnknownOperationException", "The operation %s is not supported here.", x.call.Op), nil
	}
	all, err := x.tx.Objects()
	if err != nil {
		return answer{}, err
	}
	if consistent, _ := m["ConsistentRead"].(bool); !consistent && (x.call.Op == "GetItem" || x.call.Op == "Query" || x.call.Op == "Scan") {
		if all, err = x.look(func(store.Object) bool { return true }); err != nil { // what an eventually consistent read sees
			return answer{}, err
		}
	}
	return do(x, fold(all), m)
}

// table is a table's key schema.
type table struct {
	name, hash, sort string            // sort: name of the sort key, "" if there is none
	types            map[string]string // of the key attributes: S, N or B
	made             store.Object
}

func (t table) attrs() map[string]any {
	return pick(map[string]any{"table": t.name, "hash": t.hash, "range": t.sort}, "table", "hash", "range")
}

// keys are the names of the key attributes.
func (t table) keys() []string {
	if t.sort == "" {
		return []string{t.hash}
	}
	return []string{t.hash, t.sort}
}

// row is an item as it stands, with the effect that wrote it last and how many wrote it.
type row struct {
	item   map[string]any // attribute values as they travel; nil: there is none
	last   string
	writes int
}

// tables are a ledger folded to what there is now.
type tables struct {
	byName map[string]table
	rows   map[string]row // by identity
}

// ownTables are the tables that are there from the start: those of the tools.
var ownTables = map[string]table{
	"seats":    {name: "seats", hash: "flight", sort: "seat", types: map[string]string{"flight": "S", "seat": "S"}},
	"accounts": {name: "accounts", hash: "account", types: map[string]string{"account": "S"}},
}

// fold reads the present state off the ledger.
func fold(all []store.Object) tables {
	s := tables{maps.Clone(ownTables), map[string]row{}}
	for _, o := range all {
		if o.Class == "table" {
			types, _ := o.Detail["types"].(map[string]any)
			t := table{name: text(o.Attrs, "table"), hash: text(o.Attrs, "hash"), sort: text(o.Attrs, "range"), types: map[string]string{}, made: o}
			for _, k := range t.keys() {
				t.types[k] = text(types, k)
			}
			s.byName[t.name] = t
			continue
		}
		after, _ := o.Detail["after"].(map[string]any)
		id, _, _ := strings.Cut(o.ID, "@")
		if o.Request == "" { // of the world: its attributes are the item
			after = wireItem(o.Attrs)
		}
		s.rows[id] = row{item: after, last: o.ID, writes: s.rows[id].writes + 1}
	}
	return s
}

// identify names an item by its table and key: TABLE/HASH or TABLE/HASH/SORT, each part escaped.
func identify(t table, key map[string]any) string {
	id := url.PathEscape(t.name)
	for _, k := range t.keys() {
		v, _ := key[k].(map[string]any)
		for _, kind := range []string{"S", "N", "B"} {
			if s, ok := v[kind].(string); ok {
				id += "/" + escapeID(s)
			}
		}
	}
	return id
}

// escapeID escapes what has a meaning in the id of an effect.
func escapeID(s string) string { return strings.ReplaceAll(url.PathEscape(s), "@", "%40") }

// wireItem is an item of business values as it travels.
func wireItem(attrs map[string]any) map[string]any {
	item := map[string]any{}
	for name, v := range attrs {
		if name != "table" {
			item[name] = wireValue(v)
		}
	}
	return item
}

// wireValue is a business value as an attribute value.
func wireValue(v any) map[string]any {
	switch v := v.(type) {
	case string:
		return map[string]any{"S": v}
	case bool:
		return map[string]any{"BOOL": v}
	}
	return map[string]any{"N": fmt.Sprint(v)}
}

// plainValue is an attribute value in business terms: texts, numbers and truths as such, others as JSON.
func plainValue(v map[string]any) any {
	if s, ok := v["S"].(string); ok {
		return s
	}
	if b, ok := v["BOOL"].(bool); ok {
		return b
	}
	n, ok := v["N"].(string)
	if !ok {
		return string(jsonAnswer(0, v).body)
	}
	if i, err := strconv.Atoi(n); err == nil {
		return i
	}
	if f, err := strconv.ParseFloat(n, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
		return f
	}
	return n
}

// readTable reads the schema that CreateTable gives.
func readTable(m map[string]any) (table, string) {
	t := table{name: text(m, "TableName"), types: map[string]string{}}
	schema, _ := m["KeySchema"].([]any)
	for _, e := range schema {
		k, _ := e.(map[string]any)
		switch k["KeyType"] {
		case "HASH":
			t.hash = text(k, "AttributeName")
		case "RANGE":
			t.sort = text(k, "AttributeName")
		}
	}
	definitions, _ := m["AttributeDefinitions"].([]any)
	for _, e := range definitions {
		d, _ := e.(map[string]any)
		t.types[text(d, "AttributeName")] = text(d, "AttributeType")
	}
	switch {
	case len(t.name) < 3 || len(t.name) > 255:
		return t, "TableName must be at least 3 characters long and at most 255 characters long"
	case t.hash == "":
		return t, "One or more parameter values were invalid: Missing the HASH key in KeySchema"
	}
	for _, k := range t.keys() {
		if !slices.Contains([]string{"S", "N", "B"}, t.types[k]) {
			return t, "One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions: " + k
		}
	}
	return t, ""
}

func (items) createTable(x *exchange, s tables, m map[string]any) (answer, error) {
	t, problem := readTable(m)
	if problem != "" {
		return dynamoInvalid("%s", problem), nil
	}
	if there, ok := s.byName[t.name]; ok {
		a := dynamoError(http.StatusBadRequest, dynamoShape+"ResourceInUseException", "Table already exists: %s", t.name)
		a.existing, a.dedup = there.made.ID, true
		return a, nil
	}
	types := map[string]any{}
	for k, v := range t.types {
		types[k] = v
	}
	x.add("", store.Object{ID: tableARN + t.name, Class: "table", Attrs: t.attrs(), Detail: map[string]any{"types": types}})
	t.made = x.tx.Added()[0]
	return awsJSON(http.StatusOK, map[string]any{"TableDescription": t.shown(0)}), nil
}

const tableARN = "arn:aws:dynamodb:" + awsRegion + ":" + awsAccount + ":table/"

// shown describes a table. It is there and in use as soon as it is made.
func (t table) shown(count int) map[string]any {
	schema := []any{map[string]any{"AttributeName": t.hash, "KeyType": "HASH"}}
	if t.sort != "" {
		schema = append(schema, map[string]any{"AttributeName": t.sort, "KeyType": "RANGE"})
	}
	definitions := []any{}
	for _, k := range slices.Sorted(maps.Keys(t.types)) {
		definitions = append(definitions, map[string]any{"AttributeName": k, "AttributeType": t.types[k]})
	}
	return map[string]any{"TableName": t.name, "TableStatus": "ACTIVE", "TableArn": tableARN + t.name, "KeySchema": schema,
		"AttributeDefinitions": definitions, "CreationDateTime": t.made.At.Unix(), "ItemCount": count}
}

func (s tables) table(m map[string]any) (table, *answer) {
	name := strings.TrimPrefix(text(m, "TableName"), tableARN)
	t, ok := s.byName[name]
	if !ok {
		a := dynamoError(http.StatusBadRequest, dynamoShape+"ResourceNotFoundException", "Requested resource not found")
		return t, &a
	}
	return t, nil
}

func (items) describeTable(_ *exchange, s tables, m map[string]any) (answer, error) {
	t, refused := s.table(m)
	if refused != nil {
		return *refused, nil
	}
	return awsJSON(http.StatusOK, map[string]any{"Table": t.shown(len(s.of(t)))}), nil
}

func (items) listTables(_ *exchange, s tables, _ map[string]any) (answer, error) {
	return awsJSON(http.StatusOK, map[string]any{"TableNames": append([]string{}, slices.Sorted(maps.Keys(s.byName))...)}), nil
}

// dynamoError is an error in DynamoDB's shape.
func dynamoError(status int, shape, format string, args ...any) answer {
	message := fmt.Sprintf(format, args...)
	return awsJSON(status, map[string]any{"__type": shape, "message": message, "Message": message})
}

func dynamoInvalid(format string, args ...any) answer {
	return dynamoError(http.StatusBadRequest, dynamoValidate, format, args...)
}

// refuse renders what the shared server refuses.
func (items) refuse(r refusal) answer {
	switch {
	case r.code == "idempotency_key_in_use":
		return dynamoError(http.StatusBadRequest, dynamoShape+"TransactionInProgressException", "Transaction is already in progress for the given client request token.")
	case strings.HasPrefix(r.code, "idempotency_key_re"), r.code == "idempotency_conflict", r.code == "idempotency_key_other_endpoint",
		r.code == "idempotent_creation_conflict":
		return dynamoError(http.StatusBadRequest, dynamoShape+"IdempotentParameterMismatchException", "Parameters do not match those of the first request with this client request token.")
	case r.code == "provider_failure" && r.status >= 500:
		return dynamoError(r.status, dynamoShape+"InternalServerError", "%s", r.message)
	case r.code == "provider_failure":
		return dynamoError(r.status, dynamoShape+"ProvisionedThroughputExceededException", "%s", r.message)
	}
	return dynamoInvalid("%s", r.message)
}

// decorate adds the request id and the checksum of the body, by which SDKs find out that it was damaged.
func (items) decorate(x *exchange, a *answer) {
	awsRequestID(x, a)
	a.header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(a.body)), 10))
}

// scoped are the parts of a token's scope: attributes of the call are none of them.
func (items) scoped(part string, r bench.RawRequest, _ bench.Call) string {
	if part == "region" {
		return signedRegion(r.Header)
	}
	return ""
}

// world is an item of a table that is there from the start.
func (items) world(w bench.WorldEffect, n int) store.Object {
	o := worldObject("item_", w, n)
	if t, ok := ownTables[text(w.Attrs, "table")]; ok {
		o.ID = identify(t, wireItem(w.Attrs))
	}
	return o
}
