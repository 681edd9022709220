package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/task"
)

// Verdict is the result of a validator.
type Verdict struct {
	Passed          bool           `json:"passed"`
	Feedback        string         `json:"feedback"`
	Recommendations []string       `json:"recommendations,omitempty"`
	Evidence        map[string]any `json:"evidence,omitempty"`
}

// Give sends a verdict until the API answers. Repeated verdicts are safe, because the first one of a sandbox counts.
func (e Env) Give(ctx context.Context, v Verdict) error {
	body, err := json.Marshal(struct {
		Verdict

		TaskID string `json:"task_id"`
	}{v, e.Config.TaskID})
	if err != nil {
		return fmt.Errorf("encode the verdict: %w", err)
	}
	answer, err := apiclient.Insist(ctx, func() (apiclient.Answer, error) {
		return e.Line.Post(ctx, "/validation-result", textcut.WithoutNUL(body), false)
	})
	if err == nil && answer.Status != http.StatusOK {
		err = task.Errorf(task.CodeForbidden, "the API rejected the verdict with status %d: %s", answer.Status, textcut.First(string(answer.Body), 500))
	}
	return err
}
