package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClients_RunATask runs the example in Python, and the tests of the TypeScript client, against one server.
func TestClients_RunATask(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	r.env["OMOI_TEST_REPO"] = r.repo()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)

	ran := r.run("python3", filepath.Join(root, "docs", "examples", "run_task.py"), r.env["OMOI_TEST_REPO"], "Say hello")
	require.Zero(t, ran.code, ran.stderr)
	require.Contains(t, ran.stdout, " agent.completed\n")

	tests := filepath.Join(root, "web", "client", "dist", "test", "index.test.js")
	if _, err := os.Stat(tests); err != nil {
		t.Skip("SKIPPED: the TypeScript client is not built; make clients-test builds it")
	}
	ran = r.run("node", "--test", tests)
	require.Zero(t, ran.code, ran.stdout+ran.stderr)
	require.Contains(t, ran.stdout, "# skipped 0\n")
}
