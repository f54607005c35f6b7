"""boto3: an operation is a service and an operation of its API, "ecs.RunTask", with the API's own arguments.

Options: waiter (name of a waiter to run instead: "tasks_running"), pages (true: all pages, answers merged),
retry_mode, region.
"""

import boto3
import botocore
import botocore.config
import botocore.exceptions
import threading

_session = boto3.Session(aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key="secret", region_name="us-east-1")
_lock = threading.Lock()  # a session makes one client at a time


def run(call):
    service, operation = call.op.split(".")
    method = botocore.xform_name(operation)
    sdk = call.keep(lambda: client(service, call))
    if "waiter" in call.options:
        sdk.get_waiter(call.options["waiter"]).wait(**call.args)
        return {}, {}
    if call.options.get("pages"):
        return sdk.get_paginator(method).paginate(**call.args).build_full_result(), {}
    answer = getattr(sdk, method)(**call.args)
    said = answer.pop("ResponseMetadata", {})
    return answer, said.get("HTTPHeaders", {})


def client(service, call):
    config = None
    if "retry_mode" in call.options:
        config = botocore.config.Config(retries={"mode": call.options["retry_mode"]})
    with _lock:
        return _session.client(service, endpoint_url=call.base, config=config, region_name=call.options.get("region"))


def error(e):
    if isinstance(e, botocore.exceptions.ClientError):
        said = e.response["Error"]
        more = {k: v for k, v in e.response.items() if k not in ("Error", "ResponseMetadata")}
        return {"type": type(e).__name__, "status": e.response["ResponseMetadata"]["HTTPStatusCode"],
                "code": said["Code"], "message": said["Message"], "more": more}
    if isinstance(e, (botocore.exceptions.BotoCoreError, botocore.exceptions.HTTPClientError)):
        return {"type": type(e).__name__, "message": str(e)}
    return None
