"""google-api-python-client: a call of the calendar family is events().insert of the Calendar API.

Arguments: `--retries` (num_retries=3 of execute); `--own-id` gives an event that has none an id of the caller's,
made of the call's id before the first attempt.
"""

import http.client
import sys
from importlib.metadata import version
from typing import Any, Dict

import sixthcopy_kit as kit
from sixthcopy_kit import virtual

virtual.install()  # before the library is imported

import google_auth_httplib2  # noqa: E402
import googleapiclient.errors  # noqa: E402
import httplib2  # noqa: E402
from google.auth.credentials import AnonymousCredentials  # noqa: E402
from googleapiclient.discovery import build  # noqa: E402

RETRIES = {"num_retries": 3} if "--retries" in sys.argv else {}
OWN_ID = "--own-id" in sys.argv


def service(trial: kit.Trial) -> Any:
    """The Calendar API, by the discovery document that comes with the library."""
    at = {"api_endpoint": trial.providers["calendar"]}
    if trial.call_timeout:
        http = google_auth_httplib2.AuthorizedHttp(AnonymousCredentials(), httplib2.Http(timeout=trial.call_timeout))
        return build("calendar", "v3", http=http, client_options=at)
    return build("calendar", "v3", credentials=AnonymousCredentials(), client_options=at)


def event(c: kit.Call) -> Dict[str, Any]:
    a = c.args
    body: Dict[str, Any] = {name: a[name] for name in ("summary", "location", "description") if a.get(name)}
    body["start"], body["end"] = {"dateTime": a["start"]}, {"dateTime": a["end"]}
    if a.get("event_id"):
        body["id"] = a["event_id"]
    elif OWN_ID:
        body["id"] = c.id.encode().hex()  # ids are made of digits and the letters a to v
    if a.get("reference"):
        body["extendedProperties"] = {"private": {"reference": a["reference"]}}
    return body


def call(c: kit.Call) -> kit.Claim:
    try:
        insert = c.trial.once(service).events().insert(calendarId=c.args["calendar"], body=event(c))
        made = insert.execute(**RETRIES)
    except googleapiclient.errors.HttpError as e:
        # 409: an event of that id exists, which does not say whose it is. No details: something in between answered.
        refused = 400 <= e.status_code < 500 and e.status_code not in (408, 409, 429) and e.error_details
        return kit.failed(str(e)) if refused else kit.unknown(str(e))
    except (httplib2.HttpLib2Error, http.client.HTTPException, OSError) as e:
        return kit.raised(e)
    if not isinstance(made, dict) or not made.get("id"):
        return kit.unknown("the answer names no event")
    return kit.done(made["organizer"]["email"] + "/" + made["id"])


kit.main(call, versions={"google-api-python-client": version("google-api-python-client")})
