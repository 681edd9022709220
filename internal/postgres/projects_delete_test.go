package postgres_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
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
			_, accepted = w.store.AcceptTask(t.Context(), task.NewTask{
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
		_, err := w.store.AcceptTask(t.Context(), task.NewTask{
			OrganizationID: w.org, Repo: repo, Title: "t", Description: "d", Agent: "external", Provider: "external",
			TaskType: "implementation", PhaseID: "PHASE_IMPLEMENTATION", Priority: "MEDIUM", Mode: "implementation", ProjectSlots: 5,
		})
		require.NoError(t, err)
	}
	require.Equal(t, "/a/app app, /b/app app-2, /c/app app-3",
		one[string](t, w.pool, `SELECT string_agg(repo || ' ' || name, ', ' ORDER BY repo) FROM projects`))
}
