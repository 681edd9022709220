package client

import (
	"context"
	"net/http"

	"github.com/omoi-dev/omoi/internal/candidate"
)

// Comparison is the result of comparing tasks that do the same work.
type Comparison = candidate.Comparison

// ComparedTask is one task of a comparison.
type ComparedTask = candidate.ComparedTask

// Recommendation names the work of a comparison to take, or says why there is none.
type Recommendation = candidate.Recommendation

// CreateComparisonRequest is the body of POST /api/v1/comparisons.
type CreateComparisonRequest struct {
	Task       CreateTaskRequest  `json:"task" doc:"What each candidate does, without agent, ticket_id and dependencies. Its budget is that of all candidates together: each gets an equal part, and the whole wall clock."`
	Candidates []CandidateRequest `json:"candidates" nullable:"false" minItems:"2" maxItems:"10" doc:"Who does the work, one task each. The same agent and model may occur several times."`
}

// CandidateRequest names who does the work of a comparison.
type CandidateRequest struct {
	Agent string `json:"agent" minLength:"1" doc:"One of agents of /api/v1/info."`
	Model string `json:"model,omitempty" maxLength:"200" doc:"Model for the agent, which it reads from the variable MODEL. Default: that of execution_config, else that of the agent."`
}

// CreateComparison creates a task for each candidate, all or none. key is that of [Client.CreateTask].
func (c *Client) CreateComparison(ctx context.Context, in CreateComparisonRequest, key string) (out Comparison, made bool, err error) {
	status, err := c.do(ctx, call{method: http.MethodPost, path: prefix + "/comparisons", header: once(key), body: in}, &out)
	return out, status == http.StatusCreated, err
}

// Comparison returns the comparison of the tasks of a ticket; [task.CodeNotFound] if the ticket has no candidates.
func (c *Client) Comparison(ctx context.Context, ticketID string) (Comparison, error) {
	return answer[Comparison](ctx, c, call{path: item("tickets", ticketID, "comparison")})
}
