package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// once is the execution_config of an agent outside that ends with agent.completed.
const once = `{"continuous":false}`

// external asks for an agent that connects itself, in no machine of ours.
func external(in *apiclient.CreateTaskRequest) {
	in.Agent, in.Provider = task.AgentExternal, task.ProviderExternal
}

// outside makes a task for an agent outside.
func (r *rig) outside(repo string, edit ...func(*apiclient.CreateTaskRequest)) task.Task {
	r.t.Helper()
	return r.submit(repo, json.RawMessage(once), append([]func(*apiclient.CreateTaskRequest){external}, edit...)...)
}

// agent is an agent outside: it numbers what it says and says it until somebody acknowledges.
type agent struct {
	r     *rig
	box   string
	spool string
	apis  []string
	said  []apiclient.CreateEventRequest
}

// agentOf is an agent for the sandbox that a task has or is about to have in an attempt.
func (r *rig) agentOf(taskID string, attempt int) *agent {
	r.t.Helper()
	got := r.until(taskID, sprintf("attempt %d is assigned", attempt), func(t task.Task) bool {
		return t.AttemptCount == attempt && t.SandboxID != nil
	})
	return &agent{r: r, box: text(got.SandboxID), spool: "outside", apis: []string{r.api.BaseURL()}}
}

// newEvent returns one event with its data, a JSON object.
func newEvent(kind string, data ...string) apiclient.CreateEventRequest {
	return apiclient.CreateEventRequest{Type: kind, Data: json.RawMessage(strings.Join(data, ""))}
}

// says sends events in one batch until they are acknowledged.
func (a *agent) says(events ...apiclient.CreateEventRequest) {
	a.r.t.Helper()
	require.True(a.r.t, a.delivers(events...), "the events of %s are not acknowledged", a.box)
}

// delivers sends events in one batch, to one API after the other, until they are
// acknowledged; false if nobody does.
func (a *agent) delivers(events ...apiclient.CreateEventRequest) bool {
	first := len(a.said) + 1
	a.said = append(a.said, events...)
	turn := first
	return waitFor(patience, func() bool {
		turn++
		return a.send(a.apis[turn%len(a.apis)], first, events) >= int64(len(a.said))
	})
}

// send posts a batch; it answers what is acknowledged, zero if nobody answers.
func (a *agent) send(api string, first int, events []apiclient.CreateEventRequest) int64 {
	var got apiclient.EventBatchResult
	batch := apiclient.CreateEventBatchRequest{SpoolID: a.spool, First: int64(first), Events: events}
	if post(api+"/api/v1/sandboxes/"+a.box+"/events/batch", batch, &got) != http.StatusOK {
		return 0
	}
	return got.Acknowledged
}

// posts sends one event without a number, as an old worker does, and answers the status.
func (a *agent) posts(e apiclient.CreateEventRequest) int {
	return post(a.r.api.BaseURL()+"/api/v1/sandboxes/"+a.box+"/events", e, nil)
}

// completes reports in and ends with success.
func (a *agent) completes() {
	a.says(newEvent("agent.started"), newEvent("agent.tool_use", `{"tool":"Bash"}`), newEvent("agent.completed", `{"success":true}`))
}

// post sends JSON; it answers the status, zero if nobody answers.
func post(url string, in, out any) int {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	body, err := json.Marshal(in)
	if err != nil {
		return 0
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return 0
	}
	if out != nil && res.StatusCode < http.StatusBadRequest && json.Unmarshal(raw, out) != nil {
		return 0
	}
	return res.StatusCode
}

