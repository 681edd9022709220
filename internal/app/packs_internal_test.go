package app

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

func TestCheckPacks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.Equal(t, Finding{Check: "checkpoint store", Status: FindingOK, Detail: "the database"}, checkPacks(t.Context(), fresh(t), ""))
	require.Equal(t, FindingOK, checkPacks(t.Context(), fresh(t, "OMOI_CHECKPOINT_STORE=file://"+dir), "").Status)
	left, err := filepath.Glob(dir + "/*")
	require.NoError(t, err)
	require.Empty(t, left)
	for store, detail := range map[string]string{
		"file://" + dir + "/none": "no such file or directory",
		"s3:bucket":               "must name a bucket",
	} {
		found := checkPacks(t.Context(), fresh(t, "OMOI_CHECKPOINT_STORE="+store), "")
		require.Equal(t, FindingFail, found.Status, store)
		require.Contains(t, found.Detail, detail, store)
		require.Contains(t, found.Next, "correct checkpoint.store", store)
	}
}

func TestCheckPacks_AnEmptiedSetting(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	cfg := fresh(t, "DATABASE_URL="+database)
	require.Equal(t, FindingOK, checkPacks(t.Context(), cfg, "").Status)
	_, err := pgtest.Connect(t, database).Exec(t.Context(), `SET session_replication_role = replica; -- without its task
		INSERT INTO pack_objects (key, bytes) VALUES ('k', 1);
		INSERT INTO checkpoints (task_id, attempt, number, sandbox_id, pack_object) VALUES (gen_random_uuid(), 1, 1, 'box', 'k')`)
	require.NoError(t, err)
	for _, found := range []Finding{checkPacks(t.Context(), cfg, ""), checkPacks(t.Context(), fresh(t), database)} {
		require.Equal(t, FindingFail, found.Status)
		require.Contains(t, found.Detail, "the packs of 1 checkpoints are in an object store")
		require.Contains(t, found.Next, "set checkpoint.store")
	}
	require.Equal(t, FindingOK, checkPacks(t.Context(), fresh(t, "DATABASE_URL="+database, "OMOI_CHECKPOINT_STORE=file://"+t.TempDir()), "").Status)
}
