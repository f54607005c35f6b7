"""google-api-python-client: an operation is a method of the Calendar API, "events.insert", with its own arguments.

Options: num_retries (of execute), pages (true: all pages, their items together).
"""

import threading

import googleapiclient.errors
from google.auth.credentials import AnonymousCredentials
from googleapiclient.discovery import build

_lock = threading.Lock()  # building reads the discovery document that comes with the package


def run(call):
    resource, method = call.op.split(".")
    service = getattr(call.keep(lambda: client(call)), resource)()
    request = getattr(service, method)(**call.args)
    if not call.options.get("pages"):
        return request.execute(num_retries=call.options.get("num_retries", 0)), {}
    items = []
    while request is not None:
        page = request.execute()
        items.append(len(page["items"]))
        request = getattr(service, method + "_next")(request, page)
    return items, {}


def client(call):
    with _lock:
        return build("calendar", "v3", static_discovery=True, credentials=AnonymousCredentials(),
                     client_options={"api_endpoint": call.base})


def error(e):
    if isinstance(e, googleapiclient.errors.HttpError):
        details = e.error_details if isinstance(e.error_details, list) and e.error_details else [{}]
        return {"type": "HttpError", "status": e.status_code, "code": details[0].get("reason"), "message": e.reason,
                "headers": {k: str(v) for k, v in e.resp.items()}}
    return {"type": type(e).__name__, "message": str(e)}  # httplib2 lets those of sockets and http.client through
