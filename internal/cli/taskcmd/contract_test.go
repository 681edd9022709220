package taskcmd_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

func contractFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "contract.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestContract_ShowsAcceptsAndReplaces(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusRunning)}
	f.contract = client.TaskContract{Text: "allowed_paths:\n    - src\ntests_may_change: false\n"}
	f.contract.Accepted.AllowedPaths, f.contract.Proposed.TestsMayChange = []string{"src"}, new(false)
	require.Equal(t, exit.Usage, f.omoi("contract", "-", "--accept").code, "nothing is proposed")
	f.contract.Versions = []taskcontract.Version{{Number: 1, Author: taskcontract.ByModel, Name: "judge-1", CreatedAt: time.Now()}}

	const shown = `Contract      proposed by model judge-1; not accepted
  allowed_paths:
      - src
  proposed:
  tests_may_change: false
  unknown: forbidden_paths, forbidden_commands, change_wanted, test_command
`
	got := f.omoi("contract", "-")
	require.Zero(t, got.code, got.err)
	require.Equal(t, shown, got.out)
	require.Contains(t, f.omoi("show", "-").out, shown)

	require.Contains(t, f.omoi("contract", "-", "--accept").out, "a running agent is not told. Next: omoi send ")
	require.Equal(t, []string{f.contract.Text}, f.contracts)

	require.Zero(t, f.omoi("contract", "-", "--set", contractFile(t, "change_wanted: false\n")).code)
	require.Equal(t, "change_wanted: false\n", f.contracts[1])
	got = f.omoi("contract", "-", "--set", contractFile(t, "change_wanted: false\npaths: 1\n"))
	require.Equal(t, exit.Usage, got.code)
	require.Contains(t, got.err, "contract.yaml is not a valid task contract: line 2: field paths is unknown")
	require.Len(t, f.contracts, 2)
}

func TestRun_SendsAndPreviewsTheContract(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusPending)}
	file := contractFile(t, "allowed_paths: [src]\n")
	got := f.omoi("run", "x", "--repo", "/r", "--contract", file, "--dry-run")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "Task contract, to which the project may add:\n  allowed_paths:\n      - src\n  unknown: forbidden_paths, ")
	require.Empty(t, f.created)
	require.Zero(t, f.omoi("run", "x", "--repo", "/r", "--contract", file).code)
	require.Equal(t, "allowed_paths: [src]\n", f.created[0].Contract)
}
