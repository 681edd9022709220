package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/live"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// socket is a reader of the bus.
type socket struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // the test's own
	conn *websocket.Conn
}

func (w *world) socket(t *testing.T, query string, headers ...string) *socket {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	header := http.Header{}
	for n := 0; n+1 < len(headers); n += 2 {
		header.Set(headers[n], headers[n+1])
	}
	conn, res, err := websocket.Dial(ctx, strings.Replace(w.url, "http", "ws", 1)+"/api/v1/ws/events"+query,
		&websocket.DialOptions{HTTPHeader: header})
	require.NoError(t, err)
	if res.Body != nil {
		_ = res.Body.Close()
	}
	t.Cleanup(func() { _ = conn.CloseNow(); cancel() })
	return &socket{t: t, ctx: ctx, conn: conn}
}

// ready waits until the server listens: it has responded to a frame.
func (s *socket) ready() *socket {
	s.t.Helper()
	s.say(`{"type":"subscribe"}`)
	require.Equal(s.t, "subscribed", s.next()["status"])
	return s
}

func (s *socket) say(text string) {
	s.t.Helper()
	require.NoError(s.t, s.conn.Write(s.ctx, websocket.MessageText, []byte(text)))
}

// next returns the next frame, after validation against the AsyncAPI document.
func (s *socket) next() map[string]any {
	s.t.Helper()
	var got map[string]any
	require.NoError(s.t, wsjson.Read(s.ctx, s.conn, &got))
	heldToAsyncAPI(s.t, got)
	return got
}

func (s *socket) closedWith(code websocket.StatusCode) {
	s.t.Helper()
	require.NotEmpty(s.t, s.next()["error"])
	s.ends(code)
}

func (s *socket) ends(code websocket.StatusCode) {
	s.t.Helper()
	_, _, err := s.conn.Read(s.ctx)
	require.Equal(s.t, code, websocket.CloseStatus(err))
}

func quick(c *api.Config) { c.Open, c.PollEvery = true, 10*time.Millisecond }

func TestWebSocket_SendsSandboxEvents(t *testing.T) {
	t.Parallel()
	w := start(t, quick)
	w.report("b", 1, "agent.started") // past events are not sent
	s := w.socket(t, "?event_types=SANDBOX_agent.tool_use,%20SANDBOX_x&entity_types=sandbox").ready()
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+"b/events",
		`{"event_type":"agent.tool_use","event_data":{"tool":"Bash","source":"me"},"source":"worker"}`), http.StatusOK)
	got := s.next()
	require.Len(t, got, 4)
	require.Equal(t, []any{"SANDBOX_agent.tool_use", "sandbox", "b"},
		[]any{got["event_type"], got["entity_type"], got["entity_id"]})
	require.Equal(t,
		map[string]any{"tool": "Bash", "source": "worker", "original_event_type": "agent.tool_use"}, got["payload"])
	w.report("c", 1, "y", "x")
	require.Equal(t, "SANDBOX_x", s.next()["event_type"], "y is filtered out")
	s.say(`{"type":"subscribe","entity_ids":["d"],"event_types":[]}`)
	answer := s.next()
	require.Equal(t, map[string]any{"event_types": []any{}, "entity_types": []any{"sandbox"}, "entity_ids": []any{"d"}},
		answer["filters"])
	w.report("c", 3, "x")
	w.report("d", 1, "z")
	require.Equal(t, "SANDBOX_z", s.next()["event_type"])
	s.say(`no json`)
	require.Equal(t, map[string]any{"error": "Invalid JSON message"}, s.next())
}

func TestWebSocket_SendsEachEventOnceInOrder(t *testing.T) {
	t.Parallel()
	const total = 500
	w := start(t, quick)
	s := w.socket(t, "").ready()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for first := 1; first <= total; first += 5 {
			w.report("b", first, "x", "x", "x", "x", "x")
		}
	}()
	defer func() { <-answered }() // an event may be read before its post has a response
	for n := 1; n <= total; n++ {
		got, err := json.Marshal(s.next()["payload"])
		require.NoError(t, err)
		var payload struct {
			N int `json:"n"`
		}
		require.NoError(t, json.Unmarshal(got, &payload))
		require.Equal(t, n, payload.N)
	}
}

func TestWebSocket_FindsEventsWithoutNotification(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *api.Config) { quick(c); c.StreamBeat = 10 * time.Millisecond })
	s := w.socket(t, "").ready()
	w.exec(`WITH box AS (INSERT INTO sandboxes (id, provider, machine, state, last_sequence, last_event_at) VALUES ('b', 'bare', false, 'running', 1, clock_timestamp()) RETURNING id, partition_month)
		INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type, created_at) SELECT id, 1, partition_month, 'x', clock_timestamp() FROM box`) // at once, as the intake
	require.Equal(t, "SANDBOX_x", s.next()["event_type"])
}

