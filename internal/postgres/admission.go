package postgres

import (
	"context"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/postgres/db"
)

// admit runs admission after a change that concerns one project.
func admit(ctx context.Context, q *db.Queries, organizationID, projectID string) error {
	done, err := q.Admit(ctx, organizationID, projectID)
	if err != nil || done {
		return err
	}
	return admitAll(ctx, q, organizationID)
}

// admitAll runs admission for all queued tasks of an organization. The organization stays locked until the transaction
// ends, so that each queued task has the name of its credential.
func admitAll(ctx context.Context, q *db.Queries, organizationID string) error {
	if err := q.LockAdmission(ctx, organizationID); err != nil {
		return err
	}
	queued, err := q.QueuedOnCredentials(ctx, organizationID)
	if err != nil {
		return err
	}
	in := db.AdmitAllParams{OrganizationID: organizationID, Answered: event.Types(event.Answered)}
	chosen, err := chooseCredentials(ctx, q, organizationID, mapAll(queued, func(r db.QueuedOnCredentialsRow) db.Task {
		return db.Task{ID: r.ID, UserID: r.UserID, ProjectID: r.ProjectID, Agent: r.Agent, ExecutionConfig: r.ExecutionConfig}
	}))
	for id, choice := range chosen {
		in.OnCredentials, in.Names = append(in.OnCredentials, id), append(in.Names, choice.Name)
	}
	if err != nil {
		return err
	}
	return q.AdmitAll(ctx, in)
}

// admitOrganizations runs admission for organizations, each in a transaction of its own.
func (s *Store) admitOrganizations(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if err := s.inTx(ctx, func(q *db.Queries) error { return admitAll(ctx, q, id) }); err != nil {
			return translate("admit tasks of organization "+id, err)
		}
	}
	return nil
}

// SetPaused pauses or resumes admission in all organizations. Running tasks continue.
func (s *Store) SetPaused(ctx context.Context, paused bool) error {
	changed, err := s.q.PauseOrganizations(ctx, paused)
	if err == nil && (changed > 0 || !paused) {
		err = s.admitAllOrganizations(ctx)
	}
	return translate("pause or resume all organizations", err)
}

func (s *Store) admitAllOrganizations(ctx context.Context) error {
	ids, err := s.q.Organizations(ctx)
	if err != nil {
		return translate("list organizations", err)
	}
	return s.admitOrganizations(ctx, ids)
}
