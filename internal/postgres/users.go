package postgres

import (
	"context"

	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// owner is the user of an organization's keys that name no user.
const owner = "owner"

// EnsureOwner finds or creates the first user of an organization and returns its ID.
func (s *Store) EnsureOwner(ctx context.Context, organizationID string) (string, error) {
	return s.EnsureUser(ctx, organizationID, owner)
}

// EnsureUser finds or creates a user by name and returns its ID.
func (s *Store) EnsureUser(ctx context.Context, organizationID, name string) (string, error) {
	if id, found, err := maybe(s.q.UserByName(ctx, organizationID, name)); found || err != nil {
		return id, translate("read user "+name, err)
	}
	if err := s.q.MakeUser(ctx, db.MakeUserParams{ID: task.NewID(), OrganizationID: organizationID, Name: name}); err != nil {
		return "", translate("create user "+name, err)
	}
	id, err := s.q.UserByName(ctx, organizationID, name)
	return id, translate("read user "+name, err)
}

// UserOfLogin finds or creates the user of a JWT and returns its ID. An unknown organization is
// [task.CodeUnauthorized].
func (s *Store) UserOfLogin(ctx context.Context, organizationID, name string) (string, error) {
	id, err := s.EnsureUser(ctx, organizationID, name)
	if violates(err, "users_organization_id_fkey") {
		return "", task.Errorf(task.CodeUnauthorized, "The JWT names an unknown organization: its claim org must be the ID of an organization, or be absent.")
	}
	return id, err
}
