package conformance

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
)

// flip changes what a provider does in one dimension of its contract. What it promises stays.
type flip struct {
	dimension string // its path in bench.Terms: "Key.Retention"
	contract  string
	words     string // "kept 1 h instead of 24 h"
	change    func(*bench.Terms)
}

// flips lists at least one flip for each dimension of a contract.
var flips = []flip{
	{"Key.Location", "stripe-v1", "the key is read from another header", func(t *bench.Terms) { t.Key.Location = "header:X-Idempotency-Key" }},
	{"Key.Location", "ecs-run-task", "no key at all", func(t *bench.Terms) { t.Key = bench.KeyTerms{} }},
	{"Key.MaxLength", "stripe-v1", "keys of any length", func(t *bench.Terms) { t.Key.MaxLength = 0 }},
	{"Key.Scope", "stripe-v1", "shared by all accounts", func(t *bench.Terms) { t.Key.Scope = "everybody" }},
	{"Key.Scope", "ecs-run-task", "not by cluster", func(t *bench.Terms) { t.Key.Scope = "account" }},
	{"Key.Fingerprint", "stripe-v1", "parameters are not compared", func(t *bench.Terms) { t.Key.Fingerprint = "none" }},
	{"Key.Fingerprint", "stripe-v1", "the endpoint is not compared", func(t *bench.Terms) { t.Key.Fingerprint = "params" }},
	{"Key.Ignores", "stripe-v1", "the amount is not compared", func(t *bench.Terms) { t.Key.Ignores = []string{"amount"} }},
	{"Key.Mismatch", "stripe-v1", "a 409", func(t *bench.Terms) { t.Key.Mismatch = "409" }},
	{"Key.Mismatch", "ecs-run-task", "silent", func(t *bench.Terms) { t.Key.Mismatch = "silent" }},
	{"Key.Retention", "stripe-v1", "1 h", func(t *bench.Terms) { t.Key.Retention = time.Hour }},
	{"Key.Retention", "stripe-v1", "30 days", func(t *bench.Terms) { t.Key.Retention = 30 * 24 * time.Hour }},
	{"Key.ClockStart", "ecs-run-task", "first sight alone counts", func(t *bench.Terms) { t.Key.ClockStart = "first-seen" }},
	{"Key.AfterEnd", "ecs-run-task", "forgotten when the task stops", func(t *bench.Terms) { t.Key.AfterEnd = 0 }},
	{"Key.AfterEnd", "ecs-run-task", "1 day", func(t *bench.Terms) { t.Key.AfterEnd = 24 * time.Hour }},
	{"Key.Concurrent", "stripe-v1", "the second waits", func(t *bench.Terms) { t.Key.Concurrent = "wait" }},
	{"Key.Concurrent", "stripe-v1", "the second is executed", func(t *bench.Terms) { t.Key.Concurrent = "execute" }},
	{"Key.InFlight", "stripe-v1", "a crash leaves the claim", func(t *bench.Terms) { t.Key.InFlight = "durable" }},
	{"Key.Saves", "stripe-v1", "successes only", func(t *bench.Terms) { t.Key.Saves = "success" }},
	{"Key.FailedFor", "stripe-v1", "failures are kept 1 h", func(t *bench.Terms) { t.Key.FailedFor = time.Hour }},
	{"Key.ClaimFor", "stripe-v1-claim-left", "a claim that is left bars for 1 h", func(t *bench.Terms) { t.Key.ClaimFor = time.Hour }},
	{"Key.ClockStart", "stripe-v1", "from completion", func(t *bench.Terms) { t.Key.ClockStart = "completed" }},
	{"Key.Saves", "stripe-v2", "failures are kept, and replayed", func(t *bench.Terms) { t.Key.Saves = "executed" }},
	{"Key.Retention", "stripe-v2", "24 h", func(t *bench.Terms) { t.Key.Retention = 24 * time.Hour }},
	{"LookUp.Lag", "stripe-v2", "found at once", func(t *bench.Terms) { t.LookUp.Lag = 0 }},
	{"Key.Saves", "ecs-run-task", "failures too", func(t *bench.Terms) { t.Key.Saves = "executed" }},
	{"Key.Replay", "stripe-v1", "a conflict", func(t *bench.Terms) { t.Key.Replay = "conflict" }},
	{"Key.Marker", "stripe-v1", "no marker", func(t *bench.Terms) { t.Key.Marker = "" }},
	{"Key.ForgetsOnError", "stripe-v1", "a failure drops the key", func(t *bench.Terms) { t.Key.ForgetsOnError = true }},
	{"Key.LatestOnly", "stripe-v1", "only the latest key is remembered", func(t *bench.Terms) { t.Key.LatestOnly = true }},
	{"LookUp.Lag", "ecs-run-task", "found at once", func(t *bench.Terms) { t.LookUp.Lag = 0 }},
	{"LookUp.LagReads", "ecs-run-task", "two look-ups do not see it", func(t *bench.Terms) { t.LookUp.LagReads = 2 }},
	{"LookUp.Forgets", "ecs-run-task", "not found after 1 h", func(t *bench.Terms) { t.LookUp.Forgets = time.Hour }},
	{"Unique", "github", "two releases of one tag", func(t *bench.Terms) { delete(t.Unique, "release") }},
	{"Closes", "ecs-run-task", "tasks end by themselves after 30 min", func(t *bench.Terms) { t.Closes = 30 * time.Minute }},
	{"Capacity", "ecs-run-task", "room for one task of a call", func(t *bench.Terms) { t.Capacity = 1 }},
	{"LookUp.By", "ecs-run-task", "not found by startedBy", func(t *bench.Terms) { t.LookUp.By = "attributes" }},
	{"Key.Location", "slack-client-msg-id", "no key at all", func(t *bench.Terms) { t.Key = bench.KeyTerms{} }},
	{"Key.Scope", "slack-client-msg-id", "shared by all accounts", func(t *bench.Terms) { t.Key.Scope = "everybody" }},
	{"Key.Fingerprint", "slack-client-msg-id", "another text is refused", func(t *bench.Terms) { t.Key.Fingerprint, t.Key.Mismatch = "params", "400" }},
	{"Key.Retention", "slack-client-msg-id", "1 h", func(t *bench.Terms) { t.Key.Retention = time.Hour }},
	{"Key.Retention", "slack-client-msg-id", "30 days", func(t *bench.Terms) { t.Key.Retention = 30 * 24 * time.Hour }},
	{"Key.ClockStart", "slack-client-msg-id", "from the commit", func(t *bench.Terms) { t.Key.ClockStart = "completed" }},
	{"Key.Concurrent", "slack-client-msg-id", "a conflict", func(t *bench.Terms) { t.Key.Concurrent = "conflict" }},
	{"Key.Concurrent", "slack-client-msg-id", "the second is executed", func(t *bench.Terms) { t.Key.Concurrent = "execute" }},
	{"Key.Saves", "slack-client-msg-id", "failures too", func(t *bench.Terms) { t.Key.Saves = "executed" }},
	{"Key.Replay", "slack-client-msg-id", "the message as it was", func(t *bench.Terms) { t.Key.Replay = "stored" }},
	{"LookUp.LagReads", "slack-post-message", "found at once", func(t *bench.Terms) { t.LookUp.LagReads = 0 }},
	{"LookUp.LagReads", "github", "listed at once", func(t *bench.Terms) { t.LookUp.LagReads = 0 }},
	{"LookUp.Lag", "github-lagging-lists", "listed at once", func(t *bench.Terms) { t.LookUp.Lag = 0 }},
	{"LookUp.Lag", "github-lagging-lists", "listed after a day", func(t *bench.Terms) { t.LookUp.Lag = 24 * time.Hour }},
	{"Unique", "github", "nothing is unique", func(t *bench.Terms) { t.Unique = nil }},
	{"Unique", "github", "drafts are unique too", func(t *bench.Terms) {
		t.Unique = maps.Clone(t.Unique)
		t.Unique["draft"] = []string{"repository", "tag"}
	}},
	{"Unique", "github", "issues are unique by their title", func(t *bench.Terms) {
		t.Unique = maps.Clone(t.Unique)
		t.Unique["issue"] = []string{"repository", "title"}
	}},
	{"Key.Location", "sqs-fifo", "no ids at all", func(t *bench.Terms) { t.Key = bench.KeyTerms{} }},
	{"Key.MaxLength", "sqs-fifo", "ids of any length", func(t *bench.Terms) { t.Key.MaxLength = 0 }},
	{"Key.FromContent", "sqs-fifo-content", "the body is not looked at", func(t *bench.Terms) { t.Key.FromContent = false }},
	{"Key.FromContent", "sqs-fifo", "the body is looked at", func(t *bench.Terms) { t.Key.FromContent = true }},
	{"Key.Scope", "sqs-fifo", "by message group", func(t *bench.Terms) { t.Key.Scope = "account+queue+group" }},
	{"Key.Scope", "sqs-fifo", "shared by all queues", func(t *bench.Terms) { t.Key.Scope = "everybody" }},
	{"Key.Fingerprint", "sqs-fifo", "another body is refused", func(t *bench.Terms) { t.Key.Fingerprint, t.Key.Mismatch = "params", "400" }},
	{"Key.Retention", "sqs-fifo", "1 min", func(t *bench.Terms) { t.Key.Retention = time.Minute }},
	{"Key.Retention", "sqs-fifo", "1 h", func(t *bench.Terms) { t.Key.Retention = time.Hour }},
	{"Key.ClockStart", "sqs-fifo", "from the commit", func(t *bench.Terms) { t.Key.ClockStart = "completed" }},
	{"Key.Replay", "sqs-fifo", "a duplicate has a number of its own", func(t *bench.Terms) { t.Key.Replay = "current" }},
	{"Capacity", "sqs-fifo-throttled", "all of a batch are taken", func(t *bench.Terms) { t.Capacity = 0 }},
	{"Key.Location", "dynamodb-transact-write", "no token at all", func(t *bench.Terms) { t.Key = bench.KeyTerms{} }},
	{"Key.MaxLength", "dynamodb-transact-write", "tokens of any length", func(t *bench.Terms) { t.Key.MaxLength = 0 }},
	{"Key.Fingerprint", "dynamodb-transact-write", "parameters are not compared", func(t *bench.Terms) { t.Key.Fingerprint = "none" }},
	{"Key.Mismatch", "dynamodb-transact-write", "silent", func(t *bench.Terms) { t.Key.Mismatch = "silent" }},
	{"Key.Retention", "dynamodb-transact-write", "1 min", func(t *bench.Terms) { t.Key.Retention = time.Minute }},
	{"Key.Retention", "dynamodb-transact-write", "1 h", func(t *bench.Terms) { t.Key.Retention = time.Hour }},
	{"Key.ClockStart", "dynamodb-transact-write", "from first sight", func(t *bench.Terms) { t.Key.ClockStart = "first-seen" }},
	{"Key.Concurrent", "dynamodb-transact-write", "the second waits", func(t *bench.Terms) { t.Key.Concurrent = "wait" }},
	{"Key.Concurrent", "dynamodb-transact-write", "the second is executed", func(t *bench.Terms) { t.Key.Concurrent = "execute" }},
	{"Key.InFlight", "dynamodb-transact-write", "a crash leaves the claim", func(t *bench.Terms) { t.Key.InFlight = "durable" }},
	{"Key.Saves", "dynamodb-transact-write", "failures too", func(t *bench.Terms) { t.Key.Saves = "executed" }},
	{"Key.Replay", "dynamodb-transact-write", "the first answer again", func(t *bench.Terms) { t.Key.Replay = "stored" }},
	{"Key.LatestOnly", "dynamodb-transact-write", "only the latest token is remembered", func(t *bench.Terms) { t.Key.LatestOnly = true }},
	{"Key.Scope", "ec2-run-instances", "not by zone", func(t *bench.Terms) { t.Key.Scope = "account+region" }},
	{"Key.Scope", "ec2-run-instances", "not by region", func(t *bench.Terms) { t.Key.Scope = "account+zone" }},
	{"Key.Mismatch", "ec2-run-instances", "silent", func(t *bench.Terms) { t.Key.Mismatch = "silent" }},
	{"Key.Mismatch", "ec2-run-instances-silent", "refused", func(t *bench.Terms) { t.Key.Mismatch = "400" }},
	{"Key.Retention", "ec2-run-instances", "24 h", func(t *bench.Terms) { t.Key.Retention = 24 * time.Hour }},
	{"Key.AfterEnd", "ec2-run-instances", "forgotten when it is terminated", func(t *bench.Terms) { t.Key.AfterEnd = 0 }},
	{"Key.Replay", "ec2-run-instances", "the first answer again", func(t *bench.Terms) { t.Key.Replay = "stored" }},
	{"Key.Concurrent", "ec2-run-instances", "the second waits", func(t *bench.Terms) { t.Key.Concurrent = "wait" }},
	{"Capacity", "ec2-run-instances-full", "room for all", func(t *bench.Terms) { t.Capacity = 0 }},
	{"LookUp.Lag", "ec2-run-instances", "found at once", func(t *bench.Terms) { t.LookUp.Lag = 0 }},
	{"Key.Scope", "ebs-start-snapshot", "not by region", func(t *bench.Terms) { t.Key.Scope = "account" }},
	{"Key.Mismatch", "ebs-start-snapshot", "silent", func(t *bench.Terms) { t.Key.Mismatch = "silent" }},
	{"Key.Retention", "ebs-start-snapshot", "1 h", func(t *bench.Terms) { t.Key.Retention = time.Hour }},
	{"LookUp.Lag", "ebs-start-snapshot-described", "found at once", func(t *bench.Terms) { t.LookUp.Lag = 0 }},
	{"Unique", "ecs-create-service", "names are not compared", func(t *bench.Terms) { t.Unique = nil }},
	{"Closes", "ecs-run-task-short", "tasks do not end", func(t *bench.Terms) { t.Closes = 0 }},
	{"Capacity", "ecs-run-task-full", "room for all", func(t *bench.Terms) { t.Capacity = 0 }},
	{"LookUp.Kind", "ecs-run-task", "no look-up", func(t *bench.Terms) { t.LookUp = bench.LookUpTerms{} }},
	{"Unique", "google-calendar-own-id", "ids are not compared", func(t *bench.Terms) { t.Unique = nil }},
	{"Unique", "kubernetes-by-name", "names are not compared", func(t *bench.Terms) { t.Unique = nil }},
	{"UniqueLag", "google-calendar-own-id", "a young event is overlooked", func(t *bench.Terms) { t.UniqueLag = time.Minute }},
	{"UniqueLag", "google-calendar-own-id-slips", "no event is overlooked", func(t *bench.Terms) { t.UniqueLag = 0 }},
	{"NaturallyIdempotent", "kubernetes-apply", "every apply is written", func(t *bench.Terms) { t.NaturallyIdempotent = false }},
	{"LookUp.Lag", "google-calendar", "found at once", func(t *bench.Terms) { t.LookUp.Lag = 0 }},
	{"LookUp.LagReads", "google-calendar", "found at the second look", func(t *bench.Terms) { t.LookUp.LagReads = 1 }},
	{"LookUp.Forgets", "google-calendar", "forgotten after half a minute", func(t *bench.Terms) { t.LookUp.Forgets = 30 * time.Second }},
	{"Key.Location", "square-payments", "the key is read from a header", func(t *bench.Terms) { t.Key.Location = "header:Idempotency-Key" }},
	{"Key.Required", "square-payments", "a payment needs no key", func(t *bench.Terms) { t.Key.Required = false }},
	{"Key.MaxLength", "square-payments", "keys of any length", func(t *bench.Terms) { t.Key.MaxLength = 0 }},
	{"Key.Mismatch", "square-payments", "silent", func(t *bench.Terms) { t.Key.Mismatch = "silent" }},
	{"Key.Retention", "adyen-payments", "1 day", func(t *bench.Terms) { t.Key.Retention = 24 * time.Hour }},
	{"Key.Concurrent", "adyen-payments", "the second is executed", func(t *bench.Terms) { t.Key.Concurrent = "execute" }},
	{"Key.Replay", "gocardless-payments", "the payment, and no conflict", func(t *bench.Terms) { t.Key.Replay = "stored" }},
	{"Key.Fingerprint", "gocardless-payments", "other parameters are refused with 422", func(t *bench.Terms) { t.Key.Fingerprint, t.Key.Mismatch = "params", "422" }},
	{"Key.Concurrent", "gocardless-payments", "the second is executed", func(t *bench.Terms) { t.Key.Concurrent = "execute" }},
	{"Key.Syntax", "azure-repeatable", "any text is an id", func(t *bench.Terms) { t.Key.Syntax = "" }},
	{"Key.Retention", "azure-repeatable", "an hour's window", func(t *bench.Terms) { t.Key.Retention = time.Hour }},
	{"Key.Saves", "azure-repeatable", "a 500 is kept", func(t *bench.Terms) { t.Key.Saves = "executed" }},
	{"Key.Saves", "azure-repeatable", "a 422 is not kept", func(t *bench.Terms) { t.Key.Saves = "success" }},
	{"Key.Marker", "increase-transfers", "no marker", func(t *bench.Terms) { t.Key.Marker = "" }},
	{"Key.Mismatch", "increase-transfers", "a 400", func(t *bench.Terms) { t.Key.Mismatch = "400" }},
	{"Key.LatestOnly", "increase-transfers", "only the latest key is remembered", func(t *bench.Terms) { t.Key.LatestOnly = true }},
	{"LookUp.Kind", "increase-transfers", "no look-up by key", func(t *bench.Terms) { t.LookUp = bench.LookUpTerms{} }},
}

