package guardian

import (
	"encoding/json"
	"time"

	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

// Watched is an active sandbox, one of a task that is assigned or at work, as the guardian finds
// it. Durations are ages at At.
type Watched struct {
	SandboxID      string
	TaskID         string
	ProjectID      string
	OrganizationID string
	Attempt        int
	PartitionMonth time.Time // of its events
	Head           int64
	Title          string
	Description    string
	TaskType       string
	Mode           string
	Agent          string // of this attempt
	PhaseID        string
	Execution      json.RawMessage // an object
	Settings       json.RawMessage // of its project, an object
	Budget         task.Budget
	Counts         map[string]int64 // events by type, up to a little before Head; nil: none are counted
	CostUSD        float64
	Tokens         int64
	Replacements   int // of the task
	Age            time.Duration
	AutoSteering   *bool            // of its project; nil: as the installation says
	Said           []supervise.Said // oldest first
	At             time.Time
	LastJudged     time.Duration // since the newest judgement; below 0: there is none
	InCycle        bool          // the cycle that asks has judged it
}

// WatchQuery selects active sandboxes: those behind After and up to Upto, or Only one.
type WatchQuery struct {
	CycleID     string
	After, Upto string
	Only        string // empty: all of the stretch
	Limit       int
}
