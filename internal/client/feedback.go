package client

import (
	"context"

	"github.com/omoi-dev/omoi/internal/feedback"
)

// Webhook is what every webhook of GitHub has; each event has more.
type Webhook struct {
	Action string `json:"action,omitempty" doc:"What happened to the thing that the event is called after"`
}

// TaskFeedback is what was said from outside of the pull request of a task.
type TaskFeedback = feedback.Story

// TaskFeedback returns it, and what was done about it.
func (c *Client) TaskFeedback(ctx context.Context, id string) (TaskFeedback, error) {
	return answer[TaskFeedback](ctx, c, call{path: item("tasks", id, "feedback")})
}
