package taskcmd_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/candidate"
	"github.com/omoi-dev/omoi/internal/task"
)

// compare answers with two candidates: one is completed, the other waits for its budget.
func (f *fakeAPI) compare(w http.ResponseWriter, r *http.Request) {
	var in client.CreateComparisonRequest
	_ = json.NewDecoder(r.Body).Decode(&in)
	f.locked(func() {
		for _, c := range in.Candidates {
			f.asked = append(f.asked, c.Agent+"|"+c.Model)
		}
		f.created = append(f.created, in.Task)
	})
	lines, files, branch := 12, 2, "feature/app-1"
	answer(w, http.StatusCreated, client.Comparison{
		TicketID: idC, TicketKey: "APP-T7", Title: "Fix it", Budget: client.Budget{USD: 6}, Candidates: []client.ComparedTask{
			{Name: "claude:opus", TaskID: idA, TaskKey: "APP-1", Status: task.StatusCompleted, Lines: &lines, Files: &files, Branch: &branch, Tests: &task.TestRepeat{Outcome: task.TestsGreen}},
			{Name: "codex", TaskID: idB, TaskKey: "APP-2", Status: task.StatusPending, Blocked: task.BlockedBudget, Group: task.GroupNeedsYou},
		}, Recommendation: candidate.Recommendation{Why: candidate.WhyOpen, Message: "None yet."},
	})
}

func TestRun_ComparesAgents(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	got := f.omoi("run", "Fix it", "--repo", "acme/app", "--compare", "claude:opus, codex", "--budget-usd", "6")
	require.Zero(t, got.code, got.err)
	require.Equal(t, []string{"claude|opus", "codex|"}, f.asked)
	require.InDelta(t, 6, f.created[0].Budget.USD, 0)
	require.Contains(t, got.out, "12 lines, 2 files")
	require.Contains(t, got.out, "pending (budget)")
	require.Contains(t, got.out, "Budget of all tasks together: $6.00.\nRecommendation: None yet.\nNext: omoi compare APP-T7\n")
	for _, wrong := range []string{"claude", "claude,", "claude:,codex", ""} {
		got = f.omoi("run", "Fix it", "--repo", "acme/app", "--compare", wrong)
		require.Equal(t, 2, got.code, wrong)
		require.Contains(t, got.err, "--compare")
	}
	got = f.omoi("run", "Fix it", "--repo", "acme/app", "--compare", "claude,codex", "--agent", "claude")
	require.Equal(t, 2, got.code)
	got = f.omoi("run", "Fix it", "--repo", "acme/app", "--compare", "claude,codex", "--dry-run")
	require.Contains(t, got.out, "/api/v1/comparisons")
	require.Len(t, f.created, 1, "nothing else was sent")
}
