package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/review"
	"github.com/omoi-dev/omoi/internal/task"
)

func onLine(text string) client.Comments {
	return client.Comments{To: "1.1", Comments: []review.Comment{{Path: "a.go", Line: 7, Text: text}}}
}

func TestComment_IsOneMessageToTheRunningAgent(t *testing.T) {
	t.Parallel()
	w := open(t)
	job := w.task(newTask())
	box := w.begin(job)
	path := "/api/v1/tasks/" + job.ID + "/comments"
	in := onLine("Return the error.")
	in.Comments = append(in.Comments, review.Comment{Path: "b.go", Text: "Not needed."})
	sent := ok[client.CommentsResult](w.call(http.MethodPost, path, in, "Idempotency-Key", "k1"), http.StatusOK)
	require.Equal(t, []string{"message", job.ID, box}, []string{sent.Delivery, sent.TaskID, sent.SandboxID})
	require.Equal(t, sent, ok[client.CommentsResult](w.call(http.MethodPost, path, in, "Idempotency-Key", "k1"), http.StatusOK), "its answer was lost")
	w.call(http.MethodPost, path, onLine("Another."), "Idempotency-Key", "k1").refused(http.StatusConflict, "header.Idempotency-Key")
	got := w.take(box, "")
	require.Len(t, got, 1)
	require.Equal(t, []string{sent.MessageID, sent.Text, "user_message"}, []string{got[0].ID, got[0].Content, got[0].Type})
	require.Contains(t, sent.Text, "1. a.go, line 7 (at 1.1)\n   Return the error.\n\n2. b.go (at 1.1)\n   Not needed.\n")
}

func TestComment_Refusals(t *testing.T) {
	t.Parallel()
	w := open(t)
	job := w.task(newTask())
	path := "/api/v1/tasks/" + job.ID + "/comments"
	for body, location := range map[string]string{
		`{}`: "body.comments", `{"comments":[{"path":"a","text":""}]}`: "body.comments[0].text", `{"comments":[{"path":"","text":"x"}]}`: "body.comments[0].path",
		`{"comments":[{"path":"a","text":"x","side":"left"}]}`: "body.comments[0].side", `{"comments":[{"path":"a","text":"x","line":5,"end_line":4}]}`: "body.comments[0].end_line",
	} {
		w.call(http.MethodPost, path, body).refused(http.StatusUnprocessableEntity, location)
	}
	p := w.call(http.MethodPost, path, onLine("x")).refused(http.StatusConflict, "")
	require.Equal(t, task.KindInvalidState, p.Code, "the task has not begun: %s", p.Detail)
	box := w.begin(job)
	w.exec(`INSERT INTO messages (id, sandbox_id, kind, content) SELECT gen_random_uuid(), $1, 'system', 'x' FROM generate_series(1, 1000)`, box)
	p = w.call(http.MethodPost, path, onLine("x")).refused(http.StatusTooManyRequests, "")
	require.Equal(t, task.KindQueueFull, p.Code)
	w.exec(`DELETE FROM messages`)
	for status, change := range map[int]string{http.StatusConflict: "ended_at = now()", http.StatusGone: "ended_at = now(), state = 'gone'"} {
		w.exec(`UPDATE sandboxes SET `+change+` WHERE id = $1`, box)
		p = w.call(http.MethodPost, path, onLine("x")).refused(status, "")
		require.Equal(t, 1, w.count(`SELECT count(*) FROM messages WHERE id = $1 AND state = 'refused'`, p.MessageID))
		w.exec(`UPDATE sandboxes SET state = 'running' WHERE id = $1`, box)
	}
	w.exec(`UPDATE attempts SET failure_class = 'publish'`)
	w.end(job, task.StatusFailed)
	p = w.call(http.MethodPost, path, onLine("x")).refused(http.StatusConflict, "")
	require.Contains(t, p.Detail, "could not be published")
	require.Zero(t, w.count(`SELECT count(*) FROM commands WHERE kind <> 'start'`))
}

