// An adapter of Go's net/http client: one POST a call, nothing around it.
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"net/http"
	"os"
	"runtime"

	"github.com/sixthcopy/sixthcopy/systems/kit"
)

func main() {
	withKey := flag.Bool("key", false, "set the header Idempotency-Key")
	flag.Parse()
	os.Exit(kit.Main(kit.Adapter{
		Versions: map[string]string{"net/http": runtime.Version()},
		Can:      []string{"timeout"},
		Open: func(t *kit.Trial) error {
			t.Value = &http.Client{Transport: t.Timeout(t.Transport(http.DefaultTransport.(*http.Transport).Clone()), 0)}
			return nil
		},
		Call: func(ctx context.Context, c *kit.Call) kit.Claim {
			key := ""
			if *withKey {
				key = rand.Text()
			}
			request, err := c.Request(ctx, key)
			if err != nil {
				return kit.Failed(err.Error())
			}
			return c.Read(c.Trial.Value.(*http.Client).Do(request))
		},
	}, os.Stdin, os.Stdout, os.Stderr))
}
