package postgres_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// A write to a full disk sets the gauge and logs once, until a later write succeeds.
func TestWritable_RemembersAFullDisk(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := postgres.New(pgtest.New(t), postgres.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	for range 2 {
		require.Error(t, s.Wrote(t.Context(), fmt.Errorf("write: %w", &pgconn.PgError{Code: "53100"})))
	}
	require.Contains(t, task.MessageOf(s.Writable(t.Context())), "disk of the database is full")
	require.True(t, s.PoolUse().DiskFull)
	require.Equal(t, 1, strings.Count(log.String(), "level=ERROR"))
	s.AgeDisk(time.Hour)
	require.NoError(t, s.Writable(t.Context()))
	require.False(t, s.PoolUse().DiskFull)
	require.Contains(t, log.String(), "alert cleared")
}

// Writable writes at most every 30 seconds.
func TestWritable_IsCheap(t *testing.T) {
	t.Parallel()
	s := postgres.New(pgtest.New(t), postgres.Config{})
	require.NoError(t, s.Writable(t.Context()))
	s.Close()
	require.NoError(t, s.Writable(t.Context()), "it asks nothing")
	s.AgeDisk(time.Minute)
	require.Error(t, s.Writable(t.Context()))
}
