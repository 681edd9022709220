package client

import (
	"context"
	"encoding/json"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/task"
)

// OptionalBool is a change of a setting that has a default: no change, true, false, or back to the default. In JSON the
// last one is null.
type OptionalBool struct {
	Named bool  // false: the setting stays unchanged
	To    *bool // nil: the default
}

// Choose returns a change of a setting to a value.
func Choose(to bool) OptionalBool { return OptionalBool{Named: true, To: &to} }

// MarshalJSON writes true, false or null; the zero value is omitted.
func (c OptionalBool) MarshalJSON() ([]byte, error) { return json.Marshal(c.To) }

// UnmarshalJSON is called if the field is present.
func (c *OptionalBool) UnmarshalJSON(raw []byte) error {
	c.Named = true
	return json.Unmarshal(raw, &c.To)
}

// Project is a repository and its settings.
type Project struct {
	ID                 string `json:"id" doc:"Project ID, a UUID."`
	Key                string `json:"key" doc:"Short name, for example APP: fixed at creation, unique in the organization. Accepted wherever a project ID is."`
	OrganizationID     string `json:"organization_id" doc:"ID of the organization that owns the project."`
	Name               string `json:"name" doc:"Name, unique in the organization."`
	Description        string `json:"description" doc:"Text of a user about the project. Empty: none."`
	Repo               string `json:"repo" doc:"Repository: owner/name on GitHub, or the absolute path of a local one. Empty: none."`
	DefaultBranch      string `json:"default_branch" doc:"Branch that work starts from and pull requests target. Empty: as the repository says."`
	MaxSlots           int    `json:"max_concurrent_tasks" doc:"Concurrency limit: tasks that may hold a slot at once. 0: no task starts."`
	Paused             bool   `json:"paused" doc:"true: the project admits no task until a user resumes the project."`
	Autonomous         bool   `json:"autonomous_execution_enabled" doc:"false: tasks that omoi created wait, unless they have force_execute."`
	AllowAgentMessages bool   `json:"allow_agent_messages" doc:"true: agents of the project may send messages to each other."`
	AutoSteering       *bool  `json:"auto_steering" doc:"true: the guardian may message, interrupt and replace agents; false: it records only; null: by monitoring.auto_steering."`

	OnFeedback    feedback.Mode   `json:"on_feedback" enum:"off,message,revise" doc:"Effect of reviews and failed checks of pull requests: off, none; message, the running agent is informed; revise, a task is created too if no agent runs. More values may be added."`
	Settings      json.RawMessage `json:"settings" doc:"Object of a user. omoi reads validate (boolean) and model_prices (text), and keeps other keys."`
	Setup         string          `json:"setup" doc:"Shell command that runs in each sandbox before the agent. Empty: none."`
	SetupTimeoutS int             `json:"setup_timeout_seconds" doc:"Time limit of setup in seconds, at most task.tool_timeout. 0: 900."`
	CreatedAt     time.Time       `json:"created_at" doc:"When a user, or the first task of the repository, created the project."`
	UpdatedAt     time.Time       `json:"updated_at" doc:"When a setting of the project last changed."`
}

// ProjectDeletion is the preview of a project's deletion.
type ProjectDeletion struct {
	Project     Project    `json:"project" doc:"Project that would be deleted."`
	OpenTasks   []OpenTask `json:"open_tasks" nullable:"false" doc:"Tasks that prevent the deletion, oldest first: not ended, or with a sandbox that still exists."`
	Credentials []string   `json:"credentials" nullable:"false" doc:"Kinds of the project's own credentials, which the deletion removes."`
	Tasks       int        `json:"tasks" doc:"Number of tasks. The deletion keeps them with their events, receipts and costs."`
	Tickets     int        `json:"tickets" doc:"Number of tickets. The deletion keeps them."`
}

// OpenTask names a task that prevents a deletion.
type OpenTask struct {
	ID     string      `json:"id" doc:"Task ID, a UUID."`
	Key    string      `json:"key" doc:"Key of the task, for example APP-12."`
	Title  string      `json:"title" doc:"What the task is about, in one line."`
	Status task.Status `json:"status" doc:"Current status. A final one: a sandbox of the task is still being deleted."`
}

// ProjectPause is a request to pause or resume a project.
type ProjectPause struct {
	OrganizationID string
	ProjectID      string
	Now            bool // suspends running tasks too
	Reason         string
	Sender         string
}

// longestName is the maximum length of a project's name, in bytes.
const longestName = 255

