package fakeproviders

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// write is one action of a transaction.
type write struct {
	kind string         // Put, Update, Delete, ConditionCheck; "" if it is none of them, or several
	m    map[string]any // as it came
}

// readWrites reads the actions of a TransactWriteItems, as far as they are such.
func readWrites(m map[string]any) []write {
	list, _ := m["TransactItems"].([]any)
	var all []write
	for _, e := range list {
		entry, _ := e.(map[string]any)
		var w write
		if len(entry) == 1 {
			for kind, v := range entry {
				if inner, ok := v.(map[string]any); ok && slices.Contains([]string{"Put", "Update", "Delete", "ConditionCheck"}, kind) {
					w = write{kind, inner}
				}
			}
		}
		all = append(all, w)
	}
	return all
}

// business is the effect that a write would have, with its attributes: those of the item, or of its key and
// what is changed; class "" if it changes nothing. item is the one that there is, as far as that is known.
func (w write) business(item map[string]any) (class string, attrs map[string]any) {
	name := strings.TrimPrefix(text(w.m, "TableName"), tableARN)
	key, _ := w.m["Key"].(map[string]any)
	switch w.kind {
	case "Put":
		item, _ := w.m["Item"].(map[string]any)
		return "item", businessOf(name, item)
	case "Delete":
		return "item-removal", businessOf(name, key)
	case "Update":
		changed := maps.Clone(key)
		if changed == nil {
			changed = map[string]any{}
		}
		u := newExpression(w.m, item).update(text(w.m, "UpdateExpression"))
		maps.Copy(changed, u.set)
		maps.Copy(changed, u.added)
		if len(u.added) > 0 {
			return "increment", businessOf(name, changed)
		}
		return "item", businessOf(name, changed)
	}
	return "", nil
}

func businessOf(table string, values map[string]any) map[string]any {
	attrs := map[string]any{}
	for name, v := range values {
		if value, ok := v.(map[string]any); ok && len(value) == 1 {
			attrs[name] = plainValue(value)
		}
	}
	attrs["table"] = table
	return pick(attrs, slices.Collect(maps.Keys(attrs))...)
}

// keyOfItem takes an item's key out of the attributes that a request gives. Only: there may be no others.
func (t table) keyOfItem(given map[string]any, only bool) (map[string]any, string) {
	key := map[string]any{}
	for _, k := range t.keys() {
		v, _ := given[k].(map[string]any)
		s, ok := v[t.types[k]].(string)
		switch {
		case given[k] == nil:
			return nil, "One of the required keys was not given a value"
		case len(v) != 1 || !ok:
			return nil, "One or more parameter values were invalid: Type mismatch for key " + k + " expected: " + t.types[k]
		case s == "":
			return nil, "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: " + k
		}
		key[k] = v
	}
	if only && len(given) != len(key) {
		return nil, "The provided key element does not match the schema"
	}
	return key, ""
}

