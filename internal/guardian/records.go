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

// Analysis is one stored analysis, with all that is needed to repeat it.
type Analysis struct {
	ID             string          `json:"id" doc:"UUID of the analysis."`
	CycleID        string          `json:"cycle_id" doc:"Guardian cycle that made the analysis. A value that begins with asked- names a request of a user instead."`
	SandboxID      string          `json:"sandbox_id" doc:"Sandbox whose agent was analyzed."`
	OrganizationID string          `json:"organization_id" doc:"Organization that owns the task."`
	TaskID         string          `json:"task_id" doc:"Task that the agent works on."`
	Attempt        int             `json:"attempt" doc:"Number of the attempt in its task, from 1."`
	SpokenBy       string          `json:"source" enum:"rules,model,none" doc:"What gave the verdict: a rule, a model, or neither. More values may be added."`
	Verdict        string          `json:"verdict" enum:"healthy,steer,unknown" doc:"Result: healthy (a model approves), steer (a fault was found), unknown (neither). More values may be added."`
	AlignmentScore *float64        `json:"alignment_score" doc:"How well the work serves its goal, 0 to 1. Null: neither a rule nor a model gave a score."`
	NeedsSteering  bool            `json:"needs_steering" doc:"True if the verdict is steer."`
	SteeringType   string          `json:"steering_type" enum:"guidance,correction,emergency," doc:"Kind of steering that is advised, by the severity of the fault. Empty: none. More values may be added."`
	CurrentFocus   string          `json:"current_focus" doc:"Short text: what the agent works on now."`
	Confidence     float64         `json:"confidence" doc:"Confidence in the verdict, 0 to 1. 0 if neither a rule nor a model gave one."`
	FirstSeen      int64           `json:"first_event" doc:"Sequence of the first event that was read. 0: no event was stored."`
	LastSeen       int64           `json:"last_event" doc:"Sequence of the last event that was read. 0: no event was stored."`
	Analysis       json.RawMessage `json:"analysis" doc:"Object with the whole analysis: summary, findings, evidence, the model's answer and its usage. Durations are nanoseconds."`
	Subject        json.RawMessage `json:"subject" doc:"Object with the input besides the events: task, limits, user messages and usage. Durations are nanoseconds."`
	Rules          json.RawMessage `json:"rules" doc:"Object with the thresholds that the rules applied. Durations are nanoseconds."`
	JudgedAt       time.Time       `json:"analyzed_at" doc:"When the input was read. All ages in the analysis count back from this moment."`
}

// ModelError returns why a configured model gave no opinion. Empty: it gave one, or none is configured.
func (j Analysis) ModelError() string {
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
	InterventionRejected  = "rejected"  // the agent takes no messages any more, or the task cannot be changed now
	InterventionExpired   = "expired"   // it was planned, and nobody carried it out in time
	InterventionWithdrawn = "withdrawn" // a person took it back before the agent had taken it up
)

// PlannedIntervention is what the ladder says of one judgement.
type PlannedIntervention struct {
	Level  Level
	Reason string // why this rung
}

// Intervention is a decision about an attempt, with its outcome.
type Intervention struct {
	ID             string     `json:"id" doc:"UUID of the intervention; also the idempotency key of its message or command."`
	AnalysisID     string     `json:"analysis_id" doc:"Guardian analysis that led to the intervention."`
	OrganizationID string     `json:"organization_id" doc:"Organization that owns the task."`
	TaskID         string     `json:"task_id" doc:"Task whose agent is steered."`
	SandboxID      string     `json:"sandbox_id" doc:"Sandbox of the agent that is steered."`
	Attempt        int        `json:"attempt" doc:"Number of the attempt in its task, from 1."`
	Level          Level      `json:"level" enum:"observe,nudge,interrupt,replace" doc:"Escalation level: observe (record only), nudge (message), interrupt (message that stops the current turn), replace (next attempt). More values may be added."`
	SteeringType   string     `json:"steering_type" enum:"guidance,correction,emergency" doc:"Kind of steering, by the severity of the fault. More values may be added."`
	Content        string     `json:"content" doc:"Text for the agent: a message, or feedback for the next attempt. Sent only in the state sent."`
	Confidence     float64    `json:"confidence" doc:"Confidence of the analysis, 0 to 1."`
	Shadow         bool       `json:"shadow" doc:"True in shadow mode (auto_steering is off): the intervention is recorded and never executed."`
	State          string     `json:"state" enum:"planned,recorded,sent,rejected,expired,withdrawn" doc:"planned until executed; sent once its message or command is accepted; recorded in shadow mode or for observe; rejected, expired or withdrawn otherwise. More values may be added."`
	Reason         string     `json:"reason" doc:"Why this level was chosen; then, after a semicolon, why the intervention was not executed."`
	MessageID      string     `json:"message_id" doc:"Message of a nudge or an interrupt. Empty: none was sent."`
	MessageState   string     `json:"message_state" enum:"accepted,delivered,acknowledged,answered,expired,rejected," doc:"Delivery status of that message. Empty: no message. More values may be added."`
	CommandID      string     `json:"command_id" doc:"Command of a replacement. Empty: none was accepted."`
	CommandState   string     `json:"command_state" enum:"accepted,carried_out,too_late,refused," doc:"State of that command; carried_out: applied, refused: rejected. Empty: no command. More values may be added."`
	PlannedAt      time.Time  `json:"planned_at" doc:"When the guardian decided on the intervention."`
	SettledAt      *time.Time `json:"settled_at" doc:"When the state last changed from planned or sent. Null while planned."`
}

