package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// The fields of OmoiOS, in the order of its documents.
var (
	legacyTaskFields    = "id ticket_id phase_id task_type title description priority status sandbox_id assigned_agent_id created_at"
	legacyProjectFields = "id name description github_owner github_repo github_connected default_phase_id status settings " +
		"autonomous_execution_enabled created_at updated_at"
	legacyTicketFields = "id title description phase_id status priority project_id approval_status"
)

// fields fails unless an object has exactly these fields.
func fields(t *testing.T, object any, names string) map[string]any {
	t.Helper()
	got := object.(map[string]any)
	for name := range strings.FieldsSeq(names) {
		require.Contains(t, got, name)
	}
	require.Len(t, got, len(strings.Fields(names)), "%v", got)
	return got
}

const legacyTime = `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$`

func TestLegacyTasks_KeepTheirForm(t *testing.T) {
	t.Parallel()
	w := open(t)
	require.JSONEq(t, `[]`, string(w.call(http.MethodGet, "/legacy/api/v1/tasks", nil).body))
	first, second := w.task(newTask()), w.task(newTask())
	box := w.begin(first)
	list := func(query string) (ids []string) {
		for _, item := range ok[[]map[string]any](w.call(http.MethodGet, "/legacy/api/v1/tasks"+query, nil), http.StatusOK) {
			require.Regexp(t, legacyTime, fields(t, item, legacyTaskFields)["created_at"])
			ids = append(ids, item["id"].(string))
		}
		return ids
	}
	require.Equal(t, []string{second.ID, first.ID}, list(""), "newest first")
	require.Equal(t, []string{second.ID}, list("?limit=1&unknown=x"))
	require.Equal(t, []string{first.ID}, list("?status=running"))
	require.Empty(t, list("?status=claiming"), "a status that omoi does not have")
	require.Equal(t, []string{second.ID}, list("?ticket_id="+second.TicketID))
	require.Equal(t, []string{first.ID}, list("?has_sandbox=True"))
	require.Equal(t, []string{second.ID}, list("?has_sandbox=false"))
	require.Empty(t, list("?phase_id=PHASE_TESTING"))
	w.exec(`UPDATE tasks SET status = 'completed', completed_at = now() WHERE id = $1`, first.ID)
	require.Equal(t, []string{first.ID}, list("?has_sandbox=true"), "ended tasks keep their sandbox")
	page := ok[client.Page[client.Task]](w.call(http.MethodGet, "/api/v1/tasks", nil), http.StatusOK)
	require.Len(t, page.Items, 2, "the list without the prefix keeps its own form")
	require.Equal(t, box, *page.Items[1].SandboxID)
}

// Lists are sent page by page, each of 100 elements at most.
func TestLegacyLists_ArePaged(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *api.Config) { c.Open, c.Agent = true, "external" })
	first := w.task(newTask())
	w.exec(`INSERT INTO projects (id, organization_id, name, created_at) SELECT gen_random_uuid(), organization_id, 'p' || n, now() + n * interval '1 s'
		FROM projects, generate_series(1, 249) n WHERE id = $1`, first.ProjectID)
	w.exec(`INSERT INTO tickets (id, project_id, title, priority, created_at) SELECT gen_random_uuid(), $1, 'k' || n, CASE WHEN n <= 120 THEN 'LOW' ELSE 'HIGH' END, now() + n * interval '1 s'
		FROM generate_series(1, 249) n`, first.ProjectID)
	w.exec(`INSERT INTO tasks (id, organization_id, project_id, ticket_id, title, description, task_type, phase_id, priority, mode, agent, provider, status, created_at)
		SELECT gen_random_uuid(), organization_id, project_id, ticket_id, 't' || n, description, task_type, phase_id, priority, mode, agent, provider, 'completed', now() + n * interval '1 s'
		FROM tasks, generate_series(1, 249) n WHERE id = $1`, first.ID)
	names := func(path, list, field string) (names []string, total any) {
		answer := ok[any](w.call(http.MethodGet, "/legacy/api/v1/"+path, nil), http.StatusOK)
		if list != "" {
			total, answer = answer.(map[string]any)["total"], answer.(map[string]any)[list]
		}
		for _, item := range answer.([]any) {
			names = append(names, item.(map[string]any)[field].(string))
		}
		return names, total
	}
	tasks, _ := names("tasks?limit=10000", "", "title")
	require.Len(t, tasks, 250)
	require.Equal(t, []string{"t249", "t1", first.Title}, []string{tasks[0], tasks[248], tasks[249]})
	tasks, _ = names("tasks?limit=201", "", "title")
	require.Len(t, tasks, 201)
	projects, total := names("projects?limit=1000&offset=99", "projects", "name")
	require.Len(t, projects, 151)
	require.Equal(t, []any{"p150", 250.0}, []any{projects[0], total})
	tickets, total := names("tickets?priority=LOW&limit=110&offset=1", "tickets", "title")
	require.Len(t, tickets, 110)
	require.Equal(t, []any{"k119", "k10", 120.0}, []any{tickets[0], tickets[109], total}, "pages without an element are passed over")
}

