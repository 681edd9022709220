package task

import (
	"encoding/json"
	"time"
)

// Task is the row of a task as the API returns it. Unknown values are null.
type Task struct {
	ID             string `json:"id" doc:"UUID of the task."`
	Key            string `json:"key" doc:"Short name: the key of the project and a number, for example APP-12. Accepted wherever a task ID is."`
	OrganizationID string `json:"organization_id" doc:"Organization that owns the task."`
	ProjectID      string `json:"project_id" doc:"Project of the task: repository, limits and credentials come from the project."`
	TicketID       string `json:"ticket_id" doc:"Ticket that the task belongs to; created with the task if the request named none."`
	UserID         string `json:"user_id" doc:"User who created the task, and whose credentials the task uses first. Empty: unknown."`
	Repo           string `json:"repo" doc:"Repository of the project: owner/name, or the absolute path of a local one. Empty: none."`

	Title       string          `json:"title" doc:"Short name in one line, 1 to 500 characters."`
	Description string          `json:"description" doc:"Instructions for the agent, at most 64 KiB."`
	TaskType    string          `json:"task_type" doc:"Kind of work, for example implementation; sets the default mode and whether the work is validated."`
	PhaseID     string          `json:"phase_id" doc:"Phase of the ticket to which the task belongs."`
	Priority    string          `json:"priority" doc:"CRITICAL, HIGH, MEDIUM or LOW: importance in the queue, and the main part of score."`
	Mode        string          `json:"mode" doc:"What the agent is for: exploration reports, implementation changes the repository, validation reviews."`
	Agent       string          `json:"agent" doc:"Agent runtime that performs the task."`
	Provider    string          `json:"provider" doc:"Sandbox provider in which the attempts run."`
	Continuous  bool            `json:"continuous" doc:"True: the agent repeats its work until the checks pass. False: the first completion ends the work."`
	MaxRetries  int             `json:"max_retries" doc:"Maximum of retry_count: how many failed attempts are followed by another one."`
	Rounds      int             `json:"validation_rounds" doc:"Maximum number of validation rounds. 0: the work is published without validation."`
	Execution   json.RawMessage `json:"execution_config" doc:"Options given at creation, unknown keys included; values of env are hidden."`
	Budget      Budget          `json:"budget" doc:"Limits for all attempts together."`
	DependsOn   DependsOn       `json:"dependencies" doc:"Tasks that must be completed before the task starts."`

	Status        Status          `json:"status" doc:"Stage of the task; completed, failed and cancelled are final, and the last two can be retried."`
	Group         Group           `json:"group" doc:"Who acts next: needs_you is a task that only a user lets continue, or whose agent waits for a message. Each task has exactly one group."`
	Blocked       BlockedReason   `json:"blocked_reason" doc:"Why a pending task is suspended or blocked. Empty: neither."`
	SandboxID     *string         `json:"sandbox_id" doc:"Sandbox of the running attempt; of an ended task the last one. Null: none."`
	AssignedAgent *string         `json:"assigned_agent_id" doc:"ID that the agent reported at its start; before that the sandbox ID. Null: no sandbox yet."`
	Branch        *string         `json:"branch_name" doc:"Branch that holds the work. Null: not created."`
	Base          *string         `json:"base_commit" doc:"Commit from which the branch starts. Null: not decided yet; forks and tasks of a comparison have it before their branch."`
	Earlier       []string        `json:"earlier_branches" nullable:"false" doc:"Branches that the task had before a rewind behind published commits, oldest first. They and their pull requests stay as they were."`
	ForkedFrom    *ForkedFrom     `json:"forked_from" doc:"Checkpoint of another task with which the task began. Null: not a fork."`
	Continues     string          `json:"continues" doc:"Key of the completed task whose branch and pull request this task continues, for comments or feedback. Empty: none; empty in lists."`
	ContinuedBy   string          `json:"continued_by" doc:"Key of the task that continues the branch and pull request of this one. Empty: none; empty in lists."`
	PullURL       *string         `json:"pull_request_url" doc:"Web address of the pull request. Null: not opened."`
	PullNumber    *int            `json:"pull_request_number" doc:"Number of the pull request in its repository. Null: not opened."`
	Result        json.RawMessage `json:"result" doc:"What the agent and the validators reported, for example output and validation_passed. Null: nothing yet. Lists shorten results above 2 KiB and mark them with truncated."`
	ErrorMessage  *string         `json:"error_message" doc:"Sentence that says why the task failed, was cancelled, or waits for a rate limit. Null: none of these."`
	FailureClass  FailureClass    `json:"failure_class" doc:"Kind of failure, which decides what follows. Empty: no failure."`
	EndReason     Reason          `json:"end_reason" doc:"Condition behind error_message, for programs. Empty code: error_message alone says the reason."`
	Retries       int             `json:"retry_count" doc:"Attempts that started because the one before failed."`
	Revisions     int             `json:"revision_count" doc:"Attempts that started because a verdict asked for changes."`
	Replacements  int             `json:"replacement_count" doc:"Attempts that the guardian replaced."`
	AttemptCount  int             `json:"attempt_count" doc:"Number of the newest attempt. 0: none started."`

	HoldsSlot     bool       `json:"holds_slot" doc:"Whether the task counts against the concurrency limits: from admission until publish ends."`
	QueuePosition *int       `json:"queue_position" doc:"Place among the queued tasks of the project, from 1, for the first 20. Null: further back, not ready or not queued."`
	QueueReason   Reason     `json:"queue_reason" doc:"Why the task waits for a slot. Empty code: not queued, or not evaluated yet."`
	QueuedAt      *time.Time `json:"queued_at" doc:"Since when the task waits for a slot. Null: not queued."`
	WaitingFor    Reason     `json:"waiting_for" doc:"What holds an admitted task back, as of the last check. Empty code: nothing."`
	Score         float64    `json:"score" doc:"Urgency in the queue, from priority, waiting time, deadline_at, dependents and retries; the highest is admitted first. 0: not ready."`

	Question       *Question    `json:"question" doc:"Open question of the agent to a user. Null: none."`
	PendingCommand *Command     `json:"pending_command" doc:"Oldest accepted command that is not settled. Null: none."`
	Why            string       `json:"why" doc:"One sentence for users: what the task is doing or waiting for."`
	Said           string       `json:"-"` // what an agent that waits for a message said last
	Loaded         bool         `json:"-"` // a workflow has loaded the task
	Attempts       []Attempt    `json:"attempts" nullable:"false" doc:"All attempts, oldest first; empty in lists."`
	Reviews        []Validation `json:"validation_reviews" nullable:"false" doc:"Verdicts on the work, first round first; empty in lists."`

	CreatedAt   time.Time  `json:"created_at" doc:"When the task was accepted."`
	UpdatedAt   time.Time  `json:"updated_at" doc:"Last change of the task."`
	AssignedAt  *time.Time `json:"assigned_at" doc:"When the first agent was assigned. Null: not yet."`
	StartedAt   *time.Time `json:"started_at" doc:"When the first agent reported its start. Null: not yet."`
	CompletedAt *time.Time `json:"completed_at" doc:"When the task ended, in whatever final status. Null: not ended."`
	DeadlineAt  *time.Time `json:"deadline_at" doc:"Wanted time of completion, which raises score; nothing is stopped at that time. Null: none."`
}

