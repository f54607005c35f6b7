import unittest

import stripe
from fake import Fake


class LostRefund(unittest.TestCase):
    def test_retry_under_the_key(self):
        with Fake("stripe-v1") as fake:
            client = stripe.StripeClient("sk_test_1", base_addresses={"api": fake.address})

            def refund():
                return client.v1.refunds.create(
                    {"payment_intent": "pi_4821", "amount": 2500}, {"idempotency_key": "refund-of-4821"})

            # The answer to the refund is lost. It was made all the same.
            fake.ask("POST", "/gate", {"at": "committed", "act": "reset", "class": "refund"})
            with self.assertRaises(stripe.APIConnectionError):
                refund()
            self.assertEqual(len(fake.ask("GET", "/effects")), 1)

            # Under its key the retry is answered with what is there.
            first = refund()
            self.assertEqual([e["object"] for e in fake.ask("GET", "/effects")], [first.id])

            # A day later the key is forgotten: the same call is a second refund.
            fake.ask("POST", "/clock", {"pass": "25h"})
            second = refund()
            self.assertEqual([e["object"] for e in fake.ask("GET", "/effects")], [first.id, second.id])


if __name__ == "__main__":
    unittest.main()
