// An adapter of Amazon's SDK for Go, version 2: each call is one operation of a client, at the provider itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/sixthcopy/sixthcopy/systems/kit"
)

func main() {
	withToken := flag.Bool("token", false, "give each operation that takes one a token of the caller's: the call's id")
	flag.Parse()
	const module = "github.com/aws/aws-sdk-go-v2"
	os.Exit(kit.Main(kit.Adapter{
		Versions: map[string]string{module: kit.Version(module)},
		Can:      []string{"timeout", "wait"},
		Open: func(t *kit.Trial) error {
			t.Value = open(t)
			return nil
		},
		Call: func(ctx context.Context, c *kit.Call) kit.Claim {
			do := operations[c.Given.Tool]
			if do == nil {
				return kit.Failed(fmt.Sprintf("no operation of the SDK is mapped to %q: nothing was sent", c.Given.Tool))
			}
			token := ""
			if *withToken {
				token = c.Given.ID
			}
			claim, err := do(ctx, c.Trial.Value.(*service), c, token)
			if err != nil {
				return failed(c, err)
			}
			return claim
		},
	}, os.Stdin, os.Stdout, os.Stderr))
}

// conflicts are the errors that say that something is in the way: another request of that token, or what it
// would have made. They do not say whose that is.
var conflicts = map[string]bool{
	"ConflictException": true, "IdempotentInstanceTerminated": true, "IdempotentParameterMismatch": true,
	"IdempotentParameterMismatchException": true, "ResourceInUse": true, "TransactionCanceledException": true,
	"TransactionInProgressException": true,
}

// failed is the claim of an error: failed, if a service says by a name of its own that the request will not do.
func failed(c *kit.Call, err error) kit.Claim {
	var answered *smithyhttp.ResponseError
	if !errors.As(err, &answered) {
		return c.Lost(err)
	}
	var said smithy.APIError
	status := answered.HTTPStatusCode()
	switch {
	case !errors.As(err, &said), said.ErrorCode() == "", said.ErrorCode() == "UnknownError": // of something in between
	case conflicts[said.ErrorCode()], strings.Contains(said.ErrorMessage(), "not idempotent"): // CreateService: the name is taken
	case said.ErrorCode() == "InsufficientInstanceCapacity", // its status is 500
		status/100 == 4 && status != http.StatusRequestTimeout && status != http.StatusConflict && status != http.StatusTooManyRequests:
		return kit.Failed(err.Error())
	}
	return kit.Unknown(err.Error())
}

// service is how the clients of one trial are made.
type service struct {
	trial    *kit.Trial
	endpoint *string
	http     *http.Client
	client   any // of the trial's one provider, once it was asked for
}

func open(t *kit.Trial) *service {
	s := &service{trial: t}
	for _, address := range t.Start.Providers { // a trial has one
		s.endpoint = &address
	}
	base := awshttp.NewBuildableClient().GetTransport()
	s.http = &http.Client{Transport: t.Timeout(t.Transport(base), 0)}
	return s
}

// keep returns the trial's client, made at the first call.
func keep[C any](s *service, fresh func() C) C {
	c, ok := s.client.(C)
	if !ok {
		c = fresh()
		s.client = c
	}
	return c
}

const region = "us-east-1"

var credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret"}, nil
})

// patient is a client's own retryer, with the delays between attempts in virtual time.
type patient struct {
	aws.RetryerV2
	trial *kit.Trial
}

func (s *service) patient(own aws.Retryer) aws.Retryer {
	return patient{own.(aws.RetryerV2), s.trial}
}

func (p patient) RetryDelay(attempt int, err error) (time.Duration, error) {
	delay, stop := p.RetryerV2.RetryDelay(attempt, err)
	if stop != nil {
		return 0, stop
	}
	return 0, p.trial.Pause(delay)
}
