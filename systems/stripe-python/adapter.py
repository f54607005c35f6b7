"""stripe-python: a call of the payments family is one method of the library.

Arguments: `module` (stripe.Refund.create) or `client` (StripeClient); then what the documentation offers
besides: `--retries` (max_network_retries) and `--key` (an idempotency_key of the caller's: the call's id).
"""

import sys
from typing import Any, Dict

import sixthcopy_kit as kit
from sixthcopy_kit import virtual

virtual.install()  # before the library is imported

import stripe  # noqa: E402

MODULE, RETRIES, KEY = sys.argv[1] == "module", "--retries" in sys.argv, "--key" in sys.argv

# The API's refusals: it says that the request was not carried out. What comes as an IdempotencyError, a
# RateLimitError, an APIError or an APIConnectionError leaves open what became of the call.
REFUSALS = (stripe.InvalidRequestError, stripe.CardError, stripe.AuthenticationError, stripe.PermissionError)

Args = Dict[str, Any]


def given(a: Args, *names: str) -> Args:
    return {name: a[name] for name in names if a.get(name)}


def amount(a: Args) -> int:
    return int(float(a["amount"]))


def refund(a: Args) -> Args:
    metadata = {"metadata": {"reason": a["reason"]}} if a.get("reason") else {}
    return {"payment_intent": a["order"], "amount": amount(a), **metadata}


def charge(a: Args) -> Args:
    return {"amount": amount(a), "metadata": {"order": a["order"]}, **given(a, "currency", "description")}


def move(a: Args) -> Args:
    return {"amount": amount(a), **given(a, "currency", "destination", "description")}


def of_order(a: Args) -> Args:
    return {"payment_intent": a["order"], "limit": 100}


# tool: class of the module API, service of StripeClient, method, its parameters
METHODS = {
    "refund_order": (stripe.Refund, "refunds", "create", refund),
    "charge_order": (stripe.Charge, "charges", "create", charge),
    "create_payout": (stripe.Payout, "payouts", "create", move),
    "create_transfer": (stripe.Transfer, "transfers", "create", move),
    "list_refunds": (stripe.Refund, "refunds", "list", of_order),
    "list_charges": (stripe.Charge, "charges", "list", of_order),
}


def opened(trial: kit.Trial) -> None:
    """The module API has its settings in globals."""
    stripe.api_key, stripe.api_base = "sk_test_sixthcopy", trial.providers["payments"]
    stripe.default_http_client = http_client(trial)


def http_client(trial: kit.Trial) -> Any:
    """What the library makes for itself, unless the trial asks for a time-out."""
    return stripe.RequestsClient(timeout=trial.call_timeout) if trial.call_timeout else None


def client(trial: kit.Trial) -> stripe.StripeClient:
    retries: Args = {"max_network_retries": 2} if RETRIES else {}
    return stripe.StripeClient(
        "sk_test_sixthcopy", base_addresses={"api": trial.providers["payments"]}, http_client=http_client(trial), **retries)


def send(c: kit.Call) -> Any:
    resource, service, method, parameters = METHODS[c.name]
    options = {"stripe_account": c.args["account"]} if c.args.get("account") else {}
    if KEY and method == "create":
        options["idempotency_key"] = c.id
    if MODULE:
        return getattr(resource, method)(**parameters(c.args), **options)
    return getattr(getattr(c.trial.once(client).v1, service), method)(parameters(c.args), options)


def call(c: kit.Call) -> kit.Claim:
    try:
        answer = send(c)
    except REFUSALS as e:
        return kit.failed(f"{type(e).__name__}: {e.user_message}")
    except stripe.StripeError as e:
        return kit.raised(e)
    if c.name.startswith("list_"):
        return kit.done()
    made = getattr(answer, "id", None)
    return kit.done(made) if made else kit.unknown("the answer names no object")


kit.main(call, versions={"stripe": stripe.VERSION}, open=opened if MODULE else None)
