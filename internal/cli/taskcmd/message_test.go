package taskcmd_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/task"
)

const idM = "0190a5d0-0000-7000-8000-00000000beef"

// receipts serves the given receipts one after another, then the last one forever.
func receipts(t *testing.T, f *fakeAPI, told ...client.MessageReceipt) {
	t.Helper()
	tasks := f.url
	mux := http.NewServeMux()
	n := 0
	mux.HandleFunc("GET /api/v1/messages/{id}", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.asked = append(f.asked, "wait "+r.URL.Query().Get("wait"))
		m := told[min(n, len(told)-1)]
		m.ID, m.Content, n = r.PathValue("id"), "hello", n+1
		answer(w, http.StatusOK, m)
	})
	mux.HandleFunc("POST /api/v1/sandboxes/{id}/messages", func(w http.ResponseWriter, r *http.Request) {
		if told[0].State == client.MessageRejected {
			answer(w, http.StatusConflict, client.Problem{Status: 409, Detail: "Message rejected: because.", Code: task.KindMessageRejected, MessageID: idM})
			return
		}
		answer(w, http.StatusOK, client.QueuedMessage{Status: "queued", MessageID: idM, SandboxID: r.PathValue("id")})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, tasks+r.URL.String(), http.StatusTemporaryRedirect)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
}

func atWork(t *testing.T, told ...client.MessageReceipt) *fakeAPI {
	t.Helper()
	f := newFake(t)
	box, now := "box", time.Now()
	f.tasks = []client.Task{aTask(idA, task.StatusRunning)}
	f.tasks[0].SandboxID = &box
	for n := range told {
		told[n].AcceptedAt = now
	}
	receipts(t, f, told...)
	return f
}

func TestSend_WaitsForTheDeliveryStatus(t *testing.T) {
	t.Parallel()
	f := atWork(t, client.MessageReceipt{State: client.MessageAccepted}, client.MessageReceipt{State: client.MessageDelivered}, client.MessageReceipt{State: client.MessageAcknowledged})
	got := f.omoi("send", "-", "hello", "--wait")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "acknowledged")
	require.Len(t, f.asked, 3)
	require.Regexp(t, "^wait 2[45]", f.asked[0])
	var m client.MessageReceipt
	requireJSON(t, f.omoi("send", "-", "hello", "--wait=1m", "--json").out, &m)
	require.Equal(t, client.MessageAcknowledged, m.State)
	require.Equal(t, exit.Usage, f.omoi("send", "-", "hello", "--wait=0s").code)
	require.Equal(t, exit.Usage, f.omoi("send", "-", "hello", "--wait", "30s").code)
	require.Contains(t, f.omoi("send", "-", "hello").out, "omoi message "+idM)
}

func TestSend_ReportsAnUndeliverableMessage(t *testing.T) {
	t.Parallel()
	got := atWork(t, client.MessageReceipt{State: client.MessageExpired, Reason: "The attempt ended."}).omoi("send", "-", "hello", "--wait")
	require.Equal(t, exit.Failed, got.code)
	require.Contains(t, got.out, "The attempt ended.")
	got = atWork(t, client.MessageReceipt{State: client.MessageRejected}).omoi("send", "-", "hello", "--wait")
	require.Equal(t, exit.Failed, got.code)
	require.Contains(t, got.err, "because")
	require.Contains(t, got.err, "omoi message "+idM)
}

func TestSend_WaitTimeout(t *testing.T) {
	t.Parallel()
	f := atWork(t, client.MessageReceipt{State: client.MessageDelivered})
	got := f.omoi("send", "-", "hello", "--wait=20ms")
	require.Equal(t, exit.Interrupted, got.code)
	require.Contains(t, got.err, "Next: omoi message "+idM)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, exit.Interrupted, f.with(call{ctx: ctx}, "send", "-", "hello", "--wait").code)
}

func TestSend_TaskWithoutAnAgent(t *testing.T) {
	t.Parallel()
	f := atWork(t, client.MessageReceipt{State: client.MessageRejected})
	f.tasks[0].SandboxID, f.tasks[0].Status = nil, task.StatusPending
	got := f.omoi("send", "-", "hello")
	require.Equal(t, exit.Failed, got.code)
	require.Contains(t, got.err, "Next: omoi logs -f")
	f.tasks[0].Status, f.tasks[0].Attempts = task.StatusCompleted, []client.Attempt{{SandboxID: "old"}}
	require.Contains(t, f.omoi("send", "-", "hello").err, "omoi message "+idM, "the refusal has a receipt")
	f.tasks[0].Attempts = nil
	require.Contains(t, f.omoi("send", "-", "hello").err, "omoi show")
}

