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
	for want, list := range map[task.Code][]error{
		task.CodeInvalid: {serviceerror.NewInvalidArgument("too long")},
		task.CodeUnavailable: {
			serviceerror.NewFailedPrecondition("no poller has been seen"), serviceerror.NewWorkflowNotReady("not yet"),
			serviceerror.NewPermissionDenied("no", "reason"), serviceerror.NewNamespaceNotFound("nowhere"),
			serviceerror.NewUnimplemented("older server"), errors.New("connection reset"),
		},
		task.CodeNotFound: {serviceerror.NewNotFound("no workflow")},
	} {
		for _, err := range list {
			got := coded("ask", err)
			require.Equal(t, want, task.CodeOf(got), "%T", err)
			require.ErrorContains(t, got, err.Error(), "the cause is told")
		}
	}
}