// NameOfRepo returns the default name of a repository's project: the folder of a local repository, owner/name of
// another one.
func NameOfRepo(repo string) string {
	name := strings.TrimSuffix(repo, ".git")
	if strings.HasPrefix(name, "/") {
		name = path.Base(name)
	}
	return strings.ToValidUTF8(name[:min(len(name), longestName)], "")
}

// NumberedName returns the nth candidate for a name that must be unique: the name itself, then name-2, name-3 and so
// on.
func NumberedName(name string, n int) string {
	if n == 1 {
		return name
	}
	suffix := "-" + strconv.Itoa(n)
	return strings.ToValidUTF8(name[:min(len(name), longestName-len(suffix))], "") + suffix
}

// PauseRequest is the body of POST /api/v1/projects/{id}/pause and resume.
type PauseRequest struct {
	Now    bool   `json:"now,omitempty" doc:"Pause only: suspend running tasks too; their work is saved, and resume continues them. Default: false."`
	Reason string `json:"reason,omitempty" maxLength:"2000" doc:"Why, recorded with each task that is suspended or resumed. Default: a fixed text."`
}

// PauseResult is the response to [PauseRequest].
type PauseResult struct {
	Project            Project  `json:"project" doc:"The project after the change."`
	TaskIDs            []string `json:"task_ids" nullable:"false" doc:"Running tasks that were asked to suspend, or suspended tasks that were asked to resume. Empty: none."`
	InstallationPaused bool     `json:"installation_paused" doc:"true: no task of any project starts, since the server runs with ORCHESTRATOR_ENABLED=false."`
}

// PauseProject stops the admission of a project's tasks; with Now it also suspends running tasks.
func (c *Client) PauseProject(ctx context.Context, id string, in PauseRequest) (PauseResult, error) {
	return answer[PauseResult](ctx, c, call{method: http.MethodPost, path: item("projects", id, "pause"), body: in})
}

// ResumeProject ends a pause.
func (c *Client) ResumeProject(ctx context.Context, id string, in PauseRequest) (PauseResult, error) {
	return answer[PauseResult](ctx, c, call{method: http.MethodPost, path: item("projects", id, "resume"), body: in})
}

// Organization owns projects. Its plan, or a limit of its own, limits the number of concurrent tasks.
type Organization struct {
	ID               string `json:"id" doc:"Organization ID, a UUID."`
	Name             string `json:"name" doc:"Name, unique in the installation."`
	Plan             string `json:"plan" enum:"free,pro,lifetime,team,enterprise,unlimited" doc:"Tier with its concurrency limit: free 1, pro 3, lifetime 5, team 10, enterprise and unlimited none. More values may be added."`
	MaxSlots         *int   `json:"max_concurrent_tasks" doc:"Concurrency limit of the organization itself, which precedes that of its plan. null: by plan; 0: no task starts."`
	ConcurrencyLimit *int   `json:"concurrency_limit" doc:"Concurrency limit in effect: max_concurrent_tasks, else that of the plan. null: none."`
	RunningTasks     int    `json:"running_tasks" doc:"Number of tasks that hold a slot, from admission until publish ends."`
	QueuedTasks      int    `json:"queued_tasks" doc:"Number of queued tasks, including tasks that wait for a dependency, a budget or a resume."`
	Paused           bool   `json:"paused" doc:"true: no task starts, since the server runs with ORCHESTRATOR_ENABLED=false."`
}

// UpdateOrganizationRequest is the body of PATCH /api/v1/organizations/{id}. An absent field stays unchanged.
type UpdateOrganizationRequest struct {
	Plan     *string `json:"plan,omitempty" nullable:"false" enum:"free,pro,lifetime,team,enterprise,unlimited" doc:"New tier. Absent: unchanged."`
	MaxSlots *int    `json:"max_concurrent_tasks,omitempty" minimum:"-1" maximum:"10000" nullable:"false" doc:"New concurrency limit of the organization itself. -1 removes the limit; absent: unchanged."`
}

// Organizations returns the caller's organization; all organizations for admins of the installation.
func (c *Client) Organizations(ctx context.Context) ([]Organization, error) {
	return all[Organization](ctx, c, prefix+"/organizations")
}

// PatchOrganization changes an organization; [task.CodeForbidden] except for admins of the installation.
func (c *Client) PatchOrganization(ctx context.Context, id string, in UpdateOrganizationRequest) (Organization, error) {
	return answer[Organization](ctx, c, call{method: http.MethodPatch, path: item("organizations", id), body: in})
}
