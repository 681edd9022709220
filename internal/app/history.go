package app

import (
	"context"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/temporal"
)

// HistoryLength counts the events in the history of a task's newest run, on the Temporal
// server of an omoi dev.
func HistoryLength(ctx context.Context, info devstack.Info, taskID string) (int64, error) {
	client, err := temporal.Dial(temporal.Config{HostPort: info.TemporalAddress, Namespace: info.TemporalNamespace}, nil)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	run, err := client.Describe(ctx, contract.TaskWorkflowID(taskID))
	return run.HistoryLength, err
}
