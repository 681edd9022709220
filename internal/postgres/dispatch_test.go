package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/ticket"
)

// many creates n tasks of a project without admission.
func (w world) many(project string, n int, edit string) {
	w.t.Helper()
	ticketID := task.NewID()
	w.exec(`INSERT INTO tickets (id, project_id, title) VALUES ($1, $2, 'ticket')`, ticketID, project)
	w.exec(`INSERT INTO tasks (id, organization_id, project_id, ticket_id, title, description, agent, provider, queued_at)
		SELECT gen_random_uuid(), $1, $2, $3, 'title', $4, 'scripted', 'external', now() FROM generate_series(1, $5::integer)`,
		w.org, project, ticketID, strings.Repeat("a long description ", 100), n)
	if edit != "" {
		w.exec(`UPDATE tasks SET `+edit+` WHERE ticket_id = $1`, ticketID)
	}
}

// endOne completes the task that has held a slot for the longest time, and runs admission.
func (w world) endOne() {
	w.t.Helper()
	var id, project string
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), `DELETE FROM slots WHERE task_id = (
		SELECT task_id FROM slots ORDER BY granted_at, task_id LIMIT 1) RETURNING task_id, project_id`).Scan(&id, &project))
	w.exec(`UPDATE tasks SET status = 'completed' WHERE id = $1`, id)
	w.exec(`SELECT omoi_admit($1, $2)`, w.org, project)
}

// Ten projects with unequal load share three slots. One project has far more and more urgent tasks. A project with a
// ready task and no slot gets one of the next nine slots.
func TestAdmission_NoProjectStarves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	w.exec(`UPDATE organizations SET max_slots = 0`)
	const projects, slots, tasks = 10, 3, 200
	for n := range projects {
		load, priority := 10, "LOW"
		if n == 0 {
			load, priority = tasks-(projects-1)*load, "CRITICAL"
		}
		w.many(w.project(1+n), load, "priority = '"+priority+"'")
	}
	w.exec(`CREATE TABLE given (n bigint GENERATED ALWAYS AS IDENTITY, project_id uuid)`)
	w.exec(`CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN INSERT INTO given (project_id) VALUES (NEW.project_id); RETURN NULL; END $$`)
	w.exec(`CREATE TRIGGER note AFTER INSERT ON slots FOR EACH ROW EXECUTE FUNCTION note()`)
	w.exec(`UPDATE organizations SET max_slots = $1`, slots)
	w.gate()
	starved := map[string]int{} // slots of other projects since a project last held one
	for given := 0; count(t, w.pool, `SELECT count(*) FROM slots`) > 0; {
		require.LessOrEqual(t, count(t, w.pool, `SELECT count(*) FROM slots`), slots)
		rows := one[[]string](t, w.pool, `SELECT coalesce(array_agg(project_id::text ORDER BY n), '{}') FROM given WHERE n > $1`, given)
		given += len(rows)
		waiting := one[[]string](t, w.pool, `SELECT coalesce(array_agg(DISTINCT project_id::text), '{}') FROM tasks
			WHERE queued_at IS NOT NULL AND project_id NOT IN (SELECT project_id FROM slots)`)
		for _, p := range waiting {
			starved[p] += len(rows)
			require.Less(t, starved[p], projects, "project %s starves", p)
		}
		for _, p := range rows {
			starved[p] = 0
		}
		w.endOne()
	}
	require.Equal(t, tasks, count(t, w.pool, `SELECT count(*) FROM tasks WHERE status = 'completed'`))
}

func TestSetPaused_HoldsAllOrganizations(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	store, other := postgres.New(w.pool, postgres.Config{}), w
	other.org = task.NewID()
	w.exec(`INSERT INTO organizations (id, name) VALUES ($1, 'other')`, other.org)
	for _, paused := range []bool{true, false} {
		require.NoError(t, store.SetPaused(t.Context(), paused))
		for _, in := range []world{w, other} {
			require.Equal(t, !paused, in.holdsSlot(in.task(in.project(5), "").id))
		}
	}
}

func TestAdmission_PlanLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(20)
	set := func(plan string) {
		_, err := w.store.ChangeOrganization(t.Context(), w.org, client.UpdateOrganizationRequest{Plan: &plan})
		require.NoError(t, err)
	}
	set("free")
	w.many(p, 15, "")
	for _, c := range []struct {
		plan string
		room int
	}{{"free", 1}, {"pro", 3}, {"lifetime", 5}, {"team", 10}, {"enterprise", 15}} {
		set(c.plan)
		require.Equal(t, c.room, count(t, w.pool, `SELECT count(*) FROM slots`), c.plan)
	}
}

