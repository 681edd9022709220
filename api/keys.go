package api

import (
	"cmp"
	"context"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// Keys stores API keys.
type Keys interface {
	Keys(ctx context.Context, organizationID string) ([]client.APIKey, error)
	CreateKey(ctx context.Context, organizationID string, in client.CreateAPIKeyRequest) (client.APIKey, string, error)
	RevokeKey(ctx context.Context, organizationID, id string) error
}

func (a *API) createKey(
	ctx context.Context, in *bodyIn[client.CreateAPIKeyRequest],
) (*bodyOut[client.CreatedAPIKey], error) {
	if err := checkTitle("name", in.Body.Name); err != nil {
		return nil, err
	}
	if in.Body.User != "" {
		if err := checkTitle("user", in.Body.User); err != nil {
			return nil, err
		}
	}
	made := in.Body
	made.User = cmp.Or(made.User, callerOf(ctx).userName)
	if len(made.Scopes) == 0 {
		made.Scopes = []string{string(accessWrite)}
	}
	if made.ExpiresAt != nil {
		var err error
		if made.ExpiresAt, err = checkExpiry(*made.ExpiresAt); err != nil {
			return nil, err
		}
	}
	key, secret, err := a.deps.Keys.CreateKey(ctx, callerOf(ctx).organization, made)
	return body(client.CreatedAPIKey{APIKey: key, Secret: secret}, err)
}

// checkExpiry returns in UTC when a key expires.
func checkExpiry(at time.Time) (*time.Time, error) {
	if at.Before(time.Now()) {
		return nil, task.Invalid("expires_at",
			"Invalid expires_at: it is in the past. Next: send a later moment, or none for a key that never expires")
	}
	return checkTime("expires_at", at)
}

func (a *API) listKeys(ctx context.Context, in *client.PageRequest) (*pageOut[client.APIKey], error) {
	all, err := a.deps.Keys.Keys(ctx, callerOf(ctx).organization)
	return whole(*in, func(k client.APIKey) string { return k.ID }, all, err)
}
