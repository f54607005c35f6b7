package conformance

import (
	"fmt"
	"maps"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// octo are arguments in the one repository that these scenarios know.
func octo(more ...any) map[string]any {
	m := map[string]any{"owner": "octo", "repo": "widgets"}
	for i := 0; i < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	return m
}

// repeated makes one request two times.
func repeated(op string, args map[string]any) func(*stage) (string, error) {
	return twice(step{op: op, args: args}, step{op: op, args: args}, nil, "id")
}

// afterIssue opens issue 1 first.
func afterIssue(run func(*stage) (string, error)) func(*stage) (string, error) {
	return func(st *stage) (string, error) {
		if _, err := st.must("issues.create", octo("title", "Flaky test")); err != nil {
			return "", err
		}
		return run(st)
	}
}

// githubClients are the three clients: how often each sends a request that is never answered, and what it raises.
// The retries of PyGithub are those of urllib3 under its GithubRetry(total=10), octokit's those of plugin-retry.
var githubClients = []struct {
	name                          string
	sends                         int
	lost, failed, refused, denied string
}{
	{"PyGithub", 11, "ConnectionError", "RetryError", "GithubException 422", "GithubException 401"},
	{"octokit", 4, "RequestError 500", "RequestError 500", "RequestError 422", "RequestError 401"},
	{"@octokit/rest", 1, "RequestError 500", "RequestError 500", "RequestError 422", "RequestError 401"},
}

func githubScenarios() []scenario {
	var all []scenario
	issue := octo("title", "Export is broken", "body", "On Safari.")
	release := octo("tag_name", "v1", "name", "One", "body", "Notes")
	pull := octo("head", "fix", "base", "main", "title", "Mend it")
	answers := func(act bench.Action, n ...int) func(*stage) {
		return func(st *stage) { st.gate.meet(bench.Committed, act, n...) }
	}
	lost := bench.Action{Act: bench.Close}
	for _, c := range githubClients {
		counted := func(name, expected, op string, args map[string]any, strike func(*stage)) {
			all = append(all, scenario{name: name, contract: "github", client: c.name, expected: expected,
				run: func(st *stage) (string, error) {
					strike(st)
					r, err := st.do(op, maps.Clone(args))
					if err != nil {
						return "", err
					}
					return st.account(r)
				}})
		}
		add := func(name, expected string, run func(*stage) (string, error)) {
			all = append(all, scenario{name: name, contract: "github", client: c.name, expected: expected, run: run})
		}
		n := c.sends
		counted("an issue, every answer is lost", fmt.Sprintf("%s, %s, %s", plural(n, "send"), plural(n, "effect"), c.lost),
			"issues.create", issue, answers(lost))
		counted("an issue, every answer is a 500 after the commit", fmt.Sprintf("%s, %s, %s", plural(n, "send"), plural(n, "effect"), c.failed),
			"issues.create", issue, answers(bench.Action{Act: bench.Fail, Status: 500}))
		counted("an issue, every answer is a 500 and nothing is made", fmt.Sprintf("%s, 0 effects, %s", plural(n, "send"), c.failed),
			"issues.create", issue, func(st *stage) { st.gate.meet(bench.Received, bench.Action{Act: bench.Fail, Status: 500}) })
		if n > 1 {
			counted("an issue, the first answer is lost", "2 sends, 2 effects, ok", "issues.create", issue, answers(lost, 1))
			counted("a release, the first answer is lost", "2 sends, 1 effect, "+c.refused+" already_exists", "repos.createRelease", release, answers(lost, 1))
			counted("a pull request, the first answer is lost", "2 sends, 1 effect, "+c.refused+" custom", "pulls.create", pull, answers(lost, 1))
		}
		add("a second release of a tag", c.refused+" already_exists, 1 effect", repeated("repos.createRelease", release))
		add("a second draft of a tag", "ok, another object, 2 effects", repeated("repos.createRelease", octo("tag_name", "v1", "name", "One", "body", "Notes", "draft", true)))
		add("a second open pull request of the same branches", c.refused+" custom, 1 effect", repeated("pulls.create", pull))
		add("a second ref of a name", c.refused+", 1 effect", repeated("git.createRef", octo("ref", "refs/heads/fix", "sha", "6dcb09b5b57875f334f61aebed695e2e4193db5e")))
		add("a second issue of the same words", "ok, another object, 2 effects", repeated("issues.create", issue))
		add("a second comment of the same words", "ok, another object, 3 effects", afterIssue(repeated("issues.createComment", octo("issue_number", 1, "body", "/retest"))))
		add("a second deployment of a ref", "ok, another object, 2 effects", repeated("repos.createDeployment", octo("ref", "v1", "environment", "production")))
		add("a pull request of the same branches when the first is closed", "ok", func(st *stage) (string, error) {
			if _, err := st.must("pulls.create", maps.Clone(pull)); err != nil {
				return "", err
			}
			if _, err := st.must("pulls.update", octo("pull_number", 1, "state", "closed")); err != nil {
				return "", err
			}
			r, err := st.do("pulls.create", maps.Clone(pull))
			return r.String(), err
		})
		add("an issue without a title", c.refused+" missing_field", func(st *stage) (string, error) {
			r, err := st.do("issues.create", octo("title", ""))
			return r.String(), err
		})
		add("without a token", c.denied, func(st *stage) (string, error) {
			r, err := st.do("issues.create", maps.Clone(issue), with{"token": ""})
			return r.String(), err
		})
		add("a list in pages of two", "5 issues, the newest first", func(st *stage) (string, error) {
			for i := range 5 {
				if _, err := st.must("issues.create", octo("title", fmt.Sprint("number ", i+1)), with{"session": "a"}); err != nil {
					return "", err
				}
			}
			for range 2 { // the first look shows nothing
				if _, err := githubList(st, 2); err != nil {
					return "", err
				}
			}
			r, err := githubList(st, 2)
			list, _ := r.OK.([]any)
			order := "the newest first"
			for i := range list {
				if at(list, i, "number") != float64(len(list)-i) {
					order = "in another order"
				}
			}
			return fmt.Sprintf("%s, %s", plural(len(list), "issue"), order), err
		})
		all = append(all,
			scenario{name: "lists after an issue was opened", contract: "github", client: c.name,
				expected: "0, then 1", run: func(st *stage) (string, error) { return lists(st) }},
			scenario{name: "lists after an issue was opened", contract: "github-lagging-lists", client: c.name,
				expected: "0, then 0; an hour later 1", run: func(st *stage) (string, error) {
					early, err := lists(st)
					if err != nil {
						return "", err
					}
					st.clock.pass(time.Hour)
					r, err := githubList(st, 100)
					list, _ := r.OK.([]any)
					return fmt.Sprintf("%s; an hour later %d", early, len(list)), err
				}},
			scenario{name: "a search after an issue was opened", contract: "github", client: c.name,
				expected: "0, then 0; two minutes later 1", run: func(st *stage) (string, error) {
					if _, err := st.must("issues.create", octo("title", "Odd", "body", "<!-- reference: r-17 -->")); err != nil {
						return "", err
					}
					var found []any
					for i := range 3 {
						if i == 2 {
							st.clock.pass(2 * time.Minute)
						}
						r, err := st.must("search.issuesAndPullRequests", map[string]any{"q": `"reference: r-17" repo:octo/widgets is:issue`}, with{"paginate": true})
						if err != nil {
							return "", err
						}
						list, _ := r.OK.([]any)
						found = append(found, len(list))
					}
					return fmt.Sprintf("%v, then %v; two minutes later %v", found...), nil
				}},
		)
	}
	return all
}

// githubList lists all issues in pages of that size.
func githubList(st *stage, size int) (result, error) {
	args := octo("state", "all")
	if st.client.language == "node" {
		args["per_page"] = size
	}
	return st.must("issues.listForRepo", args, with{"paginate": true, "per_page": size})
}

// lists opens an issue and lists all twice.
func lists(st *stage) (string, error) {
	if _, err := st.must("issues.create", octo("title", "Odd")); err != nil {
		return "", err
	}
	var found []any
	for range 2 {
		r, err := githubList(st, 100)
		if err != nil {
			return "", err
		}
		list, _ := r.OK.([]any)
		found = append(found, len(list))
	}
	return fmt.Sprintf("%v, then %v", found...), nil
}
