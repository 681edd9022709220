package postgres

import (
	"context"
	"time"
)

// Statements whose plans are tested.
const (
	SQLPlans    = sqlPlans
	SQLReadKeys = sqlReadKeys
)

// AdmitAll runs admission for all queued tasks of an organization.
func (s *Store) AdmitAll(ctx context.Context, organizationID string) error {
	return s.admitOrganizations(ctx, []string{organizationID})
}

// CredentialName returns the name of the credential that the agent of a task uses.
func (s *Store) CredentialName(ctx context.Context, taskID string) (string, error) {
	row, err := s.q.TaskForUpdate(ctx, taskID)
	if err != nil {
		return "", err
	}
	chosen, err := chooseCredential(ctx, s.q, row.Task)
	return chosen.Name, err
}

// Wrote records the error of a write.
func (s *Store) Wrote(ctx context.Context, err error) error { return s.wrote(ctx, err) }

// AgeDisk makes the last result about the disk older.
func (s *Store) AgeDisk(by time.Duration) { s.disk.at = s.disk.at.Add(-by) }
