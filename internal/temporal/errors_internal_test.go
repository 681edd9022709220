package temporal

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"github.com/omoi-dev/omoi/internal/task"
)

// Only what is wrong with the request itself is wrong for ever.
func TestWhatTheServersStateForbidsMayGoLater(t *testing.T) {
	t.Parallel()
	require.Equal(t, task.CodeInvalid, task.CodeOf(coded("ask", serviceerror.NewInvalidArgument("too long"))))
	require.Equal(t, task.CodeNotFound, task.CodeOf(coded("ask", serviceerror.NewNotFound("no workflow"))))
	for _, err := range []error{
		serviceerror.NewFailedPrecondition("no poller has been seen"), serviceerror.NewWorkflowNotReady("not yet"),
		serviceerror.NewPermissionDenied("no", "reason"), serviceerror.NewNamespaceNotFound("nowhere"),
		serviceerror.NewUnimplemented("older server"), errors.New("connection reset"),
	} {
		got := coded("ask", err)
		require.Equal(t, task.CodeUnavailable, task.CodeOf(got), "%T", err)
		require.ErrorContains(t, got, err.Error(), "the cause is told")
	}
}
