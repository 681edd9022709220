package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestCancel_IsACommandWithAReceipt(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	path := "/api/v1/tasks/" + made.ID + "/cancel"
	res := w.call(http.MethodPost, path, `{"reason":"changed my mind"}`)
	asked := ok[client.CommandResult](res, http.StatusAccepted)
	require.Equal(t, task.ReceiptAccepted, asked.Command.State)
	require.Equal(t, "changed my mind", asked.Command.Reason)
	require.Equal(t, task.StatusPending, asked.Task.Status, "the workflow writes the status, not the API")
	require.Equal(t, asked.Command.ID, asked.Task.PendingCommand.ID)
	require.Equal(t, asked.CommandURL, res.header.Get("Location"))
	require.Equal(t, 1, w.count(`SELECT count(*) FROM task_outbox WHERE task_id = $1 AND due_at <= now()`, made.ID))

	again := ok[client.CommandResult](w.call(http.MethodPost, path, nil), http.StatusAccepted)
	require.Equal(t, asked.Command.ID, again.Command.ID, "asking twice is one command")

	w.settle(asked.Command.ID, task.ReceiptCarriedOut)
	w.end(made, task.StatusCancelled)
	require.Equal(t, task.ReceiptCarriedOut,
		ok[client.Command](w.call(http.MethodGet, asked.CommandURL, nil), http.StatusOK).State)
	p := w.call(http.MethodPost, path, nil).refused(http.StatusConflict, "")
	require.Contains(t, p.Detail, "cancelled already")
	w.call(http.MethodPost, "/api/v1/tasks/"+made.ID+"/fail", `{}`).refused(http.StatusConflict, "")
}

func TestCommand_OutcomeWithinTheWait(t *testing.T) {
	t.Parallel()
	for receipt, status := range map[task.Receipt]int{ //nolint:exhaustive // accepted is no outcome
		task.ReceiptCarriedOut: http.StatusOK, task.ReceiptTooLate: http.StatusConflict,
		task.ReceiptRefused: http.StatusConflict,
	} {
		t.Run(string(receipt), func(t *testing.T) {
			t.Parallel()
			w := start(t, patient)
			made := w.task(newTask())
			notified := w.due()
			done := make(chan struct{})
			go func() { // as relay and workflow do
				defer close(done)
				notified()
				w.exec(
					`UPDATE commands SET state = $2, settled_at = now(), reason = 'because' WHERE task_id = $1 AND kind = 'fail'`,
					made.ID, string(receipt),
				)
				w.bus.Wake(live.Task(made.ID))
			}()
			got := w.call(http.MethodPost, "/api/v1/tasks/"+made.ID+"/fail", `{"reason":"no"}`)
			<-done
			require.Equal(t, status, got.status)
			if receipt == task.ReceiptTooLate {
				require.Equal(t, "The fail of task "+made.ID+" came too late: because.", got.refused(status, "").Detail)
			}
		})
	}
}

func TestRetry_RequiresFailedOrCancelledTask(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, status := range []task.Status{task.StatusFailed, task.StatusCancelled} {
		made := w.task(newTask())
		path := "/api/v1/tasks/" + made.ID + "/retry"
		w.call(http.MethodPost, path, nil).refused(http.StatusConflict, "")
		w.begin(made)
		require.Contains(t, w.call(http.MethodPost, path, nil).refused(http.StatusConflict, "").Detail, "running")
		w.end(made, status)
		asked := ok[client.CommandResult](w.call(http.MethodPost, path, nil), http.StatusAccepted)
		require.Equal(t, status, asked.Task.Status, "the status stays until a run has claimed the retry")
		require.Equal(t, "retry", asked.Task.PendingCommand.Kind)
	}
	made := w.task(newTask())
	w.begin(made)
	w.end(made, task.StatusCompleted)
	w.call(http.MethodPost, "/api/v1/tasks/"+made.ID+"/retry", nil).refused(http.StatusConflict, "")
}

