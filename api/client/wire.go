package client

import (
	"encoding/json"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
)

// Task is a durable unit of agent work.
type Task = task.Task

// Attempt is one execution of a task in one sandbox.
type Attempt = task.Attempt

// Takeover says which credential an attempt uses in place of a rate limited one.
type Takeover = task.Takeover

// TestRepeat is the repeat of a task's test command by omoi.
type TestRepeat = task.TestRepeat

// TestOutcome is what a [TestRepeat] shows.
type TestOutcome = task.TestOutcome

// TestResult is the result of one run of a test command.
type TestResult = task.TestResult

// Command is a recorded request to change a task, with its receipt.
type Command = task.Command

// Sandbox is a row of the sandbox ledger.
type Sandbox = task.Sandbox

// Event is a stored event of a sandbox.
type Event = event.Event

// Budget limits the usage of a task.
type Budget = task.Budget

// DependsOn lists the dependencies of a task.
type DependsOn = task.DependsOn

// CreateTaskRequest is the body of POST /api/v1/tasks. TicketID, ProjectID or Repo selects its project.
type CreateTaskRequest struct {
	TicketID            string          `json:"ticket_id,omitempty" doc:"Ticket, by ID or key, to which the task is added; give only one of ticket_id, project_id and repo."`
	ProjectID           string          `json:"project_id,omitempty" doc:"Project, by ID or key, in which the task and a new ticket are created."`
	Repo                string          `json:"repo,omitempty" maxLength:"1000" doc:"owner/name or the address of a repository on GitHub, or the absolute path of a local one; its project is found or created."`
	Title               string          `json:"title,omitempty" doc:"1 to 500 characters in one line; default: the beginning of description."`
	Description         string          `json:"description,omitempty" doc:"Instructions for the agent, at most 64 KiB; default: title. One of both is needed."`
	TaskType            string          `json:"task_type,omitempty" maxLength:"100" doc:"Kind of work: letters, digits and _ . -; default: implementation."`
	PhaseID             string          `json:"phase_id,omitempty" maxLength:"50" doc:"Phase of the ticket; default: PHASE_IMPLEMENTATION."`
	Priority            string          `json:"priority,omitempty" doc:"Importance in the queue; default: MEDIUM."`
	Mode                string          `json:"mode,omitempty" doc:"What the agent is for: exploration, implementation or validation; default: by task_type."`
	Agent               string          `json:"agent,omitempty" doc:"One of agents of /api/v1/info; default: by script and sandbox, else the configured one, else the first that works."`
	Provider            string          `json:"provider,omitempty" doc:"Sandbox provider, one of sandboxes of /api/v1/info; default: the configured one, or external for the agent external."`
	Sandbox             string          `json:"sandbox,omitempty" doc:"Alias of provider; if both fields are given, the values must be equal. Default: provider."`
	MaxRetries          *int            `json:"max_retries,omitempty" minimum:"0" maximum:"10" doc:"Attempts that may follow failed ones; default: 3."`
	DeadlineAt          string          `json:"deadline_at,omitempty" minLength:"1" maxLength:"100" doc:"A future time in RFC 3339 with its zone; raises the score of the task in the queue. Default: none."`
	DependsOn           *DependsOn      `json:"dependencies,omitempty" doc:"Tasks that must be completed first; an unknown ID or a cycle is refused. Default: none."`
	Budget              *Budget         `json:"budget,omitempty" doc:"Limits for all attempts together; default: no limits."`
	CheckDuplicates     *bool           `json:"check_duplicates,omitempty" doc:"True: refuse the task with 409 if similar work is open in the project; default: false."`
	SimilarityThreshold *float64        `json:"similarity_threshold,omitempty" minimum:"0" maximum:"1" doc:"Score from which work counts as similar; default: 0.85 for texts, 0.7 for a model."`
	ForceCreate         bool            `json:"force_create,omitempty" doc:"True: create the task even if similar work is open."`
	Validate            *bool           `json:"validate,omitempty" doc:"Whether a validator reviews the work before publish; default: by task_type and project."`
	Execution           json.RawMessage `json:"execution_config,omitempty" doc:"An object with script, command, setup, test_command, env, credentials, force_execute, continuous, wait_for_messages, reads_messages and validator; other keys are kept and ignored."`
	Contract            string          `json:"contract,omitempty" doc:"Task contract as YAML, of which JSON is a part: keys of accepted in /api/v1/tasks/{id}/contract. Default: the same keys of execution_config."`
}

