package links

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// events follows an event stream (WHATWG HTML, server-sent events) through its content. Lines end with
// CR, LF or both; an empty line ends an event.
type events struct {
	line  []byte // of the line that is not whole yet
	data  []byte // of the event that is not whole yet: its data lines, joined by line feeds
	has   bool   // the event has a data line
	cr    bool   // the byte before was a CR
	crlf  bool   // lines end with both
	blank bool   // the CR of the empty line has come, its LF is due
	bytes int    // of the event so far
}

// next takes in content up to the end of the first event that ends in it. It returns how much that was,
// and the event's data; whole is false when no event ended. Where lines end with CR and LF, both belong to
// the event, whether or not they come together.
func (e *events) next(content []byte) (n int, data []byte, whole bool, err error) {
	for n < len(content) {
		c := content[n]
		n++
		if e.bytes++; e.bytes > maxMessage {
			return n, nil, false, fmt.Errorf("event of more than %d bytes", maxMessage)
		}
		after := e.cr
		e.cr = c == '\r'
		switch {
		case e.blank && !(c == '\n' && after): // a CR alone, after all
			n--
			e.cr = false
			return n, e.end(), true, nil
		case c == '\n' && after: // the second byte of one line end
			e.crlf = true
			if e.blank {
				return n, e.end(), true, nil
			}
		case c != '\n' && c != '\r':
			e.line = append(e.line, c)
		case len(e.line) > 0:
			e.take()
		case e.cr && e.crlf:
			e.blank = true
		default:
			return n, e.end(), true, nil
		}
	}
	return n, nil, false, nil
}

// end ends an event and returns its data.
func (e *events) end() []byte {
	data := e.data
	e.data, e.has, e.blank, e.bytes = nil, false, false, 0
	return data
}

// take ends a line of an event. Fields other than data (event, id, retry, comments) are of no concern.
func (e *events) take() {
	if value, ok := bytes.CutPrefix(e.line, []byte("data:")); ok {
		if e.has {
			e.data = append(e.data, '\n')
		}
		e.has = true
		e.data = append(e.data, bytes.TrimPrefix(value, []byte(" "))...)
	}
	e.line = e.line[:0]
}

// answers says whether a JSON-RPC 2.0 message, or one of a batch, is an answer: a result or an error.
// Requests and notifications of a server are not.
func answers(message []byte) bool {
	message = bytes.TrimSpace(message)
	if len(message) == 0 {
		return false
	}
	if message[0] == '[' {
		var batch []json.RawMessage
		if json.Unmarshal(message, &batch) != nil {
			return false
		}
		for _, m := range batch {
			if len(m) > 0 && m[0] == '{' && answers(m) {
				return true
			}
		}
		return false
	}
	var m struct {
		Method *string         `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	return json.Unmarshal(message, &m) == nil && m.Method == nil && (m.Result != nil || m.Error != nil)
}
