package taskcmd_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestBudget_ChangesTheGivenLimits(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	budget := client.Budget{USD: 5, Tokens: 7000}
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, tasks ...string) {
		out := client.BudgetUsage{Budget: budget, TaskIDs: append([]string{}, tasks...)}
		out.Used.USD, out.Used.WallClockS = new(4.5), 90
		text, err := json.Marshal(out)
		require.NoError(t, err)
		_, _ = w.Write(text)
	}
	mux.HandleFunc("GET /api/v1/projects", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(client.Page[client.Project]{Items: []client.Project{{ID: idA, Name: "app"}}})
	})
	mux.HandleFunc("GET /api/v1/projects/"+idA+"/budget", func(w http.ResponseWriter, _ *http.Request) { answer(w) })
	mux.HandleFunc("PUT /api/v1/projects/"+idA+"/budget", func(w http.ResponseWriter, r *http.Request) {
		budget = client.Budget{}
		_ = json.NewDecoder(r.Body).Decode(&budget)
		answer(w, idM)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL

	got := f.omoi("budget", "--project", "app")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `money +\$4.50 +\$5.00`, got.out)
	require.Regexp(t, `wall clock +1m30s +no limit`, got.out)
	require.NotContains(t, got.out, "is changed")
	got = f.omoi("budget", "--project", "app", "--usd", "10", "--wall-clock", "2h")
	require.Zero(t, got.code, got.err)
	require.Equal(t, client.Budget{USD: 10, Tokens: 7000, WallClockS: 7200}, budget, "what is not named stays")
	require.Contains(t, got.out, "Changed the budget of the project; running tasks that exceed it are suspended")
	require.Contains(t, got.out, "which the old budget had suspended.")
	var out client.BudgetUsage
	requireJSON(t, f.omoi("budget", "--project", "app", "--tokens", "0", "--json").out, &out)
	require.Equal(t, client.Budget{USD: 10, WallClockS: 7200}, out.Budget)
	require.Zero(t, f.omoi("budget", "--project", "app", "--wall-clock", "500ms").code)
	require.Equal(t, client.Budget{USD: 10, WallClockS: 1}, budget, "a short limit is none that is taken away")
	for _, bad := range []string{"--usd=NaN", "--usd=Inf", "--usd=-1", "--wall-clock=-1s", "--tokens=-5"} {
		require.Equal(t, exit.Usage, f.omoi("budget", "--project", "app", bad).code, bad)
	}
	require.Equal(t, client.Budget{USD: 10, WallClockS: 1}, budget, "none of them came to be one")
	bare := f.omoi("budget")
	require.Equal(t, exit.Usage, bare.code)
	require.Contains(t, bare.err, "omoi budget --project <project>")
	require.Equal(t, exit.Usage, f.omoi("budget", idA, "--project", "app").code)
}

// If the budget is used up, the next command raises the budget: a retry would be suspended again at once.
func TestNext_RaisesAUsedUpBudget(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{{
		ID: idA, ProjectID: idM, Status: task.StatusPending, Blocked: task.BlockedBudget,
		EndReason: task.Reason{Code: task.ReasonProjectBudget, Used: 3, Limit: 2, Unit: task.UnitUSD},
	}}
	f.tasks[0].Why = explain.Why(f.tasks[0], explain.Outage{})
	got := f.omoi("show", "-")
	require.Zero(t, got.code, got.err)
	command := "omoi budget --project " + render.Short(idM) + " --usd <more>"
	require.Regexp(t, `(?m)^  `+command+` +# raise the budget`, got.out)
	require.NotContains(t, got.out, "omoi retry")
}
