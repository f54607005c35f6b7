package conformance

import (
	"fmt"

	"github.com/sixthcopy/sixthcopy/bench"
)

var refund = map[string]any{"payment_intent": "pi_4821", "amount": 2500}

func stripeScenarios() []scenario {
	var all []scenario
	for _, c := range []string{"stripe-python", "stripe-node", "stripe-go"} {
		all = append(all,
			scenario{name: "same key, same parameters", contract: "stripe-v1", client: c,
				expected: "replayed with Idempotent-Replayed: true, the same id, 1 effect",
				run: func(st *stage) (string, error) {
					first, err := st.must("refunds.create", refund, with{"key": "k1"})
					if err != nil {
						return "", err
					}
					second, err := st.must("refunds.create", refund, with{"key": "k1"})
					if err != nil {
						return "", err
					}
					made, err := st.effects()
					return fmt.Sprintf("replayed with Idempotent-Replayed: %s, %s id, %s", second.Headers["idempotent-replayed"],
						same(first, second, "id"), plural(len(made), "effect")), err
				}},
		)
	}
	lost := func(client, expected string) scenario {
		return scenario{name: "every answer is lost", contract: "stripe-v1", client: client, expected: expected, slow: true,
			run: func(st *stage) (string, error) {
				st.gate.meet(bench.Committed, bench.Action{Act: bench.Close})
				st.gate.meet(bench.BeforeResponse, bench.Action{Act: bench.Close})
				r, err := st.do("refunds.create", refund)
				if err != nil {
					return "", err
				}
				return st.account(r)
			}}
	}
	return append(all,
		lost("stripe-python", "1 send under 1 key, 1 effect, APIConnectionError"),
		lost("stripe-python module", "3 sends under 1 key, 1 effect, APIConnectionError"),
		lost("stripe-node", "3 sends under 1 key, 1 effect, StripeConnectionError"),
		lost("stripe-go", "3 sends under 1 key, 1 effect, *url.Error"),
	)
}