func TestComment_AsksForARevision(t *testing.T) {
	t.Parallel()
	w := open(t)
	for kind, change := range map[string]func(client.Task){
		"verdict": func(of client.Task) {
			w.exec(`UPDATE attempts SET ended_at = now(), outcome = 'completed' WHERE task_id = $1`, of.ID)
			w.exec(`UPDATE tasks SET status = 'pending', blocked_reason = 'review', sandbox_id = NULL, validation_rounds = 3 WHERE id = $1`, of.ID)
		},
		"retry": func(of client.Task) { w.end(of, task.StatusFailed) },
	} {
		job := w.task(newTask())
		w.begin(job)
		change(job)
		asked := ok[client.CommentsResult](w.call(http.MethodPost, "/api/v1/tasks/"+job.ID+"/comments", onLine("Return the error.")), http.StatusAccepted)
		require.Equal(t, []string{"revision", kind, job.ID}, []string{asked.Delivery, asked.Command.Kind, asked.TaskID})
		require.Equal(t, "/api/v1/commands/"+asked.Command.ID, asked.CommandURL)
		require.Equal(t, 1, w.count(`SELECT count(*) FROM commands WHERE id = $1 AND args ->> 'feedback' = $2`, asked.Command.ID, asked.Text))
		again := ok[client.CommentsResult](w.call(http.MethodPost, "/api/v1/tasks/"+job.ID+"/comments", onLine("Return the error.")), http.StatusAccepted)
		require.Equal(t, asked.Command.ID, again.Command.ID)
		p := w.call(http.MethodPost, "/api/v1/tasks/"+job.ID+"/comments", onLine("Another.")).refused(http.StatusConflict, "")
		require.Contains(t, p.Detail, "Another "+kind+" of task", "the waiting command has no room for more comments")
	}
}

// TestComment_OnceAlthoughTheTaskMovesOn repeats requests whose answers were lost, while another attempt runs and after the end.
func TestComment_OnceAlthoughTheTaskMovesOn(t *testing.T) {
	t.Parallel()
	w := open(t)
	job := w.task(newTask())
	box := w.begin(job)
	path := "/api/v1/tasks/" + job.ID + "/comments"
	send := func(key string, status int) client.CommentsResult {
		t.Helper()
		return ok[client.CommentsResult](w.call(http.MethodPost, path, onLine("Return the error."), "Idempotency-Key", key), status)
	}
	sent := send("k1", http.StatusOK)
	w.take(box, "")
	w.end(job, task.StatusFailed)
	require.Equal(t, sent, send("k1", http.StatusOK), "the task failed")
	asked := send("k2", http.StatusAccepted)
	require.Equal(t, "retry", asked.Command.Kind)
	w.call(http.MethodPost, path, onLine("Another."), "Idempotency-Key", "k2").refused(http.StatusConflict, "header.Idempotency-Key")

	w.settle(asked.Command.ID, task.ReceiptCarriedOut)
	w.exec(`UPDATE sandboxes SET ended_at = now() WHERE id = $1`, box)
	w.exec(`WITH box AS (INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, machine, state)
			VALUES ('box2', $2, $1, 2, 'external', false, 'running') RETURNING id),
		try AS (INSERT INTO attempts (task_id, number, sandbox_id, run_id, ordinal, assigned_at) SELECT $1, 2, id, 'r', 2, now() FROM box)
		UPDATE tasks SET status = 'running', sandbox_id = 'box2', attempt_count = 2, completed_at = NULL WHERE id = $1`, job.ID, w.org)
	require.Equal(t, sent, send("k1", http.StatusOK), "another attempt runs")
	require.Equal(t, asked.Command.ID, send("k2", http.StatusOK).Command.ID)
	require.Empty(t, w.take("box2", ""))

	w.end(job, task.StatusCompleted)
	w.exec(`UPDATE tasks SET branch_name = 'feature/x' WHERE id = $1`, job.ID)
	require.Equal(t, sent, send("k1", http.StatusOK), "the task is completed")
	require.Equal(t, asked.Command.ID, send("k2", http.StatusOK).Command.ID)
	require.Equal(t, 1, w.count(`SELECT count(*) FROM tasks`))
	require.Equal(t, "task", send("k3", http.StatusCreated).Delivery)
}

