package unit

import (
	"context"
	"net/http"
	"os"
	"testing"

	"github.com/sixthcopy/sixthcopy/systems/kit"
	"github.com/sixthcopy/sixthcopy/systems/kit/cell"
)

// Retry is the code under test: it sends a request once more when it gets no answer.
type Retry struct{ Next http.RoundTripper }

func (r Retry) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.Next.RoundTrip(request)
	if err != nil && request.GetBody != nil && request.Context().Err() == nil {
		if request.Body, err = request.GetBody(); err == nil {
			response, err = r.Next.RoundTrip(request)
		}
	}
	return response, err
}

// adapter makes calls over Retry, with a key of theirs or without.
func adapter(key func(*kit.Call) string) kit.Adapter {
	return kit.Adapter{Call: func(ctx context.Context, c *kit.Call) kit.Claim {
		client := &http.Client{Transport: Retry{c.Trial.Transport(&http.Transport{})}}
		request, err := c.Request(ctx, key(c))
		if err != nil {
			return kit.Failed(err.Error())
		}
		return c.Read(client.Do(request))
	}}
}

func TestMain(m *testing.M) {
	cell.Adapter("retry", adapter(func(*kit.Call) string { return "" }))
	cell.Adapter("retry-with-key", adapter(func(c *kit.Call) string { return c.Given.ID }))
	os.Exit(m.Run())
}

// With a key that stays the same, the second request is the first one's replay.
func TestALostAnswerMakesNoSecondRefund(t *testing.T) {
	cell.Run(t, cell.Cell{System: "retry-with-key", Workload: "refund", Boundary: "response-at-tool-server"})
}
