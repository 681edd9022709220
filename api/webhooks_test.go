package api_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

const (
	hookSecret = "the secret of webhooks"
	oldSecret  = "the secret before that"
	hookPath   = "/api/v1/webhooks/github"
)

// hooked is a server with webhooks, and a task with an open pull request of acme/app.
type hooked struct {
	*world

	task  client.Task
	heard *counter
	sent  int
}

// counter counts webhooks by event and outcome.
type counter map[string]int

func (c counter) Webhook(event, outcome string) { c[event+" "+outcome]++ }

func (counter) Route(string, string) func(int, time.Duration) { return func(int, time.Duration) {} }

func (counter) Stream(string) func() { return func() {} }

func takesHooks(tb testing.TB) *hooked {
	tb.Helper()
	heard := counter{}
	w := startWith(tb, pgtest.New(tb), live.New(), func(c *api.Config) { c.Open, c.WebhookSecrets = true, []string{hookSecret, oldSecret} },
		func(d *api.Deps) { d.Meter = heard })
	h := &hooked{world: w, heard: &heard, task: w.task(newTask())}
	w.exec(`UPDATE projects SET repo = 'acme/app', on_feedback = 'revise'`)
	w.exec(`UPDATE tasks SET branch_name = 'feature/x', pull_request_number = 7 WHERE id = $1`, h.task.ID)
	return h
}

// blank holds the variable parts of an example.
type blank struct {
	At, Login, Type, Association, State, Conclusion, Body, Action string
	Fork, Merged                                                  bool
}

// example returns a webhook in the form of GitHub's documentation; missing parts get usual values.
func example(tb testing.TB, name string, b blank) []byte {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "github", name+".json"))
	require.NoError(tb, err)
	for _, field := range []struct {
		of    *string
		usual string
	}{
		{&b.At, time.Now().UTC().Format(time.RFC3339)},
		{&b.Login, "alice"},
		{&b.Type, "User"},
		{&b.Association, "COLLABORATOR"},
		{&b.State, "changes_requested"},
		{&b.Conclusion, "failure"},
		{&b.Body, "Please handle the empty list."},
		{&b.Action, "closed"},
	} {
		if *field.of == "" {
			*field.of = field.usual
		}
	}
	var out bytes.Buffer
	require.NoError(tb, template.Must(template.New(name).Parse(string(raw))).Execute(&out, b))
	return out.Bytes()
}

