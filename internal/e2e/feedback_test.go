package e2e_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/task"
)

const hookSecret = "the secret of the end to end test"

// hook delivers a webhook as GitHub does, and answers the status.
func (r *rig) hook(event, delivery string, body map[string]any) int {
	r.t.Helper()
	at := time.Now().UTC().Format(time.RFC3339)
	if words := body["words"]; words != nil {
		key, _ := strings.CutPrefix(event, "pull_request_") // review, issue_comment
		body[strings.TrimPrefix(key, "issue_")] = map[string]any{
			"body": words, "state": "changes_requested", "author_association": "COLLABORATOR", "user": map[string]any{"login": "alice", "type": "User"},
			"submitted_at": at, "created_at": at, "html_url": "https://github.com/acme/app/pull/1#said",
		}
		delete(body, "words")
	}
	body["repository"] = map[string]any{"id": 1, "full_name": hubRepo}
	raw, err := json.Marshal(body)
	require.NoError(r.t, err)
	mac := hmac.New(sha256.New, []byte(hookSecret))
	mac.Write(raw)
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, r.env["OMOI_API_URL"]+"/api/v1/webhooks/github", bytes.NewReader(raw))
	require.NoError(r.t, err)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "X-GitHub-Event": event, "X-GitHub-Delivery": delivery, "X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil)),
	} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(r.t, err)
	defer func() { _ = res.Body.Close() }()
	return res.StatusCode
}

// byApp replaces the token of the settings by a GitHub App that is installed on the repository.
func byApp(t *testing.T, hub hubApp, settings map[string]string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "app.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), 0o600))
	hub.AddApp(4711, &key.PublicKey, 0)
	hub.Install(4711, nil, hubRepo)
	hub.Revoke(hubToken)
	delete(settings, "GITHUB_TOKEN")
	settings["OMOI_GITHUB_APP_ID"], settings["OMOI_GITHUB_APP_KEY_FILE"] = "4711", file
}

type hubApp interface {
	AddApp(id int64, key *rsa.PublicKey, life time.Duration)
	Install(id int64, may map[string]string, repos ...string) int64
	Revoke(token string)
}

// TestFeedbackGoesOnWithThePullRequest works as a GitHub App, has a review start a task for a pull request whose task is
// completed, and tells that one's agent of a comment while it waits: all in one pull request.
func TestFeedbackGoesOnWithThePullRequest(t *testing.T) {
	t.Parallel()
	hub, bare, settings := newHub(t)
	byApp(t, hub, settings)
	settings["OMOI_GITHUB_WEBHOOK_SECRET"], settings["OMOI_TEST_WEBHOOK_DEBOUNCE"] = hookSecret, "1ms"
	r := newRig(t, settings).up()
	tested := r.omoi("credentials", "test", "github")
	require.Zero(t, tested.code, tested.stderr)
	require.Contains(t, tested.stdout, "it is installed for acme.")
	again := `{"bash":{"command":"echo x >> log.txt"}}`
	first := r.submit(hubRepo, script(again, stepCommit, waitsForMessage, `{"write":{"path":"said.txt","content":"{{message}}"}}`, stepCommit, stepComplete))
	set := r.omoi("project", "update", hubRepo, "--on-feedback", "revise")
	require.Zero(t, set.code, set.stderr)
	require.Contains(t, set.stdout, "revise")
	r.waiting(first.ID)
	r.goOn(first.ID)
	done := r.ends(first.ID, task.StatusCompleted)
	require.Equal(t, 1, len(hub.Pulls(hubRepo)))

	pull := map[string]any{"number": 1, "state": "open", "user": map[string]any{"login": "omoi-app[bot]"}}
	for _, want := range []int{http.StatusAccepted, http.StatusOK} {
		require.Equal(t, want, r.hook("pull_request_review", "delivery-1", map[string]any{"action": "submitted", "pull_request": pull, "words": "Handle the empty list."}))
	}
	var story feedback.TaskFeedback
	r.eventually("the review has started a task", func() bool {
		var err error
		story, err = r.api.TaskFeedback(context.Background(), first.ID)
		return err == nil && len(story.Followers) == 1
	})
	next := story.Followers[0]
	r.waiting(next)
	require.Equal(t, http.StatusAccepted, r.hook("issue_comment", "delivery-2", map[string]any{
		"action": "created", "words": "And the long one.",
		"issue": map[string]any{"number": 1, "state": "open", "user": map[string]any{"login": "omoi-app[bot]"}, "pull_request": map[string]any{"url": "x"}},
	}))
	revised := r.ends(next, task.StatusCompleted)
	require.Equal(t, []string{text(done.Branch), text(done.PullURL), done.TicketID}, []string{text(revised.Branch), text(revised.PullURL), revised.TicketID})
	require.Contains(t, revised.Description, "> Handle the empty list.")
	pulls := hub.Pulls(hubRepo)
	require.Len(t, pulls, 1, "one pull request")
	for _, want := range []string{"omoi show " + first.ID, "omoi show " + next, "a task of the tests", "> Handle the empty list.", "- attempts: 2 in 2 tasks\n"} {
		require.Contains(t, pulls[0].Body, want, "it tells of all that was asked")
	}
	require.Equal(t, strings.Repeat("x\n", 2), r.run("git", "-C", bare, "show", text(done.Branch)+":log.txt").stdout)
	require.Contains(t, r.run("git", "-C", bare, "show", text(done.Branch)+":said.txt").stdout, "> And the long one.", "the agent was told")
	require.Equal(t, 1, strings.Count(strings.Join(heads(r, bare), " "), text(done.Branch)), "one branch")

	require.Equal(t, http.StatusAccepted, r.hook("pull_request", "delivery-3", map[string]any{
		"action": "closed", "pull_request": map[string]any{"number": 1, "state": "closed", "merged": true, "updated_at": time.Now().UTC().Format(time.RFC3339)},
	}))
	shown := r.omoi("show", first.ID)
	require.Zero(t, shown.code, shown.stderr)
	for _, want := range []string{"pull request merged", "Review by alice", "started task " + next, "acknowledged by the agent of task " + next} {
		require.Contains(t, shown.stdout, want)
	}
	require.Contains(t, r.omoi("show", next).stdout, "Follow-up of  task "+first.ID)
	r.noLeaks()
	for _, token := range hub.AppTokens() {
		require.Zero(t, r.count(`SELECT count(*) FROM sandbox_events WHERE event_data::text LIKE '%' || $1 || '%'`, token))
	}
}