// Tasks with dependencies start and end by incremental admission alone. A full admission afterwards changes nothing.
func TestAdmission_IncrementalEqualsFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p, q := w.project(2), w.project(1)
	const old = "created_at = now() - interval '80 minutes'" // scores that do not change during the test
	w.many(p, 5, old)
	w.many(q, 3, old)
	w.exec(`INSERT INTO task_dependencies SELECT b.id, a.id FROM
		(SELECT id FROM tasks WHERE project_id = $1 ORDER BY id LIMIT 1) a, (SELECT id FROM tasks WHERE project_id = $1 ORDER BY id DESC LIMIT 2) b`, p)
	w.exec(`SELECT omoi_admit($1, $2)`, w.org, p)
	rows := func() string {
		return one[string](t, w.pool, `SELECT string_agg(concat_ws(' ', id, blocked_reason, queue_reason, queue_position, score), E'\n' ORDER BY id)
			FROM tasks WHERE queued_at IS NOT NULL`)
	}
	for range 4 {
		quick := rows()
		w.gate()
		require.Equal(t, quick, rows())
		w.endOne()
	}
	require.Zero(t, count(t, w.pool, `SELECT count(*) FROM tasks WHERE blocked_reason <> ''`), "what they depend on is completed")
}

const onOneKey = `execution_config = '{"credentials": ["anthropic"]}'`

// hitsWall ends an attempt whose agent reports a rate limit that resets in an hour.
func (w world) hitsWall(a asked, live contract.LiveAttempt, ordinal int64) {
	w.t.Helper()
	w.meetsLimit(a, live, ordinal, time.Hour)
}

func (w world) meetsLimit(a asked, live contract.LiveAttempt, ordinal int64, resets time.Duration) {
	w.t.Helper()
	w.event(live.SandboxID, "agent.error", fmt.Sprintf(`{"failure_class": "provider_limit", "reset_at": %d}`, time.Now().Add(resets).Unix()))
	w.suspendedOnLimit(a, live, ordinal)
}

func (w world) suspendedOnLimit(a asked, live contract.LiveAttempt, ordinal int64) {
	w.t.Helper()
	w.write(a, contract.Projection{
		Ordinal: ordinal, Status: task.StatusPending, Blocked: task.BlockedProviderLimit, Class: task.ClassProviderLimit, ReleaseSlot: true,
		Ended: &contract.AttemptEnd{Number: live.Number, Outcome: "suspended", Class: task.ClassProviderLimit},
	})
}

// Fifty tasks use one credential, and two use another.
func TestRateLimit_OneCooldownForFiftyTasks(t *testing.T) {
	t.Parallel()
	cfg := postgres.Config{LimitApart: time.Hour} // so that only the test makes cooldowns due
	w := newWorld(t, cfg)
	wake := postgres.New(w.pool, cfg).CheckCooldowns
	due := func() { // an hour later
		w.exec(`UPDATE credential_cooldowns SET until = until - interval '1 hour 1 second', next_at = now()`)
		require.NoError(t, wake(t.Context()))
		require.NoError(t, wake(t.Context()), "a second look lets in no more")
	}
	held := func() []string {
		return one[[]string](t, w.pool, `SELECT coalesce(array_agg(task_id::text), '{}') FROM slots`)
	}
	p := w.project(5)
	tasks := map[string]asked{}
	for range 5 {
		a := w.task(p, onOneKey)
		tasks[a.id] = a
	}
	w.many(p, 45, onOneKey)
	for _, a := range tasks { // all tasks run when the first one reaches the limit
		live := w.running(a)
		w.hitsWall(a, live, 4)
		w.write(a, contract.Projection{Ordinal: 5, Status: task.StatusPending, RequestSlot: true})
	}
	require.Empty(t, held())
	require.Equal(t, 50, count(t, w.pool, `SELECT count(*) FROM tasks WHERE blocked_reason = 'provider_limit'
		AND queue_reason ->> 'code' = 'credential_cooldown' AND queue_reason ? 'until'`), "those that never tried sleep too")
	other := w.task(p, "")
	require.True(t, w.holdsSlot(other.id), "what works without that credential is not held back")
	w.write(other, contract.Projection{Ordinal: 1, Status: task.StatusCancelled, ReleaseSlot: true})

	due()
	require.Len(t, held(), 1, "one tries")
	probe := tasks[held()[0]]
	w.hitsWall(probe, w.begin(probe, 6), 7)
	w.write(probe, contract.Projection{Ordinal: 8, Status: task.StatusPending, RequestSlot: true})
	require.Empty(t, held(), "all sleep on")

	due()
	require.Len(t, held(), 1)
	probe = tasks[held()[0]]
	w.gate()
	require.Len(t, held(), 1, "nobody follows before a model has answered")
	live := w.begin(probe, 9)
	w.event(live.SandboxID, "agent.tool_use", `{}`)
	for range 49 {
		due()
		require.Len(t, held(), 2, "one after the other")
		w.exec(`UPDATE slots SET granted_at = now() WHERE task_id = $1`, probe.id)
		w.endOne()
	}
	w.endOne()
	require.Equal(t, 50, count(t, w.pool, `SELECT count(*) FROM tasks WHERE status = 'completed'`))
	w.exec(`UPDATE credential_cooldowns SET next_at = now() - interval '2 minutes'`)
	w.gate()
	require.Zero(t, count(t, w.pool, `SELECT count(*) FROM credential_cooldowns`))
}

