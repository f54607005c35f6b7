package workloads

// addItems adds the words of tables.
func (c Catalogue) addItems() {
	text := func(name string) Value { return Value{Name: name} }
	free := func(name string) Value { return Value{Name: name, Free: true} }
	needed := func(v Value) Value { v.Required = true; return v }
	many := func(name string) Value { return Value{Name: name, Type: TextOrMany, Required: true} }
	points := Value{Name: "points", Type: Number, Required: true, Min: -99_999_999, Max: 99_999_999}
	c.Providers["items"] = Provider{Classes: map[string][]Value{
		"table":        {text("table"), text("hash"), text("range")},
		"item":         {text("table"), text("flight"), text("seat"), text("guest"), free("note"), text("account"), points, free("reason")},
		"increment":    {text("table"), text("account"), points, free("reason")},
		"item-removal": {text("table"), text("flight"), text("seat"), text("account")},
	}}
	for _, name := range []string{"dynamodb-transact-write", "dynamodb-transact-write-condition"} {
		c.Contracts[name] = "items"
	}
	c.Tools["book_seats"] = Tool{Provider: "items", Makes: "item", Args: []Value{needed(text("flight")), many("seat"), needed(text("guest")), free("note")}}
	c.Tools["find_seats"] = Tool{Provider: "items", Args: []Value{needed(text("flight"))}}
	c.Tools["add_points"] = Tool{Provider: "items", Makes: "increment", Args: []Value{many("account"), points, free("reason")}}
}
