package fakeproviders

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// githubView renders objects as GitHub shows them.
type githubView struct {
	api   string         // address that the url fields begin with
	all   []store.Object // what is committed: an issue is shown with its changes
	pulls bool           // pull requests as such; else as the issues that they also are
}

// githubState is an issue or a pull request after all its changes.
type githubState struct {
	title, body, labels string
	closed              bool
	closedAt, updated   time.Time
}

func (v githubView) state(o store.Object) githubState {
	s := githubState{title: text(o.Attrs, "title"), body: text(o.Detail, "text"), labels: text(o.Attrs, "labels"), updated: o.At}
	for _, c := range v.all {
		set, _ := c.Detail["set"].(map[string]any)
		if c.Class != "change" || c.Detail["of"] != o.ID {
			continue
		}
		s.updated = c.At
		for name, at := range map[string]*string{"title": &s.title, "body": &s.body, "labels": &s.labels} {
			if value, ok := set[name].(string); ok {
				*at = value
			}
		}
		if state := text(set, "state"); state != "" {
			s.closed, s.closedAt = state == "closed", c.At
		}
	}
	return s
}

// address is the API address of an object.
func (v githubView) address(o store.Object) string {
	repo := v.api + "/repos/" + text(o.Attrs, "repository")
	switch o.Class {
	case "issue", "pull_request":
		if v.pulls {
			return fmt.Sprintf("%s/pulls/%v", repo, o.Detail["number"])
		}
		return fmt.Sprintf("%s/issues/%v", repo, o.Detail["number"])
	case "comment":
		return repo + "/issues/comments/" + o.ID
	case "deployment":
		return repo + "/deployments/" + o.ID
	case "ref":
		return repo + "/git/" + text(o.Attrs, "ref")
	}
	return repo + "/releases/" + o.ID
}

func (v githubView) shown(o store.Object) map[string]any {
	id, _ := strconv.Atoi(o.ID)
	m := map[string]any{"id": id, "url": v.address(o), "created_at": githubTime(o.At), "updated_at": githubTime(o.At)}
	repo, repoURL := text(o.Attrs, "repository"), v.api+"/repos/"+text(o.Attrs, "repository")
	web := "https://github.com/" + repo
	add := func(more map[string]any) map[string]any {
		for k, value := range more {
			m[k] = value
		}
		return m
	}
	user := v.user(o.Principal)
	switch o.Class {
	case "issue":
		return add(v.issue(o, "I", web+"/issues/"))
	case "pull_request":
		if !v.pulls {
			number := fmt.Sprint(o.Detail["number"])
			add(v.issue(o, "PR", web+"/pull/"))
			m["pull_request"] = map[string]any{"url": repoURL + "/pulls/" + number, "html_url": web + "/pull/" + number}
			return m
		}
		return add(v.pull(o))
	case "comment":
		issue := fmt.Sprint(o.Attrs["issue"])
		return add(map[string]any{"node_id": nodeID("IC", o.ID), "body": o.Detail["text"], "user": user, "author_association": "MEMBER",
			"html_url": web + "/issues/" + issue + "#issuecomment-" + o.ID, "issue_url": repoURL + "/issues/" + issue})
	case "release", "draft":
		tag, isDraft := text(o.Attrs, "tag"), o.Class == "draft"
		add(map[string]any{"node_id": nodeID("RE", o.ID), "tag_name": tag, "target_commitish": firstText(text(o.Detail, "target"), "main"),
			"name": o.Attrs["name"], "body": o.Detail["text"], "draft": isDraft, "prerelease": o.Detail["prerelease"] == true, "author": user,
			"assets": []any{}, "assets_url": m["url"].(string) + "/assets", "upload_url": m["url"].(string) + "/assets{?name,label}",
			"html_url": web + "/releases/tag/" + tag, "published_at": githubTime(o.At),
			"tarball_url": repoURL + "/tarball/" + tag, "zipball_url": repoURL + "/zipball/" + tag})
		if isDraft {
			m["published_at"] = nil
		}
		return m
	case "deployment":
		payload := o.Detail["payload"]
		if payload == nil {
			payload = map[string]any{}
		}
		environment := firstText(text(o.Attrs, "environment"), "production")
		return add(map[string]any{"node_id": nodeID("DE", o.ID), "ref": o.Attrs["ref"], "sha": digest(text(o.Attrs, "ref"))[:40],
			"task": firstText(text(o.Detail, "task"), "deploy"), "environment": environment, "original_environment": environment,
			"description": o.Attrs["description"], "payload": payload, "creator": user, "statuses_url": m["url"].(string) + "/statuses",
			"repository_url": repoURL, "transient_environment": false, "production_environment": environment == "production"})
	}
	return map[string]any{"ref": o.Attrs["ref"], "node_id": nodeID("REF", o.ID), "url": v.address(o),
		"object": map[string]any{"type": "commit", "sha": o.Attrs["sha"], "url": repoURL + "/git/commits/" + text(o.Attrs, "sha")}}
}

