package client

import (
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// DiagnosisQuery selects diagnoses; a nil filter selects all.
type DiagnosisQuery struct {
	TaskIDs   []string `query:"task_id,explode" doc:"Only diagnoses of one of these tasks; default: all."`
	TicketIDs []string `query:"ticket_id,explode" doc:"Only diagnoses of one of these tickets and their tasks; default: all."`
	PageRequest
}

// Standing is what readers of events need of a task.
type Standing struct {
	Status task.Status
	Ended  bool // every attempt has ended
	Silent bool // every attempt has ended, and no sandbox reports any more
}

// GuardianQuery selects analyses, interventions or duplicates, newest first.
type GuardianQuery struct {
	TaskIDs []string `query:"task_id,explode" doc:"Only items of these tasks; repeat for several. Absent: all tasks."`
	PageRequest
}

// TicketQuery selects tickets.
type TicketQuery struct {
	ProjectIDs []string `query:"project_id,explode" doc:"Only tickets of these projects; repeat for several. Absent: all projects."`
	PageRequest
}

// PageRequest requests one page of a list, newest first.
type PageRequest struct {
	Limit  int    `query:"limit" default:"100" minimum:"1" maximum:"500" doc:"Maximum number of items on the page."`
	Cursor string `query:"cursor" maxLength:"200" doc:"next_cursor of the previous page. Absent or empty: the first page."`
}

// Page is one page of a list.
type Page[T any] struct {
	Items      []T     `json:"items" nullable:"false" doc:"Items of the page, in the order that the operation states."`
	NextCursor *string `json:"next_cursor" doc:"Pass as cursor to get the next page. null: this is the last page."`
}

// TaskQuery selects tasks of an organization: those with one of the values of each filter. A nil filter selects all.
type TaskQuery struct {
	PageRequest
	Statuses   []string
	PhaseIDs   []string
	HasSandbox *bool
	TicketIDs  []string
	ProjectIDs []string
	Groups     []string
	Agents     []string
	Text       string   // part of title, key, ID, branch or repository, in any case
	ByGroup    bool     // in the order of groups instead of newest first
	IDs        []string // whole IDs
	Fragments  []string // prefixes or suffixes of IDs, or prefixes of their last 8 digits: hexadecimal digits and hyphens
}

// TaskCountQuery selects the tasks of [TaskCounts].
type TaskCountQuery struct {
	ProjectIDs []string `query:"project_id,explode" doc:"Only tasks of one of these projects; default: all."`
	Agents     []string `query:"agent,explode" doc:"Only tasks of one of these agent runtimes; default: all."`
	Text       string   `query:"q" maxLength:"200" doc:"Only tasks with this text in title, key, ID, branch or repository, in any case; default: all."`
}

// TaskCounts is the response of GET /api/v1/tasks/counts.
type TaskCounts struct {
	NeedsYou  int64 `json:"needs_you" doc:"Tasks that only a user lets continue, or whose agents wait for a message."`
	Running   int64 `json:"running" doc:"Tasks with an agent that works or starts."`
	Checking  int64 `json:"checking" doc:"Tasks whose work is validated or revised."`
	Waiting   int64 `json:"waiting" doc:"Queued, blocked and suspended tasks, and tasks between two attempts."`
	Done      int64 `json:"done" doc:"Completed tasks."`
	Failed    int64 `json:"failed" doc:"Tasks that ended with a failure."`
	Cancelled int64 `json:"cancelled" doc:"Tasks that a user or a limit of time ended."`
	Total     int64 `json:"total" doc:"Sum of all groups."`
}

// SandboxQuery selects sandboxes, by the rule of [TaskQuery].
type SandboxQuery struct {
	TaskIDs    []string `query:"task_id,explode" doc:"Only sandboxes of these tasks; repeat the parameter for several"`
	States     []string `query:"state,explode" doc:"Only sandboxes in these states: intended, creating, running, deleting, gone or lost; repeat the parameter for several"`
	Unverified bool     `query:"unverified" doc:"true: only sandboxes that omoi created and whose deletion is not verified; default false"`
	Ended      string   `query:"ended" enum:"true,false" doc:"true: only sandboxes whose attempt has ended; false: only those whose attempt has not; default: all"`
	Bare       bool     // include unmanaged sandboxes
	PageRequest
}

// TaskChange holds the changeable fields of a task; nil leaves a field unchanged.
type TaskChange struct {
	Title       *string
	Description *string // like TaskType and PhaseID only while the task is pending
	TaskType    *string
	PhaseID     *string
	Priority    *string
	DeadlineAt  *time.Time
}
