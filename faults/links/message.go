package links

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

// Limits of what a link holds back. A message beyond them is refused: its connection is closed.
const (
	maxHead    = 64 << 10 // bytes of a request or status line with its header fields, and of trailers
	maxMessage = 16 << 20 // bytes of a whole message on the wire
	maxLine    = 4 << 10  // bytes of a chunk's size line with its extension
)

// head is what framing needs of a request or status line and its fields (RFC 9112).
type head struct {
	size       int // bytes of the head with its empty line; 0: it is not whole yet
	method     string
	path       string
	status     int
	header     http.Header // requests only
	length     int64       // Content-Length; -1: none
	chunked    bool
	persistent bool // the connection may serve another exchange
	expect     bool // Expect: 100-continue
	events     bool // Content-Type: text/event-stream
}

// headEnd returns the size of the head that b starts with, searching from offset from; 0: not whole yet.
func headEnd(b []byte, from int) int {
	for i := from; i < len(b); {
		n := bytes.IndexByte(b[i:], '\n')
		if n < 0 {
			return 0
		}
		i += n + 1
		switch {
		case i < len(b) && b[i] == '\n':
			return i + 1
		case i+1 < len(b) && b[i] == '\r' && b[i+1] == '\n':
			return i + 2
		}
	}
	return 0
}

// parseHead reads a whole head of size bytes. The text is copied once: nothing of b is kept.
func parseHead(b []byte, request bool) (head, error) {
	h := head{size: len(b), length: -1}
	text := string(b)
	line, text := cutLine(text)
	var err error
	var values []string // one array for all
	if request {
		err = h.requestLine(line)
		h.header = make(http.Header, 8)
		values = make([]string, 0, strings.Count(text, "\n"))
	} else {
		err = h.statusLine(line)
	}
	if err != nil {
		return head{}, err
	}
	encoded := false
	for {
		line, text = cutLine(text)
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return head{}, fmt.Errorf("header field %.40q: expected name: value", line)
		}
		value = strings.Trim(value, " \t")
		if request {
			key := textproto.CanonicalMIMEHeaderKey(name)
			if had := h.header[key]; had != nil {
				h.header[key] = append(had, value)
			} else {
				n := len(values)
				values = append(values, value)
				h.header[key] = values[n : n+1 : n+1]
			}
		}
		if err := h.field(name, value, &encoded); err != nil {
			return head{}, err
		}
	}
	if encoded && h.length >= 0 {
		return head{}, errors.New("both Content-Length and Transfer-Encoding: expected one")
	}
	return h, nil
}

// cutLine returns the first line of s without its end, and what follows.
func cutLine(s string) (line, rest string) {
	line, rest, _ = strings.Cut(s, "\n")
	return strings.TrimSuffix(line, "\r"), rest
}

func (h *head) requestLine(line string) error {
	method, rest, _ := strings.Cut(line, " ")
	path, version, ok := strings.Cut(rest, " ")
	if !ok || method == "" || path == "" {
		return fmt.Errorf("request line %.40q: expected METHOD PATH HTTP/1.1", line)
	}
	if method == http.MethodConnect {
		return errors.New("method CONNECT: a link carries no tunnels")
	}
	h.method, h.path = method, path
	return h.version(version)
}

func (h *head) statusLine(line string) error {
	version, rest, ok := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(code)
	if !ok || err != nil || len(code) != 3 || status < 100 {
		return fmt.Errorf("status line %.40q: expected HTTP/1.1 and three digits", line)
	}
	if status == http.StatusSwitchingProtocols {
		return errors.New("status 101: a link carries no upgraded protocols")
	}
	h.status = status
	return h.version(version)
}

func (h *head) version(v string) error {
	switch v {
	case "HTTP/1.1":
		h.persistent = true
	case "HTTP/1.0":
	default:
		return fmt.Errorf("version %.20q: expected HTTP/1.1 or HTTP/1.0", v)
	}
	return nil
}

// field takes in the header fields that framing rests on.
func (h *head) field(name, value string, encoded *bool) error {
	switch len(name) { // cheaper than folding the case of every name
	case len("Expect"):
		if strings.EqualFold(name, "Expect") && strings.EqualFold(value, "100-continue") {
			h.expect = true
		}
	case len("Connection"):
		if strings.EqualFold(name, "Connection") {
			for token := range strings.SplitSeq(value, ",") {
				switch token = strings.Trim(token, " \t"); {
				case strings.EqualFold(token, "close"):
					h.persistent = false
				case strings.EqualFold(token, "keep-alive"):
					h.persistent = true
				}
			}
		}
	case len("Content-Type"):
		if strings.EqualFold(name, "Content-Type") {
			kind, _, _ := strings.Cut(value, ";")
			h.events = strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
		}
	case len("Content-Length"):
		if strings.EqualFold(name, "Content-Length") {
			n, err := strconv.ParseUint(value, 10, 63)
			if err != nil || (h.length >= 0 && h.length != int64(n)) {
				return fmt.Errorf("Content-Length %.40q: expected one number of bytes", value)
			}
			h.length = int64(n)
		}
	case len("Transfer-Encoding"):
		if strings.EqualFold(name, "Transfer-Encoding") {
			if *encoded || !strings.EqualFold(value, "chunked") {
				return fmt.Errorf("Transfer-Encoding %.40q: expected chunked", value)
			}
			*encoded, h.chunked = true, true
		}
	}
	return nil
}

