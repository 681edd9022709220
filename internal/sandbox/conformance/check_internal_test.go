package conformance

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

func trialOf(t *testing.T, check func(s *suite)) *trial {
	t.Helper()
	out := &trial{ctx: t.Context()}
	out.run(func() { check(&suite{t: out}) })
	return out
}

func TestTrialSaysHowACheckEnded(t *testing.T) {
	t.Parallel()
	require.Equal(t, Kept, trialOf(t, func(*suite) {}).outcome())

	skipped := trialOf(t, func(s *suite) { need(s.t, false, "look"); panic("not reached") })
	require.Equal(t, Skipped, skipped.outcome())
	require.Equal(t, "there is no way here to look", skipped.detail())

	broken := trialOf(t, func(s *suite) { require.Equal(s.t, 1, 2, "that was the hope"); panic("not reached") })
	require.Equal(t, Broken, broken.outcome())
	require.Equal(t, "Not equal: expected: 1 actual : 2 - that was the hope", broken.detail())

	require.Contains(t, trialOf(t, func(*suite) { panic("help") }).detail(), "help")
}

func TestTrialRemovesItsFolders(t *testing.T) {
	t.Parallel()
	dir := ""
	trialOf(t, func(s *suite) { dir = s.t.TempDir() })
	_, err := os.Stat(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A check that leaves a sandbox behind is broken, however well it went.
func TestClearTellsWhatIsLeftBehind(t *testing.T) {
	t.Parallel()
	s := &suite{bed: bed{Provider: refuses{}}, installation: "a", another: "b"}
	labels := s.newLabels()
	require.ErrorContains(t, s.clear(t.Context()), task.SandboxName(labels.SandboxID)+" may be left behind: no")
}

type refuses struct{ sandbox.Provider }

func (refuses) Delete(context.Context, sandbox.Labels) error {
	return task.Errorf(task.CodeUnavailable, "no")
}
