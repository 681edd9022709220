package postgres

import (
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/feedback"
)

// States of feedback and notices in the store, whose values stay. Other states have the same names as in the API.
const (
	storedPending      = "held"
	storedAcknowledged = "heard"
	storedTaskCreated  = "started"
)

// storedState returns the stored value of a state of feedback or of a notice.
func storedState(named string) string {
	switch named {
	case feedback.StatePending: // that of a notice too
		return storedPending
	case feedback.StateAcknowledged:
		return storedAcknowledged
	case feedback.StateTaskCreated:
		return storedTaskCreated
	}
	return named
}

// namedState is the inverse of [storedState].
func namedState(stored string) string {
	switch stored {
	case storedPending:
		return explain.NoticePending
	case storedAcknowledged:
		return feedback.StateAcknowledged
	case storedTaskCreated:
		return feedback.StateTaskCreated
	}
	return stored
}
