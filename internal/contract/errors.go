package contract

import "github.com/omoi-dev/omoi/internal/task"

// ErrorDetails is the one detail of every application error that an activity returns.
// The error's type is Class if the activity knew one, else Code.
type ErrorDetails struct {
	Class   task.FailureClass `json:"class,omitempty"`
	Code    task.Code         `json:"code"`
	ErrorID string            `json:"error_id,omitempty"` // of the stored full text; empty if it could not be stored
}
