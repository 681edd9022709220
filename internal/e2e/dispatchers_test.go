package e2e_test

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestTwoDispatchersGiveATaskOneSandbox has two APIs let tasks in and relay them, and two workers begin their attempts, all at a time:
// each task begins once, in one sandbox, and never more are at work than the project allows.
func TestTwoDispatchersGiveATaskOneSandbox(t *testing.T) {
	t.Parallel()
	const tasks, slots = 6, 2
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s", "MAX_CONCURRENT_TASKS_PER_PROJECT": strconv.Itoa(slots)})
	r.startAPI()
	port := strconv.Itoa(freePort(t))
	other := apiclient.New("http://127.0.0.1:"+port, "")
	r.start("api2", map[string]string{"OMOI_API_PORT": port, "OMOI_API_URL": other.BaseURL()}, "api")
	r.eventually("the other API answers", func() bool {
		_, err := other.Info(context.Background())
		return err == nil
	})
	r.workerOn("one", "sandboxes-one")
	r.workerOn("two", "sandboxes-two")
	repo, most := r.repo(), r.watchSlots()

	made := make([]task.Task, tasks)
	errs := make([]error, tasks)
	var crowd sync.WaitGroup
	for i := range tasks {
		crowd.Go(func() {
			api := []*apiclient.Client{r.api, other}[i%2]
			made[i], _, errs[i] = api.CreateTask(context.Background(), apiclient.CreateTaskRequest{
				Repo: repo, Title: "task " + strconv.Itoa(i), Agent: task.AgentScripted, Provider: task.ProviderLocal, Execution: script(stepComplete),
			}, "")
		})
	}
	crowd.Wait()
	for i := range tasks {
		require.NoError(t, errs[i])
		got := r.ends(made[i].ID, task.StatusCompleted)
		require.Equal(t, []int{1, 0}, []int{got.AttemptCount, got.Retries})
		require.Equal(t, 1, r.count(`SELECT count(*) FROM sandboxes WHERE task_id = $1`, got.ID))
		times := r.projected(got.ID)
		require.Equal(t, []int{1, 1, 1}, []int{times["assigned"], times["running"], times["completed"]}, got.ID)
	}
	require.LessOrEqual(t, most(), slots)
	require.Equal(t, tasks, r.count(`SELECT count(*) FROM commands WHERE kind = 'start' AND state = 'carried_out'`))
	require.Equal(t, tasks, r.count(`SELECT count(*) FROM sandboxes`))
	r.noLeaks()
	r.gapless()
}
