package postgres

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/postgres/db"
)

// SandboxAgain notes that a sandbox is there that was verified gone, and since when; the zero time if its provider does not
// say. It has to be deleted and looked for twice as if it had never been gone.
func (s *Store) SandboxAgain(ctx context.Context, sandboxID, providerID string, since time.Time) error {
	_, err := s.q.SandboxAgain(ctx, db.SandboxAgainParams{
		ID: sandboxID, ProviderID: providerID, CreatedAt: timeOr(since), Prices: s.cfg.prices(),
	})
	return translate("note that sandbox "+sandboxID+" is there again", err)
}

// Again counts the sandboxes that were there after they had been verified gone, and have not been verified since; id is one of them.
func (s *Store) Again(ctx context.Context) (n int, id string, err error) {
	row, err := s.q.SandboxesAgain(ctx)
	return int(row.Again), row.ID, translate("count sandboxes that are there again", err)
}