func TestCooldown_RetryTriesOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(5)
	a, b := w.task(p, onOneKey), w.task(p, onOneKey)
	w.hitsWall(b, w.running(b), 4)
	w.hitsWall(a, w.running(a), 4)
	w.write(b, contract.Projection{Ordinal: 5, Status: task.StatusPending, RequestSlot: true})
	w.command(a.id, contract.CommandRetry, `{}`)
	require.True(t, w.write(a, contract.Projection{Ordinal: 5, Status: task.StatusPending, RequestSlot: true}).HoldsSlot)
	w.hitsWall(a, w.begin(a, 6), 7)
	w.command(b.id, contract.CommandRetry, `{}`)
	w.gate()
	require.False(t, w.holdsSlot(b.id), "one try before the reset is all")
}

func TestCooldown_FullProjectDoesNotBlockTrial(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), onOneKey)
	w.hitsWall(a, w.running(a), 4)
	w.write(a, contract.Projection{Ordinal: 5, Status: task.StatusPending, RequestSlot: true})
	urgent := w.task(w.project(0), onOneKey+", priority = 'CRITICAL'")
	w.exec(`UPDATE credential_cooldowns SET until = now(), next_at = now()`)
	w.gate()
	require.False(t, w.holdsSlot(urgent.id))
	require.True(t, w.holdsSlot(a.id))
}

// The rate limit of a program without a credential affects only its own task.
func TestRateLimit_WithoutCredentialSuspendsOneTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	store, p := postgres.New(w.pool, postgres.Config{}), w.project(5)
	a, b := w.task(p, "agent = 'command'"), w.task(p, "agent = 'command'")
	live := w.running(a)
	require.NoError(t, store.UseNoCredential(t.Context(), a.id))
	w.hitsWall(a, live, 4)
	require.True(t, w.holdsSlot(w.task(p, "agent = 'claude'").id))
	require.Zero(t, count(t, w.pool, `SELECT count(*) FROM credential_cooldowns`))

	w.hitsWall(b, w.running(b), 4)
	require.False(t, w.holdsSlot(w.task(p, "agent = 'claude'").id), "that one was given the installation's")
}

func TestRateLimit_SeveralCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(5)
	sleeps := func(edit string) []string {
		a := w.task(p, edit)
		w.hitsWall(a, w.running(a), 4)
		return one[[]string](t, w.pool, `SELECT coalesce(array_agg(credential), '{}') FROM credential_cooldowns`)
	}
	require.Empty(t, sleeps(`agent = 'command', execution_config = '{"credentials": ["openai", "mistral"]}'`))
	require.Empty(t, sleeps(`agent = 'command', execution_config = '{"credentials": []}'`))
	require.Empty(t, sleeps(`agent = 'claude', execution_config = '{"env": {"ANTHROPIC_API_KEY": "own"}}'`))
	require.Equal(t, []string{"installation model"}, sleeps(`agent = 'claude', execution_config = '{"credentials": ["openai", "model", "github"]}'`))
}

