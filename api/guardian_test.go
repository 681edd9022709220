package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/task"
)

// schedules is a Temporal that records its calls.
type schedules struct {
	absent bool
	paused bool
	note   string
	runs   int
}

func (s *schedules) Schedule(_ context.Context, id string) (client.Schedule, error) {
	return client.Schedule{ID: id, Exists: !s.absent, Paused: s.paused, Note: s.note, Running: []string{}, Recent: []client.ScheduleRun{}}, nil
}

func (s *schedules) TriggerSchedule(_ context.Context, id string) error {
	if id == "omoi-guardian" {
		s.runs++
	}
	return nil
}

func (s *schedules) HoldSchedule(_ context.Context, _, note string) error {
	s.paused, s.note = true, note
	return nil
}

func (s *schedules) ResumeSchedule(_ context.Context, _, note string) error {
	s.paused, s.note = false, note
	return nil
}

// loops makes an agent call the same tool again and again.
func (w *world) loops(box string) {
	w.t.Helper()
	w.exec(`INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, event_data)
		SELECT s.id, n, s.partition_month, CASE WHEN n % 2 = 1 THEN 'agent.tool_use' ELSE 'agent.tool_result' END,
			CASE WHEN n % 2 = 1 THEN jsonb_build_object('tool', 'Bash', 'tool_use_id', 'c' || n, 'input', '{"command": "make"}'::jsonb)
				ELSE jsonb_build_object('tool', 'Bash', 'tool_use_id', 'c' || n - 1, 'result', 'no rule') END
		FROM sandboxes s, generate_series(1, 30) n WHERE s.id = $1`, box)
	w.exec(`UPDATE sandboxes SET last_sequence = 30 WHERE id = $1`, box)
}

// foreigner returns a key of another organization, with every scope.
func (w *world) foreigner() string {
	w.t.Helper()
	other := task.NewID()
	w.exec(`INSERT INTO organizations (id, name) VALUES ($1, 'other')`, other)
	return w.key(other, "admin")
}

const guardianRoutes, monitorRoutes = "/api/v1/guardian", "/api/v1/monitor/intelligent"

func TestAuthority_FollowsTheScope(t *testing.T) {
	t.Parallel()
	w := closed(t)
	admin, write, stranger := w.key(w.org, "admin"), w.key(w.org, "write"), w.foreigner()
	made := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, write), http.StatusCreated)
	w.begin(made)
	const route = guardianRoutes + "/intervention/cancel-task"
	body := func(more string) string {
		return `{"task_id": "` + made.ID + `", "reason": "it digs for coins", "initiated_by": "the chief", "unknown": 1` + more + `}`
	}
	w.call(http.MethodPost, route, body(`, "authority": 5`), authorization, write).refused(http.StatusForbidden, "")
	w.call(http.MethodPost, route, body(`, "authority": 3`), authorization, admin).refused(http.StatusForbidden, "")
	w.call(http.MethodPost, route, body(`, "authority": 6`), authorization, admin).
		refused(http.StatusUnprocessableEntity, "body.authority")
	w.call(http.MethodPost, route, body(``), authorization, stranger).refused(http.StatusNotFound, "")
	w.call(http.MethodPost, route, `{"task_id": "`+made.ID+`"}`, authorization, admin).
		refused(http.StatusUnprocessableEntity, "body.reason")
	require.Zero(t, w.count(`SELECT count(*) FROM guardian_actions`))

	done := ok[client.GuardianAction](w.call(http.MethodPost, route, body(`, "authority": 5`), authorization, admin),
		http.StatusOK)
	require.Equal(t, "cancel_task", done.Type)
	require.Equal(t, guardian.AuthorityGuardian, done.Authority, "asking for more gives no more")
	require.Equal(t, "GUARDIAN", done.AuthorityName)
	require.NotContains(t, done.InitiatedBy, "chief")
	var audit map[string]any
	require.NoError(t, json.Unmarshal(done.Audit, &audit))
	require.Equal(t, "the chief", audit["claimed_to_be"])
	require.Equal(t, "running", audit["old_status"])
	require.Equal(t, map[string]any{"status": "running"}, only(audit["before"], "status"))
	require.Equal(t, map[string]any{"status": "failed"}, only(audit["after"], "status"))
	require.Equal(t, 1, w.count(`SELECT count(*) FROM commands WHERE kind = 'fail' AND args ->> 'reason' = 'EMERGENCY CANCELLATION: it digs for coins'`))
	require.Equal(t, 1, w.count(
		`SELECT count(*) FROM bus_events WHERE event_type = 'guardian.intervention.started' AND entity_id = $1`, done.ID,
	))

	require.Len(t, ok[[]client.GuardianAction](
		w.call(http.MethodGet, guardianRoutes+"/actions", nil, authorization, write), http.StatusOK,
	), 1)
	require.Empty(t, ok[[]client.GuardianAction](
		w.call(http.MethodGet, guardianRoutes+"/actions?action_type=reallocate_capacity", nil, authorization, write),
		http.StatusOK,
	))
	require.Empty(t, ok[[]client.GuardianAction](
		w.call(http.MethodGet, guardianRoutes+"/actions", nil, authorization, stranger), http.StatusOK,
	))
	w.call(http.MethodGet, guardianRoutes+"/actions/"+done.ID, nil, authorization, stranger).
		refused(http.StatusNotFound, "")
	ok[client.GuardianAction](w.call(http.MethodGet, guardianRoutes+"/actions/"+done.ID, nil, authorization, write),
		http.StatusOK)
}

