package main

import (
	"context"

	"github.com/stripe/stripe-go/v85"

	"github.com/sixthcopy/sixthcopy/systems/kit"
)

// method makes a call by a method of the client, under a key if there is one, and returns the ids of what was made.
type method func(ctx context.Context, s *stripe.Client, c *kit.Call, key string) ([]string, error)

var methods = map[string]method{
	"refund_order": func(ctx context.Context, s *stripe.Client, c *kit.Call, key string) ([]string, error) {
		p := &stripe.RefundCreateParams{PaymentIntent: given(c, "order")}
		if reason := c.Text("reason"); reason != "" {
			p.AddMetadata("reason", reason)
		}
		if err := common(c, &p.Params, &p.Amount, key); err != nil {
			return nil, err
		}
		r, err := s.V1Refunds.Create(ctx, p)
		if err != nil {
			return nil, err
		}
		return []string{r.ID}, nil
	},
	"charge_order": func(ctx context.Context, s *stripe.Client, c *kit.Call, key string) ([]string, error) {
		p := &stripe.ChargeCreateParams{Currency: given(c, "currency"), Description: given(c, "description")}
		p.AddMetadata("order", c.Text("order"))
		if err := common(c, &p.Params, &p.Amount, key); err != nil {
			return nil, err
		}
		r, err := s.V1Charges.Create(ctx, p)
		if err != nil {
			return nil, err
		}
		return []string{r.ID}, nil
	},
	"create_payout": func(ctx context.Context, s *stripe.Client, c *kit.Call, key string) ([]string, error) {
		p := &stripe.PayoutCreateParams{Currency: given(c, "currency"), Description: given(c, "description")}
		if err := common(c, &p.Params, &p.Amount, key); err != nil {
			return nil, err
		}
		r, err := s.V1Payouts.Create(ctx, p)
		if err != nil {
			return nil, err
		}
		return []string{r.ID}, nil
	},
	"create_transfer": func(ctx context.Context, s *stripe.Client, c *kit.Call, key string) ([]string, error) {
		p := &stripe.TransferCreateParams{Currency: given(c, "currency"), Destination: given(c, "destination"), Description: given(c, "description")}
		if err := common(c, &p.Params, &p.Amount, key); err != nil {
			return nil, err
		}
		r, err := s.V1Transfers.Create(ctx, p)
		if err != nil {
			return nil, err
		}
		return []string{r.ID}, nil
	},
	"list_refunds": func(ctx context.Context, s *stripe.Client, c *kit.Call, _ string) ([]string, error) {
		p := &stripe.RefundListParams{PaymentIntent: given(c, "order")}
		return nil, seen(s.V1Refunds.List(ctx, p).All(ctx))
	},
	"list_charges": func(ctx context.Context, s *stripe.Client, c *kit.Call, _ string) ([]string, error) {
		p := &stripe.ChargeListParams{PaymentIntent: given(c, "order")}
		return nil, seen(s.V1Charges.List(ctx, p).All(ctx))
	},
}

// given is an argument of the call, nil if it is absent.
func given(c *kit.Call, name string) *string {
	if text := c.Text(name); text != "" {
		return &text
	}
	return nil
}

// common fills in what all calls have that move money.
func common(c *kit.Call, p *stripe.Params, amount **int64, key string) error {
	n, err := c.Whole("amount")
	if err != nil {
		return err
	}
	*amount = &n
	if key != "" {
		p.SetIdempotencyKey(key)
	}
	if account := c.Text("account"); account != "" {
		p.SetStripeAccount(account)
	}
	return nil
}

// seen reads a list to its end.
func seen[T any](all stripe.Seq2[T, error]) error {
	var failed error
	all(func(_ T, err error) bool {
		failed = err
		return err == nil
	})
	return failed
}
