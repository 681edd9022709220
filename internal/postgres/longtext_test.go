package postgres_test

import (
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/postgres"
)

// A long text is stored as a stream, and only if the stream ends without an error.
func TestSaveBase64(t *testing.T) {
	t.Parallel()
	w := newWorld(t, postgres.Config{})
	a := w.task(w.project(5), "")
	work := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\\N\tany\nbytes\x00\xff", 1<<17)))
	for _, owner := range []string{a.id, ""} {
		id, err := w.store.SaveBase64(t.Context(), owner, "bundle_base64", strings.NewReader(work))
		require.NoError(t, err)
		kept, err := w.store.Text(t.Context(), id)
		require.NoError(t, err)
		require.True(t, work == kept, "%d bytes are not those %d", len(kept), len(work)) //nolint:testifylint // Equal would print all of it
		require.Equal(t, 1, count(t, w.pool, `SELECT count(*) FROM stored_texts WHERE id = $1 AND kind = 'bundle_base64' AND coalesce(task_id::text, '') = $2`, id, owner))
	}
	torn := io.MultiReader(strings.NewReader(work), iotest.ErrReader(errors.New("the disk is gone")))
	_, err := w.store.SaveBase64(t.Context(), a.id, "bundle_base64", torn)
	require.ErrorContains(t, err, "the disk is gone")
	require.Equal(t, 2, count(t, w.pool, `SELECT count(*) FROM stored_texts`))
}
