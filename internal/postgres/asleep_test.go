package postgres_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

func (w world) setCredential(kind string) {
	w.t.Helper()
	place := credential.Place{Who: credential.Who{OrganizationID: w.org}, Kind: kind}
	_, err := w.store.PutCredential(w.t.Context(), place, "k", []byte("sealed"))
	require.NoError(w.t, err)
}

func (w world) retries(a asked) int {
	w.t.Helper()
	return count(w.t, w.pool, `SELECT count(*) FROM commands WHERE task_id = $1 AND kind = 'retry'`, a.id)
}

func TestATaskThatMetALimitSaysUntilWhenItSleeps(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), onOneKey)
	w.meetsLimit(a, w.running(a), 4, 3*24*time.Hour)
	shown, err := w.store.Task(t.Context(), w.org, a.id)
	require.NoError(t, err)
	said := regexp.MustCompile(`it is waiting until (.*) UTC, when that limit resets`).FindStringSubmatch(task.Why(shown))
	require.NotNil(t, said, task.Why(shown))
	until, err := time.Parse(time.DateTime, said[1])
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(3*24*time.Hour), until, time.Hour)
	w.write(a, contract.Projection{Ordinal: 5, Status: task.StatusPending, RequestSlot: true})
	require.NotContains(t, w.row(a.id, "queue_reason"), "that limit", "it is the gate that holds it now")
}

func TestATaskSleepsNotForACredentialThatWasReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	w.setCredential("anthropic")
	p := w.project(5)
	a, own := w.task(p, "agent = 'claude'"), w.task(p, `agent = 'claude', execution_config = '{"env": {"ANTHROPIC_API_KEY": "own"}}'`)
	w.hitsWall(a, w.running(a), 4)
	w.hitsWall(own, w.running(own), 4)
	require.NoError(t, w.store.WakeSleepers(t.Context()))
	require.Zero(t, w.retries(a), "it is the same credential")
	w.setCredential("anthropic")
	for range 2 {
		require.NoError(t, w.store.WakeSleepers(t.Context()))
	}
	require.Equal(t, 1, w.retries(a), "asked once")
	require.Zero(t, w.retries(own), "it works with one of its own")
}

func TestATaskThatWasGivenNoCredentialSleepsOnWhereThereIsNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "agent = 'command'")
	live := w.running(a)
	require.NoError(t, w.store.UseNoCredential(t.Context(), a.id))
	w.hitsWall(a, live, 4)
	w.setCredential("github")
	require.NoError(t, w.store.WakeSleepers(t.Context()))
	require.Zero(t, w.retries(a))
	w.setCredential("anthropic")
	require.NoError(t, w.store.WakeSleepers(t.Context()))
	require.Equal(t, 1, w.retries(a))
}
