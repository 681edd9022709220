package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
)

// patient configures waits that end by facts only.
func patient(c *api.Config) {
	c.Open, c.CommandWait, c.MaxWait, c.PollEvery, c.CommandPoll = true, time.Minute, time.Minute, time.Minute, time.Minute
}

const wire = "/api/v1/sandboxes/"

func TestPostEvent_KeepsLegacyForm(t *testing.T) {
	t.Parallel()
	w := open(t)
	path := wire + "Box-1/events"
	res := w.call(http.MethodPost, path,
		`{"event_type":"agent.tool_use","event_data":{"a":[1,{"b":null}]},"source":"worker","extra":1}`)
	got := ok[map[string]any](res, http.StatusOK)
	require.Equal(t, []any{"received", "Box-1", "agent.tool_use", "Box-1:1"},
		[]any{got["status"], got["sandbox_id"], got["event_type"], got["event_id"]})
	require.Len(t, got, 5)
	_, err := time.Parse(time.RFC3339Nano, got["timestamp"].(string))
	require.NoError(t, err)
	ok[map[string]any](w.call(http.MethodPost, path, `{"event_type":"heartbeat"}`), http.StatusOK)

	page := ok[map[string]any](w.call(http.MethodGet, path, nil), http.StatusOK)
	require.EqualValues(t, 2, page["total_count"])
	require.Equal(t, "Box-1", page["sandbox_id"])
	events := page["events"].([]any)
	newest, oldest := events[0].(map[string]any), events[1].(map[string]any)
	require.Equal(t, "heartbeat", newest["event_type"], "newest first")
	require.Equal(t, map[string]any{}, newest["event_data"])
	require.Equal(t, "agent", newest["source"])
	require.Len(t, oldest, 6)
	require.Equal(t, map[string]any{"a": []any{1.0, map[string]any{"b": nil}}}, oldest["event_data"])
	filtered := ok[client.SandboxEvents](w.call(http.MethodGet, path+"?event_type=heartbeat&limit=1&offset=0", nil),
		http.StatusOK)
	require.EqualValues(t, 1, filtered.TotalCount)
	empty := w.call(http.MethodGet, wire+"never-seen/events", nil)
	require.JSONEq(t, `{"events":[],"total_count":0,"sandbox_id":"never-seen"}`, string(empty.body))
}

func TestPostEvent_RepeatWithKeyIsDeduplicated(t *testing.T) {
	t.Parallel()
	w := open(t)
	path := wire + "b/events"
	post := func(body string, headers ...string) string {
		return *ok[client.ReceivedEvent](w.call(http.MethodPost, path, body, headers...), http.StatusOK).EventID
	}
	const plain, keyed = `{"event_type":"x"}`, `{"event_type":"x","client_event_id":"k2"}`
	require.Equal(t, post(plain, "Idempotency-Key", "k1"), post(plain, "Idempotency-Key", "k1"))
	require.Equal(t, post(keyed), post(keyed))
	require.NotEqual(t, post(plain), post(plain))
	require.Equal(t, 4, w.count(`SELECT count(*) FROM sandbox_events`))
}

func TestPostEvent_RejectsInvalidEvents(t *testing.T) {
	t.Parallel()
	w := open(t)
	path := wire + "b/events"
	w.call(http.MethodPost, path, `{}`).refused(422, "body.event_type")
	w.call(http.MethodPost, path, `{"event_type":7}`).refused(422, "body.event_type")
	w.call(http.MethodPost, path, `{"event_type":"x","source":"moon"}`).refused(422, "body.source")
	w.call(http.MethodPost, path, `{"event_type":"x","event_data":[]}`).refused(422, "body.event_data")
	w.call(http.MethodPost, path, "{\"event_type\":\"x\",\"event_data\":{\"a\":\"\xff\"}}").refused(422, "body.event_data")
	w.call(http.MethodPost, path, `{"event_type":`).refused(422, "")
	w.call(http.MethodPost, wire+strings.Repeat("x", 101)+"/events", `{"event_type":"x"}`).refused(422, "path.sandbox_id")
	w.call(http.MethodPost, path, `{"event_type":"x","event_data":{"a":"`+strings.Repeat("a", 12<<20)+`"}}`).
		refused(413, "")
	w.call(http.MethodGet, path+"?limit=501", nil).refused(422, "query.limit")
	w.call(http.MethodGet, path+"?offset=-1", nil).refused(422, "query.offset")
	require.Zero(t, w.count(`SELECT count(*) FROM sandbox_events`))
}

