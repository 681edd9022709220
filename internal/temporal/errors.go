package temporal

import (
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"

	"github.com/omoi-dev/omoi/internal/task"
)

// coded gives an error of the server a code of the domain, and names the operation.
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
	case errors.As(err, &invalid): // the only error about the request itself rather than the state of the server
		return task.Errorf(task.CodeInvalid, "Temporal rejected the request.")
	}
	// Among these: no connection, overload, no permission, a missing namespace, a server that is still starting. None
	// is a reason to fail a task.
	return task.Errorf(task.CodeUnavailable, "Temporal failed or does not answer. Next: repeat later")
}
