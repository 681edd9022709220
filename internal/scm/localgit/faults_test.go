package localgit_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/scm/localgit"
	"github.com/omoi-dev/omoi/internal/task"
)

// failingGit is git that runs a script instead of the commands that have the word.
func failingGit(t *testing.T, word, script string) *localgit.Host {
	t.Helper()
	path := filepath.Join(realTemp(t), "git")
	text := "#!/bin/sh\ncase \" $* \" in *\" " + word + " \"*) " + script + " ;; esac\nexec git \"$@\"\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o700))
	return localgit.New(localgit.Config{Git: path})
}

// await asks until the test ends.
func await(t *testing.T, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for t.Context().Err() == nil && !is() {
		<-tick.C
	}
}

func mtime(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// No failure of the host's git is taken for a fault of the task.
func TestFaultsOfTheHost_AreTriedAgain(t *testing.T) {
	t.Parallel()
	const killed, full = "kill -9 $$", `cat >/dev/null; echo "fatal: write error: No space left on device" >&2; exit 128`
	const locked = `cat >/dev/null; echo "fatal: cannot lock ref: Unable to create 'x.lock': File exists." >&2; exit 128`
	b := setup(t)
	branch := b.ensure("t1")
	work := b.sandbox(branch.Name)
	b.commit(work, "a.txt", "a")
	bundle, err := io.ReadAll(b.bundle(work, branch.Name))
	require.NoError(t, err)
	git(t, b.path, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/gone")
	actions := map[string]func(h *localgit.Host) error{
		"push": func(h *localgit.Host) error {
			_, err := h.Push(t.Context(), b.repo, branch.Name, bytes.NewReader(bundle))
			return err
		},
		"odd": func(h *localgit.Host) error { // a name that only git knows to be legal
			_, err := h.Push(t.Context(), b.repo, "feature/v1.2", bytes.NewReader(bundle))
			return err
		},
		"rescue": func(h *localgit.Host) error {
			_, err := h.Rescue(t.Context(), b.repo, "box", bytes.NewReader(bundle))
			return err
		},
		"bundle": func(h *localgit.Host) error { return h.Bundle(t.Context(), b.repo, branch.Name, "", io.Discard) },
		"check":  func(h *localgit.Host) error { return h.Check(t.Context(), b.repo) },
		"branch": func(h *localgit.Host) error {
			_, err := h.EnsureBranch(t.Context(), scm.BranchRequest{Repo: b.repo, Title: "x", TaskID: "t2", Known: "main"})
			return err
		},
	}
	for _, c := range []struct{ action, verb, script string }{
		{"push", "rev-parse", killed},
		{"odd", "check-ref-format", killed},
		{"push", "bundle", killed},
		{"push", "bundle", full},
		{"push", "fetch", killed},
		{"push", "fetch", full},
		{"push", "refs/omoi/incoming", locked}, // into the repository
		{"push", "update-ref", killed},
		{"push", "update-ref", full},
		{"push", "update-ref", locked},
		{"rescue", "fetch", killed},
		{"rescue", "update-ref", locked},
		{"bundle", "bundle", killed},
		{"bundle", "bundle", full},
		{"check", "rev-parse", killed},
		{"check", "for-each-ref", killed},
		{"check", "symbolic-ref", killed},
		{"branch", "merge-base", killed},
		{"branch", "update-ref", locked},
	} {
		err := actions[c.action](failingGit(t, c.verb, c.script))
		require.Error(t, err)
		require.Contains(t, []task.Code{task.CodeUnavailable, task.CodeInternal}, task.CodeOf(err), "%s, %s: %s: %v", c.action, c.verb, c.script, err)
	}
	_, err = b.host.Push(t.Context(), b.repo, branch.Name, bytes.NewReader(bundle))
	require.NoError(t, err, "nothing of it is in the way of the next try")
}

// What ends with its call says so, and is no verdict on the bundle.
func TestPush_CancelledIsACancel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	work := b.sandbox(branch.Name)
	b.commit(work, "a.txt", "a")
	for _, verb := range []string{"bundle", "fetch"} {
		ctx, cancel := context.WithCancel(t.Context())
		begun := filepath.Join(realTemp(t), "begun")
		go func() {
			await(t, func() bool { return !mtime(begun).IsZero() })
			cancel()
		}()
		_, err := failingGit(t, verb, "touch "+begun+"; exec sleep 60").Push(ctx, b.repo, branch.Name, b.bundle(work, branch.Name))
		require.ErrorIs(t, err, context.Canceled, verb)
		require.Equal(t, task.CodeInternal, task.CodeOf(err), verb)
	}
}

// locked makes the file that git's lock of a ref is, of that age.
func (b *bench) locked(ref string, age time.Duration) string {
	b.t.Helper()
	return b.left(ref+".lock", age)
}

// left makes a file of that age in the repository, as a git that was killed does.
func (b *bench) left(name string, age time.Duration) string {
	b.t.Helper()
	path := filepath.Join(b.path, ".git", name)
	require.NoError(b.t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(b.t, os.WriteFile(path, nil, 0o600))
	require.NoError(b.t, os.Chtimes(path, time.Time{}, time.Now().Add(-age)))
	return path
}

// A git that was killed leaves its locks. They are in nobody's way for good; those of the user's own git are respected.
func TestLocksLeftByAKilledGit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	branch := b.ensure("t1")
	work := b.sandbox(branch.Name)
	b.commit(work, "a.txt", "a")
	lock := b.locked
	seen, head := lock("refs/omoi/heads/"+branch.Name, 11*time.Second), lock("refs/heads/"+branch.Name, 2*time.Minute)
	other := lock("refs/heads/main", time.Hour)
	commit, err := b.host.Push(t.Context(), b.repo, branch.Name, b.bundle(work, branch.Name))
	require.NoError(t, err)
	require.Equal(t, commit, b.head(branch.Name))
	require.NoFileExists(t, seen)
	require.NoFileExists(t, head)
	require.FileExists(t, other, "no ref of the task")

	rescued := lock("refs/omoi/rescue/box", 11*time.Second)
	_, err = b.host.Rescue(t.Context(), b.repo, "box", b.bundle(work, branch.Name))
	require.NoError(t, err)
	require.NoFileExists(t, rescued)

	b.commit(work, "b.txt", "b")
	young := lock("refs/heads/"+branch.Name, 30*time.Second)
	refused := filepath.Join(realTemp(t), "refused") // the user's git, which has a slow hook, ends after the first try
	host := failingGit(t, "update-ref", `git "$@" || { rm `+young+` && touch `+refused+`; exit 128; }; exit 0`)
	commit, err = host.Push(t.Context(), b.repo, branch.Name, b.bundle(work, branch.Name))
	require.NoError(t, err)
	require.FileExists(t, refused, "it was left to its owner")
	require.Equal(t, commit, b.head(branch.Name))
}

// Nor do those locks keep what is no longer needed.
func TestRemoval_LocksLeftByAKilledGit(t *testing.T) {
	t.Parallel()
	b, ctx := setup(t), t.Context()
	branch := b.ensure("t1")
	git(t, b.path, "update-ref", "refs/omoi/rescue/t1/1", "HEAD")
	git(t, b.path, "pack-refs", "--all")
	other := b.locked("refs/heads/main", time.Hour)
	b.locked("refs/heads/"+branch.Name, 2*time.Minute)
	b.locked("packed-refs", 2*time.Minute)
	b.left("packed-refs.new", 2*time.Minute)
	require.NoError(t, b.host.RemoveEmptyBranch(ctx, b.repo, "t1"))
	require.Empty(t, b.refNames("refs/heads/"+branch.Name))

	for _, ref := range []string{"refs/omoi/tasks/t1/" + branch.Name, "refs/omoi/heads/" + branch.Name, "refs/omoi/rescue/t1/1"} {
		b.locked(ref, 11*time.Second)
	}
	b.left("packed-refs.new", 2*time.Minute)
	require.NoError(t, b.host.RemoveRefs(ctx, b.repo, "t1"))
	require.Empty(t, b.refNames("refs/omoi"))
	require.FileExists(t, other, "no ref of the task")
}
