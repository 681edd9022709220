package conformance

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

func ensureTwice(s *suite, t T) {
	labels := s.newLabels()
	boxes := make([]sandbox.Sandbox, 8)
	errs := make([]error, len(boxes))
	together(len(boxes), func(i int) {
		boxes[i], errs[i] = s.p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
	})
	made := 0
	for i, box := range boxes {
		require.NoError(t, errs[i])
		require.Equal(t, labels, box.Labels)
		require.Equal(t, boxes[0].ProviderID, box.ProviderID)
		require.NotEmpty(t, box.ProviderID)
		require.NotEmpty(t, box.Arch)
		require.NotEmpty(t, box.Isolation)
		require.WithinDuration(t, time.Now(), box.CreatedAt, time.Hour)
		if !box.Adopted {
			made++
		}
	}
	require.Equal(t, 1, made, "one call makes, the others adopt")
	s.lists(t, labels.Installation, labels)
}

// lists waits until a list shows these sandboxes and no others: it may lag behind.
func (s *suite) lists(t T, installation string, want ...sandbox.Labels) {
	s.eventually(t, fmt.Sprintf("the list of installation %s shows its %d sandboxes and no others", installation, len(want)), func() bool {
		listed, err := s.p.List(t.Context(), installation)
		require.NoError(t, err)
		return len(listed) == len(want) && !slices.ContainsFunc(listed, func(one sandbox.Sandbox) bool { return !slices.Contains(want, one.Labels) })
	})
}

// together runs n calls at the same time and waits for them.
func together(n int, call func(i int)) {
	var group sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		group.Go(func() {
			<-gate
			call(i)
		})
	}
	close(gate)
	group.Wait()
}

func adoptAfterLostAnswer(s *suite, t T) {
	need(t, s.Reopen != nil, "open the place again")
	labels := s.start(t, "echo before; while [ ! -e go ]; do sleep 0.01; done; echo after")
	s.says(t, labels, "before")
	s.write(t, labels, "/workspace/kept", "kept")
	again := s.Reopen()
	box, err := again.Ensure(t.Context(), sandbox.Spec{Labels: labels})
	require.NoError(t, err)
	require.True(t, box.Adopted)
	s.p = again
	require.Equal(t, "kept", s.read(t, labels, "/workspace/kept"))
	require.Equal(t, s.Provider.Paths(labels), again.Paths(labels), "paths of one sandbox never change")
	require.Equal(t, "before\n", s.log(t, labels, 0))
	s.write(t, labels, "/workspace/go", "")
	s.ended(t, labels)
	require.Equal(t, "after\n", s.log(t, labels, int64(len("before\n"))))
}

// strangers are labels of the same name that differ in one part each.
func (s *suite) strangers(l sandbox.Labels) []sandbox.Labels {
	a, b, c := l, l, l
	a.Installation = s.another
	b.TaskID = task.NewID()
	c.Attempt = l.Attempt + 1
	return []sandbox.Labels{a, b, c}
}

func foreignLabels(s *suite, t T) {
	labels := s.start(t, "echo up; sleep 600")
	s.says(t, labels, "up")
	for _, other := range s.strangers(labels) {
		_, err := s.p.Ensure(t.Context(), sandbox.Spec{Labels: other})
		require.ErrorIs(t, err, sandbox.ErrNameTaken)
		require.Equal(t, sandbox.StateGone, s.inspect(t, other).State, "theirs is not ours")
		require.NoError(t, s.p.Delete(t.Context(), other), "a sandbox with those labels does not exist, as asked")
		code(t, task.CodeConflict, s.p.Stop(t.Context(), other, 0))
		code(t, task.CodeConflict, s.p.Start(t.Context(), other, shell("true")))
		_, err = sandbox.Exec(t.Context(), s.p, other, shell("true"))
		code(t, task.CodeConflict, err)
		_, err = s.p.ReadFile(t.Context(), other, "/workspace/x")
		code(t, task.CodeConflict, err)
		_, err = s.p.Log(t.Context(), other, 0)
		code(t, task.CodeConflict, err)
	}
	s.sees(t, labels, sandbox.StateAlive, sandbox.StateAlive)
	_, err := s.p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
	require.NoError(t, err, "a stranger's delete fences nothing")
}

