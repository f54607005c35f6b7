package drive

import (
	"errors"
	"os/exec"
	"reflect"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/systems/kit"
)

func TestClaimsOfACommand(t *testing.T) {
	two := bench.TurnOrder{Calls: []bench.GivenCall{{Ordinal: 1}, {Ordinal: 2}}}
	failed := exec.Command("sh", "-c", "exit 3").Run()
	done, unknown := kit.Done(), kit.Unknown("the command ended with exit status 3")
	for _, c := range []struct {
		name string
		err  error
		out  string
		want []kit.Claim
	}{
		{"status 0 and no words", nil, "", []kit.Claim{done, done}},
		{"status 0 and free text", nil, "Refunded.\n", []kit.Claim{done, done}},
		{"another status", failed, "", []kit.Claim{unknown, unknown}},
		{"it did not end", errors.New("signal"), "", []kit.Claim{kit.Unknown("the command: signal"), kit.Unknown("the command: signal")}},
		{"one object for all", nil, "text\n{\"outcome\":\"done\",\"receipts\":[\"re_1\"]}\n", []kit.Claim{kit.Done("re_1"), kit.Done("re_1")}},
		{"the object counts, not the status", failed, `{"outcome":"failed","detail":"no"}`, []kit.Claim{kit.Failed("no"), kit.Failed("no")}},
		{"call by call", nil, `{"calls":[{"call":2,"outcome":"partial","receipts":["a"]}]}`, []kit.Claim{kit.Unknown("the command says nothing of this call"), {Outcome: bench.Partial, Receipts: []string{"a"}}}},
		{"an outcome that is none", failed, `{"outcome":"fine"}`, []kit.Claim{unknown, unknown}},
		{"the object is not in the last line", nil, "{\"outcome\":\"failed\"}\nbye\n", []kit.Claim{done, done}},
	} {
		if got := claims(two, c.err, []byte(c.out)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, expected %+v", c.name, got, c.want)
		}
	}
}

func TestPlaceholders(t *testing.T) {
	values := map[string]string{"say": "Refund {order}", "tools": "http://x"}
	if got, want := fill(`{"url": "{tools}", "say": "{say}", "other": "{port}"}`, values), `{"url": "http://x", "say": "Refund {order}", "other": "{port}"}`; got != want {
		t.Errorf("%s, expected %s", got, want)
	}
	if got := Unknown(`{"a": {"b": "{tools} {sya}"}}`, nil); !reflect.DeepEqual(got, []string{"{sya}"}) {
		t.Errorf("unknown placeholders %v, expected {sya}", got)
	}
	if got := Unknown("{say}", ofTurn); !reflect.DeepEqual(got, []string{"{say}"}) {
		t.Errorf("a turn's words in a server's command: %v, expected {say}", got)
	}
}

func TestToolsOverPlainJSONAreReachedOverMCP(t *testing.T) {
	if got := mcpAddress(bench.OfferedTool{Address: "http://h:1", Transport: bench.TransportJSON}); got != "http://h:1/mcp" {
		t.Errorf("address %s, expected http://h:1/mcp", got)
	}
	if got := mcpAddress(bench.OfferedTool{Address: "http://h:1/mcp-sessions", Transport: bench.TransportMCPSessions}); got != "http://h:1/mcp-sessions" {
		t.Errorf("address %s, expected it as it is", got)
	}
}
