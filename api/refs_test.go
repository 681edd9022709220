package api_test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// keyed is a project with a ticket and its task.
type keyed struct {
	project client.Project
	ticket  client.Ticket
	task    client.Task
}

func (w *world) keyed(name string) (k keyed) {
	w.t.Helper()
	k.project = ok[client.Project](w.call(http.MethodPost, "/api/v1/projects", client.CreateProjectRequest{Name: name}), http.StatusCreated)
	k.task = w.task(client.CreateTaskRequest{ProjectID: k.project.Key, Title: "Write a file", Agent: "external"})
	require.Equal(w.t, k.project.ID, k.task.ProjectID)
	k.ticket = ok[client.Ticket](w.call(http.MethodGet, "/api/v1/tickets/"+k.task.TicketID, nil), http.StatusOK)
	return k
}

// idIn returns the ID and the key for the {id} in a path.
func (k keyed) idIn(path string) (id, key string) {
	switch {
	case strings.HasPrefix(path, "/api/v1/tasks/"):
		return k.task.ID, k.task.Key
	case strings.HasPrefix(path, "/api/v1/tickets/"):
		return k.ticket.ID, k.ticket.Key
	}
	return k.project.ID, k.project.Key
}

// opens returns the status of a stream, and closes the stream.
func (w *world) opens(path string) int {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.url+path, nil)
	require.NoError(w.t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	require.NoError(w.t, res.Body.Close())
	return res.StatusCode
}

var keyedPath = regexp.MustCompile(`^/api/v1/(tasks|projects|tickets)/\{id\}`)

// Every route with the ID of a task, project or ticket in its path gives the same response to the key, in upper and
// lower case, and 404 to an unknown key.
func TestRoutes_AcceptKeysInTheirPaths(t *testing.T) {
	t.Parallel()
	w := open(t)
	raw, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(raw, &document))
	routes := 0
	for path, methods := range document.Paths {
		if !keyedPath.MatchString(path) {
			continue
		}
		for method := range methods {
			method = strings.ToUpper(method)
			at := func(id string) string {
				at := strings.Replace(path, "{id}", id, 1)
				return regexp.MustCompile(`\{[a-z_]+\}`).ReplaceAllString(at, "1")
			}
			var body any
			if method != http.MethodGet && method != http.MethodDelete {
				body = "{}"
			}
			id, _ := w.keyed("one of " + method + path).idIn(path)
			_, key := w.keyed("two of " + method + path).idIn(path)
			if strings.HasSuffix(path, "/stream") {
				require.Equal(t, http.StatusOK, w.opens(at(strings.ToLower(key))))
			} else {
				want, got := w.call(method, at(id), body), w.call(method, at(strings.ToLower(key)), body)
				require.Equal(t, want.status, got.status, "%s %s: %s", method, path, got.body)
			}
			unknown := regexp.MustCompile(`[0-9]*$`).ReplaceAllString(key, "") + "999"
			w.call(method, at(unknown), body).refused(http.StatusNotFound, "")
			routes++
		}
	}
	require.Greater(t, routes, 30)
}

func TestFilters_AcceptKeys(t *testing.T) {
	t.Parallel()
	w := open(t)
	one, _ := w.keyed("app"), w.keyed("other")
	require.Equal(t, []string{"APP", "APP-1", "APP-T1"}, []string{one.project.Key, one.task.Key, one.ticket.Key})
	for query, key := range map[string]string{
		"/api/v1/tasks?project_id=": "app", "/api/v1/tasks?ticket_id=": "app-t1", "/api/v1/tasks?id=": "app-1", "/api/v1/tickets?project_id=": "APP",
	} {
		page := ok[client.Page[struct{ ID, Key string }]](w.call(http.MethodGet, query+key, nil), http.StatusOK)
		require.Len(t, page.Items, 1, query)
		require.Regexp(t, `^APP-T?1$`, page.Items[0].Key)
		unknown := strings.Replace(strings.ToUpper(key), "APP", "NONE", 1)
		require.Empty(t, ok[client.Page[client.Task]](w.call(http.MethodGet, query+unknown, nil), http.StatusOK).Items, query)
	}
	for _, query := range []string{"/api/v1/sandboxes?task_id=", "/api/v1/diagnoses?task_id=", "/api/v1/guardian/interventions?task_id="} {
		require.Equal(t, http.StatusOK, w.call(http.MethodGet, query+"APP-1", nil).status, query)
		w.call(http.MethodGet, query+"APP", nil).refused(http.StatusUnprocessableEntity, "query.task_id")
	}
}

// A legacy route ignores unknown parameters, also for callers without an organization.
func TestFilters_AreThoseOfTheRoute(t *testing.T) {
	t.Parallel()
	res := closed(t).call(http.MethodGet, "/api/v1/sandboxes/health?task_id=APP-1", nil)
	require.Equal(t, http.StatusOK, res.status, "%s", res.body)
}

