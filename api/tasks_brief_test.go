package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
)

func TestTaskList_TruncatesResults(t *testing.T) {
	t.Parallel()
	w := open(t)
	short, long, list := w.task(newTask()), w.task(newTask()), w.task(newTask())
	w.exec(`UPDATE tasks SET result = '{"output": "all of it", "artifacts": [1, 2]}' WHERE id = $1`, short.ID)
	text := strings.Repeat("é", 1<<20)
	w.exec(`UPDATE tasks SET result = jsonb_build_object('output', $2::text, 'success', true, 'turns', 3, 'artifacts', jsonb_build_array($2::text)) WHERE id = $1`, long.ID, text)
	w.exec(`UPDATE tasks SET result = jsonb_build_array($2::text) WHERE id = $1`, list.ID, text)
	want := map[string]string{
		short.ID: `{"output": "all of it", "artifacts": [1, 2]}`,
		long.ID:  `{"output": "` + text[:400] + `", "success": true, "turns": 3, "truncated": true}`,
		list.ID:  `{"truncated": true}`,
	}
	for _, shown := range ok[client.Page[client.Task]](w.call(http.MethodGet, "/api/v1/tasks", nil), http.StatusOK).Items {
		require.JSONEq(t, want[shown.ID], string(shown.Result))
		delete(want, shown.ID)
	}
	require.Empty(t, want)
	whole := ok[client.Task](w.call(http.MethodGet, "/api/v1/tasks/"+long.ID, nil), http.StatusOK)
	var result struct {
		Output string `json:"output"`
	}
	require.NoError(t, json.Unmarshal(whole.Result, &result))
	require.Equal(t, text, result.Output, "the task itself shows all of it")
}
