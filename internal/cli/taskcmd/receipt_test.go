package taskcmd_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestReceipt(t *testing.T) {
	t.Parallel()
	f, now := newFake(t), time.Now()
	f.tasks = []client.Task{aTask(idA, task.StatusCompleted)}
	f.boxes = []client.Sandbox{{
		ID: "abcdefghijklmnopqrstuvwxyz", Provider: "daytona", TaskID: idA, Attempt: 1, State: task.SandboxGone, CreatedAt: now,
		ProviderCreatedAt: &now, GoneAt: &now, VerifiedAt: &now, SecondsAlive: 12.34, CostUSD: new(0.5), Cost: &task.Money{Amount: 0.0003, Currency: "EUR"},
	}}
	f.visits = []receipt.AccessSession{{SandboxID: "abcdefghijklmnopqrstuvwxyz", User: "key ops", Kind: "exec", Summary: "ls", Outcome: "exit code 0", StartedAt: now}}
	got := f.omoi("receipt", "-")
	require.Zero(t, got.code, got.err)
	for _, text := range []string{
		"requested", "created", "verified", "12.3s, 0.000300 EUR", "0.000300 EUR, models 0.50 USD", "1 sandbox verified deleted",
		"by key ops in stuvwxyz: exec ls, exit code 0",
	} {
		require.Contains(t, got.out, text)
	}
	require.NotContains(t, got.out, "adopted")
	require.Contains(t, f.omoi("sandbox", "list", "--all").out, "COST")
	var r client.TaskReceipt
	requireJSON(t, f.omoi("receipt", "-", "--json").out, &r)
	require.True(t, r.Verified)
}

func TestShowAndReceipt_UnknownCost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		usd           *float64
		shown, summed string
	}{
		"all of it":  {nil, "  unknown", "models: unknown"},
		"part of it": {new(0.5), "  $0.50 + unknown", "models 0.50 USD + unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, now := newFake(t), time.Now()
			made := aTask(idA, task.StatusCompleted)
			made.Attempts = []client.Attempt{{Number: 1, SandboxID: boxID, Outcome: "completed", CostUSD: c.usd, CostUnknown: true}}
			f.tasks = []client.Task{made}
			f.boxes = []client.Sandbox{{ID: boxID, Provider: task.ProviderLocal, TaskID: idA, Attempt: 1, State: task.SandboxGone, CreatedAt: now, CostUSD: c.usd, CostUnknown: true}}
			require.Contains(t, f.omoi("show", "-").out, c.shown)
			require.Contains(t, f.omoi("receipt", "-").out, c.summed)
		})
	}
}

// A receipt shows a sandbox that reappeared, and stays unverified until its deletion is verified again.
func TestReceipt_ReappearedSandbox(t *testing.T) {
	t.Parallel()
	f, now := newFake(t), time.Now()
	deleted, made := now.Add(-time.Hour), now.Add(-time.Minute)
	f.tasks = []client.Task{aTask(idA, task.StatusCancelled)}
	box := client.Sandbox{
		ID: "abcdefghijklmnopqrstuvwxyz", Provider: "daytona", TaskID: idA, Attempt: 1, State: task.SandboxDeleting,
		ProviderCreatedAt: &made, DeletedAt: &deleted, AdoptedAt: &now,
	}
	f.boxes = []client.Sandbox{box}
	got := f.omoi("receipt", "-")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.out, "reappeared    "+now.Local().Format("2006-01-02 15:04:05.000")+", after its deletion had been verified")
	require.NotContains(t, got.out, "adopted")
	require.Contains(t, got.out, "no: the deletion of 1 sandbox is not verified")
	box.State, box.GoneAt, box.VerifiedAt = task.SandboxGone, &now, &now
	f.boxes = []client.Sandbox{box}
	got = f.omoi("receipt", "-")
	require.Zero(t, got.code)
	require.Contains(t, got.out, "reappeared")
}

