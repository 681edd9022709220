package guardian

import (
	"encoding/json"
	"time"

	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

// Watched is an active sandbox with the inputs of its analysis. Durations are ages at At.
type Watched struct {
	SandboxID      string
	TaskID         string
	ProjectID      string
	OrganizationID string
	Attempt        int
	PartitionMonth time.Time // partition of its events
	Head           int64
	Title          string
	Description    string
	TaskType       string
	Mode           string
	Agent          string // of this attempt
	PhaseID        string
	Execution      json.RawMessage       // an object
	Settings       json.RawMessage       // of its project, an object
	Contract       *taskcontract.Version // newest stored version; nil: none
	Budget         task.Budget
	Counts         map[string]int64 // events by type, up to a sequence shortly before Head; nil: not counted
	CostUSD        float64
	Tokens         int64
	Replacements   int // of the task
	Age            time.Duration
	AutoSteering   *bool            // of its project; nil: the setting of the installation
	Said           []supervise.Said // oldest first
	At             time.Time
	LastJudged     time.Duration // since the newest analysis; negative: none
	InCycle        bool          // already analyzed in the current cycle
}

// WatchQuery selects active sandboxes with IDs after After and up to Upto, or the sandbox Only.
type WatchQuery struct {
	CycleID     string
	After, Upto string
	Only        string // empty: the whole range
	Limit       int
}

// Analysis is one stored analysis, with all inputs that are needed to repeat it.
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
	Rules          json.RawMessage `json:"rules" doc:"Thresholds that the rules applied."`
	JudgedAt       time.Time       `json:"analyzed_at" doc:"When the input was read. All ages in the analysis count back from this moment."`
	Ratings        []Rating        `json:"ratings" nullable:"false" doc:"Newest rating of the intervention and of each finding, where users gave one."`
}

// ModelError returns why a configured model gave no analysis. Empty: it gave one, or none is configured.
func (j Analysis) ModelError() string {
	var said struct {
		Trouble string `json:"trouble"`
	}
	_ = json.Unmarshal(j.Analysis, &said) // another form counts as empty
	return said.Trouble
}

// Level is a level of the escalation policy.
type Level string

// The levels, each stronger than the previous one.
const (
	LevelObserve   Level = "observe"   // recorded only
	LevelNudge     Level = "nudge"     // a message that the agent reads at its next turn
	LevelInterrupt Level = "interrupt" // a message that stops the current turn
	LevelReplace   Level = "replace"   // another attempt, with the reason as feedback
)

// States of an intervention.
const (
	InterventionPlanned   = "planned"   // not carried out yet
	InterventionRecorded  = "recorded"  // shadow mode, or observe: recorded only
	InterventionSent      = "sent"      // its message or command is accepted, and has its own receipt
	InterventionRejected  = "rejected"  // the agent accepts no more messages, or the task cannot be changed now
	InterventionExpired   = "expired"   // not carried out in time
	InterventionWithdrawn = "withdrawn" // a user withdrew it before the agent acknowledged it
)

// PlannedIntervention is the decision of the escalation policy on one analysis.
type PlannedIntervention struct {
	Level  Level
	Reason string // why this level
}

// Intervention is a decision about an attempt, with its outcome.
type Intervention struct {
	ID             string     `json:"id" doc:"UUID of the intervention; also the idempotency key of its message or command."`
	AnalysisID     string     `json:"analysis_id" doc:"Guardian analysis that led to the intervention."`
	OrganizationID string     `json:"organization_id" doc:"Organization that owns the task."`
	TaskID         string     `json:"task_id" doc:"Task whose agent is steered."`
	TaskKey        string     `json:"task_key" doc:"Key of that task, for example APP-12."`
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
	MessageState   string     `json:"message_state" enum:"accepted,delivered,acknowledged,answered,expired,rejected," doc:"Delivery status of the message of message_id. Empty: no message. More values may be added."`
	CommandID      string     `json:"command_id" doc:"Command of a replacement. Empty: none was accepted."`
	CommandState   string     `json:"command_state" enum:"accepted,carried_out,too_late,refused," doc:"State of the command of command_id; carried_out: applied, refused: rejected. Empty: no command. More values may be added."`
	PlannedAt      time.Time  `json:"planned_at" doc:"When the guardian decided on the intervention."`
	SettledAt      *time.Time `json:"settled_at" doc:"When the state last changed from planned or sent. Null while planned."`
	Rating         *Rating    `json:"rating,omitempty" doc:"Newest rating of the intervention by a user. Absent: none."`
}

// PastIntervention is an earlier intervention in an attempt, as input of the escalation policy.
type PastIntervention struct {
	Level Level
	Age   time.Duration
	Taken bool // the agent acknowledged its message
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

// Cycles summarizes the cycles of the guardian.
type Cycles struct {
	Last      *Cycle        // nil: the guardian never ran
	LastAge   time.Duration // since the last end of a cycle; negative: none has ended
	Total     int64
	Succeeded int64 // cycles that ended without a failed analysis
	Failed    int64
}

// Call is the authority of a caller over the guardian's actions.
type Call struct {
	OrganizationID string
	By             string
	Authority      int
	Claimed        string // name that the caller gives
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
	ExecutedAt    *time.Time      `json:"executed_at" doc:"When omoi carried the action out. Null: not carried out."`
	RevertedAt    *time.Time      `json:"reverted_at" doc:"When a user reverted the action. Null: never."`
	Audit         json.RawMessage `json:"audit_log" doc:"Object with the values before and after, and what a revert changed."`
	CreatedAt     time.Time       `json:"created_at" doc:"When the action was stored."`
}

// Levels of authority, as in the legacy API.
const (
	AuthorityWorker = iota + 1
	AuthorityWatchdog
	AuthorityMonitor
	AuthorityGuardian // required by the guardian's actions
	AuthoritySystem
)

// AuthorityName returns the name of a level.
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

// ActiveSandbox is a sandbox with an active agent.
type ActiveSandbox struct {
	ID      string
	TaskID  string
	PhaseID string
}
