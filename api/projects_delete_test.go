package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestDeletedProject_KeepsTasksAndAcceptsNone(t *testing.T) {
	t.Parallel()
	w := open(t)
	first := w.task(newTask())
	path := "/api/v1/projects/" + first.ProjectID
	ok[client.Credential](w.call(http.MethodPut, credentials+"/github",
		`{"scope":"project","project_id":"`+first.ProjectID+`","secret":"ghp_0123456789abcdef"}`), http.StatusOK)

	preview := ok[client.ProjectDeletion](w.call(http.MethodGet, path+"/deletion", nil), http.StatusOK)
	require.Equal(t, []string{"github"}, preview.Credentials)
	require.Equal(t, []int{1, 1}, []int{preview.Tasks, preview.Tickets})
	require.Equal(t, first.ID, preview.OpenTasks[0].ID)
	require.Contains(t, w.call(http.MethodDelete, path, nil).refused(http.StatusConflict, "").Detail, first.ID)

	w.begin(first)
	w.end(first, task.StatusFailed)
	w.exec(`UPDATE sandboxes SET state = 'deleting', provider = 'local', host_bound = true, machine = true, gone_at = NULL, verified_at = NULL WHERE task_id = $1`, first.ID)
	require.Contains(t, w.call(http.MethodDelete, path, nil).refused(http.StatusConflict, "").Detail,
		first.ID+" (failed, its sandbox is being deleted)")
	w.exec(`UPDATE sandboxes SET state = 'gone', cost_usd = 2 WHERE task_id = $1`, first.ID)
	before := string(w.call(http.MethodGet, "/api/v1/tasks/"+first.ID+"/receipt", nil).body)
	require.Equal(t, http.StatusNoContent, w.call(http.MethodDelete, path, nil).status)

	require.Equal(t, before, string(w.call(http.MethodGet, "/api/v1/tasks/"+first.ID+"/receipt", nil).body))
	require.Zero(t, w.count(`SELECT count(*) FROM credentials`))
	require.Empty(t, ok[client.Page[client.Project]](w.call(http.MethodGet, "/api/v1/projects", nil), http.StatusOK).Items)
	w.call(http.MethodDelete, path, nil).refused(http.StatusNotFound, "")
	w.call(http.MethodGet, path, nil).refused(http.StatusNotFound, "")
	w.call(http.MethodPatch, path, `{"name":"x"}`).refused(http.StatusNotFound, "")
	w.call(http.MethodPost, path+"/resume", nil).refused(http.StatusNotFound, "")
	w.call(http.MethodPost, "/api/v1/tasks/"+first.ID+"/retry", nil).refused(http.StatusConflict, "")
	w.call(http.MethodPost, "/api/v1/tasks", `{"project_id":"`+first.ProjectID+`","agent":"external","description":"x"}`).
		refused(422, "body.project_id")
	w.call(http.MethodPost, "/api/v1/tasks", `{"ticket_id":"`+first.TicketID+`","agent":"external","description":"x"}`).
		refused(http.StatusConflict, "")
	w.call(
		http.MethodPut, credentials+"/github",
		`{"scope":"project","project_id":"`+first.ProjectID+`","secret":"ghp_0123456789abcdef"}`,
	).refused(http.StatusNotFound, "")
	require.NotEqual(t, first.ProjectID, w.task(newTask()).ProjectID,
		"the next task of the repository makes a new project")
}

func TestProjectNames_AreUniqueInAnOrganization(t *testing.T) {
	t.Parallel()
	w := open(t)
	const path = "/api/v1/projects"
	app := ok[client.Project](w.call(http.MethodPost, path, `{"name":"app"}`), http.StatusCreated)
	require.Contains(t,
		w.call(http.MethodPost, path, `{"name":"app"}`).refused(http.StatusConflict, "").Detail, "called app")
	made := ok[client.Project](w.call(http.MethodPost, path, `{"repo":"/srv/git/app"}`), http.StatusCreated)
	require.Equal(t, "app-2", made.Name)
	w.call(http.MethodPatch, path+"/"+made.ID, `{"name":"app"}`).refused(http.StatusConflict, "")
	require.Equal(t, http.StatusNoContent, w.call(http.MethodDelete, path+"/"+app.ID, nil).status)
	ok[client.Project](w.call(http.MethodPatch, path+"/"+made.ID, `{"name":"app"}`), http.StatusOK)
}
