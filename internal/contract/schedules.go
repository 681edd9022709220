package contract

import (
	"strings"
	"time"
)

// CycleRef names a cycle of the guardian or of the conductor: the first run of its workflow.
type CycleRef struct {
	ID string `json:"id"`
}

// Range is a part of a cycle: the sandboxes or organizations with IDs after After and up to Upto, in order.
type Range struct {
	CycleID string `json:"cycle_id"`
	After   string `json:"after,omitempty"`
	Upto    string `json:"upto"`
	Count   int    `json:"count"` // when the cycle began
}

// BegunCycle is the answer of [BeginGuardianCycle] and [BeginConductorCycle].
type BegunCycle struct {
	Agents int     `json:"agents"`
	Ranges []Range `json:"ranges,omitempty"`
}

// CycleProgress is the answer of [AnalyzeAgents] and [AnalyzeOrganizations], and their heartbeat: Upto is the last ID done.
type CycleProgress struct {
	Upto          string `json:"upto,omitempty"`
	Analyzed      int    `json:"analyzed"`
	Fresh         int    `json:"fresh,omitempty"`  // skipped, because the last analysis is recent enough
	Failed        int    `json:"failed,omitempty"` // not analyzed, because of an error
	Interventions int    `json:"interventions,omitempty"`
	Duplicates    int    `json:"duplicates,omitempty"`
}

// CycleReport is the result of a [GuardianWorkflow] or [ConductorWorkflow].
type CycleReport struct {
	ID     string `json:"id"`
	Agents int    `json:"agents"`
	CycleProgress
}

// ReaperTarget is a provider whose sandboxes the reaper lists, and the task queue for that.
type ReaperTarget struct {
	Provider string `json:"provider"`
	Queue    string `json:"queue"`
}

// ListReaperTargetsResult is the answer of [ListReaperTargets].
type ListReaperTargetsResult struct {
	Targets []ReaperTarget `json:"targets,omitempty"`
}

// FindOrphansInput is the input of [FindOrphans]. An empty provider means the ledger.
type FindOrphansInput struct {
	Provider string `json:"provider,omitempty"`
}

// ReconcileTasksResult is the answer of [ReconcileTasks].
type ReconcileTasksResult struct {
	Abandoned int `json:"abandoned"`
}

// PauseIdleReaperResult is the answer of [PauseIdleReaper].
type PauseIdleReaperResult struct {
	Paused bool `json:"paused"`
}

// ReaperReport is the result of a [ReaperWorkflow].
type ReaperReport struct {
	Alive     int    `json:"alive"`
	Orphans   int    `json:"orphans"`
	Abandoned int    `json:"abandoned"`
	Alert     string `json:"alarm,omitempty"`
	Paused    bool   `json:"paused,omitempty"`
}

// RetentionBegun is the answer of [BeginRetention].
type RetentionBegun struct {
	Kinds []RetentionStep `json:"kinds"` // in the order of the pass, without kinds that are kept forever
}

// RetentionStep is the input of [RemoveExpired]: a bounded part of one kind.
type RetentionStep struct {
	Kind   string    `json:"kind"`
	Now    time.Time `json:"now"`
	Before time.Time `json:"before"`          // data of tasks that ended before this is removed
	After  string    `json:"after,omitempty"` // ID of the last task of the step before; only of kinds in repositories
}

// RetentionDone counts what steps of one kind removed.
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

// IdleCode begins the note of a schedule that omoi paused because nothing is left to do.
const IdleCode = "[omoi:idle]"

// NoteIdle is the note with which omoi pauses an idle schedule.
const NoteIdle = IdleCode + " all tasks are final and all sandboxes are verified deleted"

// PausedIdle reports whether the note is of a schedule that omoi paused. Any other note means that an operator paused it.
func PausedIdle(note string) bool { return strings.HasPrefix(note, IdleCode) }
