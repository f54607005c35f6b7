"""An adapter: between sixthcopy, which hands over calls, and the code under test, which makes them."""

import sys
import time
import urllib.error
import urllib.request
import uuid
from typing import Dict, Optional, Tuple

import sixthcopy_kit as kit

WITH_KEY = "--key" in sys.argv  # of the variant with-key


def post(url: str, headers: Dict[str, str], body: bytes, timeout: Optional[float]) -> Tuple[int, bytes]:
    """The code under test: put yours in its place, under its own retry decorator. This one sends a request
    again, three times at most, when it gets no answer or a 5xx. Its sleep passes in virtual time: the kit
    sees to that."""
    for attempt in range(3):
        if attempt > 0:
            time.sleep(2**attempt)
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=timeout) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            if error.code < 500 or attempt == 2:
                return error.code, error.read()
        except OSError:
            if attempt == 2:
                raise
    raise AssertionError("not reached")


def call(c: kit.Call) -> kit.Claim:
    """Carries out one call and says what became of it."""
    key = str(uuid.uuid4()) if WITH_KEY else None  # before the first attempt, and the same for all of them
    url, headers, body = kit.request(c, key)  # what calls the tool, as it is offered
    try:
        status, text = post(url, headers, body, c.timeout)
    except OSError as error:
        return kit.raised(error)  # failed if nothing of the call has left, else unknown
    return kit.read(status, text, c)  # the answer as a claim


kit.main(call)
