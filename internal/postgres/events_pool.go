package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const sqlPlans = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off"

// maxCommits is how many connections the intake opens at most: one for each of its committers, and
// one for what is reported in the name of lost sandboxes.
const maxCommits = 5

// openCommits makes a second pool beside the store's own. Plans that its connections make on
// empty tables serve for hours; without these settings they would scan the tables when those
// have grown. To say so in each transaction would be one more statement in each.
func (s *Store) openCommits() (*pgxpool.Pool, error) {
	conf := s.pool.Config()
	conf.MinConns, conf.MinIdleConns, conf.MaxConns = 0, 0, min(conf.MaxConns, maxCommits)
	before := conf.AfterConnect
	conf.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sqlPlans)
		if err != nil || before == nil {
			return err
		}
		return before(ctx, conn)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), conf)
	if err != nil {
		return nil, fmt.Errorf("open connections for the intake: %w", err)
	}
	s.opened.Store(pool)
	if s.closed.Load() {
		pool.Close()
	}
	return pool, nil
}
