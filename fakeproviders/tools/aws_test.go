package tools

import (
	"reflect"
	"slices"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
)

// onFake raises a tool server before a fake that keeps a contract, and the fake's clock.
func onFake(t *testing.T, contract string, tools map[string]bench.ToolUse, memory bool) (bench.ToolServer, *stoppedClock) {
	t.Helper()
	c, ok := contracts.Find(contract)
	if !ok {
		t.Fatalf("contract %s is not known", contract)
	}
	clock := &stoppedClock{}
	fake, err := fakeproviders.Raise(withDeadline(t), bench.ProviderSpec{Kind: c.Provider, Contract: c, Dir: t.TempDir(), Gate: open{}, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fake.Close() })
	address, err := fake.Listen("provider/1")
	if err != nil {
		t.Fatal(err)
	}
	s := raise(t, newTestPool(t), bench.ToolServerConfig{ProviderKind: c.Provider, Provider: address, Tools: tools, Memory: memory})
	t.Cleanup(func() { s.Release() })
	return s, clock
}

// A call of which the provider did a part, and said so, is partial in whatever style the tool words its
// errors, unless it lies; it is no error; and it is remembered.
func TestDoneInPart(t *testing.T) {
	for _, c := range []struct{ tool, contract, args string }{
		{"run_task", "ecs-run-task-full", `{"family":"f","count":3}`},
		{"run_instances", "ec2-run-instances-full", `{"image":"ami-1","count":3,"minimum":1}`},
	} {
		for style, want := range map[bench.ErrorStyle]Status{bench.ErrorsTyped: Partial, bench.ErrorsVague: Partial, bench.ErrorsLying: NotExecuted} {
			s, _ := onFake(t, c.contract, map[string]bench.ToolUse{c.tool: {Errors: style, Key: bench.KeyArgument}}, false)
			args := decode(t, c.args)
			args[keyArgument] = "k"
			status, first := post(t, s, c.tool, args, "", "")
			if first.Status != want || want == Partial && (status != 200 || len(first.Receipts) != 2 || first.Message == "") {
				t.Errorf("%s, %s: %d %+v, expected %s with two receipts", c.tool, style, status, first, want)
			}
			if _, again := post(t, s, c.tool, args, "", ""); again.Status != want || !slices.Equal(again.Receipts, first.Receipts) {
				t.Errorf("%s, %s: again %+v, expected the same", c.tool, style, again)
			}
		}
		s, _ := onFake(t, c.contract, map[string]bench.ToolUse{c.tool: {}}, true)
		_, first := post(t, s, c.tool, decode(t, c.args), "call-1", "")
		if _, again := post(t, s, c.tool, decode(t, c.args), "call-1", ""); len(first.Receipts) != 2 || !reflect.DeepEqual(again, first) {
			t.Errorf("%s: from memory %+v, expected %+v", c.tool, again, first)
		}
		args := decode(t, c.args)
		args["minimum"] = 3
		if _, none := post(t, s, c.tool, args, "call-2", ""); c.tool == "run_instances" && none.Status != "" {
			t.Errorf("three at least where there is room for two: %+v, expected an error", none)
		}
	}
}

// What the look-ups of AWS's families show.
func TestAWSLookUps(t *testing.T) {
	for _, c := range []struct {
		contract, maker, args, finder, asked string
		found                                map[string]any // but for the id
	}{
		{"ecs-create-service", "create_service", `{"name":"n","family":"f:3","desired":2}`, "find_service", `{"name":"n"}`,
			map[string]any{"name": "n", "family": "f", "desired": 2.0}},
		{"ecs-create-service", "create_service", `{"name":"n","family":"f","cluster":"c"}`, "find_service", `{"name":"n","cluster":"c"}`,
			map[string]any{"name": "n", "family": "f", "desired": 1.0, "cluster": "c"}},
		{"ec2-run-instances", "run_instances", `{"image":"ami-1","type":"t3.small","zone":"us-east-1c","name":"<n&>","reference":"r"}`, "find_instances", `{"reference":"r"}`,
			map[string]any{"image": "ami-1", "type": "t3.small", "zone": "us-east-1c", "name": "<n&>", "reference": "r", "state": "running"}},
		{"ebs-start-snapshot-described", "start_snapshot", `{"size":8,"description":"d","reference":"r"}`, "find_snapshots", `{"reference":"r"}`,
			map[string]any{"size": 8.0, "description": "d", "reference": "r", "state": "error"}}, // an hour later, and not completed
	} {
		s, clock := onFake(t, c.contract, map[string]bench.ToolUse{c.maker: {Errors: bench.ErrorsTyped}, c.finder: {Errors: bench.ErrorsTyped}}, false)
		_, made := post(t, s, c.maker, decode(t, c.args), "", "")
		if _, early := post(t, s, c.finder, decode(t, c.asked), "", ""); early.Status != Done || len(early.Found) != 0 {
			t.Errorf("%s at once: %+v, expected nothing", c.finder, early)
		}
		clock.hours.Store(2)
		_, got := post(t, s, c.finder, decode(t, c.asked), "", "")
		if len(made.Receipts) != 1 || len(got.Found) != 1 || got.Found[0]["id"] != made.Receipts[0] {
			t.Errorf("%s: %+v, expected the object of %+v", c.finder, got, made)
			continue
		}
		if delete(got.Found[0], "id"); !reflect.DeepEqual(got.Found[0], c.found) {
			t.Errorf("%s: found %v, expected %v", c.finder, got.Found[0], c.found)
		}
	}
	s, _ := onFake(t, "ebs-start-snapshot", map[string]bench.ToolUse{"find_snapshots": {Errors: bench.ErrorsTyped}}, false)
	if _, got := post(t, s, "find_snapshots", map[string]any{"reference": "r"}, "", ""); got.Status != Refused {
		t.Errorf("a look-up that is not there: %+v, expected a refusal", got)
	}
}
