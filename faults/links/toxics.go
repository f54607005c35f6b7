package links

import (
	"fmt"
	"net/http"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/sixthcopy/sixthcopy/bench"
)

// Names of the boundary toxics in toxiproxy's registry.
const (
	requestType = "sixthcopy_request"
	answerType  = "sixthcopy_answer"
)

// requestToxic is the boundary toxic of the upstream direction: it holds a request until it is whole and
// the gate has decided on it. toxiproxy makes the value; Raise sets the link before the first connection.
type requestToxic struct{ link *link }

// answerToxic is the boundary toxic of the downstream direction.
type answerToxic struct{ link *link }

// NewState gives the toxic's stub the connection that is being started: toxiproxy calls it in StartLink.
func (t *requestToxic) NewState() any { return t.link.starting }
func (t *answerToxic) NewState() any  { return t.link.starting }

// GetBufferSize is how many reads of a client may wait behind a parked request. While there is room the
// socket is read on, and so the client's leaving is noticed.
func (t *requestToxic) GetBufferSize() int { return 8 }

// Pipe carries one connection's requests. It writes to the upstream itself and gives nothing to its
// output but its end: so what was let through has been written before anything else is done, a toxic that
// is broken off loses nothing, and no hop is added to those of a stock chain. After its end it runs its
// input dry, since the chain in front would block for ever otherwise.
func (t *requestToxic) Pipe(stub *toxics.ToxicStub) {
	c := stub.State.(*conn)
	r := requests{conn: c}
	for chunk := range stub.Input {
		if !r.take(chunk.Data) {
			break
		}
	}
	if r.swallowed { // until the client leaves or is cut
		drain(stub.Input)
		c.endOpen("")
	}
	stub.Close()
	drain(stub.Input)
}

// Pipe carries one connection's answers.
func (t *answerToxic) Pipe(stub *toxics.ToxicStub) {
	c := stub.State.(*conn)
	a := replies{conn: c}
	ok := true
	for chunk := range stub.Input {
		if ok = a.take(chunk.Data); !ok {
			break
		}
	}
	if ok {
		a.upstreamEnded()
	}
	stub.Close()
	drain(stub.Input)
}

func drain(in <-chan *stream.StreamChunk) {
	for range in {
	}
}

var (
	_ toxics.StatefulToxic = (*requestToxic)(nil)
	_ toxics.BufferedToxic = (*requestToxic)(nil)
	_ toxics.StatefulToxic = (*answerToxic)(nil)
)

// requests cuts the bytes of a client into whole requests.
type requests struct {
	*conn
	buf       []byte // from the start of a request; may share memory with the chunk that came last
	seen      int    // bytes of buf that were searched or followed
	head      head
	body      body
	content   []byte // of a chunked body
	continued bool
	swallowed bool
}

// take takes in what the client sent, and carries every request that is now whole. false: the connection is over.
func (r *requests) take(p []byte) bool {
	r.buf = join(r.buf, p)
	for len(r.buf) > 0 {
		whole, err := r.follow()
		if err != nil {
			r.refuse(err)
			return false
		}
		if !whole {
			return r.head.size == 0 || r.mayContinue()
		}
		if !r.carry() {
			return false
		}
	}
	return true
}

// follow goes on through buf up to the end of the request.
func (r *requests) follow() (whole bool, err error) {
	if r.head.size == 0 {
		for len(r.buf) > 0 && (r.buf[0] == '\r' || r.buf[0] == '\n') { // RFC 9112 section 2.2: empty lines before a request
			r.buf = r.buf[1:]
		}
		n := headEnd(r.buf, max(0, r.seen-3))
		if n > maxHead || (n == 0 && len(r.buf) > maxHead) {
			return false, fmt.Errorf("head of more than %d bytes", maxHead)
		}
		if r.seen = len(r.buf); n == 0 {
			return false, nil
		}
		if r.head, err = parseHead(r.buf[:n], true); err != nil {
			return false, err
		}
		if r.body, err = r.head.requestBody(); err != nil {
			return false, err
		}
		r.seen = n
	}
	for !r.body.done() && r.seen < len(r.buf) {
		content, n, err := r.body.next(r.buf[r.seen:])
		if err != nil {
			return false, err
		}
		if r.seen += n; r.seen > maxMessage {
			return false, fmt.Errorf("request of more than %d bytes", maxMessage)
		}
		if r.body.kind == chunked {
			r.content = append(r.content, content...)
		}
	}
	return r.body.done(), nil
}

// mayContinue answers a client that waits to be told to send the body: the upstream cannot, since it has
// not got the request. false: the connection is over.
func (r *requests) mayContinue() bool {
	if !r.head.expect || r.continued {
		return true
	}
	r.link.mu.Lock()
	ok := r.quiet()
	r.link.mu.Unlock()
	if ok {
		r.toClient([]byte("HTTP/1.1 100 Continue\r\n\r\n"))
		r.continued = true
	}
	return ok
}

// carry brings the whole request at the start of buf before the gate and does what it says. false: the
// connection is over.
func (r *requests) carry() bool {
	h, raw := r.head, r.buf[:r.seen:r.seen]
	content := r.content
	if r.body.kind == sized {
		content = raw[h.size:]
	}
	x := &exchange{
		method:    h.method,
		get:       h.method == http.MethodGet && len(content) == 0,
		keep:      h.persistent,
		continued: r.continued,
	}
	r.buf, r.seen, r.head, r.content, r.continued = r.buf[r.seen:], 0, head{}, nil, false
	if spec := r.link.spec; spec.Parse != nil {
		x.arrival.Call = spec.Parse(bench.RawRequest{Method: h.method, Path: h.path, Header: h.header, Body: content})
	}
	if !r.begin(x) {
		return false
	}
	action, ok := r.arrive(x, r.link.spec.Request, 0, "", "")
	if !ok {
		return false
	}
	switch action.Act {
	case bench.Pass:
		r.forward(x)
		r.toServer(raw)
		return true
	case bench.Reset:
		r.end(x, "")
		r.kill()
	case bench.Close, bench.Truncate: // there is no answer to truncate
		r.end(x, "")
		r.orderly()
	case bench.Swallow:
		r.swallow()
		r.swallowed = true
	case bench.Replace:
		r.end(x, "")
		r.toClient(edgeAnswer(x.method, action, x.keep))
		if x.keep {
			return true
		}
		r.orderly()
	default:
		r.end(x, notALinks(action))
		r.kill()
	}
	return false
}

// refuse ends the connection of a client that does not speak HTTP/1.1, or too much of it. The gate is
// told as of a call that means nothing.
func (r *requests) refuse(cause error) {
	x := &exchange{}
	if !r.begin(x) {
		return
	}
	note := "unreadable request: " + cause.Error()
	if _, ok := r.arrive(x, r.link.spec.Request, 0, "", note); !ok {
		return
	}
	r.end(x, note)
	r.orderly()
	r.toClient(edgeAnswer("", bench.Action{Status: http.StatusBadRequest, Body: note + "\n"}, false))
}

// join appends p to buf. It never writes into memory that a chunk under way may share.
func join(buf, p []byte) []byte {
	if len(buf) == 0 {
		return p[:len(p):len(p)]
	}
	return append(buf, p...)
}

func notALinks(a bench.Action) string {
	return fmt.Sprintf("act %q is none of a link's: connection reset", a.Act)
}
