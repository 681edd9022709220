package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestRewind_IsARetryFromACheckpoint(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	path := "/api/v1/tasks/" + made.Key + "/rewind"
	box := w.begin(made)
	w.checkpoint(box, 1, 0, "one")
	w.checkpoint(box, 2, 1, "two")
	w.call(http.MethodPost, path, `{"checkpoint":"1.3"}`).refused(http.StatusNotFound, "")
	w.call(http.MethodPost, path, `{"checkpoint":"1"}`).refused(http.StatusUnprocessableEntity, "body.checkpoint")
	w.call(http.MethodPost, path, `{}`).refused(http.StatusUnprocessableEntity, "body")
	w.call(http.MethodPost, path, `{"checkpoint":"1.1","reason":"a\u0000"}`).refused(http.StatusUnprocessableEntity, "body.reason")

	asked := ok[client.CommandResult](w.call(http.MethodPost, path, `{"checkpoint":"1.1","reason":"wrong turn"}`), http.StatusAccepted)
	require.Equal(t, []string{"retry", "wrong turn"}, []string{asked.Command.Kind, asked.Command.Reason})
	require.Equal(t, 1, w.count(`SELECT count(*) FROM commands WHERE id = $1 AND args ->> 'checkpoint' = '1.1'`, asked.Command.ID))
	again := ok[client.CommandResult](w.call(http.MethodPost, path, `{"checkpoint":"1.1"}`), http.StatusAccepted)
	require.Equal(t, asked.Command.ID, again.Command.ID, "asking twice is one command")
	w.call(http.MethodPost, path, `{"checkpoint":"1.2"}`).refused(http.StatusConflict, "")

	w.settle(asked.Command.ID, task.ReceiptCarriedOut)
	w.end(made, task.StatusCompleted)
	w.exec(`UPDATE attempts SET head_commit = 'beef' WHERE task_id = $1`, made.ID)
	ok[client.CommandResult](w.call(http.MethodPost, path, `{"checkpoint":"1.2"}`), http.StatusAccepted)

	w.exec(`INSERT INTO removals (subject, kind, removed_at) VALUES ($1, 'checkpoints', now())`, box)
	require.Equal(t, task.KindDataRemoved, w.call(http.MethodPost, path, `{"checkpoint":"1.2"}`).refused(http.StatusGone, "").Code)
	queued := w.task(newTask())
	w.call(http.MethodPost, "/api/v1/tasks/"+queued.ID+"/rewind", `{"checkpoint":"1.1"}`).refused(http.StatusConflict, "")
}

func TestRewind_OfItsOrganizationOnly(t *testing.T) {
	t.Parallel()
	w := closed(t)
	owner := w.key(w.org, "write")
	made := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, owner), http.StatusCreated)
	box := w.begin(made)
	w.checkpoint(box, 1, 0, "one")
	tenant, err := w.store.EnsureOrganization(t.Context(), "other")
	require.NoError(t, err)
	path, body := "/api/v1/tasks/"+made.ID+"/rewind", `{"checkpoint":"1.1"}`
	w.call(http.MethodPost, path, body, authorization, w.key(tenant, "admin")).refused(http.StatusNotFound, "")
	w.call(http.MethodPost, path, body, authorization, w.key(w.org, "read")).refused(http.StatusForbidden, "")
	w.call(http.MethodPost, path, body).refused(http.StatusUnauthorized, "")
	require.Equal(t, http.StatusAccepted, w.call(http.MethodPost, path, body, authorization, owner).status)
}
