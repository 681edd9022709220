package e2e_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/task"
)

// An agent that goes round and round is told so once, though its guardian's worker is killed, and
// has the message in hand.
func TestAnAgentThatLoopsIsNudgedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{
		"MONITORING_GUARDIAN_INTERVAL_SECONDS": "10", "OMOI_MONITORING_ANALYSIS_CACHE": "0s", "MONITORING_AUTO_STEERING_ENABLED": "true",
	}).up()
	var steps []string
	for range 8 {
		steps = append(steps, `{"bash":{"command":"cat nowhere"}}`)
	}
	made := r.submit(r.repo(), script(append(steps, `{"wait_message":{"timeout_s":600}}`, `{"complete":{"output":"{{message}}","success":true}}`)...))
	r.eventually("the agent waits", func() bool {
		return r.count(`SELECT count(*) FROM sandbox_events WHERE event_type = 'agent.waiting'`) > 0
	})
	require.Zero(t, r.omoi("guardian", "run").code)
	r.kill("worker")
	r.startWorker()
	got := r.ends(made.ID, task.StatusCompleted)
	require.Contains(t, string(got.Result), "[GUARDIAN INTERVENTION - guidance]", "it was heard")
	require.Equal(t, 1, r.count(`SELECT count(*) FROM messages`))
	require.Equal(t, 1, r.count(`SELECT count(*) FROM messages WHERE kind = 'guardian_nudge' AND state IN ('taken_up', 'answered')`))
	require.Zero(t, r.count(`SELECT count(*) FROM (SELECT FROM guardian_analyses GROUP BY cycle_id, sandbox_id HAVING count(*) > 1) twice`))

	var told []apiclient.Intervention
	require.NoError(t, json.Unmarshal([]byte(r.omoi("guardian", "interventions", made.ID, "--json").stdout), &told))
	told = told[len(told)-1:] // the oldest: what came behind it was only noted
	require.Equal(t, guardian.LevelNudge, told[0].Level)
	require.False(t, told[0].Shadow)
	require.Contains(t, r.omoi("show", made.ID).stdout, "nudge")
	status := r.omoi("guardian", "status")
	require.Zero(t, status.code, status.stderr)
	require.Contains(t, status.stdout, "analyzed")
	r.noLeaks()
}
