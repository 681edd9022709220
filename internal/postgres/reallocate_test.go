package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/postgres"
)

// reallocates moves a slot in the background until it waits for a lock of session.
func (w world) reallocates(session pgx.Tx, from, to string) <-chan error {
	w.t.Helper()
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	go func() {
		defer cancel()
		_, err := postgres.New(w.pool, postgres.Config{}).Reallocate(ctx, guardian.Call{OrganizationID: w.org, By: "anna", Reason: "r", Authority: guardian.AuthorityGuardian}, from, to, 1)
		done <- err
	}()
	w.blocked(session)
	return done
}

// blocked waits until another session waits for a lock of session.
func (w world) blocked(session pgx.Tx) {
	w.t.Helper()
	holder := session.Conn().PgConn().PID()
	require.Eventually(w.t, func() bool { // in separate transactions, because one transaction sees a fixed snapshot of the activity
		return one[bool](w.t, w.pool, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1::integer = ANY (pg_blocking_pids(pid)))`, holder)
	}, time.Minute, 5*time.Millisecond)
}

// session begins a transaction that ends with the test at the latest.
func (w world) session() pgx.Tx {
	w.t.Helper()
	tx, err := w.pool.Begin(w.t.Context())
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(w.t.Context())) })
	return tx
}

// A reallocation waits for admission with its projects locked, while admission writes rows with keys of these projects.
// Without the right lock mode, both would wait for each other.
func TestReallocate_DoesNotBlockAdmission(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	from, to := w.project(2), w.project(2)
	gate := w.session()
	_, err := gate.Exec(t.Context(), `SELECT pg_advisory_xact_lock(hashtextextended('omoi_admission ' || $1::uuid, 0))`, w.org)
	require.NoError(t, err)
	done := w.reallocates(gate, from, to)
	for _, project := range []string{from, to} {
		_, err = gate.Exec(t.Context(), `SELECT FROM projects WHERE id = $1 FOR KEY SHARE NOWAIT`, project)
		require.NoError(t, err)
	}
	require.NoError(t, gate.Commit(t.Context()))
	require.NoError(t, <-done)
	require.Equal(t, []int{1, 3}, []int{w.places(from), w.places(to)})
}

// Two reallocations in opposite directions lock their projects in one order.
func TestReallocate_LockOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	first, second := w.project(2), w.project(2)
	first, second = min(first, second), max(first, second)
	for _, way := range [][2]string{{first, second}, {second, first}} {
		other := w.session()
		_, err := other.Exec(t.Context(), `SELECT FROM projects WHERE id = $1 FOR NO KEY UPDATE`, first)
		require.NoError(t, err)
		done := w.reallocates(other, way[0], way[1])
		_, err = other.Exec(t.Context(), `SELECT FROM projects WHERE id = $1 FOR NO KEY UPDATE NOWAIT`, second)
		require.NoError(t, err)
		require.NoError(t, other.Commit(t.Context()))
		require.NoError(t, <-done)
	}
	require.Equal(t, []int{2, 2}, []int{w.places(first), w.places(second)})
}

func (w world) places(project string) int {
	w.t.Helper()
	return one[int](w.t, w.pool, `SELECT max_slots FROM projects WHERE id = $1`, project)
}
