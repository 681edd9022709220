package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
)

// TestWebSocket_UsesLegacyNames receives all kinds of bus entries, and compares their names with those of the legacy
// API.
func TestWebSocket_UsesLegacyNames(t *testing.T) {
	t.Parallel()
	w := start(t, quick)
	s := w.socket(t, "").ready()
	made := w.task(newTask())
	waiting := newTask()
	waiting.Repo, waiting.TicketID, waiting.DependsOn = "", made.TicketID, &client.DependsOn{TaskIDs: []string{made.ID}}
	next := w.task(waiting)
	run := []struct {
		sql   string
		args  []any
		names []string
	}{
		{"", nil, []string{"TICKET_CREATED", "TASK_CREATED", "TASK_CREATED"}},
		{`INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider) VALUES ('one', $1, $2, 1, 'local'), ('two', $1, $2, 2, 'local')`, []any{w.org, made.ID}, nil},
		{`INSERT INTO attempts (task_id, number, sandbox_id, run_id, ordinal) VALUES ($1, 1, 'one', 'r', 1), ($1, 2, 'two', 'r', 2)`, []any{made.ID}, nil},
		{
			`UPDATE attempts SET ended_at = now(), outcome = 'failed', reason = 'no disk' WHERE sandbox_id = 'one'`, nil,
			[]string{"sandbox.failed"},
		},
		{`UPDATE sandboxes SET state = 'running' WHERE id = 'two'`, nil, []string{"sandbox.spawned", "SANDBOX_SPAWNED"}},
		{
			`UPDATE tasks SET status = 'assigned' WHERE id = $1`,
			[]any{made.ID},
			[]string{"TASK_ASSIGNED", "TASK_STATUS_CHANGED", "TICKET_STATUS_CHANGED"},
		},
		{
			`UPDATE tasks SET status = 'running' WHERE id = $1`, []any{made.ID}, []string{"TASK_STARTED", "TASK_STATUS_CHANGED"},
		},
		{
			`UPDATE tasks SET status = 'pending_validation' WHERE id = $1`,
			[]any{made.ID},
			[]string{"TASK_VALIDATION_REQUESTED", "TASK_STATUS_CHANGED", "TICKET_STATUS_CHANGED"},
		},
		{
			`UPDATE tasks SET status = 'needs_revision', result = '{"validation_iteration":1,"validation_passed":false}' WHERE id = $1`,
			[]any{made.ID},
			[]string{"TASK_VALIDATION_FAILED", "TASK_STATUS_CHANGED", "TICKET_STATUS_CHANGED"},
		},
		{
			`UPDATE attempts SET ended_at = now(), outcome = 'failed', stop_reason = 'idle_timeout' WHERE sandbox_id = 'two'`,
			nil,
			[]string{"SANDBOX_TERMINATED_IDLE"},
		},
		{`UPDATE sandboxes SET state = 'gone' WHERE id = 'two'`, nil, []string{"sandbox.terminated"}},
		{
			`UPDATE tasks SET status = 'completed', result = '{"validation_iteration":2,"validation_passed":true}' WHERE id = $1`,
			[]any{made.ID},
			[]string{"TASK_VALIDATION_PASSED", "TASK_COMPLETED", "TASK_STATUS_CHANGED", "TASKS_UNBLOCKED"},
		},
		{`UPDATE tasks SET status = 'failed' WHERE id = $1`, []any{next.ID}, []string{"TASK_FAILED", "TASK_STATUS_CHANGED"}},
		{
			`UPDATE tasks SET status = 'cancelled' WHERE id = $1`,
			[]any{next.ID},
			[]string{"TASK_CANCELLED", "TASK_STATUS_CHANGED", "TICKET_STATUS_CHANGED"},
		},
	}
	told := map[string]map[string]any{}
	for _, step := range run {
		if step.sql != "" {
			w.exec(step.sql, step.args...)
		}
		var names []string
		for range step.names {
			got := s.next()
			names = append(names, got["event_type"].(string))
			told[got["event_type"].(string)] = got
		}
		require.ElementsMatch(t, step.names, names, step.sql)
	}
	require.Equal(t, map[string]any{"sandbox_id": "one", "task_id": made.ID, "error": "no disk"},
		told["sandbox.failed"]["payload"])
	require.Equal(t, map[string]any{
		"sandbox_id": "two", "task_id": made.ID, "provider": "local", "agent_id": "two", "ticket_id": made.TicketID,
		"phase_id": made.PhaseID,
	}, told["sandbox.spawned"]["payload"])
	require.Equal(t, map[string]any{"completed_task_id": made.ID, "unblocked_task_ids": []any{next.ID}, "sandbox_id": nil},
		told["TASKS_UNBLOCKED"]["payload"])
	require.Equal(t, map[string]any{
		"ticket_id": made.TicketID, "project_id": made.ProjectID, "phase_id": made.PhaseID, "priority": made.Priority,
		"status": "done", "old_status": "building",
	}, told["TICKET_STATUS_CHANGED"]["payload"])
	require.Equal(t, []any{"ticket", made.TicketID},
		[]any{told["TICKET_CREATED"]["entity_type"], told["TICKET_CREATED"]["entity_id"]})
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+"two/events", `{"event_type":"agent.started"}`), http.StatusOK)
	require.Equal(t, "SANDBOX_agent.started", s.next()["event_type"])
}