func only(of any, key string) map[string]any {
	all, _ := of.(map[string]any)
	return map[string]any{key: all[key]}
}

func TestRevertCancel_RetriesOnce(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	w.begin(made)
	done := ok[client.GuardianAction](w.call(http.MethodPost, guardianRoutes+"/intervention/cancel-task",
		`{"task_id": "`+made.ID+`", "reason": "now", "authority": 4}`), http.StatusOK)
	revert := guardianRoutes + "/actions/" + done.ID + "/revert"
	w.call(http.MethodPost, revert, `{"reason": "no, go on"}`).refused(http.StatusConflict, "")
	w.end(made, task.StatusFailed)
	w.exec(`UPDATE commands SET state = 'carried_out' WHERE kind = 'fail'`)
	reverted := ok[client.RevertedAction](w.call(http.MethodPost, revert, `{"reason": "no, go on", "initiated_by": "me"}`),
		http.StatusOK)
	require.True(t, reverted.Reverted)
	stored := ok[[]client.GuardianAction](w.call(http.MethodGet, guardianRoutes+"/actions", nil), http.StatusOK)
	audit, keys := client.ActionAudit{}, json.NewDecoder(bytes.NewReader(stored[0].Audit))
	keys.DisallowUnknownFields()
	require.NoError(t, keys.Decode(&audit), "the document names each key")
	require.Equal(t, "me", audit.RevertClaimedBy)
	require.NotEmpty(t, reverted.Items)
	require.NotEmpty(t, reverted.NotReverted, "the attempt that was ended does not go on")
	require.Equal(t, 1, w.count(`SELECT count(*) FROM commands WHERE kind = 'retry'`))
	w.call(http.MethodPost, revert, `{"reason": "again"}`).refused(http.StatusNotFound, "")
	w.call(http.MethodPost, guardianRoutes+"/intervention/cancel-task", `{"task_id": "`+made.ID+`", "reason": "now"}`).
		refused(http.StatusConflict, "")
}

