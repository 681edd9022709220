package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestSuspend_IsACommand(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	w.begin(made)
	path := "/api/v1/tasks/" + made.Key + "/suspend"
	asked := ok[client.CommandResult](w.call(http.MethodPost, path, `{"reason":"I take over"}`), http.StatusAccepted)
	require.Equal(t, []string{"suspend", "I take over"}, []string{asked.Command.Kind, asked.Command.Reason})
	again := ok[client.CommandResult](w.call(http.MethodPost, path, nil), http.StatusAccepted)
	require.Equal(t, asked.Command.ID, again.Command.ID, "asking twice is one command")
	w.settle(asked.Command.ID, task.ReceiptCarriedOut)
	w.exec(`UPDATE tasks SET status = 'pending', blocked_reason = 'suspended' WHERE id = $1`, made.ID)
	p := w.call(http.MethodPost, path, nil).refused(http.StatusConflict, "")
	require.Equal(t, task.KindInvalidState, p.Code)
	w.end(made, task.StatusFailed)
	w.call(http.MethodPost, path, nil).refused(http.StatusConflict, "")
}

// TestGive_UnlessTheTaskContinued sends a checkpoint after the end of its sandbox, as a user.
func TestGive_UnlessTheTaskContinued(t *testing.T) {
	t.Parallel()
	w := closed(t)
	user := []string{authorization, w.key(w.org, "write")}
	made := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), user...), http.StatusCreated)
	box := w.begin(made)
	w.checkpoint(box, 1, 0, "one")
	path := "/api/v1/tasks/" + made.ID + "/rewind"
	refused := func(body string) {
		t.Helper()
		require.Equal(t, task.KindContinued, w.call(http.MethodPost, path, body, user...).refused(http.StatusConflict, "").Code)
	}
	refused(`{"checkpoint":"1.1","after_attempt":1}`) // the attempt runs

	p := w.octets(box, 2, 0, "mine", user...).refused(http.StatusConflict, "")
	require.Equal(t, task.KindContinued, p.Code, "the agent sends the checkpoints")

	w.exec(`UPDATE attempts SET ended_at = now(), outcome = 'suspended', head_commit = 'beef'`)
	w.exec(`UPDATE tasks SET status = 'pending', blocked_reason = 'suspended', sandbox_id = NULL`)
	w.exec(`UPDATE sandboxes SET state = 'gone', ended_at = now(), gone_at = now() - interval '2 hours', verified_at = now() - interval '2 hours'`)
	w.octets(box, 2, 0, "mine", authorization, w.key(w.org, "read")).refused(http.StatusForbidden, "")
	w.checkpoint(box, 2, 1, "mine", user...)
	piece := w.call(http.MethodPut, wire+box+"/transcripts/give-1?session_id=s-1", []byte("{}\n"), append(user, "Content-Type", "application/x-ndjson")...)
	require.True(t, ok[client.TranscriptMark](piece, http.StatusOK).Stored)
	refused(`{"checkpoint":"1.2","after_attempt":2}`) // there is no such attempt
	asked := ok[client.CommandResult](w.call(http.MethodPost, path, `{"checkpoint":"1.2","after_attempt":1}`, user...), http.StatusAccepted)
	w.settle(asked.Command.ID, task.ReceiptCarriedOut)
	w.exec(`INSERT INTO attempts (task_id, number, sandbox_id, kind, run_id, ordinal, ended_at) VALUES ($1, 2, $2, 'retry', 'run', 2, now())`, made.ID, w.next(made, 2))
	refused(`{"checkpoint":"1.2","after_attempt":1}`)
}
