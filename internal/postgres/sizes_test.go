package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
)

func TestRanOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	w.load(a)
	for n := range 3 {
		w.begin(a, int64(1+n))
	}
	w.exec(`UPDATE attempts SET failure_class = CASE number WHEN 1 THEN 'agent_error' ELSE 'resources' END WHERE task_id = $1`, a.id)
	for before, want := range map[int]int{1: 0, 2: 0, 3: 1, 4: 2} {
		got, err := w.store.RanOut(t.Context(), a.id, before)
		require.NoError(t, err)
		require.Equal(t, want, got, before)
	}
}
