package conductor

import "github.com/omoi-dev/omoi/internal/task"

// OpenWork is a task that has not ended, as new ones are compared with it.
type OpenWork struct {
	TaskID, TicketID string
	Title            string
	Description      string // its beginning
	Status           task.Status
}

// WorkQuery selects tasks that have not ended: of the project of one of the three, and not the
// one that the key has made.
type WorkQuery struct {
	OrganizationID            string
	ProjectID, TicketID, Repo string
	IdempotencyKey            string
	Limit                     int
}
