package conformance

import (
	"context"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

func outcomeOf(t *testing.T, check func(t T)) (Outcome, string) {
	t.Helper()
	out := &trial{ctx: t.Context()}
	out.run(func() { check(out) })
	return out.outcome()
}

func TestTrialSaysHowACheckEnded(t *testing.T) {
	t.Parallel()
	is, detail := outcomeOf(t, func(T) {})
	require.Equal(t, Kept, is)
	require.Empty(t, detail)

	is, detail = outcomeOf(t, func(on T) { need(on, false, "look"); panic("not reached") })
	require.Equal(t, Skipped, is)
	require.Equal(t, "there is no way here to look", detail)

	is, detail = outcomeOf(t, func(on T) { require.Equal(on, 1, 2, "that was the hope"); panic("not reached") })
	require.Equal(t, Broken, is)
	require.Equal(t, "Not equal: expected: 1 actual : 2 - that was the hope", detail)

	is, detail = outcomeOf(t, func(T) { panic("help") })
	require.Equal(t, Broken, is)
	require.Contains(t, detail, "help")
}

// A check that leaves a sandbox behind is broken, however well it went.
func TestClearTellsWhatIsLeftBehind(t *testing.T) {
	t.Parallel()
	s := &suite{Bed: Bed{Provider: refuses{}}, installation: "a", another: "b"}
	labels := s.newLabels()
	require.ErrorContains(t, s.clear(t.Context()), task.SandboxName(labels.SandboxID)+" may be left behind: no")
}

// Who stops a check hears of no broken promise, and leaves nothing behind.
func TestAnInterruptedCheckIsNotJudged(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := &halts{interrupt: cancel}
	results, err := Check(ctx, Options{
		Open: func() (sandbox.Provider, error) { return p, nil }, Only: regexp.MustCompile("^Log"), Report: func(r Result) { p.told = append(p.told, r.Outcome) },
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, results, 1, "the others are not tried")
	require.Equal(t, Skipped, results[0].Outcome)
	require.Equal(t, "not judged", results[0].Detail)
	require.Equal(t, []Outcome{Skipped}, p.told)
	require.Positive(t, p.deleted)

	waiting := &trial{ctx: ctx}
	waiting.run(func() { (&suite{}).eventually(waiting, "it comes", func() bool { return false }) })
	require.Len(t, waiting.errs, 1, "nobody waits on for what cannot come")
}

// halts is stopped while it makes a sandbox.
type halts struct {
	sandbox.Provider

	interrupt func()
	told      []Outcome
	deleted   int
}

func (h *halts) Ensure(ctx context.Context, _ sandbox.Spec) (sandbox.Sandbox, error) {
	h.interrupt()
	return sandbox.Sandbox{}, ctx.Err()
}

func (h *halts) Delete(context.Context, sandbox.Labels) error {
	h.deleted++
	return nil
}

func (h *halts) Inspect(context.Context, sandbox.Labels) (sandbox.Inspection, error) {
	return sandbox.Inspection{State: sandbox.StateGone}, nil
}

type refuses struct{ sandbox.Provider }

func (refuses) Delete(context.Context, sandbox.Labels) error {
	return task.Errorf(task.CodeUnavailable, "no")
}
