"""boto3: a call of Amazon's families is one operation of a client.

Argument: `--token` gives each operation the id of the call as its token; without it there are those that boto3
makes by itself.
"""

import os
import sys
from typing import Any

import sixthcopy_kit as kit
from sixthcopy_kit import virtual

virtual.install()  # before the library is imported

# What the user of this machine has set for AWS is no default of the library.
for variable in [name for name in os.environ if name.startswith(("AWS_", "BOTO"))]:
    del os.environ[variable]
os.environ["AWS_CONFIG_FILE"] = os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull

import boto3  # noqa: E402
import botocore.config  # noqa: E402
import botocore.exceptions  # noqa: E402
from calls import OPERATIONS  # noqa: E402

TOKEN = "--token" in sys.argv
SESSION = boto3.Session(aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key="secret", region_name="us-east-1")

# Errors that say that something is in the way: another call of that token, or an item that is there. They do
# not say whose it is.
CONFLICTS = {
    "ConflictException", "IdempotentInstanceTerminated", "IdempotentParameterMismatch", "IdempotentParameterMismatchException",
    "ResourceInUse", "TransactionCanceledException", "TransactionInProgressException",
}


def client(trial: kit.Trial) -> Any:
    """The client of the one service that the trial's calls belong to."""
    operation = next(OPERATIONS[name] for name in trial.tools if name in OPERATIONS)
    config = None
    if trial.call_timeout:
        config = botocore.config.Config(connect_timeout=trial.call_timeout, read_timeout=trial.call_timeout)
    return SESSION.client(operation.service, endpoint_url=trial.providers[operation.provider], config=config)


def refusal(error: botocore.exceptions.ClientError) -> bool:
    """Whether the service says that it did not carry this call out. A code that is a number is no word of the
    service: something in between has answered."""
    code, status = error.response["Error"]["Code"], error.response["ResponseMetadata"]["HTTPStatusCode"]
    if code == "InsufficientInstanceCapacity":  # its status is 500
        return True
    taken = code in CONFLICTS or "not idempotent" in error.response["Error"]["Message"]  # CreateService: the name is taken
    return not taken and not code.isdigit() and 400 <= status < 500 and status not in (408, 409, 429)


def call(c: kit.Call) -> kit.Claim:
    operation = OPERATIONS[c.name]
    parameters = operation.parameters(c.args)
    if TOKEN and c.name == "enqueue_messages":
        for entry in parameters["Entries"]:
            entry[operation.token] = c.id + "/" + entry["Id"]
    elif TOKEN:
        parameters[operation.token] = c.id
    try:
        answer = getattr(c.trial.once(client), operation.method)(**parameters)
    except botocore.exceptions.ClientError as e:
        return kit.failed(str(e)) if refusal(e) else kit.unknown(str(e))
    except botocore.exceptions.ParamValidationError as e:  # nothing was sent
        return kit.failed(str(e))
    except (botocore.exceptions.BotoCoreError, botocore.exceptions.HTTPClientError) as e:
        return kit.raised(e)
    try:
        return operation.claim(answer)
    except KeyError as e:  # an empty 200
        return kit.unknown(f"the answer has no {e}")


kit.main(call, versions={"boto3": boto3.__version__})
