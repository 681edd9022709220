package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/omoi-dev/omoi/internal/pause"
	"github.com/omoi-dev/omoi/internal/task"
)

// Verdict is what an agent says that validates the work of another one.
type Verdict struct {
	Passed          bool           `json:"passed"`
	Feedback        string         `json:"feedback"`
	Recommendations []string       `json:"recommendations,omitempty"`
	Evidence        map[string]any `json:"evidence,omitempty"`
}

// Waits between two tries to give a verdict.
const (
	verdictWait    = 200 * time.Millisecond
	verdictMaxWait = 15 * time.Second
)

// Give gives a verdict. It tries until it is answered: the first one of a sandbox counts, however
// often it is sent.
func (e Env) Give(ctx context.Context, v Verdict) error {
	body, err := json.Marshal(struct {
		Verdict

		TaskID string `json:"task_id"`
	}{v, e.Config.TaskID})
	if err != nil {
		return fmt.Errorf("encode the verdict: %w", err)
	}
	for wait := verdictWait; ; wait = min(2*wait, verdictMaxWait) {
		answer, err := e.Line.Post(ctx, "/validation-result", body, false)
		switch {
		case err != nil || retryLater(answer.Status):
		case answer.Status == http.StatusOK:
			return nil
		default:
			return task.Errorf(task.CodeForbidden, "the verdict was refused with status %d: %s", answer.Status, firstBytes(string(answer.Body), 500))
		}
		if err := pause.For(ctx, max(pause.Jitter(wait), answer.RetryAfter)); err != nil {
			return err
		}
	}
}

// retryLater reports whether an answer says nothing of the verdict itself.
func retryLater(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}
