package e2e_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/notice"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestNotices_OneForEachState lets a task fail, another one end, and a third one wait in whole processes: a Slack and a webhook receiver
// get one notice of each.
func TestNotices_OneForEachState(t *testing.T) {
	t.Parallel()
	const secret = "the receiver's own secret"
	var mu sync.Mutex
	slack, webhook := []string{}, map[string][]string{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /slack", func(_ http.ResponseWriter, r *http.Request) {
		var body struct {
			Text string `json:"text"`
		}
		require.NoError(t, json.NewDecoder(r.Body).Decode(&body))
		mu.Lock()
		defer mu.Unlock()
		slack = append(slack, body.Text)
	})
	mux.HandleFunc("POST /webhook", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var sent struct {
			Notice notice.Message `json:"notice"`
		}
		if notice.Sign(secret, r.Header.Get(notice.HeaderTimestamp), string(body)) != r.Header.Get(notice.HeaderSignature) || json.Unmarshal(body, &sent) != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		webhook[sent.Notice.TaskID] = append(webhook[sent.Notice.TaskID], r.Header.Get(notice.HeaderEvent))
	})
	receiver := httptest.NewServer(mux)
	t.Cleanup(receiver.Close)
	r := newRig(t, map[string]string{"OMOI_NOTICE_ALLOW_PRIVATE": "true"}).up()
	for channel, key := range map[string]string{"slack": "", "webhook": secret} {
		_, err := r.api.CreateNoticeRule(context.Background(), apiclient.CreateNoticeRuleRequest{
			Channel: channel, Address: receiver.URL + "/" + channel, Secret: key, Scope: notice.ScopeOrganization,
		})
		require.NoError(t, err)
	}
	repo := r.repo()
	fails := r.submit(repo, script(`{"fail":"cannot find libfoo"}`), retries(0))
	done := r.submit(repo, script(stepComplete), retries(0))
	waits := r.submit(repo, script(waitsForMessage, stepComplete), retries(0))
	r.ends(fails.ID, task.StatusFailed)
	r.ends(done.ID, task.StatusCompleted)
	r.eventually("three notices each", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(slack) >= 3 && len(webhook) >= 3
	})
	require.Zero(t, r.omoi("send", waits.ID, "go on").code)
	r.ends(waits.ID, task.StatusCompleted)
	r.eventually("the notice of its end", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(slack) >= 4 && len(webhook[waits.ID]) >= 2
	})
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, slack, 4)
	require.Equal(t, map[string][]string{fails.ID: {"failed"}, done.ID: {"done"}, waits.ID: {"needs_you", "done"}}, webhook)
}
