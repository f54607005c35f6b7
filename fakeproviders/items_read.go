package fakeproviders

import (
	"cmp"
	"maps"
	"math/big"
	"net/http"
	"slices"
	"strings"
)

// get answers with one item.
func (items) get(_ *exchange, s tables, m map[string]any) (answer, error) {
	t, refused := s.table(m)
	if refused != nil {
		return *refused, nil
	}
	given, _ := m["Key"].(map[string]any)
	key, problem := t.keyOfItem(given, true)
	if problem != "" {
		return dynamoInvalid("%s", problem), nil
	}
	item := s.rows[identify(t, key)].item
	e := newExpression(m, item)
	shown := e.projection(item)
	if e.unused(); e.problem != "" {
		return dynamoInvalid("%s", e.problem), nil
	}
	body := readCapacity(m, t, 1)
	if item != nil {
		body["Item"] = shown
	}
	return awsJSON(http.StatusOK, body), nil
}

// readCapacity is the part of an answer that tells the capacity which a read took, if that was asked for.
func readCapacity(m map[string]any, t table, n int) map[string]any {
	if asked := text(m, "ReturnConsumedCapacity"); asked != "TOTAL" && asked != "INDEXES" {
		return map[string]any{}
	}
	units := 0.5 * float64(max(1, n))
	if m["ConsistentRead"] == true {
		units *= 2
	}
	return map[string]any{"ConsumedCapacity": map[string]any{"TableName": t.name, "CapacityUnits": units}}
}

// of lists the items of a table by hash key and sort key. DynamoDB promises that order for the sort key only.
func (s tables) of(t table) []map[string]any {
	var all []map[string]any
	for id, r := range s.rows {
		if r.item != nil && strings.HasPrefix(id, identify(t, nil)+"/") {
			all = append(all, r.item)
		}
	}
	slices.SortFunc(all, func(a, b map[string]any) int {
		for _, k := range t.keys() {
			if c := compareValues(a[k], b[k]); c != 0 {
				return c
			}
		}
		return 0
	})
	return all
}

// compareValues orders two values of a key: numbers by value, others by their bytes.
func compareValues(a, b any) int {
	x, _ := a.(map[string]any)
	y, _ := b.(map[string]any)
	for _, kind := range []string{"S", "B"} {
		if s, ok := x[kind].(string); ok {
			return cmp.Compare(s, text(y, kind))
		}
	}
	m, _ := new(big.Rat).SetString(text(x, "N"))
	n, _ := new(big.Rat).SetString(text(y, "N"))
	if m == nil || n == nil {
		return 0
	}
	return m.Cmp(n)
}

// query answers Query and Scan. Indexes and the older ways to say a condition are refused.
func (items) query(x *exchange, s tables, m map[string]any) (answer, error) {
	t, refused := s.table(m)
	if refused != nil {
		return *refused, nil
	}
	for _, old := range []string{"IndexName", "KeyConditions", "QueryFilter", "ScanFilter", "AttributesToGet", "Segment"} {
		if m[old] != nil {
			return dynamoInvalid("%s is not supported here", old), nil
		}
	}
	isQuery := x.call.Op == "Query"
	if isQuery && text(m, "KeyConditionExpression") == "" {
		return dynamoInvalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."), nil
	}
	limit, ok := m["Limit"].(int)
	if m["Limit"] != nil && (!ok || limit < 1) {
		return dynamoInvalid("1 validation error detected: Value at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1"), nil
	}
	rows := s.of(t)
	if m["ScanIndexForward"] == false {
		slices.Reverse(rows)
	}
	if start, ok := m["ExclusiveStartKey"].(map[string]any); ok {
		key, problem := t.keyOfItem(start, true)
		if problem != "" {
			return dynamoInvalid("The provided starting key is invalid: %s", problem), nil
		}
		i := slices.IndexFunc(rows, func(item map[string]any) bool { return identify(t, item) == identify(t, key) })
		rows = rows[i+1:]
	}
	check := newExpression(m, nil) // the expressions are looked at though there may be no item
	check.selects(isQuery, t)
	if check.unused(); check.problem != "" && !check.dataProblem {
		return dynamoInvalid("%s", check.problem), nil
	}
	page := slices.DeleteFunc(rows, func(item map[string]any) bool {
		return isQuery && !newExpression(m, item).keyCondition(text(m, "KeyConditionExpression"), t)
	})
	body := map[string]any{}
	if limit > 0 && len(page) >= limit {
		page = page[:limit]
		body["LastEvaluatedKey"], _ = t.keyOfItem(page[limit-1], false)
	}
	found := []any{}
	for _, item := range page {
		if shown, selected := newExpression(m, item).selects(isQuery, t); selected {
			found = append(found, shown)
		}
	}
	body["Count"], body["ScannedCount"] = len(found), len(page)
	if m["Select"] != "COUNT" {
		body["Items"] = found
	}
	maps.Copy(body, readCapacity(m, t, len(page)))
	return awsJSON(http.StatusOK, body), nil
}