// stored counts the events of one type that a sandbox has stored.
func (r *rig) stored(box, kind string) int {
	r.t.Helper()
	return r.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1 AND event_type = $2`, box, kind)
}

// applied waits until everything that a sandbox has said is with its workflow.
func (r *rig) applied(taskID, box string) {
	r.t.Helper()
	r.eventually("what "+box+" said is applied", func() bool {
		head := r.count(`SELECT last_sequence FROM sandboxes WHERE id = $1`, box)
		view := r.view(taskID)
		return view.SandboxID != box || view.Seen >= int64(head)
	})
}

// TestEventsOfAnAgentOutside sends what a sandbox should not, and sees it stored without effect.
func TestEventsOfAnAgentOutside(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	repo := r.repo()
	made, other := r.outside(repo), r.outside(repo)
	a, b := r.agentOf(made.ID, 1), r.agentOf(other.ID, 1)

	// unknown types and out of order: work before the start
	a.says(newEvent("agent.tool_use"), newEvent("never.heard_of", `{"a":1}`), newEvent("agent.started"))
	r.running(made.ID)

	// duplicates: the same numbers again, and one of them with other data
	require.EqualValues(t, 3, a.send(r.api.BaseURL(), 1, a.said))
	require.EqualValues(t, 3, a.send(r.api.BaseURL(), 3, []apiclient.CreateEventRequest{newEvent("agent.completed", `{"success":true}`)}))
	require.Zero(t, r.stored(a.box, "agent.completed"), "a repeated number is a repeat, whatever it carries")
	// a gap is refused
	require.Zero(t, a.send(r.api.BaseURL(), 9, []apiclient.CreateEventRequest{newEvent("agent.completed", `{"success":true}`)}))

	// an event that names another sandbox's task
	a.says(newEvent("agent.error", `{"error":"not mine","task_id":"`+other.ID+`","sandbox_id":"`+b.box+`"}`))
	second := r.agentOf(made.ID, 2)
	require.Equal(t, 1, r.task(other.ID).AttemptCount, "the other task is untouched")
	require.Equal(t, task.StatusAssigned, r.task(other.ID).Status)

	// the sandbox of the first attempt is over: what it still says is stored as late
	a.says(newEvent("agent.completed", `{"success":true}`))
	second.says(newEvent("agent.started"))
	r.running(made.ID)
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1 AND late`, a.box))

	second.says(newEvent("agent.completed", `{"success":true}`))
	ended := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 2, ended.AttemptCount)
	second.says(newEvent("agent.error", `{"error":"after the end"}`), newEvent("agent.started"))
	require.Equal(t, 2, r.count(`SELECT count(*) FROM sandbox_events WHERE sandbox_id = $1 AND late`, second.box))

	// another task runs to its end meanwhile; nothing of the above has moved this one
	b.completes()
	r.ends(other.ID, task.StatusCompleted)
	after := r.task(made.ID)
	require.Equal(t, ended.Status, after.Status)
	require.Equal(t, ended.CompletedAt, after.CompletedAt)
	require.Equal(t, ended.AttemptCount, after.AttemptCount)
	r.noLeaks()
	r.gapless()
}

// TestOldWorker runs a task by single posts without numbers, the form of the replaced system.
func TestOldWorker(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	made := r.outside(r.repo())
	a := r.agentOf(made.ID, 1)
	require.Equal(t, http.StatusOK, a.posts(newEvent("agent.started")))
	r.running(made.ID)
	for range 3 {
		require.Equal(t, http.StatusOK, a.posts(newEvent("agent.tool_use", `{"tool":"Edit"}`)))
	}
	keyed := newEvent("agent.tool_use")
	keyed.ClientEventID = "the same"
	for range 3 {
		require.Equal(t, http.StatusOK, a.posts(keyed))
	}
	require.Equal(t, 4, r.stored(a.box, "agent.tool_use"), "a repeat with its own id is a repeat")
	require.Equal(t, http.StatusOK, a.posts(newEvent("agent.completed", `{"success":true,"final_output":"by hand"}`)))
	got := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 1, got.AttemptCount)
	require.Contains(t, string(got.Result), "by hand")
	r.gapless()
}

// TestFailuresOfAnAgentOutside holds agent.error and an unsuccessful agent.completed to a retry.
func TestFailuresOfAnAgentOutside(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	made := r.outside(r.repo(), retries(2))
	first := r.agentOf(made.ID, 1)
	first.says(newEvent("agent.started"), newEvent("agent.error", `{"error":"it broke"}`))
	second := r.agentOf(made.ID, 2)
	require.NotEqual(t, first.box, second.box)
	second.says(newEvent("agent.started"), newEvent("agent.completed", `{"success":false}`))
	third := r.agentOf(made.ID, 3)
	third.says(newEvent("agent.started"), newEvent("agent.error", `{"error":"once more than allowed"}`))
	got := r.ends(made.ID, task.StatusFailed)
	require.Equal(t, 3, got.AttemptCount)
	require.Equal(t, 2, got.Retries)
	require.Equal(t, task.ClassAgentError, got.FailureClass)
	require.Contains(t, text(got.ErrorMessage), "once more than allowed")
	for _, attempt := range got.Attempts {
		require.Equal(t, task.ClassAgentError, attempt.FailureClass)
	}
	r.noLeaks()
	r.gapless()
}
