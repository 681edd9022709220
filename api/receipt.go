package api

import (
	"context"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/receipt"
)

// Receipts reads deletion receipts and the ID of the installation.
type Receipts interface {
	// Receipt returns the deletion receipt of a task.
	Receipt(ctx context.Context, organizationID, taskID string) (receipt.DeletionReceipt, error)
	// Installation returns the ID in the labels of the installation's sandboxes.
	Installation(ctx context.Context) (string, error)
}

func (a *API) registerOperator() {
	tasks := a.group(tagTasks, "/api/v1/tasks")
	box := a.group(tagSandboxes, "/api/v1/sandboxes/{sandbox_id}")
	server := a.group(tagServer, "/api/v1")
	add(tasks.on(accessRead, "GET /{id}/receipt", "get-task-receipt", "Get a deletion receipt"),
		read(a.deps.Receipts.Receipt), details{more: "Lifetime, cost and verification of every sandbox of the task, also while it runs."})
	add(box.on(accessInspect, "GET /log", "sandbox-log", "Read a sandbox's log"), a.sandboxLog,
		details{more: "Standard output and standard error of the agent, without secrets, while the sandbox runs and after its end. " +
			"404 if the agent runs outside omoi."})
	add(server.on(accessAdmin, "GET /installation", "installation", "Get the installation ID"), a.installation,
		details{more: "The ID in the labels of all sandboxes that the installation created."})
}

func (a *API) installation(ctx context.Context, _ *struct{}) (*bodyOut[client.Installation], error) {
	id, err := a.deps.Receipts.Installation(ctx)
	return body(client.Installation{ID: id}, err)
}
