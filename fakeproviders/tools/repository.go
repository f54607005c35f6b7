package tools

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// The repository family speaks the GitHub REST API (docs/providers/repository.md). There is no key anywhere. A
// reference travels as a comment at the end of a body, which no reader sees; a deployment has it in its payload.

var inRepository = argument{name: "repository", kind: text, required: true, about: "OWNER/NAME."}

func referenceBy(lookUp string) argument {
	return argument{name: "reference", kind: text, about: "Your own reference; " + lookUp + " finds it again."}
}

var createIssue = &Tool{
	name: "create_issue", provider: "repository",
	about: "Open an issue. A reference of your own lets you find it again.",
	args: []argument{
		inRepository,
		{name: "title", kind: text, required: true, about: "One line."},
		{name: "body", kind: text, about: "The whole story."},
		{name: "labels", kind: text, about: "Names of labels, with commas between them."},
		referenceBy("find_issue"),
	},
	lookUp: "find_issue", lookUpArgument: "reference",
	class:   "issue",
	effects: inLowerCase("repository", "title", "body", "labels"),
	plan: func(a arguments) []request {
		body := marked(a, "title")
		if labels := a.text("labels"); labels != "" {
			body["labels"] = strings.Split(labels, ",")
		}
		return []request{githubRequest(http.MethodPost, a, "/issues", "issue "+a.text("title"), body)}
	},
	read: readGitHub,
}

var findIssue = &Tool{
	name: "find_issue", provider: "repository", readOnly: true,
	about: "List the issues of a repository, oldest first; with a reference those that carry it.",
	args:  []argument{inRepository, {name: "reference", kind: text, about: "The reference given at the start."}},
	plan:  listOf("/issues", "issues", url.Values{"state": {"all"}}),
	keep:  ofReference,
	read: readGitHubList(newestFirst, func(o map[string]any) map[string]any {
		found := pickGiven(o, "title")
		var labels []string
		for _, each := range listIn(o, "labels") {
			if name, ok := each["name"].(string); ok {
				labels = append(labels, name)
			}
		}
		if labels != nil {
			found["labels"] = strings.Join(labels, ",")
		}
		return found
	}),
}

var commentIssue = &Tool{
	name: "comment_issue", provider: "repository",
	about: "Comment on an issue. A reference of your own lets you find the comment again.",
	args: []argument{
		inRepository,
		{name: "issue", kind: number, required: true, about: "Number of the issue."},
		{name: "body", kind: text, required: true, about: "The comment."},
		referenceBy("find_comment"),
	},
	lookUp: "find_comment", lookUpArgument: "reference",
	class: "comment",
	effects: func(a arguments) []map[string]any {
		all := inLowerCase("repository", "issue", "body")(a)
		if n, ok := whole(all[0]["issue"]); ok {
			all[0]["issue"] = n
		}
		return all
	},
	plan: func(a arguments) []request {
		path := fmt.Sprintf("/issues/%d/comments", a.number("issue", 0))
		return []request{githubRequest(http.MethodPost, a, path, "comment on "+issueName(a), marked(a))}
	},
	read: readGitHub,
}

var findComment = &Tool{
	name: "find_comment", provider: "repository", readOnly: true,
	about: "List the comments on an issue, oldest first; with a reference those that carry it.",
	args: []argument{
		inRepository,
		{name: "issue", kind: number, required: true, about: "Number of the issue."},
		{name: "reference", kind: text, about: "The reference given at the start."},
	},
	plan: func(a arguments) []request {
		path := fmt.Sprintf("/issues/%d/comments?per_page=100", a.number("issue", 0))
		return []request{githubRequest(http.MethodGet, a, path, "comments on "+issueName(a), nil)}
	},
	keep: ofReference,
	read: readGitHubList(oldestFirst, func(o map[string]any) map[string]any {
		found := map[string]any{}
		if n, err := strconv.Atoi(lastSegment(o["issue_url"])); err == nil {
			found["issue"] = n
		}
		return found
	}),
}

var openPullRequest = &Tool{
	name: "open_pull_request", provider: "repository",
	about: "Ask for a branch to be merged. There can be one open pull request for a pair of branches.",
	args: []argument{
		inRepository,
		{name: "head", kind: text, required: true, about: "The branch with the changes."},
		{name: "base", kind: text, required: true, about: "The branch that they go to."},
		{name: "title", kind: text, required: true, about: "One line."},
		{name: "body", kind: text, about: "The whole story."},
	},
	lookUp:  "find_pull_request",
	class:   "pull_request",
	effects: inLowerCase("repository", "head", "base", "title", "body"),
	plan: func(a arguments) []request {
		return []request{githubRequest(http.MethodPost, a, "/pulls", "pull request of "+a.text("head"), a.pick("head", "base", "title", "body"))}
	},
	read: readGitHub,
}

