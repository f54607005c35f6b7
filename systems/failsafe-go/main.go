// An adapter of failsafe-go: its retry policy for HTTP in the client's transport, or its general retry policy
// around a function that makes the POST.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"net/http"
	"os"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/retrypolicy"

	"github.com/sixthcopy/sixthcopy/systems/kit"
)

func main() {
	withKey := flag.Bool("key", false, "set the header Idempotency-Key")
	function := flag.Bool("function", false, "put the general policy around a function")
	flag.Parse()
	const module = "github.com/failsafe-go/failsafe-go"
	os.Exit(kit.Main(kit.Adapter{
		Versions: map[string]string{module: kit.Version(module)},
		Can:      []string{"timeout", "wait"},
		Open: func(t *kit.Trial) error {
			transport := t.Transport(http.DefaultTransport.(*http.Transport).Clone())
			if !*function {
				transport = failsafehttp.NewRoundTripper(transport, failsafehttp.NewRetryPolicyBuilder().Build())
			}
			t.Value = &http.Client{Transport: t.Timeout(transport, 0)}
			return nil
		},
		Call: func(ctx context.Context, c *kit.Call) kit.Claim {
			key := ""
			if *withKey {
				key = rand.Text()
			}
			client := c.Trial.Value.(*http.Client)
			if *function {
				return around(ctx, c, client, key)
			}
			claim, _, _ := c.Try(ctx, client, key)
			return claim
		},
	}, os.Stdin, os.Stdout, os.Stderr))
}

// around makes the call under the general policy, which retries whatever the function calls an error.
func around(ctx context.Context, c *kit.Call, client *http.Client, key string) kit.Claim {
	var claim kit.Claim
	var given error // the provider will answer the same again
	err := failsafe.With(retrypolicy.NewWithDefaults[any]()).WithContext(ctx).Run(func() error {
		said, status, err := c.Try(ctx, client, key)
		claim = said
		switch {
		case err != nil:
			return err
		case status/100 == 4:
			given = errors.New(http.StatusText(status))
		case status/100 == 5:
			return errors.New(http.StatusText(status))
		}
		return nil
	})
	if err = errors.Join(given, err); err != nil {
		claim.Detail += " (" + err.Error() + ")"
	}
	return claim
}
