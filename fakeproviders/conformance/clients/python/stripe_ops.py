"""stripe-python: an operation is a service and its method, "refunds.create"; v2 services as "v2.core.accounts.create".

Client "stripe-python" is a StripeClient as it comes, "stripe-python module" the module-level API
(stripe.Refund.create), whose address is a global: it wants a process of its own.
Options: key, account, context, retries, api_key ("" sends none), id (of the object the method is about),
all (a list is read to its end, over all of its pages).
"""

import stripe

CLASSES = {
    "charges": stripe.Charge, "payment_intents": stripe.PaymentIntent, "payouts": stripe.Payout,
    "refunds": stripe.Refund, "transfers": stripe.Transfer,
}


def run(call):
    options = call.options
    said = {}
    for ours, theirs in (("key", "idempotency_key"), ("account", "stripe_account"), ("context", "stripe_context")):
        if ours in options:
            said[theirs] = options[ours]
    before = [options["id"]] if "id" in options else []
    path = call.op.split(".")
    if call.client == "stripe-python module":
        stripe.api_base, stripe.api_key = call.base, options.get("api_key", "sk_test_sixthcopy")
        if "retries" in options:
            stripe.max_network_retries = options["retries"]
        answer = getattr(CLASSES[path[0]], path[1])(*before, **call.args, **said)
    else:
        at = call.keep(lambda: client(call))
        for name in path[:-1] if path[0] == "v2" else ["v1"] + path[:-1]:
            at = getattr(at, name)
        answer = getattr(at, path[-1])(*before, call.args, said)
    if options.get("all"):
        return {"ids": [o.id for o in answer.auto_paging_iter()]}, {}
    last = answer.last_response
    return answer.to_dict(recursive=True) if hasattr(answer, "to_dict") else answer, last.headers if last else {}


def client(call):
    retries = {"max_network_retries": call.options["retries"]} if "retries" in call.options else {}
    every = {name: call.base for name in ("api", "connect", "files", "meter_events")}
    return stripe.StripeClient(call.options.get("api_key", "sk_test_sixthcopy"), base_addresses=every, **retries)


def error(e):
    if not isinstance(e, stripe.StripeError):
        return None
    return {"type": type(e).__name__, "status": e.http_status, "code": e.code, "message": e.user_message, "headers": dict(e.headers or {})}
