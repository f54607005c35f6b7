package links

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/sixthcopy/sixthcopy/bench"
)

// replies cuts the bytes of an upstream into whole answers. Of an event stream it holds the event that
// carries the JSON-RPC answer; earlier events go on at once, and what follows that event goes on as it comes.
type replies struct {
	*conn
	buf     []byte    // what is held: from the start of an answer, or of an event if the head has gone on
	seen    int       // bytes of buf that were searched or followed
	x       *exchange // that the answer belongs to
	head    head
	gone    bool   // the head has gone on
	body    body   // at seen
	held    body   // at the first byte of content in buf
	content []byte // of a chunked body
	events  events
	answer  int  // bytes of buf up to the end of the event that carries the answer; 0: not an event
	pass    bool // the answer was decided on; the rest goes on as it comes
}

// take takes in what the upstream sent. false: the connection is over.
func (a *replies) take(p []byte) bool {
	a.buf = join(a.buf, p)
	for len(a.buf) > 0 {
		var more bool
		var err error
		switch {
		case a.pass:
			more, err = a.passOn()
		case a.head.size == 0:
			if a.x == nil {
				a.x = a.awaited()
			}
			if a.x == nil { // nobody asked: a server's word before it closes an idle connection
				a.send(len(a.buf))
				return true
			}
			more, err = a.followHead()
		case a.head.events:
			more, err = a.followEvents()
		default:
			more, err = a.followBody()
		}
		if err == nil && len(a.buf) > maxMessage {
			err = fmt.Errorf("answer of more than %d bytes", maxMessage)
		}
		if errors.Is(err, errOver) {
			return false
		}
		if err != nil {
			a.refuse(err)
			return false
		}
		if !more {
			return true
		}
	}
	return true
}

// errOver says that the gate's decision has ended the connection.
var errOver = errors.New("connection over")

// followHead reads the head of an answer. more: there is one.
func (a *replies) followHead() (more bool, err error) {
	n := headEnd(a.buf, max(0, a.seen-3))
	if n > maxHead || (n == 0 && len(a.buf) > maxHead) {
		return false, fmt.Errorf("head of more than %d bytes", maxHead)
	}
	if a.seen = len(a.buf); n == 0 {
		return false, nil
	}
	h, err := parseHead(a.buf[:n], false)
	if err != nil {
		return false, err
	}
	if h.status < 200 { // interim
		if h.status == http.StatusContinue && a.x.continued {
			a.drop(n)
		} else {
			a.send(n)
		}
		return true, nil
	}
	if a.body, err = h.answerBody(a.x.method); err != nil {
		return false, err
	}
	a.head, a.held, a.seen = h, a.body, n
	if a.body.kind == sized {
		a.buf = slices.Grow(a.buf, max(0, n+int(a.body.left)-len(a.buf)))
	}
	switch {
	case a.body.done():
		return true, a.decide("", nil)
	case h.events && a.x.get:
		return true, a.decide("stream", nil)
	}
	return true, nil
}

// followBody goes on through the body of an answer, and brings it before the gate when it is whole.
func (a *replies) followBody() (more bool, err error) {
	for !a.body.done() && a.seen < len(a.buf) {
		content, n, err := a.body.next(a.buf[a.seen:])
		if err != nil {
			return false, err
		}
		a.seen += n
		if a.body.kind == chunked {
			a.content = append(a.content, content...)
		}
	}
	if !a.body.done() {
		return false, nil
	}
	return true, a.decide("", a.whole())
}

// whole returns the content of a whole body.
func (a *replies) whole() []byte {
	if a.body.kind == chunked {
		return a.content
	}
	return a.buf[a.head.size:a.seen]
}

// followEvents goes on through an event stream. An event that carries no answer goes on at once.
func (a *replies) followEvents() (more bool, err error) {
	passed := 0 // bytes of buf up to the end of the last such event
	for !a.body.done() && a.seen < len(a.buf) {
		content, n, err := a.body.next(a.buf[a.seen:])
		if err != nil {
			return false, err
		}
		a.seen += n
		for len(content) > 0 {
			k, data, whole, err := a.events.next(content)
			if err != nil {
				return false, err
			}
			content = content[k:]
			at := a.seen - len(content)
			switch {
			case whole && answers(data):
				a.answer = at - passed
				a.sendEvents(passed)
				return true, a.decide("", data)
			case whole:
				passed = at
			}
		}
	}
	a.sendEvents(passed)
	if !a.body.done() {
		return false, nil
	}
	return true, a.decide("stream without an answer", nil)
}

// sendEvents lets n bytes of buf go on, the head among them if it has not, and keeps the place in the body.
func (a *replies) sendEvents(n int) {
	if n == 0 {
		return
	}
	for p := a.buf[a.start():n]; len(p) > 0; {
		_, k, _ := a.held.next(p) // followed before without an error
		p = p[k:]
	}
	a.send(n)
	a.seen -= n
	a.gone = true
}

