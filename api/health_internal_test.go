package api

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestReadiness_NamesTheNextCommandInAField of its own, beside the sentence.
func TestReadiness_NamesTheNextCommandInAField(t *testing.T) {
	t.Parallel()
	got := stateOf(t.Context(), Probe{Name: "workers", Check: func(context.Context) error {
		return DownError{Err: task.Errorf(task.CodeUnavailable, "No worker."), Next: "omoi worker"}
	}})
	require.Equal(t, client.Dependency{
		Name: "workers", State: client.StateDown, Detail: "No worker.", Next: "omoi worker",
	}, got)
}
