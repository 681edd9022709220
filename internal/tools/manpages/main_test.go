package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun_WritesAPagePerCommand(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man")
	require.NoError(t, run([]string{dir}))
	page, err := os.ReadFile(filepath.Join(dir, "omoi-sandbox-list.1"))
	require.NoError(t, err)
	require.Contains(t, string(page), "List sandboxes whose deletion is not verified")
	require.Contains(t, string(page), "omoi sandbox list --all --json")
	require.FileExists(t, filepath.Join(dir, "omoi.1"))
	require.Error(t, run(nil))
}
