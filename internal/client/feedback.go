package client

import (
	"context"

	"github.com/omoi-dev/omoi/internal/feedback"
)

// Webhook is what every webhook of GitHub has; each event has more.
type Webhook struct {
	Action string `json:"action,omitempty" doc:"What happened to the thing that the event is called after"`
}

// TaskFeedback returns what was said from outside of the pull request of a task, and what was done about it.
func (c *Client) TaskFeedback(ctx context.Context, id string) (feedback.Story, error) {
	return answer[feedback.Story](ctx, c, call{path: item("tasks", id, "feedback")})
}
