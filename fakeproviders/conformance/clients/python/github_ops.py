"""PyGithub: operations have the names and arguments that octokit gives them, "issues.create" with owner and repo.

Options: token ("" sends none), per_page, session.
"""

import github
import requests


def run(call):
    gh = call.keep(lambda: client(call))
    args = dict(call.args)
    if call.op == "search.issuesAndPullRequests":
        return [i.raw_data for i in gh.search_issues(args["q"])], {}
    repo = gh.get_repo(args.pop("owner") + "/" + args.pop("repo"))
    number = args.pop("issue_number", None) or args.pop("pull_number", None)
    made = {
        "issues.create": lambda: repo.create_issue(**args),
        "issues.get": lambda: repo.get_issue(number),
        "issues.update": lambda: edited(repo.get_issue(number), args),
        "issues.listForRepo": lambda: repo.get_issues(**args),
        "issues.createComment": lambda: repo.get_issue(number).create_comment(**args),
        "issues.listComments": lambda: repo.get_issue(number).get_comments(),
        "pulls.create": lambda: repo.create_pull(**args),
        "pulls.update": lambda: edited(repo.get_pull(number), args),
        "repos.createRelease": lambda: repo.create_git_release(
            args["tag_name"], args.get("name", ""), args.get("body", ""), draft=args.get("draft", False)),
        "repos.createDeployment": lambda: repo.create_deployment(**args),
        "git.createRef": lambda: repo.create_git_ref(**args),
    }[call.op]()
    if isinstance(made, github.PaginatedList.PaginatedList):
        return [each.raw_data for each in made], {}
    return made.raw_data, made.raw_headers


def client(call):
    token = call.options.get("token", "ghp_sixthcopy")
    more = {"per_page": call.options["per_page"]} if "per_page" in call.options else {}
    return github.Github(base_url=call.base, auth=github.Auth.Token(token) if token else None, lazy=True, **more)


def edited(thing, args):
    thing.edit(**args)
    return thing


def error(e):
    if isinstance(e, github.GithubException):
        problems = (e.data or {}).get("errors") or [{}]
        return {"type": type(e).__name__, "status": e.status, "code": problems[0].get("code"), "message": (e.data or {}).get("message")}
    if isinstance(e, requests.RequestException):
        return {"type": type(e).__name__, "message": str(e)}
    return None