func signature(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// send delivers a webhook as GitHub does.
func (h *hooked) send(event string, body []byte, headers ...string) answer {
	h.t.Helper()
	h.sent++
	all := append([]string{
		"X-GitHub-Event", event, "X-GitHub-Delivery", task.NewID(), "X-Hub-Signature-256", signature(hookSecret, body),
		"Content-Type", "application/json", "User-Agent", "GitHub-Hookshot/044aadd",
	}, headers...)
	return h.call(http.MethodPost, hookPath, body, all...)
}

func (h *hooked) story() feedback.TaskFeedback {
	h.t.Helper()
	return ok[feedback.TaskFeedback](h.call(http.MethodGet, "/api/v1/tasks/"+h.task.ID+"/feedback", nil), http.StatusOK)
}

// Relevant webhooks are stored, with author, text and position.
func TestWebhook_RelevantEventsAreStored(t *testing.T) {
	t.Parallel()
	for event, c := range map[string]struct {
		blank blank
		note  string
		url   string
		said  string
	}{
		"check_run":                   {note: `Check "unit tests": failure, on commit ce587453ce`, url: "https://github.com/acme/app/runs/128620228", said: "2 of 80 tests failed"},
		"check_suite":                 {note: `Check "Octocoders-linter": failure, on commit ec26c3e57c`},
		"workflow_run":                {note: `Check "CI": failure, on commit 9c14ea0d2c`, url: "https://github.com/acme/app/actions/runs/30433642"},
		"status":                      {blank: blank{State: "failure"}, note: `Status "ci/jenkins": failure, on commit 6dcb09b5b5`, url: "https://ci.example.com/1000/output", said: "Build has failed"},
		"pull_request_review":         {note: "Review by alice (collaborator): changes requested", url: "https://github.com/acme/app/pull/7#pullrequestreview-237895671", said: "Please handle the empty list."},
		"pull_request_review_comment": {note: "Comment by alice (collaborator) on src/list.go:12", url: "https://github.com/acme/app/pull/7#discussion_r284312630", said: "+	return all[0]\n\nPlease handle"},
		"issue_comment":               {blank: blank{Association: "OWNER"}, note: "Comment by alice (owner)", url: "https://github.com/acme/app/pull/7#issuecomment-492700400", said: "Please handle the empty list."},
	} {
		t.Run(event, func(t *testing.T) {
			t.Parallel()
			h := takesHooks(t)
			body := example(t, event, c.blank)
			noted := ok[feedback.Noted](h.send(event, body), http.StatusAccepted)
			require.Equal(t, feedback.Noted{State: feedback.StatePending, TaskID: h.task.ID}, noted)
			require.Equal(t, counter{event + " pending": 1}, *h.heard)
			items := h.story().Items
			require.Len(t, items, 1)
			require.Equal(t, []string{c.note, c.url, feedback.StatePending}, []string{items[0].Note, items[0].URL, items[0].State})
			require.Equal(t, 1, h.count(`SELECT count(*) FROM feedback WHERE strpos(said, $1) > 0`, c.said))
			again := ok[feedback.Noted](h.send(event, body), http.StatusOK)
			require.Equal(t, feedback.StateRepeated, again.State, "the same body under another id")
			require.Len(t, h.story().Items, 1)
		})
	}
}

// Users who may not steer are ignored, and so are events without feedback.
func TestWebhook_OtherEventsAreIgnored(t *testing.T) {
	t.Parallel()
	old := time.Now().Add(-73 * time.Hour).UTC().Format(time.RFC3339)
	h := takesHooks(t)
	for name, c := range map[string]struct {
		event string
		blank blank
		why   string
	}{
		"a stranger":              {"issue_comment", blank{Association: "NONE"}, "no say"},
		"who contributed once":    {"pull_request_review", blank{Association: "CONTRIBUTOR"}, "no say"},
		"a bot":                   {"issue_comment", blank{Type: "Bot", Login: "ci[bot]"}, "a bot"},
		"a bot that says it not":  {"pull_request_review_comment", blank{Login: "ci[bot]"}, "a bot"},
		"omoi's account":          {"issue_comment", blank{Login: "omoi-machine"}, "the account that omoi uses"},
		"omoi's own text":         {"issue_comment", blank{Body: "<!-- omoi:begin -->"}, "own text"},
		"an approval":             {"pull_request_review", blank{State: "approved"}, "nothing is asked for"},
		"a good check":            {"check_run", blank{Conclusion: "success"}, "nothing failed"},
		"a cancelled one":         {"check_suite", blank{Conclusion: "cancelled"}, "nothing failed"},
		"a good status":           {"status", blank{State: "success"}, "nothing failed"},
		"a check of a fork":       {"check_run", blank{Fork: true}, "not a pull request of omoi"},
		"a run of a fork":         {"workflow_run", blank{Fork: true}, "not a pull request of omoi"},
		"what is long ago":        {"issue_comment", blank{At: old}, "older than three days"},
		"an issue":                {"issues", blank{}, "nothing that matters"},
		"a name that is made up!": {"Made\u00adup", blank{}, "nothing that matters"},
	} {
		file := c.event
		if _, err := os.Stat(filepath.Join("testdata", "github", file+".json")); err != nil {
			file = "issue_comment"
		}
		noted := ok[feedback.Noted](h.send(c.event, example(t, file, c.blank)), http.StatusAccepted)
		require.Equal(t, feedback.StateIgnored, noted.State, name)
		require.Contains(t, noted.Reason, c.why, name)
	}
	require.Empty(t, h.story().Items)
	require.Equal(t, 2, (*h.heard)["other ignored"], "nobody makes up names of series")
	require.Equal(t, "pong",
		ok[feedback.Noted](h.send("ping", []byte(`{"zen":"Keep it logically awesome.","hook_id":1}`)), http.StatusOK).State)
}

// Closing and reopening of a pull request are stored.
func TestWebhook_StoresEndOfAPullRequest(t *testing.T) {
	t.Parallel()
	h := takesHooks(t)
	for n, c := range []struct {
		blank blank
		want  string
	}{{blank{Merged: true}, feedback.PullMerged}, {blank{Action: "reopened"}, feedback.PullOpen}, {blank{}, feedback.PullClosed}} {
		c.blank.At = time.Now().Add(time.Duration(n) * time.Minute).UTC().Format(time.RFC3339)
		require.Equal(t, feedback.StateNoted,
			ok[feedback.Noted](h.send("pull_request", example(t, "pull_request", c.blank)), http.StatusAccepted).State)
		require.Equal(t, c.want, h.story().PullState)
	}
}

// Only webhooks with a valid signature of the exact bytes, with either secret, are accepted.
func TestWebhook_RequiresASignature(t *testing.T) {
	t.Parallel()
	h := takesHooks(t)
	body := example(t, "issue_comment", blank{})
	good := signature(hookSecret, body)
	for name, given := range map[string]string{
		"none": "", "another secret": signature("guessed", body),
		"another body":     signature(hookSecret, append([]byte(" "), body...)),
		"without its name": strings.TrimPrefix(good, "sha256="), "short": good[:len(good)-2], "no hex": "sha256=zz",
		"sha1":             "sha1=" + strings.TrimPrefix(good, "sha256="),
		"half of it empty": "sha256=",
	} {
		p := h.send("issue_comment", body, "X-Hub-Signature-256", given).refused(http.StatusUnauthorized, "")
		require.Contains(t, p.Detail, "OMOI_GITHUB_WEBHOOK_SECRET", name)
		require.NotContains(t, p.Detail, hookSecret)
	}
	require.Empty(t, h.story().Items)
	h.send("issue_comment", body, "Content-Type", "application/x-www-form-urlencoded").
		refused(http.StatusUnprocessableEntity, "body.Content-Type")
	h.send("issue_comment", body, "X-GitHub-Delivery", strings.Repeat("x", 101)).
		refused(http.StatusUnprocessableEntity, "body.X-GitHub-Delivery")
	h.send("issue_comment", []byte("not JSON")).refused(http.StatusUnprocessableEntity, "")
	h.send("issue_comment", bytes.Repeat([]byte(" "), 3<<20)).refused(http.StatusRequestEntityTooLarge, "")
	require.Equal(t, 11, (*h.heard)["issue_comment refused"]+(*h.heard)["issue_comment failed"])
	ok[feedback.Noted](h.send("issue_comment", body, "X-Hub-Signature-256", signature(oldSecret, body)),
		http.StatusAccepted)
	require.Len(t, h.story().Items, 1)
}

// If no secret is configured, webhooks are rejected, also when signed with an empty secret.
func TestWebhook_RejectedWithoutASecret(t *testing.T) {
	t.Parallel()
	w := open(t)
	body := []byte(`{}`)
	p := w.call(http.MethodPost, hookPath, body, "X-GitHub-Event", "ping", "X-GitHub-Delivery", "1", "X-Hub-Signature-256",
		signature("", body)).refused(http.StatusNotFound, "")
	require.Contains(t, p.Detail, "Next: set OMOI_GITHUB_WEBHOOK_SECRET")
}

// Texts of GitHub users are truncated, scrubbed and stored as text.
func TestWebhook_TextsAreBounded(t *testing.T) {
	t.Parallel()
	h := takesHooks(t)
	words := strings.Repeat("x", 60_000) + ` \u0000 \ud800`
	ok[feedback.Noted](h.send("issue_comment", example(t, "issue_comment", blank{Body: words})), http.StatusAccepted)
	ok[feedback.Noted](h.send(
		"issue_comment", example(t, "issue_comment", blank{Body: `use ghp_0123456789abcdefghij and ` + h.ring.Mint("box")}),
	), http.StatusAccepted)
	require.Equal(t, 1, h.count(`SELECT count(*) FROM feedback WHERE length(said) BETWEEN 4000 AND 4100`))
	require.Equal(t, 1, h.count(`SELECT count(*) FROM feedback WHERE said = 'use [removed] and [removed]'`))
	halved := strings.Repeat("x ", 1990) + "ghp_0123456789abcdefghij0123456789"
	ok[feedback.Noted](h.send("issue_comment", example(t, "issue_comment", blank{Body: halved})), http.StatusAccepted)
	require.Zero(t, h.count(`SELECT count(*) FROM feedback WHERE said LIKE '%ghp%'`), "not even a half of it")
	login := strings.Replace(string(example(t, "status", blank{State: "failure"})), "https://ci.example.com/1000/output",
		"https://bob:hunter22@ci.example.com/1000?access_token=hunter22&page=2", 1)
	ok[feedback.Noted](h.send("status", []byte(login)), http.StatusAccepted)
	require.Equal(t, "https://ci.example.com/1000?access_token=[removed]&page=2", h.story().Items[3].URL)
	require.Len(t, h.story().Items, 4)
}

func TestFeedback_OfItsOrganizationOnly(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.call(http.MethodGet, "/api/v1/tasks/"+task.NewID()+"/feedback", nil).refused(http.StatusNotFound, "")
}
