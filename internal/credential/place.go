package credential

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
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

// MaxNumber is the maximum number of credentials of one owner and kind.
const MaxNumber = 9

// Place identifies a stored credential: its owner, kind and number. The owner is the user, else the project, else the
// organization.
type Place struct {
	Who

	Kind string
	// Number orders the credentials of one owner and kind: the lowest is used first, and a higher one while those before
	// it are rate limited. 0 means 1.
	Number int
}

// StoredKind returns kind and number in one text: "openai" for the first credential, "openai#2" for the second. Programs
// that know no numbers take the second for a credential of another kind, and so never use it.
func (p Place) StoredKind() string {
	if n := cmp.Or(p.Number, 1); n > 1 {
		return p.Kind + "#" + strconv.Itoa(n)
	}
	return p.Kind
}

// ParseKind is the reverse of [Place.StoredKind]. The number is at least 1.
func ParseKind(stored string) (kind string, number int) {
	kind, after, _ := strings.Cut(stored, "#")
	number, _ = strconv.Atoi(after) // nothing after the kind: the first
	return kind, max(number, 1)
}

// setCommand returns the command that replaces the credential.
func (p Place) setCommand() string {
	if p.Number > 1 {
		return "omoi credentials set " + p.Kind + " --number " + strconv.Itoa(p.Number)
	}
	return "omoi credentials set " + p.Kind
}

// check returns an error with [task.CodeInvalid] if the number cannot be that of a credential of this kind.
func (p Place) check() error {
	switch {
	case p.Number < 0 || p.Number > MaxNumber:
		return task.Invalid("number", "Invalid number of a credential: expected 1 to %d.", MaxNumber)
	case p.Number > 1 && p.Kind == GitHub:
		return task.Invalid("number", "A %s credential has no number: only credentials of model providers take over from each other.", p.Kind)
	}
	return nil
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
	return []string{"omoi credential", p.OrganizationID, p.UserID, p.ProjectID, p.StoredKind()}
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
	SealedTexts
	// UseCredential records that a task received the credential.
	UseCredential(ctx context.Context, id string) error
	// Cooldowns returns the active cooldowns of an organization by the name of their credential.
	Cooldowns(ctx context.Context, organizationID string) (map[string]Cooldown, error)
	// ProveCredential records that the provider accepts a credential and resumes the tasks that wait for its cooldown.
	// An empty id means the configured credential of this kind.
	ProveCredential(ctx context.Context, organizationID, id, kind string) error
	// UseNoCredential records that the newest attempt of a task received no credential.
	UseNoCredential(ctx context.Context, taskID string) error
	// OrganizationOf returns the organization of the project, or, without a project ID, of the user. The error has
	// [task.CodeNotFound] if it does not exist.
	OrganizationOf(ctx context.Context, userID, projectID string) (string, error)
}

// SealedTexts stores what the keys encrypt in addition to credentials.
type SealedTexts interface {
	// TaskEnvs returns the envs of tasks ordered by task ID, after afterID.
	TaskEnvs(ctx context.Context, afterID string, limit int) ([]TaskEnv, error)
	// ResealTaskEnv replaces the env of a task unless the env has changed since it was read. The result reports whether
	// the env was replaced.
	ResealTaskEnv(ctx context.Context, was TaskEnv, env map[string]string) (bool, error)
	// NoticeAddresses returns the addresses of notice rules ordered by rule ID, after afterID.
	NoticeAddresses(ctx context.Context, afterID string, limit int) ([]NoticeAddress, error)
	// ResealNoticeAddress replaces an address unless it has changed since it was read. The result reports whether it was
	// replaced.
	ResealNoticeAddress(ctx context.Context, was NoticeAddress, sealed string) (bool, error)
}