// TaskPreview is what a [CreateTaskRequest] would give. Fields that depend on a value at fault are empty.
type TaskPreview struct {
	Title      string          `json:"title" doc:"Title that the task would have. Empty: errors names the cause."`
	ProjectID  string          `json:"project_id" doc:"Project of the task. Empty: created with the task."`
	Mode       string          `json:"mode" doc:"What the agent is for: exploration, implementation or validation. Empty: errors names the cause."`
	Agent      string          `json:"agent" doc:"Agent runtime that would perform the task. Empty: errors names the cause."`
	Provider   string          `json:"provider" doc:"Sandbox provider in which the attempts would run. Empty: errors names the cause."`
	Continuous bool            `json:"continuous" doc:"True: the agent repeats its work until the checks pass. False: the first completion ends the work."`
	MaxRetries int             `json:"max_retries" doc:"How many failed attempts would be followed by another one."`
	Errors     []ProblemDetail `json:"errors" nullable:"false" doc:"Values for which POST /api/v1/tasks refuses the request. Empty: none is known."`
	Missing    []string        `json:"missing" nullable:"false" doc:"What the agent needs and lacks: sentences with the next step. Empty: nothing is known to be missing."`
	Duplicates DuplicateReport `json:"duplicates" doc:"Open tasks of the project about the same work, compared with similarity_threshold."`
}

// UpdateTaskRequest is the body of PATCH /api/v1/tasks/{id}; null leaves a field unchanged.
type UpdateTaskRequest struct {
	Title       *string `json:"title,omitempty" doc:"New title, 1 to 500 characters in one line. Absent: unchanged."`
	Description *string `json:"description,omitempty" doc:"New instructions for the agent, at most 64 KiB; only while the task is pending. Absent: unchanged."`
	TaskType    *string `json:"task_type,omitempty" maxLength:"100" doc:"New kind of work: letters, digits and _ . -; only while the task is pending. mode and validation_rounds stay. Absent: unchanged."`
	PhaseID     *string `json:"phase_id,omitempty" maxLength:"50" doc:"New phase, as of tickets; only while the task is pending. Absent: unchanged."`
	Priority    *string `json:"priority,omitempty" doc:"Importance in the queue. Absent: unchanged."`
	DeadlineAt  *string `json:"deadline_at,omitempty" maxLength:"100" doc:"New deadline: a future time in RFC 3339 with its zone. Absent: unchanged; a deadline cannot be removed."`
	FixedTaskFields
}

// FixedTaskFields are the fields of [CreateTaskRequest] that PATCH rejects with the reason.
type FixedTaskFields struct {
	TicketID   json.RawMessage `json:"ticket_id,omitempty" doc:"Refused with 409: a task stays in its ticket."`
	ProjectID  json.RawMessage `json:"project_id,omitempty" doc:"Refused with 409: a task stays in its project."`
	Repo       json.RawMessage `json:"repo,omitempty" doc:"Refused with 409: a task stays in its repository."`
	Mode       json.RawMessage `json:"mode,omitempty" doc:"Refused with 409: fixed at creation."`
	Agent      json.RawMessage `json:"agent,omitempty" doc:"Refused with 409: fixed at creation."`
	Provider   json.RawMessage `json:"provider,omitempty" doc:"Refused with 409: fixed at creation."`
	Sandbox    json.RawMessage `json:"sandbox,omitempty" doc:"Refused with 409: alias of provider, fixed at creation."`
	MaxRetries json.RawMessage `json:"max_retries,omitempty" doc:"Refused with 409: fixed at creation."`
	Validate   json.RawMessage `json:"validate,omitempty" doc:"Refused with 409: fixed at creation."`
	Execution  json.RawMessage `json:"execution_config,omitempty" doc:"Refused with 409: fixed at creation."`
	Contract   json.RawMessage `json:"contract,omitempty" doc:"Refused with 409: use PUT /api/v1/tasks/{id}/contract."`
	DependsOn  json.RawMessage `json:"dependencies,omitempty" doc:"Refused with 409: use /api/v1/tasks/{id}/dependencies."`
	Budget     json.RawMessage `json:"budget,omitempty" doc:"Refused with 409: use PUT /api/v1/tasks/{id}/budget."`
}