// A review may be a question: the agent answers without a commit, the pull request tells it, and the next review starts the next task.
func TestFeedbackMayChangeNothing(t *testing.T) {
	t.Parallel()
	hub, _, settings := newHub(t)
	settings["OMOI_GITHUB_WEBHOOK_SECRET"], settings["OMOI_TEST_WEBHOOK_DEBOUNCE"] = hookSecret, "1ms"
	r := newRig(t, settings).up()
	first := r.submit(hubRepo, command(`test -e hi.txt && { echo "It is right, @alice. This closes #1."; exit; }
echo hi > hi.txt; git add -A; git commit -qm made; echo '{"omoi":"event","event_type":"agent.completed","event_data":{"final_output":"Made.","tests_passed":true,"pr_url":"https://x/9"}}'`,
		`,"continuous":false,"test_command":"false"`), asCommand)
	require.Zero(t, r.omoi("project", "update", hubRepo, "--on-feedback", "revise").code)
	r.ends(first.ID, task.StatusCompleted)
	body := hub.Pulls(hubRepo)[0].Body
	require.Contains(t, body, "`false`: Not comparable: no file of the base commit is a test. Run by omoi at commit ")
	pull := map[string]any{"number": 1, "state": "open", "user": map[string]any{"login": "omoi-app[bot]"}}
	for round := 1; round <= 2; round++ {
		asks := map[string]any{"action": "submitted", "pull_request": pull, "words": fmt.Sprintf("Why do you do that? %d", round)}
		require.Equal(t, http.StatusAccepted, r.hook("pull_request_review", fmt.Sprintf("asks-%d", round), asks))
		var next []string
		r.eventually("the review has started a task", func() bool {
			story, err := r.api.TaskFeedback(context.Background(), first.ID)
			next = story.Followers
			return err == nil && len(next) == round
		})
		done := r.ends(next[round-1], task.StatusCompleted)
		require.Equal(t, 1, done.AttemptCount)
	}
	pulls := hub.Pulls(hubRepo)
	require.Len(t, pulls, 1)
	require.Equal(t, 2, strings.Count(pulls[0].Body, "Changed nothing.\n\n> It is right, @\u200balice. This c\u200bloses #1."), pulls[0].Body)
	r.noLeaks()
}
