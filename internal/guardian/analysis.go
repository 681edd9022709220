package guardian

import (
	"encoding/json"
	"time"
)

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
