package app

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

func TestHider_FailsWhileTheEnvCannotBeDecrypted(t *testing.T) {
	t.Parallel()
	pool, org, project := pgtest.New(t), task.NewID(), task.NewID()
	_, err := pool.Exec(t.Context(), `WITH o AS (INSERT INTO organizations (id, name) VALUES ($1, 'o'))
		INSERT INTO projects (id, organization_id, name, repo) VALUES ($2, $1, 'p', 'o/r')`, org, project)
	require.NoError(t, err)
	with := func() *core {
		cfg := loaded(t, "OMOI_CREDENTIAL_KEYS="+credential.NewKey())
		ring, err := credentialRing(cfg)
		require.NoError(t, err)
		c := &core{cfg: cfg, log: slog.New(slog.DiscardHandler), sealing: ring, store: postgres.New(pool, postgres.Config{Ring: ring})}
		require.NoError(t, c.openCredentials(t.Context()))
		return c
	}
	mine := with()
	made, err := mine.store.AcceptTask(t.Context(), task.NewTask{
		OrganizationID: org, ProjectID: project, Title: "t", Description: "d", Agent: "claude", Provider: "external", Priority: "MEDIUM",
		Execution: []byte(`{"env": {"TOKEN": "planted-in-the-env"}}`),
	})
	require.NoError(t, err)

	hide, err := mine.hider(t.Context(), made.TaskID, nil)
	require.NoError(t, err)
	require.NotContains(t, hide("a planted-in-the-env b"), "planted")
	_, err = with().hider(t.Context(), made.TaskID, nil)
	require.ErrorContains(t, err, "OMOI_CREDENTIAL_KEYS")
	hide, err = mine.hider(t.Context(), task.NewID(), map[string]string{"TOKEN": "planted-in-the-sandbox"})
	require.NoError(t, err, "the task is gone")
	require.NotContains(t, hide("planted-in-the-sandbox"), "planted")
}