func TestRevertPriority_RestoresThePriority(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	const route = guardianRoutes + "/intervention/override-priority"
	override := func(priority string) client.GuardianAction {
		return ok[client.GuardianAction](w.call(http.MethodPost, route,
			`{"task_id": "`+made.ID+`", "new_priority": "`+priority+`", "reason": "r"}`), http.StatusOK)
	}
	w.call(http.MethodPost, route, `{"task_id": "`+made.ID+`", "new_priority": "soon", "reason": "r"}`).
		refused(http.StatusBadRequest, "")
	first, priority := override("critical"), func() string {
		return ok[client.Task](w.call(http.MethodGet, "/api/v1/tasks/"+made.ID, nil), http.StatusOK).Priority
	}
	require.Equal(t, "CRITICAL", priority())
	second := override("low")
	revert := func(id string) client.RevertedAction {
		return ok[client.RevertedAction](w.call(http.MethodPost, guardianRoutes+"/actions/"+id+"/revert", `{"reason": "r"}`),
			http.StatusOK)
	}
	require.Empty(t, revert(first.ID).Items, "it says something else by now")
	require.Equal(t, "LOW", priority())
	require.NotEmpty(t, revert(second.ID).Items)
	require.Equal(t, "CRITICAL", priority())
}

func TestRevertCapacity_MovesItBack(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	box := w.begin(made)
	other := ok[client.Project](w.call(http.MethodPost, "/api/v1/projects", client.CreateProjectRequest{Name: "other"}),
		http.StatusCreated)
	move := func(n string) answer {
		return w.call(http.MethodPost, guardianRoutes+"/intervention/reallocate",
			`{"from_agent_id": "`+box+`", "to_agent_id": "`+other.ID+`", "reason": "r", "capacity": `+n+`}`)
	}
	slots := func() []int {
		return []int{
			w.count(`SELECT max_slots FROM projects WHERE id = $1`, made.ProjectID),
			w.count(`SELECT max_slots FROM projects WHERE id = $1`, other.ID),
		}
	}
	before := slots()
	move("0").refused(http.StatusUnprocessableEntity, "body.capacity")
	move("900").refused(http.StatusBadRequest, "")
	done := ok[client.GuardianAction](move("2"), http.StatusOK)
	require.Equal(t, []int{before[0] - 2, before[1] + 2}, slots())
	ok[client.RevertedAction](w.call(http.MethodPost, guardianRoutes+"/actions/"+done.ID+"/revert", `{"reason": "r"}`),
		http.StatusOK)
	require.Equal(t, before, slots())
}

