package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// The test queues a task under the lock of admission while admission waits for the lock. Without the name of its
// credential, the task would be admitted in spite of the cooldown.
func TestAdmission_NamesCredentialOfConcurrentTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(5)
	limited := w.task(p, onOneKey)
	w.hitsWall(limited, w.running(limited), 4)
	late := w.task(p, onOneKey)
	require.False(t, w.holdsSlot(late.id), "the cooldown holds the task back")
	w.exec(`UPDATE tasks SET queued_at = NULL, queue_reason = NULL, blocked_reason = '' WHERE id = $1`, late.id)

	other := w.session()
	require.NoError(t, db.New(other).LockAdmission(t.Context(), w.org))
	_, err := other.Exec(t.Context(), `UPDATE tasks SET queued_at = now() WHERE id = $1`, late.id)
	require.NoError(t, err)
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() { done <- w.store.AdmitAll(ctx, w.org) }()
	w.blocked(other)
	require.NoError(t, other.Commit(t.Context()))
	require.NoError(t, <-done)
	require.False(t, w.holdsSlot(late.id))
	require.Equal(t, task.ReasonCooldown, w.waits(late.id).Code)
}
