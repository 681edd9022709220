package e2e_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/diagnosis"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/notice"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestAFailureIsDiagnosedAndTold lets a task fail in whole processes: a webhook tells of it, and omoi why says what to do.
func TestAFailureIsDiagnosedAndTold(t *testing.T) {
	t.Parallel()
	const secret = "the receiver's own secret"
	told := make(chan explain.Diagnosis, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var sent diagnosis.Notice
		signed := notice.Sign(secret, r.Header.Get(notice.HeaderTimestamp), string(body))
		if signed != r.Header.Get(notice.HeaderSignature) || json.Unmarshal(body, &sent) != nil || sent.ID != r.Header.Get(notice.HeaderDelivery) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		told <- sent.Diagnosis
	}))
	t.Cleanup(receiver.Close)
	r := newRig(t, map[string]string{
		"OMOI_DIAGNOSTIC_WEBHOOK_URL": receiver.URL, "OMOI_DIAGNOSTIC_WEBHOOK_SECRET": secret, "OMOI_DIAGNOSTIC_WEBHOOK_ALLOW_PRIVATE": "true",
	}).up()
	made := r.submit(r.repo(), script(`{"fail":"cannot find libfoo"}`), retries(0))
	r.ends(made.ID, task.StatusFailed)
	hears := func() (d explain.Diagnosis) {
		r.eventually("is told by a webhook", func() bool {
			select {
			case d = <-told:
				return true
			default:
				return false
			}
		})
		return d
	}
	d := hears()
	require.Equal(t, []any{made.ID, explain.DiagnosisEnded, 1, task.ClassAgentError}, []any{d.TaskID, d.Kind, d.Attempt, d.FailureClass})
	require.Contains(t, d.Summary, "cannot find libfoo")
	require.NotEmpty(t, d.Evidence)
	why := r.omoi("why", made.ID)
	require.Zero(t, why.code, why.stderr)
	require.Contains(t, why.stdout, "Failed after 1 attempt (agent_error): cannot find libfoo (event ")
	require.Contains(t, why.stdout, "Diagnosis of attempt 1 by rules, confidence 0.5")
	require.Contains(t, why.stdout, "Next: omoi retry")
	require.Contains(t, r.omoi("sandbox", "events", made.ID, "--type", event.AgentError).stdout, "cannot find libfoo")
	require.NotContains(t, r.omoi("config", "show").stdout, secret)

	// the advice about a setup step is the same before the diagnosis and after it
	repo := r.repo()
	project, err := r.api.CreateProject(context.Background(), apiclient.CreateProjectRequest{Repo: repo, Setup: "echo no luck; exit 3"})
	require.NoError(t, err)
	failing := r.submit(repo, script(stepComplete), retries(0))
	r.ends(failing.ID, task.StatusFailed)
	next := func() string {
		e, err := r.api.Why(context.Background(), failing.ID)
		require.NoError(t, err)
		return e.Next
	}
	require.Equal(t, "omoi project update "+project.Key+` --setup "<command>"`, next())
	require.Equal(t, next(), hears().Command)
	require.Equal(t, "omoi project update "+project.Key+` --setup "<command>"`, next())
	r.noLeaks()
}
