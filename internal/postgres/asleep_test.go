package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/postgres/db"
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

func TestRateLimit_TaskNamesReset(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), onOneKey)
	w.meetsLimit(a, w.running(a), 4, 3*24*time.Hour)
	shown, err := w.store.Task(t.Context(), w.org, a.id)
	require.NoError(t, err)
	require.Equal(t, task.ReasonLimitReset, shown.QueueReason.Code)
	require.WithinDuration(t, time.Now().Add(3*24*time.Hour), *shown.QueueReason.Until, time.Hour)
	w.write(a, contract.Projection{Ordinal: 5, Status: task.StatusPending, RequestSlot: true})
	require.NotEqual(t, task.ReasonLimitReset, w.waits(a.id).Code, "admission holds the task now")
}

// A full OpenHands server is no limit of the credential, which other tasks go on using.
func TestServerFull_StartsNoCooldown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), onOneKey)
	live := w.running(a)
	w.event(live.SandboxID, "agent.error", `{"failure_class": "provider_limit", "reason_code": "server_full"}`)
	w.suspendedOnLimit(a, live, 4)
	require.Equal(t, task.ReasonServerFull, w.waits(a.id).Code)
	require.WithinDuration(t, time.Now(), *w.waits(a.id).Until, time.Hour)
	require.Zero(t, count(t, w.pool, `SELECT count(*) FROM credential_cooldowns`))
}

func TestCooldown_ReplacedCredentialResumesTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	w.setCredential("anthropic")
	p := w.project(5)
	a, own := w.task(p, "agent = 'claude'"), w.task(p, `agent = 'claude', execution_config = '{"env": {"ANTHROPIC_API_KEY": "own"}}'`)
	w.hitsWall(a, w.running(a), 4)
	w.hitsWall(own, w.running(own), 4)
	require.NoError(t, w.store.CheckCooldowns(t.Context()))
	require.Zero(t, w.retries(a), "it is the same credential")
	w.setCredential("anthropic")
	for range 2 {
		require.NoError(t, w.store.CheckCooldowns(t.Context()))
	}
	require.Equal(t, 1, w.retries(a), "asked once")
	require.Zero(t, w.retries(own), "it works with one of its own")
}

// Suspended tasks are read each second without a lock on them.
func TestCheckCooldowns_LockedTaskIsResumedLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	w.setCredential("anthropic")
	a := w.task(w.project(5), "agent = 'claude'")
	w.hitsWall(a, w.running(a), 4)
	w.setCredential("anthropic")
	other := w.session()
	reads := func(q *db.Queries) { _, _ = q.SuspendedOnCredentials(t.Context()) }
	require.NotContains(t, plan(t, other.Conn(), reads), "LockRows")
	_, err := other.Exec(t.Context(), `SELECT FROM tasks WHERE id = $1 FOR UPDATE`, a.id)
	require.NoError(t, err)
	require.NoError(t, w.store.CheckCooldowns(t.Context()))
	require.Zero(t, w.retries(a), "another transaction changes the task")
	require.NoError(t, other.Commit(t.Context()))
	for range 2 {
		require.NoError(t, w.store.CheckCooldowns(t.Context()))
	}
	require.Equal(t, 1, w.retries(a))
}

func TestCooldown_TaskWithoutCredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "agent = 'command'")
	live := w.running(a)
	require.NoError(t, w.store.UseNoCredential(t.Context(), a.id))
	w.hitsWall(a, live, 4)
	w.setCredential("github")
	require.NoError(t, w.store.CheckCooldowns(t.Context()))
	require.Zero(t, w.retries(a))
	w.setCredential("anthropic")
	require.NoError(t, w.store.CheckCooldowns(t.Context()))
	require.Equal(t, 1, w.retries(a))
}

// answers stores an event that a model's answer leads to, with the time that ingest records.
func (w world) answers(sandboxID, eventType string) {
	w.t.Helper()
	w.event(sandboxID, eventType, `{}`)
	w.exec(`UPDATE sandboxes SET last_work_at = clock_timestamp() WHERE id = $1`, sandboxID)
}

