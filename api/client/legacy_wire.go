package client

import "encoding/json"

// The types below keep the form of OmoiOS, for its clients: see the routes below /legacy. Moments have six decimals, as
// Python writes them.

// LegacyTask is one element of the list of tasks.
type LegacyTask struct {
	ID              string  `json:"id" doc:"UUID of the task."`
	TicketID        string  `json:"ticket_id" doc:"Ticket that the task belongs to."`
	PhaseID         string  `json:"phase_id" doc:"Phase of the ticket to which the task belongs."`
	TaskType        string  `json:"task_type" doc:"Kind of work, for example implementation."`
	Title           string  `json:"title" doc:"Short name in one line, 1 to 500 characters."`
	Description     string  `json:"description" doc:"Instructions for the agent, at most 64 KiB."`
	Priority        string  `json:"priority" doc:"CRITICAL, HIGH, MEDIUM or LOW: importance in the queue."`
	Status          string  `json:"status" doc:"Stage of the work, with the names of GET /api/v1/tasks."`
	SandboxID       *string `json:"sandbox_id" doc:"Sandbox of the running attempt; of an ended task the last one. Null: none."`
	AssignedAgentID *string `json:"assigned_agent_id" doc:"ID that the agent reported at its start; before that the sandbox ID. Null: no sandbox yet."`
	CreatedAt       string  `json:"created_at" format:"date-time" doc:"When the server accepted the task."`
}

// UpdateLegacyTaskRequest changes a task in the form of OmoiOS; null leaves a field unchanged.
type UpdateLegacyTaskRequest struct {
	Title        *string `json:"title,omitempty" doc:"New title, 1 to 500 characters in one line. Absent: unchanged."`
	Description  *string `json:"description,omitempty" doc:"New instructions for the agent; only while the task is pending. Absent: unchanged."`
	Priority     *string `json:"priority,omitempty" doc:"New importance in the queue: CRITICAL, HIGH, MEDIUM or LOW. Absent: unchanged."`
	Status       *string `json:"status,omitempty" doc:"failed or cancelled ends the task, saves its work and deletes its sandbox; other values are refused with 422. Absent: unchanged."`
	ErrorMessage string  `json:"error_message,omitempty" doc:"Reason of the end, shown to users. Default: a fixed text."`
}

// LegacyTaskUpdate is the response of PATCH on a task.
type LegacyTaskUpdate struct {
	ID          string `json:"id" doc:"UUID of the task."`
	TicketID    string `json:"ticket_id" doc:"Ticket that the task belongs to."`
	Title       string `json:"title" doc:"Short name in one line, 1 to 500 characters."`
	Description string `json:"description" doc:"Instructions for the agent, at most 64 KiB."`
	Status      string `json:"status" doc:"Status that the request asked for, also while the task is still ending; without one, the current status."`
	Priority    string `json:"priority" doc:"CRITICAL, HIGH, MEDIUM or LOW: importance in the queue."`
	UpdatedAt   string `json:"updated_at" format:"date-time" doc:"Last change of the stored task."`
}

// EndLegacyTaskRequest is the body of fail and cancel in the form of OmoiOS.
type EndLegacyTaskRequest struct {
	Reason string `json:"reason,omitempty" doc:"Why, shown to users who read the task later; at most 2000 bytes. Default: a fixed text."`
}

// LegacyTaskFailed is the response of fail.
type LegacyTaskFailed struct {
	TaskID    string `json:"task_id" doc:"UUID of the task of the path."`
	Status    string `json:"status" doc:"Always failed, also while the work of the task is still saved."`
	Reason    string `json:"reason" doc:"Text of the request, or its default."`
	OldStatus string `json:"old_status" doc:"Status of the task before the request."`
}

// LegacyTaskCancelled is the response of cancel.
type LegacyTaskCancelled struct {
	TaskID    string `json:"task_id" doc:"UUID of the task of the path."`
	Cancelled bool   `json:"cancelled" doc:"Always true: the server accepted the command."`
	Reason    string `json:"reason" doc:"Text of the request, or its default."`
}

// LegacyProject is a project in the form of OmoiOS.
type LegacyProject struct {
	ID              string          `json:"id" doc:"UUID of the project."`
	Name            string          `json:"name" doc:"Unique label in the organization."`
	Description     string          `json:"description" doc:"Text of a user about the project. Empty: none."`
	GitHubOwner     *string         `json:"github_owner" doc:"First part of owner/name of the repository on GitHub. Null: no repository there."`
	GitHubRepo      *string         `json:"github_repo" doc:"Second part of owner/name of the repository on GitHub. Null: no repository there."`
	GitHubConnected bool            `json:"github_connected" doc:"true: the project has a repository on GitHub."`
	DefaultPhaseID  string          `json:"default_phase_id" doc:"Always PHASE_BACKLOG: omoi has no such setting."`
	Status          string          `json:"status" doc:"Always active: deleted projects are not shown."`
	Settings        json.RawMessage `json:"settings" doc:"Object of a user, as in GET /api/v1/projects."`
	Autonomous      bool            `json:"autonomous_execution_enabled" doc:"false: tasks that omoi created wait, unless they have force_execute."`
	CreatedAt       string          `json:"created_at" format:"date-time" doc:"When a user, or the first task of the repository, created the project."`
	UpdatedAt       string          `json:"updated_at" format:"date-time" doc:"When a setting of the project last changed."`
}

