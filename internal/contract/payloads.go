package contract

import (
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// TaskInput is the input of a [TaskWorkflow].
type TaskInput struct {
	TaskID string `json:"task_id"`
	// CommandID is the command (start or retry) that this chain of runs carries out.
	CommandID string `json:"command_id"`
	// SearchAttributes is true if the namespace has omoi's search attributes. It is recorded, so that replay does not depend on it.
	SearchAttributes bool `json:"search_attributes,omitempty"`
	// Title is the key and the scrubbed title, of at most 120 bytes, for summaries.
	Title string `json:"title,omitempty"`
	// Checkpoint with which the next attempt begins, if the command is a rewind; see [LoadedTask].
	Checkpoint string `json:"checkpoint,omitempty"`
	// State is carried over by continue-as-new.
	State *TaskState `json:"state,omitempty"`
}

// TaskStateVersion is the newest version of [TaskState].
const TaskStateVersion = 1

// TaskState is what a task carries over a continue-as-new. It is frozen: fields are
// only added, and old ones are decoded in tests.
type TaskState struct {
	Version int          `json:"version"`
	RunID   string       `json:"run_id,omitempty"` // run that wrote the state
	Ordinal int64        `json:"ordinal"`
	Judge   task.State   `json:"judge"`
	Task    LoadedTask   `json:"task"`
	Attempt *LiveAttempt `json:"attempt,omitempty"`
	Watch   WatchState   `json:"watch"`
}

// WatchState is where the watch over a live attempt stands. Times are the workflow's.
type WatchState struct {
	Seen           int64     `json:"seen"` // events up to this sequence are applied
	Assigned       time.Time `json:"assigned"`
	LastHeartbeat  time.Time `json:"last_heartbeat"`
	LastWork       time.Time `json:"last_work"`
	HeartbeatSeen  time.Time `json:"heartbeat_seen"` // newest event and newest work, by the database's clock
	WorkSeen       time.Time `json:"work_seen"`
	Waiting        time.Time `json:"waiting"` // zero unless the agent waits for messages
	NotBefore      time.Time `json:"not_before"`
	Started        bool      `json:"started,omitempty"`
	Unknown        int       `json:"unknown,omitempty"`         // consecutive unknown observations
	Uncertainty    string    `json:"uncertainty,omitempty"`     // reason of the last of them
	Finished       time.Time `json:"finished,omitzero"`         // when a validator was done; its verdict may be on its way
	CheckRequested bool      `json:"check_requested,omitempty"` // the agent may have ended; see [CheckSignal]

	Asked  bool          `json:"asked,omitempty"`  // Waiting is for the answer to a question
	Frozen time.Duration `json:"frozen,omitempty"` // by which the attempt may last longer; see [LoadedSandbox]
}

// CheckSignal is the payload of [SignalCheck]: the sandbox or its agent seems to have ended. The check decides.
type CheckSignal struct {
	SandboxID string `json:"sandbox_id"`
}

// SandboxDeletedSignal is the payload of [SignalSandboxDeleted]: the work is saved as far as possible, and the provider no longer has the
// sandbox. The second absence check is still to come.
type SandboxDeletedSignal struct {
	SandboxID string `json:"sandbox_id"`
}

// TaskRef is the input of [LoadTask].
type TaskRef struct {
	TaskID     string `json:"task_id"`
	FirstRunID string `json:"first_run_id"` // of the chain; a continue-as-new and a reset keep it
	CommandID  string `json:"command_id"`
	// Continues is the run whose state the caller has; empty if it has none.
	Continues string `json:"continues,omitempty"`
}

// LoadedTask is what [LoadTask] knows of a task.
type LoadedTask struct {
	// Settled is the final status if there is nothing left to do, else empty.
	Settled task.Status `json:"settled,omitempty"`
	// Lost is true if another chain of runs has claimed the command.
	Lost bool `json:"lost,omitempty"`
	// Continues is true if the task was not written since the run that the caller continues. Its state is current, and
	// of the other fields only Live and Left are set.
	Continues bool `json:"continues,omitempty"`
	// Reset is true if another run of the same chain wrote the task last: signals and
	// a cancel that are already there were re-applied and are dropped.
	Reset bool `json:"reset,omitempty"`
	// HoldsSlot is true if the task was admitted.
	HoldsSlot bool `json:"holds_slot,omitempty"`

	Title    string `json:"title,omitempty"` // scrubbed, at most 120 bytes
	Project  string `json:"project"`
	Org      string `json:"org"`
	Agent    string `json:"agent"`
	Provider string `json:"provider"`
	HasRepo  bool   `json:"has_repo,omitempty"`

	State   task.State   `json:"state"`
	Ordinal int64        `json:"ordinal"` // of the last projection of this chain
	Branch  string       `json:"branch,omitempty"`
	Base    string       `json:"base,omitempty"` // commit from which the branch began
	Live    *LiveAttempt `json:"live,omitempty"`
	// PublishOnly is true for the retry of a task whose publish failed and whose work is on its branch or saved.
	PublishOnly bool `json:"publish_only,omitempty"`
	// Saved is true if [PublishBranch] can push the saved work of the last attempt to the branch, to be published or validated.
	Saved bool `json:"saved,omitempty"`
	// ForkedFrom names the task and the checkpoint with which a fork begins, for people; empty: not a fork.
	ForkedFrom string `json:"forked_from,omitempty"`
	// Checkpoint is the checkpoint to which the command rewinds the task; empty: none, or its attempt has begun.
	Checkpoint string   `json:"checkpoint,omitempty"`
	Settings   Settings `json:"settings"`
}

// Settings are the durations and limits of one task, read once and frozen in its history.
// All durations are in nanoseconds on the wire, as time.Duration is.
type Settings struct {
	StartupTimeout   time.Duration `json:"startup_timeout"`         // from assignment to agent.started; default 3 min
	HeartbeatTimeout time.Duration `json:"heartbeat_timeout"`       // default 2 min
	NoWorkTimeout    time.Duration `json:"no_work_timeout"`         // default 15 min
	IdleTimeout      time.Duration `json:"idle_timeout"`            // after agent.waiting; default 10 min
	QuestionWait     time.Duration `json:"question_wait,omitempty"` // for the answer to a question, before the task is suspended; default: IdleTimeout
	AttemptTimeout   time.Duration `json:"attempt_timeout"`         // longest duration of an attempt; default 4 h
	ToolTimeout      time.Duration `json:"tool_timeout"`            // of one tool call; default 30 min
	RetryBase        time.Duration `json:"retry_base"`              // first pause after an infrastructure failure; default 5 s
	LimitWait        time.Duration `json:"limit_wait"`              // after a provider limit without a reset time; default 5 min
	CleanupWait      time.Duration `json:"cleanup_wait"`            // how long a task waits for its cleanup; default 2 min
	UnknownRetry     time.Duration `json:"unknown_retry"`           // first pause after an unknown observation; default 10 s
	SpawnTimeout     time.Duration `json:"spawn_timeout"`           // for creating one sandbox; default 10 min
	MaxSignals       int           `json:"max_signals"`             // before continue-as-new; default 2,000
}

// LiveAttempt is an attempt that has started and not ended.
type LiveAttempt struct {
	Number       int    `json:"number"`
	SandboxID    string `json:"sandbox_id"`
	Provider     string `json:"provider"`
	Queue        string `json:"queue"`                   // task queue of the sandbox activities
	LastSequence int64  `json:"last_sequence,omitempty"` // when it was loaded
	Assigned     bool   `json:"assigned,omitempty"`
	Started      bool   `json:"started,omitempty"`
	Pulled       bool   `json:"pulled,omitempty"`    // see [SpawnedSandbox]
	Validates    bool   `json:"validates,omitempty"` // it validates the work of earlier attempts
}

// Projection is the input of [SaveTaskState]: the new state of the task's row. The caller's run and Ordinal fence it; an
// outdated one changes nothing.
type Projection struct {
	TaskID     string             `json:"task_id"`
	FirstRunID string             `json:"first_run_id"`
	Ordinal    int64              `json:"ordinal"`
	Status     task.Status        `json:"status"`
	Blocked    task.BlockedReason `json:"blocked,omitempty"`
	// SandboxID of the live attempt; empty clears it.
	SandboxID  string            `json:"sandbox_id,omitempty"`
	Retries    int               `json:"retries,omitempty"`
	Revisions  int               `json:"revisions,omitempty"`
	Class      task.FailureClass `json:"class,omitempty"`
	ErrorID    string            `json:"error_id,omitempty"` // of a stored error text
	Quotes     bool              `json:"quotes,omitempty"`   // Reason introduces that text
	Reason     string            `json:"reason,omitempty"`   // short sentence, scrubbed, at most 200 characters
	Branch     string            `json:"branch,omitempty"`
	Base       string            `json:"base,omitempty"`
	PullURL    string            `json:"pull_url,omitempty"`
	PullNumber int               `json:"pull_number,omitempty"`
	EndReason  task.Reason       `json:"end_reason,omitzero"` // of a task that failed, was cancelled or is suspended
	Ended      *AttemptEnd       `json:"ended,omitempty"`
	Settle     []Settlement      `json:"settle,omitempty"`
	// Progress is true for a status on which nothing depends. It is written under the ordinal of the last write, so that a
	// later write may replace it; Ended, Settle, ReleaseSlot and RequestSlot are empty.
	Progress    bool `json:"progress,omitempty"`
	ReleaseSlot bool `json:"release_slot,omitempty"`
	RequestSlot bool `json:"request_slot,omitempty"`
}

// AttemptEnd is how an attempt ended.
type AttemptEnd struct {
	Number  int               `json:"number"`
	Outcome string            `json:"outcome"` // completed, failed, cancelled, replaced, revised, rejected, suspended
	Class   task.FailureClass `json:"class,omitempty"`
	Reason  string            `json:"reason,omitempty"`
	Idle    string            `json:"idle,omitempty"` // [IdleStuck] or [IdleTimeout] if the agent did nothing
	// EndReason is the condition behind Reason, for programs. Zero: Reason is text from outside omoi.
	EndReason task.Reason `json:"end_reason,omitzero"`
}

// Values of [AttemptEnd].Idle, from the legacy contract.
const (
	IdleStuck   = "stuck_running" // it sent heartbeats and did no work
	IdleTimeout = "idle_timeout"  // it waited for a message that did not come
)

// Settlement is the outcome of one command.
type Settlement struct {
	CommandID string       `json:"command_id"`
	Receipt   task.Receipt `json:"receipt"`
	Reason    string       `json:"reason,omitempty"`
}

// Projected is the answer of [SaveTaskState].
type Projected struct {
	// Fenced is true if another run, or a later projection, owns the task. The caller ends.
	Fenced bool `json:"fenced,omitempty"`
	// HoldsSlot answers RequestSlot: the task may have been admitted at once.
	HoldsSlot bool `json:"holds_slot,omitempty"`
}

// BeginAttemptInput asks for the attempt of this run and ordinal; asking again answers the same.
type BeginAttemptInput struct {
	TaskID     string `json:"task_id"`
	FirstRunID string `json:"first_run_id"`
	Ordinal    int64  `json:"ordinal"`
	Kind       string `json:"kind"`                  // first, retry, revision, replacement, resumed, rewound, forked, validation
	FeedbackID string `json:"feedback_id,omitempty"` // stored text that the next agent is given
	Checkpoint string `json:"checkpoint,omitempty"`  // with which a rewound attempt begins; empty: the newest
}

// BeginAttemptResult is the answer of [BeginAttempt].
type BeginAttemptResult struct {
	LiveAttempt
	// Wait is set when no host can take the sandbox now, or too many are unverified; ask again after it.
	Wait   time.Duration `json:"wait,omitempty"`
	Reason string        `json:"reason,omitempty"`
	Fenced bool          `json:"fenced,omitempty"`
}

// Command is the payload of [SignalCommand]: a row's id, or kind and args when it comes
// from the temporal CLI.
type Command struct {
	ID     string `json:"id,omitempty"`
	Kind   string `json:"kind"` // cancel, fail, complete, verdict, retry
	Reason string `json:"reason,omitempty"`
}

// Kinds of commands.
const (
	CommandStart    = "start"
	CommandCancel   = "cancel"
	CommandFail     = "fail"
	CommandComplete = "complete"
	CommandVerdict  = "verdict"
	CommandRetry    = "retry"
	CommandReplace  = "replace"
	// CommandPause, CommandBudget and CommandSuspend suspend a task: a user pauses its project at once, a budget is spent, or a user
	// suspends the task. CommandRetry resumes it.
	CommandPause   = "pause"
	CommandBudget  = "budget"
	CommandSuspend = "suspend"
)

// LoadCommandInput is the input of [LoadCommand].
type LoadCommandInput struct {
	TaskID  string  `json:"task_id"`
	Command Command `json:"command"`
	Ordinal int64   `json:"ordinal"` // names the row of a command that came without an id
}

// LoadedCommand is the answer of [LoadCommand].
type LoadedCommand struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Reason  string `json:"reason,omitempty"` // scrubbed, at most 200 characters
	OK      bool   `json:"ok,omitempty"`     // of complete and verdict
	Settled bool   `json:"settled,omitempty"`
	// FeedbackID names the stored text of a failed verdict, or of a replacement.
	FeedbackID string `json:"feedback_id,omitempty"`
	// SandboxID is the sandbox of the attempt that the command refers to; empty: the current attempt.
	SandboxID string `json:"sandbox_id,omitempty"`
	// Checkpoint makes a retry a rewind: the next attempt begins with it.
	Checkpoint string `json:"checkpoint,omitempty"`
	// From is the sandbox that gave a verdict; empty: a user gave it.
	From string `json:"from,omitempty"`
	// EndReason is the condition that Reason renders, for commands of omoi itself.
	EndReason task.Reason `json:"end_reason,omitzero"`
}

