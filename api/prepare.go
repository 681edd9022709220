package api

import (
	"context"

	"github.com/omoi-dev/omoi/internal/task"
)

// DefaultOrganization is the name of the organization with which an installation starts.
const DefaultOrganization = "default"

// FirstKeys is what [Prepare] needs of the store.
type FirstKeys interface {
	EnsureOrganization(ctx context.Context, name string) (id string, err error)
	EnsureKey(ctx context.Context, organizationID, name, secret string) error
	CountKeys(ctx context.Context) (int64, error)
}

// Prepare makes the default organization and, from firstKey, its first API key (scope
// admin); an empty firstKey makes none. It answers the organization's id for [Config]. A
// server that asks for keys while there are none is [task.CodeInvalid]: nobody could use it.
func Prepare(ctx context.Context, store FirstKeys, open bool, firstKey string) (string, error) {
	const shortest = 16
	id, err := store.EnsureOrganization(ctx, DefaultOrganization)
	if err != nil {
		return "", err
	}
	if firstKey != "" && len(firstKey) < shortest {
		return "", task.Invalid("api.key", "The first API key has %d characters; it needs %d or more.", len(firstKey), shortest)
	}
	if firstKey != "" {
		if err := store.EnsureKey(ctx, id, "first", firstKey); err != nil {
			return "", err
		}
	}
	if open {
		return id, nil
	}
	return id, needKeys(ctx, store)
}

func needKeys(ctx context.Context, store FirstKeys) error {
	n, err := store.CountKeys(ctx)
	if err == nil && n == 0 {
		return task.Invalid("api.key", "This server would ask for API keys, and there are none. Set OMOI_API_KEY, or make one with `omoi keys create`.")
	}
	return err
}
