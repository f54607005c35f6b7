"""slack_sdk: an operation is a method of the web API, "chat.postMessage".

Options: token ("" sends none), on_behalf_of (the account, for the fake), pages (all of them, as one list).
"""

import http.client
import urllib.error

import slack_sdk
from slack_sdk.errors import SlackApiError


def run(call):
    headers = {"X-On-Behalf-Of": call.options["on_behalf_of"]} if "on_behalf_of" in call.options else {}
    web = slack_sdk.WebClient(token=call.options.get("token", "xoxb-sixthcopy"), base_url=call.base + "/api/", headers=headers)
    answer = getattr(web, call.op.replace(".", "_"))(**call.args)
    if call.options.get("pages"):
        return {"messages": [m for page in answer for m in page["messages"]]}, {}
    return answer.data, answer.headers


def error(e):
    if isinstance(e, SlackApiError):
        return {"type": type(e).__name__, "status": e.response.status_code, "code": e.response["error"], "message": str(e)}
    if isinstance(e, (http.client.HTTPException, urllib.error.URLError, ConnectionError)):
        return {"type": type(e).__name__, "message": str(e)}
    return None
