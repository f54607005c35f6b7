// An adapter: between sixthcopy, which hands over calls, and the code under test, which makes them.
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"net/http"
	"os"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/systems/kit"
)

// retrying is the code under test: put yours in its place. This one sends a request again, three times at
// most, when it gets no answer or a 5xx.
type retrying struct{ next http.RoundTripper }

func (r retrying) RoundTrip(request *http.Request) (response *http.Response, err error) {
	for range 3 {
		if request.GetBody != nil {
			if request.Body, err = request.GetBody(); err != nil {
				return nil, err
			}
		}
		response, err = r.next.RoundTrip(request)
		if request.Context().Err() != nil || err == nil && response.StatusCode < 500 {
			break
		}
		time.Sleep(time.Millisecond) // real time: keep it short, the order of the attempts is what counts
	}
	return response, err
}

func main() {
	withKey := flag.Bool("key", false, "set the header Idempotency-Key, one a call") // of the variant with-key
	flag.Parse()
	os.Exit(kit.Main(kit.Adapter{
		Can: []string{"timeout", "wait"},
		// Open begins a trial: a client of its own, with time-outs in virtual time.
		Open: func(t *kit.Trial) error {
			t.Value = &http.Client{Transport: t.Timeout(retrying{t.Transport(http.DefaultTransport.(*http.Transport).Clone())}, 0)}
			return nil
		},
		// Call carries out one call and says what became of it.
		Call: func(ctx context.Context, c *kit.Call) kit.Claim {
			key := ""
			if *withKey {
				key = rand.Text() // before the first attempt, and the same for all of them
			}
			request, err := c.Request(ctx, key) // what calls the tool, as it is offered
			if err != nil {
				return kit.Failed(err.Error()) // nothing was sent
			}
			return c.Read(c.Trial.Value.(*http.Client).Do(request)) // the answer, or the error, as a claim
		},
		// Decide answers a goal that is withdrawn: the kit has ended the call's context.
		Decide: func(context.Context, *kit.Call, bench.Decision) kit.Claim { return kit.Claim{} },
	}, os.Stdin, os.Stdout, os.Stderr))
}