// asleep returns two tasks that reached the limit of one credential and are suspended for weeks.
func asleep(w world, edit string) (a, b asked) {
	p := w.project(5)
	a, b = w.task(p, edit), w.task(p, edit)
	lives := []contract.LiveAttempt{w.running(a), w.running(b)}
	w.meetsLimit(a, lives[0], 4, 20*24*time.Hour)
	w.meetsLimit(b, lives[1], 4, 20*24*time.Hour)
	require.NoError(w.t, w.store.CheckCooldowns(w.t.Context()))
	require.Zero(w.t, w.retries(a)+w.retries(b), "the limit stands")
	return a, b
}

func TestCooldown_AnswerResumesTasks(t *testing.T) {
	t.Parallel()
	for _, eventType := range []string{"agent.tool_use", "agent.completed"} {
		w := newWorld(t, postgres.Config{})
		a, b := asleep(w, onOneKey)
		other := w.task(w.project(5), `agent = 'claude'`)
		w.exec(`UPDATE credential_cooldowns SET until = now(), next_at = now()`)
		probe := w.task(w.project(5), onOneKey)
		w.gate()
		live := w.running(probe)
		require.NoError(t, w.store.CheckCooldowns(t.Context()))
		require.Zero(t, w.retries(a), "nobody has answered yet")
		w.answers(live.SandboxID, eventType)
		for range 2 {
			require.NoError(t, w.store.CheckCooldowns(t.Context()))
		}
		require.Equal(t, []int{1, 1, 0}, []int{w.retries(a), w.retries(b), w.retries(other)}, "each is asked once")
	}
}

// An attempt from before the limit proves nothing: its answers may be older.
func TestCooldown_EarlierAttemptProvesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(5)
	busy := w.task(p, onOneKey)
	live := w.running(busy)
	a := w.task(p, onOneKey)
	w.meetsLimit(a, w.running(a), 4, 20*24*time.Hour)
	w.answers(live.SandboxID, "agent.tool_use")
	require.NoError(t, w.store.CheckCooldowns(t.Context()))
	require.Zero(t, w.retries(a))
	w.answers(live.SandboxID, "agent.completed")
	require.NoError(t, w.store.CheckCooldowns(t.Context()))
	require.Equal(t, 1, w.retries(a), "its run ended well")
}

// The check reads only the newest 1,000 events of an attempt.
func TestCooldown_ReadsNewestEventsOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(5)
	busy := w.task(p, onOneKey)
	live := w.running(busy)
	a := w.task(p, onOneKey)
	w.meetsLimit(a, w.running(a), 4, 20*24*time.Hour)
	w.answers(live.SandboxID, "agent.completed")
	w.exec(`UPDATE sandboxes SET last_sequence = last_sequence + 1000 WHERE id = $1`, live.SandboxID)
	require.NoError(t, w.store.CheckCooldowns(t.Context()))
	require.Zero(t, w.retries(a))
	w.exec(`UPDATE sandboxes SET last_sequence = last_sequence - 1 WHERE id = $1`, live.SandboxID)
	require.NoError(t, w.store.CheckCooldowns(t.Context()))
	require.Equal(t, 1, w.retries(a))
}

func TestCooldown_CredentialTestResumesTasks(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string]bool{"installation": false, "stored": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, postgres.Config{})
			id := ""
			if stored {
				w.setCredential("anthropic")
				id = one[string](t, w.pool, `SELECT id::text FROM credentials`)
			}
			a, b := asleep(w, "agent = 'claude'")
			require.NoError(t, w.store.ProveCredential(t.Context(), w.org, task.NewID(), "anthropic"))
			require.NoError(t, w.store.CheckCooldowns(t.Context()))
			require.Zero(t, w.retries(a), "it was another one")
			require.NoError(t, w.store.ProveCredential(t.Context(), w.org, id, "anthropic"))
			require.NoError(t, w.store.CheckCooldowns(t.Context()))
			require.Equal(t, []int{1, 1}, []int{w.retries(a), w.retries(b)})
		})
	}
}

// Two checks that saw the same suspended task retry it once.
func TestResumeSuspended_RetriesOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	w.setCredential("anthropic")
	a := w.task(w.project(5), "agent = 'claude'")
	w.hitsWall(a, w.running(a), 4)
	for range 2 {
		require.NoError(t, db.New(w.pool).ResumeSuspended(t.Context(), db.ResumeSuspendedParams{Reason: "r", Sender: "omoi", Ids: []string{a.id}}))
	}
	require.Equal(t, 1, w.retries(a))
}
