// An adapter of cenkalti/backoff: Retry around a POST, with the exponential back-off that it has by default.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"net/http"
	"os"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/sixthcopy/sixthcopy/systems/kit"
)

func main() {
	withKey := flag.Bool("key", false, "set the header Idempotency-Key")
	flag.Parse()
	const module = "github.com/cenkalti/backoff/v5"
	os.Exit(kit.Main(kit.Adapter{
		Versions: map[string]string{module: kit.Version(module)},
		Can:      []string{"timeout", "wait"},
		Open: func(t *kit.Trial) error {
			t.Value = &http.Client{Transport: t.Timeout(t.Transport(http.DefaultTransport.(*http.Transport).Clone()), 0)}
			return nil
		},
		Call: func(ctx context.Context, c *kit.Call) kit.Claim {
			key := ""
			if *withKey {
				key = rand.Text()
			}
			var claim kit.Claim
			operation := func() (struct{}, error) {
				said, status, err := c.Try(ctx, c.Trial.Value.(*http.Client), key)
				claim = said
				switch {
				case err != nil:
				case status/100 == 4:
					err = backoff.Permanent(errors.New(http.StatusText(status)))
				case status/100 == 5:
					err = errors.New(http.StatusText(status))
				}
				return struct{}{}, err
			}
			_, err := backoff.Retry(ctx, operation, backoff.WithBackOff(newWaiter(c)))
			if err != nil {
				claim.Detail += " (" + err.Error() + ")"
			}
			return claim
		},
	}, os.Stdin, os.Stdout, os.Stderr))
}

// waiter lets the library's own back-off pass in virtual time, and keeps its limit of the time in all there too.
type waiter struct {
	*backoff.ExponentialBackOff
	call  *kit.Call
	begun time.Time
}

func newWaiter(c *kit.Call) *waiter {
	w := &waiter{ExponentialBackOff: backoff.NewExponentialBackOff(), call: c, begun: c.Now()}
	w.RandomizationFactor = 0 // the number of tries that fit in the limit is then the same in every run
	return w
}

func (w *waiter) NextBackOff() time.Duration {
	next := w.ExponentialBackOff.NextBackOff()
	if next == backoff.Stop || w.call.Now().Sub(w.begun)+next > backoff.DefaultMaxElapsedTime {
		return backoff.Stop
	}
	if w.call.Trial.Pause(next) != nil {
		return backoff.Stop
	}
	return 0
}
