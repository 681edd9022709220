package postgres_test

import (
	"github.com/omoi-dev/omoi/activities"
	"github.com/omoi-dev/omoi/internal/postgres"
)

var (
	_ activities.Tasks  = postgres.Life{}
	_ activities.Ledger = postgres.Life{}
	_ activities.Fleet  = postgres.Life{}
)
