package conductor

import (
	"encoding/json"
	"time"

	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

// ActiveAgent is an agent at work, as the conductor finds it.
type ActiveAgent struct {
	supervise.Agent

	SandboxID   string
	Title       string
	Description string // its beginning
}

// ActiveOrganization is one with agents at work.
type ActiveOrganization struct {
	ID      string
	Agents  int
	InCycle bool // the cycle that asks has looked at it
}

// Analysis is what the conductor thought of an organization's agents together, once in
// a cycle.
type Analysis struct {
	ID             string          `json:"id"`
	CycleID        string          `json:"cycle_id"`
	OrganizationID string          `json:"organization_id"`
	Coherence      *float64        `json:"coherence_score"`   // 0..1; null: too few are judged to say
	AtMost         float64         `json:"coherence_at_most"` // if all of whom nothing is known do perfectly
	Status         string          `json:"system_status"`     // critical, warning, inefficient, normal, optimal, unknown
	Agents         int             `json:"num_agents"`
	Judged         int             `json:"judged"`
	Duplicates     int             `json:"duplicate_count"`
	Terminations   int             `json:"termination_count"`  // whose work is done, and whose sandbox lives
	Coordinations  int             `json:"coordination_count"` // files that several change at a time
	Details        json.RawMessage `json:"details"`            // phases, projects, load, recommendations
	CreatedAt      time.Time       `json:"created_at"`
}

// Who said that two tasks are the same work.
const (
	SpokenByWords = "words" // their words, and the files that were changed for them, are alike
	SpokenByModel = "model"
)

// Duplicate is a pair of tasks about the same work.
type Duplicate struct {
	ID         string          `json:"id"`
	AnalysisID *string         `json:"conductor_analysis_id"` // the newest that found it; null: that is forgotten
	TaskID     string          `json:"task1_id"`
	OtherID    string          `json:"task2_id"`
	SandboxID  string          `json:"agent1_id"` // in which the first one is worked on
	OtherBox   string          `json:"agent2_id"`
	Title      string          `json:"task1_title"`
	OtherTitle string          `json:"task2_title"`
	Status     task.Status     `json:"task1_status"`
	OtherState task.Status     `json:"task2_status"`
	SpokenBy   string          `json:"spoken_by"` // words or model
	Similarity float64         `json:"similarity_score"`
	Work       string          `json:"work_description"` // a model's; empty where words spoke
	Resources  json.RawMessage `json:"resources"`        // files that both have changed
	Cycles     int             `json:"cycles"`           // in how many it was found
	CreatedAt  time.Time       `json:"created_at"`
	SeenAt     time.Time       `json:"seen_at"`

	Same bool `json:"-"` // false: a model has told them apart
}

// Hour sums up what the conductor found in an organization in the last hour.
type Hour struct {
	Coherence  *float64 // the mean; nil: it could never say
	Duplicates int
}

// OpenWork is a task that has not ended, as new ones are compared with it.
type OpenWork struct {
	TaskID, TicketID string
	Title            string
	Description      string // its beginning
	Status           task.Status
}

// WorkQuery selects tasks that have not ended: of the project of one of the three, and not the
// one that the key has made.
type WorkQuery struct {
	OrganizationID            string
	ProjectID, TicketID, Repo string
	IdempotencyKey            string
	Limit                     int
}
