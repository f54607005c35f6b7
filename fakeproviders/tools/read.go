package tools

import (
	"encoding/json"
	"net/http"
	"slices"
)

// This file reads and writes what the provider families have in common.

// created reads an object that a mutation answers: the value under id is the receipt.
func created(o map[string]any, id string) outcome {
	receipt, _ := o[id].(string)
	if receipt == "" {
		return outcome{status: Unknown, message: "the provider's answer names no " + id}
	}
	return outcome{status: Done, receipts: []string{receipt}}
}

// order is the order in which a provider lists objects.
type order bool

const (
	oldestFirst order = false
	newestFirst order = true
)

// listed reads the objects under name of a list; found makes the object that agents see of each.
func listed(r response, name string, found func(map[string]any) map[string]any, o order) outcome {
	list, ok := r.object()
	objects, isList := list[name].([]any)
	if !ok || !isList {
		return outcome{status: Unknown, message: "the provider's answer has no list of " + name}
	}
	all := []map[string]any{}
	for _, each := range objects {
		if object, ok := each.(map[string]any); ok {
			all = append(all, found(object))
		}
	}
	if o == newestFirst {
		slices.Reverse(all)
	}
	return outcome{status: Done, found: all}
}

// pickGiven copies the fields of these names that are neither absent, null nor empty.
func pickGiven(o map[string]any, names ...string) map[string]any {
	picked := map[string]any{}
	for _, name := range names {
		if v := o[name]; v != nil && v != "" {
			picked[name] = v
		}
	}
	return picked
}

// jsonRequest is a request to one of the plain JSON providers.
func jsonRequest(method, path, about string, body map[string]any) request {
	r := request{method: method, path: path, about: about, header: http.Header{}, keyed: keyHeader}
	if body != nil {
		r.header.Set("Content-Type", "application/json")
		r.body, _ = json.Marshal(body) // texts and numbers only: it cannot fail
	}
	return r
}

// readCreated reads the answer of a plain JSON provider to a mutation. Where something is in the way
// that already exists, its id is the receipt of the conflict.
func readCreated(r response) outcome {
	o, _ := r.object()
	if r.status/100 == 2 {
		return created(o, "id")
	}
	problem, _ := o["error"].(map[string]any)
	message, _ := problem["message"].(string)
	if r.status == http.StatusBadRequest && problem["code"] == "idempotency_key_reused" {
		return outcome{status: Conflict, message: message}
	}
	failed := r.failed(message)
	if existing, ok := o["existing"].(string); ok && failed.status == Conflict {
		failed.receipts = []string{existing}
	}
	return failed
}

// readListed reads a list of a plain JSON provider: the fields of these names of each object under list.
func readListed(list string, fields ...string) func(response) outcome {
	return func(r response) outcome {
		if r.status/100 != 2 {
			return readCreated(r)
		}
		return listed(r, list, func(o map[string]any) map[string]any {
			return pickGiven(o, append([]string{"id"}, fields...)...)
		}, oldestFirst)
	}
}
