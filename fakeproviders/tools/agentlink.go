package tools

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
)

// What an answer on the agent link tells its caller (bench.Arrival.Told).
const (
	ToldDone        = "done"
	ToldNotExecuted = "not executed"
	ToldVague       = "vague error"
	ToldNothing     = "nothing"
)

// Told reads an answer as it passes the agent link: a JSON-RPC result as JSON or as an SSE stream, or
// plain JSON. Any error that does not say that nothing happened is a vague one; an answer that says
// nothing of a call (a list of tools, an empty body) tells nothing. With an empty transport the body says
// which it is: a link can carry tools of several transports.
func Told(transport bench.Transport, status int, body []byte) string {
	if transport == "" && looksPlain(body) {
		transport = bench.TransportJSON
	}
	if transport == bench.TransportProvider {
		return toldByStatus(status)
	}
	if transport == bench.TransportJSON {
		var a Answer
		readable := json.Unmarshal(body, &a) == nil
		switch {
		case readable && status/100 == 2 && a.settled():
			return ToldDone
		case readable && (a.Status == NotExecuted || a.Status == Refused):
			return ToldNotExecuted
		case status/100 != 2 || readable && a.Status != "":
			return ToldVague
		}
		return ToldNothing
	}
	if status/100 != 2 {
		return ToldVague
	}
	for _, message := range rpcMessages(body) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Error  json.RawMessage `json:"error"`
			Result *struct {
				Content           json.RawMessage `json:"content"`
				StructuredContent Answer          `json:"structuredContent"`
				IsError           bool            `json:"isError"`
			} `json:"result"`
		}
		if json.Unmarshal(message, &m) != nil || len(m.ID) == 0 {
			continue // a notification, or no JSON-RPC
		}
		switch {
		case m.Error != nil:
			return ToldVague
		case m.Result == nil || m.Result.Content == nil:
			continue
		case m.Result.StructuredContent.Status == NotExecuted || m.Result.StructuredContent.Status == Refused:
			return ToldNotExecuted
		case m.Result.IsError:
			return ToldVague
		}
		return ToldDone
	}
	return ToldNothing
}

// toldByStatus is what a provider's own answer tells: a refusal says that nothing was done, but for one that
// asks to come again (RFC 9110, 15.5; RFC 6585, 4).
func toldByStatus(status int) string {
	switch {
	case status/100 == 2:
		return ToldDone
	case status/100 == 4 && !slices.Contains([]int{http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests}, status):
		return ToldNotExecuted
	}
	return ToldVague
}

// looksPlain says whether a body is a JSON object but no JSON-RPC message.
func looksPlain(body []byte) bool {
	var m map[string]json.RawMessage
	if json.Unmarshal(body, &m) != nil {
		return false
	}
	_, rpc := m["jsonrpc"]
	return !rpc
}

// rpcMessages are the JSON-RPC messages of a body: the body itself, or the data of each SSE event.
func rpcMessages(body []byte) [][]byte {
	trimmed := bytes.TrimSpace(body)
	if len(trimmed) == 0 {
		return nil
	}
	if trimmed[0] == '{' {
		return [][]byte{trimmed}
	}
	var messages [][]byte
	var data []byte
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, maxBody)
	for lines.Scan() {
		line := lines.Bytes()
		if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(rest, []byte(" "))...)
			continue
		}
		if len(line) == 0 { // the end of an event
			messages, data = appendEvent(messages, data), nil
		}
	}
	return messages // an event without its end never came whole
}

func appendEvent(messages [][]byte, data []byte) [][]byte {
	if len(data) == 0 {
		return messages
	}
	return append(messages, data)
}

// ParseAgentRequest returns the reader of requests on the agent link for the tools that a workload
// offers. A call of a tool becomes a Call in business terms, with the JSON-RPC id as ID and the
// idempotency_key argument as Key. Everything else (server/discover, initialize, tools/list, a GET)
// becomes a Call with the method as Op.
func ParseAgentRequest(offered map[string]bench.ToolUse) func(bench.RawRequest) bench.Call {
	return func(r bench.RawRequest) bench.Call {
		path, _, _ := strings.Cut(r.Path, "?")
		name, plain := strings.CutPrefix(path, PathTools)
		if r.Method != http.MethodPost {
			return bench.Call{Op: r.Method}
		}
		if plain {
			call, args, err := readJSONCall(bytes.NewReader(r.Body))
			if err != nil {
				return bench.Call{Op: name}
			}
			return parseCall(offered, name, args, strings.Trim(string(call.RequestID), `"`))
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"params"`
		}
		if json.Unmarshal(r.Body, &m) != nil {
			return bench.Call{Op: r.Method}
		}
		if m.Method != "tools/call" {
			return bench.Call{Op: m.Method, ID: rpcID(r.Body)}
		}
		args, err := readArguments(m.Params.Arguments)
		if err != nil {
			return bench.Call{Op: m.Params.Name, ID: rpcID(r.Body)}
		}
		return parseCall(offered, m.Params.Name, args, rpcID(r.Body))
	}
}

func parseCall(offered map[string]bench.ToolUse, name string, args arguments, id string) bench.Call {
	use, ok := offered[name]
	tool := find(name, use)
	if !ok || tool == nil {
		return bench.Call{Op: name, ID: id}
	}
	call := tool.Parse(args)
	call.ID = id
	return call
}
