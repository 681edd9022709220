package activities

import (
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