// Digest is the payload of [SignalSandboxEvents]: what the events From..To of a sandbox
// mean, without any of their text.
type Digest struct {
	SandboxID     string           `json:"sandbox_id"`
	From          int64            `json:"from"`
	To            int64            `json:"to"`
	Counters      map[string]int64 `json:"counters,omitempty"`      // cumulative, by class of event
	LastHeartbeat time.Time        `json:"last_heartbeat,omitzero"` // the database's clock; any event counts
	LastWork      time.Time        `json:"last_work,omitzero"`
	LastType      string           `json:"last_type,omitempty"`
	// Milestones of the range, in order, all of them.
	Milestones []Milestone `json:"milestones,omitempty"`
	// VerdictDue is true if a verdict of the sandbox is accepted and not settled. Only LoadEvents sets it.
	VerdictDue bool `json:"verdict_due,omitempty"`
}

// Milestone is an event on which the workflow acts.
type Milestone struct {
	Sequence   int64             `json:"sequence"`
	Type       string            `json:"type"`
	OK         bool              `json:"ok,omitempty"` // success, or validation_passed
	Verdict    bool              `json:"verdict,omitempty"`
	Class      task.FailureClass `json:"class,omitempty"`
	StopReason string            `json:"stop_reason,omitempty"`
	ErrorID    string            `json:"error_id,omitempty"`
	ResetAt    time.Time         `json:"reset_at,omitzero"`   // of a provider limit
	EndReason  task.Reason       `json:"end_reason,omitzero"` // that the sandbox reported, without text
	Question   bool              `json:"question,omitempty"`  // a waiting agent asks a user
}

