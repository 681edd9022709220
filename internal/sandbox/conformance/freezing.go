package conformance

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// beating is an agent of two processes. The child's work shows in a file.
const beating = `(while :; do echo x >> beats; sleep 0.01; done) & trap 'echo heard; exit 7' TERM; echo up; while :; do sleep 0.05; done`

// frozen starts a sandbox whose programs are then frozen, and answers another provider over the
// same place, as the next process of omoi has it.
func (s *suite) frozen(t T) (sandbox.Labels, sandbox.Freezer, sandbox.Provider) {
	f, ok := s.p.(sandbox.Freezer)
	need(t, ok && s.Reopen != nil, "freeze sandboxes")
	labels := s.start(t, beating)
	s.eventually(t, "the agent works", func() bool { return s.sh(t, labels, "test -s beats").ExitCode == 0 })
	next := s.Reopen()
	s.counts(t, 1, f.Freeze)
	return labels, f, next
}

// counts freezes or thaws, and requires in how many sandboxes there was something to act on.
func (s *suite) counts(t T, want int, act func(context.Context, string) (int, error)) {
	count, err := act(t.Context(), s.installation)
	require.NoError(t, err)
	require.Equal(t, want, count)
}

func freezeStopsAll(s *suite, t T) {
	labels, f, next := s.frozen(t)
	before := s.read(t, labels, "/workspace/beats")
	late := s.ensure(t)
	code(t, task.CodeUnavailable, s.p.Start(t.Context(), late, shell("sleep 600")))
	_, err := sandbox.Exec(t.Context(), next, labels, shell("sleep 0.3")) // beats of an agent that runs would show
	require.NoError(t, err)
	require.Equal(t, before, s.read(t, labels, "/workspace/beats"))
	require.Equal(t, sandbox.StateAlive, s.inspect(t, labels).Agent)
	s.counts(t, 1, f.Freeze) // a frozen sandbox stays frozen

	thawer, ok := next.(sandbox.Freezer)
	require.True(t, ok)
	s.counts(t, 1, thawer.Thaw)
	s.eventually(t, "the agent works again", func() bool { return len(s.read(t, labels, "/workspace/beats")) > len(before) })
	s.counts(t, 0, thawer.Thaw)
	require.NoError(t, next.Start(t.Context(), late, shell("sleep 600")))
}

func frozenHearsStop(s *suite, t T) {
	labels, _, next := s.frozen(t)
	require.NoError(t, next.Stop(t.Context(), labels, 10*time.Second))
	require.Contains(t, s.log(t, labels, 0), "heard")
}

func frozenIsDeleted(s *suite, t T) {
	labels, _, next := s.frozen(t)
	require.NoError(t, next.Delete(t.Context(), labels))
	s.isGone(t, labels)
}
