package tools

import (
	"net/http"
	"testing"
)

// What answers of GitHub and Slack mean: only a refusal in the provider's own words says that nothing happened, and
// one by a natural key is a conflict.
func TestAnswersOfGitHubAndSlack(t *testing.T) {
	for _, c := range []struct {
		tool   *Tool
		status int
		body   string
		want   Status
		says   string
	}{
		{createRelease, 422, `{"message":"Validation Failed","errors":[{"resource":"Release","code":"already_exists","field":"tag_name"}]}`, Conflict, "Validation Failed; tag_name; already_exists"},
		{openPullRequest, 422, `{"message":"Validation Failed","errors":[{"code":"custom","message":"A pull request already exists for octo:fix."}]}`, Conflict, "Validation Failed; custom; A pull request already exists for octo:fix."},
		{createIssue, 422, `{"message":"Validation Failed","errors":[{"code":"missing_field","field":"title"}]}`, Refused, "Validation Failed; title; missing_field"},
		{createIssue, 401, `{"message":"Bad credentials"}`, Refused, "Bad credentials"},
		{createIssue, 422, `<html>`, Unknown, ""},
		{createIssue, 500, `{"message":"Server Error"}`, Unknown, "Server Error"},
		{createIssue, 429, `{"message":"You have exceeded a secondary rate limit."}`, Unknown, "You have exceeded a secondary rate limit."},
		{createIssue, 201, `{"number":1}`, Unknown, "the provider's answer names no id"},
		{createIssue, 201, ``, Unknown, "the provider's answer names no id"},
		{findIssue, 200, `{}`, Unknown, "the provider's answer is no list"},
		{postMessage, 200, `{"ok":false,"error":"channel_not_found"}`, Refused, "channel_not_found"},
		{postMessage, 200, `{"ok":false,"error":"internal_error"}`, Unknown, "internal_error"},
		{postMessage, 200, `{"ok":true}`, Unknown, "the provider's answer names no ts"},
		{postMessage, 200, ``, Unknown, ""},
		{postMessage, 500, `{"ok":false,"error":"internal_error"}`, Unknown, "internal_error"},
		{postMessage, 429, `{"ok":false,"error":"ratelimited"}`, Unknown, "ratelimited"},
		{readChannel, 200, `{"ok":false,"error":"channel_not_found"}`, Refused, "channel_not_found"},
	} {
		got := c.tool.read(response{status: c.status, header: http.Header{}, body: []byte(c.body)})
		if got.status != c.want || got.message != c.says || len(got.receipts) > 0 {
			t.Errorf("%s %d %s: %+v, expected %s %q", c.tool.name, c.status, c.body, got, c.want, c.says)
		}
	}
}
