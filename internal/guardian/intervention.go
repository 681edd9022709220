package guardian

import "time"

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