// A reported reset blocks other tasks for some hours; then one task tries again.
func TestCooldown_TriedAgainAfterHours(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	p := w.project(5)
	a := w.task(p, onOneKey)
	w.meetsLimit(a, w.running(a), 4, 20*24*time.Hour)
	b := w.task(p, onOneKey)
	require.False(t, w.holdsSlot(b.id))
	require.Equal(t, 1, count(t, w.pool, `SELECT count(*) FROM credential_cooldowns WHERE until BETWEEN now() + interval '5 hours' AND now() + interval '6 hours'`))
	w.exec(`UPDATE credential_cooldowns SET until = until - interval '6 hours', next_at = now()`)
	w.gate()
	require.True(t, w.holdsSlot(b.id))
	require.Equal(t, b.id, one[string](t, w.pool, `SELECT probe::text FROM credential_cooldowns`))
}

func TestCooldown_LimitsReportedReset(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), onOneKey)
	live := w.running(a)
	w.event(live.SandboxID, "agent.error", `{"failure_class": "provider_limit", "reset_at": "9999-01-01T00:00:00Z"}`)
	w.write(a, contract.Projection{
		Ordinal: 4, Status: task.StatusPending, Blocked: task.BlockedProviderLimit, Class: task.ClassProviderLimit, ReleaseSlot: true,
		Ended: &contract.AttemptEnd{Number: live.Number, Outcome: "suspended", Class: task.ClassProviderLimit},
	})
	require.Equal(t, 1, count(t, w.pool, `SELECT count(*) FROM credential_cooldowns WHERE until < now() + interval '1 day'`))
}

func TestCooldown_EndsWithReplacement(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	key := func() {
		w.exec(`INSERT INTO credentials (id, organization_id, kind, key_id, sealed) VALUES ($1, $2, 'anthropic', 'k', '\x00')
			ON CONFLICT (organization_id, coalesce(user_id, project_id, organization_id), kind) DO UPDATE SET updated_at = now()`, task.NewID(), w.org)
	}
	key()
	p := w.project(5)
	a := w.task(p, "agent = 'claude'")
	w.hitsWall(a, w.running(a), 4)
	b := w.task(p, "agent = 'claude'")
	require.False(t, w.holdsSlot(b.id))
	key()
	w.gate()
	require.True(t, w.holdsSlot(b.id))
}

// A rate limit of the Git host before the agent ran does not affect the model credential.
func TestRateLimit_OfGitHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), onOneKey)
	live := w.begin(a, w.load(a).Ordinal+1)
	w.write(a, contract.Projection{
		Ordinal: 4, Status: task.StatusPending, Blocked: task.BlockedProviderLimit, Class: task.ClassProviderLimit, ReleaseSlot: true,
		Reason: "GitHub's rate limit is reached.",
		Ended:  &contract.AttemptEnd{Number: live.Number, Outcome: "suspended", Class: task.ClassProviderLimit},
	})
	require.Zero(t, count(t, w.pool, `SELECT count(*) FROM credential_cooldowns`))
	require.Equal(t, "GitHub's rate limit is reached.", w.row(a.id, "error_message"), "why it waits")
	w.write(a, contract.Projection{Ordinal: 5, Status: task.StatusPending})
	require.Empty(t, w.row(a.id, "error_message"), "it does no longer")
}

func BenchmarkAdmissionWithTenThousandWaiting(b *testing.B) {
	for _, projects := range []int{1, 10} {
		b.Run(fmt.Sprintf("projects=%d", projects), func(b *testing.B) {
			w := newWorld(b, postgres.Config{})
			for range projects {
				w.many(w.project(5), 10_000/projects, "")
			}
			w.exec(`ANALYZE`)
			w.gate()
			for b.Loop() {
				w.endOne()
			}
		})
	}
}

