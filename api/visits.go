package api

import (
	"context"
	"net/http"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Visits records access sessions.
type Visits interface {
	// BeginVisit records that a user enters a sandbox, and returns the sandbox's labels.
	BeginVisit(
		ctx context.Context, organizationID string, v receipt.AccessSession,
	) (receipt.AccessSession, sandbox.Labels, error)
	EndVisit(ctx context.Context, organizationID, sandboxID, id, outcome string) error
}

func (a *API) registerVisits() {
	box := a.group(tagSandboxes, "/api/v1/sandboxes/{sandbox_id}")
	start := box.on(accessAdmin, "POST /access-sessions", "start-access-session", "Start an access session")
	add(start, a.beginVisit, details{
		more: "Records who accesses the sandbox and how, before the access, and returns provider, host and labels. " +
			"410 if the sandbox is deleted or lost, 409 if its agent runs outside omoi.", status: http.StatusCreated,
		fails: []int{http.StatusGone},
	})
	end := box.on(accessAdmin, "POST /access-sessions/{access_session_id}/end", "end-access-session", "End an access session")
	add(end, a.endVisit,
		details{
			more:   "Records how the session ended; only the first report counts, and 404 answers further ones.",
			status: http.StatusNoContent,
		})
}

type beginVisitIn struct {
	SandboxPath

	Body client.CreateAccessSessionRequest
}

// beginVisit records the session before it starts, so that no access is unrecorded. Secrets are removed from the
// recorded command.
func (a *API) beginVisit(ctx context.Context, in *beginVisitIn) (*bodyOut[client.StartedAccessSession], error) {
	who := callerOf(ctx)
	box, err := a.deps.Sandboxes.SandboxRow(ctx, who.organization, in.SandboxID, a.cfg.Open)
	switch {
	case err != nil:
		return nil, err
	case !box.Machine():
		return nil, task.Errorf(task.CodeConflict, "Cannot access sandbox %s: its agent runs outside of omoi.", box.ID).WithKind(task.KindInvalidState)
	case box.State == task.SandboxGone || box.State == task.SandboxLost:
		return nil, task.Errorf(task.CodeGone, "Cannot access sandbox %s: it is %s. Next: omoi receipt, or omoi logs --raw",
			box.ID, box.State).WithKind(task.KindSandboxDeleted)
	}
	session, labels, err := a.deps.Visits.BeginVisit(ctx, who.organization, receipt.AccessSession{
		SandboxID: box.ID, User: who.name, Kind: in.Body.Kind, Summary: redact.Scrub(in.Body.Summary, nil),
	})
	return body(client.StartedAccessSession{AccessSession: session, Sandbox: box, Labels: client.SandboxLabels(labels)}, err)
}

type endVisitIn struct {
	SandboxPath

	ID   string `path:"access_session_id" doc:"UUID of the access session, from the answer that started the session"`
	Body client.EndAccessSessionRequest
}

func (a *API) endVisit(ctx context.Context, in *endVisitIn) (*struct{}, error) {
	return nil, a.deps.Visits.EndVisit(ctx, callerOf(ctx).organization, in.SandboxID, in.ID,
		redact.Scrub(in.Body.Outcome, nil))
}