func TestWebSocket_SendsTaskAndMessageEntries(t *testing.T) {
	t.Parallel()
	w := start(t, quick)
	s := w.socket(t, "?entity_types=task").ready()
	made := w.task(newTask())
	w.exec(`UPDATE tasks SET status = 'assigned' WHERE id = $1`, made.ID)
	w.exec(`UPDATE tasks SET status = 'running' WHERE id = $1`, made.ID)
	w.exec(`UPDATE tasks SET status = 'running' WHERE id = $1`, made.ID) // no change
	w.exec(`UPDATE tasks SET status = 'failed', error_message = 'why' WHERE id = $1`, made.ID)
	w.bus.Wake(live.Task(made.ID))
	var names []string
	var last map[string]any
	for range 7 {
		last = s.next()
		names = append(names, last["event_type"].(string))
		require.Equal(t, made.ID, last["entity_id"])
	}
	require.Equal(t, []string{
		"TASK_CREATED", "TASK_ASSIGNED", "TASK_STATUS_CHANGED", "TASK_STARTED", "TASK_STATUS_CHANGED", "TASK_FAILED",
		"TASK_STATUS_CHANGED",
	}, names)
	require.Equal(t, map[string]any{
		"task_id": made.ID, "ticket_id": made.TicketID, "phase_id": made.PhaseID, "task_type": made.TaskType,
		"status":   "failed",
		"priority": made.Priority, "old_status": "running", "error_message": "why", "has_result": false,
	}, last["payload"])

	boxes := w.socket(t, "?entity_types=sandbox").ready()
	w.exec(`INSERT INTO sandboxes (id, organization_id, provider, machine, state)
		VALUES ('box', $1, 'external', false, 'intended')`, w.org)
	w.exec(`UPDATE sandboxes SET state = 'running' WHERE id = 'box'`)
	require.Equal(t, []any{"sandbox.spawned", "SANDBOX_SPAWNED"},
		[]any{boxes.next()["event_type"], boxes.next()["event_type"]})
	ok[client.QueuedMessage](w.call(http.MethodPost, wire+"box/messages", `{"content":"stop","message_type":"interrupt"}`),
		http.StatusOK)
	queued := boxes.next()
	require.Equal(t, "SANDBOX_MESSAGE_QUEUED", queued["event_type"])
	require.Equal(t, "high", queued["payload"].(map[string]any)["priority"])
}

// Entries that a filter excluded are not sent after a change of the filter; entries that it selected were sent.
func TestWebSocket_NewFilterAppliesFromNowOn(t *testing.T) {
	t.Parallel()
	w := start(t, quick)
	s := w.socket(t, "?entity_ids=a").ready()
	w.report("b", 1, "before")
	w.report("a", 1, "one")
	require.Equal(t, "SANDBOX_one", s.next()["event_type"])
	s.say(`{"type":"subscribe","entity_ids":["a","b"]}`)
	require.Equal(t, "subscribed", s.next()["status"])
	w.report("b", 2, "after")
	require.Equal(t, "SANDBOX_after", s.next()["event_type"])
	s.say(`{"type":"subscribe","entity_types":["task"]}`)
	require.Equal(t, "subscribed", s.next()["status"])
	w.report("a", 2, "hidden")
	s.say(`{"type":"subscribe","entity_types":[]}`)
	require.Equal(t, "subscribed", s.next()["status"])
	w.report("a", 3, "two")
	w.report("b", 3, "three")
	got := []any{s.next()["event_type"], s.next()["event_type"]}
	require.ElementsMatch(t, []any{"SANDBOX_two", "SANDBOX_three"}, got)
}

func TestWebSocket_OmitsLargeFields(t *testing.T) {
	t.Parallel()
	w := start(t, quick)
	s := w.socket(t, "").ready()
	large := strings.Repeat("x", 100_000)
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+"b/events", map[string]any{
		"event_type": "agent.file_edited", "event_data": map[string]any{"file_path": "a", "full_diff": large},
	}), http.StatusOK)
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+"b/events", map[string]any{
		"event_type": "agent.completed",
		"event_data": map[string]any{"turns": 1, "session_id": "s", "transcript_b64": "aGk="},
	}), http.StatusOK)
	edited, completed := s.next()["payload"].(map[string]any), s.next()["payload"].(map[string]any)
	require.Equal(t, "a", edited["file_path"])
	require.NotContains(t, edited, "full_diff")
	require.NotContains(t, completed, "transcript_b64")
}

