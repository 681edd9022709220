package postgres_test

import (
	"github.com/omoi-dev/omoi/activities"
	"github.com/omoi-dev/omoi/internal/postgres"
)

var (
	_ activities.Tasks      = (*postgres.Store)(nil)
	_ activities.Ledger     = (*postgres.Store)(nil)
	_ activities.Texts      = (*postgres.Store)(nil)
	_ activities.Fleet      = (*postgres.Store)(nil)
	_ activities.Reconciler = (*postgres.Store)(nil)
)
