package contract

import (
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// SandboxRef names a sandbox to the activities that work on it.
type SandboxRef struct {
	TaskID    string `json:"task_id,omitempty"`
	SandboxID string `json:"sandbox_id"`
	Attempt   int    `json:"attempt,omitempty"`
	// Claimed is for [CollectWork]: the agent reported a passed validation of its own, so the branch must show the work.
	Claimed bool `json:"claimed,omitempty"`
	// Completed is for [CollectWork]: the agent reported its end in single-run mode, so the branch or its events must show work.
	Completed bool `json:"completed,omitempty"`
}

// StartAgentInput is the input of [StartAgent].
type StartAgentInput struct {
	SandboxRef
	// Assignment is written once the agent is started, and is answered as [Projected].
	Assignment Projection `json:"assignment"`
}

// BranchInput is the input of [PublishBranch].
type BranchInput struct {
	TaskID string `json:"task_id"`
}

// EnsureBranchInput is the input of [EnsureBranch].
type EnsureBranchInput struct {
	TaskID string `json:"task_id"`
	// Checkpoint is the one with which the next attempt begins, on a new branch if the branch has commits that it lacks. Empty: the
	// newest.
	Checkpoint string `json:"checkpoint,omitempty"`
}

// BranchResult is the answer of [EnsureBranch].
type BranchResult struct {
	Branch string `json:"branch"`
	Base   string `json:"base"`
}

// SpawnedSandbox is the answer of [EnsureSandbox].
type SpawnedSandbox struct {
	ProviderID string   `json:"provider_id,omitempty"`
	Adopted    bool     `json:"adopted,omitempty"`
	Isolation  []string `json:"isolation,omitempty"`
	Pulled     bool     `json:"pulled,omitempty"` // its agent cannot reach the API: see [PullRelayWorkflow]
}

// Questions that a fired timer asks.
const (
	AskStartup   = "startup"
	AskHeartbeat = "heartbeat"
	AskNoWork    = "no_work"
	AskIdle      = "idle"
	AskEnded     = "ended" // requested by a [CheckSignal]; only the end of the agent is an answer
)

// CheckAgentInput is the input of [CheckAgent].
type CheckAgentInput struct {
	SandboxRef
	Question  string        `json:"question"`
	Threshold time.Duration `json:"threshold"`
	Tool      time.Duration `json:"tool"` // maximum duration of one tool call
}

// Answers of [CheckAgent].
const (
	ObservedWorking = "working" // nothing is wrong; check again after Next
	ObservedIdle    = "idle"    // waits for messages longer than allowed
	ObservedStuck   = "stuck"   // sends heartbeats without working
	ObservedSilent  = "silent"  // exists at the provider, and has reported nothing for too long
	ObservedExited  = "exited"  // the agent's process has ended without reporting it
	ObservedGone    = "gone"    // the provider no longer has it
	ObservedUnknown = "unknown" // cannot be determined; ask again
)

// Observation is the answer of [CheckAgent].
type Observation struct {
	Seen         string            `json:"seen"`
	Class        task.FailureClass `json:"class,omitempty"`
	Reason       string            `json:"reason,omitempty"`
	Next         time.Duration     `json:"next,omitempty"`          // when to check again, by the database's clock
	LastSequence int64             `json:"last_sequence,omitempty"` // stored; more than applied means: read the events first
	// EndReason is the condition that Reason renders: why the attempt is over, or why that is unknown.
	EndReason task.Reason `json:"end_reason,omitzero"`
}

// Collected is the answer of [CollectWork].
type Collected struct {
	Head    string `json:"head,omitempty"` // commit on the task's branch afterwards
	Commits int    `json:"commits,omitempty"`
	// RepeatTests is true if [RepeatTests] follows: the task has a test command, and its project repeats it.
	RepeatTests bool `json:"repeat_tests,omitempty"`
}

// RepeatTestsInput is the input of [RepeatTests].
type RepeatTestsInput struct {
	SandboxRef
	Commit string `json:"commit"` // of the work, on the task's branch
}

// RepeatedTests is the answer of [RepeatTests].
type RepeatedTests struct {
	// Outcome is for users of the Temporal Web UI; the workflow does not read it.
	Outcome task.TestOutcome `json:"outcome,omitempty"`
}

// PullInput is the input of [OpenPullRequest].
type PullInput struct {
	TaskID string `json:"task_id"`
}

// PullResult is the answer of [OpenPullRequest]. An empty URL means that the branch has no commits to propose.
type PullResult struct {
	Number int    `json:"number,omitempty"`
	URL    string `json:"url,omitempty"`
}

// CleanupInput starts a [CleanupWorkflow].
type CleanupInput struct {
	SandboxID string `json:"sandbox_id"`
	TaskID    string `json:"task_id,omitempty"`
	Attempt   int    `json:"attempt,omitempty"`
	Reason    string `json:"reason,omitempty"`
	// Notify is the ID of the workflow that gets [SignalSandboxDeleted] if the second absence check comes later than the first.
	Notify string `json:"notify,omitempty"`
}

// LoadedSandbox is the answer of [LoadSandbox].
type LoadedSandbox struct {
	Provider string `json:"provider"`
	Queue    string `json:"queue"`
	// Verify is false for sandboxes that omoi does not create: their deletion is not verified.
	Verify   bool `json:"verify"`
	Salvaged bool `json:"salvaged,omitempty"`
	Verified bool `json:"verified,omitempty"`
	// LongestCreate is how late a lost create may still appear; zero if the provider fences it.
	LongestCreate time.Duration `json:"longest_create,omitempty"`
	SalvageWindow time.Duration `json:"salvage_window"` // default 5 min
	// Lost is true if an operator has declared the host of the sandbox lost.
	Lost bool `json:"lost,omitempty"`
	// Pickup is how long work may lie on Queue before the sandbox is loaded again; default 30 s.
	Pickup time.Duration `json:"pickup,omitempty"`
	Pulled bool          `json:"pulled,omitempty"` // see [SpawnedSandbox]
	// Frozen is how long the sandbox was frozen since its attempt was assigned.
	Frozen time.Duration `json:"frozen,omitempty"`
}

// VerifyDeletedResult is the answer of [VerifyDeleted].
type VerifyDeletedResult struct {
	Gone bool `json:"gone"`
}

// RecordSandboxStateInput is the input of [RecordSandboxState].
type RecordSandboxStateInput struct {
	SandboxID string `json:"sandbox_id"`
	Event     string `json:"event"` // deleting, gone, verified, lost, salvage_lost (unreachable: nothing could be saved)
}

// CleanupReceipt is the result of a [CleanupWorkflow].
type CleanupReceipt struct {
	SandboxID string `json:"sandbox_id"`
	Salvage   string `json:"salvage"` // none, ref, patch, lost
	Verified  bool   `json:"verified"`
	// Unread is true if the spool could not be read to the end, so that events may be lost with the sandbox.
	Unread bool `json:"unread,omitempty"`
}

// SalvageResult is the answer of [Salvage].
type SalvageResult struct {
	Kind  string `json:"kind"`
	Files int    `json:"files,omitempty"`
}

// Orphan is a sandbox without a running attempt.
type Orphan struct {
	CleanupInput
}

// Orphans is the answer of [FindOrphans].
type Orphans struct {
	Orphans []Orphan `json:"orphans,omitempty"`
	// Alert is set if most existing sandboxes look like orphans. The reaper then cleans up none.
	Alert string `json:"alarm,omitempty"`
	Alive int    `json:"alive"`
}
