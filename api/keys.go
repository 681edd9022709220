package api

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// Keys stores API keys.
type Keys interface {
	Keys(ctx context.Context, organizationID string) ([]client.Key, error)
	CreateKey(ctx context.Context, d client.KeyDraft) (client.Key, string, error)
	RevokeKey(ctx context.Context, organizationID, id string) error
}

type createKeyIn struct {
	Body client.NewKey
}

func (a *API) createKey(ctx context.Context, in *createKeyIn) (*bodyOut[client.MadeKey], error) {
	if err := checkTitle("name", in.Body.Name); err != nil {
		return nil, err
	}
	if in.Body.User != "" {
		if err := checkTitle("user", in.Body.User); err != nil {
			return nil, err
		}
	}
	given := in.Body.Scopes
	if len(given) == 0 {
		given = []string{string(accessWrite)}
	}
	for _, scope := range given {
		if !slices.Contains(scopes(), scope) {
			return nil, task.Invalid("scopes", "The scope %q is not one of %s.", clip(scope), strings.Join(scopes(), ", "))
		}
	}
	expires := in.Body.ExpiresAt
	if expires != nil {
		var err error
		if expires, err = checkExpiry(*expires); err != nil {
			return nil, err
		}
	}
	key, secret, err := a.deps.Keys.CreateKey(ctx, client.KeyDraft{
		OrganizationID: callerOf(ctx).organization, User: cmp.Or(in.Body.User, callerOf(ctx).userName), Name: in.Body.Name, Scopes: given, ExpiresAt: expires,
	})
	return body(client.MadeKey{Key: key, Secret: secret}, err)
}

// checkExpiry returns when a key expires, in UTC.
func checkExpiry(at time.Time) (*time.Time, error) {
	if at.Before(time.Now()) {
		return nil, task.Invalid("expires_at", "The key would have expired already: give a later expires_at, or none for a key without end.")
	}
	return checkTime("expires_at", at)
}

func (a *API) listKeys(ctx context.Context, _ *struct{}) (*pageOut[client.Key], error) {
	return whole(a.deps.Keys.Keys(ctx, callerOf(ctx).organization))
}
