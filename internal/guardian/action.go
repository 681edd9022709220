package guardian

import (
	"encoding/json"
	"time"
)

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