func badSpec(s *suite, t T) {
	out := s.newLabels() // no call follows an ID out of the provider's own folder
	out.SandboxID = "x/../../victim"
	code(t, task.CodeInvalid, s.p.Delete(t.Context(), out))
	code(t, task.CodeInvalid, s.p.Start(t.Context(), out, shell("true")))
	code(t, task.CodeInvalid, s.p.Stop(t.Context(), out, 0))
	_, err := sandbox.Exec(t.Context(), s.p, out, shell("true"))
	code(t, task.CodeInvalid, err)
	for name, change := range map[string]func(*sandbox.Spec){
		"no id":               func(c *sandbox.Spec) { c.Labels.SandboxID = "" },
		"id leads out":        func(c *sandbox.Spec) { c.Labels.SandboxID = "../../etc" },
		"no installation":     func(c *sandbox.Spec) { c.Labels.Installation = "" },
		"too much memory":     func(c *sandbox.Spec) { c.Limits.MemoryBytes = 1 << 50 },
		"negative memory":     func(c *sandbox.Spec) { c.Limits.MemoryBytes = -1 },
		"too many CPUs":       func(c *sandbox.Spec) { c.Limits.CPUs = 1000 },
		"too much disk":       func(c *sandbox.Spec) { c.Limits.DiskBytes = 1 << 60 },
		"unknown network":     func(c *sandbox.Spec) { c.Network = "everything" },
		"negative processes":  func(c *sandbox.Spec) { c.Limits.Processes = -3 },
		"negative disk space": func(c *sandbox.Spec) { c.Limits.DiskBytes = -3 },
	} {
		spec := sandbox.Spec{Labels: s.newLabels()}
		change(&spec)
		_, err := s.p.Ensure(t.Context(), spec)
		require.Error(t, err, name)
		require.Equal(t, task.CodeInvalid, task.CodeOf(err), name)
	}
	listed, err := s.p.List(t.Context(), s.installation)
	require.NoError(t, err)
	require.Empty(t, listed, "nothing half-made")
}

func inspectStates(s *suite, t T) {
	require.False(t, s.sees(t, s.newLabels(), sandbox.StateGone, sandbox.StateGone).Started)
	labels := s.ensure(t)
	require.False(t, s.sees(t, labels, sandbox.StateAlive, sandbox.StateGone).Started)

	require.NoError(t, s.p.Start(t.Context(), labels, shell("echo run >> runs; while [ ! -e go ]; do sleep 0.01; done; exit 7")))
	require.True(t, s.sees(t, labels, sandbox.StateAlive, sandbox.StateAlive).Started)

	s.write(t, labels, "/workspace/go", "")
	s.ended(t, labels)
	require.NoError(t, s.p.Start(t.Context(), labels, shell("echo run >> runs")))
	seen := s.sees(t, labels, sandbox.StateAlive, sandbox.StateGone)
	require.True(t, seen.Started)
	require.Equal(t, 7, seen.ExitCode)
	require.Equal(t, "run\n", s.read(t, labels, "/workspace/runs"), "a command runs once for the life of a sandbox")

	require.NoError(t, s.p.Delete(t.Context(), labels))
	s.sees(t, labels, sandbox.StateGone, sandbox.StateGone)
}

func inspectUnknown(s *suite, t T) {
	need(t, s.Break != nil, "make it unreachable")
	labels := s.start(t, "sleep 600")
	s.Break()
	for _, one := range []sandbox.Labels{labels, s.newLabels()} {
		s.sees(t, one, sandbox.StateUnknown, sandbox.StateUnknown) // never gone while it cannot be asked
	}
	_, err := s.p.List(t.Context(), labels.Installation)
	code(t, task.CodeUnavailable, err)
	code(t, task.CodeUnavailable, s.p.Delete(t.Context(), labels))
	_, err = s.p.Ensure(t.Context(), sandbox.Spec{Labels: s.newLabels()})
	code(t, task.CodeUnavailable, err)
}

func listByInstallation(s *suite, t T) {
	first, second := s.ensure(t), s.ensure(t)
	other := s.newLabels()
	other.Installation = s.another
	_, err := s.p.Ensure(t.Context(), sandbox.Spec{Labels: other})
	require.NoError(t, err)

	s.lists(t, first.Installation, first, second)
	s.lists(t, "nobody")
}