// ForkedFrom names the checkpoint of another task with which a fork began.
type ForkedFrom struct {
	TaskID     string   `json:"task_id" doc:"Task of the checkpoint, which may be deleted by now."`
	TaskKey    string   `json:"task_key" doc:"Key of that task, for example APP-12."`
	Checkpoint string   `json:"checkpoint" doc:"Checkpoint in that task, for example 2.14; in the fork it is 0.14."`
	Branches   []string `json:"branches" nullable:"false" doc:"Branches of that task when the fork was created, oldest first. Empty: no repository."`
}

// String returns task and checkpoint, for example "APP-12 2.14"; empty: the task is not a fork.
func (f *ForkedFrom) String() string {
	if f == nil {
		return ""
	}
	return f.TaskKey + " " + f.Checkpoint
}

// Budget limits what a task may use. Zero means no limit.
type Budget struct {
	Tokens         int64   `json:"tokens,omitempty" minimum:"0" doc:"Input and output tokens of all models together. 0: no limit."`
	USD            float64 `json:"usd,omitempty" minimum:"0" doc:"Cost of models in US dollars, as far as prices are known. 0: no limit."`
	WallClockS     int64   `json:"wall_clock_s,omitempty" minimum:"0" doc:"Seconds from creation to the end. 0: no limit."`
	SandboxSeconds int64   `json:"sandbox_s,omitempty" minimum:"0" doc:"Lifetime of all sandboxes together, in seconds. 0: no limit."`
}

// DependsOn lists the tasks that must complete before a task may start.
type DependsOn struct {
	TaskIDs []string `json:"depends_on" nullable:"false" maxItems:"100" doc:"IDs of the tasks that must be completed first; requests accept keys too."`
}

