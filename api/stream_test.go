package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
	apitest "github.com/omoi-dev/omoi/internal/testkit/api"
)

// frame is one server-sent event, or a comment.
type frame struct {
	id, event, comment string
	data               client.Event
}

// follower reads a stream.
type follower struct {
	t     *testing.T
	body  io.ReadCloser
	lines *bufio.Reader
	leave context.CancelFunc
	raw   bytes.Buffer
	check func(raw []byte)
}

func (w *world) follow(t *testing.T, path string, headers ...string) *follower {
	t.Helper()
	ctx, leave := context.WithTimeout(t.Context(), time.Minute)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, http.NoBody)
	require.NoError(t, err)
	for n := 0; n+1 < len(headers); n += 2 {
		req.Header.Set(headers[n], headers[n+1])
	}
	res, err := http.DefaultClient.Do(req) //nolint:bodyclose // close does it
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	f := &follower{t: t, body: res.Body, leave: leave}
	f.lines = bufio.NewReader(io.TeeReader(res.Body, &f.raw))
	described, err := theAsyncAPI()
	require.NoError(t, err)
	f.check = func(raw []byte) {
		judge(t, apitest.GoodSenders, res, raw)
		require.NoError(t, described.stream(req.URL.Path, raw))
	}
	return f
}

// close closes the stream and validates its frames against the OpenAPI and the AsyncAPI document.
func (f *follower) close() {
	f.t.Helper()
	f.leave()
	_ = f.body.Close()
	f.check(f.raw.Bytes())
}

// next returns the next frame; ok is false at the end of the stream.
func (f *follower) next() (got frame, ok bool) {
	f.t.Helper()
	for {
		line, err := f.lines.ReadString('\n')
		if err != nil {
			require.ErrorIs(f.t, err, io.EOF)
			return got, false
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			got.id = value
		case "event":
			got.event = value
		case "data":
			require.NoError(f.t, json.Unmarshal([]byte(value), &got.data))
		default:
			if line == "" {
				return got, true
			}
			got.comment = value
		}
	}
}

// event returns the next frame that is not a comment.
func (f *follower) event() frame {
	f.t.Helper()
	for {
		got, ok := f.next()
		require.True(f.t, ok, "the stream ended")
		if got.comment == "" {
			return got
		}
	}
}

func TestStream_ReconnectingReaderGetsEachEventOnce(t *testing.T) {
	t.Parallel()
	const total = 600
	w := start(t, func(c *api.Config) { c.Open, c.StreamBeat = true, time.Minute })
	go func() {
		random := rand.New(rand.NewPCG(1, 2))
		for first := 1; first <= total; {
			n := min(1+random.IntN(9), total-first+1)
			types := make([]string, n)
			for i := range types {
				types[i] = "agent.tool_use"
			}
			w.report("b", first, types...)
			first += n
		}
	}()
	random := rand.New(rand.NewPCG(3, 4))
	var seen []int64
	last := "0"
	for len(seen) < total {
		f := w.follow(t, wire+"b/stream", "Last-Event-ID", last)
		for range 1 + random.IntN(120) {
			got := f.event()
			seen, last = append(seen, got.data.Sequence), got.id
			require.JSONEq(t, fmt.Sprintf(`{"n":%d}`, got.data.Sequence), string(got.data.Data))
			if len(seen) == total {
				break
			}
		}
		f.close()
	}
	for n, sequence := range seen {
		require.EqualValues(t, n+1, sequence)
	}
	require.Len(t, seen, total)
}

