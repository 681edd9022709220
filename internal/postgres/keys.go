package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

// keyPrefix is the prefix of generated API keys, so that secret scanners recognize leaked keys.
const keyPrefix = "sk_live_"

// shownPrefix is the number of characters of a key that are stored and shown.
const shownPrefix = 16

// EnsureOrganization finds or creates an organization by name and returns its ID. A new organization has no concurrency
// limit of its own.
func (s *Store) EnsureOrganization(ctx context.Context, name string) (string, error) {
	if err := s.q.MakeOrganization(ctx, task.NewID(), name); err != nil {
		return "", translate("create organization "+name, err)
	}
	id, err := s.q.OrganizationByName(ctx, name)
	return id, translate("read organization "+name, err)
}

// CreateKey creates an API key and returns it with its secret, of which only a hash is stored. The key belongs to the
// user in.User, who is created if needed.
func (s *Store) CreateKey(ctx context.Context, organizationID string, in client.CreateAPIKeyRequest) (client.APIKey, string, error) {
	secret := newSecret()
	key, err := s.insertKey(ctx, db.InsertKeyParams{OrganizationID: organizationID, Name: in.Name, Scopes: in.Scopes, ExpiresAt: in.ExpiresAt}, cmp.Or(in.User, owner), secret)
	return key, secret, translate("create API key "+in.Name, err)
}

// EnsureKey stores a given key with the scope admin, unless the key is known. A revoked key stays revoked after a
// restart.
func (s *Store) EnsureKey(ctx context.Context, organizationID, name, secret string) error {
	_, err := s.insertKey(ctx, db.InsertKeyParams{OrganizationID: organizationID, Name: name, Scopes: []string{"admin"}}, owner, secret)
	if violates(err, "api_keys_hash_key") {
		return nil
	}
	return translate("store API key "+name, err)
}

func (s *Store) insertKey(ctx context.Context, arg db.InsertKeyParams, user, secret string) (client.APIKey, error) {
	var err error
	if arg.UserID, err = s.EnsureUser(ctx, arg.OrganizationID, user); err != nil {
		return client.APIKey{}, err
	}
	arg.ID = task.NewID()
	arg.Hash, arg.Scopes = hashKey(secret), orEmpty(arg.Scopes)
	arg.Prefix = secret[:min(len(secret), shownPrefix)]
	if !strings.HasPrefix(secret, keyPrefix) {
		arg.Prefix = "given" // a given key may be short, so none of it is shown
	}
	row, err := s.q.InsertKey(ctx, arg)
	return keyOf(row, user), err
}

// KeyBySecret returns the valid key of a secret. [task.CodeUnauthorized] if the key is unknown, revoked or expired. The
// use is recorded at most once a minute.
func (s *Store) KeyBySecret(ctx context.Context, secret string) (client.APIKey, error) {
	row, err := s.q.KeyByHash(ctx, hashKey(secret))
	if err != nil {
		err = translate("find the API key", err)
		if task.CodeOf(err) == task.CodeNotFound {
			return client.APIKey{}, task.Errorf(task.CodeUnauthorized, "The API key is unknown, revoked or expired. Next: set OMOI_API_KEY to a valid key, or send a valid key as bearer token")
		}
		return client.APIKey{}, err
	}
	return s.keyUsed(ctx, row.ApiKey, row.UserName)
}

// keyUsed returns a key, and records its use.
func (s *Store) keyUsed(ctx context.Context, key db.ApiKey, user string) (client.APIKey, error) {
	var err error
	if key.LastUsedAt == nil || time.Since(*key.LastUsedAt) > time.Minute {
		err = s.q.TouchKey(ctx, key.ID)
	}
	return keyOf(key, user), translate("record the use of the API key", err)
}

// KeyByID returns the valid key of a session, and records its use as KeyBySecret does. [task.CodeUnauthorized] if there is none with this ID.
func (s *Store) KeyByID(ctx context.Context, id string) (client.APIKey, error) {
	row, err := s.q.ValidKey(ctx, id)
	if err = translate("find the API key of a session", err); task.CodeOf(err) == task.CodeNotFound {
		err = task.Errorf(task.CodeUnauthorized, "The API key of the session was revoked or has expired. Next: sign in with another key")
	}
	if err != nil {
		return client.APIKey{}, err
	}
	return s.keyUsed(ctx, row.ApiKey, row.UserName)
}

// Keys lists the keys of an organization, newest first, including revoked ones.
func (s *Store) Keys(ctx context.Context, organizationID string) ([]client.APIKey, error) {
	rows, err := s.q.ListKeys(ctx, organizationID)
	return mapAll(rows, func(r db.ListKeysRow) client.APIKey { return keyOf(r.ApiKey, r.UserName) }), translate("list API keys", err)
}

// RevokeKey revokes a key permanently. [task.CodeNotFound] if the organization has no such key.
func (s *Store) RevokeKey(ctx context.Context, organizationID, id string) error {
	n, err := s.q.RevokeKey(ctx, organizationID, id)
	if err == nil && n == 0 {
		return task.Errorf(task.CodeNotFound, "Unknown API key %s.", id)
	}
	return translate("revoke API key "+id, err)
}

// CountKeys counts the keys of all organizations, including revoked ones.
func (s *Store) CountKeys(ctx context.Context) (int64, error) {
	n, err := s.q.CountKeys(ctx)
	return n, translate("count API keys", err)
}

func newSecret() string {
	const size = 32
	var b [size]byte
	_, _ = rand.Read(b[:]) // never returns an error since Go 1.24
	return keyPrefix + base64.RawURLEncoding.EncodeToString(b[:])
}

func hashKey(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

func keyOf(row db.ApiKey, user string) client.APIKey {
	return client.APIKey{
		ID: row.ID, OrganizationID: row.OrganizationID, UserID: row.UserID, User: user, Name: row.Name, Prefix: row.Prefix, Scopes: row.Scopes,
		CreatedAt: row.CreatedAt, LastUsedAt: row.LastUsedAt, ExpiresAt: row.ExpiresAt, RevokedAt: row.RevokedAt,
	}
}

func mapAll[A, B any](in []A, f func(A) B) []B {
	out := make([]B, len(in))
	for i, a := range in {
		out[i] = f(a)
	}
	return out
}