// Attempt is one execution of a task in one sandbox.
type Attempt struct {
	Number       int          `json:"number" doc:"Number in the task, from 1."`
	SandboxID    string       `json:"sandbox_id" doc:"Sandbox in which the attempt runs; each attempt has its own."`
	Kind         string       `json:"kind" enum:"first,retry,revision,replacement,resumed,rewound,forked,validation" doc:"Why the attempt started; resumed follows a suspension, rewound began with a checkpoint that a user chose, forked is the first attempt of a fork, validation reviews the work of the attempt before."`
	RestoredFrom string       `json:"restored_from" doc:"Checkpoint of an earlier attempt whose files this attempt began with, for example 1.14; until its agent reports it, the one that a rewind chose. Empty: the files of the branch."`
	StartedAt    time.Time    `json:"started_at" doc:"When the attempt began, before its sandbox existed."`
	AssignedAt   *time.Time   `json:"assigned_at" doc:"When the agent was assigned to the sandbox. Null: not yet."`
	EndedAt      *time.Time   `json:"ended_at" doc:"When the attempt ended. Null: running."`
	Outcome      string       `json:"outcome" enum:",completed,failed,cancelled,replaced,revised,rejected,suspended" doc:"How the attempt ended; revised: a verdict asked for changes, rejected: this validator did. Empty: running."`
	FailureClass FailureClass `json:"failure_class" doc:"Kind of failure. Empty: no failure."`
	Reason       string       `json:"reason" doc:"Sentence for users: why the attempt ended. Empty: running, or nothing to say."`
	EndReason    Reason       `json:"end_reason" doc:"Condition behind reason, for programs. Empty code: reason alone says the condition."`
	StopReason   string       `json:"stop_reason" doc:"Why the agent stopped, as the agent reports; stuck_running or idle_timeout if omoi ended an idle agent. Empty: no report."`
	HeadCommit   *string      `json:"head_commit" doc:"Newest commit of the attempt on the branch. Null: none collected."`
	CostUSD      *float64     `json:"cost_usd" doc:"Cost of the models in US dollars, as far as known. Null: unknown."`
	CostUnknown  bool         `json:"cost_unknown" doc:"True: a model without a known price was used, and cost_usd leaves its cost out."`
	InputTokens  int64        `json:"input_tokens" doc:"Tokens that the models read, as the agent reports."`
	OutputTokens int64        `json:"output_tokens" doc:"Tokens that the models wrote, as the agent reports."`
	Events       int64        `json:"events" doc:"Number of events of the sandbox, and the highest sequence: events are 1 to this number."`
	Salvage      *Salvage     `json:"salvage" doc:"What was saved of uncommitted work. Null: not recorded, for example while the sandbox runs."`
	SandboxState SandboxState `json:"sandbox_state" doc:"State of the sandbox; gone: deleted, lost: unreachable for good."`
	VerifiedAt   *time.Time   `json:"verified_at" doc:"When a second check confirmed that the sandbox is deleted. Null: not verified."`
	Takeover     *Takeover    `json:"credential_takeover" doc:"Credential that the attempt uses because the first one of the same owner and kind was rate limited. Null: the attempt uses the first one, or none."`
	TestRepeat   *TestRepeat  `json:"test_repeat" doc:"Repeat of the test command by omoi in a sandbox of its own, with the tests of the base commit and with those of the work. Null: the task has no test command, the attempt has no commit, or the repeat is not done."`
}

// Command is a recorded request to change a task, with its receipt.
type Command struct {
	ID        string     `json:"id" doc:"UUID of the command."`
	TaskID    string     `json:"task_id" doc:"Task that the command changes."`
	Kind      string     `json:"kind" enum:"start,retry,cancel,fail,complete,verdict,replace,pause,budget,suspend" doc:"Requested change; a rewind is a retry from a checkpoint; start comes with the creation, pause, budget and suspend make the task wait, replace comes from the guardian."`
	State     Receipt    `json:"state" doc:"accepted: under way; carried_out: applied; too_late: the task had moved on; refused: rejected."`
	Reason    string     `json:"reason" doc:"Why the command was rejected or too late; otherwise the reason that the sender gave. May be empty."`
	Sender    string     `json:"sender" doc:"Who sent the command: name of an API key or user, sandbox ID, guardian, omoi, or temporal cli."`
	CreatedAt time.Time  `json:"created_at" doc:"When the command was accepted."`
	SentAt    *time.Time `json:"sent_at" doc:"When the command was handed to the workflow of the task. Null: not yet."`
	SettledAt *time.Time `json:"settled_at" doc:"When state became final. Null: still accepted."`
}

// Last returns the newest attempt, or the zero value.
func (t Task) Last() Attempt {
	if n := len(t.Attempts); n > 0 {
		return t.Attempts[n-1]
	}
	return Attempt{}
}

// SelfConnecting reports whether the agent is external: omoi starts no program and knows only what the agent reports.
func (t Task) SelfConnecting() bool {
	return RuntimeOf(t.Agent).SelfConnecting
}