// TaskFilter selects tasks of a list. Zero values do not filter.
type TaskFilter struct {
	Status   string
	TicketID string
	ID       string // a prefix or a suffix of IDs
	Group    string // a group of tasks, for example needs_you
	Text     string // part of title, key, ID, branch or repository
	ByGroup  bool   // by group, the most urgent first, instead of newest first
	Limit    int    // 1..500; 0 is 100
	Cursor   string // next_cursor of the previous page
}

// ReasonRequest is the body of cancel, fail and retry.
type ReasonRequest struct {
	Reason string `json:"reason,omitempty" maxLength:"2000" doc:"Why, shown to users who read the task later. Default: a fixed text."`
}

// RewindRequest is the body of POST /api/v1/tasks/{id}/rewind.
type RewindRequest struct {
	Checkpoint string `json:"checkpoint" maxLength:"30" doc:"Checkpoint of the task with which the next attempt begins, as <attempt>.<number>, for example 2.14."`
	Reason     string `json:"reason,omitempty" maxLength:"2000" doc:"Why, shown to users who read the task later. Default: a fixed text."`
	// AfterAttempt is for a checkpoint that a user gives.
	AfterAttempt int `json:"after_attempt,omitempty" minimum:"1" maximum:"1000" doc:"Newest attempt that the sender of a given checkpoint knew. 409 task_continued if the task has a newer attempt, or this one has not ended. Default: rewind in any case."`
}

// ForkRequest is the body of POST /api/v1/tasks/{id}/fork.
type ForkRequest struct {
	Checkpoint string `json:"checkpoint" maxLength:"30" doc:"Checkpoint of the task with which the fork begins, as <attempt>.<number>, for example 2.14."`
	Text       string `json:"text,omitempty" doc:"What is different: added to the description of the task, with which it has at most 64 KiB. Default: the same instructions."`
	Agent      string `json:"agent,omitempty" doc:"Agent runtime, one of agents of /api/v1/info; another one than that of the task starts a new session. Default: that of the task."`
	Model      string `json:"model,omitempty" maxLength:"200" doc:"Model for the agent, as its variable MODEL. Default: that of the task, or of another agent."`
}

// ReviewRequest is the body of POST /api/v1/tasks/{id}/verdict.
type ReviewRequest struct {
	Passed          bool     `json:"passed" doc:"True publishes the work as it is; false asks for a revision, or fails the task after its last round."`
	Feedback        string   `json:"feedback,omitempty" doc:"What is missing or wrong, for the next agent; required if passed is false."`
	Recommendations []string `json:"recommendations,omitempty" maxItems:"100" doc:"Proposed changes for the next agent, one each."`
}

// CommandResult is the result of cancel, fail, retry, rewind and verdict. The command is settled with status 200, in progress with 202.
type CommandResult struct {
	Task       Task    `json:"task" doc:"The task after the command, or as it stands while the command is under way."`
	Command    Command `json:"command" doc:"Receipt of the command: applied with status 200, under way with 202."`
	CommandURL string  `json:"command_url" doc:"Path that returns the command, to poll while its state is accepted."`
}

// TaskEventList is one page of a task's events over all its attempts, oldest first.
type TaskEventList struct {
	Items      []Event     `json:"items" nullable:"false" doc:"Events of all attempts after the cursor, oldest first. Empty: none yet."`
	NextCursor *string     `json:"next_cursor" doc:"Pass as cursor to get the next page: a position in every attempt. null: the task and all attempts have ended, and this is the last page."`
	TaskStatus task.Status `json:"task_status" enum:"pending,assigned,running,pending_validation,validating,needs_revision,completed,failed,cancelled" doc:"Status of the task, read before the events. More values may be added."`
}