func TestMessage_ShowsTheDeliveryStatus(t *testing.T) {
	t.Parallel()
	now := time.Now()
	f := atWork(t, client.MessageReceipt{State: client.MessageAnswered, DeliveredAt: &now, DeliveryCount: 2, SettledAt: &now, AnsweredAt: &now})
	got := f.omoi("message", idM)
	require.Zero(t, got.code, got.err)
	for _, word := range []string{idM, "hello", "accepted", "delivered", "acknowledged", "answered", "2 times"} {
		require.Contains(t, got.out, word)
	}
	var m client.MessageReceipt
	requireJSON(t, f.omoi("message", idM, "--json").out, &m)
	require.Equal(t, 2, m.DeliveryCount)
	require.Equal(t, exit.Usage, f.omoi("message").code)
}

func TestProjects(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	projects := []client.Project{{ID: idA, Name: "app", MaxSlots: 5}, {ID: idM, Name: "other"}}
	var patched []string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/projects", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("cursor") == "" {
			answer(w, http.StatusOK, client.Page[client.Project]{Items: projects[:1], NextCursor: new("more")})
			return
		}
		answer(w, http.StatusOK, client.Page[client.Project]{Items: projects[1:]})
	})
	mux.HandleFunc("PATCH /api/v1/projects/{id}", func(w http.ResponseWriter, r *http.Request) {
		var in client.UpdateProjectRequest
		_ = json.NewDecoder(r.Body).Decode(&in)
		f.locked(func() { patched = append(patched, r.PathValue("id")) })
		made := client.Project{ID: r.PathValue("id"), Name: "app", AllowAgentMessages: in.AllowAgentMessages != nil && *in.AllowAgentMessages}
		if in.Setup != nil && in.SetupTimeoutS != nil {
			made.Setup, made.SetupTimeoutS = *in.Setup, *in.SetupTimeoutS
		}
		answer(w, http.StatusOK, made)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
	require.Contains(t, f.omoi("project", "list").out, "other")
	require.Equal(t, f.omoi("project", "list").out, f.omoi("project", "list").out)
	got := f.omoi("project", "update", "app", "--allow-agent-messages")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "true")
	var p client.Project
	requireJSON(t, f.omoi("project", "update", idM[len(idM)-4:], "--allow-agent-messages=false", "--json").out, &p)
	require.False(t, p.AllowAgentMessages)
	require.Equal(t, []string{idA, idM}, patched)
	requireJSON(t, f.omoi("project", "update", "app", "--setup", "make deps", "--setup-timeout", "5m", "--json").out, &p)
	require.Equal(t, "make deps", p.Setup)
	require.Equal(t, 300, p.SetupTimeoutS)
	require.Equal(t, exit.Usage, f.omoi("project", "update", "app", "--json").code)
	require.Equal(t, exit.Usage, f.omoi("project", "update", "app").code)
	require.Equal(t, exit.Failed, f.omoi("project", "update", "nobody", "--setup", "x").code)
}

// After a lost answer, the error names the command that sends the message again without a duplicate.
func TestSend_RepeatsWithTheIdempotencyKey(t *testing.T) {
	t.Parallel()
	f := atWork(t, client.MessageReceipt{State: client.MessageAccepted})
	tasks := f.url
	var keys []string
	lossy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.Redirect(w, r, tasks+r.URL.String(), http.StatusTemporaryRedirect)
			return
		}
		f.mu.Lock()
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		lost := len(keys) == 1
		f.mu.Unlock()
		if lost {
			w.Header().Set("Content-Length", "100") // the body ends too early
			return
		}
		answer(w, http.StatusOK, client.QueuedMessage{Status: "queued", MessageID: idM})
	}))
	t.Cleanup(lossy.Close)
	f.url = lossy.URL
	got := f.omoi("send", "-", "hello")
	require.NotZero(t, got.code)
	require.Len(t, keys, 1)
	require.NotEmpty(t, keys[0])
	require.Contains(t, got.err, "--idempotency-key "+keys[0])
	require.Zero(t, f.omoi("send", "-", "hello", "--idempotency-key", keys[0]).code)
	require.Zero(t, f.omoi("send", "-", "hello").code)
	require.Equal(t, keys[0], keys[1])
	require.NotEqual(t, keys[0], keys[2])
}
