package agent

import (
	"reflect"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sixthcopy/sixthcopy/bench"
)

func TestSpelling(t *testing.T) {
	th := &Through{As: map[string]Spelling{"refund_order": {Tool: "refund", Args: map[string]string{"order": "payment_intent"}, Receipt: "id"}}}
	name, args, receipt := th.spell("refund_order", map[string]any{"order": "4821", "amount": 1})
	if want := map[string]any{"payment_intent": "4821", "amount": 1}; name != "refund" || receipt != "id" || !reflect.DeepEqual(args, want) {
		t.Errorf("%s %v %s, expected refund %v id", name, args, receipt, want)
	}
	if name, args, _ := th.spell("list_refunds", map[string]any{"order": "4821"}); name != "list_refunds" || args["order"] != "4821" {
		t.Errorf("%s %v: a tool that map does not name is spelt alike", name, args)
	}
}

// An identity that the server's schema has no argument for is not offered to the agent.
func TestTermsThroughAServer(t *testing.T) {
	offered := bench.OfferedTool{Name: "refund_order", TakesKey: true, TakesRef: true, Arguments: []string{"amount", "order"}, Contract: bench.OfferedContract{KeyRetentionS: 60, SavesFailures: true}}
	schema := func(names ...string) any {
		properties := map[string]any{}
		for _, n := range names {
			properties[n] = map[string]any{"type": "string"}
		}
		return map[string]any{"properties": properties}
	}
	th := &Through{As: map[string]Spelling{"refund_order": {Args: map[string]string{"idempotency_key": "key"}}}}
	with := th.terms(offered, schema("key", "amount"))
	if !with.TakesKey || with.TakesRef || with.Contract.KeyRetentionS != 60 || !reflect.DeepEqual(with.Arguments, []string{"amount"}) {
		t.Errorf("with a key: %+v", with)
	}
	without := th.terms(offered, schema("idempotency_key", "reference"))
	if without.TakesKey || !without.TakesRef || without.Contract.KeyRetentionS != 0 || without.Contract.SavesFailures {
		t.Errorf("without: %+v", without)
	}
}

func TestReceiptOfAnAnswer(t *testing.T) {
	text := func(s string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: s}} }
	for _, c := range []struct {
		name, path, want string
		result           mcp.CallToolResult
	}{
		{"structured", "id", "re_1", mcp.CallToolResult{StructuredContent: map[string]any{"id": "re_1"}}},
		{"a path", "result.id", "re_2", mcp.CallToolResult{StructuredContent: map[string]any{"result": map[string]any{"id": "re_2"}}}},
		{"text that is JSON", "id", "re_3", mcp.CallToolResult{Content: text(`{"id":"re_3"}`)}},
		{"free text", "id", "", mcp.CallToolResult{Content: text("made re_4")}},
		{"not there", "id", "", mcp.CallToolResult{StructuredContent: map[string]any{"other": "re_5"}}},
	} {
		if got := pick(&c.result, c.path); got != c.want {
			t.Errorf("%s: %q, expected %q", c.name, got, c.want)
		}
	}
}
