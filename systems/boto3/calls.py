"""The calls of Amazon's families: which operation of which service, with which parameters, and what its answer
says."""

from typing import Any, Callable, Dict, List, NamedTuple

import sixthcopy_kit as kit

Args = Dict[str, Any]


class Operation(NamedTuple):
    provider: str  # kind that serves it
    service: str
    method: str
    parameters: Callable[[Args], Args]
    claim: Callable[[Args], kit.Claim]  # of the answer
    token: str  # where the caller's own token goes


def whole(number: Any) -> int:
    return int(float(number))


def each(value: Any) -> List[str]:
    return value if isinstance(value, list) else [value]


def named(a: Args, **names: str) -> Args:
    """Parameters by their names in the API, of the arguments that are given."""
    return {theirs: a[ours] for ours, theirs in names.items() if a.get(ours)}


def made(*ids: str) -> kit.Claim:
    return kit.done(*ids) if ids else kit.unknown("the answer names nothing that was made")


def run_task(a: Args) -> Args:
    p = {"taskDefinition": a["family"], **named(a, cluster="cluster", group="group", reference="startedBy")}
    if "count" in a:
        p["count"] = whole(a["count"])
    if "size" in a:
        p["overrides"] = {"cpu": str(a["size"])}
    return p


def tasks(answer: Args) -> kit.Claim:
    started, failures = [t["taskArn"] for t in answer["tasks"]], answer.get("failures")
    if failures:
        return kit.partial(*started) if started else kit.failed("no task could be placed")
    return made(*started)


def create_service(a: Args) -> Args:
    desired = whole(a.get("desired", 1))
    return {"serviceName": a["name"], "taskDefinition": a["family"], "desiredCount": desired, **named(a, cluster="cluster")}


def run_instances(a: Args) -> Args:
    count = whole(a.get("count", 1))
    p = {"ImageId": a["image"], "MaxCount": count, "MinCount": whole(a.get("minimum", count)), **named(a, type="InstanceType")}
    if a.get("zone"):
        p["Placement"] = {"AvailabilityZone": a["zone"]}
    tags = [{"Key": key, "Value": value} for key, value in named(a, name="Name", reference="reference").items()]
    if tags:
        p["TagSpecifications"] = [{"ResourceType": "instance", "Tags": tags}]
    return p


def start_snapshot(a: Args) -> Args:
    tags = {"Tags": [{"Key": "reference", "Value": a["reference"]}]} if a.get("reference") else {}
    return {"VolumeSize": whole(a["size"]), **named(a, description="Description", parent="ParentSnapshotId"), **tags}


def book_seats(a: Args) -> Args:
    def put(seat: str) -> Args:
        item = {"flight": a["flight"], "seat": seat, **named(a, guest="guest", note="note")}
        return {"Put": {"TableName": "seats", "Item": {name: {"S": text} for name, text in item.items()},
                        "ConditionExpression": "attribute_not_exists(seat)"}}

    return {"TransactItems": [put(seat) for seat in each(a["seat"])]}


def add_points(a: Args) -> Args:
    change, values = "ADD points :points", {":points": {"N": str(whole(a["points"]))}}
    if a.get("reason"):
        change, values = change + " SET reason = :reason", {**values, ":reason": {"S": a["reason"]}}
    return {"TransactItems": [
        {"Update": {"TableName": "accounts", "Key": {"account": {"S": account}}, "UpdateExpression": change,
                    "ExpressionAttributeValues": values}} for account in each(a["account"])]}


def queue(a: Args) -> Args:
    return {"QueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/" + a["queue"]}


def enqueue_message(a: Args) -> Args:
    return {**queue(a), "MessageBody": a["body"], **named(a, group="MessageGroupId")}


def enqueue_messages(a: Args) -> Args:
    return {**queue(a), "Entries": [
        {"Id": str(n), "MessageBody": text, **named(a, group="MessageGroupId")} for n, text in enumerate(each(a["body"]), 1)]}


def messages(answer: Args) -> kit.Claim:
    accepted = [m["MessageId"] for m in answer.get("Successful", [])]
    if answer.get("Failed"):
        return kit.partial(*accepted) if accepted else kit.failed("no message was accepted")
    return made(*accepted)


OPERATIONS = {
    "run_task": Operation("tasks", "ecs", "run_task", run_task, tasks, "clientToken"),
    "create_service": Operation(
        "tasks", "ecs", "create_service", create_service, lambda answer: made(answer["service"]["serviceArn"]), "clientToken"),
    "run_instances": Operation(
        "instances", "ec2", "run_instances", run_instances, lambda answer: made(*(i["InstanceId"] for i in answer["Instances"])),
        "ClientToken"),
    "start_snapshot": Operation(
        "snapshots", "ebs", "start_snapshot", start_snapshot, lambda answer: made(answer["SnapshotId"]), "ClientToken"),
    # A transaction is done as a whole, and its answer names nothing.
    "book_seats": Operation(
        "items", "dynamodb", "transact_write_items", book_seats, lambda answer: kit.done(), "ClientRequestToken"),
    "add_points": Operation(
        "items", "dynamodb", "transact_write_items", add_points, lambda answer: kit.done(), "ClientRequestToken"),
    "enqueue_message": Operation(
        "queue", "sqs", "send_message", enqueue_message, lambda answer: made(answer["MessageId"]), "MessageDeduplicationId"),
    "enqueue_messages": Operation(
        "queue", "sqs", "send_message_batch", enqueue_messages, messages, "MessageDeduplicationId"),
}