// LegacyProjects is the list of projects.
type LegacyProjects struct {
	Projects []LegacyProject `json:"projects" nullable:"false" doc:"At most limit elements after the first offset ones, newest first."`
	Total    int             `json:"total" doc:"Number of elements without limit and offset, of the newest 10000."`
}

// CreateLegacyProjectRequest creates a project in the form of OmoiOS.
type CreateLegacyProjectRequest struct {
	OrganizationID string          `json:"organization_id,omitempty" doc:"Must be the organization of the caller, else 403. Default: that organization."`
	Name           string          `json:"name" doc:"Unique label in the organization, 1 to 255 bytes."`
	Description    string          `json:"description,omitempty" doc:"Text about the project, at most 64 KiB. Default: none."`
	GitHubOwner    string          `json:"github_owner,omitempty" doc:"First part of owner/name of the repository on GitHub. Default: no repository."`
	GitHubRepo     string          `json:"github_repo,omitempty" doc:"Second part of owner/name of the repository on GitHub. Default: no repository."`
	Settings       json.RawMessage `json:"settings,omitempty" doc:"Object of the user, as of POST /api/v1/projects. Default: empty."`
}

// LegacyTicket is a ticket in the form of OmoiOS.
type LegacyTicket struct {
	ID             string `json:"id" doc:"UUID of the ticket."`
	Title          string `json:"title" doc:"What the user wants, in one line."`
	Description    string `json:"description" doc:"What the user wants, in full."`
	PhaseID        string `json:"phase_id" doc:"Phase, which only users change."`
	Status         string `json:"status" doc:"Progress, derived from the statuses of the tasks: backlog, analyzing, building, building-done, testing or done."`
	Priority       string `json:"priority" doc:"CRITICAL, HIGH, MEDIUM or LOW: urgency in the queue."`
	ProjectID      string `json:"project_id" doc:"Project that owns the ticket."`
	ApprovalStatus string `json:"approval_status" doc:"Always approved: tickets of omoi start without an approval."`
}

// LegacyListedTicket is one element of [LegacyTickets].
type LegacyListedTicket struct {
	LegacyTicket
	CreatedAt string `json:"created_at" format:"date-time" doc:"When the ticket and its first task were created."`
}

// LegacyTickets is the list of tickets.
type LegacyTickets struct {
	Tickets []LegacyListedTicket `json:"tickets" nullable:"false" doc:"At most limit elements after the first offset ones, newest first."`
	Total   int                  `json:"total" doc:"Number of elements that the filters select, of the newest 10000."`
}

// CreateLegacyTicketRequest creates a ticket with its first task in the form of OmoiOS.
type CreateLegacyTicketRequest struct {
	Title               string             `json:"title" doc:"What is wanted, in one line of 1 to 500 characters."`
	Description         string             `json:"description,omitempty" doc:"What is wanted, in full; at most 64 KiB. Default: the title."`
	PhaseID             string             `json:"phase_id,omitempty" doc:"Phase of the ticket and of its first task. Default: PHASE_REQUIREMENTS."`
	Priority            string             `json:"priority,omitempty" doc:"CRITICAL, HIGH, MEDIUM or LOW: urgency in the queue. Default: MEDIUM."`
	ProjectID           string             `json:"project_id,omitempty" doc:"UUID or key of an existing project. Default: that of github_owner and github_repo."`
	GitHubOwner         string             `json:"github_owner,omitempty" doc:"First part of owner/name of a repository on GitHub, whose project is found or created. Default: none."`
	GitHubRepo          string             `json:"github_repo,omitempty" doc:"Second part of owner/name of a repository on GitHub. Default: none."`
	CheckDuplicates     *bool              `json:"check_duplicates,omitempty" doc:"true: the response lists similar open tasks instead of a new ticket, if there are any. Default: true."`
	SimilarityThreshold *float64           `json:"similarity_threshold,omitempty" doc:"Score, 0 to 1, from which work counts as similar. Default: 0.85 for texts, 0.7 for a model."`
	ForceCreate         bool               `json:"force_create,omitempty" doc:"true: create the ticket even if similar work is open. Default: false."`
	WorkflowMode        string             `json:"workflow_mode,omitempty" doc:"quick has no effect; spec_driven is refused with 422, since omoi has no such run. Default: none."`
	Dependencies        LegacyDependencies `json:"dependencies,omitzero" doc:"Must be empty, else 422: in omoi, tasks depend on tasks. Default: none."`
}

// LegacyDependencies are dependencies between tickets, which omoi does not have.
type LegacyDependencies struct {
	BlockedBy []string `json:"blocked_by,omitempty" doc:"Must be empty: omoi refuses a ticket that waits for others."`
	Blocks    []string `json:"blocks,omitempty" doc:"Must be empty: omoi refuses a ticket for which others wait."`
}