// An invalid sandbox ID is rejected before any lookup, and no sandbox is created.
func TestSandboxID_InvalidIsRejected(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, id := range []string{"a%00b", "a%0Ab", "a%7Fb", "a%FFb", strings.Repeat("x", 101)} {
		for _, route := range []string{"/events", "/trajectory", "/integrity", "/phase-status", "/task", "/messages", "/stream", ""} {
			w.call(http.MethodGet, wire+id+route, nil).refused(422, "path.sandbox_id")
		}
		w.call(http.MethodPost, wire+id+"/events", `{"event_type":"x"}`).refused(422, "path.sandbox_id")
		w.call(http.MethodPost, wire+id+"/events/batch", `{"spool_id":"s","first":1,"events":[]}`).
			refused(422, "path.sandbox_id")
		w.call(http.MethodPost, wire+id+"/messages", `{"content":"x"}`).refused(422, "path.sandbox_id")
	}
	require.Zero(t, w.count(`SELECT count(*) FROM sandboxes`))
}

// A legacy worker sends the transcript of its run with the last event, until the event is acknowledged.
func TestPostEvent_AcceptsTheLongestTranscript(t *testing.T) {
	t.Parallel()
	w := open(t)
	said := bytes.Repeat([]byte(strings.Repeat("x", 1<<10-1)+"\n"), 8<<10)
	end := func(transcript []byte) map[string]any {
		return map[string]any{"event_type": event.AgentCompleted, "event_data": map[string]any{
			"success": true, "session_id": "s", "final_output": strings.Repeat("o", 900<<10), "transcript_b64": transcript,
		}}
	}
	for box, sent := range map[string][]byte{
		"whole": said, "cut": append([]byte("oldest\n"), said...), "one line": make([]byte, len(said)+1),
	} {
		ok[client.ReceivedEvent](w.call(http.MethodPost, wire+box+"/events", end(sent)), http.StatusOK)
		kept := w.storedTranscript(box)
		require.True(t, bytes.HasSuffix(sent, kept))
		require.Equal(t, box == "whole", len(kept) == len(sent))
		require.Equal(t, len(sent)-len(kept), w.count(`SELECT cut FROM transcripts WHERE sandbox_id = $1`, box))
	}
}

func TestPostBatch_NumberedAndGzipped(t *testing.T) {
	t.Parallel()
	w := open(t)
	path := wire + "b/events/batch"
	batch := func(first, n int) client.CreateEventBatchRequest {
		b := client.CreateEventBatchRequest{SpoolID: "s1", First: int64(first)}
		for i := range n {
			b.Events = append(b.Events, client.CreateEventRequest{Type: "x", Data: json.RawMessage(fmt.Sprintf(`{"n":%d}`, first+i))})
		}
		return b
	}
	require.JSONEq(t, `{"acknowledged":3,"duplicates":0}`, string(w.call(http.MethodPost, path, batch(1, 3)).body))
	require.JSONEq(t, `{"acknowledged":4,"duplicates":2}`, string(w.call(http.MethodPost, path, batch(2, 3)).body))
	gap := w.call(http.MethodPost, path, batch(7, 1)).refused(http.StatusConflict, "")
	require.EqualValues(t, 4, *gap.Acknowledged)

	raw, err := json.Marshal(batch(5, 2))
	require.NoError(t, err)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err = z.Write(raw)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.JSONEq(t, `{"acknowledged":6,"duplicates":0}`,
		string(w.call(http.MethodPost, path, packed.Bytes(), "Content-Encoding", "gzip").body))
	w.call(http.MethodPost, path, "this is no gzip", "Content-Encoding", "gzip").refused(400, "")
	for _, sent := range []int{0, 5, packed.Len() - 9, packed.Len() - 1} {
		early := w.call(http.MethodPost, path, packed.Bytes()[:sent], "Content-Encoding", "gzip").refused(400, "")
		require.Contains(t, early.Detail, "ends early")
	}
	w.call(http.MethodPost, path, raw, "Content-Encoding", "br").refused(415, "")
	w.call(http.MethodPost, path, bomb(t), "Content-Encoding", "gzip").refused(413, "")
	require.Equal(t, 6, w.count(`SELECT count(*) FROM sandbox_events`))
}