func TestMonitor_ShowsActiveAgentsOfTheOrganization(t *testing.T) {
	t.Parallel()
	w := closed(t)
	mine, stranger := w.key(w.org, "write"), w.foreigner()
	made := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, mine), http.StatusCreated)
	box := w.begin(made)
	health := func(key string) client.MonitorHealth {
		return ok[client.MonitorHealth](w.call(http.MethodGet, monitorRoutes+"/health", nil, authorization, key),
			http.StatusOK)
	}
	require.Equal(t, "no_activity", health(stranger).Health)
	require.Equal(t, "unknown", health(mine).Health, "an agent without analysis is not healthy")
	require.Nil(t, health(mine).Alignment)

	analyze := monitorRoutes + "/analyze/"
	w.call(http.MethodPost, analyze+box, nil, authorization, stranger).refused(http.StatusNotFound, "")
	w.call(http.MethodPost, analyze+"nobody", nil, authorization, mine).refused(http.StatusNotFound, "")
	said := ok[client.AgentAnalysis](w.call(http.MethodPost, analyze+box, nil, authorization, mine), http.StatusOK)
	require.Equal(t, []any{"unknown", "none", box}, []any{said.Verdict, said.Source, said.AgentID})
	require.Nil(t, said.Aligned)
	w.loops(box)
	said = ok[client.AgentAnalysis](w.call(http.MethodPost, analyze+made.ID+"?force=true", nil, authorization, mine),
		http.StatusOK)
	require.True(t, said.NeedsSteering)
	require.Equal(t, "guidance", *said.SteeringType)
	require.NotEmpty(t, *said.Recommendation)
	require.NotEmpty(t, said.Evidence)
	require.Equal(t, 1, health(mine).NeedSteering)
	require.Equal(t, map[string]int{"guidance": 1}, health(mine).SteeringTypes)
	require.Equal(t, "critical", health(mine).Health)
	require.Zero(t, health(mine).RecentDuplicates)

	several := ok[client.EmergencyAnalysis](w.call(http.MethodPost, monitorRoutes+"/emergency", []string{box, "nobody"},
		authorization, mine), http.StatusOK)
	require.Len(t, several.Analyses, 1)
	require.Contains(t, several.Failed, "nobody")

	status := func(key string) client.SandboxesStatus {
		return ok[client.SandboxesStatus](w.call(http.MethodGet, "/api/v1/sandboxes/monitoring/status", nil,
			authorization, key), http.StatusOK)
	}
	require.Equal(t, 1, status(mine).Active)
	require.Equal(t, box, status(mine).Sandboxes[0].SandboxID)
	require.Equal(t, box, status(mine).Sandboxes[0].Activity.SandboxID)
	require.Empty(t, status(stranger).Sandboxes)

	stored := ok[client.Page[client.GuardianAnalysis]](
		w.call(http.MethodGet, guardianRoutes+"/analyses", nil, authorization, mine), http.StatusOK,
	).Items[0]
	require.Contains(t, string(stored.Rules), `"poll_pause_seconds":15,"poll_limit_seconds":1800,`)
	require.NotContains(t, string(stored.Rules), "PollPause")
	for _, kind := range []string{"/analyses", "/interventions"} {
		require.NotEmpty(t, ok[client.Page[map[string]any]](
			w.call(http.MethodGet, guardianRoutes+kind+"?task_id="+made.ID, nil, authorization, mine), http.StatusOK,
		).Items, kind)
		require.Empty(t, ok[client.Page[map[string]any]](
			w.call(http.MethodGet, guardianRoutes+kind, nil, authorization, stranger), http.StatusOK,
		).Items, kind)
		w.call(http.MethodGet, guardianRoutes+kind+"?task_id=x", nil, authorization, mine).
			refused(http.StatusUnprocessableEntity, "query.task_id")
	}
}

func TestRevertMessage_BeforeItsDelivery(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	box := w.begin(made)
	w.loops(box)
	ok[client.Project](w.call(http.MethodPatch, "/api/v1/projects/"+made.ProjectID,
		client.UpdateProjectRequest{AutoSteering: client.Choose(true)}), http.StatusOK)
	ok[client.AgentAnalysis](w.call(http.MethodPost, monitorRoutes+"/analyze/"+box, nil), http.StatusOK)
	boxes := ok[client.Page[client.Sandbox]](w.call(http.MethodGet, "/api/v1/sandboxes", nil), http.StatusOK).Items
	require.Equal(t, []string{made.Key, made.Key}, []string{
		boxes[0].TaskKey, ok[client.Sandbox](w.call(http.MethodGet, "/api/v1/sandboxes/"+box, nil), http.StatusOK).TaskKey,
	})
	list := func() client.Intervention {
		page := ok[client.Page[client.Intervention]](w.call(http.MethodGet, guardianRoutes+"/interventions", nil),
			http.StatusOK)
		require.Len(t, page.Items, 1)
		require.Equal(t, made.Key, page.Items[0].TaskKey)
		return page.Items[0]
	}
	step := list()
	require.Equal(t, []any{guardian.LevelNudge, "sent", "accepted", false},
		[]any{step.Level, step.State, step.MessageState, step.Shadow})
	withdraw := guardianRoutes + "/interventions/" + step.ID + "/withdraw"
	ok[client.Intervention](w.call(http.MethodPost, withdraw, nil), http.StatusOK)
	require.Equal(t, []any{"withdrawn", "expired"}, []any{list().State, list().MessageState})
	require.Empty(t,
		ok[[]client.LeasedMessage](w.call(http.MethodGet, "/api/v1/sandboxes/"+box+"/messages", nil), http.StatusOK),
		"the message is not delivered")
	w.call(http.MethodPost, withdraw, nil).refused(http.StatusConflict, "")

	w.exec(`UPDATE interventions SET state = 'sent'`)
	w.exec(`UPDATE messages SET state = 'delivered'`)
	w.call(http.MethodPost, withdraw, nil).refused(http.StatusConflict, "")
}

