"""backoff round a function that posts by requests."""

import sys
import uuid
from importlib.metadata import version

import backoff
import requests

import sixthcopy_kit as kit

TUNED = "tuned" in sys.argv


def fatal(error):
    return error.response is not None and 400 <= error.response.status_code < 500


bounds = {"max_tries": 8, "giveup": fatal} if TUNED else {}


@backoff.on_exception(backoff.expo, requests.exceptions.RequestException, **bounds)
def post(url, headers, body, timeout):
    answer = requests.post(url, headers=headers, data=body, timeout=timeout)
    answer.raise_for_status()
    return answer


def call(c):
    url, headers, body = kit.request(c, str(uuid.uuid4()) if TUNED else None)
    try:
        answer = post(url, headers, body, c.timeout)
    except requests.HTTPError as error:
        answer = error.response
    except requests.RequestException as error:
        return kit.raised(error)
    return kit.read(answer.status_code, answer.content, c)


kit.main(call, versions={"backoff": version("backoff"), "requests": requests.__version__})
