package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// needPython skips where nothing can run the worker of the replaced system.
func needPython(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: no python3 on this machine, which the worker of the replaced system is written in")
	}
	return path
}

// oldWorker is a process of testdata/oldworker.py, which posts by itself.
type oldWorker struct {
	r    *rig
	box  string
	cmd  *exec.Cmd
	done chan struct{}

	mu  sync.Mutex
	log bytes.Buffer
}

// Write takes what the worker says on standard error.
func (w *oldWorker) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

func (w *oldWorker) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

// play is the variable that tells the worker what its model would do: turns of steps.
func play(turns ...string) map[string]string {
	return map[string]string{"PLAY": "[[" + strings.Join(turns, "],[") + "]]"}
}

// with adds variables.
func with(env map[string]string, pairs ...string) map[string]string {
	env = maps.Clone(env)
	for n := 0; n+1 < len(pairs); n += 2 {
		env[pairs[n]] = pairs[n+1]
	}
	return env
}

// oldWorker starts a worker for an attempt of a task, as whoever runs old workers does: with
// the variables of the replaced system, and base for the API.
func (r *rig) oldWorker(made task.Task, attempt int, base string, env map[string]string) *oldWorker {
	r.t.Helper()
	return r.oldWorkerOf(r.agentOf(made.ID, attempt).box, made.ID, base, env)
}

// oldWorkerOf starts a worker for a sandbox and a task, which another system may have.
func (r *rig) oldWorkerOf(box, taskID, base string, env map[string]string) *oldWorker {
	r.t.Helper()
	dir, err := os.MkdirTemp(r.dir, "worker-")
	require.NoError(r.t, err)
	w := &oldWorker{r: r, box: box}
	all := map[string]string{
		"SANDBOX_ID": w.box, "TASK_ID": taskID, "AGENT_ID": "agent-7", "CALLBACK_URL": base, "CWD": dir, "PATH": os.Getenv("PATH"),
		"TICKET_TITLE": "Old work", "REQUIRE_CLEAN_GIT": "false", "REQUIRE_CODE_PUSHED": "false", "REQUIRE_PR_CREATED": "false",
	}
	maps.Copy(all, env)
	w.cmd = exec.CommandContext(context.Background(), needPython(r.t), filepath.Join("testdata", "oldworker.py"))
	w.cmd.Env, w.cmd.Stdout, w.cmd.Stderr = environ(all), w, w
	w.done, err = tied(w.cmd)
	require.NoError(r.t, err)
	r.t.Cleanup(func() {
		w.kill()
		if r.t.Failed() {
			r.t.Logf("--- worker of %s\n%s", w.box, w.said())
		}
	})
	return w
}

func (w *oldWorker) kill() {
	_ = w.cmd.Process.Kill()
	<-w.done
}

// ended waits until the worker has left by itself.
func (w *oldWorker) ended() {
	w.r.t.Helper()
	w.r.eventually("the worker leaves", func() bool {
		select {
		case <-w.done:
			return true
		default:
			return false
		}
	})
	require.True(w.r.t, w.cmd.ProcessState.Success(), w.said())
}

// has waits until so many events of a type are stored.
func (w *oldWorker) has(n int, kind string) {
	w.r.t.Helper()
	w.r.eventually(sprintf("%d times %s", n, kind), func() bool { return w.r.stored(w.box, kind) >= n })
	require.Equal(w.r.t, n, w.r.stored(w.box, kind), kind)
}

// data is what the newest stored event of a type carries.
func (w *oldWorker) data(kind string) map[string]any {
	w.r.t.Helper()
	var raw []byte
	require.NoError(w.r.t, w.r.pool.QueryRow(context.Background(),
		`SELECT event_data FROM sandbox_events WHERE sandbox_id = $1 AND event_type = $2 ORDER BY sequence DESC LIMIT 1`, w.box, kind).Scan(&raw))
	var data map[string]any
	require.NoError(w.r.t, json.Unmarshal(raw, &data))
	return data
}

// queues sends a message to the worker and answers its id.
func (w *oldWorker) queues(kind, content string) string {
	w.r.t.Helper()
	queued, err := w.r.api.SendMessage(context.Background(), w.box, apiclient.CreateMessageRequest{Type: kind, Content: content}, "")
	require.NoError(w.r.t, err)
	return queued.MessageID
}

// tells sends a message to the worker and waits for its receipt.
func (w *oldWorker) tells(kind, content string) {
	w.r.t.Helper()
	id := w.queues(kind, content)
	w.r.eventually("the "+kind+" is taken up", func() bool {
		return w.r.count(`SELECT count(*) FROM messages WHERE id = $1 AND state IN ('taken_up', 'answered')`, id) == 1
	})
}

// byOldWorker makes a task for a worker that posts by itself, in a repository of its own: no
// project's limit makes one wait for the other.
func (r *rig) byOldWorker(edit ...func(*apiclient.CreateTaskRequest)) task.Task {
	r.t.Helper()
	return r.submit(r.repo(), json.RawMessage(uncommitted), append([]func(*apiclient.CreateTaskRequest){external}, edit...)...)
}

// uncommitted is the execution_config of work that is done without a commit.
const uncommitted = `{"env":{"REQUIRE_CODE_PUSHED":"false"}}`

// single asks for single-run mode.
func single(in *apiclient.CreateTaskRequest) { in.Execution = json.RawMessage(once) }

// between stands between workers and the API. What at answers true for it has dealt with.
type between struct {
	url string
	mu  sync.Mutex
	at  func(eventType string, w http.ResponseWriter, pass func()) bool
}

// inTheMiddle starts a proxy to the API.
func (r *rig) inTheMiddle() *between {
	r.t.Helper()
	target, err := url.Parse(r.api.BaseURL())
	require.NoError(r.t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	b := &between{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		var said struct {
			Type string `json:"event_type"`
		}
		_ = json.Unmarshal(body, &said) // empty for other requests
		b.mu.Lock()
		at := b.at
		b.mu.Unlock()
		if at == nil || !at(said.Type, w, func() { proxy.ServeHTTP(w, req) }) {
			proxy.ServeHTTP(w, req)
		}
	}))
	r.t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

func (b *between) does(at func(eventType string, w http.ResponseWriter, pass func()) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at = at
}

// heard is what a reader of the bus was told, by name.
type heard struct {
	mu    sync.Mutex
	names map[string]int
}

// hears starts a reader of the bus, which is listening when hears returns.
func (r *rig) hears() *heard {
	r.t.Helper()
	conn, res, err := websocket.Dial(context.Background(), strings.Replace(r.api.BaseURL(), "http", "ws", 1)+"/api/v1/ws/events", nil)
	require.NoError(r.t, err)
	if res.Body != nil {
		_ = res.Body.Close()
	}
	h, frames, done := &heard{names: map[string]int{}}, make(chan string, 1), make(chan struct{})
	go func() {
		defer close(done)
		for {
			var frame map[string]any
			if wsjson.Read(context.Background(), conn, &frame) != nil {
				return
			}
			name, _ := frame["event_type"].(string)
			if frame["status"] == "subscribed" {
				frames <- "subscribed"
			}
			h.mu.Lock()
			h.names[name]++
			h.mu.Unlock()
		}
	}()
	r.t.Cleanup(func() {
		_ = conn.CloseNow()
		<-done
	})
	require.NoError(r.t, wsjson.Write(context.Background(), conn, map[string]string{"type": "subscribe"}))
	<-frames
	return h
}

// lacks lists which of the names were never told.
func (h *heard) lacks(names ...string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(names, func(name string) bool { return h.names[name] > 0 })
}
