package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// request is one request to a provider.
type request struct {
	method string
	path   string // with the query
	header http.Header
	body   []byte
	wants  int    // how many receipts it asks for; fewer are a part of it; 0: the reader of the answer knows
	about  string // what it is for, in messages: "message to ann@example.com"

	// keyed puts an idempotency key on it; nil: the provider takes none here.
	keyed func(r *request, key string)
	// placed says that the key goes where the provider's contract advertises it.
	placed bool

	broken error // it could not be made: nothing is to be sent
}

// errNotSent marks a request of which no byte left: the provider could not be reached.
var errNotSent = errors.New("not sent")

// errTimedOut is the cause of a provider request that was given up at its virtual time-out.
var errTimedOut = errors.New("timed out")

// client speaks to one provider and never sends a request twice.
//
// That takes care in Go: net/http's transport sends a request again when a kept-alive connection breaks
// before the first byte of the answer, if the method is idempotent or an Idempotency-Key header is set,
// and also if nothing was written yet. It does so only for bodies that it can produce again, so every
// request here, a read too, has a body that can be read once.
type client struct {
	base      string // http://host:port
	transport *http.Transport
}

func newClient(address string, fresh bool) *client {
	return &client{
		base: "http://" + address,
		transport: &http.Transport{
			DisableKeepAlives:  fresh,
			DisableCompression: true,
			MaxIdleConns:       4,
		},
	}
}

// once is a body that cannot be rewound. It must be another type than those that http.NewRequest knows.
type once struct{ io.Reader }

func (once) Close() error { return nil }

// send makes one exchange. The error is errNotSent, errTimedOut, or says how the answer was lost.
func (c *client) send(ctx context.Context, r request) (response, error) {
	if r.broken != nil {
		return response{}, fmt.Errorf("%w: %s: %v", errNotSent, r.about, r.broken)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, once{bytes.NewReader(r.body)})
	if err != nil {
		return response{}, fmt.Errorf("%w: request %s %s: %v", errNotSent, r.method, r.path, err)
	}
	req.ContentLength = int64(len(r.body))
	req.GetBody = nil
	for name, values := range r.header {
		req.Header[name] = values
	}
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return response{}, c.lost(ctx, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return response{}, c.lost(ctx, err)
	}
	return response{status: resp.StatusCode, header: resp.Header, body: body}, nil
}

func (c *client) lost(ctx context.Context, err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return fmt.Errorf("%w: %v", errNotSent, err)
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func (c *client) close() { c.transport.CloseIdleConnections() }
