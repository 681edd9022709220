package client

import "time"

// Schedule is a schedule as Temporal has it.
type Schedule struct {
	ID      string     `json:"id"`
	Exists  bool       `json:"exists"` // no worker has made it yet
	Paused  bool       `json:"paused"`
	Note    string     `json:"note"` // why it is paused
	EveryS  float64    `json:"every_s"`
	LastRun *time.Time `json:"last_run"` // when it last began one; null: never
	NextRun *time.Time `json:"next_run"` // null while it is paused
	Skipped int64      `json:"skipped"`  // because the one before was still under way
	Missed  int64      `json:"missed"`   // while nothing ran, beyond the window in which they are made up for
	Running []string   `json:"running" nullable:"false"`
	// Recent are the newest runs, oldest first, also those that somebody asked for.
	Recent []ScheduleRun `json:"recent" nullable:"false"`
}

// ScheduleRun is a run that a schedule began.
type ScheduleRun struct {
	WorkflowID string    `json:"workflow_id"`
	RunID      string    `json:"run_id"` // the cycle of guardian or conductor has this name
	BeganAt    time.Time `json:"began_at"`
}
