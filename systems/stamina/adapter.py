"""stamina round a function that posts by httpx."""

import sys
import uuid
from importlib.metadata import version

import httpx
import stamina

import sixthcopy_kit as kit

TUNED = "tuned" in sys.argv


def worth_it(error):
    """Whether another attempt may help: not after an answer that the request itself is to blame for."""
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code >= 500
    return isinstance(error, httpx.HTTPError)


@stamina.retry(on=worth_it if TUNED else httpx.HTTPError)
def post(url, headers, body, limit):
    answer = httpx.post(url, content=body, headers=headers, **limit)
    answer.raise_for_status()
    return answer


def call(c):
    url, headers, body = kit.request(c, str(uuid.uuid4()) if TUNED else None)
    try:
        answer = post(url, headers, body, {} if c.timeout is None else {"timeout": c.timeout})
    except httpx.HTTPStatusError as error:
        answer = error.response
    except httpx.HTTPError as error:
        return kit.raised(error)
    return kit.read(answer.status_code, answer.content, c)


kit.main(call, versions={"stamina": version("stamina"), "httpx": httpx.__version__})
