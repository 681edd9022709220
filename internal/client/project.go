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

// OptionalBool is what a change says of a setting that has a default: nothing, yes, no, or back to the default. In JSON
// the last is null.
type OptionalBool struct {
	Named bool  // else it stays as it is
	To    *bool // nil: the default
}

// Choose names a setting.
func Choose(to bool) OptionalBool { return OptionalBool{Named: true, To: &to} }

// MarshalJSON writes yes, no or null; where nothing is said the field is left out.
func (c OptionalBool) MarshalJSON() ([]byte, error) { return json.Marshal(c.To) }

// UnmarshalJSON is called where the field is there.
func (c *OptionalBool) UnmarshalJSON(raw []byte) error {
	c.Named = true
	return json.Unmarshal(raw, &c.To)
}

// Project is a repository and its settings, as the API shows it.
type Project struct {
	ID             string          `json:"id"`
	OrganizationID string          `json:"organization_id"`
	Name           string          `json:"name"`
	Description    string          `json:"description"`
	Repo           string          `json:"repo"`           // owner/name, or an absolute path for local git; empty: none
	DefaultBranch  string          `json:"default_branch"` // empty: ask the repository
	MaxSlots       int             `json:"max_concurrent_tasks"`
	Paused         bool            `json:"paused"`
	Autonomous     bool            `json:"autonomous_execution_enabled"`
	AgentsMessage  bool            `json:"agents_may_message"` // its agents may write to each other
	AutoSteering   *bool           `json:"auto_steering"`      // the guardian may act; null: as the installation says
	OnFeedback     feedback.Mode   `json:"on_feedback"`        // what is done about reviews and failed checks: off, message, revise
	Settings       json.RawMessage `json:"settings"`
	Setup          string          `json:"setup"`           // shell command before the agent; empty: none
	SetupTimeoutS  int             `json:"setup_timeout_s"` // its limit; 0: the default
	CreatedAt      time.Time       `json:"created_at"`
	UpdatedAt      time.Time       `json:"updated_at"`
}

// ProjectDeletion is the preview of a project's deletion.
type ProjectDeletion struct {
	Project Project `json:"project"`
	// OpenTasks prevent the deletion: they have not ended, or their sandbox still exists.
	OpenTasks []OpenTask `json:"open_tasks" nullable:"false"`
	// Credentials are the kinds of the project's own credentials. They are deleted.
	Credentials []string `json:"credentials" nullable:"false"`
	Tasks       int      `json:"tasks"`   // they stay, with their events, receipts and costs
	Tickets     int      `json:"tickets"` // they stay
}

// OpenTask names a task that prevents a deletion.
type OpenTask struct {
	ID     string      `json:"id"`
	Title  string      `json:"title"`
	Status task.Status `json:"status"`
}

// ProjectPause is what is asked of a project as a whole.
type ProjectPause struct {
	OrganizationID string
	ProjectID      string
	Now            bool // stops what is at work too
	Reason         string
	Sender         string
}

// longestName is the length of the longest name of a project, in bytes.
const longestName = 255

// NameOfRepo is what the project of a repository is called where nobody gives it a name: the folder of a local one,
// owner/name of another.
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

// Halt is the body of POST /api/v1/projects/{id}/pause and resume.
type Halt struct {
	Now    bool   `json:"now,omitempty" doc:"Pause only: stop what is at work too; its work is saved, and resume lets it go on"`
	Reason string `json:"reason,omitempty" maxLength:"2000" doc:"Why, for the people who look at the tasks later"`
}

// Halted is its answer.
type Halted struct {
	Project Project `json:"project"`
	// TaskIDs are the tasks at work that were asked to stop, or those stopped ones that were asked to go on.
	TaskIDs []string `json:"task_ids" nullable:"false"`
	// AllPaused says that no task of anybody begins, whatever the project says: omoi runs with ORCHESTRATOR_ENABLED=false.
	AllPaused bool `json:"all_paused"`
}

// PauseProject lets no task of a project begin; with now those at work are stopped too.
func (c *Client) PauseProject(ctx context.Context, id string, in Halt) (Halted, error) {
	return answer[Halted](ctx, c, call{method: http.MethodPost, path: item("projects", id, "pause"), body: in})
}

// ResumeProject takes a pause back.
func (c *Client) ResumeProject(ctx context.Context, id string, in Halt) (Halted, error) {
	return answer[Halted](ctx, c, call{method: http.MethodPost, path: item("projects", id, "resume"), body: in})
}

// Organization owns projects. Its plan, or a limit of its own, says how many of its tasks may be at work.
type Organization struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Plan     string `json:"plan"`                 // free, pro, lifetime, team, enterprise or unlimited
	MaxSlots *int   `json:"max_concurrent_tasks"` // a limit of its own, which goes before the plan's; null: none
	Limit    *int   `json:"limit"`                // what binds; null: nothing does
	AtWork   int    `json:"at_work"`              // tasks that hold a slot
	Waiting  int    `json:"waiting"`              // tasks that wait for one, or for something else
	Paused   bool   `json:"paused"`
}

// OrganizationPatch is the body of PATCH /api/v1/organizations/{id}. What is absent stays.
type OrganizationPatch struct {
	Plan     *string `json:"plan,omitempty" nullable:"false" doc:"free, pro, lifetime, team, enterprise or unlimited"`
	MaxSlots *int    `json:"max_concurrent_tasks,omitempty" minimum:"-1" maximum:"10000" nullable:"false" doc:"A limit of its own, which goes before the plan's; -1: none"`
}

// Organizations returns the caller's own; all of them for admins of the installation.
func (c *Client) Organizations(ctx context.Context) ([]Organization, error) {
	return answer[[]Organization](ctx, c, call{path: prefix + "/organizations"})
}

// PatchOrganization changes one; [task.CodeForbidden] but for admins of the installation.
func (c *Client) PatchOrganization(ctx context.Context, id string, in OrganizationPatch) (Organization, error) {
	return answer[Organization](ctx, c, call{method: http.MethodPatch, path: item("organizations", id), body: in})
}
