package ingest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/ticket"
)

// BusEvent is an entry of the bus, with the names of the legacy API.
type BusEvent struct {
	EventType  string          `json:"event_type"`
	EntityType string          `json:"entity_type"`
	EntityID   string          `json:"entity_id"`
	Payload    json.RawMessage `json:"payload"`
}

// BusReader holds whose entries a reader of the bus may see, and from when on.
type BusReader struct {
	OrganizationID string
	Bare           bool // includes unmanaged sandboxes
	Since          time.Time
}

// BusPlace is a position in the bus.
type BusPlace struct{ Xid, ID int64 }

// BusChange is the event type of an entry that records a change of an entity. Its payload is
// what triggers of the database record; [Frames] returns the frames that the legacy API shows for it.
const BusChange = "change"

type payload map[string]any

// Frames returns the frames of an entry of the bus: the entry itself, or those of a recorded change. A change that
// cannot be decoded has none, so that readers can skip it.
func Frames(e BusEvent) []BusEvent {
	if e.EventType != BusChange {
		return []BusEvent{e}
	}
	switch e.EntityType {
	case "task":
		return framesOf(e, "task", taskFrames)
	case "ticket":
		return framesOf(e, "ticket", ticketFrames)
	case "message":
		return framesOf(e, "sandbox", messageFrames)
	case "attempt":
		return framesOf(e, "sandbox", attemptFrames)
	default:
		return framesOf(e, "sandbox", sandboxFrames)
	}
}

// frame is a frame without its entity; an empty ID means that of the entry.
type frame struct {
	eventType, entityType, entityID string
	payload                         payload
}

func framesOf[T any](e BusEvent, entityType string, frames func(T) []frame) (out []BusEvent) {
	var change T
	if json.Unmarshal(e.Payload, &change) != nil {
		return nil
	}
	for _, f := range frames(change) {
		raw, _ := json.Marshal(f.payload) //nolint:errchkjson // it came from JSON
		shown := BusEvent{EventType: f.eventType, EntityType: entityType, EntityID: e.EntityID, Payload: raw}
		if f.entityType != "" {
			shown.EntityType, shown.EntityID = f.entityType, f.entityID
		}
		out = append(out, shown)
	}
	return out
}

// taskState holds what the frames of a task need of its row before and after a change.
type taskState struct {
	ticket.Task
	Iteration json.RawMessage `json:"iteration"` // of the validation; null: none
	Passed    json.RawMessage `json:"passed"`
}

type taskChange struct {
	TaskID    string        `json:"task_id"`
	TicketID  string        `json:"ticket_id"`
	PhaseID   string        `json:"phase_id"`
	TaskType  string        `json:"task_type"`
	Priority  string        `json:"priority"`
	Error     *string       `json:"error_message"`
	HasResult bool          `json:"has_result"`
	SandboxID *string       `json:"sandbox_id"`
	New       taskState     `json:"new"`
	Old       *taskState    `json:"old"`       // nil: the task was created
	Unblocked []string      `json:"unblocked"` // tasks that waited for this task only
	Others    []ticket.Task `json:"others"`    // tasks of the ticket, without duplicates
	Ticket    ticketChange  `json:"ticket"`
}

func taskFrames(c taskChange) []frame {
	body := payload{
		"task_id": c.TaskID, "ticket_id": c.TicketID, "phase_id": c.PhaseID, "task_type": c.TaskType, "status": c.New.Status,
		"priority": c.Priority, "old_status": nil, "error_message": c.Error, "has_result": c.HasResult,
	}
	if c.Old == nil {
		return append([]frame{{eventType: "TASK_CREATED", payload: body}}, c.ticketMoved(c.Others)...)
	}
	body["old_status"] = c.Old.Status
	out := c.verdict()
	if c.New.Status != c.Old.Status {
		if own := taskFrameType(c.New.Status); own != "" {
			out = append(out, frame{eventType: own, payload: body})
		}
		out = append(out, frame{eventType: "TASK_STATUS_CHANGED", payload: body})
	}
	if c.New.Status == task.StatusCompleted && len(c.Unblocked) > 0 {
		out = append(out, frame{eventType: "TASKS_UNBLOCKED", payload: payload{
			"completed_task_id": c.TaskID, "unblocked_task_ids": c.Unblocked, "sandbox_id": c.SandboxID,
		}})
	}
	return append(out, c.ticketMoved(append(slices.Clone(c.Others), c.Old.Task))...)
}

// taskFrameType returns the frame type of a status; empty: none.
func taskFrameType(status task.Status) string {
	switch status {
	case task.StatusAssigned, task.StatusCompleted, task.StatusFailed, task.StatusCancelled:
		return "TASK_" + strings.ToUpper(string(status))
	case task.StatusRunning:
		return "TASK_STARTED"
	case task.StatusPending, task.StatusPendingValidation, task.StatusValidating, task.StatusNeedsRevision:
	}
	return ""
}

// verdict returns the frame of a requested validation or of its verdict. The texts stay in the result.
func (c taskChange) verdict() []frame {
	judged := string(c.New.Iteration) != "null" && string(c.New.Iteration) != string(c.Old.Iteration)
	name := "TASK_VALIDATION_FAILED"
	switch {
	case judged && string(c.New.Passed) == "true":
		name = "TASK_VALIDATION_PASSED"
	case !judged && c.New.Status == task.StatusPendingValidation && c.Old.Status != task.StatusPendingValidation:
		name = "TASK_VALIDATION_REQUESTED"
	case !judged:
		return nil
	}
	return []frame{{eventType: name, payload: payload{
		"task_id": c.TaskID, "ticket_id": c.TicketID, "phase_id": c.PhaseID, "status": c.New.Status,
		"validation_iteration": c.New.Iteration, "validation_passed": c.New.Passed,
	}}}
}

// ticketMoved returns the frame of a ticket whose status changed with the task. before holds the ticket's tasks before
// the change.
func (c taskChange) ticketMoved(before []ticket.Task) []frame {
	was, is := ticket.Status(before), ticket.Status(append(slices.Clone(c.Others), c.New.Task))
	if was == is {
		return nil
	}
	return []frame{{"TICKET_STATUS_CHANGED", "ticket", c.TicketID, c.Ticket.payload(is, was)}}
}

type ticketChange struct {
	TicketID  string `json:"ticket_id"`
	ProjectID string `json:"project_id"`
	PhaseID   string `json:"phase_id"`
	Priority  string `json:"priority"`
}

func (c ticketChange) payload(status string, old any) payload {
	return payload{
		"ticket_id": c.TicketID, "project_id": c.ProjectID, "phase_id": c.PhaseID, "priority": c.Priority, "status": status, "old_status": old,
	}
}

func ticketFrames(c ticketChange) []frame {
	return []frame{{eventType: "TICKET_CREATED", payload: c.payload(ticket.Status(nil), nil)}}
}
