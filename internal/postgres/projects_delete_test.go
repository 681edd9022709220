package postgres_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/migrations"
)

func TestDeleteProject_RacesWithNewTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	for range 10 {
		project := w.project(5)
		var wait sync.WaitGroup
		var deleted, accepted error
		wait.Go(func() { deleted = w.store.DeleteProject(t.Context(), w.org, project) })
		wait.Go(func() {
			_, accepted = w.store.AcceptTask(t.Context(), task.Draft{
				OrganizationID: w.org, ProjectID: project, Title: "t", Description: "d", Agent: "external", Provider: "external",
				TaskType: "implementation", PhaseID: "PHASE_IMPLEMENTATION", Priority: "MEDIUM", Mode: "implementation",
			})
		})
		wait.Wait()
		require.NotEqual(t, deleted == nil, accepted == nil, "delete: %v, accept: %v", deleted, accepted)
	}
}

func TestNewProject_NumbersTheNameOfItsRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	for _, repo := range []string{"/a/app", "/b/app", "/c/app", "/b/app"} {
		_, err := w.store.AcceptTask(t.Context(), task.Draft{
			OrganizationID: w.org, Repo: repo, Title: "t", Description: "d", Agent: "external", Provider: "external",
			TaskType: "implementation", PhaseID: "PHASE_IMPLEMENTATION", Priority: "MEDIUM", Mode: "implementation", ProjectSlots: 5,
		})
		require.NoError(t, err)
	}
	require.Equal(t, "/a/app app, /b/app app-2, /c/app app-3",
		one[string](t, w.pool, `SELECT string_agg(repo || ' ' || name, ', ' ORDER BY repo) FROM projects`))
}

func TestMigration_NumbersProjectsOfOneName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	w.exec(`DROP INDEX projects_name`)
	for n, name := range []string{"app", "app", "app-2", "app", "other"} {
		w.exec(`INSERT INTO projects (id, organization_id, name, created_at) VALUES ($1, $2, $3, now() + $4 * interval '1 hour')`, task.NewID(), w.org, name, n)
	}
	another := task.NewID()
	w.exec(`INSERT INTO organizations (id, name) VALUES ($1, 'another')`, another)
	w.exec(`INSERT INTO projects (id, organization_id, name) VALUES ($1, $2, 'app')`, task.NewID(), another)
	text, err := migrations.FS.ReadFile("0050_projects.sql")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), "-- +goose StatementBegin")
	block, _, _ := strings.Cut(rest, "-- +goose StatementEnd")
	w.exec(block)
	require.Equal(t, "app app-3 app-2 app-4 other",
		one[string](t, w.pool, `SELECT string_agg(name, ' ' ORDER BY created_at) FROM projects WHERE organization_id = $1`, w.org))
	require.Equal(t, 1, count(t, w.pool, `SELECT count(*) FROM projects WHERE organization_id <> $1 AND name = 'app'`, w.org))
}
