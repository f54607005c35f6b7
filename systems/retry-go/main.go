// An adapter of avast/retry-go: DoWithData around a POST, with its default options.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"net/http"
	"os"
	"time"

	"github.com/avast/retry-go/v4"

	"github.com/sixthcopy/sixthcopy/systems/kit"
)

func main() {
	withKey := flag.Bool("key", false, "set the header Idempotency-Key")
	flag.Parse()
	const module = "github.com/avast/retry-go/v4"
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
			err := retry.Do(func() error {
				said, status, err := c.Try(ctx, c.Trial.Value.(*http.Client), key)
				claim = said
				switch {
				case err != nil:
					return err
				case status/100 == 4:
					return retry.Unrecoverable(errors.New(http.StatusText(status)))
				case status/100 == 5:
					return errors.New(http.StatusText(status))
				}
				return nil
			}, retry.Context(ctx), retry.WithTimer(timer{c.Trial}))
			if err != nil {
				claim.Detail += " (" + err.Error() + ")"
			}
			return claim
		},
	}, os.Stdin, os.Stdout, os.Stderr))
}

// timer lets the library's delays pass in virtual time. It never rings for a call that has ended.
type timer struct{ trial *kit.Trial }

func (t timer) After(d time.Duration) <-chan time.Time {
	rung := make(chan time.Time, 1)
	if t.trial.Pause(d) == nil {
		rung <- t.trial.Now()
	}
	return rung
}