func TestTaskStream_SpansAttemptsAndEnds(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *api.Config) { c.Open, c.StreamBeat = true, time.Minute })
	made := w.task(newTask())
	box := w.begin(made)
	w.report(box, 1, "agent.started", "agent.tool_use")
	f := w.follow(t, "/api/v1/tasks/"+made.ID+"/stream")
	require.Equal(t, "1:1", f.event().id)
	require.Equal(t, "1:2", f.event().id)
	w.exec(`UPDATE attempts SET ended_at = now() WHERE task_id = $1`, made.ID)
	second := task.NewSandboxID()
	w.exec(`INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, machine, state)
		VALUES ($1, $2, $3, 2, 'external', false, 'running')`, second, w.org, made.ID)
	w.exec(
		`INSERT INTO attempts (task_id, number, sandbox_id, run_id, ordinal, assigned_at) VALUES ($1, 2, $2, 'r', 2, now())`,
		made.ID, second,
	)
	w.report(second, 1, "agent.started")
	got := f.event()
	require.Equal(t, "2:1,1:2", got.id, "with the place in the first attempt")
	require.Equal(t, second, got.data.SandboxID)
	w.end(made, task.StatusCompleted)
	w.bus.Wake(live.Task(made.ID))
	require.Equal(t, "end", f.event().event)
	_, more := f.next()
	require.False(t, more)
	f.close()

	again := w.follow(t, "/api/v1/tasks/"+made.ID+"/stream?after=1:1")
	require.Equal(t, []string{"1:2", "2:1,1:2", ""}, []string{again.event().id, again.event().id, again.event().id})
	again.close()
	ofSandbox := w.follow(t, wire+box+"/stream?after="+box+":1")
	require.Equal(t, "2", ofSandbox.event().id)
	require.Equal(t, "end", ofSandbox.event().event)
	ofSandbox.close()
}

func TestStream_IdleSendsKeepAlivesAndPolls(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *api.Config) { c.Open, c.StreamBeat = true, 5*time.Millisecond })
	f := w.follow(t, wire+"b/stream")
	defer f.close()
	for range 3 {
		got, ok := f.next()
		require.True(t, ok)
		require.NotEmpty(t, got.comment)
	}
	w.exec(`INSERT INTO sandboxes (id, provider, machine, state, last_sequence)
		VALUES ('b', 'bare', false, 'running', 1) ON CONFLICT (id) DO NOTHING`)
	w.exec(`INSERT INTO sandbox_events (sandbox_id, sequence, partition_month, event_type) SELECT id, 1, partition_month, 'x' FROM sandboxes`) // nobody is woken
	require.Equal(t, "1", f.event().id)
}

// A stream is notified of every change of its task, including other attempts.
func TestStream_NotificationWithoutEventsIsIdle(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *api.Config) { c.Open, c.StreamBeat = true, 100*time.Millisecond })
	f := w.follow(t, wire+"b/stream")
	defer f.close()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				w.bus.Wake(live.Sandbox("b"))
			case <-stop:
				return
			}
		}
	}()
	for range 3 {
		got, ok := f.next()
		require.True(t, ok)
		require.NotEmpty(t, got.comment)
	}
	close(stop)
	<-done
}

func TestStream_OmitsLargeFields(t *testing.T) {
	t.Parallel()
	w := open(t)
	large := strings.Repeat("x", 20_000)
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+"b/events", map[string]any{
		"event_type": "agent.file_edited", "event_data": map[string]any{"file_path": "a", "full_diff": large},
	}), http.StatusOK)
	ok[client.ReceivedEvent](w.call(http.MethodPost, wire+"b/events",
		`{"event_type":"agent.completed","event_data":{"transcript_b64":"aGk=","turns":1}}`), http.StatusOK)
	f := w.follow(t, wire+"b/stream")
	defer f.close()
	edited, completed := f.event().data, f.event().data
	require.JSONEq(t, `{"file_path":"a"}`, string(edited.Data))
	require.Equal(t, []string{"full_diff"}, edited.Omitted)
	require.JSONEq(t, `{"turns":1}`, string(completed.Data))
	require.Equal(t, []string{"transcript_b64"}, completed.Omitted)
}

func TestStream_RejectsInvalidRequests(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.call(http.MethodGet, wire+"b/stream?after=x", nil).refused(422, "query.after")
	w.call(http.MethodGet, "/api/v1/tasks/"+task.NewID()+"/stream", nil).refused(http.StatusNotFound, "")
	made := w.task(newTask())
	w.call(http.MethodGet, "/api/v1/tasks/"+made.ID+"/stream?after=7", nil).refused(422, "query.after")
	c := closed(t)
	c.call(http.MethodGet, wire+"b/stream", nil).refused(http.StatusUnauthorized, "")
	c.exec(`INSERT INTO sandboxes (id, organization_id, provider, machine, state)
		VALUES ('box', $1, 'external', false, 'running')`, c.org)
	other, err := c.store.EnsureOrganization(t.Context(), "other")
	require.NoError(t, err)
	c.call(http.MethodGet, wire+"box/stream", nil, authorization, c.key(other, "admin")).refused(http.StatusNotFound, "")
}
