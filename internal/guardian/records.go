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

// Analysis is one analysis as it is stored: with all that is needed to make it again.
type Analysis struct {
	ID             string          `json:"id"`
	CycleID        string          `json:"cycle_id"`
	SandboxID      string          `json:"sandbox_id"`
	OrganizationID string          `json:"organization_id"`
	TaskID         string          `json:"task_id"`
	Attempt        int             `json:"attempt"`
	SpokenBy       string          `json:"spoken_by"`       // rules, model or none
	Verdict        string          `json:"verdict"`         // healthy, steer or unknown
	AlignmentScore *float64        `json:"alignment_score"` // null: nobody can say
	NeedsSteering  bool            `json:"needs_steering"`
	SteeringType   string          `json:"steering_type"` // guidance, correction or emergency; empty: none
	CurrentFocus   string          `json:"current_focus"`
	Confidence     float64         `json:"confidence"`
	FirstSeen      int64           `json:"first_event"` // the events that it rests on; 0: there was none
	LastSeen       int64           `json:"last_event"`
	Analysis       json.RawMessage `json:"analysis"` // all that was said, with the evidence
	Subject        json.RawMessage `json:"subject"`  // all that was known but the events
	Rules          json.RawMessage `json:"rules"`    // the numbers that the rules went by
	JudgedAt       time.Time       `json:"judged_at"`
}

// Trouble says why no model spoke although one is there; empty: it spoke, or there is none.
func (j Analysis) Trouble() string {
	var said struct {
		Trouble string `json:"trouble"`
	}
	_ = json.Unmarshal(j.Analysis, &said) // what is of another form says nothing
	return said.Trouble
}

// Level is a rung of the guardian's ladder.
type Level string

// The rungs, each harder than the one before.
const (
	LevelObserve   Level = "observe"   // noted, and nothing else
	LevelNudge     Level = "nudge"     // a message that the agent reads when it comes to it
	LevelInterrupt Level = "interrupt" // a message that stops what it does
	LevelReplace   Level = "replace"   // another attempt, which is told why
)

// States of an intervention.
const (
	InterventionPlanned   = "planned"   // decided, not carried out yet
	InterventionRecorded  = "recorded"  // in shadow, or observed: nobody is told
	InterventionSent      = "sent"      // its message or command is accepted; that has a receipt of its own
	InterventionRefused   = "refused"   // nobody listens any more, or the task cannot be told so now
	InterventionExpired   = "expired"   // it was planned, and nobody carried it out in time
	InterventionWithdrawn = "withdrawn" // a person took it back before the agent had taken it up
)

// PlannedIntervention is what the ladder says of one judgement.
type PlannedIntervention struct {
	Level  Level
	Reason string // why this rung
}

// Intervention is a decision about an attempt, and what became of it.
type Intervention struct {
	ID             string     `json:"id"`
	AnalysisID     string     `json:"analysis_id"`
	OrganizationID string     `json:"organization_id"`
	TaskID         string     `json:"task_id"`
	SandboxID      string     `json:"sandbox_id"`
	Attempt        int        `json:"attempt"`
	Level          Level      `json:"level"`
	SteeringType   string     `json:"steering_type"`
	Content        string     `json:"content"` // what the agent is told, or would be
	Confidence     float64    `json:"confidence"`
	Shadow         bool       `json:"shadow"` // recorded only: auto_steering is off
	State          string     `json:"state"`  // planned, recorded, sent, refused, expired, withdrawn
	Reason         string     `json:"reason"`
	MessageID      string     `json:"message_id"`    // of a nudge or an interrupt; empty: none was sent
	MessageState   string     `json:"message_state"` // its receipt: accepted, delivered, taken_up, answered, expired, refused
	CommandID      string     `json:"command_id"`    // of a replacement; empty: none was given
	CommandState   string     `json:"command_state"` // its receipt: accepted, carried_out, too_late, refused
	PlannedAt      time.Time  `json:"planned_at"`
	SettledAt      *time.Time `json:"settled_at"`
}

// PastIntervention is an earlier intervention of an attempt, as the ladder looks at it.
type PastIntervention struct {
	Level Level
	Age   time.Duration
	Taken bool // its message was taken up, as the receipt says
}

// Cycle is one run of the guardian over all active sandboxes.
type Cycle struct {
	ID        string     `json:"id"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"` // null: under way, or nobody brought it to its end
	Active    int        `json:"active"`
	Judged    int        `json:"judged"`
	Standing  int        `json:"standing"` // whose last judgement still stands
	Failed    int        `json:"failed"`   // that could not be judged
	Acted     int        `json:"acted"`    // interventions that were sent
}

// Cycles are the runs of the guardian taken together.
type Cycles struct {
	Last      *Cycle        `json:"last"` // null: it never ran
	LastAge   time.Duration `json:"-"`    // since the last one came to its end; below 0: none did
	Total     int64         `json:"total"`
	Succeeded int64         `json:"succeeded"` // came to their end, and could judge every sandbox
	Failed    int64         `json:"failed"`
}

// Call is the authority of a caller over the guardian's actions.
type Call struct {
	OrganizationID string
	By             string
	Authority      int
	Claimed        string // who he says he is
	Reason         string
}

// Action is what a person did by the guardian's routes, in the form of the replaced system.
type Action struct {
	ID            string          `json:"action_id"`
	Type          string          `json:"action_type"`
	Target        string          `json:"target_entity"`
	Authority     int             `json:"authority_level"`
	AuthorityName string          `json:"authority_name"`
	Reason        string          `json:"reason"`
	InitiatedBy   string          `json:"initiated_by"`
	ApprovedBy    *string         `json:"approved_by"`
	ExecutedAt    *time.Time      `json:"executed_at"`
	RevertedAt    *time.Time      `json:"reverted_at"`
	Audit         json.RawMessage `json:"audit_log"`
	CreatedAt     time.Time       `json:"created_at"`
}

// Levels of authority, in the words of the replaced system.
const (
	AuthorityWorker = iota + 1
	AuthorityWatchdog
	AuthorityMonitor
	AuthorityGuardian // what the guardian's actions ask for
	AuthoritySystem
)

// AuthorityName is the word for a level.
func AuthorityName(level int) string {
	names := []string{"WORKER", "WATCHDOG", "MONITOR", "GUARDIAN", "SYSTEM"}
	if level < AuthorityWorker || level > AuthoritySystem {
		return ""
	}
	return names[level-1]
}

// RevertedAction says what became of taking an action back.
type RevertedAction struct {
	Action    Action
	Undone    []string
	NotUndone []string
}

// ActiveSandbox is a sandbox in which an agent is at work.
type ActiveSandbox struct {
	ID      string
	TaskID  string
	PhaseID string
}
