package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/ticket"
)

func TestProject_IsPausedAndResumed(t *testing.T) {
	t.Parallel()
	w := open(t)
	first := w.task(newTask())
	path := "/api/v1/projects/" + first.ProjectID
	paused := ok[client.PauseResult](w.call(http.MethodPost, path+"/pause", nil), http.StatusOK)
	require.True(t, paused.Project.Paused)
	require.Empty(t, paused.TaskIDs)
	waiting := w.task(newTask())
	require.Equal(t, task.BlockedPaused, waiting.Blocked)
	stopped := ok[client.PauseResult](w.call(http.MethodPost, path+"/pause", `{"now":true,"reason":"a flood"}`), http.StatusOK)
	require.Equal(t, []string{first.ID}, stopped.TaskIDs)
	resumed := ok[client.PauseResult](w.call(http.MethodPost, path+"/resume", `{}`), http.StatusOK)
	require.False(t, resumed.Project.Paused)
	require.False(t, resumed.InstallationPaused)
	require.True(t, ok[client.Task](w.call(http.MethodGet, "/api/v1/tasks/"+waiting.ID, nil), http.StatusOK).HoldsSlot)
	require.NoError(t, w.store.SetPaused(t.Context(), true))
	require.True(t, ok[client.PauseResult](w.call(http.MethodPost, path+"/resume", nil), http.StatusOK).InstallationPaused,
		"no task begins all the same")
	w.call(http.MethodPost, "/api/v1/projects/"+task.NewID()+"/pause", nil).refused(http.StatusNotFound, "")
	w.call(http.MethodPost, path+"/pause", `{"soon":true}`).refused(422, "body.soon")
}

func TestTicket_ChangesItsPhase(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := ok[client.Ticket](w.call(http.MethodPost, "/api/v1/tickets",
		`{"repo":"/srv/git/app","title":"a","task":{"agent":"external"}}`), http.StatusCreated)
	require.Equal(t, []any{"backlog", false}, []any{made.Status, made.Blocked})
	path := "/api/v1/tickets/" + made.ID
	moved := ok[client.Ticket](w.call(http.MethodPatch, path, `{"phase_id":"PHASE_TESTING"}`), http.StatusOK)
	require.Equal(t, ticket.PhaseTesting, moved.PhaseID)
	w.call(http.MethodPatch, path, `{"phase_id":"PHASE_DONE"}`).refused(http.StatusConflict, "")
	w.call(http.MethodPatch, path, `{"phase_id":"PHASE_NONE"}`).refused(422, "body.phase_id")
	changed := ok[client.Ticket](w.call(http.MethodPatch, path,
		`{"title":"Sums","description":"All of them","ticket_type":"bug","priority":"LOW","context":{"a":1}}`), http.StatusOK)
	require.Equal(t, []any{"Sums", "All of them", "bug", "LOW", "PHASE_TESTING"},
		[]any{changed.Title, changed.Description, changed.TicketType, changed.Priority, changed.PhaseID})
	require.JSONEq(t, `{"a":1}`, string(changed.Context))
	w.call(http.MethodPatch, path, `{"title":""}`).refused(422, "body.title")
	w.call(http.MethodPatch, path, `{"task":{"agent":"claude"}}`).refused(http.StatusConflict, "body.task")
}
