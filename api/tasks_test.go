package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestCreateTask_StoresWhatStartsItsWorkflow(t *testing.T) {
	t.Parallel()
	w := open(t)
	notified := w.due()
	res := w.call(http.MethodPost, "/api/v1/tasks", newTask())
	made := ok[client.Task](res, http.StatusCreated)
	require.Equal(t, "/api/v1/tasks/"+made.ID, res.header.Get("Location"))
	require.Equal(t, task.StatusPending, made.Status)
	require.Equal(t, "Write a file", made.Description)
	require.Equal(t, []any{"external", "external", "implementation", "MEDIUM", 3, true},
		[]any{made.Agent, made.Provider, made.Mode, made.Priority, made.MaxRetries, made.Continuous})
	require.True(t, made.HoldsSlot, "the gate lets the first task in")
	require.NotEmpty(t, made.Why)
	require.Equal(t, 1,
		w.count(`SELECT count(*) FROM commands WHERE task_id = $1 AND kind = 'start' AND state = 'accepted'`, made.ID))
	require.Equal(t, 1,
		w.count(`SELECT count(*) FROM task_outbox WHERE task_id = $1 AND due_at <= now() AND admit`, made.ID))
	notified()
	require.Equal(t, made.ID, ok[client.Task](w.call(http.MethodGet, "/api/v1/tasks/"+made.ID, nil), http.StatusOK).ID)
}

func TestRejectedTask_NotifiesNoRelay(t *testing.T) {
	t.Parallel()
	w := open(t)
	refused := newTask()
	refused.Repo, refused.TicketID = "", "4e2d7f36-3d0b-4a5a-9d3e-5b0f6f0c8a11"
	require.Equal(t, http.StatusUnprocessableEntity, w.call(http.MethodPost, "/api/v1/tasks", refused).status)
	require.Zero(t, w.count(`SELECT count(*) FROM task_outbox`), "the database notifies the relay of nothing else")
}

func TestCreateTask_OneProjectForARepository(t *testing.T) {
	t.Parallel()
	w := open(t)
	first, second := w.task(newTask()), newTask()
	second.Repo = goodRepo + "/../app/"
	require.Equal(t, first.ProjectID, w.task(second).ProjectID)
	second.Repo, second.ProjectID = "", first.ProjectID
	require.Equal(t, first.ProjectID, w.task(second).ProjectID)
	second.ProjectID, second.TicketID = "", first.TicketID
	require.Equal(t, first.TicketID, w.task(second).TicketID)
	projects := ok[client.Page[client.Project]](w.call(http.MethodGet, "/api/v1/projects", nil), http.StatusOK)
	require.Len(t, projects.Items, 1)
	require.Equal(t, "app", projects.Items[0].Name)
}

func TestIdempotencyKey_ReturnsTheSameTask(t *testing.T) {
	t.Parallel()
	w := open(t)
	const path, header = "/api/v1/tasks", "Idempotency-Key"
	body := `{"repo":"/srv/git/app","title":"a","agent":"external"}`
	first := ok[client.Task](w.call(http.MethodPost, path, body, header, "k"), http.StatusCreated)
	again := ok[client.Task](w.call(http.MethodPost, path, "  "+body+"\n", header, "k"), http.StatusOK)
	require.Equal(t, first.ID, again.ID)
	w.call(http.MethodPost, path, strings.Replace(body, `"a"`, `"b"`, 1), header, "k").
		refused(http.StatusConflict, "header.Idempotency-Key")
	require.Equal(t, 1, w.count(`SELECT count(*) FROM tasks`))
	require.NotEqual(t, first.ID,
		ok[client.Task](w.call(http.MethodPost, path, body, header, "other"), http.StatusCreated).ID)
}

func TestIdempotencyKey_ConcurrentRequestsCreateOneTask(t *testing.T) {
	t.Parallel()
	w := open(t)
	ids := make(chan string, 8)
	for range 8 {
		go func() {
			var made client.Task
			defer func() { ids <- made.ID }()
			a := w.call(http.MethodPost, "/api/v1/tasks", newTask(), "Idempotency-Key", "k")
			_ = json.Unmarshal(a.body, &made)
		}()
	}
	one := <-ids
	for range 7 {
		require.Equal(t, one, <-ids)
	}
	require.NotEmpty(t, one)
	require.Equal(t, 1, w.count(`SELECT count(*) FROM tasks`))
	require.Equal(t, 1, w.count(`SELECT count(*) FROM tickets`), "what lost the race is undone")
}