var findPullRequest = &Tool{
	name: "find_pull_request", provider: "repository", readOnly: true,
	about: "Find the open pull requests of a branch, oldest first.",
	args: []argument{
		inRepository,
		{name: "head", kind: text, required: true, about: "The branch with the changes."},
		{name: "base", kind: text, about: "The branch that they go to."},
	},
	plan: func(a arguments) []request {
		query := url.Values{"state": {"open"}, "per_page": {"100"}, "head": {a.text("head")}}
		if owner, _, _ := strings.Cut(a.text("repository"), "/"); !strings.Contains(a.text("head"), ":") {
			query.Set("head", owner+":"+a.text("head"))
		}
		if base := a.text("base"); base != "" {
			query.Set("base", base)
		}
		return []request{githubRequest(http.MethodGet, a, "/pulls?"+query.Encode(), "pull requests of "+a.text("head"), nil)}
	},
	read: readGitHubList(newestFirst, func(o map[string]any) map[string]any {
		found := pickGiven(o, "title")
		for _, side := range []string{"head", "base"} {
			if branch, ok := o[side].(map[string]any); ok {
				found[side] = branch["ref"]
			}
		}
		return found
	}),
}

var createRelease = &Tool{
	name: "create_release", provider: "repository",
	about: "Publish a release. There can be one for a tag.",
	args: []argument{
		inRepository,
		{name: "tag", kind: text, required: true, about: "The tag that is released."},
		{name: "name", kind: text, about: "Title of the release."},
		{name: "body", kind: text, about: "Release notes."},
	},
	lookUp:  "find_release",
	class:   "release",
	effects: inLowerCase("repository", "tag", "name", "body"),
	plan: func(a arguments) []request {
		body := a.pick("name", "body")
		body["tag_name"] = a.text("tag")
		return []request{githubRequest(http.MethodPost, a, "/releases", "release "+a.text("tag"), body)}
	},
	read: readGitHub,
}

var findRelease = &Tool{
	name: "find_release", provider: "repository", readOnly: true,
	about: "Find the published releases of a tag.",
	args:  []argument{inRepository, {name: "tag", kind: text, required: true, about: "The tag."}},
	plan:  listOf("/releases", "releases", nil),
	keep: func(a arguments, found map[string]any) bool {
		return found["tag"] == a.text("tag") && found["draft"] != true
	},
	read: readReleases,
}

var draftRelease = &Tool{
	name: "draft_release", provider: "repository",
	about: "Draft a release, to be published by a human. There can be any number for a tag.",
	args: []argument{
		inRepository,
		{name: "tag", kind: text, required: true, about: "The tag that is to be released."},
		{name: "name", kind: text, about: "Title of the release."},
		{name: "body", kind: text, about: "Release notes."},
		referenceBy("find_draft"),
	},
	lookUp: "find_draft", lookUpArgument: "reference",
	class:   "draft",
	effects: inLowerCase("repository", "tag", "name", "body"),
	plan: func(a arguments) []request {
		body := marked(a, "name")
		body["tag_name"], body["draft"] = a.text("tag"), true
		return []request{githubRequest(http.MethodPost, a, "/releases", "draft of "+a.text("tag"), body)}
	},
	read: readGitHub,
}

var findDraft = &Tool{
	name: "find_draft", provider: "repository", readOnly: true,
	about: "List the drafts of releases, oldest first; with a reference those that carry it.",
	args:  []argument{inRepository, {name: "reference", kind: text, about: "The reference given at the start."}},
	plan:  listOf("/releases", "releases", nil),
	keep: func(a arguments, found map[string]any) bool {
		return found["draft"] == true && ofReference(a, found)
	},
	read: readReleases,
}

var createDeployment = &Tool{
	name: "create_deployment", provider: "repository",
	about: "Deploy a branch, tag or commit. A reference of your own lets you find the deployment again.",
	args: []argument{
		inRepository,
		{name: "ref", kind: text, required: true, about: "What is deployed."},
		{name: "environment", kind: text, about: "Where it goes; production unless given."},
		{name: "description", kind: text, about: "What it is for."},
		referenceBy("find_deployment"),
	},
	lookUp: "find_deployment", lookUpArgument: "reference",
	class:   "deployment",
	effects: inLowerCase("repository", "ref", "environment", "description"),
	plan: func(a arguments) []request {
		body := a.pick("ref", "environment", "description")
		body["auto_merge"], body["required_contexts"] = false, []string{}
		if reference := a.text("reference"); reference != "" {
			body["payload"] = map[string]any{"reference": reference}
		}
		return []request{githubRequest(http.MethodPost, a, "/deployments", "deployment of "+a.text("ref"), body)}
	},
	read: readGitHub,
}

var findDeployment = &Tool{
	name: "find_deployment", provider: "repository", readOnly: true,
	about: "List the deployments of a repository, oldest first; with a reference those that carry it.",
	args:  []argument{inRepository, {name: "reference", kind: text, about: "The reference given at the start."}},
	plan:  listOf("/deployments", "deployments", nil),
	keep:  ofReference,
	read: readGitHubList(newestFirst, func(o map[string]any) map[string]any {
		found := pickGiven(o, "ref", "environment", "description")
		if payload, ok := o["payload"].(map[string]any); ok {
			if reference, ok := payload["reference"].(string); ok {
				found["reference"] = reference
			}
		}
		return found
	}),
}
