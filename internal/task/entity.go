package task

import (
	"encoding/json"
	"time"
)

// Task is the row of a task as the API shows it. Pointers are null where nothing is known yet.
type Task struct {
	ID             string `json:"id"`
	OrganizationID string `json:"organization_id"`
	ProjectID      string `json:"project_id"`
	TicketID       string `json:"ticket_id"`
	UserID         string `json:"user_id"` // who asked for it; empty: nobody who is known
	Repo           string `json:"repo"`    // of its project; empty: none

	Title       string          `json:"title"`
	Description string          `json:"description"`
	TaskType    string          `json:"task_type"`
	PhaseID     string          `json:"phase_id"`
	Priority    string          `json:"priority"`
	Mode        string          `json:"mode"`
	Agent       string          `json:"agent"`
	Provider    string          `json:"sandbox"`
	Continuous  bool            `json:"continuous"`
	MaxRetries  int             `json:"max_retries"`
	Rounds      int             `json:"validation_rounds"` // at most; 0: nobody validates its work
	Execution   json.RawMessage `json:"execution_config"`
	Budget      Budget          `json:"budget"`
	DependsOn   DependsOn       `json:"dependencies"`

	Status        Status          `json:"status"`
	Blocked       BlockedReason   `json:"blocked_reason"`
	SandboxID     *string         `json:"sandbox_id"` // of the live attempt
	AssignedAgent *string         `json:"assigned_agent_id"`
	Branch        *string         `json:"branch_name"`
	Base          *string         `json:"base_commit"`
	PullURL       *string         `json:"pull_request_url"`
	PullNumber    *int            `json:"pull_request_number"`
	Result        json.RawMessage `json:"result"`
	ErrorMessage  *string         `json:"error_message"`
	FailureClass  FailureClass    `json:"failure_class"`
	EndReason     Reason          `json:"end_reason"` // why it is over or suspended, for programs; its code is empty where error_message says it alone
	Retries       int             `json:"retry_count"`
	Revisions     int             `json:"revision_count"`
	Replacements  int             `json:"replacement_count"`
	AttemptCount  int             `json:"attempt_count"`

	HoldsSlot     bool       `json:"holds_slot"`
	QueuePosition *int       `json:"queue_position"` // from 1; null: does not wait for a slot
	QueueReason   Reason     `json:"queue_reason"`   // why it waits for a slot; its code is empty where nothing holds it back
	QueuedAt      *time.Time `json:"queued_at"`
	WaitingFor    Reason     `json:"waiting_for"` // what holds an admitted task back, as of the last check; its code is empty where nothing does
	Score         float64    `json:"score"`

	// PendingCommand is the oldest command that is accepted and not settled.
	PendingCommand *Command `json:"pending_command"`
	// Why says in one sentence what the task is doing or waiting for; see [Why].
	Why string `json:"why"`
	// Attempts are oldest first. Lists leave them out, and the reviews.
	Attempts []Attempt `json:"attempts" nullable:"false"`
	// Reviews are the verdicts on its work, the first one first.
	Reviews []Review `json:"validation_reviews" nullable:"false"`

	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
	AssignedAt  *time.Time `json:"assigned_at"`
	StartedAt   *time.Time `json:"started_at"`
	CompletedAt *time.Time `json:"completed_at"`
	DeadlineAt  *time.Time `json:"deadline_at"`
}

// Budget limits what a task may use. Zero means no limit.
type Budget struct {
	Tokens         int64   `json:"tokens,omitempty" minimum:"0" doc:"Input and output tokens together; 0: no limit"`
	USD            float64 `json:"usd,omitempty" minimum:"0" doc:"Money in US dollars; 0: no limit"`
	WallClockS     int64   `json:"wall_clock_s,omitempty" minimum:"0" doc:"Seconds from acceptance to the end; 0: no limit"`
	SandboxSeconds int64   `json:"sandbox_s,omitempty" minimum:"0" doc:"Seconds that its sandboxes live; 0: no limit"`
}

// DependsOn lists the tasks that must be completed before a task may begin.
type DependsOn struct {
	TaskIDs []string `json:"depends_on" nullable:"false" maxItems:"100" doc:"Ids of tasks that must be completed first"`
}

// Attempt is one try of a task in one sandbox.
type Attempt struct {
	Number       int          `json:"number"` // from 1
	SandboxID    string       `json:"sandbox_id"`
	Kind         string       `json:"kind"` // first, retry, revision, replacement, resumed, validation
	StartedAt    time.Time    `json:"started_at"`
	AssignedAt   *time.Time   `json:"assigned_at"`
	EndedAt      *time.Time   `json:"ended_at"`
	Outcome      string       `json:"outcome"` // completed, failed, cancelled, replaced, revised, rejected (by this validator), suspended; empty while it lives
	FailureClass FailureClass `json:"failure_class"`
	Reason       string       `json:"reason"`
	EndReason    Reason       `json:"end_reason"` // the condition behind reason, for programs; its code is empty where reason says it alone
	StopReason   string       `json:"stop_reason"`
	HeadCommit   *string      `json:"head_commit"`
	CostUSD      *float64     `json:"cost_usd"`     // of its models, as far as it is known; null: unknown
	CostUnknown  bool         `json:"cost_unknown"` // a model without a known price was used: cost_usd holds nothing for it
	InputTokens  int64        `json:"input_tokens"`
	OutputTokens int64        `json:"output_tokens"`
	Events       int64        `json:"events"` // newest sequence; its events are 1..events
	Salvage      *Salvage     `json:"salvage"`
	SandboxState SandboxState `json:"sandbox_state"`
	VerifiedAt   *time.Time   `json:"verified_at"` // null: its sandbox is not verified gone
}

// Command is something that was asked of a task, with its receipt.
type Command struct {
	ID        string     `json:"id"`
	TaskID    string     `json:"task_id"`
	Kind      string     `json:"kind"` // start, retry, cancel, fail, complete, verdict
	State     Receipt    `json:"state"`
	Reason    string     `json:"reason"` // why it was refused or too late, or what the asker said
	Sender    string     `json:"sender"`
	CreatedAt time.Time  `json:"created_at"`
	SentAt    *time.Time `json:"sent_at"`
	SettledAt *time.Time `json:"settled_at"`
}

// Last returns the newest attempt; its zero value if there is none.
func (t Task) Last() Attempt {
	if n := len(t.Attempts); n > 0 {
		return t.Attempts[n-1]
	}
	return Attempt{}
}

// SelfConnecting reports whether the agent connects itself: omoi starts no agent program and knows only what the agent reports.
func (t Task) SelfConnecting() bool {
	return RuntimeOf(t.Agent).SelfConnecting
}
