package tracing_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/tracing"
	"github.com/omoi-dev/omoi/workflows"
)

// Switching traces on changes no history: those that were recorded without replay with them.
func TestHistoriesReplayUnderTracing(t *testing.T) {
	t.Parallel()
	// nobody listens there; a replay makes spans all the same
	on, err := tracing.Open(t.Context(), tracing.Config{Endpoint: "http://127.0.0.1:1", Sample: 0}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, on.Close(t.Context())) }()
	around, ok := on.Interceptors()[0].(interceptor.WorkerInterceptor)
	require.True(t, ok, "a worker takes it over from its client")
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{Interceptors: []interceptor.WorkerInterceptor{around}})
	require.NoError(t, err)
	r.RegisterWorkflowWithOptions(workflows.TaskWorkflow, workflow.RegisterOptions{Name: contract.TaskWorkflow})
	r.RegisterWorkflowWithOptions(workflows.SandboxCleanupWorkflow, workflow.RegisterOptions{Name: contract.CleanupWorkflow})
	r.RegisterWorkflowWithOptions(workflows.ReaperWorkflow, workflow.RegisterOptions{Name: contract.ReaperWorkflow})
	r.RegisterWorkflowWithOptions(workflows.PullRelayWorkflow, workflow.RegisterOptions{Name: contract.PullRelayWorkflow})
	r.RegisterWorkflowWithOptions(workflows.GuardianWorkflow, workflow.RegisterOptions{Name: contract.GuardianWorkflow})
	r.RegisterWorkflowWithOptions(workflows.ConductorWorkflow, workflow.RegisterOptions{Name: contract.ConductorWorkflow})
	r.RegisterWorkflowWithOptions(workflows.RetentionWorkflow, workflow.RegisterOptions{Name: contract.RetentionWorkflow})
	files, err := filepath.Glob(filepath.Join("..", "..", "workflows", "testdata", "histories", "*", "*.json"))
	require.NoError(t, err)
	replayed := 0
	for _, file := range files {
		if filepath.Base(filepath.Dir(file)) == "broken" {
			continue
		}
		require.NoError(t, r.ReplayWorkflowHistoryFromJSONFile(nil, file), file)
		replayed++
	}
	require.Positive(t, replayed)
}
