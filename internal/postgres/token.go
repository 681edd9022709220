package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/omoi-dev/omoi/internal/task"
)

// TokenLives is [task.CodeGone] an hour after the sandbox was verified gone: then its token
// opens nothing any more. Of a sandbox that nobody knows it says nothing.
func (s *Store) TokenLives(ctx context.Context, sandboxID string) error {
	over, err := s.q.TokenOver(ctx, sandboxID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return translate("look whether the token of sandbox "+sandboxID+" lives", err)
	case over:
		return task.Errorf(task.CodeGone, "Sandbox %s is gone, and its token with it.", sandboxID)
	}
	return nil
}
