package conformance

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

func deleteTwice(s *suite, t T) {
	labels := s.start(t, "sleep 600")
	errs := make([]error, 4)
	together(len(errs), func(i int) { errs[i] = s.p.Delete(t.Context(), labels) })
	require.NoError(t, errors.Join(errs...))
	require.NoError(t, s.p.Delete(t.Context(), labels))
	require.NoError(t, s.p.Delete(t.Context(), s.newLabels()), "one that never was")
	s.isGone(t, labels)
}

func (s *suite) isGone(t T, labels sandbox.Labels) {
	s.sees(t, labels, sandbox.StateGone, sandbox.StateGone)
	s.eventually(t, "the list shows it no more", func() bool {
		listed, err := s.p.List(t.Context(), labels.Installation)
		require.NoError(t, err)
		return !slices.ContainsFunc(listed, func(one sandbox.Sandbox) bool { return one.Labels == labels })
	})
}

func deleteFences(s *suite, t T) {
	late := s.isLate(t)
	for _, labels := range []sandbox.Labels{s.ensure(t), s.newLabels()} { // one that was made, and one that never was
		require.NoError(t, s.p.Delete(t.Context(), labels))
		if late {
			s.isFoundLate(t, labels, func() { _, _ = s.p.Ensure(t.Context(), sandbox.Spec{Labels: labels}) })
			continue
		}
		if s.Reopen != nil {
			s.p = s.Reopen()
		}
		_, err := s.p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
		require.ErrorIs(t, err, sandbox.ErrFenced)
		err = s.p.Start(t.Context(), labels, shell("true"))
		require.Contains(t, []task.Code{task.CodeGone, task.CodeNotFound}, task.CodeOf(err))
		s.isGone(t, labels)
	}
}

func deleteWhileCreating(s *suite, t T) {
	if s.isLate(t) {
		s.deleteWhileLate(t)
		return
	}
	for range 20 {
		labels := s.newLabels()
		var made, deleted error
		together(2, func(i int) {
			if i == 0 {
				_, made = s.p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
			} else {
				deleted = s.p.Delete(t.Context(), labels)
			}
		})
		require.NoError(t, deleted)
		if made != nil {
			require.ErrorIs(t, made, sandbox.ErrFenced)
		}
		s.isGone(t, labels)
	}
}

func deleteWhileStarting(s *suite, t T) {
	for range 10 {
		tag, labels := s.tagged(t), s.ensure(t)
		var deleted error
		together(3, func(i int) {
			switch i {
			case 0:
				_ = s.p.Start(t.Context(), labels, shell("sleep "+tag)) // too late or not
			case 1:
				_, _ = sandbox.Exec(t.Context(), s.p, labels, shell("sleep "+tag)) // likewise
			case 2:
				// A starter whose caller gave up: its process may come late.
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_ = s.p.Start(ctx, labels, shell("sleep "+tag))
				deleted = s.p.Delete(t.Context(), labels)
			}
		})
		require.NoError(t, deleted)
		s.isGone(t, labels)
		require.False(t, s.seenRunning(tag))
	}
}

func deleteHostileTree(s *suite, t T) {
	folder, err := os.MkdirTemp("", "omoi-check-")
	require.NoError(t, err)
	defer os.RemoveAll(folder) //nolint:errcheck // one file
	outside := filepath.Join(folder, "outside")
	require.NoError(t, os.WriteFile(outside, []byte("stays"), 0o666)) // anybody could change it
	labels := s.ensure(t)
	s.write(t, labels, "/workspace/target", outside)
	res := s.sh(t, labels, `
		deep=$(printf 'a-long-name/%.0s' $(seq 300)); for i in 1 2 3; do mkdir -p "$deep" && cd -P "$deep" || exit 1; done
		touch bottom; cd "$OMOI_WORKSPACE"
		ln -s "$(cat target)" link; ln -s / root; mkdir full; ln -s / full/root
		touch setuid; chmod 6755 setuid; mkfifo pipe; mkdir closed; mkdir closed/in; touch closed/in/file; chmod 0 closed/in closed
		touch "$(printf 'odd\n\377name')" '-rf' .hidden; mkdir many; cd many; seq 2000 | xargs touch; chmod 0500 .; cd ..; chmod 0 .`)
	require.Zero(t, res.ExitCode, string(res.Stderr))
	require.NoError(t, s.p.Delete(t.Context(), labels))
	s.isGone(t, labels)
	text, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, "stays", string(text))
}

// isLate reports whether the provider cannot fence a create, and declares how late one may appear. It skips where its
// time cannot be made to pass: nobody waits for that.
func (s *suite) isLate(t T) bool {
	late := s.p.Capabilities().LongestCreate
	if late > 0 && (s.Late == nil || s.Pass == nil) {
		t.Skip("SKIPPED: this provider cannot fence a create; it declares " + late.String() + ", and its time cannot be made to pass here")
	}
	return late > 0
}

// deleteWhileLate deletes while a create is under way that nobody waits for any more. Whatever that makes
// within the declared time is found then, and deleted for good.
func (s *suite) deleteWhileLate(t T) {
	for _, part := range []time.Duration{2, 1} {
		labels := s.newLabels()
		s.isFoundLate(t, labels, func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			asked := s.Late(s.p.Capabilities().LongestCreate/part - time.Second)
			over := make(chan struct{})
			go func() {
				defer close(over)
				_, _ = s.p.Ensure(ctx, sandbox.Spec{Labels: labels})
			}()
			s.eventually(t, "the create is under way", asked)
			cancel()
			<-over
			require.NoError(t, s.p.Delete(t.Context(), labels))
			s.isGone(t, labels)
		})
	}
}

// isFoundLate is what a provider promises that cannot fence: what create leaves behind a delete is there for all to see
// once the declared time has passed, and is gone for good by another delete.
func (s *suite) isFoundLate(t T, labels sandbox.Labels, create func()) {
	create()
	declared := s.p.Capabilities().LongestCreate
	s.Pass(declared)
	s.eventually(t, "the second look finds it", func() bool { return s.inspect(t, labels).State == sandbox.StateAlive })
	require.NoError(t, s.p.Delete(t.Context(), labels))
	s.isGone(t, labels)
	s.Pass(declared)
	s.isGone(t, labels)
}
