"""PyGithub: a call of the repository family is one method of a Repository or an Issue.

Argument: `--idempotent-only` has it resend by the methods that urllib3 resends by default: POST is not among them.
"""

import sys
from importlib.metadata import version
from math import ceil
from typing import Any, Dict

import sixthcopy_kit as kit
from sixthcopy_kit import virtual

virtual.install()  # before the library is imported

import github  # noqa: E402
import requests  # noqa: E402
from github.Repository import Repository  # noqa: E402
from urllib3.util import Retry  # noqa: E402

IDEMPOTENT_ONLY = "--idempotent-only" in sys.argv

Args = Dict[str, Any]


def client(trial: kit.Trial) -> github.Github:
    options: Args = {}
    if IDEMPOTENT_ONLY:
        options["retry"] = github.GithubRetry(allowed_methods=Retry.DEFAULT_ALLOWED_METHODS)
    if trial.call_timeout:
        options["timeout"] = ceil(trial.call_timeout)
    return github.Github(base_url=trial.providers["repository"], auth=github.Auth.Token("ghp_sixthcopy"), **options)


def given(a: Args, **names: str) -> Args:
    return {theirs: a[ours] for ours, theirs in names.items() if a.get(ours)}


def marked(a: Args) -> str:
    """The body, with the caller's reference at its end."""
    body: str = a.get("body", "")
    if a.get("reference"):
        body = (body + "\n\n").lstrip("\n") + "<!-- reference: " + a["reference"] + " -->"
    return body


def create_issue(repo: Repository, a: Args) -> Any:
    labels = {"labels": a["labels"].split(",")} if a.get("labels") else {}
    return repo.create_issue(a["title"], **given({"body": marked(a)}, body="body"), **labels)


def comment_issue(repo: Repository, a: Args) -> Any:
    return repo.get_issue(int(float(a["issue"]))).create_comment(marked(a))


def open_pull_request(repo: Repository, a: Args) -> Any:
    return repo.create_pull(a["base"], a["head"], **given(a, title="title", body="body"))


def create_release(repo: Repository, a: Args) -> Any:
    return repo.create_git_release(a["tag"], a.get("name", ""), a.get("body", ""))


def draft_release(repo: Repository, a: Args) -> Any:
    return repo.create_git_release(a["tag"], a.get("name", ""), marked(a), draft=True)


def create_deployment(repo: Repository, a: Args) -> Any:
    payload: Args = {"payload": {"reference": a["reference"]}} if a.get("reference") else {}
    return repo.create_deployment(
        a["ref"], auto_merge=False, required_contexts=[], **given(a, environment="environment", description="description"), **payload)


METHODS = {
    "create_issue": create_issue, "comment_issue": comment_issue, "open_pull_request": open_pull_request,
    "create_release": create_release, "draft_release": draft_release, "create_deployment": create_deployment,
}


def refusal(error: github.GithubException) -> bool:
    """Whether GitHub says that it did not carry this call out. That something of that name exists does not say
    who made it; and what has no message of GitHub's was answered by something in between."""
    data = error.data if isinstance(error.data, dict) else {}
    said = str(data.get("message", "")) + str(data.get("errors", ""))
    taken = "already exists" in said or "already_exists" in said
    return bool(said) and not taken and 400 <= error.status < 500 and error.status not in (408, 409, 429)


def call(c: kit.Call) -> kit.Claim:
    try:
        made = METHODS[c.name](c.trial.once(client).get_repo(c.args["repository"]), c.args)
    except github.GithubException as e:
        return kit.failed(str(e)) if refusal(e) else kit.unknown(str(e))
    except requests.RequestException as e:
        return kit.raised(e)
    if made.id is None:  # an empty answer
        return kit.unknown("the answer names no object")
    return kit.done(str(made.id))


kit.main(call, versions={"PyGithub": version("PyGithub")})
