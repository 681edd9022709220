package api

import (
	"cmp"
	"context"

	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

// Logins judges what people and machines log in with that have no API key.
type Logins interface {
	Verify(credential string) (token.Login, error)
}

// admitLogin lets in who shows a JWT. One that does not speak of scopes may what an API key may
// that was made without: write. One that names none may nothing.
func (a *API) admitLogin(ctx context.Context, credential string) (caller, error) {
	if a.deps.Logins == nil {
		return caller{}, task.Errorf(task.CodeUnauthorized,
			"This server takes no JWT: send an API key, or set OMOI_API_JWT_SECRET where it runs.")
	}
	said, err := a.deps.Logins.Verify(credential)
	if err != nil {
		return caller{}, err
	}
	organization := cmp.Or(said.OrganizationID, a.cfg.Organization)
	if !isID(organization) {
		return caller{}, task.Errorf(task.CodeUnauthorized, "The JWT's claim org is no id of an organization.")
	}
	user, err := a.deps.Identities.UserOfLogin(ctx, organization, said.User)
	who := caller{
		name: "user " + said.User, organization: organization, user: user, userName: said.User,
		scope: scopeOf(scopesOf(said)),
	}
	return who, err
}

func scopesOf(said token.Login) []string {
	if said.Scopes == nil {
		return []string{string(accessWrite)}
	}
	return said.Scopes
}