// CreateProjectRequest is the body of POST /api/v1/projects.
type CreateProjectRequest struct {
	Key           string          `json:"key,omitempty" maxLength:"10" doc:"Key of the project, which stays: 2 to 10 letters and digits, a letter first; stored in capitals. Default: from the name, numbered if another project has, or had, the key."`
	Name          string          `json:"name,omitempty" maxLength:"255" doc:"Name, 1 to 255 bytes. Default: from repo, numbered if another project has the name."`
	Description   string          `json:"description,omitempty" doc:"Text about the project, at most 64 KiB. Default: none."`
	Repo          string          `json:"repo,omitempty" maxLength:"1000" doc:"Repository: owner/name or URL on GitHub, or the absolute path of a local one. Default: none; then name is required."`
	DefaultBranch string          `json:"default_branch,omitempty" maxLength:"255" doc:"Branch that work starts from and pull requests target. Default: as the repository says."`
	MaxSlots      *int            `json:"max_concurrent_tasks,omitempty" minimum:"0" maximum:"10000" doc:"Concurrency limit; 0: no task starts. Default: task.max_concurrent_per_project, which is 5 unless configured."`
	Autonomous    *bool           `json:"autonomous_execution_enabled,omitempty" doc:"false: tasks that omoi created wait, unless they have force_execute. Default: true."`
	Settings      json.RawMessage `json:"settings,omitempty" doc:"Object of the user. omoi reads validate (boolean: validate the work of tasks), commit_leftovers (boolean: commit what a successful agent leaves uncommitted; default true), repeat_tests (boolean: repeat the test command of a task at the end of its attempts; default true), test_timeout_seconds (number: limit of one run of a repeat; default 600) and model_prices (text: model=input/output in USD per million tokens, comma-separated)."`
	Setup         string          `json:"setup,omitempty" maxLength:"20000" doc:"Shell command that runs in each sandbox before the agent, at most 20000 bytes. Default: none."`
	SetupTimeoutS int             `json:"setup_timeout_seconds,omitempty" minimum:"0" maximum:"14400" doc:"Time limit of setup in seconds, at most task.tool_timeout. Default, and 0: 900."`
	OnFeedback    feedback.Mode   `json:"on_feedback,omitempty" enum:"off,message,revise" doc:"Effect of reviews and failed checks of pull requests: off, none (default); message, the running agent is informed; revise, a task is created too if no agent runs."`
}

// UpdateProjectRequest is the body of PATCH /api/v1/projects/{id}; an absent field stays unchanged.
type UpdateProjectRequest struct {
	Key                json.RawMessage `json:"key,omitempty" doc:"Refused with 409: the key is fixed at creation."`
	Name               *string         `json:"name,omitempty" maxLength:"255" doc:"New name, 1 to 255 bytes. Absent: unchanged."`
	Description        *string         `json:"description,omitempty" doc:"New text about the project, at most 64 KiB. Absent: unchanged."`
	Repo               *string         `json:"repo,omitempty" maxLength:"1000" doc:"Fixed: 409 unless this is the current repository. Create another project for another repository."`
	DefaultBranch      *string         `json:"default_branch,omitempty" maxLength:"255" doc:"Branch that work starts from and pull requests target; empty: as the repository says. Absent: unchanged."`
	MaxSlots           *int            `json:"max_concurrent_tasks,omitempty" minimum:"0" maximum:"10000" doc:"New concurrency limit; 0: no task starts. Absent: unchanged."`
	Paused             *bool           `json:"paused,omitempty" doc:"true: admit no task; false: admit tasks again, while tasks that pause suspended wait for resume. Absent: unchanged."`
	Autonomous         *bool           `json:"autonomous_execution_enabled,omitempty" doc:"false: tasks that omoi created wait, unless they have force_execute. Absent: unchanged."`
	AllowAgentMessages *bool           `json:"allow_agent_messages,omitempty" doc:"true: agents of the project may send messages to each other. Absent: unchanged."`
	AutoSteering       OptionalBool    `json:"auto_steering,omitzero" nullable:"true" doc:"true: the guardian may message, interrupt and replace agents; false: it records only; null: by monitoring.auto_steering. Absent: unchanged."`
	OnFeedback         *feedback.Mode  `json:"on_feedback,omitempty" enum:"off,message,revise" doc:"Effect of reviews and failed checks of pull requests: off, none; message, the running agent is informed; revise, a task is created too if no agent runs. Absent: unchanged."`
	Settings           json.RawMessage `json:"settings,omitempty" doc:"Object that replaces all settings. omoi reads validate and model_prices. Absent: unchanged."`
	Setup              *string         `json:"setup,omitempty" maxLength:"20000" doc:"Shell command that runs in each sandbox before the agent; empty: none. Absent: unchanged."`
	SetupTimeoutS      *int            `json:"setup_timeout_seconds,omitempty" minimum:"0" maximum:"14400" doc:"Time limit of setup in seconds, at most task.tool_timeout; 0: 900. Absent: unchanged."`
}