func TestBodies_AcceptKeys(t *testing.T) {
	t.Parallel()
	w := open(t)
	one := w.keyed("app")
	second := w.task(client.CreateTaskRequest{
		TicketID: "app-t1", Title: "Another", Agent: "external", DependsOn: &client.DependsOn{TaskIDs: []string{"APP-1"}},
	})
	require.Equal(t, "APP-2", second.Key)
	require.Equal(t, one.ticket.ID, second.TicketID)
	require.Equal(t, []string{one.task.ID}, second.DependsOn.TaskIDs)
	made := ok[client.Ticket](w.call(http.MethodPost, "/api/v1/tickets", `{"project_id":"app","title":"A third","task":{"agent":"external"}}`), http.StatusCreated)
	require.Equal(t, "APP-T2", made.Key)
	on := ok[client.DependsOn](w.call(http.MethodPost, "/api/v1/tasks/APP-3/dependencies", `{"depends_on":["app-2"]}`), http.StatusOK)
	require.Equal(t, []string{second.ID}, on.TaskIDs)
	on = ok[client.DependsOn](w.call(http.MethodDelete, "/api/v1/tasks/APP-3/dependencies?depends_on=app-2", nil), http.StatusOK)
	require.Empty(t, on.TaskIDs)

	for body, field := range map[string]string{
		`{"project_id":"NONE","title":"t","agent":"external"}`: "project_id", `{"ticket_id":"APP-T9","title":"t","agent":"external"}`: "ticket_id",
		`{"project_id":"APP","title":"t","agent":"external","dependencies":{"depends_on":["APP-99"]}}`: "dependencies.depends_on",
	} {
		w.call(http.MethodPost, "/api/v1/tasks", body).refused(http.StatusUnprocessableEntity, "body."+field)
	}
	done := ok[client.GuardianAction](w.call(http.MethodPost, "/api/v1/guardian/intervention/override-priority",
		`{"task_id":"app-2","new_priority":"HIGH","reason":"r","initiated_by":"me"}`), http.StatusOK)
	require.Equal(t, second.ID, done.Target)
	w.keyed("other")
	moved := ok[client.GuardianAction](w.call(http.MethodPost, "/api/v1/guardian/intervention/reallocate",
		`{"from_agent_id":"app","to_agent_id":"OTHER-1","capacity":1,"reason":"r","initiated_by":"me"}`), http.StatusOK)
	require.Equal(t, "reallocate_capacity", moved.Type)
	found := ok[[]client.GuardianAction](w.call(http.MethodGet, "/api/v1/guardian/actions?target_entity=APP-2", nil), http.StatusOK)
	require.Equal(t, second.ID, found[0].Target)
	w.call(http.MethodPut, "/api/v1/credentials/github", `{"scope":"project","project_id":"NONE","secret":"s3cret-of-a-project"}`).
		refused(http.StatusUnprocessableEntity, "body.project_id")
	sandbox := w.begin(second)
	completed := ok[client.TaskCompleted](w.call(http.MethodPost, "/api/v1/sandboxes/"+sandbox+"/task-complete", `{"task_id":"APP-2","success":true}`), http.StatusOK)
	require.Equal(t, task.ReceiptAccepted, completed.Receipt)
}

func TestCreateProject_KeyIsImmutable(t *testing.T) {
	t.Parallel()
	w := open(t)
	const path = "/api/v1/projects"
	made := ok[client.Project](w.call(http.MethodPost, path, `{"name":"one","key":"web"}`), http.StatusCreated)
	require.Equal(t, "WEB", made.Key)
	for _, key := range []string{"W", "2WEB", "WEB-1", "WEBWEBWEBWE", "é2"} {
		w.call(http.MethodPost, path, map[string]string{"name": "two", "key": key}).refused(http.StatusUnprocessableEntity, "body.key")
	}
	taken := w.call(http.MethodPost, path, `{"name":"two","key":"WEB"}`).refused(http.StatusConflict, "")
	require.Equal(t, task.KindNameTaken, taken.Code)
	w.call(http.MethodPatch, path+"/WEB", `{"key":"APP"}`).refused(http.StatusConflict, "")
}

// Another organization may have the same key; the caller's organization decides.
func TestKeys_AreThoseOfTheCallersOrganization(t *testing.T) {
	t.Parallel()
	w := closed(t)
	other, err := w.store.EnsureOrganization(t.Context(), "other")
	require.NoError(t, err)
	for _, org := range []string{w.org, other} {
		made, err := w.store.CreateProject(t.Context(), client.Project{OrganizationID: org, Name: "app"})
		require.NoError(t, err)
		found := w.call(http.MethodGet, "/api/v1/projects/app", nil, authorization, login(t, map[string]any{"org": org}))
		require.Equal(t, made.ID, ok[client.Project](found, http.StatusOK).ID)
	}
}
