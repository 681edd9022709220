package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver that goose uses
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
	"github.com/omoi-dev/omoi/migrations"
)

func TestProjectKey_FollowsTheName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	for _, c := range []struct{ name, key string }{
		{"app", "APP"},
		{"App.", "APP2"},
		{"APP2", "APP22"},
		{"a-p-p", "APP3"},
		{"2nd app", "NDAPP"},
		{"omoi-frontend-2", "OMOIFRONTE"},
		{"omoi frontends", "OMOIFRONT2"},
		{"x", "TASK"},
		{"日本", "TASK2"},
		{"Café ı", "CAF"},
		{"9", "TASK3"},
	} {
		made, err := w.store.CreateProject(t.Context(), client.Project{OrganizationID: w.org, Name: c.name})
		require.NoError(t, err)
		require.Equal(t, c.key, made.Key, c.name)
	}
}

func TestCreateProject_KeepsAKeyToOneProjectOfTheOrganization(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	made, err := w.store.CreateProject(t.Context(), client.Project{OrganizationID: w.org, Name: "one", Key: "APP"})
	require.NoError(t, err)
	require.Equal(t, "APP", made.Key)
	require.NoError(t, w.store.DeleteProject(t.Context(), w.org, made.ID))
	_, err = w.store.CreateProject(t.Context(), client.Project{OrganizationID: w.org, Name: "two", Key: "APP"})
	require.Equal(t, task.KindNameTaken, task.KindOf(err), "tasks of a deleted project keep their keys: %v", err)
	made, err = w.store.CreateProject(t.Context(), client.Project{OrganizationID: w.org, Name: "app"})
	require.NoError(t, err)
	require.Equal(t, "APP2", made.Key)
}

// An uncommitted chosen key is taken too.
func TestProjectKey_WaitsForAChosenKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	var made client.Project
	var wait sync.WaitGroup
	defer wait.Wait()
	tx, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }() // no effect after the commit
	_, err = tx.Exec(t.Context(), `INSERT INTO projects (id, organization_id, name, repo, max_slots, key) VALUES ($1, $2, 'one', '/one', 5, 'APP')`, task.NewID(), w.org)
	require.NoError(t, err)
	wait.Go(func() {
		var err error
		if made, err = w.store.CreateProject(t.Context(), client.Project{OrganizationID: w.org, Name: "app"}); err != nil {
			t.Error(err)
		}
	})
	require.Eventually(t, func() bool {
		return count(t, w.pool, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 1
	}, 20*time.Second, time.Millisecond)
	require.NoError(t, tx.Commit(t.Context()))
	wait.Wait()
	require.Equal(t, "APP2", made.Key)
}

func TestIDByKey_FindsWhatTheOrganizationHas(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	other := w
	other.org = task.NewID()
	w.exec(`INSERT INTO organizations (id, name) VALUES ($1, 'other')`, other.org)
	for _, in := range []world{w, other} {
		made, err := in.store.CreateProject(t.Context(), client.Project{OrganizationID: in.org, Name: "app"})
		require.NoError(t, err)
		one := in.task(made.ID, "")
		for key, id := range map[string]string{
			"APP": made.ID, "APP-1": one.id, "APP-T1": oneText(t, in.pool, `SELECT ticket_id FROM tasks WHERE id = $1`, one.id),
		} {
			found, err := in.store.IDByKey(t.Context(), in.org, key)
			require.NoError(t, err)
			require.Equal(t, id, found)
		}
		for _, key := range []string{"APP-2", "APP-T2", "APP2", "APP2-1"} {
			_, err := in.store.IDByKey(t.Context(), in.org, key)
			require.Equal(t, task.CodeNotFound, task.CodeOf(err), key)
		}
	}
}

func oneText(t *testing.T, pool *pgxpool.Pool, query string, args ...any) string {
	t.Helper()
	return one[string](t, pool, query, args...)
}

