package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestComparison_IsCreatedOnceAndWhole(t *testing.T) {
	t.Parallel()
	w := open(t)
	in := client.CreateComparisonRequest{Task: scriptedTask(), Candidates: []client.CandidateRequest{{Agent: "scripted", Model: "a"}, {Agent: "scripted"}}}
	in.Task.Agent, in.Task.Budget = "", &client.Budget{USD: 3, Tokens: 101}
	const path = "/api/v1/comparisons"
	for field, edit := range map[string]func(*client.CreateComparisonRequest){
		"body.task.agent":         func(in *client.CreateComparisonRequest) { in.Task.Agent = "scripted" },
		"body.task.ticket_id":     func(in *client.CreateComparisonRequest) { in.Task.TicketID = task.NewID() },
		"body.task.dependencies":  func(in *client.CreateComparisonRequest) { in.Task.DependsOn = &client.DependsOn{TaskIDs: []string{}} },
		"body.task.budget.tokens": func(in *client.CreateComparisonRequest) { in.Task.Budget = &client.Budget{Tokens: 1} },
		"body.candidates[1].agent": func(in *client.CreateComparisonRequest) {
			in.Candidates = []client.CandidateRequest{{Agent: "scripted"}, {Agent: "gpt"}}
		},
		"body.candidates[0].model": func(in *client.CreateComparisonRequest) {
			in.Candidates = []client.CandidateRequest{{Agent: "scripted", Model: "a\nb"}, {Agent: "scripted"}}
		},
		"body.candidates": func(in *client.CreateComparisonRequest) { in.Candidates = in.Candidates[:1] },
	} {
		wrong := in
		edit(&wrong)
		w.call(http.MethodPost, path, wrong).refused(http.StatusUnprocessableEntity, field)
	}
	many := in
	many.Candidates = slices.Repeat(in.Candidates[1:], 11)
	w.call(http.MethodPost, path, many).refused(http.StatusUnprocessableEntity, "body.candidates")
	require.Zero(t, w.count(`SELECT count(*) FROM tasks`), "all or none")

	made := ok[client.Comparison](w.call(http.MethodPost, path, in, idempotencyKey, "k"), http.StatusCreated)
	require.Equal(t, []string{"scripted:a", "scripted"}, []string{made.Candidates[0].Name, made.Candidates[1].Name})
	require.Equal(t, task.Budget{USD: 3, Tokens: 100}, made.Budget)
	require.Equal(t, task.Budget{USD: 1.5, Tokens: 50}, made.Candidates[1].Budget)
	require.Equal(t, "open", made.Recommendation.Why)
	again := ok[client.Comparison](w.call(http.MethodPost, path, in, idempotencyKey, "k"), http.StatusOK)
	require.Equal(t, made.TicketID, again.TicketID)
	require.Equal(t, 2, w.count(`SELECT count(*) FROM tasks`))
	other := in
	other.Candidates = in.Candidates[1:]
	other.Candidates = append(other.Candidates, client.CandidateRequest{Agent: "scripted", Model: "c"})
	p := w.call(http.MethodPost, path, other, idempotencyKey, "k").refused(http.StatusConflict, "header.Idempotency-Key")
	require.Equal(t, task.KindKeyReused, p.Code)
	got := ok[client.Comparison](w.call(http.MethodGet, "/api/v1/tickets/"+made.TicketKey+"/comparison", nil), http.StatusOK)
	require.Equal(t, made.TicketID, got.TicketID)

	single := w.task(scriptedTask())
	w.call(http.MethodGet, "/api/v1/tickets/"+single.TicketID+"/comparison", nil).refused(http.StatusNotFound, "")

	forged := scriptedTask()
	forged.Repo, forged.TicketID = "", made.TicketID
	forged.Execution = json.RawMessage(`{"candidate": {"model": "c"}, ` + string(forged.Execution[1:]))
	require.NotContains(t, string(w.task(forged).Execution), "candidate")
	require.Len(t, ok[client.Comparison](w.call(http.MethodGet, "/api/v1/tickets/"+made.TicketID+"/comparison", nil), http.StatusOK).Candidates, 2)
}

// TestComparison_OneBaseCommit gives all candidates the head that the base branch of their project has at the creation.
func TestComparison_OneBaseCommit(t *testing.T) {
	t.Parallel()
	w := open(t)
	const path = "/api/v1/comparisons"
	in := client.CreateComparisonRequest{Task: scriptedTask(), Candidates: []client.CandidateRequest{{Agent: "scripted"}, {Agent: "scripted"}}}
	in.Task.Agent = ""
	requireBase := func(want string) {
		t.Helper()
		for _, c := range ok[client.Comparison](w.call(http.MethodPost, path, in), http.StatusCreated).Candidates {
			require.Equal(t, want, *ok[client.Task](w.call(http.MethodGet, "/api/v1/tasks/"+c.TaskID, nil), http.StatusOK).Base)
		}
	}
	requireBase("head of ")
	project := ok[client.Page[client.Project]](w.call(http.MethodGet, "/api/v1/projects", nil), http.StatusOK).Items[0]
	change := func(branch string) {
		t.Helper()
		ok[client.Project](w.call(http.MethodPatch, "/api/v1/projects/"+project.ID, map[string]any{"default_branch": branch}), http.StatusOK)
	}
	change("release")
	requireBase("head of release")
	in.Task.Repo, in.Task.ProjectID = "", project.ID
	requireBase("head of release")
	change("gone")
	before := w.count(`SELECT count(*) FROM tasks`)
	w.call(http.MethodPost, path, in).refused(http.StatusUnprocessableEntity, "body.branch")
	require.Equal(t, before, w.count(`SELECT count(*) FROM tasks`))
	in.Task.ProjectID = task.NewID()
	w.call(http.MethodPost, path, in).refused(http.StatusUnprocessableEntity, "body.project_id")
}

// TestComparison_AForkIsNotACandidate forks a candidate: the fork is in the ticket, and not in the comparison.
func TestComparison_AForkIsNotACandidate(t *testing.T) {
	t.Parallel()
	w := open(t)
	in := client.CreateComparisonRequest{Task: scriptedTask(), Candidates: []client.CandidateRequest{{Agent: "scripted"}, {Agent: "scripted"}}}
	in.Task.Agent = ""
	made := ok[client.Comparison](w.call(http.MethodPost, "/api/v1/comparisons", in), http.StatusCreated)
	first := ok[client.Task](w.call(http.MethodGet, "/api/v1/tasks/"+made.Candidates[0].TaskID, nil), http.StatusOK)
	w.checkpoint(w.begin(first), 1, 0, "one")
	fork := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks/"+first.ID+"/fork", `{"checkpoint":"1.1"}`), http.StatusCreated)
	require.Equal(t, made.TicketID, fork.TicketID)
	var config map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(fork.Execution, &config))
	require.NotContains(t, config, "candidate")
	got := ok[client.Comparison](w.call(http.MethodGet, "/api/v1/tickets/"+made.TicketID+"/comparison", nil), http.StatusOK)
	require.Len(t, got.Candidates, 2)
}