func TestLegacyTasks_OfAnotherOrganization(t *testing.T) {
	t.Parallel()
	w := closed(t)
	w.call(http.MethodGet, "/legacy/api/v1/tasks", nil).refused(http.StatusUnauthorized, "")
	own, foreign := w.key(w.org, "write"), w.key(w.strangers(), "write")
	ok[client.Task](w.call(http.MethodPost, "/legacy/api/v1/tasks", newTask(), authorization, own), http.StatusCreated)
	require.Len(t, ok[[]any](w.call(http.MethodGet, "/legacy/api/v1/tasks", nil, authorization, own), http.StatusOK), 1)
	require.Empty(t, ok[[]any](w.call(http.MethodGet, "/legacy/api/v1/tasks", nil, authorization, foreign), http.StatusOK))
}

// A script of OmoiOS fails old tasks by PATCH, and its page by a route of its own.
func TestLegacyTasks_AreEndedByStatus(t *testing.T) {
	t.Parallel()
	w := open(t)
	path := func(of client.Task) string { return "/legacy/api/v1/tasks/" + of.ID }
	patched, failed, cancelled := w.task(newTask()), w.task(newTask()), w.task(newTask())
	got := fields(t, ok[map[string]any](w.call(http.MethodPatch, path(patched),
		`{"status":"failed","error_message":"stale","title":"Old"}`), http.StatusOK), "id ticket_id title description status priority updated_at")
	require.Equal(t, []any{"failed", "Old"}, []any{got["status"], got["title"]})
	require.Equal(t, "stale", w.reason(patched, "fail"))
	require.JSONEq(t, `{"task_id":"`+failed.ID+`","status":"failed","reason":"marked_failed_by_user","old_status":"pending"}`,
		string(w.call(http.MethodPost, path(failed)+"/fail", `{}`).body))
	require.JSONEq(t, `{"task_id":"`+cancelled.ID+`","cancelled":true,"reason":"why"}`,
		string(w.call(http.MethodPost, path(cancelled)+"/cancel", `{"reason":"why"}`).body))
	require.Equal(t, "why", w.reason(cancelled, "cancel"))
	for _, of := range []client.Task{patched, failed, cancelled} {
		w.exec(`UPDATE commands SET state = 'carried_out', settled_at = now() WHERE task_id = $1`, of.ID)
		w.end(of, task.StatusCompleted)
	}
	w.call(http.MethodPatch, path(patched), `{"status":"failed","title":"New","priority":"LOW"}`).refused(http.StatusBadRequest, "")
	kept := ok[client.Task](w.call(http.MethodGet, "/api/v1/tasks/"+patched.ID, nil), http.StatusOK)
	require.Equal(t, []string{"Old", patched.Priority}, []string{kept.Title, kept.Priority}, "a refused request changes nothing")
	w.call(http.MethodPost, path(failed)+"/fail", `{}`).refused(http.StatusBadRequest, "")
	w.call(http.MethodPost, path(cancelled)+"/cancel", `{}`).refused(http.StatusNotFound, "")
	w.call(http.MethodPatch, path(patched), `{"status":"completed"}`).refused(http.StatusUnprocessableEntity, "body.status")
	require.Equal(t, http.StatusConflict, w.call(http.MethodPost, "/api/v1/tasks/"+failed.ID+"/fail", `{}`).status)
}

// reason returns the reason of a command.
func (w *world) reason(of client.Task, kind string) (reason string) {
	w.t.Helper()
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), `SELECT args->>'reason' FROM commands WHERE task_id = $1 AND kind = $2`,
		of.ID, kind).Scan(&reason))
	return reason
}

func TestLegacyProjects_KeepTheirForm(t *testing.T) {
	t.Parallel()
	w := open(t)
	require.JSONEq(t, `{"projects":[],"total":0}`, string(w.call(http.MethodGet, "/legacy/api/v1/projects", nil).body))
	local := w.task(newTask()).ProjectID
	made := fields(t, ok[map[string]any](w.call(http.MethodPost, "/legacy/api/v1/projects",
		`{"name":"Acme/Locked","description":null,"github_owner":"Acme","github_repo":"Locked","default_phase_id":"PHASE_IMPLEMENTATION"}`),
		http.StatusOK), legacyProjectFields)
	require.Equal(t, []any{"Acme", "Locked", true, "active"},
		[]any{made["github_owner"], made["github_repo"], made["github_connected"], made["status"]})
	page := fields(t, ok[map[string]any](w.call(http.MethodGet, "/legacy/api/v1/projects", nil), http.StatusOK), "projects total")
	require.EqualValues(t, 2, page["total"])
	projects := page["projects"].([]any)
	require.Equal(t, made, projects[0], "newest first")
	of := fields(t, projects[1], legacyProjectFields)
	require.Equal(t, []any{local, nil, nil, false}, []any{of["id"], of["github_owner"], of["github_repo"], of["github_connected"]})
	require.Equal(t, made, ok[map[string]any](w.call(http.MethodGet, "/legacy/api/v1/projects/"+made["id"].(string), nil), http.StatusOK))
	page = ok[map[string]any](w.call(http.MethodGet, "/legacy/api/v1/projects?limit=1&offset=1&status=active", nil), http.StatusOK)
	require.Equal(t, []any{of}, page["projects"])
	require.EqualValues(t, 2, page["total"])
	require.JSONEq(t, `{"projects":[],"total":0}`, string(w.call(http.MethodGet, "/legacy/api/v1/projects?status=archived", nil).body))
	w.call(http.MethodPost, "/legacy/api/v1/projects", `{"name":"x","organization_id":"`+local+`"}`).refused(http.StatusForbidden, "")
	w.call(http.MethodPost, "/legacy/api/v1/projects", `{"name":"Acme/Locked"}`).refused(http.StatusConflict, "")
}

