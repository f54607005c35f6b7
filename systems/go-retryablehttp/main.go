// An adapter of hashicorp/go-retryablehttp: its client, as NewClient makes it.
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"net/http"
	"os"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/sixthcopy/sixthcopy/systems/kit"
)

func main() {
	withKey := flag.Bool("key", false, "set the header Idempotency-Key")
	flag.Parse()
	const module = "github.com/hashicorp/go-retryablehttp"
	os.Exit(kit.Main(kit.Adapter{
		Versions: map[string]string{module: kit.Version(module)},
		Can:      []string{"timeout", "wait"},
		Open: func(t *kit.Trial) error {
			client := retryablehttp.NewClient()
			client.HTTPClient.Transport = t.Timeout(t.Transport(client.HTTPClient.Transport.(*http.Transport)), 0)
			usual := client.Backoff
			client.Backoff = func(least, most time.Duration, attempt int, res *http.Response) time.Duration {
				// The back-off passes in virtual time. That the call ended, the client sees in its context.
				_ = t.Pause(usual(least, most, attempt, res))
				return 0
			}
			t.Value = client
			return nil
		},
		Call: func(ctx context.Context, c *kit.Call) kit.Claim {
			key := ""
			if *withKey {
				key = rand.Text()
			}
			plain, err := c.Request(ctx, key)
			if err != nil {
				return kit.Failed(err.Error())
			}
			request, err := retryablehttp.FromRequest(plain)
			if err != nil {
				return kit.Failed(err.Error())
			}
			return c.Read(c.Trial.Value.(*retryablehttp.Client).Do(request))
		},
	}, os.Stdin, os.Stdout, os.Stderr))
}
