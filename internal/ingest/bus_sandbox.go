package ingest

import (
	"encoding/json"
	"time"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/spec"
)

type sandboxChange struct {
	SandboxID string  `json:"sandbox_id"`
	TaskID    *string `json:"task_id"`
	Provider  string  `json:"provider"`
	State     string  `json:"state"`
	Validates bool    `json:"validates"`
	TicketID  *string `json:"ticket_id"` // nil: the sandbox has no known task
	PhaseID   *string `json:"phase_id"`
}

func sandboxFrames(c sandboxChange) []frame {
	body := payload{"sandbox_id": c.SandboxID, "task_id": c.TaskID, "provider": c.Provider}
	if c.Validates {
		body["execution_mode"] = "validation"
	}
	if c.State == "gone" {
		return []frame{{eventType: "sandbox.terminated", payload: body}}
	}
	if c.TicketID != nil {
		body["agent_id"], body["ticket_id"], body["phase_id"] = c.SandboxID, c.TicketID, c.PhaseID
	}
	name := "SANDBOX_SPAWNED"
	if c.Validates {
		name = "VALIDATION_SANDBOX_SPAWNED"
	}
	return []frame{{eventType: "sandbox.spawned", payload: body}, {eventType: name, payload: body}}
}

// attemptChange is the end of an attempt.
type attemptChange struct {
	SandboxID       string        `json:"sandbox_id"`
	TaskID          string        `json:"task_id"`
	Outcome         string        `json:"outcome"`
	Reason          string        `json:"reason"`
	StopReason      string        `json:"stop_reason"`
	State           string        `json:"state"` // of the sandbox
	EndedAt         time.Time     `json:"ended_at"`
	IdleSince       time.Time     `json:"idle_since"`
	TranscriptSaved bool          `json:"transcript_saved"`
	Progress        *specProgress `json:"progress"` // nil: no spec execution
}

// specProgress is the reported progress of a spec execution.
type specProgress struct {
	CompletedAt     *time.Time                 `json:"execution_completed_at"`
	FailedAt        *time.Time                 `json:"execution_failed_at"`
	LastCompleted   *string                    `json:"last_completed"`
	LastCompletedAt *time.Time                 `json:"last_completed_at"`
	Started         map[string]json.RawMessage `json:"started"`
}

func attemptFrames(c attemptChange) []frame {
	var out []frame
	if reason := c.idleReason(); reason != "" {
		out = append(out, frame{eventType: "SANDBOX_TERMINATED_IDLE", payload: payload{
			"reason": reason, "task_id": c.TaskID, "transcript_saved": c.TranscriptSaved,
			"idle_duration_seconds": c.EndedAt.Sub(c.IdleSince).Seconds(),
		}})
	}
	if c.Outcome == "failed" && (c.State == "intended" || c.State == "creating") {
		out = append(out, frame{eventType: "sandbox.failed", payload: payload{"sandbox_id": c.SandboxID, "task_id": c.TaskID, "error": c.Reason}})
	}
	return out
}

// idleReason returns why a sandbox with an idle agent was ended, in legacy words and order: a reported end of a spec
// execution precedes what omoi observed. Empty: another end, for example a cancel.
func (c attemptChange) idleReason() string {
	p := c.Progress
	switch {
	case c.Outcome == "cancelled":
		return ""
	case p != nil && p.CompletedAt != nil:
		return "execution_completed"
	case p != nil && p.FailedAt != nil:
		return "execution_failed"
	case c.StopReason != contract.IdleStuck && c.StopReason != contract.IdleTimeout:
		return ""
	case p != nil && p.betweenPhases(c.EndedAt):
		return "stuck_between_phases"
	}
	return c.StopReason
}

// betweenPhases reports whether a phase ended more than [spec.PhaseStuck] before at and the next one has not started.
func (p specProgress) betweenPhases(at time.Time) bool {
	if p.LastCompleted == nil || p.LastCompletedAt == nil || at.Sub(*p.LastCompletedAt) <= spec.PhaseStuck {
		return false
	}
	next := spec.PhaseAfter(*p.LastCompleted)
	_, started := p.Started[next]
	return next != "" && !started
}

type messageChange struct {
	MessageID string `json:"message_id"`
	Content   string `json:"content"` // its beginning
	Kind      string `json:"kind"`
}

func messageFrames(c messageChange) []frame {
	priority := "normal"
	if c.Kind == MessageInterrupt {
		priority = "high"
	}
	return []frame{{eventType: "SANDBOX_MESSAGE_QUEUED", payload: payload{
		"message_id": c.MessageID, "content": c.Content, "message_type": c.Kind, "priority": priority,
	}}}
}
