package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/stripe/stripe-go/v85"
)

// stripeMethod finds the operation that a name says, "payment_intents.capture" or "v2.core.event_destinations.create",
// among the services of the client: V1PaymentIntents.Capture. A list is read to its end, over all of its pages.
func stripeMethod(name string) stripeOp {
	return func(s *stripe.Client, c call) (any, *stripe.APIResponse, error) {
		path := strings.Split(name, ".")
		if path[0] != "v2" {
			path = append([]string{"v1"}, path...)
		}
		service := reflect.ValueOf(s).Elem().FieldByName(camel(path[:len(path)-1]...))
		if !service.IsValid() {
			return nil, nil, fmt.Errorf("stripe-go has no service %s", camel(path[:len(path)-1]...))
		}
		method := service.MethodByName(camel(path[len(path)-1]))
		if !method.IsValid() {
			return nil, nil, fmt.Errorf("stripe-go has no method %s", name)
		}
		kind := method.Type()
		params := reflect.New(kind.In(kind.NumIn() - 1).Elem())
		in := []reflect.Value{reflect.ValueOf(context.Background())}
		id, _ := c.Options["id"].(string)
		if kind.NumIn() == 3 {
			in = append(in, reflect.ValueOf(id))
		} else if f := params.Elem().FieldByName("ID"); f.IsValid() {
			f.Set(reflect.ValueOf(&id))
		}
		if path[len(path)-1] == "list" {
			return stripeList(method, append(in, params), c)
		}
		common := params.Elem().FieldByName("Params").Addr().Interface().(*stripe.Params)
		if err := stripeParams(c, params.Interface(), common); err != nil {
			return nil, nil, err
		}
		out := method.Call(append(in, params))
		if err, _ := out[1].Interface().(error); err != nil {
			return nil, nil, err
		}
		last, _ := out[0].Elem().FieldByName("LastResponse").Interface().(*stripe.APIResponse)
		return out[0].Interface(), last, nil
	}
}

func stripeList(method reflect.Value, in []reflect.Value, c call) (any, *stripe.APIResponse, error) {
	params := in[len(in)-1]
	into := params.Interface()
	if list := params.Elem().FieldByName("ListParams"); list.IsValid() { // of API v1
		into = list.Addr().Interface()
	}
	if err := json.Unmarshal(c.Args, into); err != nil {
		return nil, nil, err
	}
	ids, err := []string{}, error(nil)
	all := method.Call(in)[0].MethodByName("All").Call([]reflect.Value{reflect.ValueOf(context.Background())})[0]
	next := reflect.MakeFunc(all.Type().In(0), func(each []reflect.Value) []reflect.Value {
		if err, _ = each[1].Interface().(error); err == nil {
			ids = append(ids, each[0].Elem().FieldByName("ID").String())
		}
		return []reflect.Value{reflect.ValueOf(err == nil)}
	})
	all.Call([]reflect.Value{next})
	return map[string]any{"ids": ids}, nil, err
}

// camel is a name of the API as Go writes it: "payment_intents" is PaymentIntents.
func camel(names ...string) string {
	s := ""
	for word := range strings.FieldsFuncSeq(strings.Join(names, "_"), func(r rune) bool { return r == '_' }) {
		s += strings.ToUpper(word[:1]) + word[1:]
	}
	return s
}
