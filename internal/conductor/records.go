package conductor

import (
	"encoding/json"
	"time"

	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

// ActiveAgent is an active agent.
type ActiveAgent struct {
	supervise.Agent

	SandboxID   string
	Title       string
	Description string // its beginning
}

// ActiveOrganization is an organization with active agents.
type ActiveOrganization struct {
	ID      string
	Agents  int
	InCycle bool // already analyzed in the current cycle
}

// Analysis is the analysis of all active agents of an organization in one cycle.
type Analysis struct {
	ID             string          `json:"id" doc:"UUID of the analysis."`
	CycleID        string          `json:"cycle_id" doc:"Run ID of the conductor workflow that made the analysis."`
	OrganizationID string          `json:"organization_id" doc:"Organization whose active agents were analyzed."`
	Coherence      *float64        `json:"coherence_score" doc:"How well the agents serve their goals together, 0 to 1. Null: too few agents have a guardian analysis."`
	AtMost         float64         `json:"coherence_upper_bound" doc:"coherence_score if every agent without an analysis did perfectly, 0 to 1."`
	Status         string          `json:"system_status" enum:"no_agents,critical,warning,inefficient,normal,optimal,unknown" doc:"Summary of the scores; inefficient: over 30 % of the agents duplicate work, unknown: too few analyses. More values may be added."`
	Agents         int             `json:"num_agents" doc:"Number of active agents of the organization."`
	Analyzed       int             `json:"analyzed" doc:"Number of active agents whose recent guardian analysis has a verdict other than unknown."`
	Duplicates     int             `json:"duplicate_count" doc:"Number of pairs of active tasks about the same work."`
	Terminations   int             `json:"termination_count" doc:"Number of agents whose work is done while their sandbox still runs."`
	Coordinations  int             `json:"coordination_count" doc:"Number of files that several agents of a project change at the same time."`
	Details        json.RawMessage `json:"details" doc:"Object with the whole analysis: agents by phase and project, load balance, recommendations."`
	CreatedAt      time.Time       `json:"created_at" doc:"When the conductor stored the analysis."`
}

// Sources of a duplicate.
const (
	SourceText  = "text" // equal and nearly equal texts
	SourceModel = "model"
)

// Duplicate is a pair of tasks about the same work.
type Duplicate struct {
	ID         string          `json:"id" doc:"UUID of the pair."`
	AnalysisID *string         `json:"conductor_analysis_id" doc:"Newest conductor analysis that found the pair. Null: retention removed that analysis."`
	TaskID     string          `json:"task1_id" doc:"First task of the pair: the one with the lower ID."`
	OtherID    string          `json:"task2_id" doc:"Second task of the pair."`
	TaskKey    string          `json:"task1_key" doc:"Key of the first task, for example APP-12."`
	OtherKey   string          `json:"task2_key" doc:"Key of the second task."`
	SandboxID  string          `json:"agent1_id" doc:"Sandbox of task1 when the pair was last found."`
	OtherBox   string          `json:"agent2_id" doc:"Sandbox of task2 when the pair was last found."`
	Title      string          `json:"task1_title" doc:"Current title of the first task."`
	OtherTitle string          `json:"task2_title" doc:"Current title of the second task."`
	Status     task.Status     `json:"task1_status" enum:"pending,assigned,running,pending_validation,validating,needs_revision,completed,failed,cancelled" doc:"Current status of the first task. More values may be added."`
	OtherState task.Status     `json:"task2_status" enum:"pending,assigned,running,pending_validation,validating,needs_revision,completed,failed,cancelled" doc:"Current status of the second task. More values may be added."`
	Source     string          `json:"source" enum:"text,model" doc:"What found the pair: text (equal or nearly equal texts) or model. More values may be added."`
	Similarity float64         `json:"similarity_score" doc:"Similarity of the two works, 0 to 1."`
	Work       string          `json:"work_description" doc:"The model's description of the common work. Empty unless a model decided."`
	Resources  json.RawMessage `json:"resources" doc:"Object whose files list the paths that both tasks changed. Empty object: none."`
	Cycles     int             `json:"cycles" doc:"Number of conductor cycles that found the pair."`
	CreatedAt  time.Time       `json:"created_at" doc:"When a conductor cycle first found the pair."`
	SeenAt     time.Time       `json:"seen_at" doc:"When a conductor cycle last found the pair."`

	Same bool `json:"-"` // false: a model found the tasks different
}

// Hour summarizes the conductor's results for an organization in the last hour.
type Hour struct {
	Coherence  *float64 // mean; nil: unknown in every analysis
	Duplicates int
}

// OpenWork is a task that has not ended, for the comparison with new tasks.
type OpenWork struct {
	TaskID, TicketID string
	Title            string
	Description      string // its beginning
	Status           task.Status
}

// WorkQuery selects tasks that have not ended in the project that ProjectID, TicketID or Repo names, without the task that
// IdempotencyKey created.
type WorkQuery struct {
	OrganizationID            string
	ProjectID, TicketID, Repo string
	IdempotencyKey            string
	Limit                     int
}