// TestComment_WithoutEffectLeavesItsKey repeats requests that no agent got.
func TestComment_WithoutEffectLeavesItsKey(t *testing.T) {
	t.Parallel()
	w := open(t)
	job := w.task(newTask())
	box := w.begin(job)
	path := "/api/v1/tasks/" + job.ID + "/comments"
	w.exec(`UPDATE sandboxes SET ended_at = now() WHERE id = $1`, box)
	w.call(http.MethodPost, path, onLine("x"), "Idempotency-Key", "k1").refused(http.StatusConflict, "")
	w.end(job, task.StatusFailed)
	asked := ok[client.CommentsResult](w.call(http.MethodPost, path, onLine("x"), "Idempotency-Key", "k1"), http.StatusAccepted)
	w.settle(asked.Command.ID, task.ReceiptTooLate)
	again := ok[client.CommentsResult](w.call(http.MethodPost, path, onLine("x"), "Idempotency-Key", "k1"), http.StatusAccepted)
	require.NotEqual(t, asked.Command.ID, again.Command.ID)
}

func TestComment_ContinuesACompletedTask(t *testing.T) {
	t.Parallel()
	w := open(t)
	in := newTask()
	in.Description, in.Priority = "Write a file with care.", "HIGH"
	job := w.task(in)
	w.begin(job)
	w.end(job, task.StatusCompleted)
	w.exec(`UPDATE tasks SET branch_name = 'feature/x', pull_request_url = 'http://x/1', pull_request_number = 1 WHERE id = $1`, job.ID)
	path := "/api/v1/tasks/" + job.ID + "/comments"
	made := ok[client.CommentsResult](w.call(http.MethodPost, path, onLine("Return the error."), "Idempotency-Key", "k1"), http.StatusCreated)
	require.Equal(t, "task", made.Delivery)
	require.NotEqual(t, job.ID, made.TaskID)
	got := ok[client.Task](w.call(http.MethodGet, "/api/v1/tasks/"+made.TaskID, nil), http.StatusOK)
	require.Equal(t, []string{"feature/x", "http://x/1", "HIGH", "Revise: Write a file", job.TicketID}, []string{*got.Branch, *got.PullURL, got.Priority, got.Title, got.TicketID})
	require.Contains(t, got.Description, "Return the error.")
	require.Contains(t, got.Description, "Write a file with care.")
	require.Equal(t, 1, w.count(`SELECT count(*) FROM tasks WHERE id = $1 AND user_requested`, made.TaskID))

	again := ok[client.CommentsResult](w.call(http.MethodPost, path, onLine("Return the error."), "Idempotency-Key", "k1"), http.StatusOK)
	require.Equal(t, made.TaskID, again.TaskID)
	p := w.call(http.MethodPost, path, onLine("More.")).refused(http.StatusConflict, "")
	require.Equal(t, task.KindInvalidState, p.Code)
	require.Contains(t, p.Detail, got.Key+" continues its work already")

	w.begin(got)
	w.end(got, task.StatusCompleted)
	third := ok[client.CommentsResult](w.call(http.MethodPost, "/api/v1/tasks/"+got.ID+"/comments", onLine("More.")), http.StatusCreated)
	require.Equal(t, "Revise: Write a file", ok[client.Task](w.call(http.MethodGet, "/api/v1/tasks/"+third.TaskID, nil), http.StatusOK).Title)
	bare := w.task(newTask())
	w.begin(bare)
	w.end(bare, task.StatusCompleted)
	p = w.call(http.MethodPost, "/api/v1/tasks/"+bare.ID+"/comments", onLine("x")).refused(http.StatusConflict, "")
	require.Contains(t, p.Detail, "has no branch")
}

