package api_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// operation holds what this test reads from the OpenAPI document.
type operation struct {
	Parameters []struct {
		Name   string `json:"name"`
		In     string `json:"in"`
		Schema struct {
			Type any `json:"type"`
		} `json:"schema"`
	} `json:"parameters"`
}

// routes calls do with every operation, with a valid path.
func routes(t *testing.T, do func(method, path string, op operation)) {
	t.Helper()
	content, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	var doc struct {
		Paths map[string]map[string]operation `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(content, &doc))
	values := strings.NewReplacer("{", "", "}", "")
	for path, methods := range doc.Paths {
		for method, op := range methods {
			do(strings.ToUpper(method), values.Replace(path), op)
		}
	}
	do(http.MethodGet, "/api/v1/ws/events", operation{})
	do(http.MethodGet, "/api/v1/openapi.json", operation{})
	do(http.MethodGet, "/", operation{})
}

// isLegacy reports whether WIRE.md allows unknown fields in requests of a route.
func isLegacy(path string) bool {
	for _, prefix := range []string{"/api/v1/sandboxes/", "/api/v1/branch-workflow/", "/api/v1/monitor/", "/api/v1/guardian/intervention/", "/api/v1/guardian/actions", "/legacy/"} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

func TestQuery_RejectsUnknownParameters(t *testing.T) {
	t.Parallel()
	w := open(t)
	routes(t, func(method, path string, _ operation) {
		if strings.HasSuffix(path, "/stream") && isLegacy(path) {
			return // the response would be a stream
		}
		got := w.call(method, path+"?state_=x", "{}")
		if !isLegacy(path) {
			p := got.refused(http.StatusUnprocessableEntity, "query.state_")
			require.Contains(t, p.Detail, `"state_"`, "%s %s", method, path)
			return
		}
		require.NotContains(t, string(got.body), "state_", "%s %s: legacy clients may send what they like", method, path)
	})
	p := w.call(http.MethodGet, "/api/v1/tickets?projectid=x", nil).refused(http.StatusUnprocessableEntity,
		"query.projectid")
	require.Equal(t, `Unknown query parameter "projectid": this route accepts cursor, limit, project_id.`, p.Detail)
	w.call(http.MethodGet, "/api/v1/tasks?status=pending;limit=1", nil).refused(http.StatusUnprocessableEntity, "query")
	ok[client.ReceivedEvent](w.call(http.MethodPost, "/api/v1/sandboxes/old-1/events?debug=1",
		`{"event_type":"agent.message"}`), http.StatusOK)
}

func TestQuery_RejectsRepeatedParametersExceptFilters(t *testing.T) {
	t.Parallel()
	w := open(t)
	seen := 0
	routes(t, func(method, path string, op operation) {
		for _, p := range op.Parameters {
			if p.In != "query" || p.Schema.Type == "array" {
				continue
			}
			seen++
			q := url.Values{p.Name: {"1", "2"}}
			w.call(method, path+"?"+q.Encode(), "{}").refused(http.StatusUnprocessableEntity, "query."+p.Name)
		}
	})
	require.Greater(t, seen, 40)
	w.call(http.MethodGet, "/api/v1/tasks?status=&status=pending", nil).
		refused(http.StatusUnprocessableEntity, "query.status")
	w.call(http.MethodGet, "/api/v1/tasks?status=pending&status=nonsense", nil).
		refused(http.StatusUnprocessableEntity, "query.status")
	w.call(http.MethodGet, "/api/v1/ws/events?token=a&token=b", nil).refused(http.StatusUnprocessableEntity, "query.token")
}

func TestQuery_RepeatedFiltersAreLists(t *testing.T) {
	t.Parallel()
	w := open(t)
	var made []client.Task
	for _, status := range []task.Status{task.StatusPending, task.StatusRunning, task.StatusCompleted} {
		one := w.task(newTask())
		w.exec(`UPDATE tasks SET status = $2 WHERE id = $1`, one.ID, string(status))
		made = append(made, one)
	}
	ids := func(path string) (found []string) {
		for _, one := range ok[client.Page[client.Task]](w.call(http.MethodGet, path, nil), http.StatusOK).Items {
			found = append(found, one.ID)
		}
		return found
	}
	require.ElementsMatch(t, []string{made[0].ID, made[2].ID}, ids("/api/v1/tasks?status=pending&status=completed"))
	require.ElementsMatch(t, []string{made[1].ID}, ids("/api/v1/tasks?status=running"))
	require.Len(t, ids("/api/v1/tasks?status="), len(made))
	require.ElementsMatch(t, []string{made[0].ID, made[1].ID}, ids("/api/v1/tasks?id="+made[0].ID[:13]+"&id="+made[1].ID))
	require.ElementsMatch(t, []string{made[0].ID, made[1].ID},
		ids("/api/v1/tasks?ticket_id="+made[0].TicketID+"&ticket_id="+made[1].TicketID))
	box := w.begin(made[0])
	w.begin(made[1])
	boxes := ok[client.Page[client.Sandbox]](w.call(http.MethodGet,
		"/api/v1/sandboxes?task_id="+made[0].ID+"&task_id="+made[2].ID+"&state=running&state=gone", nil), http.StatusOK).Items
	require.Len(t, boxes, 1)
	require.Equal(t, box, boxes[0].ID)
	for _, path := range []string{"diagnoses", "guardian/analyses", "guardian/interventions", "conductor/duplicates"} {
		ok[json.RawMessage](w.call(http.MethodGet, "/api/v1/"+path+"?task_id="+made[0].ID+"&task_id="+made[1].ID, nil),
			http.StatusOK)
	}
	ok[json.RawMessage](w.call(http.MethodGet,
		"/api/v1/guardian/actions?action_type=cancel_task&action_type=override_priority", nil), http.StatusOK)
	ok[json.RawMessage](w.call(http.MethodGet,
		"/api/v1/tickets?project_id="+made[0].ProjectID+"&project_id="+made[1].ID, nil), http.StatusOK)
}
