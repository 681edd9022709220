package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
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
	}{v.storable(), e.Config.TaskID})
	if err != nil {
		return fmt.Errorf("encode the verdict: %w", err)
	}
	for delay := verdictWait; ; delay = min(2*delay, verdictMaxWait) {
		answer, err := e.Line.Post(ctx, "/validation-result", body, false)
		switch {
		case err != nil || retryLater(answer.Status):
		case answer.Status == http.StatusOK:
			return nil
		default:
			return task.Errorf(task.CodeForbidden, "the verdict was refused with status %d: %s", answer.Status, textcut.First(string(answer.Body), 500))
		}
		if err := wait.For(ctx, max(wait.Jitter(delay), answer.RetryAfter)); err != nil {
			return err
		}
	}
}

// storable is the verdict with a sign for each NUL, which commands print and no database column takes.
func (v Verdict) storable() Verdict {
	clean := func(text string) string { return strings.ReplaceAll(text, "\x00", "\uFFFD") }
	v.Feedback, v.Recommendations, v.Evidence = clean(v.Feedback), slices.Clone(v.Recommendations), maps.Clone(v.Evidence)
	for n, text := range v.Recommendations {
		v.Recommendations[n] = clean(text)
	}
	for name, value := range v.Evidence {
		if text, ok := value.(string); ok {
			v.Evidence[name] = clean(text)
		}
	}
	return v
}

// retryLater reports whether an answer says nothing of the verdict itself.
func retryLater(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}
