package github

import (
	"context"

	"github.com/omoi-dev/omoi/internal/task"
)

// Tokens finds the credential with which to work on GitHub.
type Tokens interface {
	// Token answers what userID may use for projectID; either may be empty. Where there is none
	// it is [task.CodeUnauthorized] with the next step.
	Token(ctx context.Context, userID, projectID string) (string, error)
}

// Fixed is one token for everybody: that of the installation's configuration.
type Fixed string

// Token implements [Tokens].
func (f Fixed) Token(context.Context, string, string) (string, error) {
	if f == "" {
		return "", task.Errorf(task.CodeUnauthorized, "There is no GitHub token. Next: set GITHUB_TOKEN for API and worker, then retry")
	}
	return string(f), nil
}
