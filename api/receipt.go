package api

import (
	"context"
	"net/http"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/receipt"
)

// Receipts reads deletion receipts and the ID of the installation.
type Receipts interface {
	// Receipt sums up the sandboxes of a task.
	Receipt(ctx context.Context, organizationID, taskID string) (receipt.DeletionReceipt, error)
	// Installation is what the labels of its sandboxes say.
	Installation(ctx context.Context) (string, error)
}

func (a *API) registerOperator() {
	add(a, route{
		method: http.MethodGet, path: "/api/v1/tasks/{id}/receipt", id: "get-task-receipt", tag: tagTasks, access: accessRead,
		summary: "Get a deletion receipt", more: "Lifetimes, cost and verification of every sandbox of a task.",
	}, read(a.deps.Receipts.Receipt))
	const box = "/api/v1/sandboxes/{sandbox_id}"
	add(a, route{
		method: http.MethodGet, path: box + "/log", id: "sandbox-log", tag: tagSandboxes, access: accessInspect,
		summary: "Read a sandbox's log",
		more:    "What its agent printed, without secrets, while the sandbox runs and after its end.",
	}, a.sandboxLog)
	add(a, route{
		method: http.MethodPost, path: box + "/visits", id: "begin-visit", tag: tagSandboxes, access: accessAdmin,
		status:  http.StatusCreated,
		summary: "Start an access session", more: "Records who accesses a sandbox, and returns where it is.",
		fails: []int{http.StatusGone},
	}, a.beginVisit)
	add(a, route{
		method: http.MethodPost, path: box + "/visits/{visit_id}/end", id: "end-visit", tag: tagSandboxes,
		access: accessAdmin, status: http.StatusNoContent,
		summary: "End an access session",
	}, a.endVisit)
	add(a, route{
		method: http.MethodGet, path: "/api/v1/installation", id: "installation", tag: tagServer, access: accessAdmin,
		summary: "Get the installation ID", more: "The one in the labels of its sandboxes.",
	}, a.installation)
}

func (a *API) installation(ctx context.Context, _ *struct{}) (*bodyOut[client.Installation], error) {
	id, err := a.deps.Receipts.Installation(ctx)
	return body(client.Installation{ID: id}, err)
}
