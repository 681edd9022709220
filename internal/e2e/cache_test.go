package e2e_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestSetupAndItsCache runs the setup step of two projects: what it downloads for one is there
// in the next sandbox of that project, and of no other.
func TestSetupAndItsCache(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_AGENT_CACHE_MAX_BYTES": "1000000"}).up()
	one, other := r.withSetup(t), r.withSetup(t)
	for i, repo := range []string{one, one, other} {
		made := r.submit(repo, script(`{"bash":{"command":"cat $HOME/.cache/deps"}}`, stepComplete), retries(0))
		r.ends(made.ID, task.StatusCompleted)
		said := []string{"downloaded\n", "found\n", "downloaded\n"}[i]
		require.Equal(t, 1, r.count(`SELECT count(*) FROM sandbox_events e JOIN sandboxes s ON s.id = e.sandbox_id
			WHERE s.task_id = $1 AND e.event_type = 'agent.setup_completed' AND e.event_data ->> 'output' = $2`, made.ID, said), "%d: %s", i, said)
	}
	failing := r.submit(one, []byte(`{"setup":"echo no luck; exit 3","script":{"steps":[{"complete":{}}]}}`), retries(0))
	got := r.ends(failing.ID, task.StatusFailed)
	require.Equal(t, task.ClassInfrastructure, got.FailureClass)
	require.Contains(t, text(got.ErrorMessage), "no luck")
	r.noLeaks()
	said := r.omoi("logs", "--raw", failing.ID)
	require.Contains(t, said.stdout, "no luck\n", "the log has it too: %s", said.stderr)
}

// withSetup makes a repository whose project has a setup step.
func (r *rig) withSetup(t *testing.T) (repo string) {
	t.Helper()
	repo = r.repo()
	_, err := r.api.CreateProject(context.Background(), apiclient.NewProject{
		Repo: repo, SetupTimeoutS: 60,
		Setup: `mkdir -p ~/.cache; if [ -e ~/.cache/deps ]; then echo found; else echo downloaded; echo x > ~/.cache/deps; fi`,
	})
	require.NoError(t, err)
	return repo
}