// silent are the dimensions that no client can see, and why.
var silent = map[string]string{
	"CommitsWithin": "a promise about calls that a gate holds back; the provider itself holds none",
}

// dimensions lists the fields of bench.Terms by their paths.
func dimensions(of reflect.Type, prefix string) []string {
	var all []string
	for i := range of.NumField() {
		f := of.Field(i)
		if f.Type.Kind() == reflect.Struct {
			all = append(all, dimensions(f.Type, prefix+f.Name+".")...)
			continue
		}
		all = append(all, prefix+f.Name)
	}
	return all
}

// TestFlips changes what a provider does, one dimension at a time, and wants a scenario that notices.
func TestFlips(t *testing.T) {
	listed := map[string]bool{}
	for _, f := range flips {
		listed[f.dimension] = true
	}
	for _, d := range dimensions(reflect.TypeFor[bench.Terms](), "") {
		switch {
		case !listed[d] && silent[d] == "":
			t.Errorf("no flip for the dimension %s of bench.Terms: add one to flips, with a scenario that notices it", d)
		case listed[d] && silent[d] != "":
			t.Errorf("dimension %s has a flip and is listed as one that nobody can see", d)
		}
		delete(listed, d)
	}
	for _, d := range slices.Sorted(maps.Keys(listed)) {
		t.Errorf("flips name a dimension that bench.Terms does not have: %s", d)
	}

	all, complete := ready(t, scenarios())
	slices.SortStableFunc(all, func(a, b scenario) int { return btoi(a.slow) - btoi(b.slow) })
	kids := newChildren(t)
	caught := make([]string, len(flips))
	wrong := make([]error, len(flips))
	room := make(chan struct{}, atOnce)
	for i, f := range flips {
		room <- struct{}{}
		go func() {
			caught[i], wrong[i] = f.caughtBy(all, kids)
			<-room
		}()
	}
	for range atOnce {
		room <- struct{}{}
	}
	for i, f := range flips {
		t.Run(f.dimension+"/"+f.contract+"/"+f.words, func(t *testing.T) {
			switch {
			case wrong[i] != nil:
				t.Error(wrong[i])
			case caught[i] == "" && complete:
				t.Errorf("no scenario of %s notices it", f.contract)
			case caught[i] == "":
				t.Skip("nothing noticed it, but not every scenario was played: run make clients, and without -short or -only")
			}
		})
	}
	if complete {
		section(t, "flips", flipTable(caught))
	}
}

