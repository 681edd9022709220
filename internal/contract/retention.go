package contract

import "time"

// RetentionBegun is the answer of [BeginRetention].
type RetentionBegun struct {
	Kinds []RetentionStep `json:"kinds"` // in the order of the pass; those that are kept forever are left out
}

// RetentionStep asks [RemoveExpired] for a bounded part of one kind.
type RetentionStep struct {
	Kind   string    `json:"kind"`
	Now    time.Time `json:"now"`
	Before time.Time `json:"before"`          // data of tasks that ended before this is removed
	After  string    `json:"after,omitempty"` // ID of the last task of the step before; only of kinds in repositories
}

// RetentionDone is what steps of one kind removed.
type RetentionDone struct {
	Kind       string `json:"kind"`
	Subjects   int64  `json:"subjects,omitempty"` // sandboxes or tasks
	Rows       int64  `json:"rows,omitempty"`
	Partitions int64  `json:"partitions,omitempty"`
	Failed     int64  `json:"failed,omitempty"` // tasks whose repository could not be changed, or 1 for a step that failed
	After      string `json:"after,omitempty"`
	More       bool   `json:"more,omitempty"` // the pass ended before all was removed
}

// RetentionReport is the result of a retention pass.
type RetentionReport struct {
	Kinds []RetentionDone `json:"kinds"`
}