// TestComment_ContinuesOnceAlthoughTheTaskIsRewound repeats the request for a follow-up task while an agent of the first task runs again.
func TestComment_ContinuesOnceAlthoughTheTaskIsRewound(t *testing.T) {
	t.Parallel()
	w := open(t)
	job := w.task(newTask())
	box := w.begin(job)
	w.end(job, task.StatusCompleted)
	w.exec(`UPDATE tasks SET branch_name = 'feature/x' WHERE id = $1`, job.ID)
	path := "/api/v1/tasks/" + job.ID + "/comments"
	made := ok[client.CommentsResult](w.call(http.MethodPost, path, onLine("x"), "Idempotency-Key", "k1"), http.StatusCreated)
	w.exec(`UPDATE attempts SET ended_at = now() WHERE task_id = $1`, job.ID)
	w.exec(`UPDATE sandboxes SET ended_at = now() WHERE id = $1`, box)
	again := func() {
		t.Helper()
		require.Equal(t, made, ok[client.CommentsResult](w.call(http.MethodPost, path, onLine("x"), "Idempotency-Key", "k1"), http.StatusOK))
		w.call(http.MethodPost, path, onLine("y"), "Idempotency-Key", "k1").refused(http.StatusConflict, "header.Idempotency-Key")
	}
	w.exec(`WITH box AS (INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, machine, state)
			VALUES ('box2', $2, $1, 2, 'external', false, 'running') RETURNING id),
		try AS (INSERT INTO attempts (task_id, number, sandbox_id, run_id, ordinal, assigned_at) SELECT $1, 2, id, 'r', 2, now() FROM box)
		UPDATE tasks SET status = 'running', sandbox_id = 'box2', attempt_count = 2, completed_at = NULL WHERE id = $1`, job.ID, w.org)
	again()
	require.Empty(t, w.take("box2", ""))
	w.end(job, task.StatusFailed)
	again()
	require.Zero(t, w.count(`SELECT count(*) FROM commands WHERE kind <> 'start'`))
	other := ok[client.CommentsResult](w.call(http.MethodPost, path, onLine("x"), "Idempotency-Key", "k2"), http.StatusAccepted)
	require.Equal(t, "retry", other.Command.Kind)
}

// TestComment_ContinuesOnceForConcurrentRequests sends the same request eight times at once.
func TestComment_ContinuesOnceForConcurrentRequests(t *testing.T) {
	t.Parallel()
	w := open(t)
	job := w.task(newTask())
	w.begin(job)
	w.end(job, task.StatusCompleted)
	w.exec(`UPDATE tasks SET branch_name = 'feature/x' WHERE id = $1`, job.ID)
	answers := make(chan answer, 8)
	for range cap(answers) {
		go func() {
			answers <- w.call(http.MethodPost, "/api/v1/tasks/"+job.ID+"/comments", onLine("x"), "Idempotency-Key", "k1")
		}()
	}
	statuses := map[int]int{}
	for range cap(answers) {
		statuses[(<-answers).status]++
	}
	require.Equal(t, map[int]int{http.StatusCreated: 1, http.StatusOK: 7}, statuses)
}

func TestComment_NeedsTheScopeWrite(t *testing.T) {
	t.Parallel()
	w := closed(t)
	mine := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, w.key(w.org, "write")), http.StatusCreated)
	tenant, err := w.store.EnsureOrganization(t.Context(), "other")
	require.NoError(t, err)
	path := "/api/v1/tasks/" + mine.ID + "/comments"
	w.call(http.MethodPost, path, onLine("x"), authorization, w.key(w.org, "read")).refused(http.StatusForbidden, "")
	w.call(http.MethodPost, path, onLine("x"), authorization, w.key(tenant, "admin")).refused(http.StatusNotFound, "")
}
