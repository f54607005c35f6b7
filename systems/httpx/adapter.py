"""httpx: a Client that posts, over one transport or another."""

import sys
import uuid

import httpx
from httpx_retries import Retry, RetryTransport

import sixthcopy_kit as kit

VARIANT = sys.argv[1] if len(sys.argv) > 1 else "default"


def client(trial):
    if VARIANT == "default":
        return httpx.Client()
    if VARIANT == "connect-retries":
        return httpx.Client(transport=httpx.HTTPTransport(retries=3))
    if VARIANT == "retry-transport":
        return httpx.Client(transport=RetryTransport())
    return httpx.Client(transport=RetryTransport(retry=Retry(total=5, backoff_factor=0.5, allowed_methods=["POST"])))


def call(c):
    url, headers, body = kit.request(c, str(uuid.uuid4()) if VARIANT == "tuned" else None)
    limit = {} if c.timeout is None else {"timeout": c.timeout}
    try:
        answer = c.trial.once(client).post(url, content=body, headers=headers, **limit)
    except httpx.HTTPError as error:
        return kit.raised(error)
    return kit.read(answer.status_code, answer.content, c)


kit.main(call, versions={"httpx": httpx.__version__, "httpx-retries": "0.6.0"})
