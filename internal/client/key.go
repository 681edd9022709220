package client

import "time"

// Key is an API key without its secret.
type Key struct {
	ID             string     `json:"id"`
	OrganizationID string     `json:"organization_id"`
	UserID         string     `json:"user_id"` // for whom it speaks
	User           string     `json:"user"`    // the name of that user
	Name           string     `json:"name"`
	Prefix         string     `json:"prefix"` // its first 16 characters
	Scopes         []string   `json:"scopes" nullable:"false"`
	CreatedAt      time.Time  `json:"created_at"`
	LastUsedAt     *time.Time `json:"last_used_at"`
	ExpiresAt      *time.Time `json:"expires_at"` // null: never
	RevokedAt      *time.Time `json:"revoked_at"`
}
