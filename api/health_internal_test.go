package api

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestReadiness_NamesTheNextCommandInAField(t *testing.T) {
	t.Parallel()
	got := stateOf(t.Context(), Probe{Name: "workers", Check: func(context.Context) error {
		return DownError{Err: task.Errorf(task.CodeUnavailable, "No worker."), Next: "omoi worker"}
	}})
	require.Equal(t, client.Dependency{
		Name: "workers", State: client.StateDown, Detail: "No worker.", Next: "omoi worker",
	}, got)
}

// A check that times out is not an internal error.
func TestReadiness_ReportsATimeout(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	got := stateOf(ctx, Probe{Name: "database", Check: func(ctx context.Context) error {
		return fmt.Errorf("ping the database: %w", ctx.Err())
	}})
	require.Equal(t, client.Dependency{Name: "database", State: client.StateDown, Detail: "No answer within 2s."}, got)
}
