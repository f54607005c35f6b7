"""requests: a Session that posts."""

import sys
import uuid

import requests
import urllib3
from requests.adapters import HTTPAdapter

import sixthcopy_kit as kit

VARIANT = sys.argv[1] if len(sys.argv) > 1 else "default"


def session(trial):
    made = requests.Session()
    if VARIANT != "default":
        retries = urllib3.Retry(total=3, backoff_factor=0.1, status_forcelist=[502, 503, 504], allowed_methods={"POST"})
        made.mount("http://", HTTPAdapter(max_retries=retries))
    return made


def call(c):
    url, headers, body = kit.request(c, str(uuid.uuid4()) if VARIANT == "tuned" else None)
    try:
        answer = c.trial.once(session).post(url, data=body, headers=headers, timeout=c.timeout)
    except requests.RequestException as error:
        return kit.raised(error)
    return kit.read(answer.status_code, answer.content, c)


kit.main(call, versions={"requests": requests.__version__, "urllib3": urllib3.__version__})