// Concurrent tasks in new projects with similar names get distinct keys.
func TestKeys_AreDistinctUnderConcurrency(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	const each = 20
	var wait sync.WaitGroup
	for n := range 2 * each {
		wait.Go(func() {
			_, err := w.store.AcceptTask(t.Context(), task.NewTask{
				OrganizationID: w.org, Repo: fmt.Sprintf("/%d/app", n%2), Title: "t", Description: "d", Agent: "external", Provider: "external",
				TaskType: "implementation", PhaseID: "PHASE_IMPLEMENTATION", Priority: "MEDIUM", Mode: "implementation", ProjectSlots: 5,
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for _, key := range []string{"APP", "APP2"} {
		for n := 1; n <= each; n++ {
			number := strconv.Itoa(n)
			require.Equal(t, 1, count(t, w.pool, `SELECT count(*) FROM tasks WHERE key = $1`, key+"-"+number), number)
			require.Equal(t, 1, count(t, w.pool, `SELECT count(*) FROM tickets WHERE key = $1`, key+"-T"+number), number)
		}
	}
}

// Statements of programs before the migration.
const (
	olderProject = `INSERT INTO projects (id, organization_id, name, repo, max_slots) VALUES ($1, $2, $3, $4, 5) ON CONFLICT DO NOTHING`
	olderTicket  = `INSERT INTO tickets (id, project_id, title, description, ticket_type, phase_id, priority, context)
		VALUES ($1, $2, 't', 'd', 'feature', 'PHASE_IMPLEMENTATION', 'MEDIUM', '{}')`
	olderTask = `INSERT INTO tasks (id, organization_id, project_id, ticket_id, title, description, task_type, phase_id, priority,
			mode, agent, provider, continuous, max_retries, execution_config, budget, deadline_at, user_id, validation_rounds, queued_at)
		VALUES ($1, $2, $3, $4, 't', 'd', 'implementation', 'PHASE_IMPLEMENTATION', 'MEDIUM',
			'implementation', 'external', 'external', false, 3, '{}', '{}', now(), NULL, 0, now())`
)

// older inserts like a program before the migration.
type older struct {
	pool *pgxpool.Pool
	org  string
}

// accept inserts a ticket with its task in one transaction.
func (o older) accept(ctx context.Context, project string) (err error) {
	tx, err := o.pool.Begin(ctx)
	if err != nil {
		return err
	}
	ticket := task.NewID()
	if _, err = tx.Exec(ctx, olderTicket, ticket, project); err == nil {
		_, err = tx.Exec(ctx, olderTask, task.NewID(), o.org, project, ticket)
	}
	if err != nil {
		_ = tx.Rollback(ctx) // the earlier error is returned
		return err
	}
	return tx.Commit(ctx)
}

func TestMigrate_GivesKeysWhileOlderProgramsInsert(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	upTo(t, url, 3)
	o := older{pgtest.Connect(t, url), task.NewID()}
	exec(t, o.pool, `INSERT INTO organizations (id, name) VALUES ($1, 'org')`, o.org)
	first, second, third := task.NewID(), task.NewID(), task.NewID()
	exec(t, o.pool, olderProject, first, o.org, "app", "/first/app")
	exec(t, o.pool, olderProject, second, o.org, "App", "/second/app")
	exec(t, o.pool, `UPDATE projects SET created_at = now() - interval '1 day' WHERE id = $1`, second)
	for range 5 {
		require.NoError(t, o.accept(t.Context(), first))
	}
	exec(t, o.pool, `UPDATE tasks SET created_at = now() - n.number * interval '1 hour'
		FROM (SELECT id, row_number() OVER (ORDER BY id) AS number FROM tasks) n WHERE n.id = tasks.id`) // the last insert is the oldest

	var accepted atomic.Int64
	var wait sync.WaitGroup
	ctx := t.Context()
	var stopped atomic.Bool
	defer stopped.Store(true)
	for range 4 {
		wait.Go(func() {
			for !stopped.Load() {
				if err := o.accept(ctx, first); err != nil {
					t.Error(err)
					return
				}
				accepted.Add(1)
			}
		})
	}
	require.Eventually(t, func() bool { return accepted.Load() >= 20 }, time.Minute, time.Millisecond)
	require.NoError(t, postgres.Migrate(t.Context(), url))
	stopped.Store(true)
	wait.Wait()
	exec(t, o.pool, olderProject, third, o.org, "app!", "/third/app")
	require.NoError(t, o.accept(t.Context(), second))

	require.Equal(t, "APP APP2 APP3", oneText(t, o.pool, `SELECT string_agg(key, ' ' ORDER BY key) FROM projects`))
	require.Equal(t, "APP", oneText(t, o.pool, `SELECT key FROM projects WHERE id = $1`, second), "the oldest project")
	require.Equal(t, "APP-1 APP-T1", oneText(t, o.pool, `SELECT t.key || ' ' || k.key FROM tasks t JOIN tickets k ON k.id = t.ticket_id WHERE t.project_id = $1`, second))
	require.Equal(t, "5 4 3 2 1", oneText(t, o.pool, `SELECT string_agg(split_part(key, '-', 2), ' ' ORDER BY id) FROM
		(SELECT id, key FROM tasks WHERE project_id = $1 ORDER BY id LIMIT 5) AS oldest`, first), "by time of creation")
	for _, of := range []string{"tasks", "tickets"} {
		require.Equal(t, one[int](t, o.pool, `SELECT last FROM project_numbers WHERE project_id = $1 AND kind = $2`, first, of),
			count(t, o.pool, `SELECT count(DISTINCT key) FROM `+of+` WHERE project_id = $1`, first), "%s without gaps", of)
	}
}

// upTo migrates an empty database to a version of the schema.
func upTo(t *testing.T, url string, version int64) {
	t.Helper()
	pool, err := sql.Open("pgx", url)
	require.NoError(t, err)
	defer func() { require.NoError(t, pool.Close()) }()
	steps, err := goose.NewProvider(goose.DialectPostgres, pool, migrations.FS, goose.WithTableName("omoi_schema_version"))
	require.NoError(t, err)
	_, err = steps.UpTo(t.Context(), version)
	require.NoError(t, err)
}
