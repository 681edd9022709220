package workflows_test

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/omoi-dev/omoi/internal/contract"
)

// histories is the folder of the recorded histories: one folder for each workflow, and broken/ for histories that must fail.
const histories = "testdata/histories"

// TestReplay replays every recorded history.
func TestReplay(t *testing.T) {
	t.Parallel()
	files := recorded(t)
	require.NotEmpty(t, files, "make record writes them")
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			err := replayer().ReplayWorkflowHistoryFromJSONFile(quiet(), file)
			if strings.Contains(file, "broken") {
				require.Error(t, err, "a broken history was replayed: the test cannot fail")
				return
			}
			require.NoError(t, err)
		})
	}
}

// TestReplay_DetectsAChange breaks every recorded history of a task in one place, as a change
// of the workflow's code would, and wants to see it fail.
func TestReplay_DetectsAChange(t *testing.T) {
	t.Parallel()
	for _, change := range []struct{ old, changed string }{
		{`"name": "` + contract.EnsureBranch + `"`, `"name": "EnsureBranchOfAnotherBuild"`},
		{`"name": "` + contract.SaveTaskState + `"`, `"name": "SaveTaskStateOfAnotherBuild"`},
		{`"name": "` + contract.StartAgent + `"`, `"name": "StartAgentOfAnotherBuild"`},
	} {
		raw, err := os.ReadFile(filepath.Join(histories, "task", "happy.json"))
		require.NoError(t, err)
		require.True(t, strings.Contains(string(raw), change.old), "%s is not in the history", change.old) //nolint:testifylint // Contains would print all of it
		file := filepath.Join(t.TempDir(), "changed.json")
		require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(raw), change.old, change.changed)), 0o600))
		require.Error(t, replayer().ReplayWorkflowHistoryFromJSONFile(quiet(), file))
	}
}

func recorded(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(histories, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".json" {
			files = append(files, path)
		}
		return err
	})
	require.NoError(t, err)
	return files
}

func replayer() worker.WorkflowReplayer {
	r := worker.NewWorkflowReplayer()
	registerWorkflows(r)
	return r
}

func quiet() log.Logger { return log.NewStructuredLogger(slog.New(slog.DiscardHandler)) }
