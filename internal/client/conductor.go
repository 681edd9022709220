package client

import (
	"context"

	"github.com/omoi-dev/omoi/internal/conductor"
)

// ConductorAnalysis is what the conductor thought of an organization's agents together.
type ConductorAnalysis = conductor.Analysis

// ConductorStatus says how the conductor runs.
type ConductorStatus struct {
	Running    bool               `json:"running"` // the schedule is there and not paused
	Resting    bool               `json:"resting"` // paused, since nobody is at work
	Schedule   Schedule           `json:"schedule"`
	LastRunAge *float64           `json:"last_run_age_seconds"`    // since a cycle came to its end; null: none did
	Last       *ConductorAnalysis `json:"last_analysis,omitempty"` // the newest of the caller's organization
}

// DuplicateReport says which open work is like that which was asked for, in the form of the replaced system.
type DuplicateReport struct {
	IsDuplicate bool        `json:"is_duplicate"`
	Message     string      `json:"message"`
	Candidates  []Candidate `json:"candidates" nullable:"false"` // the most alike first
	Highest     float64     `json:"highest_similarity"`
}

// Candidate is open work that is like another.
type Candidate struct {
	TicketID    string  `json:"ticket_id"`
	TaskID      string  `json:"task_id"`
	Title       string  `json:"title"`
	Description string  `json:"description"` // its beginning
	Status      string  `json:"status"`      // of the task
	Similarity  float64 `json:"similarity_score"`
}

// ConductorAnalyses lists what the conductor thought, newest first.
func (c *Client) ConductorAnalyses(ctx context.Context, limit int, cursor string) (Page[ConductorAnalysis], error) {
	return answer[Page[ConductorAnalysis]](ctx, c, call{
		path: prefix + "/conductor/analyses", query: query("cursor", cursor, "limit", positive(limit)),
	})
}

// Duplicates lists pairs of tasks about the same work, newest first.
func (c *Client) Duplicates(ctx context.Context, f GuardianFilter) (Page[conductor.Duplicate], error) {
	return answer[Page[conductor.Duplicate]](ctx, c, call{path: prefix + "/conductor/duplicates", query: f.query()})
}
