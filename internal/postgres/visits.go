package postgres

import (
	"context"
	"encoding/json"

	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// BeginVisit records the start of an access session, and returns the labels of its sandbox.
func (s *Store) BeginVisit(ctx context.Context, organizationID string, v receipt.AccessSession) (receipt.AccessSession, sandbox.Labels, error) {
	row, err := s.LedgerSandbox(ctx, v.SandboxID)
	if err != nil {
		return v, sandbox.Labels{}, err
	}
	labels, err := s.labelsOf(ctx, row)
	if err != nil {
		return v, labels, err
	}
	made, err := s.q.BeginVisit(ctx, db.BeginVisitParams{
		ID: task.NewID(), OrganizationID: orNull(organizationID), SandboxID: v.SandboxID, Visitor: storable(v.User), Kind: v.Kind, What: storable(v.Summary),
	})
	return visitRecord(made), labels, translate("record an access session of sandbox "+v.SandboxID, err)
}

// labelsOf returns the labels that were stored with the intent.
func (s *Store) labelsOf(ctx context.Context, row task.Sandbox) (sandbox.Labels, error) {
	var written sandbox.Labels
	if json.Unmarshal(row.Labels, &written) == nil && written.SandboxID == row.ID {
		return written, nil
	}
	installation, err := s.Installation(ctx)
	return sandbox.Labels{Installation: installation, TaskID: row.TaskID, Attempt: row.Attempt, SandboxID: row.ID}, err
}

// EndVisit records the end of an access session. The first recorded outcome stays.
func (s *Store) EndVisit(ctx context.Context, organizationID, sandboxID, id, outcome string) error {
	err := oneRow(s.q.EndVisit(ctx, db.EndVisitParams{
		ID: id, SandboxID: sandboxID, OrganizationID: orNull(organizationID), Outcome: storable(outcome),
	}))
	return missing(translate("record the end of access session "+id, err), "There is no open access session %s.", id)
}
