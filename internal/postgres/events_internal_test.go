package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// An outdated plan is not a data error: the sender would drop its event.
func TestIsDataError_OutdatedPlan(t *testing.T) {
	t.Parallel()
	for code, data := range map[string]bool{"22012": false, "22P02": true, "54001": true, "23505": false} {
		require.Equal(t, data, isDataError(&pgconn.PgError{Code: code}), code)
	}
}