func (v githubView) issue(o store.Object, prefix, web string) map[string]any {
	s, number := v.state(o), fmt.Sprint(o.Detail["number"])
	repoURL := v.api + "/repos/" + text(o.Attrs, "repository")
	m := map[string]any{"node_id": nodeID(prefix, o.ID), "number": o.Detail["number"], "state": "open", "state_reason": nil, "title": s.title,
		"body": orNull(s.body), "user": v.user(o.Principal), "labels": v.labels(s.labels), "assignee": nil, "assignees": []any{}, "milestone": nil,
		"locked": false, "comments": v.comments(o), "closed_at": nil, "updated_at": githubTime(s.updated), "author_association": "MEMBER",
		"html_url": web + number, "repository_url": repoURL, "comments_url": repoURL + "/issues/" + number + "/comments",
		"labels_url": repoURL + "/issues/" + number + "/labels{/name}", "events_url": repoURL + "/issues/" + number + "/events"}
	if s.closed {
		m["state"], m["state_reason"], m["closed_at"] = "closed", "completed", githubTime(s.closedAt)
	}
	return m
}

func (v githubView) pull(o store.Object) map[string]any {
	repo := text(o.Attrs, "repository")
	m := v.issue(o, "PR", "https://github.com/"+repo+"/pull/")
	at := v.api + "/repos/" + repo
	number := fmt.Sprint(o.Detail["number"])
	branch := func(name string) map[string]any {
		owner, short, ok := strings.Cut(name, ":")
		if !ok {
			owner, _, _ = strings.Cut(repo, "/")
			short = name
		}
		return map[string]any{"label": owner + ":" + short, "ref": short, "sha": digest(name)[:40], "user": v.user(owner), "repo": v.repository(repo)}
	}
	for k, value := range map[string]any{"issue_url": at + "/issues/" + number, "diff_url": m["html_url"].(string) + ".diff",
		"patch_url": m["html_url"].(string) + ".patch", "draft": o.Detail["draft"] == true, "merged": false, "merged_at": nil, "mergeable": nil,
		"merge_commit_sha": nil, "head": branch(text(o.Attrs, "head")), "base": branch(text(o.Attrs, "base")), "requested_reviewers": []any{},
		"url": at + "/pulls/" + number} {
		m[k] = value
	}
	delete(m, "state_reason")
	return m
}

func (v githubView) comments(o store.Object) int {
	n := 0
	for _, c := range v.all {
		if c.Class == "comment" && c.Attrs["repository"] == o.Attrs["repository"] && c.Attrs["issue"] == o.Detail["number"] {
			n++
		}
	}
	return n
}

func (v githubView) labels(names string) []any {
	all := []any{}
	for name := range strings.SplitSeq(names, ",") {
		if name != "" {
			all = append(all, map[string]any{"id": labelID(name), "name": name, "color": "ededed", "default": false, "description": nil})
		}
	}
	return all
}

func labelID(name string) int {
	id, _ := strconv.Atoi(githubID("label "+name, 0))
	return id
}

// user is the account that made something; without a principal it is the bot whose token is used.
func (v githubView) user(principal string) map[string]any {
	login := firstText(strings.ReplaceAll(principal, " ", "-"), "sixthcopy-bot")
	id, _ := strconv.Atoi(githubID("user "+login, 0))
	return map[string]any{"login": login, "id": id, "node_id": nodeID("U", login), "type": "User", "site_admin": false,
		"url": v.api + "/users/" + login, "html_url": "https://github.com/" + login}
}

func (v githubView) repository(repo string) map[string]any {
	owner, name, _ := strings.Cut(repo, "/")
	id, _ := strconv.Atoi(githubID("repository "+repo, 0))
	return map[string]any{"id": id, "node_id": nodeID("R", repo), "name": name, "full_name": repo, "private": true, "fork": false,
		"owner": v.user(owner), "url": v.api + "/repos/" + repo, "html_url": "https://github.com/" + repo, "default_branch": "main",
		"has_issues": true, "archived": false, "disabled": false}
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func githubTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
