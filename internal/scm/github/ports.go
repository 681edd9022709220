package github

import "context"

// Tokens finds the credential with which to work on GitHub.
type Tokens interface {
	// Token answers what userID may use for projectID; either may be empty. Where there is none
	// it is [task.CodeUnauthorized] with the next step.
	Token(ctx context.Context, userID, projectID string) (string, error)
	// OwnToken answers the token of the user, the project or their organization; empty: none of them has one. Ours says
	// whether they may work with the GitHub App that the server is configured with.
	OwnToken(ctx context.Context, userID, projectID string) (token string, ours bool, err error)
}