func TestRetry_AcceptsSuspendedTaskAndRejectsQueued(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	w.exec(`UPDATE tasks SET blocked_reason = 'provider_limit', queued_at = NULL WHERE id = $1`, made.ID)
	ok[client.CommandResult](w.call(http.MethodPost, "/api/v1/tasks/"+made.ID+"/retry", nil), http.StatusAccepted)
	in := newTask()
	in.DependsOn = &client.DependsOn{TaskIDs: []string{made.ID}}
	waiting := w.task(in)
	require.Equal(t, task.BlockedDependency, waiting.Blocked)
	w.call(http.MethodPost, "/api/v1/tasks/"+waiting.ID+"/retry", nil).refused(http.StatusConflict, "")
}

func TestCommand_RejectsInvalidReasons(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	path := "/api/v1/tasks/" + made.ID + "/cancel"
	w.call(http.MethodPost, path, `{"reason":"a\u0000"}`).refused(422, "body.reason")
	w.call(http.MethodPost, path, `{"why":"x"}`).refused(422, "body.why")
	w.call(http.MethodPost, path, `{`).refused(400, "body")
	require.Zero(t, w.count(`SELECT count(*) FROM commands WHERE kind = 'cancel'`))
}

func TestDependencies_RejectCycles(t *testing.T) {
	t.Parallel()
	w := open(t)
	a, b, c := w.task(newTask()), w.task(newTask()), w.task(newTask())
	path := func(t client.Task) string { return "/api/v1/tasks/" + t.ID + "/dependencies" }
	on := func(ts ...client.Task) client.DependsOn {
		d := client.DependsOn{TaskIDs: []string{}}
		for _, t := range ts {
			d.TaskIDs = append(d.TaskIDs, t.ID)
		}
		return d
	}
	require.Equal(t, on(b), ok[client.DependsOn](w.call(http.MethodPost, path(a), on(b, b)), http.StatusOK))
	require.Equal(t, on(c), ok[client.DependsOn](w.call(http.MethodPut, path(b), on(c)), http.StatusOK))
	cycle := ok[client.DependencyCycle](w.call(http.MethodPost, path(c)+"/check-circular", on(a)), http.StatusOK)
	require.Equal(t, client.DependencyCycle{Circular: true, Path: []string{c.ID, a.ID, b.ID, c.ID}}, cycle)
	require.Equal(t, client.DependencyCycle{Path: []string{}},
		ok[client.DependencyCycle](w.call(http.MethodPost, path(a)+"/check-circular", on(c)), http.StatusOK))
	require.Contains(t,
		w.call(http.MethodPost, path(c), on(a)).refused(422, "body.dependencies.depends_on").Detail, "cycle")
	w.call(http.MethodPost, path(c), on(c)).refused(422, "body.dependencies.depends_on")
	require.Equal(t, on(b), ok[client.DependsOn](w.call(http.MethodGet, path(a), nil), http.StatusOK))
	require.Empty(t,
		ok[client.DependsOn](w.call(http.MethodDelete, path(a)+"?depends_on="+b.ID, nil), http.StatusOK).TaskIDs)
	w.call(http.MethodDelete, path(a), nil).refused(422, "query.depends_on")
	w.begin(a)
	w.call(http.MethodPost, path(a), on(b)).refused(http.StatusConflict, "")
}

func TestDependencies_ConcurrentEditsRejectCycles(t *testing.T) {
	t.Parallel()
	w := open(t)
	a, b := w.task(newTask()), w.task(newTask())
	statuses := make(chan int, 2)
	edit := func(from, to client.Task) {
		status := 0
		defer func() { statuses <- status }()
		status = w.call(http.MethodPost, "/api/v1/tasks/"+from.ID+"/dependencies",
			client.DependsOn{TaskIDs: []string{to.ID}}).status
	}
	go edit(a, b)
	go edit(b, a)
	require.ElementsMatch(t, []int{http.StatusOK, http.StatusUnprocessableEntity}, []int{<-statuses, <-statuses})
}
