package postgres_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/pgtest"
	"github.com/omoi-dev/omoi/internal/postgres"
)

// tables counts tables, sequences and views without those of goose.
const tables = `SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'S', 'v') AND c.relname NOT LIKE 'goose%'`

const functions = `SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'public'`

func TestTenProcessesMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	var wait sync.WaitGroup
	errs := make([]error, 10)
	for i := range errs {
		wait.Go(func() { errs[i] = postgres.Migrate(t.Context(), url) })
	}
	wait.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	status, err := postgres.Status(t.Context(), url)
	require.NoError(t, err)
	require.NotEmpty(t, status)
	for _, step := range status {
		require.False(t, step.AppliedAt.IsZero(), "%s is not applied", step.Name)
	}
}

func TestMigrateDownLeavesNothingAndUpAgainIsTheSame(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	require.NoError(t, postgres.Migrate(t.Context(), url))
	pool := pgtest.Connect(t, url)
	before := count(t, pool, tables)
	require.Positive(t, before)
	require.NoError(t, postgres.MigrateDown(t.Context(), url))
	require.Zero(t, count(t, pool, tables))
	require.Zero(t, count(t, pool, functions))
	require.NoError(t, postgres.Migrate(t.Context(), url))
	require.Equal(t, before, count(t, pool, tables))
}

func TestSchema_EveryTableHasAComment(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	require.Empty(t, one[string](t, pool, `SELECT coalesce(string_agg(c.relname, ' ' ORDER BY c.relname), '') FROM pg_class c
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
		AND c.relname <> 'goose_db_version' AND obj_description(c.oid) IS NULL`))
}

func TestStatusBeforeTheFirstMigration(t *testing.T) {
	t.Parallel()
	status, err := postgres.Status(t.Context(), pgtest.EmptyURL(t))
	require.NoError(t, err)
	require.True(t, status[0].AppliedAt.IsZero())
}

func TestMigrateMakesThePartitionsOfThisAndTheNextMonth(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	const made = `SELECT count(*) FROM pg_inherits WHERE inhparent = 'sandbox_events'::regclass`
	require.Equal(t, 3, count(t, pool, made)) // with the default
	exec(t, pool, `SELECT omoi_partition('2031-05-17')`)
	exec(t, pool, `SELECT omoi_partition('2031-05-18')`)
	require.Equal(t, 4, count(t, pool, made))
	require.Equal(t, 4, count(t, pool, `SELECT count(*) FROM pg_inherits WHERE inhparent = 'event_fields'::regclass`), "they go together")
}

func TestAPartitionIsNotMadeWhereTheDefaultHoldsItsRows(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	exec(t, pool, `INSERT INTO sandbox_events (sandbox_id, sequence, birth, event_type) VALUES ('s', 1, '2031-05-01', 'x')`)
	exec(t, pool, `SELECT omoi_partition('2031-05-17')`)
	require.Equal(t, 1, count(t, pool, `SELECT count(*) FROM sandbox_events_default`))
}