// transact carries out all actions or none. Every condition is looked at, so that the answer names each that failed.
func (d items) transact(x *exchange, s tables, m map[string]any) (answer, error) {
	writes := readWrites(m)
	token, given := m["ClientRequestToken"]
	switch {
	case len(writes) == 0 || len(writes) > 100:
		return dynamoInvalid("1 validation error detected: Value at 'transactItems' failed to satisfy constraint: Member must have length less than or equal to 100, and greater than or equal to 1"), nil
	case given && token != nil && text(m, "ClientRequestToken") == "":
		return dynamoInvalid("1 validation error detected: Value at 'clientRequestToken' failed to satisfy constraint: Member must have length greater than or equal to 1"), nil
	}
	var effects []store.Object
	seen := map[string]bool{}
	failed := false
	reasons, codes := []any{}, []string{}
	for _, w := range writes {
		if w.kind == "" {
			return dynamoInvalid("TransactItems can only contain one of Check, Put, Update or Delete"), nil
		}
		t, refused := s.table(w.m)
		if refused != nil {
			return *refused, nil
		}
		o, id, problem := w.effect(t, s)
		switch {
		case problem == "" && seen[id]:
			problem = "Transaction request cannot include multiple operations on one item"
		case problem == "" && o == nil && w.kind == "ConditionCheck" && text(w.m, "ConditionExpression") == "":
			problem = "The expression can not be empty;"
		}
		if problem != "" && problem != conditionFailed {
			return dynamoInvalid("%s", problem), nil
		}
		seen[id] = true
		reason := map[string]any{"Code": "None"}
		if problem == conditionFailed {
			failed = true
			reason = map[string]any{"Code": "ConditionalCheckFailed", "Message": conditionFailed}
			if item := s.rows[id].item; item != nil && w.m["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD" {
				reason["Item"] = item
			}
		}
		reasons, codes = append(reasons, reason), append(codes, text(reason, "Code"))
		if o != nil {
			effects = append(effects, *o)
		}
	}
	if failed {
		return d.cancelled(x, s, reasons, codes), nil
	}
	for _, o := range effects {
		x.add("", o)
	}
	return d.answered(m, writes, "WriteCapacityUnits"), nil
}

const conditionFailed = "The conditional request failed"

// cancelled answers a transaction of which a condition did not hold. An item in the way is what stood in for a new one.
func (items) cancelled(x *exchange, s tables, reasons []any, codes []string) answer {
	message := "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]"
	a := awsJSON(http.StatusBadRequest, map[string]any{"__type": dynamoShape + "TransactionCanceledException", "Message": message, "CancellationReasons": reasons})
	for i, w := range readWrites(fields(x.raw.Body)) {
		t, _ := s.table(w.m)
		given, _ := w.m["Item"].(map[string]any)
		if key, problem := t.keyOfItem(given, false); w.kind == "Put" && codes[i] != "None" && problem == "" && s.rows[identify(t, key)].item != nil {
			a.existing, a.dedup = s.rows[identify(t, key)].last, true
			break
		}
	}
	return a
}

// effect is what a write would do to the present state: nil if that is nothing. The problem is conditionFailed
// if its condition does not hold, or says what is wrong with it.
func (w write) effect(t table, s tables) (o *store.Object, id, problem string) {
	given, only := w.m["Key"], true
	if w.kind == "Put" {
		given, only = w.m["Item"], false
	}
	attributes, _ := given.(map[string]any)
	for name, v := range attributes {
		if value, ok := v.(map[string]any); !ok || len(value) != 1 || !wellFormed(value) {
			return nil, "", "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes: " + name
		}
	}
	key, problem := t.keyOfItem(attributes, only)
	if problem != "" {
		return nil, "", problem
	}
	id = identify(t, key)
	was := s.rows[id]
	e := newExpression(w.m, was.item)
	holds := true
	if condition, ok := w.m["ConditionExpression"]; ok && condition != nil {
		holds = e.condition(text(w.m, "ConditionExpression"))
	}
	class, attrs := w.business(was.item)
	o = &store.Object{ID: versioned(id, was.writes+1), Class: class, Attrs: attrs}
	switch w.kind {
	case "Put":
		o.Detail = map[string]any{"after": attributes}
	case "Update":
		base := maps.Clone(was.item)
		if base == nil {
			base = maps.Clone(key)
		}
		u := e.update(text(w.m, "UpdateExpression"))
		for _, k := range t.keys() {
			if u.touches(k) {
				e.fail("One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", k)
			}
		}
		u.apply(base)
		o.Detail = map[string]any{"after": base}
	case "Delete":
		if o.Undoes = was.last; was.item == nil {
			o = nil
		}
	case "ConditionCheck":
		o = nil
	}
	switch e.unused(); {
	case e.problem != "" && (holds || !e.dataProblem):
		return nil, id, e.problem
	case !holds:
		return nil, id, conditionFailed
	}
	return o, id, ""
}

// versioned names the n-th effect on an item.
func versioned(id string, n int) string {
	if n == 1 {
		return id
	}
	return fmt.Sprintf("%s@%d", id, n)
}

// answered renders the answer to a transaction. It says nothing of the items, and of the capacity that it took only if asked:
// write units, or read units of a replay, by which a caller can tell the two apart.
func (items) answered(m map[string]any, writes []write, units string) answer {
	asked := text(m, "ReturnConsumedCapacity")
	if asked != "TOTAL" && asked != "INDEXES" {
		return awsJSON(http.StatusOK, map[string]any{})
	}
	perUnit := map[string]int{"WriteCapacityUnits": 1 << 10, "ReadCapacityUnits": 4 << 10}[units]
	used := map[string]int{}
	for _, w := range writes {
		given, ok := w.m["Item"].(map[string]any)
		if !ok {
			given, _ = w.m["Key"].(map[string]any)
		}
		size := len(jsonAnswer(0, given).body)
		used[strings.TrimPrefix(text(w.m, "TableName"), tableARN)] += 2 * max(1, (size+perUnit-1)/perUnit) // transactions take two units for one
	}
	list := []any{}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		entry := map[string]any{"TableName": name, "CapacityUnits": used[name], units: used[name]}
		if asked == "INDEXES" {
			entry["Table"] = map[string]any{"CapacityUnits": used[name], units: used[name]}
		}
		list = append(list, entry)
	}
	return awsJSON(http.StatusOK, map[string]any{"ConsumedCapacity": list})
}

// again answers a transaction whose token is known.
func (d items) again(x *exchange, _ answer, _ []store.Object) answer {
	m := fields(x.raw.Body)
	return d.answered(m, readWrites(m), "ReadCapacityUnits")
}

// current renders the answer to a transaction from what it made: there is nothing in it.
func (items) current([]store.Object) answer { return awsJSON(http.StatusOK, map[string]any{}) }
