package taskcmd_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestTicketShow_Diagnosis(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	const ofCheck = "11931f6e-7c2c-7abc-8def-01232222aaaa"
	failed := aTask(idA, task.StatusFailed)
	failed.Why = "Failed after 1 attempt: No compiler."
	found := client.Ticket{
		ID: idB, Title: "Pay by card", Status: "building", Blocked: true, PhaseID: "PHASE_IMPLEMENTATION", TaskIDs: []string{idA}, BlockedWhy: "Task " + idA + " failed: No compiler.",
		Diagnosis: &explain.Diagnosis{
			Kind: explain.DiagnosisTicket, TaskID: idA, Summary: "3 tasks of the ticket failed one after the other.", Cause: "No compiler.",
			Proposal: "Install one.", Command: "omoi why " + idA, Source: "rules", Confidence: 0.8,
			Evidence: []explain.Evidence{{TaskID: idB, Attempt: 1, Sequence: 7, Type: "agent.error", Message: "no compiler"}},
		},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/tickets", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Page[client.Ticket]{Items: []client.Ticket{found, {ID: idM, Title: "Other", TaskIDs: []string{}}, {ID: ofCheck, Title: "omoi check agent", TaskIDs: []string{idC}, IsCheck: true}}})
	})
	mux.HandleFunc("GET /api/v1/tickets/"+idB, func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, found) })
	mux.HandleFunc("GET /api/v1/tasks", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Page[client.Task]{Items: []client.Task{failed, aTask(idM, task.StatusCompleted)}})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL

	got := f.omoi("ticket", "list")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "building, blocked, diagnosed")
	require.Contains(t, got.out, render.Short(idB)+" is blocked: Task 456789ab failed: No compiler.")
	require.NotContains(t, got.out, "omoi check agent")
	require.Contains(t, got.err, "Those of omoi check are hidden. Next: omoi ticket list --all")
	require.Contains(t, f.omoi("ticket", "list", "--all").out, "omoi check agent")
	require.NotContains(t, f.omoi("ticket", "list", "--json").out, ofCheck)
	require.Contains(t, f.omoi("ticket", "list", "-n", "1").err, "There are more")
	require.NotContains(t, f.omoi("ticket", "list", "-n", "2").err, "There are more")
	for _, ref := range []string{idB, idB[:8], render.Short(idB)[:4], "-"} {
		got = f.omoi("ticket", "show", ref)
		require.Zero(t, got.code, got.err)
		require.Contains(t, got.out, "Pay by card")
		require.Contains(t, got.out, "Blocked       Task 456789ab failed: No compiler.")
		require.Contains(t, got.out, "456789ab: Failed after 1 attempt: No compiler.\n\nNext:\n  omoi why 456789ab ")
		require.NotContains(t, got.out, "omoi why "+render.Short(idM), "that has not failed")
		require.Contains(t, got.out, `Diagnosis by rules, confidence 0.8: 3 tasks of the ticket failed one after the other.
  Likely cause: No compiler.
  Proposed: Install one. (omoi why 456789ab)
  event 7 of attempt 1 of task 456755cd  agent.error  no compiler
`)
	}
	var one client.Ticket
	requireJSON(t, f.omoi("ticket", "show", idB, "--json").out, &one)
	require.Equal(t, found.Diagnosis, one.Diagnosis)
	require.Equal(t, exit.Failed, f.omoi("ticket", "show", "ffffeeee").code)
	for _, bad := range [][]string{{"ticket", "show", "ab"}, {"ticket", "show", idA, idB}, {"ticket", "list", "-n", "-1"}} {
		require.Equal(t, exit.Usage, f.omoi(bad...).code, bad)
	}
}
