package task

// TicketTask is what the status of a ticket depends on in one of its tasks.
type TicketTask struct {
	Status  Status `json:"status"`
	Mode    string `json:"mode"`
	Started bool   `json:"started"` // an attempt has begun
}

// TicketStatus returns the status of a ticket with these tasks; equal ones may be left out. A ticket whose
// tasks have not started, or whose started tasks are cancelled, is in the backlog.
func TicketStatus(tasks []TicketTask) string {
	var begun, active, building, judged, completed, tried, open, beyond bool
	for _, t := range tasks {
		begun = begun || t.Status != StatusCancelled && (t.Status != StatusPending || t.Started)
		tried = tried || t.Status == StatusCompleted || t.Started
		completed = completed || t.Status == StatusCompleted
		switch t.Status {
		case StatusAssigned, StatusRunning, StatusNeedsRevision:
			active, building = true, building || t.Mode != ModeExploration
		case StatusPendingValidation, StatusValidating:
			judged = true
		case StatusPending, StatusCompleted, StatusFailed, StatusCancelled:
		}
		if t.Status != StatusCompleted && t.Status != StatusCancelled {
			open, beyond = true, beyond || t.Mode != ModeValidation
		}
	}
	switch {
	case !begun:
		return "backlog"
	case active && !building:
		return "analyzing"
	case active:
		return "building"
	case judged:
		return "testing"
	case !tried:
		return "backlog"
	case completed && !open:
		return "done"
	case completed && !beyond:
		return "building-done"
	}
	return "building"
}
