package taskcmd_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestTicketsShowWhatWasFoundOfThem(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	found := client.Ticket{
		ID: idB, Title: "Pay by card", Status: "building", Blocked: true, PhaseID: "PHASE_IMPLEMENTATION", TaskIDs: []string{idA},
		Diagnosis: &task.Diagnosis{
			Kind: task.DiagnosisTicket, TaskID: idA, What: "3 tasks of the ticket failed one after the other.", Cause: "No compiler.",
			Proposal: "Install one.", Command: "omoi why " + idA, SpokenBy: "rules", Confidence: 0.8, Evidence: []task.Sign{},
		},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/tickets", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Page[client.Ticket]{Items: []client.Ticket{found, {ID: idM, Title: "Other", TaskIDs: []string{}}}})
	})
	mux.HandleFunc("GET /api/v1/tickets/"+idB, func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, found) })
	mux.HandleFunc("GET /api/v1/tasks", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Page[client.Task]{Items: []client.Task{aTask(idA, task.StatusFailed)}})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL

	got := f.omoi("tickets")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "building, blocked, diagnosed")
	require.Contains(t, f.omoi("tickets", "-n", "1").err, "There are more")
	for _, ref := range []string{idB, idB[:8]} {
		got = f.omoi("tickets", ref)
		require.Zero(t, got.code, got.err)
		require.Contains(t, got.out, "Pay by card")
		require.Contains(t, got.out, "failed")
		require.Contains(t, got.out, `Diagnosis, by rules, sure by 0.8: 3 tasks of the ticket failed one after the other.
  Likely cause: No compiler.
  Proposed: Install one. (omoi why 456789ab)
`)
	}
	var one client.Ticket
	requireJSON(t, f.omoi("tickets", idB, "--json").out, &one)
	require.Equal(t, found.Diagnosis, one.Diagnosis)
	require.Equal(t, exit.Failed, f.omoi("tickets", "ffffeeee").code)
	for _, bad := range [][]string{{"tickets", "ab"}, {"tickets", idA, idB}, {"tickets", "-n", "-1"}} {
		require.Equal(t, exit.Usage, f.omoi(bad...).code, bad)
	}
}