// A sandbox that was never created has no lifetime. Lost events are shown.
func TestReceipt_NeverCreatedAndLostEvents(t *testing.T) {
	t.Parallel()
	f, now := newFake(t), time.Now()
	f.tasks = []client.Task{aTask(idA, task.StatusFailed)}
	box := client.Sandbox{ID: "abcdefghijklmnopqrstuvwxyz", Provider: "daytona", TaskID: idA, Attempt: 1, State: task.SandboxCreating}
	f.boxes = []client.Sandbox{box}
	require.Contains(t, f.omoi("receipt", "-").out, "lifetime      not created yet")
	box.State, box.GoneAt, box.VerifiedAt, box.Transport = task.SandboxGone, &now, &now, task.TransportPush
	f.boxes = []client.Sandbox{box}
	got := f.omoi("receipt", "-")
	require.Contains(t, got.out, "lifetime      never created")
	require.Contains(t, got.out, "transport     push (the agent calls the API)\n")
	box.ProviderCreatedAt, box.StartedAt, box.Transport, box.EventsIncomplete = &now, &now, task.TransportPull, true
	f.boxes = []client.Sandbox{box}
	require.Contains(t, f.omoi("receipt", "-").out, "transport     pull (a worker reads the events), incomplete: the last events are lost")
}

// The receipt of an ended task with unverified sandboxes has exit code 1; that of an open task has 0.
func TestReceipt_ExitCodeIfUnverified(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusFailed)}
	f.boxes = []client.Sandbox{{ID: "abcdefghijklmnopqrstuvwxyz", Provider: "local", TaskID: idA, State: task.SandboxDeleting}}
	got := f.omoi("receipt", "-")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.out, "the deletion of 1 sandbox is not verified")
	f.tasks[0].Status = task.StatusRunning
	require.Zero(t, f.omoi("receipt", "-").code)
}

// Before the second absence check the receipt shows its time, not an error.
func TestReceipt_BeforeTheSecondAbsenceCheck(t *testing.T) {
	t.Parallel()
	f, now := newFake(t), time.Now()
	f.tasks = []client.Task{aTask(idA, task.StatusCompleted)}
	f.boxes = []client.Sandbox{{ID: boxID, Provider: task.ProviderDaytona, TaskID: idA, Attempt: 1, State: task.SandboxGone, ProviderCreatedAt: &now, GoneAt: &now}}
	f.visits = []receipt.AccessSession{{SandboxID: boxID, Kind: "exec", Summary: "a"}, {SandboxID: boxID, Kind: "exec", Summary: "b"}}
	got := f.omoi("receipt", "-")
	require.Equal(t, 1, got.code, "it is not verified")
	require.Contains(t, got.out, "not yet: deleted, and the second absence check runs at about "+now.Add(5*time.Minute).Local().Format(time.TimeOnly))
	require.NotContains(t, got.err, "omoi host list")
	require.NotContains(t, got.out, "exec a\n\nSession", "visits stand together")
	require.Contains(t, f.omoi("sandbox", "list").out, "not yet, deleted")
	f.boxes[0].Provider = task.ProviderLocal
	require.Contains(t, f.omoi("receipt", "-").out, "no: the deletion of 1 sandbox is not verified")
}

func TestReceipt_WaitsForTheSecondAbsenceCheckAfterTheEnd(t *testing.T) {
	t.Parallel()
	f, now := newFake(t), time.Now()
	ended := aTask(idA, task.StatusCompleted)
	ended.CompletedAt = &now
	box := client.Sandbox{ID: boxID, Provider: task.ProviderLocal, TaskID: idA, Attempt: 1, State: task.SandboxDeleting, ProviderCreatedAt: &now, EndedAt: &now}
	reads := 0
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/tasks/{id}", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, ended) })
	mux.HandleFunc("GET /api/v1/tasks/{id}/receipt", func(w http.ResponseWriter, _ *http.Request) {
		if reads++; reads == 3 {
			box.State, box.GoneAt, box.VerifiedAt = task.SandboxGone, &now, &now
		}
		r := receipt.New(ended, []client.Sandbox{box}, nil)
		r.LookAgain(5 * time.Minute)
		answer(w, http.StatusOK, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
	got := f.omoi("receipt", idA)
	require.Zero(t, got.code, got.out)
	require.Contains(t, got.out, "1 sandbox verified deleted")
	reads = 3
	box.Provider, box.VerifiedAt = task.ProviderDaytona, nil
	require.Equal(t, 1, f.omoi("receipt", idA).code, "the second look comes minutes later")
	require.Equal(t, 4, reads)
}

// An external sandbox has nothing to verify.
func TestReceipt_ExternalAgent(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusCompleted)}
	f.boxes = []client.Sandbox{{ID: boxID, Provider: task.ProviderExternal, TaskID: idA, Attempt: 1, State: task.SandboxGone}}
	got := f.omoi("receipt", "-")
	require.Zero(t, got.code)
	require.Contains(t, got.out, "nothing to verify")
	require.NotContains(t, got.out, "verified deleted")
}