func TestPauseProject_SuspendsAndResumes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	store := postgres.New(w.pool, postgres.Config{})
	p, q := w.project(2), w.project(1)
	a, b, waiting, elsewhere := w.task(p, ""), w.task(p, ""), w.task(p, ""), w.task(q, "")
	live := w.running(a)
	stop := client.ProjectPause{OrganizationID: w.org, ProjectID: p, Now: true, Reason: "a flood", Sender: "me"}
	project, asked, err := store.PauseProject(t.Context(), stop)
	require.NoError(t, err)
	require.True(t, project.Paused)
	require.ElementsMatch(t, []string{a.id, b.id}, asked)
	require.Equal(t, task.ReasonProjectPaused, w.waits(waiting.id).Code)
	require.True(t, w.holdsSlot(elsewhere.id))
	_, again, err := store.PauseProject(t.Context(), stop)
	require.NoError(t, err)
	require.Empty(t, again, "each is asked once")
	pause := one[string](t, w.pool, `SELECT id::text FROM commands WHERE task_id = $1 AND kind = 'pause'`, a.id)
	want := contract.LoadedCommand{ID: pause, Kind: contract.CommandPause, Reason: "a flood", EndReason: task.Reason{Code: task.ReasonProjectPaused}}
	require.Equal(t, want, w.take(a, contract.Command{ID: pause}, 1))

	parked := contract.Projection{
		Ordinal: 4, Status: task.StatusPending, Blocked: task.BlockedPaused, ReleaseSlot: true,
		Ended:  &contract.AttemptEnd{Number: live.Number, Outcome: "suspended"},
		Settle: []contract.Settlement{{CommandID: pause, Receipt: task.ReceiptCarriedOut}},
	}
	w.write(a, parked)
	require.Equal(t, "paused", w.row(a.id, "blocked_reason"))
	retries := func(id string) int {
		return count(t, w.pool, `SELECT count(*) FROM commands WHERE task_id = $1 AND kind = 'retry'`, id)
	}
	require.Zero(t, retries(a.id))

	project, asked, err = store.ResumeProject(t.Context(), stop)
	require.NoError(t, err)
	require.False(t, project.Paused)
	require.Equal(t, []string{a.id}, asked)
	require.Equal(t, 1, retries(a.id))
	require.True(t, w.holdsSlot(waiting.id))

	w.load(b) // its pause command had been sent
	parked.Ordinal, parked.Ended, parked.Settle = 1, nil, nil
	w.write(b, parked)
	require.Equal(t, 1, retries(b.id), "what is parked after the pause has ended goes on")
}

func TestTicket_StatusFollowsTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	store := postgres.New(w.pool, postgres.Config{})
	a, b := w.task(w.project(5), ""), task.NewID()
	ticketID := w.row(a.id, "ticket_id")
	w.exec(`INSERT INTO tasks (id, organization_id, project_id, ticket_id, title, description, agent, provider, mode)
		SELECT $2, organization_id, project_id, ticket_id, 'b', 'b', agent, provider, 'validation' FROM tasks WHERE id = $1`, a.id, b)
	for _, c := range []struct {
		first, second, want string
		blocked             bool
	}{
		{"pending", "pending", "backlog", false},
		{"running", "pending", "building", false},
		{"pending_validation", "pending", "testing", false},
		{"failed", "pending", "building", true},
		{"completed", "pending", "building-done", false},
		{"completed", "completed", "done", false},
		{"completed", "cancelled", "done", false},
		{"cancelled", "cancelled", "backlog", false},
		{"cancelled", "pending", "backlog", false},
		{"cancelled", "running", "building", false},
	} {
		w.exec(`UPDATE tasks SET status = $2, attempt_count = ($2 <> 'pending')::integer WHERE id = $1`, a.id, c.first)
		w.exec(`UPDATE tasks SET status = $2 WHERE id = $1`, b, c.second)
		k, err := store.Ticket(t.Context(), w.org, ticketID)
		require.NoError(t, err)
		require.Equal(t, c.want, k.Status, "%s, %s", c.first, c.second)
		require.Equal(t, c.blocked, k.Blocked)
		require.ElementsMatch(t, []string{a.id, b}, k.TaskIDs)
	}
	_, err := store.ChangeTicket(t.Context(), w.org, ticketID, client.UpdateTicketRequest{PhaseID: new(ticket.PhaseDone)})
	require.Equal(t, task.CodeConflict, task.CodeOf(err))
	require.Contains(t, err.Error(), "PHASE_TESTING, PHASE_BLOCKED")
	k, err := store.ChangeTicket(t.Context(), w.org, ticketID, client.UpdateTicketRequest{PhaseID: new(ticket.PhaseTesting)})
	require.NoError(t, err)
	require.Equal(t, ticket.PhaseTesting, k.PhaseID)
	_, err = store.ChangeTicket(t.Context(), task.NewID(), ticketID, client.UpdateTicketRequest{PhaseID: new(ticket.PhaseTesting)})
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
}
