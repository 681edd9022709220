package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
)

// TestSandboxTask_RevisionFeedback expects that an external agent gets the feedback of a failed verdict until a verdict
// passes.
func TestSandboxTask_RevisionFeedback(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(client.CreateTaskRequest{Repo: goodRepo, Title: "a", Agent: "external"})
	path := "/api/v1/sandboxes/" + w.begin(made) + "/task"
	for result, want := range map[string][]any{
		`{}`: {"", []string{}},
		`{"validation_passed":false,"revision_feedback":"the sum is wrong","revision_recommendations":["add"]}`: {"the sum is wrong", []string{"add"}},
		`{"validation_passed":false,"revision_feedback":"no list","revision_recommendations":{"a":1}}`:          {"no list", []string{}},
		`{"validation_passed":true,"revision_feedback":"of the round before","revision_recommendations":["x"]}`: {"", []string{}},
	} {
		w.exec(`UPDATE tasks SET result = $2 WHERE id = $1`, made.ID, result)
		got := ok[client.SandboxTask](w.call(http.MethodGet, path, nil), http.StatusOK)
		require.Equal(t, want, []any{got.RevisionFeedback, got.RevisionRecommendations}, result)
	}
}