// UpdateTicketRequest is the body of PATCH /api/v1/tickets/{id}; an absent field stays unchanged.
type UpdateTicketRequest struct {
	Title       *string         `json:"title,omitempty" doc:"What is wanted, in one line of 1 to 500 characters. Absent: unchanged."`
	Description *string         `json:"description,omitempty" doc:"What is wanted, in full; at most 64 KiB. Tasks keep their own descriptions. Absent: unchanged."`
	TicketType  *string         `json:"ticket_type,omitempty" enum:"feature,bug,refactor,docs,test,chore,release" doc:"Kind of change, which decides the prefix of new branches. Absent: unchanged."`
	PhaseID     *string         `json:"phase_id,omitempty" enum:"PHASE_BACKLOG,PHASE_REQUIREMENTS,PHASE_DESIGN,PHASE_IMPLEMENTATION,PHASE_TESTING,PHASE_DEPLOYMENT,PHASE_DONE,PHASE_BLOCKED" doc:"New phase; 409 names the phases that may follow the current one. Absent: unchanged."`
	Priority    *string         `json:"priority,omitempty" enum:"CRITICAL,HIGH,MEDIUM,LOW" doc:"Urgency of the ticket; tasks keep their own. Absent: unchanged."`
	Context     json.RawMessage `json:"context,omitempty" doc:"Object of the user that replaces the current one. Absent: unchanged."`
	FixedTicketFields
}

// FixedTicketFields are the fields of [CreateTicketRequest] that PATCH rejects with the reason.
type FixedTicketFields struct {
	ProjectID json.RawMessage `json:"project_id,omitempty" doc:"Refused with 409: a ticket stays in its project."`
	Repo      json.RawMessage `json:"repo,omitempty" doc:"Refused with 409: a ticket stays in its repository."`
	Task      json.RawMessage `json:"task,omitempty" doc:"Refused with 409: change the task by PATCH /api/v1/tasks/{id}."`
}

// CreateTicketRequest is the body of POST /api/v1/tickets. It also creates the first task of the ticket.
type CreateTicketRequest struct {
	ProjectID           string          `json:"project_id,omitempty" doc:"ID or key of an existing project. Exactly one of project_id and repo is required."`
	Repo                string          `json:"repo,omitempty" maxLength:"1000" doc:"Repository whose project is found or created: owner/name or URL on GitHub, or the absolute path of a local one."`
	Title               string          `json:"title,omitempty" doc:"What is wanted, in one line of 1 to 500 characters. Default: from the description."`
	Description         string          `json:"description,omitempty" doc:"What is wanted, in full; at most 64 KiB. Default: the title."`
	TicketType          string          `json:"ticket_type,omitempty" enum:"feature,bug,refactor,docs,test,chore,release" doc:"Kind of change, which decides the prefix of branch names. Default: feature."`
	PhaseID             string          `json:"phase_id,omitempty" enum:"PHASE_BACKLOG,PHASE_REQUIREMENTS,PHASE_DESIGN,PHASE_IMPLEMENTATION,PHASE_TESTING,PHASE_DEPLOYMENT,PHASE_DONE,PHASE_BLOCKED" doc:"Phase of the ticket and of its first task. Default: PHASE_IMPLEMENTATION."`
	Priority            string          `json:"priority,omitempty" enum:"CRITICAL,HIGH,MEDIUM,LOW" doc:"Urgency of the ticket and of its first task. Default: MEDIUM."`
	Context             json.RawMessage `json:"context,omitempty" doc:"Object of the user, which omoi stores and returns unchanged. Default: empty."`
	CheckDuplicates     *bool           `json:"check_duplicates,omitempty" doc:"true: 409 if an open task of the project is about the same work. Default: true."`
	SimilarityThreshold *float64        `json:"similarity_threshold,omitempty" minimum:"0" maximum:"1" doc:"Similarity, 0 to 1, from which work is a duplicate. Default: 0.85 for texts, 0.7 for a model."`
	ForceCreate         bool            `json:"force_create,omitempty" doc:"Create the ticket even if a duplicate is open. Default: false."`
	Task                *FirstTask      `json:"task,omitempty" doc:"Settings of the first task; project, title, description, phase and priority are those of the ticket."`
}

