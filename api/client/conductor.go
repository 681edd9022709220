package client

import (
	"context"

	"github.com/omoi-dev/omoi/internal/conductor"
)

// ConductorAnalysis is one analysis of all active agents of an organization by the conductor.
type ConductorAnalysis = conductor.Analysis

// ConductorStatus is the state of the conductor.
type ConductorStatus struct {
	Running    bool               `json:"running" doc:"True if the conductor's schedule exists and is not paused."`
	PausedIdle bool               `json:"paused_idle" doc:"True if omoi paused the conductor's schedule because all tasks are final; the next task resumes the schedule."`
	Schedule   Schedule           `json:"schedule" doc:"The conductor's schedule in Temporal."`
	LastRunAge *float64           `json:"last_run_age_seconds" doc:"Time since a conductor cycle last ended. Null: none has ended."`
	Last       *ConductorAnalysis `json:"last_analysis,omitempty" doc:"Newest conductor analysis of the caller's organization. Absent: there is none."`
}

// DuplicateReport lists the open tasks that are similar to a proposed task, in the form of the legacy API.
type DuplicateReport struct {
	IsDuplicate bool        `json:"is_duplicate" doc:"Legacy field: whether open work of the project is similar enough."`
	Message     string      `json:"message" doc:"Legacy field: sentence for users with the result of the comparison."`
	Candidates  []Candidate `json:"candidates" nullable:"false" doc:"Legacy field: up to 5 similar tasks, the most similar first."`
	Source      string      `json:"source" enum:"text,model" doc:"What compared the works: text (equal and nearly equal texts only) or model (asked once about the open titles, if no text was nearly equal). More values may be added."`
	Highest     float64     `json:"highest_similarity" doc:"Legacy field: highest score of all compared tasks, 0 to 1."`
}

// Candidate is an open task that is similar to another task.
type Candidate struct {
	TicketID    string  `json:"ticket_id" doc:"Legacy field: ticket of the similar task."`
	TaskID      string  `json:"task_id" doc:"Legacy field: UUID of the similar task."`
	Title       string  `json:"title" doc:"Legacy field: title of the similar task."`
	Description string  `json:"description" doc:"Legacy field: first 300 characters of the description of the similar task."`
	Status      string  `json:"status" doc:"Legacy field: status of the similar task."`
	Similarity  float64 `json:"similarity_score" doc:"Legacy field: similarity of both descriptions, 0 to 1."`
}

// ConductorAnalyses lists conductor analyses, newest first.
func (c *Client) ConductorAnalyses(ctx context.Context, limit int, cursor string) (Page[ConductorAnalysis], error) {
	return answer[Page[ConductorAnalysis]](ctx, c, call{
		path: prefix + "/conductor/analyses", query: query("cursor", cursor, "limit", positive(limit)),
	})
}

// Duplicates lists pairs of tasks about the same work, newest first.
func (c *Client) Duplicates(ctx context.Context, f GuardianFilter) (Page[conductor.Duplicate], error) {
	return answer[Page[conductor.Duplicate]](ctx, c, call{path: prefix + "/conductor/duplicates", query: f.query()})
}
