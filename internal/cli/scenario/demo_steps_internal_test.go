package scenario

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/task"
)

// world is the state of a server and a repository after a successful demo.
type world struct {
	ready        bool
	refused      bool
	task         client.Task
	events       history
	boxes        []client.Sandbox
	integrity    client.Integrity
	source, diff string // content and diff of the program on the branch
	recorded     int    // number of the recorded pull request
	history      int64
	timeout      time.Duration
}

func goodWorld() *world {
	branch, url, now := "main", "file:///r#pull/1", time.Now()
	pretty := "+" + prettyLine + "\n"
	return &world{
		ready: true, events: good(), integrity: client.Integrity{LastSequence: 10, Stored: 10, Gapless: true},
		source: strings.Replace(program, plainLine, prettyLine, 1), diff: pretty, recorded: 1, history: 40, timeout: time.Minute,
		task: client.Task{
			ID: task.NewID(), Status: task.StatusCompleted, Branch: &branch, PullURL: &url, PullNumber: new(1),
			Result: json.RawMessage(`"` + grouped(expected()) + `"`), Attempts: []client.Attempt{{Number: 1, SandboxID: "box"}},
		},
		boxes: []client.Sandbox{{ID: "box", Provider: task.ProviderLocal, GoneAt: &now, VerifiedAt: &now}},
	}
}

// publish commits the program into the repository and records the pull request, as the server does.
func (w *world) publish(ctx context.Context, repo, dir string) error {
	if err := os.WriteFile(filepath.Join(dir, programFile), []byte(w.source), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{{"add", "-A"}, {"commit", "--quiet", "-m", "x"}} {
		if _, err := git(ctx, append([]string{"--git-dir", repo, "--work-tree", dir}, args...)...); err != nil {
			return err
		}
	}
	record := pullRecord(repo, w.recorded)
	if err := os.MkdirAll(filepath.Dir(record), 0o750); err != nil {
		return err
	}
	return os.WriteFile(record, nil, 0o600)
}

// demo runs the demo against the world and returns the verdicts of its steps by name.
func (w *world) demo(t *testing.T) map[string]Verdict {
	t.Helper()
	mux, dir := http.NewServeMux(), t.TempDir()
	get := func(path string, v func(*http.Request) any) {
		mux.HandleFunc("GET "+path, func(rw http.ResponseWriter, r *http.Request) { _ = json.NewEncoder(rw).Encode(v(r)) })
	}
	get("/readyz", func(*http.Request) any { return client.Readiness{Ready: w.ready} })
	get("/api/v1/info", func(*http.Request) any { return client.Info{} })
	get("/api/v1/tasks/{id}", func(*http.Request) any { return w.task })
	get("/api/v1/tasks/{id}/why", func(*http.Request) any { return client.Explanation{} })
	get("/api/v1/tasks/{id}/events", func(r *http.Request) any {
		page := client.TaskEventList{TaskStatus: w.task.Status}
		if r.FormValue("cursor") == "" {
			page.Items = w.events
		}
		return page
	})
	get("/api/v1/sandboxes", func(*http.Request) any { return client.Page[client.Sandbox]{Items: w.boxes} })
	get("/api/v1/sandboxes/{id}", func(*http.Request) any { return w.boxes[0] })
	get("/api/v1/sandboxes/{id}/integrity", func(*http.Request) any { return w.integrity })
	mux.HandleFunc("GET /api/v1/tasks/{id}/diff", func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, w.diff) })
	mux.HandleFunc("POST /api/v1/tasks", func(rw http.ResponseWriter, r *http.Request) {
		var in client.CreateTaskRequest
		if json.NewDecoder(r.Body).Decode(&in) != nil || w.refused || w.publish(r.Context(), in.Repo, dir) != nil {
			rw.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		rw.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(rw).Encode(w.task)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c := Config{API: client.New(server.URL, ""), Home: t.TempDir(), Timeout: w.timeout, Begin: func(Scenario) {}, Report: func(int, int, Step) {}}
	found := map[string]Verdict{}
	for _, s := range c.Run(t.Context(), []Scenario{Demo(DemoOptions{
		Lines: &render.Lines{}, Show: func(string) {}, History: func(context.Context, string) (int64, error) { return w.history, nil },
	})})[0].Steps {
		t.Logf("%s %s %s", s.Verdict, s.Name, s.Detail)
		found[s.Name] = s.Verdict
	}
	return found
}

func TestDemo_EachStepCanFail(t *testing.T) {
	t.Parallel()
	steps := goodWorld().demo(t)
	for step, verdict := range steps {
		require.Equal(t, Pass, verdict, step)
	}
	damages := map[string][]func(*world){
		"the server answers":     {func(w *world) { w.ready = false }},
		"the task is accepted":   {func(w *world) { w.refused = true }},
		"the task is dispatched": {func(w *world) { w.task.Attempts = nil }},
		"its sandbox is spawned": {func(w *world) { w.events[0].Type = "x" }},
		"its agent works":        {func(w *world) { w.events[1].Type = "x" }, func(w *world) { w.events[3].Sequence = 5 }},
		"the task is completed":  {func(w *world) { w.task.Status = task.StatusFailed }, func(w *world) { w.task.Result = json.RawMessage(`"1"`) }, func(w *world) { w.task.PullURL = nil }, func(w *world) { w.events[3].Data = json.RawMessage(`{}`) }},
		"its branch holds the program": {
			func(w *world) { w.source = program }, func(w *world) { w.diff = "" }, func(w *world) { w.recorded = 2 }, func(w *world) { w.task.PullNumber = nil },
		},
		"its events are whole":     {func(w *world) { w.integrity.Gapless = false }, func(w *world) { w.integrity.LastSequence = 0 }},
		"its sandbox is deleted":   {func(w *world) { w.boxes = append(w.boxes, w.boxes[0]) }, func(w *world) { w.boxes[0].VerifiedAt, w.timeout = nil, 20*time.Second }},
		"Temporal has its history": {func(w *world) { w.history = 0 }},
	}
	require.Len(t, damages, len(steps)-1, "every step but the cleaning up")
	for step, all := range damages {
		for n, damage := range all {
			t.Run(step, func(t *testing.T) {
				t.Parallel()
				w := goodWorld()
				damage(w)
				require.Equal(t, Fail, w.demo(t)[step], n)
			})
		}
	}
}
