package client

import "time"

// APIKey is an API key without its secret.
type APIKey struct {
	ID             string     `json:"id" doc:"ID of the API key, a UUID."`
	OrganizationID string     `json:"organization_id" doc:"ID of the organization that the key has access to."`
	UserID         string     `json:"user_id" doc:"ID of the user that the key belongs to. Tasks use the credentials of this user."`
	User           string     `json:"user" doc:"Name of the user that the key belongs to."`
	Name           string     `json:"name" doc:"Label that was chosen when the key was created."`
	Prefix         string     `json:"prefix" doc:"First 16 characters of the secret; given: the secret was chosen by an operator."`
	Scopes         []string   `json:"scopes" nullable:"false" enum:"read,write,admin" doc:"What the key permits; each scope includes those before it. More values may be added."`
	CreatedAt      time.Time  `json:"created_at" doc:"When a user or the configuration created the key."`
	LastUsedAt     *time.Time `json:"last_used_at" doc:"Last request with the key, exact to a minute. null: never used."`
	ExpiresAt      *time.Time `json:"expires_at" doc:"From then on requests with the key are answered with 401. null: never."`
	RevokedAt      *time.Time `json:"revoked_at" doc:"When an admin revoked the key. null: the key is not revoked."`
}
