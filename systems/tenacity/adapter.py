"""tenacity round a function that posts by requests."""

import sys
import uuid

import requests
import tenacity

import sixthcopy_kit as kit


def post(url, headers, body, timeout):
    answer = requests.post(url, headers=headers, data=body, timeout=timeout)
    answer.raise_for_status()
    return answer


if "tuned" in sys.argv:
    retrying = tenacity.retry(
        stop=tenacity.stop_after_attempt(7),
        wait=tenacity.wait_random_exponential(multiplier=1, max=60),
        retry=tenacity.retry_if_exception_type(IOError),
        reraise=True,
    )
else:
    retrying = tenacity.retry


def call(c):
    key = str(uuid.uuid4()) if "tuned" in sys.argv else None
    url, headers, body = kit.request(c, key)
    try:
        answer = retrying(post)(url, headers, body, c.timeout)
    except requests.HTTPError as error:
        answer = error.response
    except requests.RequestException as error:
        return kit.raised(error)
    return kit.read(answer.status_code, answer.content, c)


kit.main(call, versions={"tenacity": "9.2.1", "requests": requests.__version__})
