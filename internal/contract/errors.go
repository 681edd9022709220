package contract

import (
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// ErrorDetails is the one detail of every application error that an activity returns.
// The error's type is Class if the activity knew one, else Code.
type ErrorDetails struct {
	Class   task.FailureClass `json:"class,omitempty"`
	Code    task.Code         `json:"code"`
	ErrorID string            `json:"error_id,omitempty"` // of the stored full text; empty if it could not be stored
	ResetAt time.Time         `json:"reset_at,omitzero"`  // of a limit: when trying again is of use
	Redo    bool              `json:"redo,omitempty"`     // saved work cannot be published: an attempt has to do it again
	// EndReason is the condition for which the step failed; zero: none that programs know.
	EndReason task.Reason `json:"end_reason,omitzero"`
}