// LoadEventsInput asks for the digest of the events after After.
type LoadEventsInput struct {
	SandboxID string `json:"sandbox_id"`
	After     int64  `json:"after"`
}

// TaskView is the answer of [QueryState].
type TaskView struct {
	TaskID    string             `json:"task_id"`
	Stage     string             `json:"stage"`            // queued, preparing, starting, running, retrying, submitting, publishing, suspended or done
	Detail    string             `json:"detail,omitempty"` // what the stage does or waits for
	Status    task.Status        `json:"status"`
	Blocked   task.BlockedReason `json:"blocked,omitempty"`
	Attempt   int                `json:"attempt,omitempty"`
	SandboxID string             `json:"sandbox_id,omitempty"`
	Branch    string             `json:"branch,omitempty"`
	Seen      int64              `json:"seen"`
	LastEvent string             `json:"last_event,omitempty"`
	Why       string             `json:"why"`
	Retries   int                `json:"retries"`
	Signals   int                `json:"signals"`
}

// TaskResult is the result of a [TaskWorkflow] that did not fail.
type TaskResult struct {
	Status  task.Status `json:"status"`
	Reason  string      `json:"reason,omitempty"`
	Branch  string      `json:"branch,omitempty"`
	PullURL string      `json:"pull_url,omitempty"`
}

// ErrorDetails is the only detail of an activity's application error. The type of the error is Class, or Code if Class is
// empty.
type ErrorDetails struct {
	Class   task.FailureClass `json:"class,omitempty"`
	Code    task.Code         `json:"code"`
	ErrorID string            `json:"error_id,omitempty"` // of the stored full text; empty if it could not be stored
	ResetAt time.Time         `json:"reset_at,omitzero"`  // of a limit: when trying again is of use
	Redo    bool              `json:"redo,omitempty"`     // saved work cannot be published: an attempt has to do it again
	// EndReason is the condition for which the step failed; zero: none that programs know.
	EndReason task.Reason `json:"end_reason,omitzero"`
}