// bomb returns a few bytes that decompress to many.
func bomb(t *testing.T) []byte {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(make([]byte, 64<<20))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return packed.Bytes()
}

func TestMessages_KeepLegacyForm(t *testing.T) {
	t.Parallel()
	w := open(t)
	path := wire + "b/messages"
	queued := ok[map[string]any](w.call(http.MethodPost, path, `{"content":"hello","unknown":1}`), http.StatusOK)
	require.Equal(t, []any{"queued", "b"}, []any{queued["status"], queued["sandbox_id"]})
	require.Len(t, queued, 3)
	ok[client.QueuedMessage](w.call(http.MethodPost, path, `{"content":"stop","message_type":"interrupt"}`), http.StatusOK)
	taken := ok[[]map[string]any](w.call(http.MethodGet, path, nil), http.StatusOK)
	require.Len(t, taken, 2)
	require.Equal(t, []any{"stop", "hello"}, []any{taken[0]["content"], taken[1]["content"]}, "interrupts overtake")
	require.Equal(t, "user_message", taken[1]["message_type"])
	require.Len(t, taken[0], 4)
	require.Equal(t, "[]", strings.TrimSpace(string(w.call(http.MethodGet, path, nil).body)), "leased, not given twice")
	ack := path + "/" + queued["message_id"].(string) + "/ack"
	require.True(t, ok[client.AcknowledgedMessage](w.call(http.MethodPost, ack, nil), http.StatusOK).Settled)
	require.False(t, ok[client.AcknowledgedMessage](w.call(http.MethodPost, ack, nil), http.StatusOK).Settled)
	w.call(http.MethodPost, path+"/7/ack", nil).refused(http.StatusNotFound, "")
	w.call(http.MethodPost, path, `{"content":""}`).refused(422, "body.content")
	w.call(http.MethodPost, path, `{"content":"a","message_type":"shout"}`).refused(422, "body.message_type")
	w.call(http.MethodGet, path+"?wait=long", nil).refused(422, "query.wait")
}

func TestMessagePoll_EndsWithTheMessage(t *testing.T) {
	t.Parallel()
	w := start(t, patient)
	got := make(chan []client.LeasedMessage, 1)
	go func() {
		var messages []client.LeasedMessage
		defer func() { got <- messages }()
		messages = ok[[]client.LeasedMessage](w.call(http.MethodGet, wire+"b/messages?wait=50s", nil), http.StatusOK)
	}()
	ok[client.QueuedMessage](w.call(http.MethodPost, wire+"b/messages", `{"content":"now"}`), http.StatusOK)
	require.Len(t, <-got, 1)
}

func TestTaskEvents_SpanAttempts(t *testing.T) {
	t.Parallel()
	w := start(t, patient)
	made := w.task(newTask())
	path := "/api/v1/tasks/" + made.ID + "/events"
	first := ok[client.TaskEventList](w.call(http.MethodGet, path, nil), http.StatusOK)
	require.Equal(t, client.TaskEventList{Items: []client.Event{}, NextCursor: new("0:0"), TaskStatus: task.StatusPending}, first)
	box := w.begin(made)
	pages := make(chan client.TaskEventList, 1)
	go func() {
		var page client.TaskEventList
		defer func() { pages <- page }()
		page = ok[client.TaskEventList](w.call(http.MethodGet, path+"?wait=50s&cursor="+*first.NextCursor, nil), http.StatusOK)
	}()
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+box+"/events", `{"event_type":"agent.started"}`), http.StatusOK)
	page := <-pages
	require.Len(t, page.Items, 1)
	require.Equal(t, []any{1, int64(1), box + ":1", "agent.started"},
		[]any{page.Items[0].Attempt, page.Items[0].Sequence, page.Items[0].ID, page.Items[0].Type})
	require.Equal(t, "1:1", *page.NextCursor)
	w.end(made, task.StatusCompleted)
	w.bus.Wake(live.Task(made.ID))
	last := ok[client.TaskEventList](w.call(http.MethodGet, path+"?wait=50s&cursor="+*page.NextCursor, nil), http.StatusOK)
	require.Nil(t, last.NextCursor)
	require.Equal(t, task.StatusCompleted, last.TaskStatus)
	w.call(http.MethodGet, path+"?cursor=x", nil).refused(422, "query.cursor")
}