// flipTable renders who noticed what, dimension by dimension as bench.Terms has them.
func flipTable(caught []string) string {
	rows := "| dimension | contract | what the provider does instead | noticed by |\n|---|---|---|---|\n"
	for _, d := range dimensions(reflect.TypeFor[bench.Terms](), "") {
		for i, f := range flips {
			if f.dimension == d {
				rows += fmt.Sprintf("| %s | %s | %s | %s |\n", f.dimension, f.contract, cell(f.words), cell(caught[i]))
			}
		}
		if silent[d] != "" {
			rows += fmt.Sprintf("| %s | | | nobody: %s |\n", d, silent[d])
		}
	}
	return rows
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// on changes terms, and nothing of those that others hold: maps and lists are copied first.
func (f flip) on(t *bench.Terms) {
	t.Unique, t.Key.Ignores = maps.Clone(t.Unique), slices.Clone(t.Key.Ignores)
	f.change(t)
}

// caughtBy plays the scenarios of the flip's contract until one notices, and says which.
func (f flip) caughtBy(all []scenario, kids *children) (string, error) {
	c, ok := contracts.Find(f.contract)
	if !ok {
		return "", fmt.Errorf("contract %q is not there", f.contract)
	}
	was := fmt.Sprintf("%+v", c.Actual)
	f.on(&c.Actual)
	if fmt.Sprintf("%+v", c.Actual) == was {
		return "", fmt.Errorf("it changes nothing in %s", f.contract)
	}
	for _, s := range all {
		if s.contract != f.contract {
			continue
		}
		o := s.play(kids, f.on)
		if errors.As(o.err, new(broken)) {
			return "", fmt.Errorf("%s: %w", s.id(), o.err)
		}
		if s.wrong(o) == nil {
			continue
		}
		if o := s.play(kids, nil); s.wrong(o) != nil {
			return "", fmt.Errorf("%s fails with the contract as it is, so it notices nothing: %w", s.id(), s.wrong(o))
		}
		return s.client + ": " + s.name, nil
	}
	return "", nil
}