func TestAutoSteering_ResetsToTheDefault(t *testing.T) {
	t.Parallel()
	w := open(t)
	path := "/api/v1/projects/" + w.task(newTask()).ProjectID
	patch := func(body string) *bool {
		return ok[client.Project](w.call(http.MethodPatch, path, body), http.StatusOK).AutoSteering
	}
	require.Nil(t, patch(`{"paused": false}`))
	require.True(t, *patch(`{"auto_steering": true}`))
	require.True(t, *patch(`{"paused": false}`), "what is not named stays")
	require.Nil(t, patch(`{"auto_steering": null}`))
	require.False(t, *patch(`{"auto_steering": false}`))
	w.call(http.MethodPatch, path, `{"auto_steering": "default"}`).
		refused(http.StatusUnprocessableEntity, "body.auto_steering")
}

func TestGuardianSchedule_RequiresAdmin(t *testing.T) {
	t.Parallel()
	w := closed(t)
	admin, read := w.key(w.org, "admin"), w.key(w.org, "read")
	const route = "/api/v1/schedules/guardian"
	w.call(http.MethodPost, route+"/pause", nil, authorization, w.key(w.org, "write")).refused(http.StatusForbidden, "")
	paused := ok[client.Schedule](w.call(http.MethodPost, route+"/pause", client.ReasonRequest{Reason: "holidays"},
		authorization, admin), http.StatusOK)
	require.True(t, paused.Paused)
	require.Regexp(t, "^paused by .*: holidays$", paused.Note)
	w.exec(`INSERT INTO guardian_cycles (id, active, judged) VALUES ('c', 3, 3)`)
	require.Equal(t, 3, ok[client.MonitorStatus](
		w.call(http.MethodGet, monitorRoutes+"/status", nil, authorization, admin), http.StatusOK,
	).LastCycle.Analyzed)
	status := ok[client.MonitorStatus](w.call(http.MethodGet, monitorRoutes+"/status", nil, authorization, read),
		http.StatusOK)
	require.Nil(t, status.LastCycle, "it counts the agents of all organizations")
	require.Equal(t, int64(1), status.Metrics.TotalCycles)
	require.False(t, status.Running)
	require.False(t, status.PausedIdle)
	require.False(t, status.Conductor.Running)
	require.False(t,
		ok[client.Schedule](w.call(http.MethodPost, route+"/resume", nil, authorization, admin), http.StatusOK).Paused)
	ok[client.Schedule](w.call(http.MethodPost, route+"/run", nil, authorization, admin), http.StatusOK)
	require.Equal(t, 1, w.schedules.runs)
	require.True(t, ok[client.Schedule](w.call(http.MethodGet, route, nil, authorization, read), http.StatusOK).Exists)
	require.False(t, paused.PausedIdle, "a user paused the schedule")
	w.schedules.paused, w.schedules.note = true, contract.NoteIdle
	require.True(t, ok[client.Schedule](w.call(http.MethodGet, route, nil, authorization, read), http.StatusOK).PausedIdle)
	require.True(t, ok[client.MonitorStatus](w.call(http.MethodGet, monitorRoutes+"/status", nil, authorization, read), http.StatusOK).PausedIdle)
	w.schedules.absent = true
	w.call(http.MethodPost, route+"/run", nil, authorization, admin).refused(http.StatusConflict, "")
}