// FirstTask holds the settings of the first task of a new ticket.
type FirstTask struct {
	TaskType   string          `json:"task_type,omitempty" maxLength:"100" doc:"Kind of work: letters, digits and _ . -; default: implementation."`
	Mode       string          `json:"mode,omitempty" doc:"What the agent is for: exploration, implementation or validation; default: by task_type."`
	Agent      string          `json:"agent,omitempty" doc:"One of agents of /api/v1/info; default: by script and sandbox, else the configured one, else the first that works."`
	Provider   string          `json:"provider,omitempty" doc:"Sandbox provider, one of sandboxes of /api/v1/info; default: the configured one, or external for the agent external."`
	Sandbox    string          `json:"sandbox,omitempty" doc:"Alias of provider; if both fields are given, the values must be equal. Default: provider."`
	MaxRetries *int            `json:"max_retries,omitempty" minimum:"0" maximum:"10" doc:"Attempts that may follow failed ones; default: 3."`
	DeadlineAt string          `json:"deadline_at,omitempty" minLength:"1" maxLength:"100" doc:"A future time in RFC 3339 with its zone; raises the score of the task in the queue. Default: none."`
	Budget     *Budget         `json:"budget,omitempty" doc:"Limits for all attempts together; default: no limits."`
	Execution  json.RawMessage `json:"execution_config,omitempty" doc:"Options of the task, as execution_config of POST /api/v1/tasks; default: none."`
}

// DependencyCycle is the response of check-circular.
type DependencyCycle struct {
	Circular bool     `json:"has_cycle" doc:"Whether the dependencies would lead back to the task."`
	Path     []string `json:"cycle" nullable:"false" doc:"IDs of the tasks in the cycle, the first one again at the end. Empty: no cycle."`
}

