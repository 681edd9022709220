package taskcmd_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/cli/taskcmd"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	idA = "01931f6e-7c2a-7abc-8def-0123456789ab"
	idB = "01931f6e-7c2b-7abc-8def-0123456755cd"
	idC = "01931f6e-7c2c-7abc-8def-01234567aaaa"
)

// fakeAPI is a server that answers from its fields.
type fakeAPI struct {
	t   *testing.T
	url string

	mu       sync.Mutex
	tasks    []client.Task // newest first
	boxes    []client.Sandbox
	steps    []client.Intervention
	analyses []client.GuardianAnalysis
	visits   []receipt.AccessSession
	logs     map[string][]string // parts of logs by sandbox ID; an offset is the index of a part
	keys     []client.APIKey
	newKeys  []client.CreateAPIKeyRequest
	events   []client.Event
	created  []client.CreateTaskRequest
	headers  []http.Header
	asked    []string
	gone     string // the answer to a diff whose branch retention removed
	settled  bool
	ended    bool // the workflow was terminated; commands get a conflict
	done     bool
	refuse   *client.Problem         // answer to requests for new tasks
	outages  int                     // number of event requests that get 503
	afters   []string                // cursors of event requests
	onEvents func(f *fakeAPI, n int) // called under the lock before event request n is answered

	onLog       func() // called under the lock before a log request is answered
	stale       int    // number of log answers with stale set
	transcripts []client.TranscriptInfo
	texts       map[string]string // of transcripts, by run; nil: a text for each
	works       []client.SavedWork
	checkpoints []client.Checkpoint   // newest first
	newest      []client.SandboxEvent // of each sandbox, newest first
	pack        []byte                // of each checkpoint
	sealed      checkpoint.Sealed     // the checkpoint that was sent last
	credentials []client.Credential
	given       map[string]client.SetCredentialRequest // set credentials by kind
	trials      map[string]credential.Test             // test results by kind
	provider    sandbox.Provider
	feedback    feedback.TaskFeedback
	why         client.Explanation
	contract    client.TaskContract
	contracts   []string // contracts that were set
}

