package postgres

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

var _ credential.Store = (*Store)(nil)

// PutCredential implements [credential.Store]. A project of another organization is [task.CodeNotFound].
func (s *Store) PutCredential(ctx context.Context, p credential.Place, keyID string, sealed []byte) (credential.Row, error) {
	row, err := s.q.PutCredential(ctx, db.PutCredentialParams{
		ID: task.NewID(), OrganizationID: p.OrganizationID, UserID: orNull(p.UserID), ProjectID: orNull(p.ProjectID),
		Kind: p.Kind, KeyID: keyID, Sealed: sealed,
	})
	return credentialOf(row), missing(translate("store credential "+p.Kind, err), "There is no project %s.", p.ProjectID)
}

// DropCredential implements [credential.Store].
func (s *Store) DropCredential(ctx context.Context, p credential.Place) (bool, error) {
	n, err := s.q.DropCredential(ctx, db.DropCredentialParams{
		OrganizationID: p.OrganizationID, Kind: p.Kind, UserID: orNull(p.UserID), ProjectID: orNull(p.ProjectID),
	})
	return n > 0, translate("remove credential "+p.Kind, err)
}

// Credentials implements [credential.Store].
func (s *Store) Credentials(ctx context.Context, w credential.Who) ([]credential.Row, error) {
	rows, err := s.q.Credentials(ctx, db.CredentialsParams{OrganizationID: w.OrganizationID, UserID: orNull(w.UserID), ProjectID: orNull(w.ProjectID)})
	return mapAll(rows, credentialOf), translate("read credentials", err)
}

// CredentialsUnder implements [credential.Store].
func (s *Store) CredentialsUnder(ctx context.Context, notKeyID, afterID string, limit int) ([]credential.Row, error) {
	const before = "00000000-0000-0000-0000-000000000000"
	rows, err := s.q.CredentialsUnder(ctx, db.CredentialsUnderParams{
		NotKeyID: notKeyID, After: cmp.Or(afterID, before), Most: limit,
	})
	return mapAll(rows, credentialOf), translate("read credentials under other keys", err)
}

// ResealCredential implements [credential.Store].
func (s *Store) ResealCredential(ctx context.Context, was credential.Row, keyID string, sealed []byte) (bool, error) {
	n, err := s.q.ResealCredential(ctx, db.ResealCredentialParams{ID: was.ID, Was: was.Sealed, KeyID: keyID, Sealed: sealed})
	return n > 0, translate("encrypt credential "+was.ID+" again", err)
}

// UseCredential implements [credential.Store]. The time is written at most once a minute.
func (s *Store) UseCredential(ctx context.Context, id string) error {
	return translate("record the use of credential "+id, s.q.UseCredential(ctx, id))
}

// UseNoCredential implements [credential.Store]. A rate limit of the attempt then concerns this task only.
func (s *Store) UseNoCredential(ctx context.Context, taskID string) error {
	err := s.q.UseNoCredential(ctx, db.UseNoCredentialParams{
		TaskID: taskID, OfTask: credential.OfTask, OfInstallation: credential.OfInstallation,
	})
	return translate("record that task "+taskID+" was given no credential", err)
}

// OrganizationOf implements [credential.Store].
func (s *Store) OrganizationOf(ctx context.Context, userID, projectID string) (string, error) {
	id, err := s.q.PlaceOrganization(ctx, orNull(projectID), orNull(userID))
	return id, translate("find the organization of project "+projectID+" or user "+userID, err)
}

// credentialName returns the name of the credential that the agent of a task uses; see [credential.Name].
func credentialName(ctx context.Context, q *db.Queries, row db.Task) (string, error) {
	names, err := credentialNames(ctx, q, row.OrganizationID, []db.Task{row})
	return names[row.ID], err
}

// credentialNames returns the names of the credentials of tasks of one organization, by task ID.
func credentialNames(ctx context.Context, q *db.Queries, organizationID string, tasks []db.Task) (map[string]string, error) {
	if len(tasks) == 0 {
		return nil, nil //nolint:nilnil // there are none
	}
	stored, err := q.OrganizationCredentials(ctx, organizationID)
	rows, names := mapAll(stored, placeOf), make(map[string]string, len(tasks))
	for _, t := range tasks {
		work := task.Work{TaskID: t.ID, OrganizationID: organizationID, UserID: task.Deref(t.UserID), ProjectID: t.ProjectID, Agent: t.Agent}
		_ = json.Unmarshal(t.ExecutionConfig, &work.Execution) // an unreadable config fails at the start of the task
		names[t.ID] = credential.Name(rows, work)
	}
	return names, err
}

// placeOf returns a credential without its secret.
func placeOf(r db.OrganizationCredentialsRow) credential.Row {
	return credentialOf(db.Credential{
		ID: r.ID, OrganizationID: r.OrganizationID, UserID: r.UserID, ProjectID: r.ProjectID,
		Kind: r.Kind, UpdatedAt: r.UpdatedAt,
	})
}

func credentialOf(row db.Credential) credential.Row {
	who := credential.Who{OrganizationID: row.OrganizationID, UserID: task.Deref(row.UserID), ProjectID: task.Deref(row.ProjectID)}
	return credential.Row{
		Place: credential.Place{Who: who, Kind: row.Kind}, ID: row.ID, KeyID: row.KeyID, Sealed: row.Sealed,
		UpdatedAt: row.UpdatedAt, UsedAt: row.UsedAt,
	}
}