func TestCreateTask_ErrorNamesTheInvalidField(t *testing.T) {
	t.Parallel()
	w := open(t)
	t.Cleanup(func() { require.Zero(t, w.tasks(), "nothing half-made") }) // runs after the parallel cases
	const unknown = "01890a5d-ac96-774b-bcce-b302099a8057"
	for name, c := range map[string]struct {
		body     string
		status   int
		location string
	}{
		"nothing":               {`{}`, 422, "body.title"},
		"empty text":            {`{"repo":"/srv/git/app","title":"  ","description":" "}`, 422, "body.title"},
		"no place":              {`{"title":"a","agent":"external"}`, 422, "body.repo"},
		"two places":            {`{"title":"a","agent":"external","repo":"/srv/git/app","project_id":"` + unknown + `"}`, 422, "body.repo"},
		"unknown field":         {`{"repo":"/srv/git/app","title":"a","colour":"red"}`, 422, "body.colour"},
		"wrong type":            {`{"repo":"/srv/git/app","title":7}`, 422, "body.title"},
		"malformed":             {`{"repo":`, 400, "body"},
		"no body":               {``, 400, ""},
		"a list":                {`[]`, 422, "body"},
		"retries too many":      {`{"repo":"/srv/git/app","title":"a","max_retries":11}`, 422, "body.max_retries"},
		"retries below zero":    {`{"repo":"/srv/git/app","title":"a","max_retries":-1}`, 422, "body.max_retries"},
		"deadline, no zone":     {`{"repo":"/srv/git/app","title":"a","agent":"external","deadline_at":"2090-01-31T18:00:00"}`, 422, "body.deadline_at"},
		"deadline, a date":      {`{"repo":"/srv/git/app","title":"a","agent":"external","deadline_at":"2090-01-31"}`, 422, "body.deadline_at"},
		"deadline in the past":  {`{"repo":"/srv/git/app","title":"a","agent":"external","deadline_at":"2020-01-31T18:00:00Z"}`, 422, "body.deadline_at"},
		"deadline, empty":       {`{"repo":"/srv/git/app","title":"a","agent":"external","deadline_at":""}`, 422, "body.deadline_at"},
		"deadline, year 10000":  {`{"repo":"/srv/git/app","title":"a","agent":"external","deadline_at":"9999-12-31T23:59:59-12:00"}`, 422, "body.deadline_at"},
		"budget below zero":     {`{"repo":"/srv/git/app","title":"a","budget":{"usd":-1}}`, 422, "body.budget.usd"},
		"unknown priority":      {`{"repo":"/srv/git/app","title":"a","priority":"high"}`, 422, "body.priority"},
		"unknown phase":         {`{"repo":"/srv/git/app","title":"a","phase_id":"PHASE_X"}`, 422, "body.phase_id"},
		"unknown mode":          {`{"repo":"/srv/git/app","title":"a","mode":"x"}`, 422, "body.mode"},
		"unknown agent":         {`{"repo":"/srv/git/app","title":"a","agent":"gpt"}`, 422, "body.agent"},
		"unknown provider":      {`{"repo":"/srv/git/app","title":"a","provider":"moon"}`, 422, "body.provider"},
		"two providers":         {`{"repo":"/srv/git/app","title":"a","provider":"local","sandbox":"docker"}`, 422, "body.sandbox"},
		"wrong provider field":  {`{"repo":"/srv/git/app","title":"a","sandbox_provider":"local"}`, 422, "body.sandbox_provider"},
		"unknown sandbox":       {`{"repo":"/srv/git/app","title":"a","sandbox":"moon"}`, 422, "body.sandbox"},
		"agent without machine": {`{"repo":"/srv/git/app","title":"a","agent":"scripted","sandbox":"external"}`, 422, "body.sandbox"},
		"script missing":        {`{"repo":"/srv/git/app","title":"a","agent":"scripted"}`, 422, "body.execution_config.script"},
		"script without steps":  {`{"repo":"/srv/git/app","title":"a","agent":"scripted","execution_config":{"script":{}}}`, 422, "body.execution_config.script"},
		"config is no object":   {`{"repo":"/srv/git/app","title":"a","agent":"external","execution_config":[]}`, 422, "body.execution_config"},
		"config of wrong type":  {`{"repo":"/srv/git/app","title":"a","agent":"external","execution_config":{"setup":1}}`, 422, "body.execution_config.setup"},
		"config with NUL":       {`{"repo":"/srv/git/app","title":"a","agent":"external","execution_config":{"x":"\u0000"}}`, 422, "body.execution_config"},
		"no repository":         {`{"repo":"/nowhere","title":"a","agent":"external"}`, 422, "body.repo"},
		"unknown project":       {`{"project_id":"` + unknown + `","title":"a","agent":"external"}`, 422, "body.project_id"},
		"project is no id":      {`{"project_id":"7","title":"a","agent":"external"}`, 422, "body.project_id"},
		"unknown ticket":        {`{"ticket_id":"` + unknown + `","title":"a","agent":"external"}`, 422, "body.ticket_id"},
		"unknown dependency":    {`{"repo":"/srv/git/app","title":"a","agent":"external","dependencies":{"depends_on":["` + unknown + `"]}}`, 422, "body.dependencies.depends_on"},
		"dependency is no id":   {`{"repo":"/srv/git/app","title":"a","agent":"external","dependencies":{"depends_on":["x"]}}`, 422, "body.dependencies.depends_on"},
		"control character":     {`{"repo":"/srv/git/app","title":"a\u0007b","agent":"external"}`, 422, "body.title"},
		"line break in title":   {`{"repo":"/srv/git/app","title":"a\nb","agent":"external"}`, 422, "body.title"},
		"NUL in description":    {`{"repo":"/srv/git/app","description":"a\u0000b","agent":"external"}`, 422, "body.description"},
		"text turned around":    {`{"repo":"/srv/git/app","title":"a\u202eb","agent":"external"}`, 422, "body.title"},
		"title too long":        {`{"repo":"/srv/git/app","title":"` + strings.Repeat("ä", 501) + `","agent":"external"}`, 422, "body.title"},
		"description too long":  {`{"repo":"/srv/git/app","description":"` + strings.Repeat("a", 65537) + `","agent":"external"}`, 422, "body.description"},
		"a mebibyte of text":    {`{"repo":"/srv/git/app","description":"` + strings.Repeat("a", 1<<20) + `"}`, 413, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.t = t
			p := w.call(http.MethodPost, "/api/v1/tasks", c.body).refused(c.status, c.location)
			require.Less(t, len(p.Detail), 400, "an error must not echo the body")
			if c.status == http.StatusUnprocessableEntity && c.location != "body" {
				parts := strings.Split(c.location, ".")
				require.Contains(t, p.Detail, parts[len(parts)-1])
			}
		})
	}
}

