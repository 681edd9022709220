package postgres

import (
	"context"

	"github.com/omoi-dev/omoi/internal/task"
)

// UserOfLogin answers the user of that name, made if need be, for whom a signed login speaks.
// An organization that is not there is [task.CodeUnauthorized].
func (s *Store) UserOfLogin(ctx context.Context, organizationID, name string) (string, error) {
	id, err := s.EnsureUser(ctx, organizationID, name)
	if violates(err, "users_organization_id_fkey") {
		return "", task.Errorf(task.CodeUnauthorized, "The JWT is of an organization that is not here: its claim org must be the id of one, or be left out.")
	}
	return id, err
}
