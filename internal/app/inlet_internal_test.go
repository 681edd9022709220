package app

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

type fakeRun struct {
	loaded, open bool
	err          error
	abandoned    int
}

func (f *fakeRun) RunLoaded(context.Context, string) (bool, error) { return f.loaded, nil }

func (f *fakeRun) Abandon(context.Context, string, string) error {
	f.abandoned++
	return nil
}

func (f *fakeRun) CurrentRun(context.Context, string) (string, bool, error) {
	return "run", f.open, f.err
}

func TestWriteOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run  fakeRun
		want bool
	}{
		"closed":              {fakeRun{loaded: true}, true},
		"closed and deleted":  {fakeRun{loaded: true, err: task.Errorf(task.CodeNotFound, "none")}, true},
		"open":                {fakeRun{loaded: true, open: true}, false},
		"nobody can tell":     {fakeRun{loaded: true, err: errors.New("away")}, false},
		"not begun, or final": {fakeRun{}, false},
	} {
		off, _ := endedRuns{&c.run, &c.run}.writeOff(t.Context(), "task")
		require.Equal(t, c.want, off, name)
		require.Equal(t, c.want, c.run.abandoned == 1, name)
	}
}
