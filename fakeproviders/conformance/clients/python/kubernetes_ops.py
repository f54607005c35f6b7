"""kubernetes: an operation is an API's class and its method, "BatchV1Api.create_namespaced_job", with its own
arguments; "dynamic.METHOD" of the dynamic client takes api_version and kind beside them.
"""

import json
import os
import tempfile

import kubernetes.client
import kubernetes.dynamic
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic.exceptions import DynamicApiError


def run(call):
    api, method = call.op.split(".")
    sdk = call.keep(lambda: client(call))
    if api != "dynamic":
        answer = getattr(getattr(kubernetes.client, api)(sdk), method)(**call.args)
        return sdk.sanitize_for_serialization(answer), {}
    args = dict(call.args)
    with tempfile.TemporaryDirectory() as folder:  # of what it discovers
        dynamic = kubernetes.dynamic.DynamicClient(sdk, cache_file=os.path.join(folder, "discovered.json"))
        resource = dynamic.resources.get(api_version=args.pop("api_version"), kind=args.pop("kind"))
        return getattr(resource, method)(**args).to_dict(), {}


def client(call):
    configuration = kubernetes.client.Configuration()
    configuration.host = call.base
    return kubernetes.client.ApiClient(configuration)


def error(e):
    if isinstance(e, (ApiException, DynamicApiError)):
        try:
            said = json.loads(e.body)
        except (TypeError, ValueError):
            said = {}
        return {"type": type(e).__name__, "status": e.status, "code": said.get("reason"), "message": said.get("message", e.reason),
                "more": said.get("details")}
    return {"type": type(e).__name__, "message": str(e)}  # urllib3's own come through