// tasks counts the tasks, also after the test's own context has ended.
func (w *world) tasks() int {
	var n int
	require.NoError(w.t, w.pool.QueryRow(context.Background(), `SELECT count(*) FROM tasks`).Scan(&n))
	return n
}

func TestCreateTask_KeepsUnicodeTexts(t *testing.T) {
	t.Parallel()
	w := open(t)
	in := newTask()
	in.Title = "修复 bug 👩‍🚀 <b>é</b> ' \" \\"
	in.Description = "first line\n\tsecond line\r\n" + strings.Repeat("ü", 1000)
	in.Execution = json.RawMessage(`{"unknown_key": {"kept": [1, 2]}, "force_execute": true}`)
	made := w.task(in)
	require.Equal(t, in.Title, made.Title)
	require.Equal(t, in.Description, made.Description)
	require.JSONEq(t, string(in.Execution), string(made.Execution))
	in = client.CreateTaskRequest{Repo: goodRepo, Agent: "external", Description: "Write   a\tfile, " + strings.Repeat("word ", 100)}
	title := w.task(in).Title
	require.True(t, strings.HasPrefix(title, "Write a file, word"), title)
	require.LessOrEqual(t, len([]rune(title)), 123)
}

// The secrets in a task's environment are for its agent, not for readers of the task.
func TestTask_SecretsAreNotReturned(t *testing.T) {
	t.Parallel()
	w := open(t)
	in := newTask()
	in.Execution = json.RawMessage(`{"env": {"API_KEY": "planted-key", "MODE": "production"}, "setup": "login planted-key"}`)
	made := w.task(in)
	const shown = `{"env": {"API_KEY": "[redacted]", "MODE": "[redacted]"}, "setup": "login [redacted]"}`
	require.JSONEq(t, shown, string(made.Execution))
	for _, path := range []string{"/api/v1/tasks/" + made.ID, "/api/v1/tasks"} {
		got := w.call(http.MethodGet, path, nil)
		require.Contains(t, string(got.body), "[redacted]", path)
		require.NotContains(t, string(got.body), "planted", path)
	}
	var stored string
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT execution_config->'env'->>'API_KEY' FROM tasks`).Scan(&stored))
	require.Equal(t, "planted-key", stored, "the agent is given it")
}

func TestModeAndContinuousFollowTaskTypeAndAgent(t *testing.T) {
	t.Parallel()
	w := open(t)
	script := json.RawMessage(`{"script":{"steps":[{"say":"hi"}]}}`)
	for _, c := range []struct {
		in         client.CreateTaskRequest
		mode       string
		continuous bool
		sandbox    string
	}{
		{client.CreateTaskRequest{Agent: "external", TaskType: "research"}, "exploration", false, "external"},
		{client.CreateTaskRequest{Agent: "external", TaskType: "run_tests"}, "validation", true, "external"},
		{client.CreateTaskRequest{Provider: "external"}, "implementation", true, "external"},
		{client.CreateTaskRequest{Sandbox: "external"}, "implementation", true, "external"},
		{client.CreateTaskRequest{Provider: "external", Sandbox: "external"}, "implementation", true, "external"},
		{client.CreateTaskRequest{Agent: "scripted", Execution: script}, "implementation", false, "local"},
		{client.CreateTaskRequest{Execution: script}, "implementation", false, "local"},
		{
			client.CreateTaskRequest{Agent: "external", Mode: "exploration", Execution: json.RawMessage(`{"continuous":true}`)},
			"exploration", true, "external",
		},
	} {
		c.in.Repo, c.in.Title = goodRepo, "a"
		made := w.task(c.in)
		require.Equal(t, c.mode, made.Mode)
		require.Equal(t, c.continuous, made.Continuous)
		require.Equal(t, c.sandbox, made.Provider)
	}
}

func TestTaskList_FiltersAndPages(t *testing.T) {
	t.Parallel()
	w := open(t)
	var ids []string
	for range 5 {
		ids = append(ids, w.task(newTask()).ID)
	}
	list := func(query string) client.Page[client.Task] {
		return ok[client.Page[client.Task]](w.call(http.MethodGet, "/api/v1/tasks?"+query, nil), http.StatusOK)
	}
	var seen []string
	cursor := new("")
	for range 3 {
		page := list("limit=2&cursor=" + *cursor)
		for _, found := range page.Items {
			seen = append([]string{found.ID}, seen...)
			require.NotEmpty(t, found.Why)
		}
		cursor = page.NextCursor
	}
	require.Nil(t, cursor)
	require.Equal(t, ids, seen, "newest first, each once")
	box := w.begin(client.Task{ID: ids[0]})
	require.Equal(t, ids[0], list("has_sandbox=true").Items[0].ID)
	require.Len(t, list("has_sandbox=false").Items, 4)
	require.Equal(t, box, *list("status=running").Items[0].SandboxID)
	require.Empty(t, list("status=failed").Items)
	require.Len(t, list("id="+ids[3][len(ids[3])-8:]).Items, 1)
	require.Equal(t, ids[3], list("id=" + ids[3][len(ids[3])-8:len(ids[3])-2]).Items[0].ID,
		"the beginning of what lists show")
	w.call(http.MethodGet, "/api/v1/tasks?status=busy", nil).refused(422, "query.status")
	w.call(http.MethodGet, "/api/v1/tasks?limit=501", nil).refused(422, "query.limit")
	w.call(http.MethodGet, "/api/v1/tasks?limit=x", nil).refused(422, "query.limit")
	w.call(http.MethodGet, "/api/v1/tasks?cursor=nonsense", nil).refused(422, "query.cursor")
	w.call(http.MethodGet, "/api/v1/tasks?ticket_id=1", nil).refused(422, "query.ticket_id")
	require.Equal(t, http.StatusOK, w.call(http.MethodGet, "/api/v1/tasks?ticket_id=", nil).status, "an empty filter is none")
	w.call(http.MethodGet, "/api/v1/tasks?id=%25%25%25%25", nil).refused(422, "query.id")
}

func TestUnknownIDs_AreNotFound(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, id := range []string{"01890a5d-ac96-774b-bcce-b302099a8057", "7", "%00", strings.Repeat("x", 300)} {
		for _, path := range []string{"/tasks/" + id, "/tasks/" + id + "/events", "/tasks/" + id + "/diff", "/tasks/" + id + "/dependencies", "/commands/" + id, "/projects/" + id, "/tickets/" + id} {
			w.call(http.MethodGet, "/api/v1"+path, nil).refused(http.StatusNotFound, "")
		}
		w.call(http.MethodPost, "/api/v1/tasks/"+id+"/cancel", nil).refused(http.StatusNotFound, "")
	}
	w.call(http.MethodGet, "/api/v1/nothing", nil).refused(http.StatusNotFound, "")
	w.call(http.MethodPut, "/api/v1/tasks", nil).refused(http.StatusMethodNotAllowed, "")
}

func TestUpdateTask_ChangesWhatStillApplies(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	path := "/api/v1/tasks/" + made.ID
	changed := ok[client.Task](w.call(http.MethodPatch, path, `{"title":"b","description":"c","priority":"HIGH"}`),
		http.StatusOK)
	require.Equal(t, []string{"b", "c", "HIGH"}, []string{changed.Title, changed.Description, changed.Priority})
	w.call(http.MethodPatch, path, `{"title":""}`).refused(422, "body.title")
	w.call(http.MethodPatch, path, `{"priority":"x"}`).refused(422, "body.priority")
	w.call(http.MethodPatch, path, `{"status":"completed"}`).refused(422, "body.status")
	w.call(http.MethodPatch, path, `{"task_type":"a b"}`).refused(422, "body.task_type")
	w.call(http.MethodPatch, path, `{"phase_id":""}`).refused(422, "body.phase_id")
	typed := ok[client.Task](w.call(http.MethodPatch, path, `{"task_type":"research","phase_id":"PHASE_DESIGN","agent":null}`), http.StatusOK)
	require.Equal(t, []string{"research", "PHASE_DESIGN", made.Mode}, []string{typed.TaskType, typed.PhaseID, typed.Mode})
	for _, field := range []string{"repo", "agent", "provider", "max_retries", "execution_config", "budget", "dependencies"} {
		w.call(http.MethodPatch, path, `{"`+field+`":{}}`).refused(http.StatusConflict, "body."+field)
	}
	w.begin(made)
	w.call(http.MethodPatch, path, `{"description":"d"}`).refused(http.StatusConflict, "body.description")
	w.call(http.MethodPatch, path, `{"task_type":"d"}`).refused(http.StatusConflict, "body.task_type")
	require.Equal(t, "e", ok[client.Task](w.call(http.MethodPatch, path, `{"title":"e"}`), http.StatusOK).Title)
}

func TestDiff_RequiresABranch(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.repos.diff = "--- a/x\n+++ b/x\n"
	made := w.task(newTask())
	w.call(http.MethodGet, "/api/v1/tasks/"+made.ID+"/diff", nil).refused(http.StatusNotFound, "")
	w.exec(`UPDATE tasks SET branch_name = 'feature/x', base_commit = 'abc' WHERE id = $1`, made.ID)
	res := w.call(http.MethodGet, "/api/v1/tasks/"+made.ID+"/diff", nil)
	require.Equal(t, http.StatusOK, res.status)
	require.Equal(t, w.repos.diff, string(res.body))
	require.Contains(t, res.header.Get("Content-Type"), "text/plain")
}
