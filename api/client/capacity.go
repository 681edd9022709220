package client

import (
	"context"
	"time"
)

// Capacity is the response of GET /api/v1/capacity.
type Capacity struct {
	RunningTasks     int               `json:"running_tasks" doc:"Number of tasks that hold a slot, from admission until publish ends."`
	ConcurrencyLimit *int              `json:"concurrency_limit" doc:"Concurrency limit of the organization. Null: none."`
	QueuedTasks      int               `json:"queued_tasks" doc:"Number of queued tasks, including tasks that wait for a dependency, a budget or a resume."`
	OldestQueuedAt   *time.Time        `json:"oldest_queued_at" doc:"Since when the oldest queued task waits. Null: none is queued."`
	Paused           bool              `json:"paused" doc:"True: no task starts, since the server runs with ORCHESTRATOR_ENABLED=false."`
	Projects         []ProjectCapacity `json:"projects" nullable:"false" doc:"Projects of the organization, those with the most running tasks first, then those with the most queued tasks; at most 500."`
	Sandboxes        SandboxCapacity   `json:"sandboxes" doc:"Sandboxes that omoi created for the organization and whose deletion is not verified."`
}

// ProjectCapacity is the part of a project in [Capacity].
type ProjectCapacity struct {
	ID               string `json:"id" doc:"Project ID, a UUID."`
	Key              string `json:"key" doc:"Key of the project, for example APP."`
	Name             string `json:"name" doc:"Display name of the project, as chosen by its creator."`
	RunningTasks     int    `json:"running_tasks" doc:"Number of tasks of the project that hold a slot."`
	ConcurrencyLimit int    `json:"concurrency_limit" doc:"Concurrency limit of the project. 0: no task starts."`
	QueuedTasks      int    `json:"queued_tasks" doc:"Number of queued tasks of the project."`
	Paused           bool   `json:"paused" doc:"True: the project admits no task until a user resumes the project."`
}

// SandboxCapacity is the part of the sandboxes in [Capacity].
type SandboxCapacity struct {
	Running            int        `json:"running" doc:"Number of sandboxes whose attempt has not ended."`
	Unverified         int        `json:"unverified" doc:"Number of sandboxes whose attempt has ended and whose deletion is not verified."`
	OldestUnverifiedAt *time.Time `json:"oldest_unverified_at" doc:"When the oldest of these attempts ended. Null: every deletion is verified."`
	Lost               int        `json:"lost" doc:"Number of sandboxes that were lost with their host or provider."`
}

// UsageQuery selects the attempts of [UsageByDay].
type UsageQuery struct {
	Days       int      `query:"days" minimum:"1" maximum:"366" default:"30" doc:"Number of days, of which today is the last."`
	ProjectIDs []string `query:"project_id,explode" doc:"Only attempts at tasks of one of these projects; default: all."`
}

// UsageByDay is the response of GET /api/v1/usage.
type UsageByDay struct {
	Days  []DayUsage `json:"days" nullable:"false" doc:"One entry for each day in UTC, oldest first, also for days without an attempt."`
	Total DayUsage   `json:"total" doc:"Usage of all these days together; day is the first."`
}

// DayUsage is the usage of the attempts that started on a day.
type DayUsage struct {
	Day         string   `json:"day" format:"date" doc:"Day in UTC on which the attempts started."`
	Attempts    int      `json:"attempts" doc:"Number of attempts that started on the day, in all sandboxes."`
	Tokens      int64    `json:"tokens" doc:"Input and output tokens of all models together, as agents report."`
	USD         *float64 `json:"usd" doc:"Cost of models in US dollars, as far as prices are known. Null: unknown."`
	CostUnknown bool     `json:"cost_unknown" doc:"True: a model without a known price was used, and usd leaves its cost out."`
}

// Capacity returns the slots and sandboxes in use.
func (c *Client) Capacity(ctx context.Context) (Capacity, error) {
	return answer[Capacity](ctx, c, call{path: prefix + "/capacity"})
}

// UsageByDay returns the usage of the last days.
func (c *Client) UsageByDay(ctx context.Context, days int) (UsageByDay, error) {
	return answer[UsageByDay](ctx, c, call{path: prefix + "/usage", query: query("days", positive(days))})
}
