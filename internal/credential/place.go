package credential

import (
	"context"
	"time"
)

// Scopes name the owner of a credential, in the order of precedence.
const (
	ScopeUser         = "user"
	ScopeProject      = "project"
	ScopeOrganization = "organization"
	ScopeApp          = "app"          // configured GitHub App; for Git on GitHub only
	ScopeInstallation = "installation" // configured, not stored
)

// Who identifies the user, project and organization for which a credential is used. UserID and ProjectID may be empty.
type Who struct {
	OrganizationID string
	UserID         string
	ProjectID      string
}

// Place identifies a stored credential: its owner and kind. The owner is the user, else the project, else the
// organization.
type Place struct {
	Who

	Kind string
}

// Scope returns the scope of the owner.
func (p Place) Scope() string {
	switch {
	case p.UserID != "":
		return ScopeUser
	case p.ProjectID != "":
		return ScopeProject
	}
	return ScopeOrganization
}

// names returns the additional data that binds a sealed value to its place.
func (p Place) names() []string {
	return []string{"omoi credential", p.OrganizationID, p.UserID, p.ProjectID, p.Kind}
}

// Row is a stored credential.
type Row struct {
	Place

	ID        string
	KeyID     string
	Sealed    []byte // nonce, then ciphertext
	UpdatedAt time.Time
	UsedAt    *time.Time // when a task last received the credential; nil: never
}

// Store stores credentials as rows.
type Store interface {
	// PutCredential inserts or replaces the row of a place.
	PutCredential(ctx context.Context, p Place, keyID string, sealed []byte) (Row, error)
	// DropCredential deletes the row of a place and reports whether the row existed.
	DropCredential(ctx context.Context, p Place) (bool, error)
	// Credentials returns the rows of the user, the project and the organization. Without a project ID, Credentials
	// returns the rows of all projects of the organization.
	Credentials(ctx context.Context, w Who) ([]Row, error)
	// CredentialsUnder returns the rows of all organizations that a key other than notKeyID encrypts, ordered by ID,
	// after afterID.
	CredentialsUnder(ctx context.Context, notKeyID, afterID string, limit int) ([]Row, error)
	// ResealCredential replaces the ciphertext of a row unless the row has changed since it was read. The result
	// reports whether the row was replaced.
	ResealCredential(ctx context.Context, was Row, keyID string, sealed []byte) (bool, error)
	// TaskEnvs returns the envs of tasks ordered by task ID, after afterID.
	TaskEnvs(ctx context.Context, afterID string, limit int) ([]TaskEnv, error)
	// ResealTaskEnv replaces the env of a task unless the env has changed since it was read. The result reports whether
	// the env was replaced.
	ResealTaskEnv(ctx context.Context, was TaskEnv, env map[string]string) (bool, error)
	// UseCredential records that a task received the credential.
	UseCredential(ctx context.Context, id string) error
	// ProveCredential records that the provider accepts a credential and resumes the tasks that wait for its cooldown.
	// An empty id means the configured credential of this kind.
	ProveCredential(ctx context.Context, organizationID, id, kind string) error
	// UseNoCredential records that the newest attempt of a task received no credential.
	UseNoCredential(ctx context.Context, taskID string) error
	// OrganizationOf returns the organization of the project, or, without a project ID, of the user. The error has
	// [task.CodeNotFound] if it does not exist.
	OrganizationOf(ctx context.Context, userID, projectID string) (string, error)
}
