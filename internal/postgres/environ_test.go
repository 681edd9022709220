package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestTaskEnv_IsEncryptedAtRest(t *testing.T) {
	t.Parallel()
	ring, err := credential.ParseRing(credential.NewKey())
	require.NoError(t, err)
	w := newWorld(t, postgres.Config{Ring: ring})
	made, err := w.store.AcceptTask(t.Context(), task.NewTask{
		OrganizationID: w.org, ProjectID: w.project(5), Title: "t", Description: "d", Agent: "claude", Provider: "external", Priority: "MEDIUM",
		Execution: []byte(`{"env": {"ANTHROPIC_API_KEY": "planted-key", "MODE": "planted too"}, "setup": "login planted-key"}`),
	})
	require.NoError(t, err)
	stored := one[string](t, w.pool, `SELECT (execution_config -> 'env')::text FROM tasks WHERE id = $1`, made.TaskID)
	require.NotContains(t, stored, "planted")
	name, err := w.store.CredentialName(t.Context(), made.TaskID)
	require.NoError(t, err)
	require.Equal(t, "task "+made.TaskID, name, "admission sees the names of the variables")
	work, err := w.store.Work(t.Context(), made.TaskID)
	require.NoError(t, err)
	require.NoError(t, work.Unreadable)
	require.Equal(t, map[string]string{"ANTHROPIC_API_KEY": "planted-key", "MODE": "planted too"}, work.Execution.Env)
	shown, err := w.store.Task(t.Context(), w.org, made.TaskID)
	require.NoError(t, err)
	require.JSONEq(t, `{"env": {"ANTHROPIC_API_KEY": "[redacted]", "MODE": "[redacted]"}, "setup": "login [redacted]"}`, string(shown.Execution))
	list, err := w.store.Tasks(t.Context(), w.org, client.TaskQuery{PageRequest: client.PageRequest{Limit: 10}})
	require.NoError(t, err)
	require.JSONEq(t, string(shown.Execution), string(list.Items[0].Execution))

	other, err := credential.ParseRing(credential.NewKey())
	require.NoError(t, err)
	work, err = postgres.New(w.pool, postgres.Config{Ring: other}).Work(t.Context(), made.TaskID)
	require.NoError(t, err, "what was done can still be saved")
	require.ErrorContains(t, work.Unreadable, "OMOI_CREDENTIAL_KEYS")
	require.Empty(t, work.Execution.Env)

	envs, err := w.store.TaskEnvs(t.Context(), "", 10)
	require.NoError(t, err)
	require.Len(t, envs, 1)
	changed, err := w.store.ResealTaskEnv(t.Context(), envs[0], map[string]string{"MODE": other.SealEnv(w.org, "MODE", "new")})
	require.NoError(t, err)
	require.True(t, changed)
	changed, err = w.store.ResealTaskEnv(t.Context(), envs[0], nil)
	require.NoError(t, err)
	require.False(t, changed, "somebody else was faster")
}
