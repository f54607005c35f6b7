"""urllib3: a PoolManager that posts."""

import sys
import uuid

import urllib3

import sixthcopy_kit as kit

VARIANT = sys.argv[1] if len(sys.argv) > 1 else "default"


def pool(trial):
    if VARIANT == "default":
        return urllib3.PoolManager()
    return urllib3.PoolManager(retries=urllib3.Retry(3, allowed_methods=None, status_forcelist=[502, 503, 504]))


def call(c):
    url, headers, body = kit.request(c, str(uuid.uuid4()) if VARIANT == "tuned" else None)
    limit = {} if c.timeout is None else {"timeout": c.timeout}
    try:
        answer = c.trial.once(pool).request("POST", url, body=body, headers=headers, **limit)
    except urllib3.exceptions.HTTPError as error:
        return kit.raised(error)
    return kit.read(answer.status, answer.data, c)


kit.main(call, versions={"urllib3": urllib3.__version__})