func newFake(t *testing.T) *fakeAPI {
	t.Helper()
	f := &fakeAPI{t: t, settled: true}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/tasks", f.create)
	mux.HandleFunc("POST /api/v1/comparisons", f.compare)
	mux.HandleFunc("GET /api/v1/tasks", f.list)
	mux.HandleFunc("GET /api/v1/tasks/{id}", f.get)
	mux.HandleFunc("GET /api/v1/tasks/{id}/receipt", func(w http.ResponseWriter, _ *http.Request) {
		f.locked(func() {
			r := receipt.New(f.tasks[0], f.boxes, f.visits)
			r.LookAgain(5 * time.Minute)
			answer(w, http.StatusOK, r)
		})
	})
	mux.HandleFunc("GET /api/v1/tasks/{id}/events", f.readEvents)
	mux.HandleFunc("GET /api/v1/tasks/{id}/diff", func(w http.ResponseWriter, _ *http.Request) {
		if f.gone != "" {
			problem(w, task.CodeGone, f.gone)
			return
		}
		_, _ = w.Write([]byte("+added\n"))
	})
	mux.HandleFunc("GET /api/v1/tasks/{id}/feedback", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, f.feedback) })
	mux.HandleFunc("GET /api/v1/tasks/{id}/contract", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, f.contract) })
	mux.HandleFunc("PUT /api/v1/tasks/{id}/contract", func(w http.ResponseWriter, r *http.Request) {
		var in client.SetContractRequest
		_ = json.NewDecoder(r.Body).Decode(&in)
		f.contracts = append(f.contracts, in.Contract)
		answer(w, http.StatusOK, f.contract)
	})
	mux.HandleFunc("GET /api/v1/tasks/{id}/why", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, f.why) })
	mux.HandleFunc("POST /api/v1/tasks/{id}/{what}", f.ask)
	mux.HandleFunc("POST /api/v1/tasks/{id}/rewind", f.rewind)
	mux.HandleFunc("POST /api/v1/tasks/{id}/fork", f.fork)
	mux.HandleFunc("GET /api/v1/tasks/{id}/checkpoints", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Page[client.Checkpoint]{Items: f.checkpoints})
	})
	mux.HandleFunc("GET /api/v1/tasks/{id}/checkpoints/{checkpoint}/pack", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(f.pack) })
	mux.HandleFunc("GET /api/v1/sandboxes/{id}/events", func(w http.ResponseWriter, r *http.Request) {
		other := func(e client.SandboxEvent) bool { return e.EventType != r.URL.Query().Get("event_type") }
		answer(w, http.StatusOK, client.SandboxEvents{Events: slices.DeleteFunc(slices.Clone(f.newest), other)})
	})
	mux.HandleFunc("GET /api/v1/tasks/{id}/checkpoints/{checkpoint}", func(w http.ResponseWriter, r *http.Request) {
		f.locked(func() { answer(w, http.StatusOK, client.Checkpoint{ID: r.PathValue("checkpoint"), Sealed: f.sealed}) })
	})
	mux.HandleFunc("PUT /api/v1/sandboxes/{id}/checkpoints/{rest...}", func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		size := int64(len(content))
		if !strings.HasSuffix(r.URL.Path, "/pack") {
			f.locked(func() { _ = json.Unmarshal(content, &f.sealed) })
		}
		answer(w, http.StatusOK, checkpoint.Received{Stored: true, Received: size})
	})
	mux.HandleFunc("GET /api/v1/tickets/{id}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, client.Ticket{ID: r.PathValue("id"), Key: "APP-T7"})
	})
	mux.HandleFunc("GET /api/v1/sandboxes", f.sandboxes)
	f.serveOperator(mux)
	f.serveConductor(mux)
	f.serveCredentials(mux)
	f.serveTranscripts(mux)
	f.serveWork(mux)
	f.serveRefusal(mux)
	mux.HandleFunc("POST /api/v1/sandboxes/{id}/messages", func(w http.ResponseWriter, r *http.Request) {
		var in client.CreateMessageRequest
		_ = json.NewDecoder(r.Body).Decode(&in)
		f.mu.Lock()
		defer f.mu.Unlock()
		said := r.PathValue("id") + " " + in.Type + " " + in.Content
		if in.Allows != "" {
			said += " allows " + in.Allows
		}
		f.asked = append(f.asked, said)
		answer(w, http.StatusOK, client.QueuedMessage{Status: "queued", SandboxID: r.PathValue("id")})
	})
	mux.HandleFunc("GET /api/v1/guardian/interventions", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(client.Page[client.Intervention]{Items: append([]client.Intervention{}, f.steps...)})
	})
	mux.HandleFunc("GET /api/v1/guardian/analyses", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Page[client.GuardianAnalysis]{Items: append([]client.GuardianAnalysis{}, f.analyses...)})
	})
	for _, path := range []string{"interventions/{id}/rating", "analyses/{id}/findings/{rule}/rating"} {
		mux.HandleFunc("PUT /api/v1/guardian/"+path, func(w http.ResponseWriter, r *http.Request) {
			var in client.RateRequest
			_ = json.NewDecoder(r.Body).Decode(&in)
			f.locked(func() {
				f.asked = append(f.asked, strings.TrimSpace("rate "+r.PathValue("id")+" "+r.PathValue("rule"))+" "+in.Rating+" "+in.Reason)
			})
			answer(w, http.StatusOK, client.Rating{Rule: r.PathValue("rule"), Rating: in.Rating, Reason: in.Reason})
		})
	}
	mux.HandleFunc("GET /api/v1/info", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Info{
			TemporalUIURL: "http://ui/", Namespace: "omoi",
			Agents: []string{"scripted", "command", "external"}, Sandboxes: []string{"local", "external"},
		})
	})
	mux.HandleFunc("GET /api/v1/auth/api-keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Page[client.APIKey]{Items: f.keys})
	})
	mux.HandleFunc("POST /api/v1/auth/api-keys", func(w http.ResponseWriter, r *http.Request) {
		var in client.CreateAPIKeyRequest
		_ = json.NewDecoder(r.Body).Decode(&in)
		f.locked(func() { f.newKeys = append(f.newKeys, in) })
		answer(w, http.StatusCreated, client.CreatedAPIKey{APIKey: client.APIKey{ID: idA, Name: in.Name, ExpiresAt: in.ExpiresAt}, Secret: "omoi_secret"})
	})
	mux.HandleFunc("DELETE /api/v1/auth/api-keys/{id}", func(w http.ResponseWriter, r *http.Request) {
		f.locked(func() { f.asked = append(f.asked, "revoke "+r.PathValue("id")) })
		w.WriteHeader(http.StatusNoContent)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

func (f *fakeAPI) locked(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err) // the test server answers 500
	}
}

