package client

import "time"

// TaskChange is what may be changed about a task; nil leaves a field alone.
type TaskChange struct {
	Title       *string
	Description *string // only while the task is pending
	Priority    *string
	DeadlineAt  *time.Time
}
