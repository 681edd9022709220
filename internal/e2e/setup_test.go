package e2e_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestSetup runs the setup step of a project, and one of a task that fails.
func TestSetup(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.repo()
	_, err := r.api.CreateProject(context.Background(), apiclient.CreateProjectRequest{Repo: repo, SetupTimeoutS: 60, Setup: "mkdir -p ~/deps; echo made > ~/deps/one; echo ready"})
	require.NoError(t, err)
	made := r.submit(repo, script(`{"bash":{"command":"cat $HOME/deps/one"}}`, stepComplete), retries(0))
	r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandbox_events e JOIN sandboxes s ON s.id = e.sandbox_id
		WHERE s.task_id = $1 AND e.event_type = 'agent.setup_completed' AND e.event_data ->> 'output' = $2`, made.ID, "ready\n"))
	failing := r.submit(repo, []byte(`{"setup":"echo no luck; exit 3","script":{"steps":[{"complete":{}}]}}`), retries(0))
	got := r.ends(failing.ID, task.StatusFailed)
	require.Equal(t, task.ClassInfrastructure, got.FailureClass)
	require.Contains(t, text(got.ErrorMessage), "no luck")
	r.noLeaks()
	said := r.omoi("logs", "--raw", failing.ID)
	require.Contains(t, said.stdout, "no luck\n", "the log has it too: %s", said.stderr)
}