// An unavailable database says nothing about a reader's credential.
func TestWebSocket_DatabaseDownAllowsReconnect(t *testing.T) {
	t.Parallel()
	w := closed(t)
	key := w.key(w.org, "read")
	w.pool.Close()
	w.socket(t, "", authorization, key).closedWith(1013)
	o := open(t)
	o.pool.Close()
	o.socket(t, "").closedWith(1013)
}

func TestWebSocket_PingsSilentReaders(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *api.Config) { quick(c); c.SocketPing = time.Millisecond })
	s := w.socket(t, "?token=anything")
	require.Equal(t, map[string]any{"type": "ping"}, s.next())
}

func TestWebSocket_OfItsOrganizationOnly(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *api.Config) { c.PollEvery = 10 * time.Millisecond })
	other, err := w.store.EnsureOrganization(t.Context(), "other")
	require.NoError(t, err)
	mine := strings.TrimPrefix(w.key(w.org, "write"), "Bearer ")
	byQuery := w.socket(t, "?token="+mine).ready()
	byHeader := w.socket(t, "", authorization, "Bearer "+mine).ready()
	byFrame := w.socket(t, "")
	byFrame.say(`{"type":"auth","token":"` + mine + `"}`)
	byFrame.ready()
	stranger := w.socket(t, "", authorization, w.key(other, "admin")).ready()
	w.exec(`INSERT INTO sandboxes (id, organization_id, provider, machine, state)
		VALUES ('box', $1, 'external', false, 'running'), ('theirs', $2, 'external', false, 'running')`, w.org, other)
	bySandbox := w.socket(t, "?entity_ids=box", authorization, "Bearer "+w.ring.Mint("box")).ready()
	w.reportAs(w.key(other, "admin"), "theirs")
	w.reportAs(w.key(w.org, "admin"), "box")
	for _, s := range []*socket{byQuery, byHeader, byFrame, bySandbox} {
		require.Equal(t, "box", s.next()["entity_id"])
	}
	require.Equal(t, "theirs", stranger.next()["entity_id"])
	w.foreignTask(w.key(other, "admin"))
	require.Equal(t, []any{"TICKET_CREATED", "TASK_CREATED"},
		[]any{stranger.next()["event_type"], stranger.next()["event_type"]})
	w.reportAs(w.key(w.org, "admin"), "box")
	require.Equal(t, "box", byQuery.next()["entity_id"], "not the other's task")
}

func (w *world) reportAs(key, sandbox string) {
	w.t.Helper()
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+sandbox+"/events", `{"event_type":"x"}`, authorization, key),
		http.StatusOK)
}

func (w *world) foreignTask(key string) {
	w.t.Helper()
	ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, key), http.StatusCreated)
}

func TestWebSocket_RequiresACredential(t *testing.T) {
	t.Parallel()
	w := closed(t)
	w.socket(t, "?token=nonsense").closedWith(4401)
	w.socket(t, "?entity_ids=b&token="+w.ring.Mint("other")).closedWith(4401)
	w.socket(t, "?token="+w.ring.Mint("b")).closedWith(4401)
	s := w.socket(t, "")
	s.say(`{"type":"subscribe"}`)
	s.closedWith(4401)
}

// A request that is not upgraded gets the same form of error as on any other route.
func TestWebSocket_PlainRequestGetsAnError(t *testing.T) {
	t.Parallel()
	const path = "/api/v1/ws/events"
	w, o := closed(t), open(t)
	plain := w.call(http.MethodGet, path, nil)
	require.Contains(t, plain.refused(http.StatusUpgradeRequired, "").Detail, "This route is a WebSocket")
	require.Equal(t, "websocket", plain.header.Get("Upgrade"))
	o.call(http.MethodGet, path, nil, "Host", "evil.example").refused(http.StatusForbidden, "")
	asks := func(more ...string) answer {
		return o.call(http.MethodGet, path, nil,
			append([]string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13"}, more...)...)
	}
	asks("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==", "Origin", "http://evil.example").
		refused(http.StatusForbidden, "")
	asks("Sec-WebSocket-Key", "short").refused(http.StatusBadRequest, "")
	asks("Sec-WebSocket-Version", "12").refused(http.StatusBadRequest, "")
}

func TestBus_ForgetsAfterADay(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.exec(`INSERT INTO bus_events (event_type, entity_type, entity_id, created_at)
		SELECT 'OLD', 'task', 'x', now() - interval '25 hours' FROM generate_series(1, 60)`)
	w.task(newTask())
	require.Equal(t, 10, w.count(`SELECT count(*) FROM bus_events WHERE event_type = 'OLD'`))
	w.task(newTask())
	require.Zero(t, w.count(`SELECT count(*) FROM bus_events WHERE event_type = 'OLD'`))
	require.Len(t, pgtest.Frames(t, w.pool, "TASK_CREATED"), 2)
}
