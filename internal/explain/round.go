package explain

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// round counts the round that a task is in; lists know the verdicts so far by the result only.
func round(t task.Task) string {
	var result struct {
		Iteration int `json:"validation_iteration"`
	}
	_ = json.Unmarshal(t.Result, &result) // none yet
	return task.RoundWords(max(result.Iteration, len(t.Reviews))+1, t.Rounds)
}

func whyRevision(t task.Task) string {
	if len(t.Reviews) == 0 {
		return fmt.Sprintf("A validator asked for a revision (%d so far); the next attempt is about to begin.", t.Revisions)
	}
	return strings.TrimRight(t.Reviews[len(t.Reviews)-1].Words(t.Rounds), ".") + ". The next attempt is about to begin."
}
