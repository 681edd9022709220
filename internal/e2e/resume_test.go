package e2e_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// TestALaterAttemptGoesOnFromTheTranscript holds a retry by omoi, and one by a person, to the
// transcript of the attempt before; the first attempt of a task has none.
func TestALaterAttemptGoesOnFromTheTranscript(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	made := r.submit(r.repo(), script(`{"say":"I remember: {{remembered}}"}`, `{"fail":"not yet"}`), retries(1))
	r.ends(made.ID, task.StatusFailed)
	_, _, err := r.api.Retry(context.Background(), made.ID, "once more")
	require.NoError(t, err)
	got := r.until(made.ID, "has ended again", func(t task.Task) bool { return t.AttemptCount >= 3 && t.Status.Final() })
	said := "I remember: "
	for n, attempt := range got.Attempts[:3] {
		require.Equal(t, 1, r.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1 AND event_type = 'agent.message'
			AND event_data ->> 'content' = $2`, attempt.SandboxID, said), "attempt %d", n+1)
		require.Equal(t, 1, r.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1 AND event_type = 'agent.started'
			AND (event_data ->> 'is_resuming')::boolean = $2 AND (event_data ->> 'resumed_session_id' IS NOT NULL) = $2`, attempt.SandboxID, n > 0))
		said = "I remember: " + said
	}
	require.Zero(t, r.count(`SELECT count(*) FROM sandbox_events WHERE event_type = 'agent.resume_failed'`))
	printed := r.omoi("transcript", made.ID, "--attempt", "2")
	require.Zero(t, printed.code, printed.stderr)
	require.Equal(t, 2, strings.Count(printed.stdout, `"type":"say"`), "its lines stand behind those of the first")
	var whole map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.omoi("transcript", made.ID, "--json").stdout), &whole))
	require.EqualValues(t, len(got.Attempts), whole["attempt"])
	r.noLeaks()
}