func problem(w http.ResponseWriter, code task.Code, detail string) {
	answer(w, client.StatusOf(code), client.Problem{Status: client.StatusOf(code), Detail: detail, Code: task.Kind(code)})
}

func (f *fakeAPI) create(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var in client.CreateTaskRequest
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		problem(w, task.CodeInvalid, err.Error())
		return
	}
	f.created, f.headers = append(f.created, in), append(f.headers, r.Header.Clone())
	if f.refuse != nil {
		answer(w, http.StatusUnprocessableEntity, f.refuse)
		return
	}
	if in.Repo == "/nowhere" {
		problem(w, task.CodeInvalid, "There is nothing at /nowhere.")
		return
	}
	answer(w, http.StatusCreated, f.tasks[0])
}

func (f *fakeAPI) list(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fragment, status, ticket := r.URL.Query().Get("id"), r.URL.Query().Get("status"), r.URL.Query().Get("ticket_id")
	group := task.Group(r.URL.Query().Get("group"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	start, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	page := client.Page[client.Task]{Items: []client.Task{}}
	for i := start; i < len(f.tasks); i++ {
		t := f.tasks[i]
		if !strings.HasPrefix(t.ID, fragment) && !strings.HasSuffix(t.ID, fragment) && !strings.HasPrefix(render.Short(t.ID), fragment) || status != "" && string(t.Status) != status || ticket != "" && t.TicketID != ticket ||
			group != "" && cmp.Or(t.Group, task.GroupOf(t.Status, t.Blocked)) != group {
			continue
		}
		if len(page.Items) == limit {
			page.NextCursor = new(strconv.Itoa(i))
			break
		}
		page.Items = append(page.Items, t)
	}
	answer(w, http.StatusOK, page)
}

func (f *fakeAPI) get(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.tasks {
		if t.ID == r.PathValue("id") || strings.EqualFold(t.Key, r.PathValue("id")) {
			answer(w, http.StatusOK, t)
			return
		}
	}
	problem(w, task.CodeNotFound, "There is no such task.")
}

func (f *fakeAPI) readEvents(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	after := r.URL.Query().Get("cursor")
	f.afters = append(f.afters, after)
	if f.outages > 0 && len(f.afters) > 1 {
		f.outages--
		problem(w, task.CodeUnavailable, "The database does not answer.")
		return
	}
	if f.onEvents != nil {
		f.onEvents(f, len(f.afters))
	}
	page := client.TaskEventList{NextCursor: new(cmp.Or(after, "0:0")), TaskStatus: f.tasks[0].Status}
	for _, e := range f.events {
		if cursor := strconv.Itoa(e.Attempt) + ":" + strconv.FormatInt(e.Sequence, 10); cursor > after {
			page.Items, page.NextCursor = append(page.Items, e), &cursor
		}
	}
	if f.done {
		page.NextCursor = nil
	}
	answer(w, http.StatusOK, page)
}

func (f *fakeAPI) ask(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var in client.ReasonRequest
	_ = json.NewDecoder(r.Body).Decode(&in)
	f.asked = append(f.asked, r.PathValue("what")+" "+r.PathValue("id")+" "+in.Reason)
	if f.ended {
		f.tasks[0].Status, f.tasks[0].FailureClass = task.StatusFailed, task.ClassTerminated
		problem(w, task.CodeConflict, "The cancel came too late: its workflow was terminated; the task is written off as failed (terminated).")
		return
	}
	if f.tasks[0].Status == task.StatusCompleted {
		problem(w, task.CodeConflict, "The task is completed already; there is nothing to cancel.")
		return
	}
	status, state := http.StatusOK, task.ReceiptCarriedOut
	if !f.settled {
		status, state = http.StatusAccepted, task.ReceiptAccepted
	}
	answer(w, status, client.CommandResult{Task: f.tasks[0], Command: client.Command{Kind: r.PathValue("what"), State: state}})
}

func (f *fakeAPI) sandboxes(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	page := client.Page[client.Sandbox]{Items: []client.Sandbox{}}
	for _, b := range f.boxes {
		if r.URL.Query().Get("unverified") != "true" || b.VerifiedAt == nil {
			page.Items = append(page.Items, b)
		}
	}
	answer(w, http.StatusOK, page)
}

// result is the outcome of a command line.
type result struct {
	code     int
	out, err string
}

// call is a command line with its environment, for a fakeAPI.
type call struct {
	dir   string
	stdin string
	env   map[string]string
	ctx   context.Context //nolint:containedctx // an argument, in a test
}

func (f *fakeAPI) omoi(args ...string) result { return f.with(call{}, args...) }

func (f *fakeAPI) with(c call, args ...string) result {
	f.t.Helper()
	env := map[string]string{"OMOI_API_URL": f.url, "OMOI_API_KEY": "key", "HOME": "/nonexistent"}
	maps.Copy(env, c.env)
	if c.ctx == nil {
		c.ctx = f.t.Context()
	}
	var out, stderr bytes.Buffer
	root := &cobra.Command{Use: "omoi", SilenceUsage: true, SilenceErrors: true}
	root.SetFlagErrorFunc(exit.Flag)
	asJSON := root.PersistentFlags().Bool("json", false, "")
	root.AddCommand(taskcmd.Commands(taskcmd.IO{
		Env: func(name string) string { return env[name] }, Dir: c.dir, JSON: asJSON,
		Stdin: strings.NewReader(c.stdin), Stdout: &out, Stderr: &stderr,
		Provider: func(string) (sandbox.Provider, error) { return f.provider, nil },
	})...)
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&stderr)
	cmd, err := root.ExecuteContextC(c.ctx)
	err = exit.InFlags(err, func(flag string) bool { return cmd.Flags().Lookup(flag) != nil })
	code := exit.Report(&stderr, err, *asJSON)
	return result{code: code, out: out.String(), err: stderr.String()}
}

func aTask(id string, status task.Status) client.Task {
	branch, base := "feature/x", "0123456789abcdef"
	return client.Task{
		ID: id, Title: "Do it", Status: status, Agent: "scripted", Provider: "local", Mode: "implementation", Repo: "/repo",
		Branch: &branch, Base: &base, AttemptCount: 1, MaxRetries: 3, CreatedAt: time.Now().Add(-time.Minute), Why: "Because.",
	}
}

func anEvent(seq int64, kind, data string) client.Event {
	return client.Event{Attempt: 1, Sequence: seq, Type: kind, Data: json.RawMessage(data), CreatedAt: time.Now()}
}

func requireJSON(t *testing.T, text string, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), into), text)
}

// serves replaces f with a server that answers each route with a value.
func (f *fakeAPI) serves(answers map[string]any) {
	mux := http.NewServeMux()
	for route, value := range answers {
		mux.HandleFunc(route, func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, value) })
	}
	server := httptest.NewServer(mux)
	f.t.Cleanup(server.Close)
	f.url = server.URL
}
