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
		Kind: p.StoredKind(), KeyID: keyID, Sealed: sealed,
	})
	return credentialOf(row), missing(translate("store credential "+p.Kind, err), "There is no project %s.", p.ProjectID)
}

// DropCredential implements [credential.Store].
func (s *Store) DropCredential(ctx context.Context, p credential.Place) (bool, error) {
	n, err := s.q.DropCredential(ctx, db.DropCredentialParams{
		OrganizationID: p.OrganizationID, Kind: p.StoredKind(), UserID: orNull(p.UserID), ProjectID: orNull(p.ProjectID),
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

// AllowSubscriptions records whether subscriptions of one owner take over from each other.
func (s *Store) AllowSubscriptions(ctx context.Context, allowed bool) error {
	if _, err := s.Installation(ctx); err != nil {
		return err
	}
	return translate("record whether several subscriptions are allowed", s.q.AllowSubscriptions(ctx, allowed))
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

// chooseCredential returns the credential that the agent of a task uses; see [credential.Choose].
func chooseCredential(ctx context.Context, q *db.Queries, row db.Task) (credential.Choice, error) {
	chosen, err := chooseCredentials(ctx, q, row.OrganizationID, []db.Task{row})
	return chosen[row.ID], err
}

// chooseCredentials returns the credentials of tasks of one organization, by task ID.
func chooseCredentials(ctx context.Context, q *db.Queries, organizationID string, tasks []db.Task) (map[string]credential.Choice, error) {
	if len(tasks) == 0 {
		return nil, nil //nolint:nilnil // there are none
	}
	stored, err := q.OrganizationCredentials(ctx, organizationID)
	if err != nil {
		return nil, err
	}
	rules := credential.Rules{Subscriptions: len(stored) > 0 && stored[0].SeveralSubscriptions}
	rules.Cooldowns, err = cooldowns(ctx, q, organizationID)
	rows, chosen := mapAll(stored, placeOf), make(map[string]credential.Choice, len(tasks))
	for _, t := range tasks {
		work := task.Work{TaskID: t.ID, OrganizationID: organizationID, UserID: task.Deref(t.UserID), ProjectID: t.ProjectID, Agent: t.Agent}
		_ = json.Unmarshal(t.ExecutionConfig, &work.Execution) // an unreadable config fails at the start of the task
		chosen[t.ID] = credential.Choose(rows, work, rules)
	}
	return chosen, err
}

// cooldowns returns the active cooldowns of an organization by the name of their credential.
func cooldowns(ctx context.Context, q *db.Queries, organizationID string) (map[string]credential.Cooldown, error) {
	rows, err := q.Cooldowns(ctx, organizationID)
	all := make(map[string]credential.Cooldown, len(rows))
	for _, r := range rows {
		all[r.Credential] = credential.Cooldown{Until: r.Until, Probe: r.Probe}
	}
	return all, err
}

// Cooldowns implements [credential.Store].
func (s *Store) Cooldowns(ctx context.Context, organizationID string) (map[string]credential.Cooldown, error) {
	all, err := cooldowns(ctx, s.q, organizationID)
	return all, translate("read cooldowns of credentials", err)
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
	kind, number := credential.ParseKind(row.Kind)
	return credential.Row{
		Place: credential.Place{Who: who, Kind: kind, Number: number}, ID: row.ID, KeyID: row.KeyID, Sealed: row.Sealed,
		UpdatedAt: row.UpdatedAt, UsedAt: row.UsedAt,
	}
}