// requestBody returns the framing of the request's body.
func (h *head) requestBody() (body, error) {
	switch {
	case h.chunked:
		return body{kind: chunked}, nil
	case h.length > 0:
		return sizedBody(h.length)
	}
	return body{kind: sized}, nil
}

// answerBody returns the framing of the body of an answer to a request of this method.
func (h *head) answerBody(method string) (body, error) {
	switch {
	case method == http.MethodHead, h.status < 200, h.status == http.StatusNoContent, h.status == http.StatusNotModified:
		return body{kind: sized}, nil
	case h.chunked:
		return body{kind: chunked}, nil
	case h.length >= 0:
		return sizedBody(h.length)
	}
	return body{kind: toEnd}, nil
}

func sizedBody(n int64) (body, error) {
	if n > maxMessage {
		return body{}, fmt.Errorf("body of %d bytes: a link holds at most %d", n, maxMessage)
	}
	return body{kind: sized, left: n}, nil
}

// body follows the framing of a message body. It is a small value: a copy remembers a place in the body.
type body struct {
	kind  framing
	left  int64 // sized: bytes to come; chunked: of the chunk's data
	state chunkState
	line  int // bytes of the chunk's size line so far, or of all trailers
	empty bool
}

type framing uint8

const (
	sized   framing = iota // left bytes
	chunked                // RFC 9112 section 7.1
	toEnd                  // until the connection closes
)

type chunkState uint8

const (
	chunkSize chunkState = iota
	chunkExtension
	chunkSizeLF
	chunkData
	chunkDataEnd
	chunkDataLF
	chunkTrailer
	chunkDone
)

// done says whether the body is whole. A body that runs to the connection's end never is by itself.
func (b *body) done() bool {
	switch b.kind {
	case sized:
		return b.left == 0
	case chunked:
		return b.state == chunkDone
	default:
		return false
	}
}

// next consumes n bytes of p, up to one run of content, which it returns as a part of p. It stops
// where the body is done.
func (b *body) next(p []byte) (content []byte, n int, err error) {
	switch {
	case b.kind == toEnd:
		return p, len(p), nil
	case b.kind == sized:
		n = int(min(b.left, int64(len(p))))
		b.left -= int64(n)
		return p[:n], n, nil
	}
	for n < len(p) && b.state != chunkDone {
		if b.state == chunkData {
			k := int(min(b.left, int64(len(p)-n)))
			if b.left -= int64(k); b.left == 0 {
				b.state = chunkDataEnd
			}
			return p[n : n+k], n + k, nil
		}
		if err := b.framing(p[n]); err != nil {
			return nil, n, err
		}
		n++
	}
	return nil, n, nil
}

// framing takes in one byte between the data of chunks.
func (b *body) framing(c byte) error {
	switch b.state {
	case chunkSize, chunkExtension:
		b.line++
		digit := unhex(c)
		switch {
		case b.line > maxLine:
			return fmt.Errorf("chunk size line of more than %d bytes", maxLine)
		case c == '\r':
			b.state = chunkSizeLF
		case c == '\n':
			return b.begin()
		case b.state == chunkExtension:
		case digit >= 0:
			if b.left = b.left<<4 | int64(digit); b.left > maxMessage {
				return fmt.Errorf("chunk of more than %d bytes", maxMessage)
			}
		case b.line > 1 && (c == ';' || c == ' ' || c == '\t'):
			b.state = chunkExtension
		default:
			return fmt.Errorf("chunk size with byte %q: expected hexadecimal digits", c)
		}
	case chunkSizeLF:
		if c != '\n' {
			return fmt.Errorf("byte %q after a chunk size: expected a line feed", c)
		}
		return b.begin()
	case chunkDataEnd:
		switch c {
		case '\r':
			b.state = chunkDataLF
		case '\n':
			b.state, b.line = chunkSize, 0
		default:
			return fmt.Errorf("byte %q after a chunk's data: expected the end of the line", c)
		}
	case chunkDataLF:
		if c != '\n' {
			return fmt.Errorf("byte %q after a chunk's data: expected a line feed", c)
		}
		b.state, b.line = chunkSize, 0
	case chunkTrailer:
		if b.line++; b.line > maxHead {
			return fmt.Errorf("trailers of more than %d bytes", maxHead)
		}
		switch {
		case c == '\n' && b.empty:
			b.state = chunkDone
		case c == '\n':
			b.empty = true
		case c != '\r':
			b.empty = false
		}
	}
	return nil
}

// begin goes from a size line to the chunk's data, or to the trailers after the last chunk.
func (b *body) begin() error {
	if b.line == 1 { // the line's end only
		return errors.New("chunk size is empty: expected hexadecimal digits")
	}
	b.state = chunkData
	if b.left == 0 {
		b.state, b.line, b.empty = chunkTrailer, 0, true
	}
	return nil
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// keep returns how many bytes of raw, which starts at the place from in a body, carry the first n bytes
// of content.
func keep(raw []byte, from body, n int) int {
	at := 0
	for at < len(raw) && n > 0 {
		content, k, err := from.next(raw[at:])
		if err != nil || k == 0 {
			break
		}
		if len(content) > n {
			return at + k - (len(content) - n)
		}
		n -= len(content)
		at += k
	}
	return at
}