// PastIntervention is an earlier intervention of an attempt, as the ladder looks at it.
type PastIntervention struct {
	Level Level
	Age   time.Duration
	Taken bool // its message was taken up, as the receipt says
}

// Cycle is one run of the guardian over all active sandboxes.
type Cycle struct {
	ID            string     `json:"id" doc:"Run ID of the guardian workflow that ran the cycle."`
	StartedAt     time.Time  `json:"started_at" doc:"When the guardian workflow began the cycle."`
	EndedAt       *time.Time `json:"ended_at" doc:"When the cycle ended. Null: it is running, or was interrupted."`
	Active        int        `json:"active" doc:"Number of active sandboxes that the cycle covered. 0 until the cycle ends, as all counts."`
	Analyzed      int        `json:"analyzed" doc:"Number of sandboxes that the cycle analyzed."`
	Fresh         int        `json:"fresh" doc:"Number of sandboxes skipped because their last analysis is younger than analysis_cache_seconds."`
	Failed        int        `json:"failed" doc:"Number of sandboxes whose analysis failed."`
	Interventions int        `json:"interventions" doc:"Number of interventions sent to agents."`
}

// Cycles are the runs of the guardian taken together.
type Cycles struct {
	Last      *Cycle        // nil: the guardian never ran
	LastAge   time.Duration // since a cycle last ended; below 0: none has
	Total     int64
	Succeeded int64 // ended, and no analysis failed
	Failed    int64
}

// Call is the authority of a caller over the guardian's actions.
type Call struct {
	OrganizationID string
	By             string
	Authority      int
	Claimed        string // who he says he is
	Reason         string
}

// Action is what a user did by the guardian's routes, in the form of the legacy API.
type Action struct {
	ID            string          `json:"action_id" doc:"UUID of the stored action."`
	Type          string          `json:"action_type" enum:"cancel_task,reallocate_capacity,override_priority" doc:"What the action did; each value has its own route. More values may be added."`
	Target        string          `json:"target_entity" doc:"ID of the task. For reallocate_capacity: the two IDs of the request, joined by an arrow."`
	Authority     int             `json:"authority_level" doc:"Authority of the caller: 1 worker, 2 watchdog, 3 monitor, 4 guardian, 5 system. Actions require at least 4."`
	AuthorityName string          `json:"authority_name" enum:"WORKER,WATCHDOG,MONITOR,GUARDIAN,SYSTEM" doc:"Name of authority_level. More values may be added."`
	Reason        string          `json:"reason" doc:"Reason given in the request."`
	InitiatedBy   string          `json:"initiated_by" doc:"Authenticated caller. A different initiated_by of the request is in audit_log.claimed_to_be."`
	ApprovedBy    *string         `json:"approved_by" doc:"Legacy field, always null: actions need no approval."`
	ExecutedAt    *time.Time      `json:"executed_at" doc:"When omoi carried the action out."`
	RevertedAt    *time.Time      `json:"reverted_at" doc:"When a user reverted the action. Null: never."`
	Audit         json.RawMessage `json:"audit_log" doc:"Object with the values before and after, and what a revert changed."`
	CreatedAt     time.Time       `json:"created_at" doc:"When the action was stored."`
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

// RevertedAction is the result of a revert, in sentences.
type RevertedAction struct {
	Action      Action
	Items       []string // what was reverted
	NotReverted []string // what could not be reverted, and why
}

// ActiveSandbox is a sandbox in which an agent is at work.
type ActiveSandbox struct {
	ID      string
	TaskID  string
	PhaseID string
}
