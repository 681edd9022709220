package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// A plan that is out of date is nobody's data: a sender that is told so would drop its event.
func TestAnOutdatedPlanBlamesNoData(t *testing.T) {
	t.Parallel()
	for code, data := range map[string]bool{"22012": false, "22P02": true, "54001": true, "23505": false} {
		require.Equal(t, data, isDataError(&pgconn.PgError{Code: code}), code)
	}
}
