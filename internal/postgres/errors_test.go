package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestOpen_UnreachableDatabase(t *testing.T) {
	t.Parallel()
	_, err := postgres.Open(t.Context(), "postgres://nobody@127.0.0.1:1/none?connect_timeout=2", postgres.Config{})
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err), "%v", err)
	require.Equal(t, task.CodeUnavailable, task.CodeOf(postgres.Migrate(t.Context(), "postgres://nobody@127.0.0.1:1/none")))
}

func TestPlainURL(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"postgresql+asyncpg://u@h/d":  "postgresql://u@h/d",
		"postgres://u:a+b@h/d":        "postgres://u:a+b@h/d",
		"host=/tmp user=me dbname=it": "host=/tmp user=me dbname=it",
	} {
		require.Equal(t, want, postgres.PlainURL(given))
	}
}
