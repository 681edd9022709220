package postgres

import (
	"bytes"
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
)

// MessageOfKey answers the message that a sender's key made before, if it did; one that was
// refused with its refusal. [task.CodeConflict] is a key that another body has used.
func (s *Store) MessageOfKey(ctx context.Context, once ingest.MessageKey) (m ingest.Message, found bool, err error) {
	if once.Key == "" {
		return ingest.Message{}, false, nil
	}
	row, err := s.q.MessageOfKey(ctx, once.Scope, once.Key)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return ingest.Message{}, false, nil
	case err != nil:
		return ingest.Message{}, false, translate("look up the idempotency key", err)
	case !bytes.Equal(row.Message.BodyHash, once.BodyHash):
		return ingest.Message{}, false, &task.Error{
			Code: task.CodeConflict, Field: "Idempotency-Key",
			Message: "The Idempotency-Key was used with another body, for message " + row.Message.ID + ". Take a new key for a new message.",
		}
	}
	m = message(row.Message)
	if m.State == ingest.MessageRefused {
		return m, true, ingest.Refused(refusalIn(task.SandboxState(row.SandboxState)), m)
	}
	return m, true, nil
}

// refusalIn is the code with which a sandbox where nobody listens refuses.
func refusalIn(state task.SandboxState) task.Code {
	if state == task.SandboxGone || state == task.SandboxLost {
		return task.CodeGone
	}
	return task.CodeConflict
}
