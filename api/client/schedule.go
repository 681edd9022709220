package client

import "time"

// Schedule is a Temporal schedule.
type Schedule struct {
	ID         string     `json:"id" doc:"ID of the schedule in Temporal, for example omoi-guardian."`
	Exists     bool       `json:"exists" doc:"False until a worker has created the schedule; all other fields are empty then."`
	Paused     bool       `json:"paused" doc:"True while the schedule starts no runs by itself."`
	PausedIdle bool       `json:"paused_idle" doc:"True if omoi paused the schedule because all tasks are final; the next task resumes the schedule."`
	Note       string     `json:"note" doc:"Reason of the last pause or resume, with the user. Empty: the schedule was never paused."`
	Interval   float64    `json:"interval_seconds" doc:"Time between two due runs, in seconds."`
	LastRun    *time.Time `json:"last_run_at" doc:"When the schedule last started a run. Null: never."`
	NextRun    *time.Time `json:"next_run_at" doc:"When the next run is due. Null while the schedule is paused."`
	Skipped    int64      `json:"skipped" doc:"Number of due runs that were skipped because the previous run was still in progress."`
	Missed     int64      `json:"missed" doc:"Number of due runs that were missed while Temporal was down, beyond the catch-up window of one period."`
	Running    []string   `json:"running" nullable:"false" doc:"Workflow IDs of the runs in progress."`
	// Recent are the newest runs that Temporal keeps.
	Recent []ScheduleRun `json:"recent" nullable:"false" doc:"Newest runs, oldest first, with those that a user triggered."`
}

// ScheduleRun is one run that a schedule started.
type ScheduleRun struct {
	WorkflowID string    `json:"workflow_id" doc:"Workflow that the schedule started."`
	RunID      string    `json:"run_id" doc:"First run ID of the workflow of workflow_id; also the ID of the guardian or conductor cycle."`
	StartedAt  time.Time `json:"started_at" doc:"When Temporal started the workflow."`
}