// CreateAPIKeyRequest is the body of POST /api/v1/auth/api-keys.
type CreateAPIKeyRequest struct {
	Name      string     `json:"name" minLength:"1" maxLength:"100" doc:"Label that tells keys apart, in one line."`
	Scopes    []string   `json:"scopes,omitempty" enum:"read,write,admin" doc:"What the key permits; each scope includes those before it. Default: write."`
	ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"Future time in RFC 3339 from which the key is rejected. Default: never."`
	User      string     `json:"user,omitempty" maxLength:"100" doc:"Name of the user that the key belongs to, created if missing. Default: the caller."`
}

// CreatedAPIKey is a new API key; Secret is shown this once.
type CreatedAPIKey struct {
	APIKey
	Secret string `json:"secret" doc:"The key to send as X-API-Key or as bearer token. No other answer contains it."`
}

// CreateSessionRequest is the body of POST /api/v1/session.
type CreateSessionRequest struct {
	Key string `json:"key" minLength:"1" maxLength:"1000" doc:"Secret of an API key. No answer repeats it."`
}

// Session is the caller of a request.
type Session struct {
	Name         string     `json:"name" doc:"Who the caller is in receipts, for example key ci."`
	User         string     `json:"user" doc:"Name of the user on whose behalf the caller acts. Empty: none."`
	Scopes       []string   `json:"scopes" nullable:"false" enum:"read,write,admin" doc:"What the caller may do; each scope includes those before it. More values may be added."`
	AuthDisabled bool       `json:"auth_disabled" doc:"true: authentication is disabled, and requests need no credential."`
	ExpiresAt    *time.Time `json:"expires_at" doc:"When the session ends. Null: the request has a credential of its own, or needs none."`
}

// Info describes the server.
type Info struct {
	Version       string   `json:"version" doc:"Version of the server's binary."`
	TemporalUIURL string   `json:"temporal_ui_url" doc:"Base URL of the Temporal Web UI, for links. Empty: not configured."`
	Namespace     string   `json:"temporal_namespace" doc:"Temporal namespace that holds the workflows of the installation."`
	AuthDisabled  bool     `json:"auth_disabled" doc:"true: authentication is disabled, and requests need no credential."`
	Protocol      int      `json:"protocol" doc:"Newest version of the agent protocol that the server supports."`
	Agents        []string `json:"agents" nullable:"false" doc:"Agent runtimes that new tasks can use now, preferred ones first."`
	DefaultAgent  string   `json:"default_agent" doc:"Agent runtime of tasks that name none. Empty: every task must name one."`
	Sandboxes     []string `json:"sandboxes" nullable:"false" doc:"Sandbox providers that new tasks can use now, the default first."`
}

// Dependency is the state of a dependency of the server.
type Dependency struct {
	Name     string `json:"name" doc:"Component that the server needs, for example database, temporal or relay."`
	State    string `json:"state" enum:"ok,down,off" doc:"ok: working; down: failing; off: not configured."`
	Detail   string `json:"detail,omitempty" doc:"What fails, in a sentence. Left out: nothing to say."`
	Next     string `json:"next,omitempty" doc:"Next step for an operator. Left out: none needed."`
	Required bool   `json:"required" doc:"True: without this component the server is not ready."`
}

// Readiness is the response of /readyz.
type Readiness struct {
	Ready        bool         `json:"ready" doc:"true: every required dependency works. false comes with status 503."`
	Dependencies []Dependency `json:"dependencies" nullable:"false" doc:"Result of each check, in a fixed order."`
}

// MessageInterrupt is a message type of [CreateMessageRequest].
const MessageInterrupt = ingest.MessageInterrupt

// CreateMessageRequest is the body of POST /api/v1/sandboxes/{id}/messages.
type CreateMessageRequest struct {
	Content string `json:"content" doc:"Text of 1 byte to 64 KiB, without U+0000."`
	Type    string `json:"message_type,omitempty" enum:"user_message,interrupt,guardian_nudge,system" default:"user_message" doc:"An interrupt stops the current turn of the agent and overtakes other messages; default user_message."`
	Allows  string `json:"allows,omitempty" doc:"Event agent.tool_refused of the sandbox, by its ID or sequence: the agent may run this call once. The first message for the event counts, and Idempotency-Key is ignored. Absent: none."`
}

// QueuedMessage is the response to [CreateMessageRequest].
type QueuedMessage struct {
	Status    string `json:"status" enum:"queued" doc:"Always queued: the message is stored. More values may be added."`
	MessageID string `json:"message_id" doc:"UUID of the message, for its delivery status."`
	SandboxID string `json:"sandbox_id" doc:"Sandbox whose agent receives the message; differs from the path if that named an agent or task."`
}

// LeasedMessage is one element of GET /api/v1/sandboxes/{id}/messages, leased to the consumer for 60 s.
type LeasedMessage struct {
	ID         string    `json:"id" doc:"UUID of the message, for its acknowledgement."`
	Content    string    `json:"content" doc:"Text for the agent, at most 64 KiB."`
	Type       string    `json:"message_type" enum:"user_message,interrupt,guardian_nudge,system" doc:"An interrupt stops the current turn of the agent. More values may be added."`
	Timestamp  time.Time `json:"timestamp" doc:"When the server accepted the message."`
	SenderKind string    `json:"sender_kind,omitempty" enum:"guardian,system,agent" doc:"Kind of sender; absent: a user. More values may be added."`
	SenderID   string    `json:"sender_id,omitempty" doc:"Sandbox ID, if an agent sent the message; absent: no ID is known, or a user sent it."`
	Allows     string    `json:"allows,omitempty" doc:"Field refusal of an agent.tool_refused event, whose call the agent may run once; absent: none."`
}

// CreateEventRequest is the body of POST /api/v1/sandboxes/{id}/events, and one event of a batch.
type CreateEventRequest struct {
	Type          string          `json:"event_type" minLength:"1" maxLength:"100" doc:"Event type, usually category.action, for example agent.tool_use. Unknown types are stored too."`
	Data          json.RawMessage `json:"event_data,omitempty" doc:"An object"`
	Source        string          `json:"source,omitempty" enum:"agent,worker,system" doc:"Sender of the event: the agent, its supervisor (worker), or system; default agent."`
	ClientEventID string          `json:"client_event_id,omitempty" maxLength:"200" doc:"Key of a single event: a duplicate is stored once. Batches ignore the field, since their events are numbered."`
}

// CreateEventBatchRequest is the body of POST /api/v1/sandboxes/{id}/events/batch: the events First, First+1, ... of
// one spool.
type CreateEventBatchRequest struct {
	SpoolID string               `json:"spool_id" minLength:"1" maxLength:"100" doc:"Name that the sender chose for its spool; numbers are contiguous in a spool."`
	First   int64                `json:"first" minimum:"1" doc:"Number of the first event of the batch in its spool; spools begin at 1."`
	Events  []CreateEventRequest `json:"events" nullable:"false" maxItems:"1000" doc:"The events first, first+1, ... of the spool, at most 1,000; empty asks only for the watermark."`
}

// EventBatchResult is the response to [CreateEventBatchRequest]: the events 1..Acknowledged of the spool are stored.
type EventBatchResult struct {
	Acknowledged int64 `json:"acknowledged" doc:"Watermark: events 1 to this number of the spool are committed and need not be sent again."`
	Duplicates   int   `json:"duplicates" doc:"Number of events of this batch that were stored before."`
}

// Problem is the body of every error response, by RFC 9457.
type Problem struct {
	Type     string          `json:"type,omitempty" doc:"Address of the entry of code in the list of errors."`
	Title    string          `json:"title" doc:"Standard text of the HTTP status."`
	Status   int             `json:"status" doc:"HTTP status of the answer, repeated."`
	Detail   string          `json:"detail" doc:"What failed and why, for users. Clients decide by code, never by this text."`
	Code     task.Kind       `json:"code" doc:"Stable identifier of the kind of error, for clients. More values may be added."`
	Instance string          `json:"instance,omitempty" doc:"ID of the request, which the server's log contains too."`
	Errors   []ProblemDetail `json:"errors,omitempty" doc:"Values of the request that are at fault. Absent: no single value is."`

	Acknowledged *int64           `json:"acknowledged,omitempty" doc:"Batches of events with a gap only: events 1 to this number of the spool are stored; continue with the next."`
	MessageID    string           `json:"message_id,omitempty" doc:"Rejected messages only: ID of the stored message, whose delivery status can be read."`
	Duplicates   *DuplicateReport `json:"duplicates,omitempty" doc:"Rejected duplicates only: open tasks about the same work."`
	Question     *Question        `json:"question,omitempty" doc:"Rejected answers only: the question with its first answer."`
}

// ProblemDetail names one error in a request.
type ProblemDetail struct {
	Location string `json:"location" doc:"Place of the value: body.title, query.limit, path.id or header.Idempotency-Key, for example."`
	Message  string `json:"message" doc:"What is wrong with the value, and what is expected."`
	Value    any    `json:"value,omitempty" doc:"The rejected value. Absent: longer than 100 characters, an object or a list."`
}

// States of a [Dependency].
const (
	StateOK   = "ok"
	StateDown = "down"
	StateOff  = "off" // not configured
)

// Health is the response of /health and /healthz.
type Health struct {
	Status  string `json:"status" enum:"ok" doc:"Always ok: the process answers requests."`
	Version string `json:"version" doc:"Version of the server's binary."`
}
