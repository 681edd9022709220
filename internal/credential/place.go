package credential

import (
	"context"
	"time"
)

// Scopes: whose a credential is, in the order in which one is looked for.
const (
	ScopeUser         = "user"
	ScopeProject      = "project"
	ScopeOrganization = "organization"
	ScopeApp          = "app"          // the GitHub App that is configured; for git on GitHub only
	ScopeInstallation = "installation" // configured, not stored
)

// Who is asked for: the owner of a task, its project and their organization. User and project may be empty.
type Who struct {
	OrganizationID string
	UserID         string
	ProjectID      string
}

// Place says whose credential of which kind a row is: a user's, a project's, or, with neither, the organization's.
type Place struct {
	Who

	Kind string
}

// Scope is the name of the place's owner.
func (p Place) Scope() string {
	switch {
	case p.UserID != "":
		return ScopeUser
	case p.ProjectID != "":
		return ScopeProject
	}
	return ScopeOrganization
}

// names is the place in the form in which a value is sealed for it.
func (p Place) names() []string {
	return []string{"omoi credential", p.OrganizationID, p.UserID, p.ProjectID, p.Kind}
}

// Row is a stored credential.
type Row struct {
	Place

	ID        string
	KeyID     string
	Sealed    []byte // nonce and ciphertext
	UpdatedAt time.Time
	UsedAt    *time.Time // given to a task; nil: never
}

// Store keeps rows.
type Store interface {
	// PutCredential makes or replaces the row of a place.
	PutCredential(ctx context.Context, p Place, keyID string, sealed []byte) (Row, error)
	// DropCredential removes it; false if there was none.
	DropCredential(ctx context.Context, p Place) (bool, error)
	// Credentials are those of the user, of the project, and of the organization. Without a project those of
	// all projects.
	Credentials(ctx context.Context, w Who) ([]Row, error)
	// CredentialsUnder are rows of all organizations under other keys than this one, in the order of their ids.
	CredentialsUnder(ctx context.Context, notKeyID, afterID string, limit int) ([]Row, error)
	// ResealCredential replaces what is sealed in a row unless that was changed meanwhile.
	ResealCredential(ctx context.Context, was Row, keyID string, sealed []byte) (bool, error)
	// TaskEnvs are the envs of tasks, in the order of the tasks' ids.
	TaskEnvs(ctx context.Context, afterID string, limit int) ([]TaskEnv, error)
	// ResealTaskEnv replaces the env of a task unless that was changed meanwhile.
	ResealTaskEnv(ctx context.Context, was TaskEnv, env map[string]string) (bool, error)
	// UseCredential notes the use of a row.
	UseCredential(ctx context.Context, id string) error
	// ProveCredential notes that its provider takes a credential: the tasks that wait for its limit are woken. Without an id it is
	// the installation's of this kind.
	ProveCredential(ctx context.Context, organizationID, id, kind string) error
	// UseNoCredential notes that the newest attempt of a task was given none.
	UseNoCredential(ctx context.Context, taskID string) error
	// OrganizationOf is that of the project, or without one that of the user; [task.CodeNotFound] if there is no such.
	OrganizationOf(ctx context.Context, userID, projectID string) (string, error)
}
