package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/stripe/stripe-go/v85"
)

// stripes is stripe-go. An operation is a service and its method, "refunds.create". Options: key, account,
// retries, id (of the object the method is about).
func stripes(c call) answer {
	run := stripeOps[c.Op]
	if run == nil {
		run = stripeMethod(c.Op)
	}
	made, last, err := run(keep(c, func() *stripe.Client { return stripeClient(c) }), c)
	if err != nil {
		return answer{Error: stripeError(err)}
	}
	a := answer{OK: made}
	if last != nil {
		a.Headers = lower(last.Header)
	}
	return a
}

func stripeClient(c call) *stripe.Client {
	config := &stripe.BackendConfig{
		URL: stripe.String(c.Base), LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
		HTTPClient: &http.Client{Transport: &http.Transport{}}, // its connections are its own, as in a process of its own
	}
	if n, ok := c.Options["retries"].(float64); ok {
		config.MaxNetworkRetries = stripe.Int64(int64(n))
	}
	return stripe.NewClient("sk_test_sixthcopy", stripe.WithBackends(stripe.NewBackendsWithConfig(config)))
}

func stripeError(err error) *failure {
	f := &failure{Type: fmt.Sprintf("%T", err), Message: err.Error()}
	var e *stripe.Error
	if errors.As(err, &e) {
		f.Type, f.Status, f.Code, f.Message = "Error", e.HTTPStatusCode, string(e.Code), e.Msg
		if e.Err != nil {
			f.Type = strings.TrimPrefix(fmt.Sprintf("%T", e.Err), "*stripe.")
		}
		if e.LastResponse != nil {
			f.Headers = lower(e.LastResponse.Header)
		}
	}
	var v2 *stripe.V2RawError
	if errors.As(err, &v2) {
		f.Type, f.Status, f.Code, f.Message = "V2RawError", v2.HTTPStatusCode, v2.Code, v2.Message
		if v2.Type != nil {
			f.Type += " " + string(*v2.Type)
		}
	}
	return f
}

type stripeOp func(*stripe.Client, call) (any, *stripe.APIResponse, error)

var stripeOps = map[string]stripeOp{
	"charges.create": func(s *stripe.Client, c call) (any, *stripe.APIResponse, error) {
		p := &stripe.ChargeCreateParams{}
		if err := stripeParams(c, p, &p.Params); err != nil {
			return nil, nil, err
		}
		r, err := s.V1Charges.Create(context.Background(), p)
		if err != nil {
			return nil, nil, err
		}
		return r, r.LastResponse, nil
	},
	"customers.delete": func(s *stripe.Client, c call) (any, *stripe.APIResponse, error) {
		id, _ := c.Options["id"].(string)
		r, err := s.V1Customers.Delete(context.Background(), id, &stripe.CustomerDeleteParams{})
		if err != nil {
			return nil, nil, err
		}
		return r, r.LastResponse, nil
	},
	"payment_intents.create": func(s *stripe.Client, c call) (any, *stripe.APIResponse, error) {
		p := &stripe.PaymentIntentCreateParams{}
		if err := stripeParams(c, p, &p.Params); err != nil {
			return nil, nil, err
		}
		r, err := s.V1PaymentIntents.Create(context.Background(), p)
		if err != nil {
			return nil, nil, err
		}
		return r, r.LastResponse, nil
	},
	"payouts.create": func(s *stripe.Client, c call) (any, *stripe.APIResponse, error) {
		p := &stripe.PayoutCreateParams{}
		if err := stripeParams(c, p, &p.Params); err != nil {
			return nil, nil, err
		}
		r, err := s.V1Payouts.Create(context.Background(), p)
		if err != nil {
			return nil, nil, err
		}
		return r, r.LastResponse, nil
	},
	"refunds.create": func(s *stripe.Client, c call) (any, *stripe.APIResponse, error) {
		p := &stripe.RefundCreateParams{}
		if err := stripeParams(c, p, &p.Params); err != nil {
			return nil, nil, err
		}
		r, err := s.V1Refunds.Create(context.Background(), p)
		if err != nil {
			return nil, nil, err
		}
		return r, r.LastResponse, nil
	},
}

// stripeParams fills a params struct by the names of the API.
func stripeParams(c call, into any, common *stripe.Params) error {
	if err := json.Unmarshal(c.Args, into); err != nil {
		return err
	}
	if key, ok := c.Options["key"].(string); ok {
		common.SetIdempotencyKey(key)
	}
	if account, ok := c.Options["account"].(string); ok {
		common.SetStripeAccount(account)
	}
	return nil
}
