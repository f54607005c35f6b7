package contracts

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// TestContractsAreWhole checks names, kinds and the words of each dimension.
func TestContractsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	word := func(name, field, value string, known ...string) {
		if value != "" && !slices.Contains(known, value) {
			t.Errorf("contract %s: %s is %q; known: %s", name, field, value, strings.Join(known, ", "))
		}
	}
	for _, c := range All {
		if seen[c.Name] {
			t.Errorf("contract %s is there twice", c.Name)
		}
		seen[c.Name] = true
		if got, ok := Find(c.Name); !ok || !reflect.DeepEqual(got, c) {
			t.Errorf("contract %s is not found", c.Name)
		}
		word(c.Name, "provider", c.Provider, "queue", "items", "instances", "snapshots", "chat", "repository", "payments", "outbound", "tasks", "tickets", "mail", "lines", "files", "rows", "orders", "calendar", "cluster")
		if c.Provider == "" || c.Summary == "" || c.Source == "" {
			t.Errorf("contract %s lacks its provider, summary or source", c.Name)
		}
		if lies := strings.HasPrefix(c.Summary, "Lies: "); lies == reflect.DeepEqual(c.Advertised, c.Actual) {
			t.Errorf("contract %s: its summary and its parts disagree on whether it lies", c.Name)
		}
		for part, terms := range map[string]bench.Terms{"advertised": c.Advertised, "actual": c.Actual} {
			k, l := terms.Key, terms.LookUp
			scope, _, _ := strings.Cut(k.Scope, "+")
			word(c.Name, part+" scope", scope, "account", "everybody")
			word(c.Name, part+" syntax", k.Syntax, "sf-string", "uuid")
			word(c.Name, part+" clock start", k.ClockStart, "first-seen", "completed", "resource-end")
			word(c.Name, part+" fingerprint", k.Fingerprint, "none", "params", "params+path")
			word(c.Name, part+" mismatch", k.Mismatch, "400", "409", "422", "conflict", "silent")
			word(c.Name, part+" concurrent rule", k.Concurrent, "conflict", "wait", "execute")
			word(c.Name, part+" saves", k.Saves, "success", "final", "executed", "resumes")
			word(c.Name, part+" replay", k.Replay, "stored", "current", "conflict")
			word(c.Name, part+" note of keys in work", k.InFlight, "memory", "durable")
			word(c.Name, part+" look-up", l.Kind, "none", "authoritative", "bounded", "lags")
			word(c.Name, part+" look-up by", l.By, "identity", "attributes")
			if k.Location != "" && (k.Retention <= 0 || k.Fingerprint == "" || k.Concurrent == "" || k.Saves == "" || k.Replay == "") {
				t.Errorf("contract %s: the %s key leaves a dimension open", c.Name, part)
			}
			if (l.Kind == "bounded") != (l.Lag > 0 && l.Kind != "lags") {
				t.Errorf("contract %s: a bounded look-up, and no other but one that lags, has a lag", c.Name)
			}
		}
	}
}

// TestStripeAndECS holds the two documented contracts against what their sources say.
func TestStripeAndECS(t *testing.T) {
	s, _ := Find("stripe-v1")
	if k := s.Actual.Key; k.Retention != 24*time.Hour || k.MaxLength != 255 || k.Saves != "executed" || k.Mismatch != "400" || k.Replay != "stored" {
		t.Errorf("stripe-v1: %+v", k)
	}
	e, _ := Find("ecs-run-task")
	if k := e.Actual.Key; k.Retention != 24*time.Hour || k.MaxLength != 64 || k.Saves != "success" || k.Mismatch != "conflict" || k.Scope != "account+cluster" {
		t.Errorf("ecs-run-task: %+v", k)
	}
	if l := e.Advertised.LookUp; l.Kind != "bounded" || l.Lag != 5*time.Minute || l.By != "identity" {
		t.Errorf("ecs-run-task look-up: %+v", l)
	}
}