func TestLegacyTickets_KeepTheirForm(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *api.Config) { c.Open, c.Agent = true, "external" })
	require.JSONEq(t, `{"tickets":[],"total":0}`, string(w.call(http.MethodGet, "/legacy/api/v1/tickets", nil).body))
	project := w.task(newTask()).ProjectID
	post := func(body string) map[string]any {
		return ok[map[string]any](w.call(http.MethodPost, "/legacy/api/v1/tickets", body), http.StatusOK)
	}
	const hello = `{"title":"Say hello","description":"in a file","priority":"HIGH","workflow_mode":"quick","dependencies":null,"project_id":"`
	made := fields(t, post(hello+project+`"}`), legacyTicketFields)
	require.Equal(t, []any{"Say hello", "PHASE_REQUIREMENTS", "backlog", "HIGH", project, "approved"},
		[]any{made["title"], made["phase_id"], made["status"], made["priority"], made["project_id"], made["approval_status"]})
	again := fields(t, post(hello+project+`"}`), "is_duplicate message candidates highest_similarity source")
	require.Equal(t, true, again["is_duplicate"])
	forced := post(hello + project + `","force_create":true}`)
	require.NotEqual(t, made["id"], forced["id"])
	list := func(query string) (ids []any, total any) {
		page := fields(t, ok[map[string]any](w.call(http.MethodGet, "/legacy/api/v1/tickets"+query, nil), http.StatusOK), "tickets total")
		for _, item := range page["tickets"].([]any) {
			ids = append(ids, fields(t, item, legacyTicketFields+" created_at")["id"])
		}
		return ids, page["total"]
	}
	ids, total := list("?search=HELLO&priority=HIGH&status=backlog&phase_id=PHASE_REQUIREMENTS&project_id=" + project)
	require.Equal(t, []any{forced["id"], made["id"]}, ids)
	require.EqualValues(t, 2, total)
	ids, total = list("?limit=1&offset=2")
	require.Len(t, ids, 1, "the ticket of the first task")
	require.EqualValues(t, 3, total)
	_, total = list("?status=done")
	require.EqualValues(t, 0, total)
	for field, body := range map[string]string{
		"body.project_id": `{"title":"x"}`, "body.workflow_mode": `{"title":"x","workflow_mode":"spec_driven"}`,
		"body.dependencies": `{"title":"x","dependencies":{"blocked_by":["TKT-1"]}}`, "body.similarity_threshold": `{"title":"x","similarity_threshold":2}`,
	} {
		w.call(http.MethodPost, "/legacy/api/v1/tickets", body).refused(http.StatusUnprocessableEntity, field)
	}
}

// Each other route is served below the prefix as without, with and without the token of a sandbox in the path.
func TestLegacyPrefix_ServesEachRoute(t *testing.T) {
	t.Parallel()
	w := closed(t)
	key := w.key(w.org, "write")
	made := ok[client.Task](w.call(http.MethodPost, "/legacy/api/v1/tasks", newTask(), authorization, key), http.StatusCreated)
	box := w.begin(made)
	token := w.ring.Mint(box)
	for _, base := range []string{"/legacy/t/" + token, "/t/" + token + "/legacy", "/t/" + token} {
		path := base + "/api/v1/sandboxes/" + box
		ok[client.ReceivedEvent](w.call(http.MethodPost, path+"/events", `{"event_type":"agent.started"}`), http.StatusOK)
		require.JSONEq(t, `[]`, string(w.call(http.MethodGet, path+"/messages", nil).body))
		w.call(http.MethodGet, base+"/api/v1/tasks", nil).refused(http.StatusForbidden, "")
	}
	for _, path := range []string{"/api/v1/sandboxes/" + box + "/events", "/api/v1/tasks/" + made.ID, "/api/v1/monitor/intelligent/health"} {
		want, got := w.call(http.MethodGet, path, nil, authorization, key), w.call(http.MethodGet, "/legacy"+path, nil, authorization, key)
		require.Equal(t, http.StatusOK, got.status, path)
		require.Equal(t, string(want.body), string(got.body))
	}
	require.Equal(t, http.StatusOK, w.call(http.MethodGet, "/legacy/health", nil).status)
	require.Equal(t, box, ok[client.SandboxEvents](w.call(http.MethodGet, "/legacy/api/v1/sandboxes/"+strings.Replace(box, "-", "%2D", 1)+"/events",
		nil, authorization, key), http.StatusOK).SandboxID, "escaped characters stay")
}
