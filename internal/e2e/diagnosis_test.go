package e2e_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/diagnosis"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestAFailureIsDiagnosedAndTold lets a task fail in whole processes: a webhook tells of it, and omoi why says what to do.
func TestAFailureIsDiagnosedAndTold(t *testing.T) {
	t.Parallel()
	const secret = "the receiver's own secret"
	told := make(chan task.Diagnosis, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var notice diagnosis.Notice
		signed := diagnosis.Sign(secret, r.Header.Get(diagnosis.HeaderTimestamp), string(body))
		if signed != r.Header.Get(diagnosis.HeaderSignature) || json.Unmarshal(body, &notice) != nil || notice.ID != r.Header.Get(diagnosis.HeaderDelivery) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		told <- notice.Diagnosis
	}))
	t.Cleanup(receiver.Close)
	r := newRig(t, map[string]string{
		"OMOI_DIAGNOSTIC_WEBHOOK_URL": receiver.URL, "OMOI_DIAGNOSTIC_WEBHOOK_SECRET": secret, "OMOI_DIAGNOSTIC_WEBHOOK_PRIVATE": "true",
	}).up()
	made := r.submit(r.repo(), script(`{"fail":"cannot find libfoo"}`), retries(0))
	r.ends(made.ID, task.StatusFailed)
	var d task.Diagnosis
	r.eventually("is told by a webhook", func() bool {
		select {
		case d = <-told:
			return true
		default:
			return false
		}
	})
	require.Equal(t, []any{made.ID, task.DiagnosisEnded, 1, task.ClassAgentError}, []any{d.TaskID, d.Kind, d.Attempt, d.FailureClass})
	require.Contains(t, d.What, "cannot find libfoo")
	require.NotEmpty(t, d.Evidence)
	why := r.omoi("why", made.ID)
	require.Zero(t, why.code, why.stderr)
	require.Contains(t, why.stdout, "failed: Failed after 1 attempt (agent_error): cannot find libfoo (event ")
	require.Contains(t, why.stdout, "Diagnosis of attempt 1, by rules")
	require.Contains(t, why.stdout, "Next: omoi retry")
	require.Contains(t, r.omoi("events", made.ID, "--type", task.EventAgentError).stdout, "cannot find libfoo")
	require.NotContains(t, r.omoi("config", "show").stdout, secret)
	r.noLeaks()
}
