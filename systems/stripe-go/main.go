// An adapter of stripe-go: each call is one method of its client, at the provider itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/stripe/stripe-go/v85"

	"github.com/sixthcopy/sixthcopy/systems/kit"
)

// ownTimeout is that of the library's HTTP client, which is replaced by one on virtual time.
const ownTimeout = 80 * time.Second

func main() {
	withKey := flag.Bool("key", false, "set an idempotency key of the caller's: the call's id")
	flag.Parse()
	const module = "github.com/stripe/stripe-go/v85"
	os.Exit(kit.Main(kit.Adapter{
		Versions: map[string]string{module: kit.Version(module)},
		Can:      []string{"timeout", "wait"},
		Open: func(t *kit.Trial) error {
			t.Value = open(t)
			return nil
		},
		Call: func(ctx context.Context, c *kit.Call) kit.Claim {
			do := methods[c.Given.Tool]
			if do == nil {
				return kit.Failed(fmt.Sprintf("no method of stripe-go is mapped to %q: nothing was sent", c.Given.Tool))
			}
			key := ""
			if *withKey {
				key = c.Given.ID
			}
			ids, err := do(ctx, c.Trial.Value.(*stripe.Client), c, key)
			if err != nil {
				return failed(c, err)
			}
			return kit.Done(ids...)
		},
	}, os.Stdin, os.Stdout, os.Stderr))
}

func open(t *kit.Trial) *stripe.Client {
	base := http.DefaultTransport.(*http.Transport).Clone()
	backends := stripe.NewBackendsWithConfig(&stripe.BackendConfig{
		URL:        stripe.String(t.Start.Providers["payments"]),
		HTTPClient: &http.Client{Transport: t.Timeout(t.Transport(base), ownTimeout)},
	})
	if b, ok := backends.API.(*stripe.BackendImplementation); ok {
		b.SetNetworkRetriesSleep(false) // it sleeps in real time otherwise; which errors it retries, and how often, is its own
	}
	return stripe.NewClient("sk_test_sixthcopy", stripe.WithBackends(backends))
}

// failed is the claim of an error. Of the errors that Stripe words itself those say that nothing was done which
// blame the request; of a 5xx, of a conflict and of a limit its documentation does not say that.
func failed(c *kit.Call, err error) kit.Claim {
	var said *stripe.Error
	if !errors.As(err, &said) {
		return c.Lost(err)
	}
	switch {
	case said.Type == stripe.ErrorTypeIdempotency:
		return kit.Unknown(said.Msg)
	case said.HTTPStatusCode/100 != 4, said.HTTPStatusCode == http.StatusConflict,
		said.HTTPStatusCode == http.StatusTooManyRequests, said.HTTPStatusCode == http.StatusRequestTimeout:
		return kit.Unknown(said.Error())
	}
	return kit.Failed(said.Msg)
}