func TestSandboxTask(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	box := w.begin(made)
	got := ok[client.SandboxTask](w.call(http.MethodGet, wire+box+"/task", nil), http.StatusOK)
	require.Equal(t, []string{made.ID, made.TicketID, "running", box},
		[]string{got.ID, got.TicketID, got.Status, got.SandboxID})
	require.Contains(t,
		w.call(http.MethodGet, wire+"unknown/task", nil).refused(http.StatusNotFound, "").Detail, "unknown")
}

func TestTaskComplete_ReturnsWhatWasAccepted(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	in := newTask()
	in.DependsOn = &client.DependsOn{TaskIDs: []string{made.ID}}
	waiting := w.task(in)
	box := w.begin(made)
	path := wire + box + "/task-complete"
	got := ok[client.TaskCompleted](w.call(http.MethodPost, path,
		map[string]any{"task_id": made.ID, "result": map[string]int{"n": 1}, "x": 1}), http.StatusOK)
	require.Equal(t, []any{"accepted", made.ID, "completed", []string{waiting.ID}, task.ReceiptAccepted},
		[]any{got.Status, got.TaskID, got.NewStatus, got.UnblockedTasks, got.Receipt})
	require.Equal(t, 1, w.count(`SELECT count(*) FROM commands WHERE kind = 'complete' AND state = 'accepted' AND args -> 'success' = 'true' AND args -> 'result' ->> 'n' = '1'`))
	require.Equal(t, task.ReceiptTooLate, ok[client.TaskCompleted](
		w.call(http.MethodPost, path, map[string]any{"task_id": made.ID, "success": false}), http.StatusOK,
	).Receipt,
		"its success is accepted and being published")
	w.end(made, task.StatusFailed)
	late := ok[client.TaskCompleted](w.call(http.MethodPost, path, map[string]any{"task_id": made.ID}), http.StatusOK)
	require.Equal(t, []any{"failed", task.ReceiptTooLate, []string{}},
		[]any{late.NewStatus, late.Receipt, late.UnblockedTasks})

	other := w.begin(waiting)
	w.call(http.MethodPost, wire+other+"/task-complete", map[string]any{"task_id": made.ID}).
		refused(http.StatusForbidden, "")
	w.call(http.MethodPost, path, map[string]any{"task_id": "01890a5d-ac96-774b-bcce-b302099a8057"}).
		refused(http.StatusNotFound, "")
	w.call(http.MethodPost, path, `{}`).refused(422, "body.task_id")
	w.call(http.MethodPost, path, `{"task_id":"x","success":"yes"}`).refused(422, "body.success")
}

func TestTaskComplete_NullSuccessIsTheDefault(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	path := wire + w.begin(made) + "/task-complete"
	for _, result := range []string{`[]`, `"x"`, `7`} {
		w.call(http.MethodPost, path, `{"task_id":"`+made.ID+`","result":`+result+`}`).refused(422, "body.result")
	}
	got := ok[client.TaskCompleted](w.call(http.MethodPost, path,
		`{"task_id":"`+made.ID+`","success":null,"result":null}`), http.StatusOK)
	require.Equal(t, []any{"completed", task.ReceiptAccepted}, []any{got.NewStatus, got.Receipt})
}

func TestTaskComplete_SuccessAfterFailureIsTooLate(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	path := wire + w.begin(made) + "/task-complete"
	complete := func(success bool) client.TaskCompleted {
		return ok[client.TaskCompleted](w.call(http.MethodPost, path, map[string]any{"task_id": made.ID, "success": success}),
			http.StatusOK)
	}
	first := complete(false)
	require.Equal(t, []any{"failed", task.ReceiptAccepted}, []any{first.NewStatus, first.Receipt})
	second := complete(true)
	require.Equal(t, []any{"failed", task.ReceiptTooLate, []string{}},
		[]any{second.NewStatus, second.Receipt, second.UnblockedTasks})
	require.Equal(t, first.CommandID, complete(false).CommandID, "sent again")
	require.Equal(t, 1,
		w.count(`SELECT count(*) FROM commands WHERE state = 'too_late' AND reason LIKE '%reported a failure%'`))
}

