"""Clients of payment APIs, and azure-core's pipeline: an operation is a method, "payments.create".

Options: key (the idempotency key, where the client takes it apart), raises (gocardless_pro: raise on a
conflict). azure-core has one operation, "send", with path, body and headers.
"""

import http.client
import json

import Adyen
import Adyen.exceptions
import azure.core.exceptions
import gocardless_pro
import httpx
import increase
import requests.exceptions
import square
from azure.core import PipelineClient
from azure.core.pipeline import policies
from azure.core.rest import HttpRequest
from square.core.api_error import ApiError


def run(call):
    return {"gocardless_pro": gocardless, "squareup": squareup, "Adyen": adyen, "increase": increases,
            "azure-core": azurecore}[call.client](call)


def gocardless(call):
    sdk = gocardless_pro.Client(access_token="token", base_url=call.base, raise_on_idempotency_conflict=call.options.get("raises", False))
    service, method = call.op.split(".")
    if method == "create":
        headers = {"Idempotency-Key": call.options["key"]} if "key" in call.options else None
        answer = getattr(sdk, service).create(params=call.args, headers=headers)
    elif method == "all":
        return {"payments": [p.attributes for p in getattr(sdk, service).all(params=call.args)]}, {}
    else:
        answer = getattr(getattr(sdk, service), method)(call.args["identity"])
    return answer.attributes, answer.api_response.headers


def squareup(call):
    sdk = square.Square(token="token", base_url=call.base)
    service, method = call.op.split(".")
    answer = getattr(getattr(sdk, service), method)(**call.args)
    if method == "list":
        return {"payments": [p.model_dump() for p in answer]}, {}
    return answer.model_dump(exclude_none=True), {}


def adyen(call):
    sdk = Adyen.Adyen(xapikey="key", platform="test")
    sdk.checkout.payments_api.baseUrl = call.base + "/v72"
    answer = sdk.checkout.payments_api.payments(call.args, idempotency_key=call.options.get("key"))
    return answer.message, {}


def increases(call):
    sdk = increase.Increase(api_key="key", base_url=call.base)
    service, method = call.op.split(".")
    at = getattr(sdk, service)
    if method == "list":
        return {"data": [t.model_dump(mode="json", warnings=False) for t in at.list(**call.args)]}, {}
    key = {"idempotency_key": call.options["key"]} if "key" in call.options else {}
    raw = getattr(at.with_raw_response, method)(**call.args, **key)
    return json.loads(raw.read()), raw.headers


def azurecore(call):
    sdk = PipelineClient(base_url=call.base, policies=[policies.HeadersPolicy(), policies.RetryPolicy()])
    answer = sdk.send_request(HttpRequest("POST", sdk.format_url(call.args["path"]), headers=call.args["headers"], json=call.args["body"]))
    answer.raise_for_status()
    return answer.json(), answer.headers


def error(e):
    said = {"type": type(e).__name__, "message": str(e)}
    if isinstance(e, gocardless_pro.errors.ApiError):
        more = {"existing": e.conflicting_resource_id} if isinstance(e, gocardless_pro.errors.IdempotentCreationConflictError) else {}
        return {**said, "status": e.code, "code": e.type, "more": more}
    if isinstance(e, gocardless_pro.errors.MalformedResponseError):
        return {**said, "status": e.status_code}
    if isinstance(e, ApiError):
        return {**said, "status": e.status_code, "code": e.errors[0].code}
    if isinstance(e, Adyen.exceptions.AdyenAPIResponseError):
        return {**said, "status": e.status_code, "code": e.error_code, "headers": dict(e.headers or {})}
    if isinstance(e, increase.APIStatusError):
        return {**said, "status": e.status_code, "more": {"existing": getattr(e, "resource_id", None)}}
    if isinstance(e, azure.core.exceptions.HttpResponseError):
        return {**said, "status": e.status_code, "code": e.error.code if e.error else "", "headers": dict(e.response.headers)}
    if isinstance(e, (increase.APIError, azure.core.exceptions.AzureError, httpx.HTTPError, requests.exceptions.RequestException,
                      http.client.HTTPException, gocardless_pro.errors.GoCardlessProError, OSError)):
        return said
    return None
