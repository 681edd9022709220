package activities

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestSetup_OfTheTaskOverridesTheProject(t *testing.T) {
	t.Parallel()
	own, none := "make own", ""
	require.Equal(t, "make deps", setupOf(task.Work{Setup: "make deps"}))
	require.Equal(t, own, setupOf(task.Work{Setup: "make deps", Execution: task.Execution{Setup: &own}}))
	require.Empty(t, setupOf(task.Work{Setup: "make deps", Execution: task.Execution{Setup: &none}}))
}

func TestSetup_ServicesRunDuringTheTests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setup, test string
		code        int
	}{
		"service":               {`sleep 600 & echo $! > pid`, `kill $(cat pid)`, 0},
		"setup fails":           {"exit 3", "true", exitSetup},
		"test fails":            {"true", "exit 3", 3},
		"test fails like setup": {"true", "exit 125", 1},
		"no such program":       {"true", "no-such-program", exitNotFound},
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", afterSetup, "omoi", c.setup, c.test)
		cmd.Dir = t.TempDir()
		_ = cmd.Run() // the exit code says it
		require.Equal(t, c.code, cmd.ProcessState.ExitCode(), name)
	}
}