// start is where content begins in buf.
func (a *replies) start() int {
	if a.gone {
		return 0
	}
	return a.head.size
}

// passOn lets the rest of an answer go on as it comes. more: the answer has ended.
func (a *replies) passOn() (more bool, err error) {
	for !a.body.done() && a.seen < len(a.buf) {
		_, n, err := a.body.next(a.buf[a.seen:])
		if err != nil {
			a.send(len(a.buf))
			return false, errOver
		}
		a.seen += n
	}
	a.send(a.seen)
	a.seen = 0
	if !a.body.done() {
		return false, nil
	}
	a.next()
	a.setPassing(false)
	return true, nil
}

// next makes ready for another answer.
func (a *replies) next() {
	*a = replies{conn: a.conn, buf: a.buf}
}

// send lets the first n bytes of buf go on.
func (a *replies) send(n int) {
	if n == 0 {
		return
	}
	a.toClient(a.buf[:n])
	a.drop(n)
}

func (a *replies) drop(n int) {
	a.buf = a.buf[n:]
	if a.head.size == 0 {
		a.seen = 0
	}
}

// decide brings the answer that is held before the gate and does what it says. message is what it tells
// its caller: the body, or the answering event's data.
func (a *replies) decide(note string, message []byte) error {
	x, spec := a.x, a.link.spec
	told := ""
	if spec.Told != nil {
		told = spec.Told(a.head.status, message)
	}
	action, ok := a.arrive(x, spec.Response, a.head.status, told, note)
	if !ok {
		return errOver
	}
	switch action.Act {
	case bench.Pass:
		a.setPassing(true)
		if a.body.done() && !a.lasting() {
			a.last(x, "")
		} else {
			a.end(x, "")
		}
		a.pass = true
		return nil
	case bench.Reset:
		a.last(x, "")
		a.kill()
	case bench.Close:
		a.last(x, "")
		a.orderly()
	case bench.Truncate:
		a.last(x, "")
		a.toClient(a.buf[:a.cut(action.Bytes)])
		a.orderly()
	case bench.Swallow:
		a.swallow()
	case bench.Replace:
		switch {
		case a.gone:
			a.last(x, "an earlier event has gone on, no other answer can replace this one: connection closed")
		case a.body.done() && a.lasting() && x.keep:
			a.setPassing(true)
			a.end(x, "")
			a.toClient(edgeAnswer(x.method, action, true))
			a.drop(a.seen)
			a.next()
			a.setPassing(false)
			return nil
		default:
			a.last(x, "")
			a.toClient(edgeAnswer(x.method, action, false))
		}
		a.orderly()
	default:
		a.last(x, notALinks(action))
		a.kill()
	}
	return errOver
}

// lasting says whether the upstream keeps the connection after this answer.
func (a *replies) lasting() bool { return a.head.persistent && a.held.kind != toEnd }

// cut returns how much of what is held goes on when the answer is cut after n bytes of content: never all
// of it. The last byte that means something stays behind; of an answer without a body, the head's last line end.
func (a *replies) cut(n int) int {
	start, end := a.start(), a.seen
	if a.answer > 0 {
		end = a.answer
	}
	content := 0 // bytes up to the last that is no white space
	total := 0
	for p, at := a.buf[start:end], a.held; len(p) > 0; {
		run, k, err := at.next(p)
		if err != nil || k == 0 {
			break
		}
		if kept := bytes.TrimRight(run, "\r\n\t "); len(kept) > 0 {
			content = total + len(kept)
		}
		total += len(run)
		p = p[k:]
	}
	if content == 0 && !a.head.events {
		return a.head.size - 1
	}
	return start + keep(a.buf[start:end], a.held, max(0, min(n, content-1)))
}

// refuse ends an exchange whose answer is not HTTP/1.1, or too much of it.
func (a *replies) refuse(cause error) {
	note := "unreadable answer: " + cause.Error()
	if _, ok := a.arrive(a.x, a.link.spec.Response, a.head.status, "", note); ok {
		a.last(a.x, note)
		a.kill()
	}
}

// upstreamEnded carries what the upstream left behind: an answer that runs to the connection's end, or a
// part of one.
func (a *replies) upstreamEnded() {
	l := a.link
	l.mu.Lock()
	hole, reset := a.hole, a.reset.client
	l.mu.Unlock()
	if hole {
		return
	}
	if a.head.size > 0 && a.body.kind == toEnd && !reset && !a.pass {
		a.body = body{kind: sized} // it is whole now
		note, message := "", a.buf[a.start():a.seen]
		if a.head.events {
			note, message = "stream without an answer", nil
		}
		if a.decide(note, message) == nil {
			a.send(len(a.buf))
		}
		return
	}
	note := "upstream closed the connection"
	if reset {
		note = "upstream reset the connection"
	}
	if a.head.size > 0 || len(a.buf) > 0 {
		note += " inside its answer"
	}
	a.endOpen(note)
	a.send(len(a.buf))
}
