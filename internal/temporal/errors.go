package temporal

import (
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"

	"github.com/omoi-dev/omoi/internal/task"
)

// coded gives an error of the server a code of the domain and says what was being done.
func coded(doing string, err error) error {
	if err == nil {
		return nil
	}
	if _, known := errors.AsType[*task.Error](err); known {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w", doing, translate(err).WithCause(err))
}

func translate(err error) *task.Error {
	var (
		started  *serviceerror.WorkflowExecutionAlreadyStarted
		notFound *serviceerror.NotFound
		invalid  *serviceerror.InvalidArgument
	)
	switch {
	case errors.As(err, &started):
		return task.Errorf(task.CodeConflict, "The workflow is already started.")
	case errors.As(err, &notFound):
		return task.Errorf(task.CodeNotFound, "Temporal does not know the workflow.")
	case errors.As(err, &invalid): // alone speaks of the request and not of the server's state
		return task.Errorf(task.CodeInvalid, "Temporal rejected the request.")
	}
	// Among these: no connection, too busy, no permission, namespace not there (yet), a
	// precondition that a server which starts does not meet. None is a reason to write a task off.
	return task.Errorf(task.CodeUnavailable, "Temporal failed or does not answer. Next: repeat later")
}
