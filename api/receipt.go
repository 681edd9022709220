package api

import (
	"context"
	"net/http"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// Operator is what a person asks who looks after sandboxes.
type Operator interface {
	// Receipt sums up the sandboxes of a task.
	Receipt(ctx context.Context, organizationID, taskID string) (task.SandboxReceipt, error)
}

func (a *API) registerOperator() {
	add(a, route{
		method: http.MethodGet, path: "/api/v1/tasks/{id}/receipt", id: "task-receipt", tag: tagTasks, access: accessRead,
		summary: "What became of every sandbox of a task, how long they lived and what they cost",
	}, a.taskReceipt)
}

type receiptOut struct {
	Body client.TaskReceipt
}

func (a *API) taskReceipt(ctx context.Context, in *TaskPath) (*receiptOut, error) {
	if err := knownID("task", in.ID); err != nil {
		return nil, err
	}
	receipt, err := a.deps.Store.Receipt(ctx, callerOf(ctx).organization, in.ID)
	return &receiptOut{Body: receipt}, err
}
