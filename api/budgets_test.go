package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestBudgets_AreReadAndReplaced(t *testing.T) {
	t.Parallel()
	w := open(t)
	in := newTask()
	in.Budget = &client.Budget{USD: 5}
	made := w.task(in)
	for path, first := range map[string]client.Budget{
		"/api/v1/tasks/" + made.ID + "/budget": {USD: 5}, "/api/v1/projects/" + made.ProjectID + "/budget": {},
	} {
		got := ok[client.BudgetUsage](w.call(http.MethodGet, path, nil), http.StatusOK)
		require.Equal(t, first, got.Budget)
		require.Zero(t, *got.Used.USD)
		got = ok[client.BudgetUsage](w.call(http.MethodPut, path, `{"tokens":100,"sandbox_s":60}`), http.StatusOK)
		require.Equal(t, client.Budget{Tokens: 100, SandboxSeconds: 60}, got.Budget)
		require.Empty(t, got.TaskIDs)
		w.call(http.MethodPut, path, `{"usd":-1}`).refused(422, "body.usd")
		w.call(http.MethodPut, path, `{"dollars":1}`).refused(422, "body.dollars")
	}
	w.call(http.MethodGet, "/api/v1/tasks/"+task.NewID()+"/budget", nil).refused(http.StatusNotFound, "")
	w.call(http.MethodPut, "/api/v1/projects/"+task.NewID()+"/budget", `{}`).refused(http.StatusNotFound, "")
}