// A program that only knows its URL may put its token into its result.
func TestTaskComplete_StoresNoToken(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	box := w.begin(made)
	said := map[string]any{"task_id": made.ID, "result": map[string]string{"log": "to /t/" + w.ring.Mint(box)}}
	ok[client.TaskCompleted](w.call(http.MethodPost, wire+box+"/task-complete", said), http.StatusOK)
	require.Equal(t, 1, w.count(`SELECT count(*) FROM commands WHERE args -> 'result' ->> 'log' = 'to /t/[redacted]'`))
}

func TestValidationResult_ReturnsWhatWasAccepted(t *testing.T) {
	t.Parallel()
	w := open(t)
	for passed, status := range map[bool]string{true: "completed", false: "needs_revision"} {
		made := w.task(newTask())
		path := wire + w.begin(made) + "/validation-result"
		verdict := map[string]any{
			"task_id": made.ID, "passed": passed, "feedback": "tests", "recommendations": []string{"more"},
		}
		got := ok[client.VerdictAccepted](w.call(http.MethodPost, path, verdict), http.StatusOK)
		require.Equal(t, []any{"accepted", passed, status, task.ReceiptAccepted},
			[]any{got.Status, got.ValidationPassed, got.NewTaskStatus, got.Receipt})
		w.end(made, task.StatusCancelled)
		got = ok[client.VerdictAccepted](w.call(http.MethodPost, path, verdict), http.StatusOK)
		require.Equal(t, []any{"cancelled", task.ReceiptTooLate}, []any{got.NewTaskStatus, got.Receipt})
		w.call(http.MethodPost, path, `{"task_id":"`+made.ID+`","feedback":""}`).refused(422, "body.passed")
		w.call(http.MethodPost, path, `{"task_id":"`+made.ID+`","passed":true}`).refused(422, "body.feedback")
	}
}

func TestValidationResult_RejectedBeforeAnAttempt(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	verdict := map[string]any{"task_id": made.ID, "passed": false, "feedback": "tests"}
	w.call(http.MethodPost, wire+"outside/validation-result", verdict).refused(http.StatusConflict, "")
	require.Zero(t, w.count(`SELECT count(*) FROM commands WHERE kind = 'verdict'`))
}

func TestListSandboxes(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	box := w.begin(made)
	w.exec(`UPDATE sandboxes SET salvage = '{"kind":"ref","ref":"refs/x","files":2,"bytes":9}', isolation = '{uid,mount}' WHERE id = $1`, box)
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+"bare/events", `{"event_type":"x"}`), http.StatusOK)
	got := ok[client.Sandbox](w.call(http.MethodGet, wire+box, nil), http.StatusOK)
	require.Equal(t, []any{made.ID, 1, task.SandboxRunning, "ref", 2, []string{"uid", "mount"}},
		[]any{got.TaskID, got.Attempt, got.State, got.Salvage.Kind, got.Salvage.Files, got.Isolation})
	all := ok[client.Page[client.Sandbox]](w.call(http.MethodGet, "/api/v1/sandboxes", nil), http.StatusOK)
	require.Len(t, all.Items, 2)
	one := ok[client.Page[client.Sandbox]](w.call(http.MethodGet, "/api/v1/sandboxes?state=running&task_id="+made.ID, nil),
		http.StatusOK)
	require.Len(t, one.Items, 1)
	w.call(http.MethodGet, "/api/v1/sandboxes?state=asleep", nil).refused(422, "query.state")
	w.call(http.MethodGet, wire+"unknown", nil).refused(http.StatusNotFound, "")
	full := ok[client.Task](w.call(http.MethodGet, "/api/v1/tasks/"+made.ID, nil), http.StatusOK)
	require.Equal(t, box, full.Attempts[0].SandboxID)
	require.Equal(t, "refs/x", full.Attempts[0].Salvage.Ref)
}
